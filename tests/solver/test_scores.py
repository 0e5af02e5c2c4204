"""The score of the best epoch, against scikit-learn's on outputs that are computed plainly."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from randsub.distributions import EDGE
from randsub.losses import accuracy, r_squared
from randsub.penalties import ExpectedSize
from randsub.solver import solve, train
from tiny_world import (
    Recorder,
    begin,
    first_feature_helps,
    learning,
    make_problem,
    make_settings,
)


def plain_outputs(problem, state, task):
    """Targets, outputs and weights of each batch, from products of probabilities."""
    target, found = problem.targets[task], []
    for batch in range(3):
        output = 0.0
        for base, share in enumerate(state.shares[task]):
            if share == 0.0:
                continue
            row = task * problem.n_bases + base
            round_, theta = state.rounds[row][batch], np.clip(state.theta[row], EDGE, 1.0 - EDGE)
            masks = round_.masks.whole().toarray()
            q = np.exp(round_.log_q)
            w = np.prod(np.where(masks, theta, 1.0 - theta), axis=1) / q
            asked = round_.validation if len(target.val_rows) else round_.predictions
            output = output + share * np.einsum("t,tnc->nc", w / w.sum(), asked)
        rows = round_.batch.query_rows
        if len(target.val_rows):
            found.append((target.validation, output, target.val_weight))
        else:
            found.append((target.encoded[rows], output, problem.sample_weight[rows]))
    return found


def mean_r2(parts):
    return np.mean([r2_score(y, f, sample_weight=w) for y, f, w in parts])


CASES = {
    "single": {},
    "tasks": {"n_tasks": 3},
    "mixture": {"formula": [first_feature_helps, lambda *a: 0.5 * first_feature_helps(*a)]},
    "penalty": {"penalty": ExpectedSize(0.01), "joint": False, "n_tasks": 2},
    "batches": {"n_val": 0, "n_tasks": 2},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("self_normalize", [True, False])
def test_it_is_that_of_the_ensemble_of_the_best_epoch(name, self_normalize):
    problem = replace(make_problem(**CASES[name]), score=r_squared)
    settings = make_settings(self_normalize=self_normalize, max_iter=30)
    seen = Recorder()
    end = train(problem, settings, learning(begin(problem, settings)), [seen]).scored(problem)
    for task, epoch in enumerate(end.best_epochs.tolist()):
        parts = plain_outputs(problem, seen.states[epoch], task)
        if not len(problem.targets[task].val_rows):
            parts = [tuple(np.concatenate(column) for column in zip(*parts, strict=True))]
        assert end.best_scores[task] == pytest.approx(mean_r2(parts), rel=1e-9)


def test_the_best_epoch_may_be_older_than_the_last_refresh():
    problem = replace(make_problem(n_tasks=2), score=r_squared)
    settings, seen = make_settings(ess_threshold=0.99, max_iter=40), Recorder()
    train(problem, settings, begin(problem, settings), [seen])
    for last in seen.states[1:]:
        found = last.scored(problem).best_scores
        for task, epoch in enumerate(last.best_epochs.tolist()):
            parts = plain_outputs(problem, seen.states[epoch], task)
            assert found[task] == pytest.approx(mean_r2(parts), rel=1e-9)
    assert any(
        np.isfinite(state.best_scores).any() and state.history[-1].refreshed
        for state in seen.states[1:]
    )


def test_scores_do_not_change_training():
    problem, settings = make_problem(n_tasks=2), make_settings()
    theta, rng = np.full((2, 4), 0.5), np.random.default_rng(0)
    plain = solve(problem, settings, theta, rng)
    judged = solve(replace(problem, score=r_squared), settings, theta, rng)
    assert plain.history == judged.history
    np.testing.assert_array_equal(plain.best_theta, judged.best_theta)
    assert np.isnan(plain.best_scores).all()
    assert np.isfinite(judged.best_scores).all()


def test_they_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    weight = rng.random(40) * rng.integers(0, 2, 40)
    y, f = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    assert r_squared(y, f, weight) == pytest.approx(r2_score(y, f, sample_weight=weight))
    codes = rng.integers(0, 3, 40)
    expected = accuracy_score(codes, f.argmax(axis=1), sample_weight=weight)
    assert accuracy(np.eye(3)[codes], f, weight) == pytest.approx(expected)


def test_accuracy_of_labels_counts_samples_that_are_right_in_all():
    labels = np.array([[0, 1], [1, 1], [0, 0]])
    predicted = np.array([[0, 1], [1, 0], [0, 0]])
    y, f = (np.eye(2)[one].reshape(3, -1) for one in (labels, predicted))
    expected = accuracy_score(labels, predicted)
    assert accuracy(y, f, np.ones(3), n_labels=2) == pytest.approx(expected) == pytest.approx(2 / 3)


@pytest.mark.parametrize("y", [[[2.0]], [[0.1], [0.1], [0.1]], [[1.0], [3.0], [1.0]]])
def test_r2_is_not_defined_without_a_spread(y):
    # The only target that differs has no weight.
    weight = np.array([1.0, 0.0, 2.0])[: len(y)]
    assert np.isnan(r_squared(np.array(y), np.zeros((len(y), 1)), weight))

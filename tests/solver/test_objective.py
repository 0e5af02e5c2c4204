"""The steps of the loop against finite differences of the objective, every subset enumerated."""

from collections.abc import Sequence

import numpy as np
import pytest

from exact_world import KINDS, RATE, exact_settings, exact_world, make_truths, on_rows
from oracle import Truth, finite_differences, make_truth
from randsub.gradients import OBJECTIVES, Votes
from randsub.optim import ProjectedGradientDescent
from randsub.penalties import ExpectedSize, Penalty, RowGroups
from randsub.solver import train
from tiny_world import FIRST_VALIDATION_ROW, begin, make_problem, make_settings

THETA = np.array([[0.35, 0.6, 0.5], [0.7, 0.25, 0.45]])


def objective(
    truths: list[list[Truth]],
    weights: np.ndarray,
    rows: Sequence[np.ndarray],
    kind: str,
    penalty: Penalty | None,
    theta: np.ndarray,
) -> float:
    """Mean over tasks of the loss on the rows of each, and the penalty that couples them.

    Without one each task has an objective of its own, and the gradients are those of the sum.
    """
    losses = [
        on_rows(truth, of_task, weight).objective(row, kind)
        for [truth], of_task, weight, row in zip(truths, rows, weights, theta, strict=True)
    ]
    if penalty is None:
        return float(np.sum(losses))
    return float(np.mean(losses)) + penalty.value(theta)


@pytest.mark.parametrize("penalty", [None, RowGroups(0.3), ExpectedSize(0.2)], ids=repr)
@pytest.mark.parametrize("objective_name", ["ensemble", "members"])
@pytest.mark.parametrize("n_tasks", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_descends_the_exact_gradient(kind, n_tasks, objective_name, penalty) -> None:
    settings = exact_settings(objective=objective_name)
    theta, truths = THETA[:n_tasks], make_truths(kind, n_tasks)
    problem, state = exact_world(truths, theta, settings, penalty=penalty)
    after = train(problem, settings, state)

    for batch in range(settings.n_batches):
        rows = [rounds[batch].batch.query_rows for rounds in state.rounds]
        weights = [problem.sample_weight[of_task] for of_task in rows]

        def of(theta, weights=weights, rows=rows) -> float:
            return objective(truths, weights, rows, objective_name, penalty, theta)

        gradient = finite_differences(of, theta)
        assert np.abs(gradient).min() > 1e-4
        theta = theta - RATE * gradient
    np.testing.assert_allclose(after.theta, theta, atol=1e-8)


@pytest.mark.parametrize("self_normalize", [True, False])
@pytest.mark.parametrize("baseline", ["optimal", "weighted", "paper", "none"])
def test_baselines_and_normalisations_agree_where_nothing_is_random(
    baseline, self_normalize
) -> None:
    plain = exact_settings()
    problem, state = exact_world(make_truths("four classes", 2), THETA, plain)
    expected = train(problem, plain, state).theta
    other = exact_settings(baseline=baseline, self_normalize=self_normalize)
    np.testing.assert_allclose(train(problem, other, state).theta, expected, atol=1e-12)


@pytest.mark.parametrize(
    "changes",
    [
        {"baseline": "optimal"},
        {"baseline": "paper"},
        {"baseline": "none"},
        {"self_normalize": False},
    ],
    ids=str,
)
def test_baselines_and_normalisations_reach_the_gradient(changes) -> None:
    # The counterpart: with sampled masks each of them gives another step.
    problem = make_problem(optimizer=ProjectedGradientDescent(RATE))
    numbers = {"max_iter": 1, "baseline": "weighted", "self_normalize": True}
    plain = make_settings(**numbers)
    state = begin(problem, plain, 0.4)
    # Every step but the first has weights that are not all equal.
    expected = train(problem, plain, state).theta
    found = train(problem, make_settings(**{**numbers, **changes}), state).theta
    assert np.abs(found - expected).max() > 1e-6


@pytest.mark.parametrize("objective_name", ["ensemble", "members"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_history_records_the_exact_objective(kind, objective_name) -> None:
    penalty = RowGroups(0.3)
    settings = exact_settings(objective=objective_name)
    truths = make_truths(kind, 2)
    problem, state = exact_world(truths, THETA, settings, penalty=penalty)
    after = train(problem, settings, state)
    record = after.history[-1]

    held_out = []
    for batch in range(settings.n_batches):
        rows = [rounds[batch].batch.query_rows for rounds in state.rounds]
        weights = [problem.sample_weight[of_task] for of_task in rows]
        held_out.append(objective(truths, weights, rows, objective_name, penalty, after.theta))
    assert record.objective == pytest.approx(np.mean(held_out), rel=1e-12)

    val_rows = [FIRST_VALIDATION_ROW + problem.targets[0].val_rows] * 2
    validation = objective(
        truths, [problem.targets[0].val_weight] * 2, val_rows, objective_name, penalty, after.theta
    )
    assert record.validation_objective == pytest.approx(validation, rel=1e-12)
    assert abs(record.objective - record.validation_objective) > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_costs_are_what_a_models_weight_adds(kind) -> None:
    truth = make_truth(kind, 3, seed=2)
    weights = np.random.default_rng(0).dirichlet(np.ones(8))
    for part in OBJECTIVES.values():
        slopes = finite_differences(
            lambda w, part=part: part.value(
                truth.loss, truth.targets, [Votes(w, truth.predictions)], truth.sample_weight
            ),
            weights,
        )
        [costs] = part.costs(
            truth.loss, truth.targets, [Votes(weights, truth.predictions)], truth.sample_weight
        )
        np.testing.assert_allclose(costs, slopes, rtol=1e-5, atol=1e-8)


def test_the_members_objective_is_the_mean_of_their_losses() -> None:
    truth = make_truth("four classes", 3, seed=4)
    weights = np.random.default_rng(1).dirichlet(np.ones(8))
    votes = [Votes(weights, truth.predictions)]
    arguments = (truth.loss, truth.targets, votes, truth.sample_weight)
    assert OBJECTIVES["members"].value(*arguments) == pytest.approx(
        float(weights @ truth.member_losses())
    )
    # A convex loss of the average is no larger than the average loss.
    assert OBJECTIVES["ensemble"].value(*arguments) < OBJECTIVES["members"].value(*arguments)

"""The objective of several base models in one ensemble, every subset of each enumerated."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from exact_world import KINDS, RATE, exact_settings, exact_world, make_truths, on_rows
from oracle import Truth, finite_differences, make_truth
from randsub._typing import FloatArray
from randsub.gradients import OBJECTIVES, Votes, ensemble_output, mixed_output
from randsub.optim import ProjectedGradientDescent, ProximalGradientDescent
from randsub.optim.base import Projection
from randsub.penalties import ExpectedSize, Penalty, RowGroups
from randsub.solver import Problem, Settings, TrainingState, train
from randsub.solver.shares import RATE as SHARE_RATE
from randsub.solver.state import Due
from tiny_world import (
    FIRST_VALIDATION_ROW,
    Recorder,
    assert_same,
    begin,
    learning,
    make_problem,
    make_settings,
    noisy,
)

WAYS = ["fresh", "window", "coupled"]

# -- the exact gradient ----------------------------------------------------------------------------

THETAS = np.array(
    [
        [[0.35, 0.6, 0.5], [0.55, 0.3, 0.65], [0.4, 0.5, 0.2]],
        [[0.7, 0.25, 0.45], [0.3, 0.45, 0.6], [0.8, 0.35, 0.5]],
    ]
)
SHARES = {
    1: np.ones((2, 1)),
    2: np.array([[0.3, 0.7], [0.55, 0.45]]),
    3: np.array([[0.2, 0.5, 0.3], [0.4, 0.25, 0.35]]),
}


def loss_of(truths: Sequence[Truth], theta: FloatArray, shares: FloatArray, kind: str) -> float:
    """Loss of the infinite ensemble of one task, or expected loss of its members."""
    if kind == "members":
        of_bases = [t.objective(row, kind) for t, row in zip(truths, theta, strict=True)]
        return float(shares @ of_bases)
    outputs = [t.output(row) for t, row in zip(truths, theta, strict=True)]
    f = np.tensordot(shares, outputs, axes=1)
    return truths[0].loss.value(truths[0].targets, f, truths[0].sample_weight)


def objective_of(
    truths: Sequence[Sequence[Truth]],
    theta: FloatArray,
    shares: FloatArray,
    kind: str,
    penalty: Penalty | None,
    *,
    joint: bool,
) -> float:
    """The mean loss of the tasks with the penalty that couples them.

    If there is none, or if it does not couple them, the sum of the objectives of the tasks.
    """
    n_tasks, n_bases = shares.shape
    thetas = theta.reshape(n_tasks, n_bases, -1)
    losses = [
        loss_of(of_task, rows, of_shares, kind)
        for of_task, rows, of_shares in zip(truths, thetas, shares, strict=True)
    ]
    if penalty is None:
        return sum(losses)
    if not joint:
        return sum(losses) + sum(
            shares[task, base] * penalty.value(thetas[task, [base]])
            for task in range(n_tasks)
            for base in range(n_bases)
        )
    paid = [shares[:, base].mean() * penalty.value(thetas[:, base]) for base in range(n_bases)]
    return float(np.mean(losses)) + sum(paid)


def mixed_world(
    kind: str, n_tasks: int, n_bases: int, settings: Settings, **parts
) -> tuple[Problem, TrainingState, list[list[Truth]]]:
    truths = make_truths(kind, n_tasks, n_bases)
    theta = THETAS[:n_tasks, :n_bases].reshape(n_tasks * n_bases, 3)
    problem, state = exact_world(truths, theta, settings, **parts)
    return problem, learning(replace(state, shares=SHARES[n_bases][:n_tasks])), truths


def on_batch(
    problem: Problem, state: TrainingState, truths: Sequence[Sequence[Truth]], batch: int
) -> list[list[Truth]]:
    """The truths on the held-out rows of a batch of each task."""
    parts = []
    for task, of_task in enumerate(truths):
        rows = state.rounds[task * problem.n_bases][batch].batch.query_rows
        weight = problem.sample_weight[rows]
        parts.append([on_rows(truth, rows, weight) for truth in of_task])
    return parts


def mirrored(shares: FloatArray, gradient: FloatArray) -> FloatArray:
    moved = shares * np.exp(-SHARE_RATE * gradient)
    return moved / moved.sum(axis=1, keepdims=True)


PENALTIES = {
    "none": (None, False),
    "size": (ExpectedSize(0.2), True),
    "rows": (RowGroups(0.3), True),
    "size, apart": (ExpectedSize(0.2), False),
    "rows, apart": (RowGroups(0.3), False),
}


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("objective_name", ["ensemble", "members"])
@pytest.mark.parametrize(("n_tasks", "n_bases"), [(1, 2), (2, 2), (1, 3), (2, 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_descends_the_exact_gradient_in_theta_and_in_the_shares(
    kind, n_tasks, n_bases, objective_name, name
) -> None:
    penalty, joint = PENALTIES[name]
    settings = exact_settings(objective=objective_name)
    problem, state, truths = mixed_world(
        kind, n_tasks, n_bases, settings, penalty=penalty, joint=joint
    )
    after = train(problem, settings, state)

    theta, shares = state.theta, state.shares
    for batch in range(settings.n_batches):
        part = on_batch(problem, state, truths, batch)
        fixed = {"kind": objective_name, "penalty": penalty, "joint": joint}

        def of_theta(theta, part=part, shares=shares, fixed=fixed) -> float:
            return objective_of(part, theta, shares, **fixed)

        def of_shares(shares, part=part, theta=theta, fixed=fixed) -> float:
            return objective_of(part, theta, shares, **fixed)

        in_theta = finite_differences(of_theta, theta)
        in_shares = finite_differences(of_shares, shares)
        assert np.abs(in_theta).min() > 1e-5
        if joint:
            # Steps of the shares do not depend on the number of tasks.
            in_shares *= n_tasks
        assert np.ptp(in_shares, axis=1).min() > 1e-4
        theta, shares = theta - RATE * in_theta, mirrored(shares, in_shares)
    np.testing.assert_allclose(after.theta, theta, atol=1e-8)
    np.testing.assert_allclose(after.shares, shares, atol=1e-9)
    assert np.abs(after.shares - state.shares).min() > 1e-6


@pytest.mark.parametrize("penalty", [ExpectedSize(0.2), RowGroups(0.3)], ids=repr)
@pytest.mark.parametrize("joint", [True, False])
def test_a_proximal_step_is_that_of_the_penalty_by_share(penalty, joint) -> None:
    settings = exact_settings()
    parts = {"penalty": penalty, "joint": joint, "optimizer": ProximalGradientDescent(RATE)}
    problem, state, truths = mixed_world("regression", 2, 2, settings, **parts)
    # A single step, on the first batch.
    after = train(problem, replace(settings, n_batches=1), state)
    part = on_batch(problem, state, truths, 0)

    def free(theta) -> float:
        return objective_of(part, theta, state.shares, "ensemble", None, joint=False)

    in_theta = finite_differences(free, state.theta) / (2.0 if joint else 1.0)
    forward = state.theta - RATE * in_theta

    def paid(theta) -> float:
        whole = objective_of(part, theta, state.shares, "ensemble", penalty, joint=joint)
        return whole - free(theta) / (2.0 if joint else 1.0)

    # Where the new theta is the proximal point: the penalty pulls there as it has moved.
    backward = after.theta + RATE * finite_differences(paid, after.theta)
    np.testing.assert_allclose(backward, forward, atol=1e-8)
    assert np.abs(after.theta - forward).min() > 1e-4


@pytest.mark.parametrize("self_normalize", [True, False])
@pytest.mark.parametrize("baseline", ["optimal", "weighted", "paper", "none"])
def test_baselines_and_normalisations_agree_where_nothing_is_random(
    baseline, self_normalize
) -> None:
    plain = exact_settings()
    problem, state, _ = mixed_world("four classes", 2, 3, plain)
    expected = train(problem, plain, state)
    other = exact_settings(baseline=baseline, self_normalize=self_normalize)
    found = train(problem, other, state)
    np.testing.assert_allclose(found.theta, expected.theta, atol=1e-12)
    np.testing.assert_allclose(found.shares, expected.shares, atol=1e-12)


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("objective_name", ["ensemble", "members"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_history_records_the_exact_objective_of_the_mixture(kind, objective_name, joint):
    penalty = RowGroups(0.3)
    settings = exact_settings(objective=objective_name)
    problem, state, truths = mixed_world(kind, 2, 3, settings, penalty=penalty, joint=joint)
    after = train(problem, settings, state)
    record = after.history[-1]

    def of(part) -> float:
        value = objective_of(part, after.theta, after.shares, objective_name, penalty, joint=joint)
        return value if joint else value / 2.0

    held_out = [of(on_batch(problem, state, truths, k)) for k in range(settings.n_batches)]
    assert record.objective == pytest.approx(np.mean(held_out), rel=1e-12)
    target = problem.targets[0]
    rows = FIRST_VALIDATION_ROW + target.val_rows
    validation = of([[on_rows(one, rows, target.val_weight) for one in t] for t in truths])
    assert record.validation_objective == pytest.approx(validation, rel=1e-12)
    assert abs(record.objective - record.validation_objective) > 1e-3
    np.testing.assert_allclose(record.shares, after.shares.mean(axis=0), rtol=1e-15)
    sizes = (after.theta.sum(axis=1).reshape(2, 3) * after.shares).sum(axis=1)
    assert record.expected_size == pytest.approx(sizes.mean())
    np.testing.assert_allclose(
        after.alpha, np.einsum("pb,pbm->pm", after.shares, after.theta.reshape(2, 3, 3))
    )


@pytest.mark.parametrize("kind", KINDS)
def test_costs_are_what_a_models_weight_adds_to_the_mixture(kind) -> None:
    first, second = make_truth(kind, 3, seed=2), make_truth(kind, 3, seed=3)
    rng = np.random.default_rng(0)
    weights = np.array([0.3, 0.7])[:, np.newaxis] * rng.dirichlet(np.ones(8), size=2)

    def votes(weights) -> list[Votes]:
        return [Votes(weights[0], first.predictions), Votes(weights[1], second.predictions)]

    for part in OBJECTIVES.values():
        slopes = finite_differences(
            lambda w, part=part: part.value(
                first.loss, first.targets, votes(w), first.sample_weight
            ),
            weights,
        )
        costs = part.costs(first.loss, first.targets, votes(weights), first.sample_weight)
        np.testing.assert_allclose(costs, slopes, rtol=1e-5, atol=1e-8)


def test_the_mixed_output_is_that_of_all_models_together() -> None:
    rng = np.random.default_rng(0)
    weights, predictions = rng.dirichlet(np.ones(9)), rng.normal(size=(9, 5, 2))
    cuts = [slice(0, 2), slice(2, 3), slice(3, 9)]
    votes = [Votes(weights[cut], predictions[cut]) for cut in cuts]
    whole = ensemble_output(weights, predictions)
    np.testing.assert_allclose(mixed_output(votes), whole, rtol=1e-12)
    np.testing.assert_array_equal(mixed_output([Votes(weights, predictions)]), whole)


# -- a mixture of one, of the same, and of one that has no share -----------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("penalty", [None, RowGroups(0.02)], ids=["none", "rows"])
def test_a_mixture_of_one_is_that_base_model_alone(way, penalty) -> None:
    settings = make_settings(refresh=way, n_generations=4, n_revivals=1, n_iter_no_change=6)
    alone = make_problem(noisy, n_tasks=2, penalty=penalty)
    mixed = make_problem([noisy], n_tasks=2, penalty=penalty)
    recorder = Recorder()
    final = train(mixed, settings, begin(mixed, settings), [recorder])
    assert_same(final, train(alone, settings, begin(alone, settings)))
    for state in recorder.states:
        np.testing.assert_array_equal(state.shares, np.ones((2, 1)), strict=True)
        np.testing.assert_array_equal(state.best_shares, np.ones((2, 1)), strict=True)
        assert state.alpha is state.theta
    assert {record.shares for record in final.history} == {(1.0,)}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("way", WAYS)
def test_a_base_model_without_a_share_changes_nothing(way, place) -> None:
    # Batches of mixtures are dealt anew at a revival alone.
    threshold = 0.0 if way == "fresh" else 0.9
    settings = make_settings(
        refresh=way, n_generations=4, n_revivals=1, max_iter=16, ess_threshold=threshold
    )
    alone = make_problem(noisy, n_tasks=2)
    theta = np.random.default_rng(0).uniform(0.2, 0.8, size=(2, 4))
    single = begin(alone, settings, theta)
    expected = train(alone, settings, single)

    # The other one would fail if it were asked.
    formulas = [noisy if base == place else None for base in range(2)]
    mixed = make_problem(formulas, n_tasks=2)
    rows = 2 * np.arange(2) + place
    everywhere = np.full((4, 4), 0.5)
    everywhere[rows] = theta
    shares = np.tile(np.eye(2)[place], (2, 1))
    state = replace(
        single,
        theta=everywhere,
        best_theta=everywhere,
        barred=everywhere == 0.0,
        shares=shares,
        best_shares=shares,
        optimizer=mixed.optimizer.init(everywhere),
        due=np.full(4, Due.NOTHING),
        ess=np.full(4, np.inf),
        rounds=tuple(single.rounds[r // 2] if r in rows else () for r in range(4)),
    )
    found = train(mixed, settings, state)
    np.testing.assert_array_equal(found.theta[rows], expected.theta)
    np.testing.assert_array_equal(found.best_theta[rows], expected.best_theta)
    np.testing.assert_array_equal(found.best_alpha, expected.best_theta)
    np.testing.assert_array_equal(found.shares, shares)
    assert [r._replace(shares=(1.0,)) for r in found.history] == [*expected.history]
    assert_same(tuple(found.rounds[row] for row in rows), expected.rounds)
    assert_same(found.generators, expected.generators)


class ThriceAsFar(ProjectedGradientDescent):
    """Steps for three base models of equal shares, as long as that of one alone."""

    def update(
        self, gradient: FloatArray, state, theta: FloatArray, project: Projection
    ) -> tuple[FloatArray, object]:
        return super().update(3.0 * gradient, state, theta, project)


@pytest.mark.parametrize("objective_name", ["ensemble", "members"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_mixture_of_the_same_is_worth_as_much_as_one(kind, objective_name) -> None:
    settings = exact_settings(objective=objective_name)
    [[truth]] = make_truths(kind, 1)
    theta = THETAS[0, :1]
    problem, state = exact_world([[truth]], theta, settings, penalty=ExpectedSize(0.2))
    single = train(problem, settings, state).history[-1]
    mixed, state = exact_world(
        [[truth] * 3],
        np.tile(theta, (3, 1)),
        settings,
        penalty=ExpectedSize(0.2),
        # Gradients of theta are in proportion to the share.
        optimizer=ThriceAsFar(RATE),
    )
    after = train(mixed, settings, learning(state))
    assert after.history[-1].objective == pytest.approx(single.objective, rel=1e-9)
    assert after.history[-1].validation_objective == pytest.approx(
        single.validation_objective, rel=1e-9
    )
    assert after.history[-1].expected_size == pytest.approx(single.expected_size)
    np.testing.assert_allclose(after.shares, 1.0 / 3.0, rtol=1e-12)

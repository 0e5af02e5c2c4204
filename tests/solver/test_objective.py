"""The steps of the loop against finite differences of the objective, every subset enumerated.

With all subsets in a round, and log q as if each had been drawn as often as it is there, the
weights of a subset add up to exactly its probability: what the loop computes is no estimate, and
any baseline drops out. Some subsets are there twice, not the same ones in every round, so that the
log q of one round would be wrong for another.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from oracle import Truth, all_masks, finite_differences, index_of, make_truth
from randsub.distributions import Bernoulli
from randsub.gradients import OBJECTIVES
from randsub.optim import ProjectedGradientDescent
from randsub.penalties import ExpectedSize, Penalty, RowGroups
from randsub.solver import Problem, Round, Settings, TrainingState, train
from tiny_world import FIRST_VALIDATION_ROW, begin, make_problem, make_settings

N_ROWS, N_VAL = 24, 6
RATE = 0.07
N_MASKS = 12
THETA = np.array([[0.35, 0.6, 0.5], [0.7, 0.25, 0.45]])
KINDS = ["regression", "two classes", "four classes"]


class EverySubset(Bernoulli):
    """Instead of drawing, deals out every subset once and some of them twice, to each round."""

    def sample(self, theta, n_masks, rng) -> np.ndarray:
        return np.concatenate([self._round(rng) for _ in range(n_masks // N_MASKS)])

    def _round(self, rng) -> np.ndarray:
        every = all_masks(self.n_parameters)
        twice = rng.choice(len(every), N_MASKS - len(every), replace=False)
        return rng.permutation(np.concatenate([every, every[twice]]))


def multiplicity(round_: Round) -> np.ndarray:
    """Log of the share of each mask in its round."""
    index = index_of(round_.masks.whole())
    return np.log(np.bincount(index)[index] / len(index))


def places(rows: np.ndarray) -> np.ndarray:
    """Where a row is in the tables of predictions."""
    return np.where(rows < FIRST_VALIDATION_ROW, rows, rows - FIRST_VALIDATION_ROW + N_ROWS)


def exact_world(
    kind: str, n_tasks: int, penalty: Penalty | None, settings: Settings
) -> tuple[Problem, TrainingState, list[Truth]]:
    truths = [make_truth(kind, 3, seed=8 + p, n_samples=N_ROWS + N_VAL + 2) for p in range(n_tasks)]
    problem = make_problem(
        lambda masks, rows, task, seeds: truths[task].predictions[index_of(masks)][:, places(rows)],
        n_features=3,
        n_tasks=n_tasks,
        n_rows=N_ROWS,
        n_val=N_VAL,
        n_outputs=truths[0].predictions.shape[2],
        target=lambda rows, task: truths[task].targets[places(rows)],
        distribution=EverySubset(3),
        loss=truths[0].loss,
        penalty=penalty,
        optimizer=ProjectedGradientDescent(RATE),
    )
    state = begin(problem, settings, THETA[:n_tasks])
    rounds = tuple(
        tuple(replace(round_, log_q=multiplicity(round_)) for round_ in rounds)
        for rounds in state.rounds
    )
    return problem, replace(state, rounds=rounds), truths


def objective(
    truths: list[Truth],
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
        Truth(
            truth.loss,
            truth.predictions[:, places(of_task)],
            truth.targets[places(of_task)],
            weight,
        ).objective(row, kind)
        for truth, of_task, weight, row in zip(truths, rows, weights, theta, strict=True)
    ]
    if penalty is None:
        return float(np.sum(losses))
    return float(np.mean(losses)) + penalty.value(theta)


def exact_settings(**changes) -> Settings:
    return make_settings(n_masks=N_MASKS, n_batches=2, max_iter=1, ess_threshold=0.0, **changes)


@pytest.mark.parametrize("penalty", [None, RowGroups(0.3), ExpectedSize(0.2)], ids=repr)
@pytest.mark.parametrize("objective_name", ["ensemble", "members"])
@pytest.mark.parametrize("n_tasks", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_descends_the_exact_gradient(kind, n_tasks, objective_name, penalty) -> None:
    settings = exact_settings(objective=objective_name)
    problem, state, truths = exact_world(kind, n_tasks, penalty, settings)
    after = train(problem, settings, state)

    theta = THETA[:n_tasks]
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
    problem, state, _ = exact_world("four classes", 2, None, plain)
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
    problem, state, truths = exact_world(kind, 2, penalty, settings)
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
                truth.loss, truth.targets, truth.predictions, w, truth.sample_weight
            ),
            weights,
        )
        costs = part.costs(
            truth.loss, truth.targets, truth.predictions, weights, truth.sample_weight
        )
        np.testing.assert_allclose(costs, slopes, rtol=1e-5, atol=1e-8)


def test_the_members_objective_is_the_mean_of_their_losses() -> None:
    truth = make_truth("four classes", 3, seed=4)
    weights = np.random.default_rng(1).dirichlet(np.ones(8))
    arguments = (truth.loss, truth.targets, truth.predictions, weights, truth.sample_weight)
    assert OBJECTIVES["members"].value(*arguments) == pytest.approx(
        float(weights @ truth.member_losses())
    )
    # A convex loss of the average is no larger than the average loss.
    assert OBJECTIVES["ensemble"].value(*arguments) < OBJECTIVES["members"].value(*arguments)

"""A world in which the loop is exact: every subset is in every round.

With all subsets in a round, and log q as if each had been drawn as often as it is there, the
weights of a subset add up to exactly its probability: what the loop computes is no estimate, and
any baseline drops out. Some subsets are there twice, not the same ones in every round, so that the
log q of one round would be wrong for another.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from oracle import Bools, Floats, Ints, Truth, all_masks, index_of, make_truth
from randsub.distributions import Bernoulli
from randsub.optim import Optimizer, ProjectedGradientDescent
from randsub.penalties import Penalty
from randsub.solver import Problem, Round, Settings, TrainingState
from tiny_world import FIRST_VALIDATION_ROW, Formula, begin, make_problem, make_settings

N_ROWS, N_VAL = 24, 6
RATE = 0.07
N_MASKS = 12
KINDS = ["regression", "two classes", "four classes", "three outputs", "two labels"]


class EverySubset(Bernoulli):
    """Instead of drawing, deals out every subset once and some of them twice, to each round."""

    def sample(self, theta: Floats, n_masks: int, rng: np.random.Generator) -> Bools:
        return np.concatenate([self._round(rng) for _ in range(n_masks // N_MASKS)])

    def _round(self, rng: np.random.Generator) -> Bools:
        every = all_masks(self.n_parameters)
        twice = rng.choice(len(every), N_MASKS - len(every), replace=False)
        return rng.permutation(np.concatenate([every, every[twice]]))


def multiplicity(round_: Round) -> Floats:
    """Log of the share of each mask in its round."""
    index = index_of(round_.masks.whole())
    return np.log(np.bincount(index)[index] / len(index))


def places(rows: Ints) -> Ints:
    """Where a row is in the tables of predictions."""
    return np.where(rows < FIRST_VALIDATION_ROW, rows, rows - FIRST_VALIDATION_ROW + N_ROWS)


def exact_settings(**changes: Any) -> Settings:
    return make_settings(n_masks=N_MASKS, n_batches=2, max_iter=1, ess_threshold=0.0, **changes)


def make_truths(kind: str, n_tasks: int, n_bases: int = 1) -> list[list[Truth]]:
    """Truths by task and base model; those of a task have the same targets."""
    n_samples = N_ROWS + N_VAL + 2
    first = [make_truth(kind, 3, seed=8 + p, n_samples=n_samples) for p in range(n_tasks)]
    return [
        [
            truth,
            *(
                replace(
                    truth,
                    predictions=make_truth(
                        kind, 3, seed=50 + 10 * base + p, n_samples=n_samples
                    ).predictions,
                )
                for base in range(1, n_bases)
            ),
        ]
        for p, truth in enumerate(first)
    ]


def exact_world(
    truths: Sequence[Sequence[Truth]],
    theta: Floats,
    settings: Settings,
    *,
    penalty: Penalty | None = None,
    optimizer: Optimizer | None = None,
    joint: bool | None = None,
) -> tuple[Problem, TrainingState]:
    """The problem of these truths by task and base model, and its state before the first epoch."""

    def formula_of(base: int) -> Formula:
        return lambda masks, rows, task, seeds: truths[task][base].predictions[index_of(masks)][
            :, places(rows)
        ]

    first = truths[0][0]
    problem = make_problem(
        [formula_of(base) for base in range(len(truths[0]))],
        n_features=3,
        n_tasks=len(truths),
        n_rows=N_ROWS,
        n_val=N_VAL,
        n_outputs=first.predictions.shape[2],
        target=lambda rows, task: truths[task][0].targets[places(rows)],
        distribution=EverySubset(3),
        loss=first.loss,
        penalty=penalty,
        optimizer=optimizer or ProjectedGradientDescent(RATE),
        joint=joint,
    )
    state = begin(problem, settings, theta)
    rounds = tuple(
        tuple(replace(round_, log_q=multiplicity(round_)) for round_ in rounds)
        for rounds in state.rounds
    )
    return problem, replace(state, rounds=rounds)


def on_rows(truth: Truth, rows: Ints, weight: Floats) -> Truth:
    """A truth of some rows of the world, weighted."""
    of_rows = places(rows)
    return Truth(truth.loss, truth.predictions[:, of_rows], truth.targets[of_rows], weight)

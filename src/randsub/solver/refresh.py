"""Three ways to retrain base models once theta has moved away from their proposal.

``fresh``
    New batches, new masks, all models retrained, as in the paper. Where several base models are
    mixed, which need the same batches, these are dealt anew when all of them start anew.
``window``
    The masks of a round form generations, each drawn from the theta at that time. Only the oldest
    is replaced. The weights of all masks refer to the mixture of the current generations (multiple
    importance sampling with the balance heuristic), so earlier models can still be used.
``coupled``
    A maximal coupling turns masks of the old distribution into masks of the new one and leaves the
    largest possible number of them unchanged; only models of changed masks are retrained.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack

from randsub._masks import as_sparse
from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.distributions import SubsetDistribution
from randsub.solver.problem import Problem, Settings
from randsub.solver.rounds import Batch, Plan, Proposal, Round, deal_batches
from randsub.solver.shares import trained_rows
from randsub.solver.state import Due, TrainingState

# Rejection draws per mask before a coupled refresh accepts an independent draw. This only happens
# if the two distributions differ by less than rounding error.
MOST_DRAWS = 10_000

RefreshWay: TypeAlias = Callable[
    [Problem, Settings, int, Sequence[Round], FloatArray, np.random.Generator], list[Plan]
]


def fresh(
    problem: Problem,
    settings: Settings,
    row: int,
    rounds: Sequence[Round],
    theta: FloatArray,
    rng: np.random.Generator,
    batches: Sequence[Batch] = (),
) -> list[Plan]:
    """Draw all masks from theta; earlier rounds are discarded.

    The rows are split into new batches, unless batches are given.
    """
    if not batches:
        target = problem.target(row)
        batches = deal_batches(
            target.train_rows, settings.n_batches, target.strata, settings.max_samples, rng
        )
    n_generations, n_masks = settings.n_generations, settings.n_masks
    proposal = Proposal(
        np.tile(theta, (n_generations, 1)), np.arange(n_masks) * n_generations // n_masks
    )
    # The masks of all batches in one call, which goes over theta once.
    masks = as_sparse(problem.distribution.sample(theta, n_masks * len(batches), rng))
    return [
        Plan(
            row=row,
            batch=batch,
            masks=masks[n * n_masks : (n + 1) * n_masks],
            proposal=proposal,
            untrained=np.ones(n_masks, dtype=bool),
        )
        for n, batch in enumerate(batches)
    ]


def window(
    problem: Problem,
    settings: Settings,
    row: int,
    rounds: Sequence[Round],
    theta: FloatArray,
    rng: np.random.Generator,
) -> list[Plan]:
    """Replace the oldest generation of each round by draws from theta."""
    plans = []
    for former in rounds:
        old = former.proposal
        oldest = old.generations == 0
        drawn = problem.distribution.sample(theta, int(oldest.sum()), rng)
        masks = with_rows(former.masks.whole(), oldest, as_sparse(drawn))
        proposal = Proposal(
            np.concatenate([old.thetas[1:], theta[np.newaxis]]),
            np.where(oldest, len(old.thetas) - 1, old.generations - 1),
        )
        plans.append(Plan(row, former.batch, masks, proposal, oldest, former))
    return plans


def coupled(
    problem: Problem,
    settings: Settings,
    row: int,
    rounds: Sequence[Round],
    theta: FloatArray,
    rng: np.random.Generator,
) -> list[Plan]:
    """Move the masks of each round to theta, changing as few of them as possible."""
    plans = []
    for former in rounds:
        old_theta = former.proposal.thetas[-1]
        masks, changed = couple_masks(
            problem.distribution, former.masks.whole(), old_theta, theta, rng
        )
        proposal = Proposal(theta[np.newaxis], np.zeros(len(changed), dtype=np.intp))
        plans.append(Plan(row, former.batch, masks, proposal, changed, former))
    return plans


def is_worn(ess: FloatArray, settings: Settings) -> BoolArray:
    """Which rows of theta need a refresh, by the smallest effective sample size of their rounds."""
    return ess < settings.ess_threshold * settings.n_masks


def kept_batches(state: TrainingState, task: int) -> list[Batch]:
    """Batches that the base models of a task go on with; none if all of them start anew.

    A base model that no other is left beside has new ones each time, as a single one has.
    """
    rows = [row for row, _ in trained_rows(task, state.shares[task])]
    if len(rows) == 1 or all(state.due[row] == Due.FRESH for row in rows):
        return []
    return [round_.batch for round_ in next(state.rounds[row] for row in rows if state.rounds[row])]


WAYS: Mapping[str, RefreshWay] = {"fresh": fresh, "window": window, "coupled": coupled}


def couple_masks(
    distribution: SubsetDistribution,
    masks: csr_array,
    old: FloatArray,
    new: FloatArray,
    rng: np.random.Generator,
) -> tuple[csr_array, BoolArray]:
    """Turn masks drawn from p(z | old) into draws from p(z | new) by maximal coupling.

    A mask is kept with probability ``min(1, p_new / p_old)``. Otherwise it is replaced by a draw
    from the part of p_new that p_old does not cover: draws z' from p_new are accepted with
    probability ``1 - min(1, p_old(z') / p_new(z'))``.

    Returns
    -------
    masks : csr_array of shape (T, M)
    changed : bool ndarray of shape (T,)
    """
    log_ratio = distribution.log_prob(masks, new) - distribution.log_prob(masks, old)
    changed = np.log1p(-rng.random(len(log_ratio))) >= log_ratio
    pending: IntArray = np.flatnonzero(changed)
    for _ in range(MOST_DRAWS):
        if not len(pending):
            break
        drawn = as_sparse(distribution.sample(new, len(pending), rng))
        masks = with_rows(masks, pending, drawn)
        log_covered = distribution.log_prob(drawn, old) - distribution.log_prob(drawn, new)
        accepted = rng.random(len(pending)) >= np.exp(np.minimum(log_covered, 0.0))
        pending = pending[~accepted]
    return masks, changed


def with_rows(masks: csr_array, rows: IntArray | BoolArray, new: csr_array) -> csr_array:
    """The masks (T, M) with some rows replaced."""
    n_masks = masks.shape[0]
    order = np.arange(n_masks)
    order[rows] = n_masks + np.arange(new.shape[0])
    return as_sparse(vstack([masks, new], format="csr")[order])

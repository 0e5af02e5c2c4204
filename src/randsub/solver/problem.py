"""Data, objective and settings of the optimisation, constant during training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from randsub._typing import FloatArray, IntArray
from randsub.distributions import SubsetDistribution
from randsub.gradients import Baseline, Objective, Votes
from randsub.losses import Loss, Reference, Score
from randsub.optim.base import Optimizer
from randsub.parallel import Dispatcher
from randsub.penalties.base import Penalty

Refresh: TypeAlias = Literal["fresh", "window", "coupled"]
ObjectiveName: TypeAlias = Literal["ensemble", "members"]

# Largest expected size of the first subsets: larger ones are slower and less informative.
LARGEST_FIRST_SUBSET = 30


@dataclass(frozen=True)
class Target:
    """The targets of one task, and the rows that it is trained and validated on.

    Parameters
    ----------
    y : ndarray of shape (n,)
        As the user gave it, for the base models.
    encoded : ndarray of shape (n, C)
        Targets for the loss: in units of the reference, or indicators of the classes.
    validation : ndarray of shape (n_val, C)
        The same for the validation rows.
    train_rows : int ndarray
        Rows of X that are split into batches.
    val_rows : int ndarray of shape (n_val,)
        Rows of X_val that the best theta is chosen on; if empty, it is chosen on the batches.
    val_weight : ndarray of shape (n_val,)
        Weights of the validation rows in the loss.
    strata : int ndarray of shape (n,) or None
        Class of each row, by which the batches are stratified.
    reference : Reference
        Units of the loss; predictions are converted to them.
    """

    y: Any
    encoded: FloatArray
    validation: FloatArray
    train_rows: IntArray
    val_rows: IntArray
    val_weight: FloatArray
    strata: IntArray | None
    reference: Reference


@dataclass(frozen=True)
class Problem:
    """Data, base models and objective.

    Parameters
    ----------
    targets : sequence of Target
        One per task (a gene of a network, a repeat of an ensemble).
    sample_weight : ndarray of shape (n,)
        Weights of the rows of X in the loss.
    feature_names : sequence of str
        For messages; may be empty.
    joint : bool
        Whether the penalty couples the tasks. They then have one objective, the mean of their
        losses plus the penalty of theta (P, M), and one best epoch. Otherwise each task is trained
        as if it were alone, with the penalty of its own row of theta.
    n_bases : int
        B, the number of base models that a task mixes. Theta has a row for each task and base
        model, R = P B rows in all; those of one task are consecutive. Where something is said of
        one row for each task, B is 1.
    most_snapshots : int
        Largest number of epochs whose alpha is recorded; 0 for none.
    score : callable, default=None
        What users call a score, of the ensemble of the best epoch; by default none is computed. It
        has no influence on training.
    """

    distribution: SubsetDistribution
    loss: Loss
    penalty: Penalty | None
    optimizer: Optimizer
    dispatcher: Dispatcher
    targets: Sequence[Target]
    sample_weight: FloatArray
    feature_names: Sequence[str] = ()
    joint: bool = False
    n_bases: int = 1
    most_snapshots: int = 0
    score: Score | None = None

    def target(self, row: int) -> Target:
        """The target of a row of theta."""
        return self.targets[row // self.n_bases]

    def votes(
        self, objective: Objective, row: int, weights: FloatArray, predictions: FloatArray
    ) -> Votes:
        """Models of a row of theta, with predictions where they are added up."""
        if not objective.only_sums:
            return Votes(weights, predictions)
        return Votes(weights, self.dispatcher.held(row % self.n_bases, predictions))

    def rows(self, tasks: IntArray) -> IntArray:
        """The rows of theta of some tasks."""
        return (tasks[:, np.newaxis] * self.n_bases + np.arange(self.n_bases)).ravel()


@dataclass(frozen=True)
class Settings:
    """Settings of one fit, from :meth:`randsub.solver.Solver.settings`.

    ``n_masks`` is T; ``n_generations`` is 1 unless the refresh is a window; ``chooses_on_all`` says
    whether the best epoch is chosen on held-out and validation rows together, and not on the latter
    alone; the others are those of :class:`randsub.solver.Solver` and of the estimators.
    """

    n_masks: int
    n_batches: int
    max_samples: int | None
    objective: ObjectiveName
    baseline: Baseline
    self_normalize: bool
    ess_threshold: float
    refresh: Refresh
    n_generations: int
    n_revivals: int
    revival_level: float
    max_iter: int
    n_iter_no_change: int | None
    tol: float
    chooses_on_all: bool

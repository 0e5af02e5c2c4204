"""What stays the same while theta moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from randsub._typing import FloatArray, IntArray
from randsub.distributions.base import SubsetDistribution
from randsub.engines.dispatch import Dispatcher
from randsub.gradients.score import Baseline
from randsub.losses.base import Loss, Reference
from randsub.optim.base import Optimizer
from randsub.penalties.base import Penalty

Refresh: TypeAlias = Literal["fresh", "window", "coupled"]
ObjectiveName: TypeAlias = Literal["ensemble", "members"]


@dataclass(frozen=True)
class Target:
    """What one task predicts.

    Parameters
    ----------
    y : ndarray of shape (n,)
        As the user gave it, for the base models.
    encoded : ndarray of shape (n, C)
        As the loss sees it: in units of the reference, or indicators of the classes.
    validation : ndarray of shape (n_val, C)
        The same for the validation rows.
    strata : int ndarray of shape (n,) or None
        Class of each row, so that every batch gets its share of each.
    reference : Reference
        Units of the loss, in which predictions are put as well.
    """

    y: Any
    encoded: FloatArray
    validation: FloatArray
    strata: IntArray | None
    reference: Reference


@dataclass(frozen=True)
class Problem:
    """Data, base models and objective.

    Parameters
    ----------
    targets : sequence of Target
        One for each task; theta has one row for each.
    train_rows : int ndarray
        Rows of X that are dealt into batches.
    val_rows : int ndarray
        Rows of X_val on which theta is judged; empty to judge it on the batches.
    sample_weight : ndarray of shape (n,)
        Weights of the rows of X in the loss.
    val_weight : ndarray of shape (n_val,)
        Weights of the validation rows in the loss.
    feature_names : sequence of str
        For messages; may be empty.
    """

    distribution: SubsetDistribution
    loss: Loss
    penalty: Penalty | None
    optimizer: Optimizer
    dispatcher: Dispatcher
    targets: Sequence[Target]
    train_rows: IntArray
    val_rows: IntArray
    sample_weight: FloatArray
    val_weight: FloatArray
    feature_names: Sequence[str] = ()

    @property
    def n_tasks(self) -> int:
        """P."""
        return len(self.targets)


@dataclass(frozen=True)
class Settings:
    """The numbers of the method; see :class:`randsub.PRSClassifier` for their meaning."""

    n_masks: int = 100
    n_batches: int = 10
    max_samples: int | None = None
    objective: ObjectiveName = "ensemble"
    baseline: Baseline = "weighted"
    self_normalize: bool = True
    ess_threshold: float = 0.9
    refresh: Refresh = "fresh"
    n_generations: int = 10
    n_revivals: int = 0
    revival_level: float = 0.02
    max_iter: int = 3000
    n_iter_no_change: int | None = None
    tol: float = 1e-4

    @property
    def window(self) -> int:
        """Number of generations that a round is made of."""
        return min(self.n_generations, self.n_masks) if self.refresh == "window" else 1

    def revival_epoch(self, revived: int) -> int | None:
        """Epoch after which the next revival is due at the latest, if one is left."""
        if revived >= self.n_revivals:
            return None
        # At least one epoch must have found a best theta to start again from.
        return max(1, round(self.max_iter * (revived + 1) / (self.n_revivals + 1)))

"""Everything that changes during training, in one object."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.optim.base import OptimizerState
from randsub.solver.rounds import Round


class Due:
    """What must happen to the rounds of a task before the next epoch.

    Integers and not an ``Enum``: numpy looks up attributes of ``Enum`` members in Python code, and
    with Python 3.11 a Ctrl-C that arrives there is lost.
    """

    NOTHING: Final = 0
    REFRESH: Final = 1
    FRESH: Final = 2


class EpochRecord(NamedTuple):
    """One row of the history.

    ``refreshed`` and ``revived`` refer to the time before the steps of the epoch, all other fields
    to the time after them.
    """

    objective: float
    validation_objective: float
    min_ess: float
    expected_size: float
    refreshed: bool
    revived: bool
    n_models_trained: int


@dataclass(frozen=True)
class TrainingState:
    """State of the training loop between two epochs.

    It is immutable: an epoch returns a new state. Training that is resumed from a stored state,
    with the same problem and settings, ends bit for bit as if it had never stopped.

    Parameters
    ----------
    epoch : int
        Number of completed epochs.
    theta : ndarray of shape (P, M)
    optimizer : NamedTuple of arrays
    rounds : tuple of P tuples of Rounds, one per batch
    due : int ndarray of shape (P,)
        What must happen to the rounds of each task before the next epoch; see ``Due``.
    generators : tuple of P mappings
        State of the bit generator of each task, which is independent of other tasks.
    history : tuple of EpochRecord
    barred : bool ndarray of shape (P, M)
        Entries that started at 0; neither a revival nor a restart raises them.
    best_theta : ndarray of shape (P, M)
        Theta with the lowest validation objective.
    best_objectives, best_epochs : ndarrays of shape (P,) or (1,)
        That objective, and its epoch. Without a penalty, tasks are independent and each has its
        best theta; with a penalty there is one objective for all tasks.
    mark_objective, mark_epoch
        Last improvement by more than ``tol`` since the last (re)start, for ``n_iter_no_change``.
    n_models_trained : int
    n_revived : int
    stopped : str or None
        Why training has ended; None before that.
    """

    epoch: int
    theta: FloatArray
    optimizer: OptimizerState
    rounds: tuple[tuple[Round, ...], ...]
    due: IntArray
    generators: tuple[Mapping[str, Any], ...]
    history: tuple[EpochRecord, ...]
    barred: BoolArray
    best_theta: FloatArray
    best_objectives: FloatArray
    best_epochs: IntArray
    mark_objective: float
    mark_epoch: int
    n_models_trained: int
    n_revived: int
    stopped: str | None = None

    @property
    def best_objective(self) -> float:
        """Lowest validation objective, averaged over tasks if each has its own."""
        return float(self.best_objectives.mean())

    @property
    def best_epoch(self) -> int:
        """Latest of the best epochs of all tasks."""
        return int(self.best_epochs.max())

    def rng(self, task: int = 0) -> np.random.Generator:
        """Random generator of a task, in its current state."""
        generator = self.generators[task]
        bit_generator = getattr(np.random, generator["bit_generator"])()
        bit_generator.state = generator
        return np.random.Generator(bit_generator)

    def improvement(self, verdicts: FloatArray, epoch: int) -> dict[str, Any]:
        """Fields to update where theta is the best so far; verdicts have shape (P,) or (1,)."""
        better = verdicts < self.best_objectives
        if not better.any():
            return {}
        return {
            "best_theta": np.where(better[:, np.newaxis], self.theta, self.best_theta),
            "best_objectives": np.where(better, verdicts, self.best_objectives),
            "best_epochs": np.where(better, epoch, self.best_epochs),
        }


def generators_of_tasks(
    rng: np.random.Generator | Sequence[np.random.Generator], n_tasks: int
) -> Sequence[np.random.Generator]:
    """One generator per task, derived from a single one if needed."""
    if not isinstance(rng, np.random.Generator):
        return rng
    if n_tasks == 1:
        return [rng]
    # From a copy, so that two starts from the same generator are equal.
    words = deepcopy(rng).integers(2**32, size=(n_tasks, 4), dtype=np.uint32)
    return [np.random.default_rng(seed) for seed in words]

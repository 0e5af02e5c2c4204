"""Everything that changes during training, in one object."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.optim.base import OptimizerState
from randsub.training.rounds import Round


class Due:
    """What must happen to the rounds of a task before the next epoch.

    Plain numbers, for numpy: of members of an ``Enum`` it asks for attributes that Python 3.11
    looks up in Python code, and a Ctrl-C that arrives there is dropped.
    """

    NOTHING: Final = 0
    REFRESH: Final = 1
    FRESH: Final = 2


class EpochRecord(NamedTuple):
    """One row of the history.

    ``refreshed`` and ``revived`` tell what was done before the steps of the epoch; the rest is as
    it stands after them.
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
    """The whole state of the loop between two epochs.

    It is a value: an epoch makes a new one and leaves the old as it was. Put away and taken up
    again with the same problem and settings, training ends bit for bit as if it had never stopped.

    Parameters
    ----------
    epoch : int
        Epochs done.
    theta : ndarray of shape (P, M)
    optimizer : NamedTuple of arrays
    rounds : tuple of P tuples of Rounds, one for each batch
    due : int ndarray of shape (P,)
        What must happen to each task's rounds first; see ``Due``.
    generators : tuple of P mappings
        State of each task's bit generator: what a task draws depends on no other task.
    history : tuple of EpochRecord
    barred : bool ndarray of shape (P, M)
        Entries that began at 0: nothing raises them, neither a revival nor a restart.
    best_theta : ndarray of shape (P, M)
        Where the validation objective was lowest.
    best_objectives, best_epochs : ndarrays of shape (P,) or (1,)
        How low it was, and when. Without a penalty tasks have nothing to do with each other, and
        each has a best theta of its own; a penalty is one objective for all of them.
    mark_objective, mark_epoch
        Last improvement by more than the tolerance since the last (re)start, for patience.
    n_models_trained : int
    n_revived : int
    stopped : str or None
        Why training is over, if it is.
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
        """The lowest validation objective, averaged over tasks that have one each."""
        return float(self.best_objectives.mean())

    @property
    def best_epoch(self) -> int:
        """The last epoch that some task's best theta is from."""
        return int(self.best_epochs.max())

    def rng(self, task: int = 0) -> np.random.Generator:
        """A generator that continues where this state left a task off."""
        generator = self.generators[task]
        bit_generator = getattr(np.random, generator["bit_generator"])()
        bit_generator.state = generator
        return np.random.Generator(bit_generator)

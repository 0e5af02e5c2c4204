"""What callbacks are told of the fit that they watch."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from randsub.training.state import TrainingState


class Run(ABC):
    """A fit that is about to begin or going on.

    Attributes
    ----------
    estimator : estimator
        The model that is being fitted, for its parameters.
    name : str
        What is being trained, in words: the name of the model, and which part of the work it is.
    has_parts : bool
        Whether a fit may run the loop several times.
    share : float
        Share of the whole work that is done when the loop that is running now will have run all
        its epochs: 1 unless a network is trained in several parts.
    """

    estimator: Any
    has_parts: bool = False
    share: float = 1.0

    @property
    def name(self) -> str:
        """What is being trained."""
        return type(self.estimator).__name__

    @property
    @abstractmethod
    def can_predict(self) -> bool:
        """Whether there is something like :meth:`fitted_estimator`."""

    @abstractmethod
    def fitted_estimator(self, state: TrainingState) -> Any:
        """The model that ``fit`` would return if training ended with this state.

        It is a new object, bit for bit that model: its members are trained for it, as many as the
        ensemble has. Asked again as long as neither the best alpha nor the rounds have changed, it
        has the same members, and so has the model that ``fit`` returns.
        """

    @abstractmethod
    def save(self, path: Path, state: TrainingState) -> None:
        """Write a checkpoint from which the fit can go on after this state.

        Parameters
        ----------
        path : Path
            The file; if it exists it is replaced in one step.
        state : TrainingState
            After a whole epoch.
        """

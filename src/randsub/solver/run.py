"""The current fit, as callbacks see it."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from randsub.engines.base import Engine
from randsub.solver.state import TrainingState


class Run(ABC):
    """A fit that is about to begin, or in progress.

    Attributes
    ----------
    estimator : estimator
        The model that is being fitted.
    name : str
        Name of the model, and of the part that is being trained if there are several.
    has_parts : bool
        Whether a fit may run the loop several times.
    share_before, share : float
        Fractions of the whole work that are done before the current loop and after all of its
        epochs: 0 and 1 unless a fit has several parts.
    n_repeats : int
        Number of optimisations whose results are averaged.
    n_at_once : int
        Number of them that are trained side by side, after the first.
    n_parameters : int
        Number of features, or of feature groups.
    first_size : float or None
        Expected number of features of the first subsets; None if it is that of later ones.
    models_after : float
        Work after the last epoch of the current loop, for the models of the final ensemble among
        others, in models of a refresh.
    power_of_size : float
        The time of a model goes with this power of the number of its features.
    time_limit : float or None
        Seconds that the fit may take.
    is_out_of_time : bool
        Whether a time limit has ended the current loop.
    """

    estimator: Any
    has_parts: bool = False
    share_before: float = 0.0
    share: float = 1.0
    n_repeats: int = 1
    n_at_once: int = 1
    n_parameters: int = 1
    first_size: float | None = None
    models_after: float = 0.0
    power_of_size: float = 0.25
    time_limit: float | None = None
    is_out_of_time: bool = False

    @property
    def name(self) -> str:
        """Name of what is being trained."""
        return type(self.estimator).__name__

    @property
    def time_share(self) -> float:
        """Fraction of a time limit that may be over after the current loop."""
        return self.share

    def share_after(self, done: float) -> float:
        """Fraction of the whole work that is done after a fraction of the current loop."""
        return self.share_before + (self.share - self.share_before) * done

    def seconds_of_members(self, state: TrainingState | None) -> float:
        """Time for the members of the final ensemble, if it was measured; otherwise 0.

        Before the first epoch the state is None.
        """
        return 0.0

    def engine_for(self, engine: Engine, base: int, n_samples: int) -> Engine:
        """The engine that would train a base model on so many samples instead of this one."""
        return engine

    @property
    @abstractmethod
    def can_predict(self) -> bool:
        """Whether :meth:`fitted_estimator` is available."""

    @abstractmethod
    def fitted_estimator(self, state: TrainingState) -> Any:
        """The model that ``fit`` would return if training ended with this state.

        A new object, bit for bit equal to that model. Its ``n_estimators`` members are trained for
        it; they are reused as long as the best alpha and the rounds do not change, also for the
        model that ``fit`` returns.
        """

    @abstractmethod
    def save(self, path: Path, state: TrainingState) -> None:
        """Write a checkpoint from which the fit can be resumed.

        Parameters
        ----------
        path : Path
            The file; an existing one is replaced atomically.
        state : TrainingState
            After a whole epoch.
        """

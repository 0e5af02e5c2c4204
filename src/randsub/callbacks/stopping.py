"""Stop when nothing gets better, or when time is up."""

import time
from collections.abc import Callable
from typing import Final

import numpy as np

from randsub._numbers import check_number
from randsub.training.callbacks import Callback
from randsub.training.problem import Settings
from randsub.training.run import Run
from randsub.training.state import EpochRecord, TrainingState

MONITORS: Final = ("validation_objective", "objective")


class EarlyStopping(Callback):
    """Stop for good once an objective has not improved for some epochs.

    Parameters
    ----------
    patience : int, default=100
        Epochs without an improvement after which training ends. A revival starts the count anew.
    tol : float, default=1e-4
        The least improvement that counts.
    monitor : {"validation_objective", "objective"}, default="validation_objective"
        The column of ``history_`` that is looked at.

    See Also
    --------
    TimeLimit : Stop after some time.

    Notes
    -----
    The model's own ``n_iter_no_change`` takes a plateau as the moment for the next revival, and
    ends training after the last one. This callback ends it at once, however many revivals are still
    to come.

    It looks at nothing but the history, which a checkpoint holds: a fit that is resumed with the
    same callback stops where it would have stopped.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.callbacks import EarlyStopping
    >>> from randsub.datasets import make_friedman
    >>> X, y, _ = make_friedman(n_samples=100, n_irrelevant=5, random_state=0)
    >>> model = PRSRegressor(n_estimators=20, learning_rate=0.01, random_state=0)
    >>> model = model.set_callbacks(EarlyStopping(patience=10)).fit(X, y)
    >>> model.n_iter_ < model.max_iter
    True
    """

    def __init__(
        self, patience: int = 100, *, tol: float = 1e-4, monitor: str = "validation_objective"
    ) -> None:
        self.patience = patience
        self.tol = tol
        self.monitor = monitor

    def for_run(self, run: Run) -> "EarlyStopping":
        """One that counts for this fit alone."""
        check_number(self, "patience", 1)
        check_number(self, "tol", 0.0)
        if self.monitor not in MONITORS:
            raise ValueError(
                f"monitor of EarlyStopping must be one of {MONITORS}, got {self.monitor!r}."
            )
        return EarlyStopping(self.patience, tol=self.tol, monitor=self.monitor)

    def on_start(self, settings: Settings, state: TrainingState) -> str | None:
        """Look at the epochs that are done already, as if they had just been."""
        self._best, self._since = np.inf, 0
        for record in state.history:
            self._look(record)
        return self._verdict()

    def on_epoch_end(self, state: TrainingState) -> str | None:
        """Look at the last epoch."""
        self._look(state.history[-1])
        return self._verdict()

    def _look(self, record: EpochRecord) -> None:
        value: float = getattr(record, self.monitor)
        if record.revived or not np.isfinite(self._best) or value < self._best - self.tol:
            self._best, self._since = value, 0
        else:
            self._since += 1

    def _verdict(self) -> str | None:
        if self._since < self.patience:
            return None
        return f"EarlyStopping: no improvement of {self.monitor} in {self._since} epochs"


class TimeLimit(Callback):
    """Stop after some time, with the best alpha so far.

    Parameters
    ----------
    seconds : float
        Time for training. It is looked at after each epoch, so that at least one epoch is run; the
        final ensemble is trained after it. A network that is trained in several parts divides the
        time among them, in proportion to the work that each has to do.

    Notes
    -----
    Where the limit falls depends on the machine, so results are not reproducible. A fit that is
    resumed from a checkpoint has the full time once more.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.callbacks import TimeLimit
    >>> model = PRSRegressor().set_callbacks(TimeLimit(60))
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def for_run(self, run: Run) -> "_Clock":
        """A clock that starts now."""
        check_number(self, "seconds", 0.0, open_low=True)
        return _Clock(run, self.seconds)


class _Clock(Callback):
    def __init__(self, run: Run, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._run, self._seconds, self._now = run, seconds, now
        self._begin = now()

    def on_epoch_end(self, state: TrainingState) -> str | None:
        """Look at the clock."""
        if self._now() - self._begin < self._seconds * self._run.share:
            return None
        return f"TimeLimit: {self._seconds:g} seconds are over"

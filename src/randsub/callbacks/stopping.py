"""Callbacks that stop training: early stopping, and a time limit."""

import time
from collections.abc import Callable
from typing import Final

import numpy as np

from randsub._numbers import check_number
from randsub.solver.callback import Callback
from randsub.solver.problem import Settings
from randsub.solver.run import Run
from randsub.solver.state import EpochRecord, TrainingState

MONITORS: Final = ("validation_objective", "objective")


class EarlyStopping(Callback):
    """Stop training when an objective has stopped improving.

    Parameters
    ----------
    patience : int, default=100
        Number of epochs without an improvement after which training stops. A revival resets the
        count.
    tol : float, default=1e-4
        Smallest improvement that counts.
    monitor : {"validation_objective", "objective"}, default="validation_objective"
        Column of ``history_`` to monitor.

    See Also
    --------
    TimeLimit : Stop after a given time.

    Notes
    -----
    With ``n_iter_no_change`` of the model, a plateau brings the next revival forward, and stops
    training only after the last revival. This callback stops training at the first plateau.

    It only uses the history, which a checkpoint contains: a fit that is resumed with the same
    callback stops at the same epoch.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.callbacks import EarlyStopping
    >>> from randsub.datasets import make_friedman
    >>> from randsub.solver import Solver
    >>> X, y, _ = make_friedman(n_samples=100, n_irrelevant=5, random_state=0)
    >>> solver = Solver(learning_rate=0.01)
    >>> model = PRSRegressor(n_estimators=20, solver=solver, random_state=0)
    >>> model = model.set_callbacks(EarlyStopping(patience=10)).fit(X, y)
    >>> model.n_iter_ < solver.max_iter
    True
    """

    def __init__(
        self, patience: int = 100, *, tol: float = 1e-4, monitor: str = "validation_objective"
    ) -> None:
        self.patience = patience
        self.tol = tol
        self.monitor = monitor

    def for_run(self, run: Run) -> "EarlyStopping":
        """Return a callback for this fit."""
        check_number(self, "patience", 1)
        check_number(self, "tol", 0.0)
        if self.monitor not in MONITORS:
            raise ValueError(
                f"monitor of EarlyStopping must be one of {MONITORS}, got {self.monitor!r}."
            )
        return EarlyStopping(self.patience, tol=self.tol, monitor=self.monitor)

    def on_start(self, settings: Settings, state: TrainingState) -> str | None:
        """Process the epochs before the checkpoint, if the fit is resumed."""
        self._best, self._since = np.inf, 0
        for record in state.history:
            self._look(record)
        return self._verdict()

    def on_epoch_end(self, state: TrainingState) -> str | None:
        """Process the last epoch."""
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
    """Stop training after a given time; the best alpha so far is kept.

    Parameters
    ----------
    seconds : float
        Time for training. It is checked after each epoch, so at least one epoch is run; the time
        to train the final ensemble is not included. If a fit has several parts, the time is divided
        among them in proportion to their work.

    Notes
    -----
    The number of epochs depends on the speed of the machine, so results are not reproducible. The
    time starts again if a fit is resumed from a checkpoint.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.callbacks import TimeLimit
    >>> model = PRSRegressor().set_callbacks(TimeLimit(60))
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def for_run(self, run: Run) -> "_Clock":
        """Start the clock."""
        check_number(self, "seconds", 0.0, open_low=True)
        return _Clock(run, self.seconds)


class _Clock(Callback):
    def __init__(self, run: Run, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._run, self._seconds, self._now = run, seconds, now
        self._begin = now()

    def on_epoch_end(self, state: TrainingState) -> str | None:
        """Stop if the time is over."""
        if self._now() - self._begin < self._seconds * self._run.share:
            return None
        return f"TimeLimit: {self._seconds:g} seconds are over"

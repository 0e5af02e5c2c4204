"""Callbacks that stop training: early stopping, and a time limit."""

import time
from collections.abc import Callable
from typing import Final

import numpy as np

from randsub._numbers import check_number
from randsub.solver.callback import Callback, TimedCallback
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
    """Stop training in time; the best alpha so far is kept.

    Parameters
    ----------
    seconds : float
        Time for the fit, from the first models to the final ensemble. It is checked while base
        models are trained, after each task of one slow model or several fast ones: a refresh that
        would not end in time is dropped. Time for the final ensemble, and for the calibration of
        probabilities, is set aside: it is estimated from the measured time of the models, which is
        taken to grow with the square of their samples, and from members that are trained for it.
        Time to compile an engine, once per machine, does not count. Repeats are trained one after
        the other, and those that are done in time are kept, at least the first as far as it came;
        ``n_repeats_`` says how many there are, and of one ``alpha_std_`` is 0.
        The time for a network is divided among its parts in proportion to their work.

    Raises
    ------
    UnfinishedFitError
        By ``fit``, if the time is too short for the first base models, of which there are
        ``n_estimators`` for each batch, and the final ensemble: as soon as a tenth of the time has
        shown that they would take more than twice as long, or when it is over.

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
        run.time_limit = min(self.seconds, run.time_limit or self.seconds)
        return _Clock(run, self.seconds)


class _Clock(TimedCallback):
    def __init__(self, run: Run, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(run, now)
        self._run, self._seconds = run, seconds
        self._has_begun = False

    def on_prepare(self, settings: Settings) -> None:
        """Begin with the first models of a part."""
        super().on_prepare(settings)
        self._has_begun = False

    def on_models_trained(self, n_done: int, n_all: int) -> str | None:
        """Stop if the time is over, also for what comes after training."""
        super().on_models_trained(n_done, n_all)
        # Without its first models a part has no result, so they may use the time of later parts.
        share = self._run.time_share if self._has_begun else 1.0
        verdict = self._verdict(share)
        if verdict is None and not self._has_begun and n_done < n_all:
            verdict = self._despair(n_done, n_all)
        self._run.is_out_of_time |= verdict is not None
        return verdict

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """The first models are there."""
        super().on_start(settings, state)
        self._has_begun = True

    def on_epoch_end(self, state: TrainingState) -> str | None:
        """Stop if the time is over."""
        super().on_epoch_end(state)
        verdict = self._verdict(self._run.time_share)
        self._run.is_out_of_time |= verdict is not None
        return verdict

    def _verdict(self, share: float) -> str | None:
        is_early = not self._has_begun and self._is_unsure()
        left = self._seconds * share - self.forecast.elapsed
        if left > 0.0 and (is_early or self.forecast.seconds_after(left) < left):
            return None
        if left <= 0.0:
            return f"TimeLimit: {self._seconds:g} seconds are over"
        if not self._has_begun:
            return f"TimeLimit: {self._seconds:g} seconds are too short"
        return f"TimeLimit: of {self._seconds:g} seconds, the rest is for the final models"

    def _is_unsure(self) -> bool:
        """Whether models were measured for less than a tenth of the time.

        The first ones, which may have loaded an engine or started workers, are not typical.
        """
        return self.forecast.measured < 0.1 * self._seconds

    def _despair(self, n_done: int, n_all: int) -> str | None:
        """Whether the first models would take more than twice the time, after a tenth of it."""
        each, elapsed = self.forecast.seconds_per_model(), self.forecast.elapsed
        if each is None or self._is_unsure():
            return None
        needed = elapsed + each * (n_all - n_done + self._run.models_after)
        if needed <= 2.0 * self._seconds:
            return None
        return f"TimeLimit: {self._seconds:g} seconds are too short"

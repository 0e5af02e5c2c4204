"""Callbacks of the training loop: they observe it and may request a stop."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from randsub._progress import Bar
from randsub.parallel import StopRequest, Watch
from randsub.solver.forecast import Forecast, LongFit
from randsub.solver.problem import Settings
from randsub.solver.run import Run
from randsub.solver.state import TrainingState


class Callback:
    """Base class of callbacks, which observe the training of a model and may stop it.

    Pass an instance to ``model.set_callbacks(...)``. Each hook does nothing unless overridden. A
    callback must not modify the objects that it receives.

    Every model is trained by the same loop, which calls the hooks in this order:

    1. :meth:`for_run`, before anything is trained;
    2. :meth:`on_prepare`, before the first models are trained; not if a fit is resumed;
    3. :meth:`on_start`, before the first epoch, or the first one after a checkpoint;
    4. :meth:`on_epoch_begin` and :meth:`on_epoch_end`, once per epoch;
    5. :meth:`on_end`, also after an error;

    and :meth:`on_models_trained` again and again while base models are trained, between 2 and 3 and
    in the epochs that retrain them.

    A network without a coupling penalty, or with a path of penalties, runs several loops one after
    the other and repeats steps 2 to 5; so does an ensemble whose repeats do not fit into memory at
    the same time.

    The repeats of an ensemble, and the targets of a network, are the P tasks of a loop.

    Hooks receive a :class:`~randsub.solver.TrainingState`, with ``epoch``, ``alpha`` of this
    epoch (one row per task), ``theta`` (the same, or a row for each task and base model if there
    are several), ``best_theta``, ``best_objective``, ``history`` and more; and
    :class:`~randsub.solver.Settings` with ``max_iter`` and the other settings of the solver.

    Notes
    -----
    Clones of a model share its callbacks, as in scikit-learn, and may be fitted at the same time. A
    callback with state should therefore return a new object from :meth:`for_run`.

    The class also implements the callback protocol of scikit-learn 1.9, with hooks that do nothing.
    The training loop calls the hooks above with any version of scikit-learn.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.callbacks import Callback
    >>> from randsub.datasets import make_friedman
    >>> from randsub.solver import Solver
    >>> class Budget(Callback):
    ...     def on_epoch_end(self, state):
    ...         if state.n_models_trained >= 500:
    ...             return "500 base models are enough"
    >>> X, y, _ = make_friedman(n_samples=100, n_irrelevant=5, random_state=0)
    >>> model = PRSRegressor(n_estimators=20, solver=Solver(learning_rate=0.01), random_state=0)
    >>> model.set_callbacks(Budget()).fit(X, y).stop_reason_
    '500 base models are enough'
    """

    def for_run(self, run: Run) -> "Callback":
        """Return the callback to use for this fit: this one, or a new one.

        Parameters
        ----------
        run : Run
            The fit that is about to begin. A callback that does not support it raises an error
            here, before anything is trained.
        """
        return self

    def on_prepare(self, settings: Settings) -> None:
        """Called before the first models are trained."""

    def on_compile(self) -> None:
        """Called when an engine is compiled, which takes seconds once per machine."""

    def on_models_trained(self, n_done: int, n_all: int) -> bool | str | None:
        """Called while base models are trained, after each task of one model or several.

        Return True, or a text with the reason, to stop training. The models of this refresh are
        then dropped, and the state after the last epoch is kept. Before the first epoch there is
        none: ``fit`` raises :class:`randsub.exceptions.UnfinishedFitError`.

        Parameters
        ----------
        n_done, n_all : int
            Number of models that are trained, and of all models of this refresh.
        """

    def on_long_fit(self, advice: LongFit) -> bool | None:
        """Called once, as soon as it is known that a fit takes long.

        Return True if the user has been told, so that no warning is issued.
        """

    def on_start(self, settings: Settings, state: TrainingState) -> bool | str | None:
        """Called before the first epoch; the first models are trained, or read from a checkpoint.

        Return True, or a text with the reason, to stop training.
        """

    def on_epoch_begin(self, state: TrainingState) -> None:
        """Called before each epoch."""

    def on_epoch_end(self, state: TrainingState) -> bool | str | None:
        """Called after each epoch; return True, or a text with the reason, to stop training."""

    def on_end(self, state: TrainingState) -> None:
        """Called after the loop, also if it ended with an error."""

    # -- scikit-learn's protocol -------------------------------------------------------------------

    def setup(self, estimator: Any, context: Any) -> None:
        """Raise an error for an estimator that never calls the hooks."""
        # Estimators with ``CallbackSupport``, which this package cannot import.
        if not hasattr(estimator, "_watched"):
            raise TypeError(
                f"{type(self).__name__} works only with models of randsub, not with "
                f"{type(estimator).__name__}: call set_callbacks of the randsub model inside it."
            )

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing; see :meth:`on_end`."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing; see :meth:`on_epoch_begin`."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Do nothing; see :meth:`on_epoch_end`."""


def tell_of_compiling(callbacks: Sequence[Callback]) -> None:
    """Tell the callbacks that an engine is being compiled."""
    for callback in callbacks:
        callback.on_compile()


def wish(answers: Sequence[bool | str | None]) -> str | None:
    """Reason for which a callback requests to stop; None if there is none."""
    first = next((answer for answer in answers if answer), None)
    return first if first is None or isinstance(first, str) else "a callback asked to stop"


def telling(callbacks: Sequence[Callback]) -> Watch:
    """Tells the callbacks how many models are trained, and ends the dispatch if one requests it."""
    begin = time.perf_counter()

    def watch(n_done: int, n_all: int) -> None:
        reason = wish([callback.on_models_trained(n_done, n_all) for callback in callbacks])
        if reason is not None:
            raise StopRequest(reason, n_done, n_all, time.perf_counter() - begin)

    return watch


class TimedCallback(Callback):
    """Callback with a forecast of the time that the fit takes.

    Parameters
    ----------
    run : Run or None, default=None
        The fit; None if it is not known yet.
    clock : callable, default=time.monotonic
        Returns the time in seconds.
    """

    def __init__(self, run: Run | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._forecast = None if run is None else Forecast(run, clock)

    @property
    def forecast(self) -> Forecast:
        """What is measured and expected, from :meth:`for_run` on."""
        if self._forecast is None:
            raise RuntimeError(f"for_run of this {type(self).__name__} was not called.")
        return self._forecast

    def on_prepare(self, settings: Settings) -> None:
        """Measure the first models."""
        self.forecast.prepare(settings)

    def on_compile(self) -> None:
        """Do not count the time."""
        self.forecast.compile()

    def on_models_trained(self, n_done: int, n_all: int) -> bool | str | None:
        """Measure a task."""
        self.forecast.models_trained(n_done, n_all)
        return None

    def on_start(self, settings: Settings, state: TrainingState) -> bool | str | None:
        """Measure the epochs."""
        self.forecast.start(settings, state)
        return None

    def on_epoch_end(self, state: TrainingState) -> bool | str | None:
        """Measure an epoch."""
        self.forecast.epoch_done(state)
        return None


class ProgressBar(TimedCallback):
    """Progress bar over epochs, with objective, expected size and number of models trained.

    While base models are trained, it shows how many of them are done. The time left is estimated
    from the measured times of models and epochs, for all parts of the fit; see
    ``randsub.solver.forecast``.

    Parameters
    ----------
    description : str, default=None
        Text before the bar; by default the name of the model.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.callbacks import ProgressBar
    >>> model = PRSRegressor().set_callbacks(ProgressBar("second attempt"))
    """

    def __init__(self, description: str | None = None) -> None:
        super().__init__()
        self.description = description
        self._bar: Bar | None = None

    def for_run(self, run: Run) -> "ProgressBar":
        """Return a new bar for each fit."""
        bar = ProgressBar(self.description)
        bar._forecast = Forecast(run)
        return bar

    def on_prepare(self, settings: Settings) -> None:
        """Open the bar."""
        super().on_prepare(settings)
        self._open()

    def on_compile(self) -> None:
        """Show that an engine is being compiled."""
        super().on_compile()
        if self._bar is not None:
            self._bar.say_compiling()

    def on_models_trained(self, n_done: int, n_all: int) -> None:
        """Show how many models of a refresh are trained."""
        super().on_models_trained(n_done, n_all)
        if self._bar is not None:
            self._bar.say(f"models {n_done}/{n_all}", self.forecast.time_left)

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Open the bar, if a fit is resumed, and move it to the first epoch."""
        super().on_start(settings, state)
        self._open().move(self.forecast.epochs[0], self.forecast.time_left)

    def _open(self) -> Bar:
        """Open a bar over the epochs of all parts of the fit, with the name of this part."""
        name = self.description or self.forecast.run.name
        if self._bar is None:
            n_done, n_epochs = self.forecast.epochs
            self._bar = Bar(name, n_epochs, "epoch", n_done)
        self._bar.description = name
        self._bar.say("")
        return self._bar

    def on_epoch_end(self, state: TrainingState) -> None:
        """Move the bar."""
        super().on_epoch_end(state)
        if self._bar is None:
            return
        last = state.history[-1]
        self._bar.tell(
            validation=f"{last.validation_objective:.4f}",
            **{state.name_of_best: f"{state.best_objective:.4f}"},
            size=f"{last.expected_size:.1f}",
            # As text: tqdm would round a number of this size to "3e+4".
            models=str(last.n_models_trained),
        )
        self._bar.move(self.forecast.epochs[0], self.forecast.time_left)

    def on_end(self, state: TrainingState) -> None:
        """Close the bar, unless there are further parts."""
        if self._bar is not None and self.forecast.is_over(state):
            self._bar.close()
            self._bar = None

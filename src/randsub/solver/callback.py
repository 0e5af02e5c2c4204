"""Callbacks of the training loop: they observe it and may request a stop."""

from typing import Any

from randsub._progress import Bar
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
    5. :meth:`on_end`, also after an error.

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


class ProgressBar(Callback):
    """Progress bar over epochs, with objective, expected size and number of models trained.

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
        self.description = description
        self._run: Run | None = None
        self._bar: Bar | None = None

    def for_run(self, run: Run) -> "ProgressBar":
        """Return a new bar for each fit."""
        bar = ProgressBar(self.description)
        bar._run = run
        return bar

    def on_prepare(self, settings: Settings) -> None:
        """Open the bar."""
        self._open(settings, 0)

    def on_compile(self) -> None:
        """Show that an engine is being compiled."""
        if self._bar is not None:
            self._bar.say_compiling()

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Open the bar if a fit is resumed; otherwise restore its description."""
        if self._bar is None:
            self._open(settings, state.epoch)
        else:
            self._bar.say_name()

    def _open(self, settings: Settings, epoch: int) -> None:
        name = "PRS" if self._run is None else self._run.name
        self._bar = Bar(self.description or name, settings.max_iter, "epoch", epoch)

    def on_epoch_end(self, state: TrainingState) -> None:
        """Move the bar."""
        if self._bar is None:
            return
        last = state.history[-1]
        self._bar.tell(
            validation=f"{last.validation_objective:.4f}",
            best=f"{state.best_objective:.4f}",
            size=f"{last.expected_size:.1f}",
            # As text: tqdm would round a number of this size to "3e+4".
            models=str(last.n_models_trained),
        )
        self._bar.advance()

    def on_end(self, state: TrainingState) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

"""Who watches the loop: callbacks observe and may ask to stop; they never steer."""

from collections.abc import Sequence
from typing import Any

from tqdm.auto import tqdm

from randsub.training.problem import Settings
from randsub.training.run import Run
from randsub.training.state import TrainingState


class Watched:
    """Estimators whose training callbacks can watch: a mark, without anything in it."""


class Callback:
    """Watches the training of a model; a base class for your own.

    Give an instance to ``model.set_callbacks(...)``. Each hook does nothing unless overridden. A
    callback observes and may ask to stop; it never steers, and nothing that it does with what it is
    shown may change it.

    Every model is trained by the same loop. Its hooks, in order:

    1. :meth:`for_run`, before anything is trained;
    2. :meth:`on_prepare`, before the first models are trained; not where a fit is resumed;
    3. :meth:`on_start`, before the first epoch, or the first one after a checkpoint;
    4. :meth:`on_epoch_begin` and :meth:`on_epoch_end`, for each epoch;
    5. :meth:`on_end`, whatever happens.

    A network without a coupling penalty, or with a path of them, has several loops one after the
    other, and so calls from 2 on come several times.

    What a hook is shown is a :class:`~randsub.callbacks.TrainingState`, among others with
    ``epoch``, ``theta`` (alpha of this epoch), ``best_theta``, ``best_objective`` and ``history``;
    and :class:`~randsub.callbacks.Settings` with ``max_iter`` and the other numbers of the method.

    Notes
    -----
    Clones of a model share its callbacks, as in scikit-learn, and may be fitted at the same time. A
    callback that remembers something from epoch to epoch should therefore return a new object from
    :meth:`for_run`.

    To scikit-learn 1.9 it is a callback of its own protocol whose hooks have nothing to do; the
    hooks above are what our loop calls, whatever the version of scikit-learn.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.callbacks import Callback
    >>> from randsub.datasets import make_friedman
    >>> class SmallEnough(Callback):
    ...     def on_epoch_end(self, state):
    ...         if state.history[-1].expected_size < 2.0:
    ...             return "members see less than two features"
    >>> X, y, _ = make_friedman(n_samples=100, n_irrelevant=5, random_state=0)
    >>> model = PRSRegressor(n_estimators=20, learning_rate=0.01, random_state=0)
    >>> model.set_callbacks(SmallEnough()).fit(X, y).stop_reason_
    'members see less than two features'
    """

    def for_run(self, run: Run) -> "Callback":
        """The callback that watches this fit: this one, or a new one for this fit alone.

        Parameters
        ----------
        run : Run
            The fit that is about to begin. A callback that cannot work with it raises here, before
            anything is trained.
        """
        return self

    def on_prepare(self, settings: Settings) -> None:
        """The first rounds are about to be trained."""

    def on_compile(self) -> None:
        """Something is being compiled that was not on disk yet; that takes seconds, once."""

    def on_start(self, settings: Settings, state: TrainingState) -> bool | str | None:
        """The first rounds are trained, or read; the next epoch is about to begin.

        As at the end of an epoch, True or a reason asks the loop to stop.
        """

    def on_epoch_begin(self, state: TrainingState) -> None:
        """An epoch is about to begin."""

    def on_epoch_end(self, state: TrainingState) -> bool | str | None:
        """An epoch is done; return True, or a text with the reason, to ask the loop to stop."""

    def on_end(self, state: TrainingState) -> None:
        """The loop is over, however it ended."""

    # -- scikit-learn's protocol -------------------------------------------------------------------

    def setup(self, estimator: Any, context: Any) -> None:
        """Refuse an estimator that would never call the hooks."""
        if not isinstance(estimator, Watched):
            raise TypeError(
                f"{type(self).__name__} watches the training of randsub's own models and would "
                f"see nothing of {type(estimator).__name__}: call set_callbacks of the model "
                "inside it."
            )

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing: :meth:`on_end` is called in any case."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing: see :meth:`on_epoch_begin`."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Nothing: see :meth:`on_epoch_end`."""


class Bar:
    """A bar on the screen that says so when nothing moves because something is being compiled.

    Parameters
    ----------
    description : str
    total : int
        Steps to go.
    unit : str
        What a step is called.
    initial : int, default=0
        Steps that are done already.
    shown : bool, default=True
        Whether there is anything to see at all.
    """

    def __init__(
        self, description: str, total: int, unit: str, initial: int = 0, *, shown: bool = True
    ) -> None:
        self.description = description
        self._is_compiling = False
        self._bar = tqdm(
            total=total,
            initial=initial,
            desc=description,
            unit=unit,
            dynamic_ncols=True,
            disable=not shown,
        )

    def say_compiling(self) -> None:
        """Say why nothing moves."""
        self._is_compiling = True
        self._bar.set_description(f"{self.description} (compiling, once on this machine)")

    def say_name(self) -> None:
        """Call it by its name again."""
        self._is_compiling = False
        self._bar.set_description(self.description, refresh=False)

    def tell(self, **figures: str) -> None:
        """Show figures beside the bar from the next move on."""
        self._bar.set_postfix(**figures, refresh=False)

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        if self._is_compiling:
            self.say_name()
        self._bar.update(steps)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()


class ProgressBar(Callback):
    """A bar over epochs, with the objective, the expected size and the work done so far.

    Parameters
    ----------
    description : str, default=None
        What stands before the bar; the name of the model by default.

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
        """A bar of its own for each fit."""
        bar = ProgressBar(self.description)
        bar._run = run
        return bar

    def on_prepare(self, settings: Settings) -> None:
        """Open the bar."""
        self._open(settings, 0)

    def on_compile(self) -> None:
        """Say why nothing moves."""
        if self._bar is not None:
            self._bar.say_compiling()

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Open the bar where training is taken up again, else call it by its name."""
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
            # As text: a number of this size would be rounded to "3e+4".
            models=str(last.n_models_trained),
        )
        self._bar.advance()

    def on_end(self, state: TrainingState) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def tell_of_compiling(callbacks: Sequence[Callback]) -> None:
    """Pass the word to all of them."""
    for callback in callbacks:
        callback.on_compile()

"""What an estimator needs to have callbacks: scikit-learn's protocol, or our own thin one.

From 1.9 on, ``set_callbacks`` is scikit-learn's, and its own callbacks are told of the fit and of
its epochs. Before that, ``set_callbacks`` is ours and takes our callbacks alone. Ours are called by
the training loop in either case.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from randsub.training.callbacks import Callback, Watched
from randsub.training.problem import Settings
from randsub.training.run import Run
from randsub.training.state import TrainingState


class ThinSupport:
    """``set_callbacks`` where scikit-learn has none."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Keep the callbacks."""
        for callback in callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(
                    "callbacks must be instances of randsub.callbacks.Callback, got "
                    f"{callback!r}; those of scikit-learn need scikit-learn 1.9."
                )
        if callbacks:
            self._skl_callbacks = list(callbacks)
        else:
            self.__dict__.pop("_skl_callbacks", None)
        return self

    def __sklearn_clone__(self) -> Self:
        new = super().__sklearn_clone__()  # type: ignore[misc]
        if hasattr(self, "_skl_callbacks"):
            # By reference, as scikit-learn 1.9 does it.
            new._skl_callbacks = self._skl_callbacks
        return new

    # Only callbacks of scikit-learn want one, and there are none.
    _callback_fit_ctx: Any = None

    def _init_callback_context(self, max_subtasks: int | None) -> None:
        pass


if TYPE_CHECKING:
    Support = ThinSupport
else:
    try:
        from sklearn.callback import CallbackSupportMixin as Support
    except ImportError:
        Support = ThinSupport


class CallbackSupport(Watched, Support):
    """An estimator whose training can be watched."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set the callbacks that watch, and may stop, the next fits.

        Parameters
        ----------
        *callbacks : instances
            From :mod:`randsub.callbacks`, or of one's own; from scikit-learn 1.9 on also those of
            :mod:`sklearn.callback`. They replace those that were set before; none removes them.
            Clones of the model share them.

        Returns
        -------
        self : object
        """
        return super().set_callbacks(*callbacks)

    def _callbacks_for(self, run: Run, **facts: Any) -> list[Callback]:
        """Those that the training loop calls, ready for a fit.

        Parameters
        ----------
        run : Run
        **facts
            X, y and metadata of the fit, as the hooks of scikit-learn take them.
        """
        given = getattr(self, "_skl_callbacks", ())
        ours = [c.for_run(run) for c in given if isinstance(c, Callback)]
        if len(ours) == len(given):
            return ours
        return [*ours, Bridge(self._callback_fit_ctx, run, facts)]

    @contextmanager
    def _fit_task(self, **facts: Any) -> Iterator[None]:
        """Tells the callbacks of scikit-learn that the fit begins and, if it does, that it ends."""
        context = getattr(self, "_callback_fit_ctx", None)
        if context is not None:
            context.call_on_fit_task_begin(estimator=self, **facts)
        yield
        if context is not None:
            # Nothing is needed to make a fitted model of this one.
            context.call_on_fit_task_end(estimator=self, **facts, reconstruction_attributes={})


class Bridge(Callback):
    """Tells the callbacks of scikit-learn what the loop tells ours.

    Every epoch is a task. In a fit of several loops each loop is a task, too, and has its epochs as
    subtasks.

    Parameters
    ----------
    context : sklearn.callback.CallbackContext
        Of the fit.
    run : Run
    facts : dict
        X, y and metadata of the fit, as its hooks take them.
    """

    def __init__(self, context: Any, run: Run, facts: dict[str, Any]) -> None:
        self._fit, self._run, self._several = context, run, run.has_parts
        self._facts = {"estimator": run.estimator, **facts}

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Open the task that has the epochs as its subtasks."""
        self._loop = self._fit
        if self._several:
            self._loop = self._fit.subcontext(
                task_name=self._run.name, max_subtasks=settings.max_iter - state.epoch
            )
            self._loop.call_on_fit_task_begin(**self._facts)

    def on_epoch_begin(self, state: TrainingState) -> None:
        """Open the task of the epoch."""
        self._epoch = self._loop.subcontext(task_name="epoch")
        self._epoch.call_on_fit_task_begin(**self._facts)

    def on_epoch_end(self, state: TrainingState) -> bool:
        """Close it, and pass on who wants to stop."""
        return bool(self._epoch.call_on_fit_task_end(**self._facts, **self._model(state)))

    def on_end(self, state: TrainingState) -> None:
        """Close the task that had the epochs, if it came to its end."""
        if self._several and state.stopped is not None:
            self._loop.call_on_fit_task_end(**self._facts, **self._model(state))

    def _model(self, state: TrainingState) -> dict[str, Callable[[], dict[str, Any]]]:
        """Trained only if one of the callbacks asks for it."""
        if not self._run.can_predict:
            return {}
        return {"reconstruction_attributes": lambda: vars(self._run.fitted_estimator(state))}

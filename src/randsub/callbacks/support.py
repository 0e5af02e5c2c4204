"""Mixin for estimators with callbacks.

From scikit-learn 1.9 on, ``set_callbacks`` is inherited from scikit-learn, and also accepts its
callbacks. With earlier versions it is our own and only accepts our callbacks. In both cases the
training loop calls ours.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from randsub.solver.callback import Callback
from randsub.solver.problem import Settings
from randsub.solver.run import Run
from randsub.solver.state import TrainingState


class ThinSupport:
    """``set_callbacks`` for versions of scikit-learn without it."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set the callbacks."""
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
            # By reference, as in scikit-learn 1.9.
            new._skl_callbacks = self._skl_callbacks
        return new

    # Only callbacks of scikit-learn need a context.
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


class CallbackSupport(Support):
    """Mixin for estimators with callbacks."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set the callbacks that monitor, and may stop, the next fits.

        Parameters
        ----------
        *callbacks : instances
            From :mod:`randsub.callbacks`, or custom ones; from scikit-learn 1.9 on also those of
            :mod:`sklearn.callback`. They replace earlier callbacks; without arguments these are
            removed. Clones of the model share them.

        Returns
        -------
        self : object
        """
        return super().set_callbacks(*callbacks)

    @contextmanager
    def _watched(self, run: Run, **facts: Any) -> Iterator[list[Callback]]:
        """The callbacks for the training loop; those of scikit-learn are wrapped in one of them.

        Parameters
        ----------
        run : Run
        **facts
            X, y and metadata of the fit, as the hooks of scikit-learn take them.
        """
        context = getattr(self, "_callback_fit_ctx", None)
        if context is not None:
            context.call_on_fit_task_begin(estimator=self, **facts)
        given = getattr(self, "_skl_callbacks", ())
        ours = [c.for_run(run) for c in given if isinstance(c, Callback)]
        yield ours if len(ours) == len(given) else [*ours, Bridge(context, run, facts)]
        if context is not None:
            # The estimator itself is the fitted model.
            context.call_on_fit_task_end(estimator=self, **facts, reconstruction_attributes={})


class Bridge(Callback):
    """Callback that forwards the hooks of the loop to the callbacks of scikit-learn.

    Every epoch is a task. In a fit of several loops each loop is a task, with its epochs as
    subtasks.

    Parameters
    ----------
    context : sklearn.callback.CallbackContext
        Context of the fit.
    run : Run
    facts : dict
        X, y and metadata of the fit, as its hooks take them.
    """

    def __init__(self, context: Any, run: Run, facts: dict[str, Any]) -> None:
        self._fit, self._run, self._several = context, run, False
        self._facts = {"estimator": run.estimator, **facts}

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Open the task of this loop, if there are several loops."""
        self._loop, self._several = self._fit, self._run.has_parts
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
        """Close it, and return whether a callback requests to stop."""
        return bool(self._epoch.call_on_fit_task_end(**self._facts, **self._model(state)))

    def on_end(self, state: TrainingState) -> None:
        """Close the task of this loop, unless it failed."""
        if self._several and state.stopped is not None:
            self._loop.call_on_fit_task_end(**self._facts, **self._model(state))

    def _model(self, state: TrainingState) -> dict[str, Callable[[], dict[str, Any]]]:
        """Attributes of the fitted model, computed only if a callback uses them."""
        if not self._run.can_predict:
            return {}
        return {"reconstruction_attributes": lambda: vars(self._run.fitted_estimator(state))}

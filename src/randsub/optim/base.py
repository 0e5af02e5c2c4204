"""The protocol of an optimiser."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np

from randsub._sklearn import DocumentedEstimator
from randsub._typing import BoolArray, FloatArray, Projection

__all__ = ["Optimizer", "OptimizerState", "Projection", "Prox"]

# Maps the result of a step along the loss, and the length of the step of each entry, both (P, M),
# to the proximal point of the penalty inside the domain.
Prox: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
# A NamedTuple of arrays whose first axis is the task.
OptimizerState: TypeAlias = Any


class Optimizer(DocumentedEstimator, ABC):
    """Base class of optimisers: two pure functions, ``init`` and ``update``.

    ``theta, state = update(gradient, state, theta, project)`` is one step. The state is a
    NamedTuple of arrays whose first axis is the task, so that the state of one task can be reset
    without touching the others (:meth:`restart`).

    With a penalty, :meth:`update` gets the gradient of loss and penalty together. If
    ``is_proximal`` is set, :meth:`proximal_update` is called instead, with the gradient of the loss
    alone and the proximal step of the penalty.
    """

    is_proximal: ClassVar[bool] = False

    @abstractmethod
    def init(self, theta: FloatArray) -> OptimizerState:
        """State before the first step, for theta of shape (P, M)."""

    @abstractmethod
    def update(
        self,
        gradient: FloatArray,
        state: OptimizerState,
        theta: FloatArray,
        project: Projection,
    ) -> tuple[FloatArray, OptimizerState]:
        """One step.

        Parameters
        ----------
        gradient : ndarray of shape (P, M)
        state : NamedTuple of arrays
        theta : ndarray of shape (P, M)
        project : callable
            Maps theta to the nearest point of its domain, elementwise.

        Returns
        -------
        theta, state
            New objects; the arguments are not changed.
        """

    def proximal_update(
        self,
        gradient: FloatArray,
        state: OptimizerState,
        theta: FloatArray,
        project: Projection,
        prox: Prox,
    ) -> tuple[FloatArray, OptimizerState]:
        """One step along the gradient of the loss, followed by the proximal step of the penalty.

        Parameters
        ----------
        gradient, state, theta, project
            As in :meth:`update`, but the gradient is that of the loss alone.
        prox : callable
            Maps the result of the step, and the positive length of the step of each entry, both
            (P, M), to the new theta.

        Returns
        -------
        theta, state
            New objects; the arguments are not changed.
        """
        raise NotImplementedError(f"{self!r} has no proximal step.")

    def check(self) -> None:
        """Raise a ValueError if the parameters of the optimiser are not usable."""

    def restart(self, state: OptimizerState, theta: FloatArray, tasks: BoolArray) -> OptimizerState:
        """The state, reset for the tasks in a boolean mask of shape (P,)."""
        return type(state)(
            *(
                np.where(tasks.reshape((-1,) + (1,) * (old.ndim - 1)), new, old)
                for old, new in zip(state, self.init(theta), strict=True)
            )
        )

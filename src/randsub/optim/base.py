"""The protocol of an optimiser."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from randsub._typing import BoolArray, FloatArray, Projection

__all__ = ["Optimizer", "OptimizerState", "Projection", "Prox", "projected"]

# From where a step along the loss has led, and the length of the step for each entry, (P, M) both,
# to where the penalty lets theta rest; the domain is respected.
Prox: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
# A NamedTuple of arrays whose first axis is the task.
OptimizerState: TypeAlias = Any


class Optimizer(BaseEstimator, ABC):
    """Two pure functions: what to remember at the start, and one step.

    The memory is a NamedTuple of arrays whose first axis is the task, so that the memory of one
    task can be renewed without touching the others (:meth:`restart`).

    Where there is a penalty, :meth:`update` is given the gradient of loss and penalty together. An
    optimiser that sets ``is_proximal`` has :meth:`proximal_update` called instead, with the
    gradient of the loss alone and the proximal step of the penalty.
    """

    is_proximal: ClassVar[bool] = False

    @abstractmethod
    def init(self, theta: FloatArray) -> OptimizerState:
        """Memory before the first step, for theta of shape (P, M)."""

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
            New objects; the arguments are left as they were.
        """

    def proximal_update(
        self,
        gradient: FloatArray,
        state: OptimizerState,
        theta: FloatArray,
        project: Projection,
        prox: Prox,
    ) -> tuple[FloatArray, OptimizerState]:
        """One step along the loss, after which the penalty has its own.

        Parameters
        ----------
        gradient, state, theta, project
            As in :meth:`update`, but the gradient is that of the loss.
        prox : callable
            Maps where the step has led, and the positive length of the step for each entry,
            (P, M) both, to where penalty and domain let theta rest.

        Returns
        -------
        theta, state
            New objects; the arguments are left as they were.
        """
        raise NotImplementedError(f"{self!r} has no proximal step.")

    def check(self) -> None:
        """Raise a ValueError where the optimiser's own parameters are not usable."""

    def restart(self, state: OptimizerState, theta: FloatArray, tasks: BoolArray) -> OptimizerState:
        """The memory with that of some tasks, a boolean mask of shape (P,), as at the start."""
        return type(state)(
            *(
                np.where(tasks.reshape((-1,) + (1,) * (old.ndim - 1)), new, old)
                for old, new in zip(state, self.init(theta), strict=True)
            )
        )


def projected(gradient: FloatArray, theta: FloatArray, project: Projection) -> FloatArray:
    """The gradient without the entries along which a step would leave the domain."""
    return np.where(project(theta - gradient) != theta, gradient, 0.0)

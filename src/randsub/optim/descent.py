"""Plain projected gradient descent."""

from typing import NamedTuple

import numpy as np

from randsub._numbers import check_number
from randsub._typing import FloatArray, IntArray
from randsub.optim.base import Optimizer, Projection


class DescentState(NamedTuple):
    """Number of steps so far, shape (P,)."""

    steps: IntArray


class ProjectedGradientDescent(Optimizer):
    """``theta <- project(theta - learning_rate * gradient)``.

    Parameters
    ----------
    learning_rate : float, default=1e-3
    """

    def __init__(self, learning_rate: float = 1e-3) -> None:
        self.learning_rate = learning_rate

    def check(self) -> None:
        """The learning rate must be positive."""
        check_number(self, "learning_rate", 0.0, open_low=True)

    def init(self, theta: FloatArray) -> DescentState:
        """A count of steps."""
        return DescentState(np.zeros(len(theta), dtype=np.int64))

    def update(
        self, gradient: FloatArray, state: DescentState, theta: FloatArray, project: Projection
    ) -> tuple[FloatArray, DescentState]:
        """One step against the gradient."""
        return project(theta - self.learning_rate * gradient), DescentState(state.steps + 1)

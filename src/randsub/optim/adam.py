"""Adam, projected."""

from typing import NamedTuple

import numpy as np

from randsub._numbers import check_number
from randsub._typing import FloatArray, IntArray
from randsub.optim.base import Optimizer, Projection, projected


class AdamState(NamedTuple):
    """Moments of the gradient, shape (P, M), and steps taken, shape (P,)."""

    first: FloatArray
    second: FloatArray
    steps: IntArray


class ProjectedAdam(Optimizer):
    """Adam on the projected gradient, then projection.

    Parameters
    ----------
    learning_rate : float, default=1e-3
    beta1, beta2 : float, default=0.9 and 0.999
        Memory of the first and the second moment.
    eps : float, default=1e-8
        Keeps the step finite where the gradient has always been 0.

    Notes
    -----
    With g the projected gradient of step n::

        m <- beta1 m + (1 - beta1) g
        v <- beta2 v + (1 - beta2) g ** 2
        theta <- project(theta - lr * (m / (1 - beta1 ** n)) / (sqrt(v / (1 - beta2 ** n)) + eps))
    """

    def __init__(
        self,
        learning_rate: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
    ) -> None:
        self.learning_rate = learning_rate
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps

    def check(self) -> None:
        """The rate must be usable and the memories must fade."""
        check_number(self, "learning_rate", 0.0, open_low=True)
        check_number(self, "beta1", 0.0, 1.0)
        check_number(self, "beta2", 0.0, 1.0)
        check_number(self, "eps", 0.0, open_low=True)

    def init(self, theta: FloatArray) -> AdamState:
        """No gradient has been seen."""
        return AdamState(
            np.zeros_like(theta), np.zeros_like(theta), np.zeros(len(theta), dtype=np.int64)
        )

    def update(
        self, gradient: FloatArray, state: AdamState, theta: FloatArray, project: Projection
    ) -> tuple[FloatArray, AdamState]:
        """One step; see the notes of the class."""
        g = projected(gradient, theta, project)
        steps = state.steps + 1
        first = self.beta1 * state.first + (1.0 - self.beta1) * g
        second = self.beta2 * state.second + (1.0 - self.beta2) * g**2
        # Tasks may have been restarted at different times, hence a count for each.
        scale1 = 1.0 / (1.0 - self.beta1**steps)[:, np.newaxis]
        scale2 = 1.0 / (1.0 - self.beta2**steps)[:, np.newaxis]
        step = scale1 * first / (np.sqrt(scale2 * second) + self.eps)
        return project(theta - self.learning_rate * step), AdamState(first, second, steps)

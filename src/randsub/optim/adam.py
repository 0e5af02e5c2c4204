"""Adam, projected."""

from typing import NamedTuple

import numpy as np

from randsub._compile import compiled
from randsub._numbers import check_number
from randsub._typing import FloatArray, IntArray
from randsub.optim.base import Optimizer, Projection


class AdamState(NamedTuple):
    """Moments of the gradient, shape (P, M), and steps taken, shape (P,)."""

    first: FloatArray
    second: FloatArray
    steps: IntArray


class ProjectedAdam(Optimizer):
    """Adam on the projected gradient, followed by a projection.

    With g the gradient of step n, set to 0 where a step along it would leave the domain::

        m <- beta1 m + (1 - beta1) g
        v <- beta2 v + (1 - beta2) g ** 2
        lr <- learning_rate / (1 + decay (n - 1))
        theta <- project(theta - lr * (m / (1 - beta1 ** n)) / (sqrt(v / (1 - beta2 ** n)) + eps))

    Parameters
    ----------
    learning_rate : float, default=1e-3
    beta1, beta2 : float, default=0.9 and 0.999
        Decay rates of the first and the second moment.
    eps : float, default=1e-8
        Keeps the step finite where the gradient has always been 0.
    decay : float, default=0.0
        Decay of the learning rate with the number of steps since the start, or since the last
        revival.
    """

    def __init__(
        self,
        learning_rate: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        decay: float = 0.0,
    ) -> None:
        self.learning_rate = learning_rate
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps
        self.decay = decay

    def check(self) -> None:
        """The learning rate must be positive and the moments must fade."""
        check_number(self, "learning_rate", 0.0, open_low=True)
        check_number(self, "beta1", 0.0, 1.0)
        check_number(self, "beta2", 0.0, 1.0)
        check_number(self, "eps", 0.0, open_low=True)
        check_number(self, "decay", 0.0)

    def init(self, theta: FloatArray) -> AdamState:
        """Moments of 0."""
        return AdamState(
            np.zeros_like(theta), np.zeros_like(theta), np.zeros(len(theta), dtype=np.int64)
        )

    def update(
        self, gradient: FloatArray, state: AdamState, theta: FloatArray, project: Projection
    ) -> tuple[FloatArray, AdamState]:
        """One step; see the class for the formula."""
        step, state = self._step(projected(gradient, theta, project), state)
        return project(theta - step), state

    def _step(self, g: FloatArray, state: AdamState) -> tuple[FloatArray, AdamState]:
        """The change of theta for the gradient g, to be subtracted, and the new moments."""
        steps = state.steps + 1
        step, first, second = _moments(
            g,
            state.first,
            state.second,
            steps,
            float(self.learning_rate),
            float(self.beta1),
            float(self.beta2),
            float(self.eps),
            float(self.decay),
        )
        return step, AdamState(first, second, steps)

    def _lengths(self, state: AdamState) -> FloatArray:
        """Factor of the corrected first moment in the step that led to this state, (P, M)."""
        n = state.steps[:, np.newaxis]
        rate = self.learning_rate / (1.0 + self.decay * (n - 1))
        return rate / (np.sqrt(state.second / (1.0 - self.beta2**n)) + self.eps)


def projected(gradient: FloatArray, theta: FloatArray, project: Projection) -> FloatArray:
    """The gradient without the entries along which a step would leave the domain."""
    return np.where(project(theta - gradient) != theta, gradient, 0.0)


@compiled()
def _moments(g, first, second, steps, rate, beta1, beta2, eps, decay):  # type: ignore[no-untyped-def]
    """Step, first and second moment, (P, M) each, in one pass."""
    step, new_first, new_second = np.empty_like(g), np.empty_like(g), np.empty_like(g)
    for task in range(g.shape[0]):
        # Tasks may have been restarted at different times, hence a count for each.
        scale1 = rate / (1.0 + decay * (steps[task] - 1)) / (1.0 - beta1 ** steps[task])
        scale2 = 1.0 / (1.0 - beta2 ** steps[task])
        for j in range(g.shape[1]):
            m = beta1 * first[task, j] + (1.0 - beta1) * g[task, j]
            v = beta2 * second[task, j] + (1.0 - beta2) * g[task, j] ** 2
            step[task, j] = scale1 * m / (np.sqrt(scale2 * v) + eps)
            new_first[task, j], new_second[task, j] = m, v
    return step, new_first, new_second

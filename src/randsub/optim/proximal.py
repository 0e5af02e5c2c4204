"""Gradient steps on the loss, each followed by a proximal step of the penalty.

Subgradient steps on a penalty with kinks, such as the fused lasso, never land on a kink: neighbours
come close and then jump over each other by the length of a step. The proximal step minimises the
penalty exactly in the metric of the gradient step, and so lands on kinks: equal neighbours, rows of
zeros.
"""

import numpy as np

from randsub._typing import FloatArray
from randsub.optim.adam import AdamState, ProjectedAdam, projected
from randsub.optim.base import Projection, Prox
from randsub.optim.descent import DescentState, ProjectedGradientDescent


class ProximalGradientDescent(ProjectedGradientDescent):
    """``theta <- prox(theta - learning_rate * gradient)``, with the same step for all entries.

    Parameters
    ----------
    learning_rate : float, default=1e-3
    """

    is_proximal = True

    def proximal_update(
        self,
        gradient: FloatArray,
        state: DescentState,
        theta: FloatArray,
        project: Projection,
        prox: Prox,
    ) -> tuple[FloatArray, DescentState]:
        """One gradient step on the loss, then the proximal step of the penalty."""
        step = np.full_like(gradient, self.learning_rate)
        return prox(theta - step * gradient, step), DescentState(state.steps + 1)


class ProximalAdam(ProjectedAdam):
    """``theta <- prox(theta - step * m)``, with Adam's moments and Adam's step of each entry.

    The moments m and v are those of the gradient of the loss alone (see :class:`ProjectedAdam`).
    Adam's factor of the first moment, ``step = lr / (sqrt(v) + eps)``, is the metric in which the
    proximal step of the penalty is taken. Without a penalty this is :class:`ProjectedAdam`.

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

    is_proximal = True

    def proximal_update(
        self,
        gradient: FloatArray,
        state: AdamState,
        theta: FloatArray,
        project: Projection,
        prox: Prox,
    ) -> tuple[FloatArray, AdamState]:
        """One step; see the class for the formula."""
        moved, state = self._step(projected(gradient, theta, project), state)
        return prox(theta - moved, self._lengths(state)), state

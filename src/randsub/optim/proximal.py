"""Steps along the loss, after which the penalty has its proximal step.

A subgradient of a penalty with kinks, such as the fused lasso, never leads onto a kink: neighbours
come close, and then jump over each other by the length of a step. The proximal step solves for the
penalty exactly under the metric of the step, and so ends on kinks: equal neighbours, rows at zero.
"""

import numpy as np

from randsub._typing import FloatArray
from randsub.optim.adam import AdamState, ProjectedAdam
from randsub.optim.base import Projection, Prox, projected
from randsub.optim.descent import DescentState, ProjectedGradientDescent


class ProximalGradientDescent(ProjectedGradientDescent):
    """``theta <- prox(theta - learning_rate * gradient)``, all entries with the same step.

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
        """One step against the gradient of the loss, then that of the penalty."""
        step = np.full_like(gradient, self.learning_rate)
        return prox(theta - step * gradient, step), DescentState(state.steps + 1)


class ProximalAdam(ProjectedAdam):
    """Adam on the gradient of the loss, then the proximal step of the penalty in Adam's metric.

    The moments are those of the loss alone. What Adam multiplies the first moment by,
    ``lr / (sqrt(v) + eps)``, is the step of each entry, and the penalty is solved for under these
    steps. Without a penalty this is :class:`ProjectedAdam`.

    Parameters
    ----------
    learning_rate : float, default=1e-3
    beta1, beta2 : float, default=0.9 and 0.999
        Memory of the first and the second moment.
    eps : float, default=1e-8
        Keeps the step finite where the gradient has always been 0.
    decay : float, default=0.0
        How fast the learning rate falls with the number of steps since the start, or since the
        last revival.
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
        """One step; see the notes of :class:`ProjectedAdam`."""
        moved, state = self._step(projected(gradient, theta, project), state)
        return prox(theta - moved, self._lengths(state)), state

"""Adam on the log-odds of theta."""

import numpy as np
from scipy.special import expit, logit

from randsub._typing import FloatArray
from randsub.optim.adam import AdamState, ProjectedAdam
from randsub.optim.base import Projection

# Log-odds are finite, and steps in them felt, only this far from 0 and 1.
NEAREST = 1e-6


class LogitAdam(ProjectedAdam):
    """Adam on ``phi = log(theta / (1 - theta))``.

    Steps are relative: a probability of 0.01 moves by as large a part of itself as one of 0.1.
    Nothing inside (0, 1) ever reaches 0 or 1, so no feature is dropped for good; one that begins
    at exactly 0 or 1 stays there.

    Parameters
    ----------
    learning_rate : float, default=1e-3
        In units of log-odds.
    beta1, beta2 : float, default=0.9 and 0.999
        Memory of the first and the second moment.
    eps : float, default=1e-8
        Keeps the step finite where the gradient has always been 0.
    decay : float, default=0.0
        How fast the learning rate falls with the number of steps since the start, or since the
        last revival.
    """

    def update(
        self, gradient: FloatArray, state: AdamState, theta: FloatArray, project: Projection
    ) -> tuple[FloatArray, AdamState]:
        """One step of Adam in phi; ``dL/dphi = theta (1 - theta) dL/dtheta``."""
        inside = np.clip(theta, NEAREST, 1.0 - NEAREST)
        step, state = self._step(gradient * inside * (1.0 - inside), state)
        moved = np.clip(expit(logit(inside) - step), NEAREST, 1.0 - NEAREST)
        fixed = (theta == 0.0) | (theta == 1.0)
        return project(np.where(fixed, theta, moved)), state

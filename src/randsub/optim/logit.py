"""Adam on the log-odds of theta."""

import numpy as np
from scipy.special import expit, logit

from randsub._typing import FloatArray
from randsub.optim.adam import AdamState, ProjectedAdam
from randsub.optim.base import Projection

# Distance from 0 and 1 at which log-odds are finite and steps in them still have an effect.
NEAREST = 1e-6


class LogitAdam(ProjectedAdam):
    """Adam on the log-odds ``phi = log(theta / (1 - theta))``.

    Steps are relative: probabilities of 0.01 and of 0.1 change by about the same fraction. Values
    inside (0, 1) never reach 0 or 1, so no feature is dropped for good; values of exactly 0 or 1
    stay.

    Parameters
    ----------
    learning_rate : float, default=1e-3
        In units of log-odds.
    beta1, beta2 : float, default=0.9 and 0.999
        Decay rates of the first and the second moment.
    eps : float, default=1e-8
        Keeps the step finite where the gradient has always been 0.
    decay : float, default=0.0
        Decay of the learning rate with the number of steps since the start, or since the last
        revival.
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

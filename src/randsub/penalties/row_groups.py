"""Structure across tasks: few features for all of them."""

import numpy as np

from randsub._numbers import check_number
from randsub._typing import BoolArray, FloatArray, Projection
from randsub.penalties.base import Penalty

# Bisections after which an interval is as short as floating-point numbers allow.
HALVINGS = 60


class RowGroups(Penalty):
    """``lam * sum_j ||theta_.j||_2``: the l2 norm of each feature across tasks, summed.

    A feature that no task uses costs nothing, and one that a task uses already is cheaper for the
    next. With one task this is :class:`ExpectedSize` with ``per="group"``.

    Parameters
    ----------
    lam : float, default=0.01
    """

    def __init__(self, lam: float = 0.01) -> None:
        self.lam = lam

    def check(self, n_parameters: int) -> None:
        """``lam`` must not be negative."""
        check_number(self, "lam", 0.0)

    def value(self, theta: FloatArray) -> float:
        """``lam`` times the sum of the norms."""
        return float(self.lam * np.linalg.norm(theta, axis=0).sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        """``lam * theta_.j / ||theta_.j||``; 0, a subgradient, for features that no task uses."""
        norm = np.linalg.norm(theta, axis=0)
        return self.lam * theta / np.where(norm > 0.0, norm, 1.0)

    @property
    def has_prox(self) -> bool:
        """Yes."""
        return True

    def prox(
        self, theta: FloatArray, step: FloatArray, fixed: BoolArray, project: Projection
    ) -> FloatArray:
        """Shrinks each feature across tasks, with a different step for each entry.

        If the norm r of the result were known, each entry would be a problem of its own with the
        solution ``project(theta r / (r + lam step))``. The norm of this, divided by r, falls with
        r; bisection finds the r at which it is 1.
        """
        if self.lam == 0.0:
            return np.where(fixed, theta, project(theta))

        def shrunken(r: FloatArray) -> FloatArray:
            # r = 0 stands for the limit, in which nothing of theta is left.
            shrink = np.divide(r, r + self.lam * step, out=np.zeros_like(theta), where=r > 0.0)
            return np.where(fixed, theta, project(np.maximum(theta, 0.0) * shrink))

        low = np.zeros(theta.shape[1])
        high = np.linalg.norm(np.where(fixed, theta, project(theta)), axis=0)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            longer = np.linalg.norm(shrunken(middle), axis=0) > middle
            low, high = np.where(longer, middle, low), np.where(longer, high, middle)
        # Zero is the answer exactly where the forces at zero do not exceed the coefficient, if zero
        # is in the domain at all.
        pull = np.linalg.norm(np.maximum(theta, 0.0) / step, axis=0)
        at_zero = (pull <= self.lam) & ~(fixed & (theta != 0.0)).any(axis=0)
        at_zero &= project(np.zeros_like(pull)) == 0.0
        return shrunken(np.where(at_zero, 0.0, (low + high) / 2.0))

"""Structure across tasks: few features serve all of them."""

import numpy as np

from randsub._numbers import check_number
from randsub._typing import BoolArray, FloatArray, Projection
from randsub.penalties.base import Penalty

# Halvings after which an interval is as short as numbers allow.
HALVINGS = 60


class RowGroups(Penalty):
    """``lam * sum_j ||theta_.j||``: the l2 norm of a feature's row across tasks, summed.

    A feature that no task uses costs nothing, and one that serves a task already is cheaper for
    the next. With one task this is :class:`ExpectedSize`.

    Parameters
    ----------
    lam : float, default=0.01
    """

    def __init__(self, lam: float = 0.01) -> None:
        self.lam = lam

    def check(self, n_parameters: int) -> None:
        """The coefficient must be usable."""
        check_number(self, "lam", 0.0)

    def value(self, theta: FloatArray) -> float:
        """``lam`` times the sum of the norms."""
        return float(self.lam * np.linalg.norm(theta, axis=0).sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Each feature's direction; 0, which is a subgradient, where no task uses it."""
        norm = np.linalg.norm(theta, axis=0)
        return self.lam * theta / np.where(norm > 0.0, norm, 1.0)

    @property
    def has_prox(self) -> bool:
        """Yes."""
        return True

    def prox(
        self, theta: FloatArray, step: FloatArray, fixed: BoolArray, project: Projection
    ) -> FloatArray:
        """Rows shrink as a whole, under any step for each entry.

        Were the norm r of a row known, each entry would be its own problem, with the answer
        ``project(theta r / (r + lam step))``. The norm of that answer, divided by r, falls with r;
        where it is 1 is found by halving.
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

"""Structure across tasks: few features serve all of them."""

import numpy as np

from randsub._numbers import check_number
from randsub._typing import FloatArray
from randsub.penalties.base import Penalty


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

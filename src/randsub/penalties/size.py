"""Sparsity: the expected number of features in a subset."""

import numpy as np

from randsub._numbers import check_number
from randsub._typing import FloatArray
from randsub.penalties.base import Penalty


class ExpectedSize(Penalty):
    """``lam * sum theta``, the expected size of the subsets (l1, as theta is never negative).

    Parameters
    ----------
    lam : float, default=0.01
        What one more feature in the average subset costs, in units of the loss.
    """

    def __init__(self, lam: float = 0.01) -> None:
        self.lam = lam

    def check(self, n_parameters: int) -> None:
        """The coefficient must be usable."""
        check_number(self, "lam", 0.0)

    def value(self, theta: FloatArray) -> float:
        """``lam`` times the sum of theta."""
        return float(self.lam * theta.sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        """``lam`` everywhere."""
        return np.full_like(theta, self.lam)

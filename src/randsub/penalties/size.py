"""Sparsity: the expected number of features in a subset."""

import numpy as np

from randsub._numbers import check_number
from randsub._typing import BoolArray, FloatArray, Projection
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

    @property
    def is_linear(self) -> bool:
        """Yes, as theta is never negative."""
        return True

    @property
    def has_prox(self) -> bool:
        """Yes."""
        return True

    def prox(
        self, theta: FloatArray, step: FloatArray, fixed: BoolArray, project: Projection
    ) -> FloatArray:
        """Soft thresholding, on the side where theta can be."""
        return np.where(fixed, theta, project(theta - step * self.lam))

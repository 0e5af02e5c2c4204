"""Sparsity: the expected number of columns in a subset."""

from copy import copy
from typing import Literal, Self

import numpy as np

from randsub._numbers import check_number
from randsub._typing import BoolArray, FloatArray, IntArray, Projection
from randsub.penalties.base import Penalty


class ExpectedSize(Penalty):
    """``lam * sum_j size_j theta_j``: the expected number of columns in a subset.

    size_j is the number of columns that are drawn with probability theta_j: 1, or more where
    columns are drawn in groups. In a fit, the penalty is ``lam * expected_size_``. As theta is
    never negative, this is a weighted l1 norm.

    Parameters
    ----------
    lam : float, default=0.01
        Cost of one more column in the average subset, in units of the loss.
    per : {"column", "group"}, default="column"
        What is counted. With "group", every group of columns costs the same, whatever its size:
        ``lam * sum_j theta_j``. Without groups both are the same.
    """

    # Number of columns of each parameter, where it is not 1 for all; set by for_fit.
    _sizes: IntArray | int = 1

    def __init__(self, lam: float = 0.01, per: Literal["column", "group"] = "column") -> None:
        self.lam = lam
        self.per = per

    def check(self, n_parameters: int) -> None:
        """``lam`` must not be negative, and ``per`` must be known."""
        check_number(self, "lam", 0.0)
        if self.per not in ("column", "group"):
            raise ValueError(f"per must be 'column' or 'group', got {self.per!r}.")

    def for_fit(self, sizes: IntArray) -> Self:
        """A copy with the number of columns of each group."""
        if self.per == "group":
            return self
        bound = copy(self)
        bound._sizes = sizes
        return bound

    def value(self, theta: FloatArray) -> float:
        """``lam`` times the expected size, summed over tasks."""
        return float(self.lam * (theta * self._sizes).sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        """``lam`` times the size of each group."""
        return np.full_like(theta, self.lam * self._sizes)

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
        """Soft thresholding."""
        return np.where(fixed, theta, project(theta - step * (self.lam * self._sizes)))

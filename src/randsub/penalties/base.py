"""The protocol of a penalty."""

from abc import ABC, abstractmethod

from sklearn.base import BaseEstimator

from randsub._typing import FloatArray


class Penalty(BaseEstimator, ABC):
    """A term of the objective that depends on theta alone.

    theta has shape (P, M): one row for each task (one in tabular learning), one column for each
    parameter of the distribution (a feature, or a group of features). Penalties add up:
    ``ExpectedSize(0.01) + FusedLasso.grid(0.001, 28, 28)``. A penalty of one's own needs
    :meth:`value` and :meth:`gradient`. Its parameters are found by ``get_params``, so they can be
    tuned as ``penalty__name``.
    """

    @abstractmethod
    def value(self, theta: FloatArray) -> float:
        """The penalty at theta (P, M)."""

    @abstractmethod
    def gradient(self, theta: FloatArray) -> FloatArray:
        """A subgradient in theta, shape (P, M)."""

    def check(self, n_parameters: int) -> None:
        """Raise a ValueError where the penalty's own parameters are not usable."""

    def __add__(self, other: "Penalty") -> "Sum":
        if not isinstance(other, Penalty):
            return NotImplemented
        return Sum(self, other)

    def __radd__(self, other: object) -> "Penalty":
        # sum() begins with 0.
        return self if other == 0 else NotImplemented


class Sum(Penalty):
    """The sum of two penalties; ``a + b`` makes one.

    Parameters
    ----------
    left, right : Penalty
    """

    def __init__(self, left: Penalty, right: Penalty) -> None:
        self.left = left
        self.right = right

    def check(self, n_parameters: int) -> None:
        """Both terms must be usable."""
        self.left.check(n_parameters)
        self.right.check(n_parameters)

    def value(self, theta: FloatArray) -> float:
        """The sum of the values."""
        return self.left.value(theta) + self.right.value(theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """The sum of the subgradients."""
        return self.left.gradient(theta) + self.right.gradient(theta)

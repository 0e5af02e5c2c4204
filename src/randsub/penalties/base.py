"""The protocol of a penalty."""

from abc import ABC, abstractmethod

import numpy as np

from randsub._sklearn import DocumentedEstimator
from randsub._typing import BoolArray, FloatArray, IntArray, Projection


class Penalty(DocumentedEstimator, ABC):
    """``R(theta)``: base class of the terms of the objective that depend on theta alone.

    theta has shape (P, M): one row per task (one in tabular learning), one column per parameter of
    the distribution (a feature, or a group of features). Penalties can be added:
    ``ExpectedSize(0.01) + FusedLasso.grid(0.001, 28, 28)``.

    A user-defined penalty implements :meth:`value` and :meth:`gradient`. Its parameters are found
    by ``get_params`` and can be searched as ``penalty__name``. To be used with a proximal
    optimiser it also implements :meth:`prox`, and :attr:`has_prox` returns True.
    """

    @abstractmethod
    def value(self, theta: FloatArray) -> float:
        """The penalty at theta (P, M)."""

    @abstractmethod
    def gradient(self, theta: FloatArray) -> FloatArray:
        """A subgradient in theta, shape (P, M)."""

    def check(self, n_parameters: int) -> None:
        """Raise a ValueError if the parameters of the penalty are not usable."""

    def for_fit(self, sizes: IntArray) -> "Penalty":
        """The penalty as used in a fit in which entry j of theta decides over ``sizes[j]`` columns.

        A penalty that counts columns, or that has something to build once per fit, returns a copy
        of itself; the default is the penalty as it is.
        """
        return self

    @property
    def is_linear(self) -> bool:
        """Whether the gradient is the same for every theta that is not negative."""
        return False

    @property
    def has_prox(self) -> bool:
        """Whether :meth:`prox` is implemented."""
        return False

    def prox(
        self, theta: FloatArray, step: FloatArray, fixed: BoolArray, project: Projection
    ) -> FloatArray:
        """The proximal step: ``argmin_x R(x) + sum (x - theta) ** 2 / (2 step)``.

        Parameters
        ----------
        theta : ndarray of shape (P, M)
            Result of a step along the loss alone.
        step : ndarray of shape (P, M)
            Positive length of that step for each entry: the metric of the optimiser.
        fixed : bool ndarray of shape (P, M)
            Entries that keep their value in ``theta``; the minimum is over the others.
        project : callable
            Maps each entry to the nearest point of its domain, an interval of non-negative numbers
            that is the same for all entries.

        Returns
        -------
        x : ndarray of shape (P, M)
            The minimiser over the domain.
        """
        raise NotImplementedError(
            f"{self!r} has no proximal step; use an optimizer that uses its gradient, e.g. 'adam'."
        )

    def coefficients(self) -> dict[str, float]:
        """Coefficient ``lam`` of each term, by the name of its class."""
        lam = self.get_params(deep=False).get("lam")
        return {} if lam is None else {type(self).__name__: lam}

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
        """Check both terms."""
        self.left.check(n_parameters)
        self.right.check(n_parameters)

    def for_fit(self, sizes: IntArray) -> "Sum":
        """The sum of both terms as used in the fit."""
        return Sum(self.left.for_fit(sizes), self.right.for_fit(sizes))

    def value(self, theta: FloatArray) -> float:
        """The sum of the values."""
        return self.left.value(theta) + self.right.value(theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """The sum of the subgradients."""
        return self.left.gradient(theta) + self.right.gradient(theta)

    @property
    def is_linear(self) -> bool:
        """Whether both terms are."""
        return self.left.is_linear and self.right.is_linear

    @property
    def has_prox(self) -> bool:
        """Whether one term is linear and the other has a proximal step."""
        return (self.left.is_linear and self.right.has_prox) or (
            self.right.is_linear and self.left.has_prox
        )

    def prox(
        self, theta: FloatArray, step: FloatArray, fixed: BoolArray, project: Projection
    ) -> FloatArray:
        """The proximal step of one term after a gradient step of the linear one, which is exact."""
        if not self.has_prox:
            return super().prox(theta, step, fixed, project)
        linear, other = self.left, self.right
        if not (linear.is_linear and other.has_prox):
            linear, other = other, linear
        moved = theta - step * linear.gradient(theta)
        return other.prox(np.where(fixed, theta, moved), step, fixed, project)

    def coefficients(self) -> dict[str, float]:
        """Those of both terms; further terms of the same class are numbered."""
        found = self.left.coefficients()
        for name, lam in self.right.coefficients().items():
            number = 2
            unique = name
            while unique in found:
                unique, number = f"{name}_{number}", number + 1
            found[unique] = lam
        return found

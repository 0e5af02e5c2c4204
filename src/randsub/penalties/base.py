"""The protocol of a penalty."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from randsub._typing import BoolArray, FloatArray, Projection


class Penalty(BaseEstimator, ABC):
    """A term of the objective that depends on theta alone.

    theta has shape (P, M): one row for each task (one in tabular learning), one column for each
    parameter of the distribution (a feature, or a group of features). Penalties add up:
    ``ExpectedSize(0.01) + FusedLasso.grid(0.001, 28, 28)``. A penalty of one's own needs
    :meth:`value` and :meth:`gradient`. Its parameters are found by ``get_params``, so they can be
    tuned as ``penalty__name``.

    Proximal optimisers ask more of a penalty: the point where it and a quadratic balance
    (:meth:`prox`). A penalty that can tell sets :attr:`has_prox`.
    """

    @abstractmethod
    def value(self, theta: FloatArray) -> float:
        """The penalty at theta (P, M)."""

    @abstractmethod
    def gradient(self, theta: FloatArray) -> FloatArray:
        """A subgradient in theta, shape (P, M)."""

    def check(self, n_parameters: int) -> None:
        """Raise a ValueError where the penalty's own parameters are not usable."""

    @property
    def is_linear(self) -> bool:
        """Whether the gradient is the same wherever theta is not negative."""
        return False

    @property
    def has_prox(self) -> bool:
        """Whether :meth:`prox` is there."""
        return False

    def prox(
        self, theta: FloatArray, step: FloatArray, fixed: BoolArray, project: Projection
    ) -> FloatArray:
        """The proximal step: where penalty and closeness to theta are in balance.

        Parameters
        ----------
        theta : ndarray of shape (P, M)
            Where a step along the loss alone has led.
        step : ndarray of shape (P, M)
            Length of that step for each entry, positive: the metric of the optimiser.
        fixed : bool ndarray of shape (P, M)
            Entries that stay what they are in ``theta``; the others feel them.
        project : callable
            Maps each entry to the nearest point of its domain, an interval that is the same for
            all entries and holds no negative number.

        Returns
        -------
        x : ndarray of shape (P, M)
            Minimises ``value(x) + sum (x - theta) ** 2 / (2 step)`` over the domain, with the fixed
            entries as they are.
        """
        raise NotImplementedError(
            f"{self!r} has no proximal step; use an optimizer that takes its gradient, as 'adam'."
        )

    def coefficients(self) -> dict[str, float]:
        """What each kind of penalty weighs, by the name of its class."""
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
        """Both terms must be usable."""
        self.left.check(n_parameters)
        self.right.check(n_parameters)

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
        """A linear term moves theta by its slope, exactly; then the other has its proximal step."""
        if not self.has_prox:
            return super().prox(theta, step, fixed, project)
        linear, other = self.left, self.right
        if not (linear.is_linear and other.has_prox):
            linear, other = other, linear
        moved = theta - step * linear.gradient(theta)
        return other.prox(np.where(fixed, theta, moved), step, fixed, project)

    def coefficients(self) -> dict[str, float]:
        """Those of both terms; a second term of a kind is numbered."""
        found = self.left.coefficients()
        for name, lam in self.right.coefficients().items():
            number = 2
            unique = name
            while unique in found:
                unique, number = f"{name}_{number}", number + 1
            found[unique] = lam
        return found

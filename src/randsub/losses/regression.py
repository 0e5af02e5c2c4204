"""Losses for regression."""

from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from randsub._numbers import check_number
from randsub._typing import FloatArray
from randsub.losses.base import Loss, Reference


class SquaredError(Loss):
    """``(f - y) ** 2``, summed over outputs.

    In classification this is the Brier score of the shares of votes or of the probabilities.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"regression", "classification"})

    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Squared error of each sample."""
        return np.add.reduce((f - y) ** 2, axis=-1)

    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``2 (f - y)``."""
        return 2.0 * (f - y)


class Huber(Loss):
    """Squared error near the target, absolute error far from it.

    Parameters
    ----------
    delta : float, default=1.35
        Where the one turns into the other, in standard deviations of the target.
    """

    def __init__(self, delta: float = 1.35) -> None:
        self.delta = delta

    def check(self, y: FloatArray) -> None:
        """The bend must be at a positive distance."""
        check_number(self, "delta", 0.0, open_low=True)

    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``r ** 2`` up to delta, then its tangent ``2 delta |r| - delta ** 2``."""
        r = np.abs(f - y)
        near = np.minimum(r, self.delta)
        return (near * (2.0 * r - near)).sum(axis=-1)

    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``2 r`` clipped to ``[-2 delta, 2 delta]``."""
        return 2.0 * np.clip(f - y, -self.delta, self.delta)


class PoissonDeviance(Loss):
    """``2 (y log(y / f) - y + f)``, for counts and other non-negative targets.

    Outputs below ``floor`` times the mean of the target, which a base model that knows nothing of
    counts may well predict, are treated as if they stood there, with the slope they have there.

    Parameters
    ----------
    floor : float, default=1e-3
        Smallest output, in units of the mean of the target.
    """

    def __init__(self, floor: float = 1e-3) -> None:
        self.floor = floor

    def check(self, y: FloatArray) -> None:
        """Targets must be counts, or at least not negative, and not all zero."""
        check_number(self, "floor", 0.0, open_low=True)
        if (y < 0.0).any():
            raise ValueError(
                "PoissonDeviance needs targets y >= 0, but the smallest is "
                f"{y.min():.6g}. Use loss='squared_error' or loss='huber' for such targets."
            )
        if not (y > 0.0).any():
            raise ValueError("PoissonDeviance needs some target y > 0, but all of them are 0.")

    def reference(self, y: FloatArray, sample_weight: FloatArray) -> Reference:
        """Counts keep their origin; the unit is their mean."""
        return Reference(0.0, float(np.average(y, weights=sample_weight)) or 1.0)

    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Deviance of each sample."""
        f = np.maximum(f, self.floor)
        # Not y log(y / f): the ratio of a tiny y underflows.
        return 2.0 * (xlogy(y, y) - y * np.log(f) - y + f).sum(axis=-1)

    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``2 (1 - y / f)``."""
        return 2.0 * (1.0 - y / np.maximum(f, self.floor))

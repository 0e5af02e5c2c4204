"""The protocol of a loss."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from randsub._typing import FloatArray

Task = Literal["regression", "classification"]


@dataclass(frozen=True)
class Reference:
    """Origin and unit in which a loss sees targets and predictions.

    The loop subtracts ``center`` and divides by ``scale`` before it computes the loss, so that
    penalty coefficients and tolerances mean the same whatever the units of y.
    """

    center: float = 0.0
    scale: float = 1.0

    def apply(self, values: FloatArray) -> FloatArray:
        """Targets or predictions in the units of the reference."""
        return (values - self.center) / self.scale


class Loss(BaseEstimator, ABC):
    """A loss of the ensemble's output, averaged over samples.

    Targets ``y`` and outputs ``f`` have shape (..., n, C): C is 1 in regression and the number of
    classes in classification, where targets are indicators and outputs are shares of votes or
    probabilities. A loss of one's own needs :meth:`pointwise` and :meth:`pointwise_gradient`, and
    lists in ``tasks`` what it is for. Its parameters are found by ``get_params``, so they can be
    tuned as ``loss__name``.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"regression"})

    @abstractmethod
    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Loss of each sample, shape (..., n)."""

    @abstractmethod
    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Derivative of :meth:`pointwise` in f, shape (..., n, C)."""

    def check(self, y: FloatArray) -> None:
        """Raise a ValueError where the parameters or the targets (n, C) do not fit the loss."""

    def for_ensemble(self, n_masks: int) -> Self:
        """The loss as used with n_masks models; some losses clip at a level set by it."""
        return self

    def reference(self, y: FloatArray, sample_weight: FloatArray) -> Reference:
        """Origin and unit for regression targets y (n,); by default mean and deviation."""
        mean = float(np.average(y, weights=sample_weight))
        variance = float(np.average((y - mean) ** 2, weights=sample_weight))
        # The mean of a constant target may be off by rounding, which is not a deviation.
        varies = variance > 0.0 and bool(np.ptp(y[sample_weight > 0.0]) > 0.0)
        return Reference(mean, float(np.sqrt(variance)) if varies else 1.0)

    def value(self, y: FloatArray, f: FloatArray, sample_weight: FloatArray) -> float:
        """Weighted mean loss of the outputs f (n, C)."""
        return float(sample_weight @ self.pointwise(y, f) / np.add.reduce(sample_weight))

    def gradient(self, y: FloatArray, f: FloatArray, sample_weight: FloatArray) -> FloatArray:
        """Derivative of :meth:`value` in f, shape (n, C)."""
        share = sample_weight / np.add.reduce(sample_weight)
        return share[:, np.newaxis] * self.pointwise_gradient(y, f)

    def of_members(
        self, y: FloatArray, predictions: FloatArray, sample_weight: FloatArray
    ) -> FloatArray:
        """Weighted mean loss of each model, shape (T,), from predictions (T, n, C)."""
        return self.pointwise(y, predictions) @ sample_weight / sample_weight.sum()

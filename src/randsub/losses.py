"""What is minimised: differentiable losses of the ensemble's output.

:class:`Loss` is the protocol; the others are its members, by the names in :data:`LOSSES`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, TypeAlias

import numpy as np
from scipy.special import xlogy

from randsub._numbers import check_number
from randsub._sklearn import DocumentedEstimator
from randsub._typing import FloatArray

Task = Literal["regression", "classification"]
# Of encoded targets (n, C), the output of an ensemble (n, C) and sample weights (n,).
Score: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], float]


@dataclass(frozen=True)
class Reference:
    """``(values - center) / scale``: origin and unit of the targets and predictions in a loss.

    With them, penalty coefficients and tolerances mean the same whatever the units of y. With
    several outputs, each has its own: both are arrays of shape (C,).
    """

    center: float | FloatArray = 0.0
    scale: float | FloatArray = 1.0

    def apply(self, values: FloatArray) -> FloatArray:
        """Targets or predictions in units of the reference; a copy only where these differ."""
        if np.all(self.center == 0.0) and np.all(self.scale == 1.0):
            return np.asarray(values, dtype=float)
        values = values - self.center
        values /= self.scale
        return values


class Loss(DocumentedEstimator, ABC):
    """``L(f) = sum_i w_i l(y_i, f_i) / sum_i w_i``: base class of losses of the ensemble's output.

    Targets ``y`` and outputs ``f`` have shape (..., n, C): C is 1 in regression and the number of
    classes in classification, where targets are indicators and outputs are shares of votes or
    probabilities. With several outputs or labels, the loss is the mean over them
    (:class:`MeanOverOutputs`).

    A user-defined loss implements l (:meth:`pointwise`) and its derivative in f
    (:meth:`pointwise_gradient`), and lists the tasks that it can be used for in ``tasks``. Its
    parameters are found by ``get_params`` and can be searched as ``loss__name``.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"regression"})

    @abstractmethod
    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Loss of each sample, shape (..., n)."""

    @abstractmethod
    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Derivative of :meth:`pointwise` in f, shape (..., n, C)."""

    def check(self, y: FloatArray) -> None:
        """Raise a ValueError if the parameters or the training targets (n, C) are not usable."""

    def check_validation(self, y: FloatArray) -> None:
        """The same for validation targets given by the user; by default, :meth:`check`."""
        self.check(y)

    def for_ensemble(self, n_masks: int) -> Self:
        """The loss for an ensemble of n_masks models, of the same type.

        Sets parameters that depend on the number of models, such as the level at which a share of
        votes is clipped, in a copy; the others are kept.
        """
        return self

    def reference(self, y: FloatArray, sample_weight: FloatArray) -> Reference:
        """Origin and unit of regression targets y (n,); by default, mean and deviation."""
        mean = float(np.average(y, weights=sample_weight))
        variance = float(np.average((y - mean) ** 2, weights=sample_weight))
        # The mean of a constant target may be off by rounding; that is not a deviation.
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


class SquaredError(Loss):
    """``sum_c (f_c - y_c) ** 2``, over the C outputs.

    In classification this is the Brier score of the shares of votes or probabilities.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"regression", "classification"})

    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Squared error of each sample."""
        return np.add.reduce((f - y) ** 2, axis=-1)

    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``2 (f - y)``."""
        return 2.0 * (f - y)


class Huber(Loss):
    """``r ** 2`` up to ``delta``, then ``2 delta r - delta ** 2``, with ``r = |f - y|``.

    Squared error for small residuals, absolute error for large ones.

    Parameters
    ----------
    delta : float, default=1.35
        Residual from which the loss is linear, in standard deviations of the target.
    """

    def __init__(self, delta: float = 1.35) -> None:
        self.delta = delta

    def check(self, y: FloatArray) -> None:
        """The threshold delta must be positive."""
        check_number(self, "delta", 0.0, open_low=True)

    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Huber loss of each sample."""
        r = np.abs(f - y)
        near = np.minimum(r, self.delta)
        return (near * (2.0 * r - near)).sum(axis=-1)

    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``2 r`` clipped to ``[-2 delta, 2 delta]``."""
        return 2.0 * np.clip(f - y, -self.delta, self.delta)


class PoissonDeviance(Loss):
    """``2 (y log(y / f) - y + f)``, for counts and other non-negative targets.

    Base models for real-valued targets may predict 0 or less. Outputs below ``floor`` are set to
    ``floor``, and the gradient is the one there.

    Parameters
    ----------
    floor : float, default=1e-3
        Smallest output, in units of the mean of the target.
    """

    def __init__(self, floor: float = 1e-3) -> None:
        self.floor = floor

    def check(self, y: FloatArray) -> None:
        """Targets must be counts, or at least not negative, and not all zero."""
        self.check_validation(y)
        if not (y > 0.0).any():
            raise ValueError("PoissonDeviance needs some target y > 0, but all of them are 0.")

    def check_validation(self, y: FloatArray) -> None:
        """Targets must not be negative; all of them may be zero."""
        check_number(self, "floor", 0.0, open_low=True)
        if (y < 0.0).any():
            raise ValueError(
                "PoissonDeviance needs targets y >= 0, but the smallest is "
                f"{y.min():.6g}. Use loss='squared_error' or loss='huber' for such targets."
            )

    def reference(self, y: FloatArray, sample_weight: FloatArray) -> Reference:
        """Origin 0; the unit is the mean of the targets."""
        return Reference(0.0, float(np.average(y, weights=sample_weight)) or 1.0)

    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Deviance of each sample."""
        f = np.maximum(f, self.floor)
        # Not y log(y / f): the ratio of a tiny y underflows.
        return 2.0 * (xlogy(y, y) - y * np.log(f) - y + f).sum(axis=-1)

    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``2 (1 - y / f)``."""
        return 2.0 * (1.0 - y / np.maximum(f, self.floor))


class CrossEntropy(Loss):
    """``-log f`` of the true class, for any number of classes.

    f is the share of votes or the mean probability of a class, clipped to ``[clip, 1]``: the votes
    of T models cannot tell a share of 0 from one of ``1 / (2 T)``. Outside of this interval the
    loss is constant, but the gradient is the one at its nearer end:

    * below, because a sample that no model gets right must still count;
    * above, because unanimous votes add up to 1 only up to rounding, and to more than 1 by the
      noise of weights that are not self-normalised. Neither must make a sample count for nothing.

    Parameters
    ----------
    clip : float or "auto", default="auto"
        Smallest share; "auto" is ``1 / (2 T)``.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    def __init__(self, clip: float | Literal["auto"] = "auto") -> None:
        self.clip = clip

    def check(self, y: FloatArray) -> None:
        """The clip must be between 0 and 1."""
        if self.clip != "auto":
            check_number(self, "clip", 0.0, 1.0, open_low=True)

    def for_ensemble(self, n_masks: int) -> Self:
        """A copy that clips at half a vote, or this loss if it has a clip already."""
        if self.clip != "auto":
            return self
        bound = copy(self)
        bound.clip = 1.0 / (2.0 * n_masks)
        return bound

    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``-log`` of the clipped share of the true class."""
        return -(y * np.log(np.clip(f, self._level, 1.0))).sum(axis=-1)

    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``-1 / f`` of the clipped share for the true class, 0 for the others."""
        return -y / np.clip(f, self._level, 1.0)

    @property
    def _level(self) -> float:
        if self.clip == "auto":
            raise ValueError(
                "clip='auto' depends on the number of models: call for_ensemble(n_masks) first, "
                "or give a number."
            )
        return self.clip


class MeanOverOutputs(Loss):
    """``mean_k l(y_k, f_k)``: a loss of several outputs, each of which has an equal part in it.

    Targets and outputs have the columns of one output after the other: one column for each output
    in regression, and two for each label, its absence and its presence, in classification.

    Parameters
    ----------
    loss : Loss
        Loss of a single output.
    n_outputs : int
        K.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"regression", "classification"})

    def __init__(self, loss: Loss, n_outputs: int) -> None:
        self.loss = loss
        self.n_outputs = n_outputs

    def check(self, y: FloatArray) -> None:
        """As the loss of a single output."""
        self.loss.check(y)

    def check_validation(self, y: FloatArray) -> None:
        """As the loss of a single output."""
        self.loss.check_validation(y)

    def for_ensemble(self, n_masks: int) -> Self:
        """A copy with the loss of a single output for so many models."""
        return type(self)(self.loss.for_ensemble(n_masks), self.n_outputs)

    def reference(self, y: FloatArray, sample_weight: FloatArray) -> Reference:
        """Origin and unit of one output (n,)."""
        return self.loss.reference(y, sample_weight)

    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Mean loss over the outputs of each sample."""
        return self.loss.pointwise(self._apart(y), self._apart(f)).mean(axis=-1)

    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Derivative of the loss of each output, divided by their number."""
        gradient = self.loss.pointwise_gradient(self._apart(y), self._apart(f))
        return gradient.reshape(*gradient.shape[:-2], -1) / self.n_outputs

    def _apart(self, values: FloatArray) -> FloatArray:
        """From (..., n, C) to (..., n, K, C / K)."""
        return values.reshape(*values.shape[:-1], self.n_outputs, -1)


# By the names that users write.
LOSSES: Mapping[str, Callable[[], Loss]] = {
    "squared_error": SquaredError,
    "huber": Huber,
    "poisson": PoissonDeviance,
    "cross_entropy": CrossEntropy,
}

# -- scores: what users call how well an ensemble predicts. They have no influence on training -----


def r_squared(y: FloatArray, f: FloatArray, sample_weight: FloatArray) -> float:
    """R2, averaged over the C outputs; NaN if there is one sample, or a constant target."""
    if (np.ptp(y[sample_weight > 0.0], axis=0) == 0.0).any():
        return float("nan")
    mean = np.average(y, axis=0, weights=sample_weight)
    spread = sample_weight @ (y - mean) ** 2
    # The squares of tiny differences are 0.
    if not spread.all():
        return float("nan")
    return float(np.mean(1.0 - sample_weight @ (y - f) ** 2 / spread))


def accuracy(y: FloatArray, f: FloatArray, sample_weight: FloatArray, n_labels: int = 1) -> float:
    """Share of the samples whose class has the largest output, in all of their labels."""
    classes, truth = (v.reshape(len(y), n_labels, -1).argmax(axis=-1) for v in (f, y))
    return float(np.average((classes == truth).all(axis=1), weights=sample_weight))


# By task; and their names for readers.
SCORES: Mapping[str, Score] = {"regression": r_squared, "classification": accuracy}
METRICS: Mapping[str, str] = {"regression": "R2", "classification": "accuracy"}

__all__ = [
    "LOSSES",
    "CrossEntropy",
    "Huber",
    "Loss",
    "MeanOverOutputs",
    "PoissonDeviance",
    "Reference",
    "SquaredError",
]

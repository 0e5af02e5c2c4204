"""What the gradient is the gradient of.

The paper minimises the loss of the ensemble, ``L(E f_z)``; its outlook is the expected loss of the
members, ``E L(f_z)``. Both are expectations over masks of one number a model, its cost, so the
score-function gradient is the same code.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from randsub._typing import FloatArray
from randsub.gradients.score import ensemble_output, model_costs
from randsub.losses.base import Loss


class Objective(ABC):
    """Value on some samples, and cost of each model there."""

    @abstractmethod
    def value(
        self,
        loss: Loss,
        targets: FloatArray,
        predictions: FloatArray,
        weights: FloatArray,
        sample_weight: FloatArray,
    ) -> float:
        """Objective of models (T, n, C) with importance weights (T,) on targets (n, C)."""

    @abstractmethod
    def costs(
        self,
        loss: Loss,
        targets: FloatArray,
        predictions: FloatArray,
        weights: FloatArray,
        sample_weight: FloatArray,
    ) -> FloatArray:
        """What one more unit of a model's weight adds to the objective, shape (T,)."""


class OfEnsemble(Objective):
    """The loss of the averaged prediction."""

    def value(
        self,
        loss: Loss,
        targets: FloatArray,
        predictions: FloatArray,
        weights: FloatArray,
        sample_weight: FloatArray,
    ) -> float:
        """Loss of the average."""
        return loss.value(targets, ensemble_output(weights, predictions), sample_weight)

    def costs(
        self,
        loss: Loss,
        targets: FloatArray,
        predictions: FloatArray,
        weights: FloatArray,
        sample_weight: FloatArray,
    ) -> FloatArray:
        """Prediction of each model along the gradient of the loss at the average."""
        output = ensemble_output(weights, predictions)
        return model_costs(loss.gradient(targets, output, sample_weight), predictions)


class OfMembers(Objective):
    """The average of the members' losses."""

    def value(
        self,
        loss: Loss,
        targets: FloatArray,
        predictions: FloatArray,
        weights: FloatArray,
        sample_weight: FloatArray,
    ) -> float:
        """Average loss."""
        return float(weights @ loss.of_members(targets, predictions, sample_weight))

    def costs(
        self,
        loss: Loss,
        targets: FloatArray,
        predictions: FloatArray,
        weights: FloatArray,
        sample_weight: FloatArray,
    ) -> FloatArray:
        """Loss of each model."""
        return loss.of_members(targets, predictions, sample_weight)


OBJECTIVES: Mapping[str, Objective] = {"ensemble": OfEnsemble(), "members": OfMembers()}

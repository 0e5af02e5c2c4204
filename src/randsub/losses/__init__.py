"""What is minimised: differentiable losses of the ensemble's output."""

from randsub.losses.base import Loss, Reference
from randsub.losses.classification import CrossEntropy
from randsub.losses.regression import Huber, PoissonDeviance, SquaredError

__all__ = ["CrossEntropy", "Huber", "Loss", "PoissonDeviance", "Reference", "SquaredError"]

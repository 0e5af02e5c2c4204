"""The estimators that people import."""

from randsub.ensemble.classifier import PRSClassifier
from randsub.ensemble.regressor import PRSRegressor

__all__ = ["PRSClassifier", "PRSRegressor"]

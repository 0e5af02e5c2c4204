"""The protocol of a family of models that are functions of shared moments."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from randsub._typing import FloatArray
from randsub.engines.base import Learner
from randsub.engines.compiled import MaskBatch, Parameters
from randsub.engines.linear_and_bayes.kernels import Limits
from randsub.engines.simd import WIDTH

# Larger systems are better left to the blocked algorithms of LAPACK.
MOST_COLUMNS = 200
# Entries of a table of products that all masks share: 32 MiB.
MOST_ENTRIES = 2**22
# Sum of variance inflation factors up to which Cholesky keeps 1e-6 with digits to spare.
MOST_INFLATION = 1e6


class Family(ABC):
    """Models of one kind: when they are reproduced, and how."""

    # Whether the models tell classes apart.
    classifies: ClassVar[bool]
    parameters: ClassVar[Parameters]

    def obstacle(self, estimator: Any) -> str | None:
        """What else is not reproduced of these parameters, and the remedy, if anything."""
        return None

    @abstractmethod
    def predict(self, learner: Learner, batch: MaskBatch) -> FloatArray:
        """Predictions (T, n_query, C); NaN for masks that scikit-learn itself should answer."""

    @abstractmethod
    def predict_fitted(self, model: Any, X: FloatArray) -> FloatArray:
        """What a fitted model predicts: values (n, 1), or probabilities of its classes."""


def blank_lines(batch: MaskBatch, n_lines: int) -> FloatArray:
    """Room for lines of training rows that the kernels multiply with each other."""
    n_rows = batch.columns.shape[1]
    return np.zeros((n_lines, -(-n_rows // WIDTH) * WIDTH))


def weights_of(batch: MaskBatch) -> FloatArray:
    """Weights of the training rows, 1 where none are given."""
    n_rows = batch.columns.shape[1]
    return np.ones(n_rows) if batch.weights is None else np.array(batch.weights, dtype=np.float64)


def limits_of(batch: MaskBatch, inflation: float, condition: float) -> Limits:
    """What is tried; masks of more columns than there are rows are better left to others."""
    most_columns = min(MOST_COLUMNS, batch.columns.shape[1])
    return Limits(most_columns, MOST_ENTRIES, min(MOST_INFLATION, inflation), condition)

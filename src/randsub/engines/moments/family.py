"""A family of models that are functions of shared moments."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from randsub._typing import FloatArray, IntArray
from randsub.engines.base import Learner
from randsub.engines.moments.products import LANES

# Larger systems are better left to the blocked algorithms of LAPACK.
MOST_COLUMNS = 200
# Entries of a table of products that all masks share: 32 MiB.
MOST_ENTRIES = 2**22
# Sum of variance inflation factors up to which Cholesky keeps 1e-6 with digits to spare.
MOST_INFLATION = 1e6


@dataclass(frozen=True)
class Batch:
    """One training set, many masks, one set of queries.

    Parameters
    ----------
    columns : float64 ndarray of shape (M, n_train)
        May be written to.
    targets : float64 or int64 ndarray of shape (n_train,)
        Numbers in regression, class numbers in classification.
    weights : float64 ndarray of shape (n_train,)
    begin : int64 ndarray of shape (T + 1,)
        Where each mask's columns begin.
    held : int64 ndarray
        The columns of all masks end to end.
    query : float64 ndarray of shape (M, n_query)
        May be written to.
    """

    columns: FloatArray
    targets: Any
    weights: FloatArray
    begin: IntArray
    held: IntArray
    query: FloatArray

    def blank_lines(self, n_lines: int) -> FloatArray:
        """Room for lines that the kernels multiply with each other."""
        n_rows = self.columns.shape[1]
        return np.zeros((n_lines, -(-n_rows // LANES) * LANES))

    def blank_answers(self, learner: Learner) -> FloatArray:
        """No answer yet for any mask."""
        return np.full((len(self.begin) - 1, self.query.shape[1], learner.n_outputs), np.nan)

    @property
    def most_columns(self) -> int:
        """Size of the largest mask that is worth a try; beyond the rows, others do it better."""
        return min(MOST_COLUMNS, self.columns.shape[1])


class Family(ABC):
    """Models of one kind: when they are reproduced, and how."""

    # Whether the models tell classes apart.
    classifies: ClassVar[bool]

    @abstractmethod
    def reproduces(self, estimator: Any) -> bool:
        """Whether models with these (valid) parameters are reproduced."""

    @abstractmethod
    def predict(self, learner: Learner, batch: Batch) -> FloatArray:
        """Predictions (T, n_query, C); NaN for masks that scikit-learn itself should answer."""

    @abstractmethod
    def ask(self, model: Any, X: FloatArray) -> FloatArray:
        """What a fitted model predicts: values (n, 1), or probabilities of its classes."""

"""Names for the arrays that walk through the house."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]

# Masks are (T, M): sparse rows of ones where they are drawn and in a round, dense boolean arrays of
# some columns where an engine gets them. The mathematics accepts both.
Masks: TypeAlias = NDArray[Any] | csr_array

# Maps theta to the nearest point of its domain, elementwise.
Projection: TypeAlias = Callable[[FloatArray], FloatArray]

# Whatever a scikit-learn estimator takes as X: an array, a sparse matrix, or a frame.
Table: TypeAlias = Any


class HeldPredictions(Protocol):
    """Predictions (T, n, C) that are kept elsewhere, such as on a GPU, and added up there."""

    def average(self, weights: FloatArray) -> FloatArray:
        """Sum over models with weights (T,), shape (n, C)."""

    def costs(self, loss_gradient: FloatArray) -> FloatArray:
        """Inner product of the predictions of each model with an array (n, C), shape (T,)."""

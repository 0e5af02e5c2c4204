"""Names for the arrays that walk through the house."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]

# Masks are (T, M): a dense boolean array where they are drawn or handed to an engine, and a sparse
# array of ones inside a round. The mathematics only uses ``@`` and so accepts both.
Masks: TypeAlias = NDArray[Any] | csr_array

# Maps theta to the nearest point of its domain, elementwise.
Projection: TypeAlias = Callable[[FloatArray], FloatArray]

# Whatever a scikit-learn estimator takes as X: an array, a sparse matrix, or a frame.
Table: TypeAlias = Any

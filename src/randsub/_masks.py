"""Masks as sparse rows: what is drawn of thousands of features is a few of them."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from randsub._compile import compiled
from randsub._typing import IntArray

# dtypes of sparse masks; comparing with a dtype is faster than with a type, at every step.
ONES_TYPE, INDEX_TYPE = np.dtype(float), np.dtype(np.int32)


def as_dense(masks: Any) -> Any:
    """Masks as a dense array."""
    return masks.toarray() if issparse(masks) else np.asarray(masks)


def as_sparse(masks: Any) -> csr_array:
    """Masks as sparse rows of ones with 32-bit indices, without a copy if they are already."""
    if (
        isinstance(masks, csr_array)
        and masks.data.dtype == ONES_TYPE
        and masks.indices.dtype == INDEX_TYPE
    ):
        return masks
    dense = as_dense(masks) != 0
    n_masks, n_parameters = dense.shape
    held = np.flatnonzero(dense)
    begin = np.searchsorted(held, np.arange(n_masks + 1) * n_parameters)
    return sparse_rows(begin, held % n_parameters, n_parameters)


def sparse_rows(begin: IntArray, held: IntArray, n_parameters: int) -> csr_array:
    """Masks from where each begins, (T + 1,), and the parameters of all masks end to end."""
    # Five times faster than the constructor of csr_array with its checks.
    rows = csr_array((len(begin) - 1, n_parameters))
    rows.indices, rows.indptr = held.astype(np.int32), begin.astype(np.int32)
    rows.data = np.ones(len(held))
    return rows


@compiled()
def renumbered(held, n_parameters):  # type: ignore[no-untyped-def]
    """The parameters that occur in ``held``, ascending, and the place of each entry among them."""
    places = np.full(n_parameters, -1, np.int32)
    for j in held:
        places[j] = 0
    parameters = np.empty(min(n_parameters, len(held)), np.int64)
    n = 0
    for j in range(n_parameters):
        if places[j] == 0:
            places[j] = n
            parameters[n] = j
            n += 1
    return parameters[:n], places[held]

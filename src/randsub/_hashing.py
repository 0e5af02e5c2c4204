"""A digest of data, the same wherever the data comes from."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from randsub._tables import frame_kind, row_portions

# Integers up to this size are exact in double precision.
_EXACT = 2**53


def data_digest(*tables: Any) -> str:
    """Hexadecimal digest that changes when a value, a shape or a column name does.

    Numbers count by value, not by dtype; neither the memory layout nor the library of a data frame
    matters. A frame therefore has the digest of the file that it was written to, as long as the
    file holds all digits.

    Parameters
    ----------
    *tables : {array-like, sparse matrix, data frame, series}
        Read in portions: an array in a memory-mapped file is never copied as a whole.

    Returns
    -------
    digest : str
        32 hexadecimal digits.
    """
    digest = hashlib.blake2b(digest_size=16)
    for table in tables:
        for name, values in named_arrays(table):
            values = np.atleast_1d(values)
            digest.update(f"{len(name)}:{name}:{values.shape}:".encode())
            for rows in row_portions(len(values), max(1, values[:1].size)):
                digest.update(_as_bytes(values[rows]))
    return digest.hexdigest()


def named_arrays(table: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a frame, the arrays of a sparse matrix, or the whole array."""
    if frame_kind(table) == "pandas":
        yield from ((str(name), np.asarray(table.iloc[:, j])) for j, name in enumerate(table))
    elif frame_kind(table) == "polars":
        yield from ((name, table[name].to_numpy()) for name in table.columns)
    elif issparse(table):
        rows = csr_array(table)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        yield f"sparse {rows.shape}", rows.data
        yield from (("indices", rows.indices), ("indptr", rows.indptr))
    else:
        yield "", np.asarray(table)


def _as_bytes(values: np.ndarray[Any, Any]) -> bytes:
    kind = values.dtype.kind
    if kind in "biuf" and not (kind in "iu" and ((values > _EXACT) | (values < -_EXACT)).any()):
        return values.astype("<f8", copy=False).tobytes()
    if kind in "iucmM":
        return values.tobytes()
    texts = ["" if is_missing(v) else f"{type(v).__name__} {v}" for v in values.ravel().tolist()]
    return "".join(f"{len(text)}:{text}" for text in texts).encode()


def is_missing(value: Any) -> bool:
    return pd.isna(value) is True

"""Rows and columns of arrays, sparse matrices and data frames.

Base models receive the type of table that the user passed: a slice of a frame is a frame with its
names and dtypes, a slice of a sparse matrix is sparse. Selecting always copies, so that a base
model that writes into its input cannot change ours, even when it sees every column.

An array in a memory-mapped file is scaled when it is read: see :class:`ScaledArray`.
"""

import mmap
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from randsub._typing import BoolArray, FloatArray, IntArray, Table

# Tables of up to this many numbers are processed as a whole.
WHOLE = 2**24
# Larger ones in portions of this size: 8 MiB in double precision.
PORTION = 2**20


@dataclass(frozen=True)
class ScaledArray:
    """An array whose cells are scaled when they are selected, without a scaled copy of it.

    Parameters
    ----------
    values : ndarray of shape (n, M)
        As the user passed it; usually in a memory-mapped file.
    mean, scale : ndarrays of shape (M,)
        Subtracted from each column, and then divided by (above 0). Their dtype is that of the
        scaled cells.
    """

    values: Any
    mean: FloatArray
    scale: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.values.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the scaled cells."""
        return self.mean.dtype

    def take(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Some rows of some columns, scaled, as a new array."""
        cells = self.values[rows[:, np.newaxis], columns].astype(self.dtype, copy=False)
        return self._scaled(cells, columns)

    def value_range(self) -> tuple[float, float]:
        """The smallest and the largest scaled value; NaN if a value is missing.

        Scaling keeps the order of the values of a column, rounding included.
        """
        lowest, highest = self.values[0].copy(), self.values[0].copy()
        for rows in row_portions(*self.shape):
            np.minimum(lowest, self.values[rows].min(axis=0), out=lowest)
            np.maximum(highest, self.values[rows].max(axis=0), out=highest)
        extremes = np.stack([lowest, highest]).astype(self.dtype)
        scaled = self._scaled(extremes, np.arange(self.shape[1]))
        return float(scaled.min()), float(scaled.max())

    def _scaled(self, cells: FloatArray, columns: IntArray) -> FloatArray:
        cells -= self.mean[columns]
        cells /= self.scale[columns]
        return cells


def is_mapped(X: Table) -> bool:
    """Whether X is an array in a memory-mapped file, or a view of one."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return isinstance(X.obj if isinstance(X, memoryview) else X, mmap.mmap)


def is_large(n: int, n_columns: int) -> bool:
    """Whether a table of n rows is too large to be processed as a whole."""
    return n * n_columns > WHOLE


def fits_portion(n: int, n_columns: int) -> bool:
    """Whether n rows of a table are no more than one portion."""
    return n * n_columns <= PORTION


def row_portions(n: int, n_columns: int) -> Iterator[slice]:
    """All rows of a table, in portions."""
    size = max(1, PORTION // n_columns)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def value_range(X: Table) -> tuple[float, float]:
    """Smallest and largest of all values and 0; NaN if a value is missing."""
    if isinstance(X, ScaledArray):
        return X.value_range()
    values = X if frame_kind(X) is None else to_array(X, np.arange(X.shape[1]))
    return float(values.min(initial=0)), float(values.max(initial=0))


def frame_kind(X: Table) -> Literal["pandas", "polars"] | None:
    """Library of the data frame X; None if X is not a data frame."""
    for kind in ("pandas", "polars"):
        library = sys.modules.get(kind)
        if library is not None and isinstance(X, library.DataFrame):
            return kind
    return None


def take_rows(X: Table, rows: IntArray) -> Table:
    """Some rows of X, as a copy."""
    return X.iloc[rows] if frame_kind(X) == "pandas" else X[rows]


def take_columns(X: Table, columns: IntArray) -> Table:
    """Some columns of X, as a copy; an array of shape (n, 0) if there are none."""
    if len(columns) == 0:
        return np.empty((n_rows(X), 0))
    match frame_kind(X):
        case "pandas":
            return X.iloc[:, columns]
        case "polars":
            return X[:, columns.tolist()]
        case _:
            return X[:, columns]


def take_cells(X: Table, rows: IntArray, columns: IntArray) -> Table:
    """Some rows of some columns of X, as a copy that is never wider than needed."""
    if isinstance(X, ScaledArray):
        return X.take(rows, columns)
    if isinstance(X, np.ndarray) and len(columns):
        return X[rows[:, np.newaxis], columns]
    part = take_columns(X, columns)
    return part[rows] if isinstance(part, np.ndarray) else take_rows(part, rows)


def stack_rows(above: Table, below: Table) -> Table:
    """The rows of two tables in one."""
    match frame_kind(above):
        case "pandas":
            return sys.modules["pandas"].concat([above, below])
        case "polars":
            # Integers above and floats below can be stacked.
            return sys.modules["polars"].concat([above, below], how="vertical_relaxed")
    if sparse.issparse(above):
        return sparse.vstack([above, below], format="csr")
    return np.concatenate([above, below])


def n_rows(X: Table) -> int:
    """Number of rows."""
    return int(X.shape[0])


def numeric_columns(frame: Table) -> BoolArray:
    """Which columns of a frame hold numbers; booleans do not count."""
    if frame_kind(frame) == "polars":
        return np.array([dtype.is_numeric() for dtype in frame.dtypes], dtype=bool)
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return np.array([is_numeric_dtype(d) and not is_bool_dtype(d) for d in frame.dtypes], bool)


def to_array(frame: Table, columns: IntArray) -> Any:
    """Numeric columns of a frame as an array; missing values become NaN."""
    part = take_columns(frame, columns)
    # Nullable extension dtypes of pandas have no NumPy dtype.
    if frame_kind(part) == "pandas" and any(not isinstance(d, np.dtype) for d in part.dtypes):
        return part.to_numpy(dtype=float, na_value=np.nan)
    array = np.asarray(part)
    # Booleans with missing values (polars) or beside numbers (pandas) come as objects.
    return array.astype(float) if array.dtype == object else array


def replace_columns(frame: Table, columns: IntArray, values: Any) -> Table:
    """The frame with some columns replaced by those of an array; float32 columns stay float32."""
    if frame_kind(frame) == "polars":
        import polars as pl

        series = [pl.Series(frame.columns[j], values[:, k]) for k, j in enumerate(columns)]
        single = [frame.dtypes[j] == pl.Float32 for j in columns]
        return frame.with_columns(
            [s.cast(pl.Float32) if f else s for s, f in zip(series, single, strict=True)]
        )
    import pandas as pd

    # By position: names need not be strings, nor sortable among each other.
    replaced = pd.DataFrame(values, index=frame.index, columns=columns)
    # Once: a frame makes a new list of its dtypes each time.
    types = frame.dtypes.to_numpy()
    single = [j for j in columns if types[j] == np.float32]
    if single and values.dtype != np.float32:
        replaced = replaced.astype(dict.fromkeys(single, np.float32))
    others = np.setdiff1d(np.arange(frame.shape[1]), columns)
    if len(others):
        kept = frame.iloc[:, others].set_axis(others, axis=1)
        replaced = pd.concat([kept, replaced], axis=1)
    return replaced[list(range(frame.shape[1]))].set_axis(frame.columns, axis=1)

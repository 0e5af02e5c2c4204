"""Rows and columns of arrays, sparse matrices and data frames.

Base models receive the type of table that the user passed: a slice of a frame is a frame with its
names and dtypes, a slice of a sparse matrix is sparse. Selecting always copies, so that a base
model that writes into its input cannot change ours, even when it sees every column.

An array in a memory-mapped file is scaled when it is read: see :class:`ScaledArray`. Of a large
file with contiguous columns, only those that are needed are read: see :func:`is_column_file`.
"""

import mmap
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, Protocol

import numpy as np
from scipy import sparse

from randsub._typing import BoolArray, FloatArray, IntArray, Table

# Tables of up to this many numbers are processed as a whole.
WHOLE = 2**24
# Larger ones in portions of this size: 8 MiB in double precision.
PORTION = 2**20
# Up to this many rows, whole columns may be copied before their rows are chosen.
SHORT = 2**12


class Scaler(Protocol):
    """Knows the scale of each column."""

    def moments(self, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """What is subtracted from some columns, and then divided by (above 0)."""

    def least_scale(self) -> float:
        """A number that no column of integers is divided by less than."""


@dataclass(frozen=True)
class ScaledArray:
    """An array whose cells are scaled when they are selected, without a scaled copy of it.

    Parameters
    ----------
    values : ndarray of shape (n, M)
        As the user passed it; usually in a memory-mapped file.
    scaler : Scaler
        Asked for the columns that are selected, and no others.
    dtype : dtype
        Of the scaled cells.
    """

    values: Any
    scaler: Scaler
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.values.shape

    def take(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Some rows of some columns, scaled, as a new array."""
        cells = _cells(self.values, rows, columns).astype(self.dtype, order="C", copy=False)
        return scale_cells(cells, self.scaler, columns)

    def value_range(self, skip_missing: bool = False) -> tuple[float, float]:
        """The smallest and the largest scaled value; NaN if a value is missing, and not skipped.

        Scaling keeps the order of the values of a column, rounding included. Of integers in a large
        file of columns, bounds are returned, without reading it.
        """
        if _is_bounded(self.values):
            lowest, highest = _bounds(self.values)
            largest = (highest - lowest) / self.scaler.least_scale()
            return -largest, largest
        columns = np.arange(self.shape[1])
        extremes = np.empty((2, len(columns)), self.values.dtype)
        least, most = _reductions(skip_missing)
        if is_column_file(self.values):
            for part in row_portions(*self.shape[::-1]):
                cells = self.values[:, part]
                extremes[:, part] = least.reduce(cells, axis=0), most.reduce(cells, axis=0)
        else:
            extremes[:] = self.values[0]
            for rows in row_portions(*self.shape):
                cells = self.values[rows]
                least(extremes[0], least.reduce(cells, axis=0), out=extremes[0])
                most(extremes[1], most.reduce(cells, axis=0), out=extremes[1])
        scaled = scale_cells(extremes.astype(self.dtype), self.scaler, columns)
        return float(least.reduce(scaled, axis=None)), float(most.reduce(scaled, axis=None))


def scale_cells(cells: FloatArray, scaler: Scaler, columns: IntArray) -> FloatArray:
    """Scale these columns in place, and return them."""
    mean, scale = scaler.moments(columns)
    cells -= mean.astype(cells.dtype, copy=False)
    cells /= scale.astype(cells.dtype, copy=False)
    return cells


def _reductions(skip_missing: bool) -> tuple[np.ufunc, np.ufunc]:
    """The smaller and the larger of two numbers; of a number and a missing value, either."""
    return (np.fmin, np.fmax) if skip_missing else (np.minimum, np.maximum)


def _is_bounded(X: Table) -> bool:
    """Whether X is a large file of columns with integers, which only its dtype has to bound."""
    return is_column_file(X) and X.dtype.kind in "iu"


def _bounds(X: Any) -> tuple[float, float]:
    limits = np.iinfo(X.dtype)
    return float(limits.min), float(limits.max)


def is_mapped(X: Table) -> bool:
    """Whether X is an array in a memory-mapped file, or a view of one."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return isinstance(X.obj if isinstance(X, memoryview) else X, mmap.mmap)


def is_column_file(X: Table) -> bool:
    """Whether X is a large array in a memory-mapped file, and column-major.

    Only the columns that are needed are read from such a file.
    """
    return (
        isinstance(X, np.ndarray)
        and X.ndim == 2
        and X.shape[1] > 1
        and _is_column_major(X)
        and is_large(*X.shape)
        and is_mapped(X)
    )


def _is_column_major(X: Any) -> bool:
    return abs(X.strides[0]) < abs(X.strides[1])


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


def portions(n: int, n_columns: int) -> Iterator[slice]:
    """All rows of a table: at once, or in portions if it is large."""
    width = max(n_columns, 1)
    return row_portions(n, width) if is_large(n, width) else iter([slice(0, n)])


def value_range(X: Table, skip_missing: bool = False) -> tuple[float, float]:
    """Smallest and largest of all values and 0; NaN if a value is missing, and not skipped.

    Bounds, for integers in a large file of columns.
    """
    if isinstance(X, ScaledArray):
        return X.value_range(skip_missing)
    if _is_bounded(X):
        return _bounds(X)
    values = X if frame_kind(X) is None else to_array(X, np.arange(X.shape[1]))
    least, most = _reductions(skip_missing)
    return (
        float(least.reduce(values, axis=None, initial=0)),
        float(most.reduce(values, axis=None, initial=0)),
    )


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
        return _cells(X, rows, columns)
    part = take_columns(X, columns)
    return part[rows] if isinstance(part, np.ndarray) else take_rows(part, rows)


def by_column(X: Table) -> Table:
    """X with contiguous columns, if it is an array of moderate size.

    Of thousands of columns a few are read at a time; with contiguous rows, every cell would be in
    another line of the processor's cache.
    """
    if type(X) is np.ndarray and not is_large(*X.shape):
        return np.asfortranarray(X)
    return X


def _cells(X: Any, rows: IntArray, columns: IntArray) -> Any:
    """Some rows of some columns of an array, read in the order in which they lie in memory."""
    if _is_column_major(X):
        if len(X) <= SHORT and 4 * len(rows) >= len(X):
            # Faster than with both indices at once, unless most of what is copied is left out.
            return np.asarray(X).T.take(columns, axis=0).take(rows, axis=1).T
        return X.T[columns[:, np.newaxis], rows].T
    return X[rows[:, np.newaxis], columns]


def take_part(X: Table, rows: IntArray, columns: IntArray) -> Table:
    """Some rows of some columns, in ascending order; X itself if these are all."""
    if len(columns) < X.shape[1]:
        return take_cells(X, rows, columns)
    return take_rows(X, rows) if len(rows) < n_rows(X) else X


def union(subsets: Sequence[IntArray]) -> IntArray:
    """Columns that are in at least one subset, in ascending order."""
    return np.unique(np.concatenate([np.empty(0, dtype=np.intp), *subsets]))


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
    if above.flags.f_contiguous:
        return np.concatenate([above.T, below.T], axis=1).T
    return np.concatenate([above, below])


@dataclass(frozen=True)
class Selection:
    """Some columns of rows of tables, one table below the other, that are not copied yet.

    Parameters
    ----------
    parts : tuple of (table, int ndarray)
        Tables and their rows.
    columns : int ndarray
    """

    parts: tuple[tuple[Table, IntArray], ...]
    columns: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return sum(len(rows) for _, rows in self.parts), len(self.columns)

    def table(self) -> Table:
        """The copy."""
        return reduce(stack_rows, [take_cells(X, rows, self.columns) for X, rows in self.parts])


def as_table(X: Table) -> Table:
    """X itself, or what is selected."""
    return X.table() if isinstance(X, Selection) else X


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

        # Once: a frame makes new lists of its names and dtypes each time.
        names, dtypes = frame.columns, frame.dtypes
        series = [pl.Series(names[j], values[:, k]) for k, j in enumerate(columns)]
        single = [dtypes[j] == pl.Float32 for j in columns]
        return frame.with_columns(
            [s.cast(pl.Float32) if f else s for s, f in zip(series, single, strict=True)]
        )
    import pandas as pd

    # By position: names need not be strings, nor sortable among each other.
    replaced = pd.DataFrame(values, index=frame.index, columns=columns)
    types = frame.dtypes.to_numpy()
    single = [j for j in columns if types[j] == np.float32]
    if single and values.dtype != np.float32:
        replaced = replaced.astype(dict.fromkeys(single, np.float32))
    others = np.setdiff1d(np.arange(frame.shape[1]), columns)
    if len(others):
        kept = frame.iloc[:, others].set_axis(others, axis=1)
        replaced = pd.concat([kept, replaced], axis=1)
    return replaced[list(range(frame.shape[1]))].set_axis(frame.columns, axis=1)


def shape_of(values: Any) -> tuple[int, ...]:
    """The shape of anything array-like; () if its rows differ in length."""
    if hasattr(values, "shape"):
        return tuple(values.shape)
    try:
        # Not np.shape, which some array-likes refuse.
        return np.asarray(values).shape
    except ValueError:
        return ()


def short_indices(X: Table) -> Table:
    """A sparse matrix with 32-bit indices if possible: many base models need them."""
    if not sparse.issparse(X) or X.indices.dtype == np.int32 == X.indptr.dtype:
        return X
    if max(*X.shape, X.nnz) > np.iinfo(np.int32).max:
        return X
    return type(X)(
        (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape, copy=False
    )


def match_frame(frame: Table, X: Table) -> Table:
    """Convert categorical columns of a frame to the dtypes of X.

    Stacking frames with different lists of categories would lose the dtype.
    """
    if frame_kind(X) == frame_kind(frame) == "polars":
        return _with_types(frame, X)
    if frame_kind(X) != "pandas" or frame_kind(frame) != "pandas":
        return frame
    categories = {}
    for name, ours, theirs in zip(X.columns, X.dtypes, frame.dtypes, strict=True):
        if ours.name != "category" or ours == theirs:
            continue
        new = set(frame[name].dropna().unique()) - set(ours.categories)
        if new:
            raise ValueError(
                f"X_val has the categories {sorted(map(str, new))} in the column {name!r}, which "
                "are not in X; give X a categorical dtype that lists them."
            )
        categories[name] = ours
    return frame.astype(categories) if categories else frame


def _with_types(frame: Any, X: Any) -> Any:
    """A polars frame with the categorical types of another one."""
    import polars as pl

    for name, ours in X.schema.items():
        if isinstance(ours, pl.Categorical | pl.Enum) and frame.schema[name] != ours:
            try:
                frame = frame.with_columns(pl.col(name).cast(pl.String).cast(ours))
            except pl.exceptions.PolarsError as error:
                raise ValueError(
                    f"X_val has categories in the column {name!r} that are not in X; give X a "
                    f"type that lists them ({error})."
                ) from error
    return frame

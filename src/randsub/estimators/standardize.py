"""Columns scaled to mean 0 and standard deviation 1, as scikit-learn's ``StandardScaler`` does."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler

from randsub._tables import (
    ScaledArray,
    fits_portion,
    frame_kind,
    is_column_file,
    is_large,
    is_mapped,
    numeric_columns,
    replace_columns,
    row_portions,
    scale_cells,
    take_cells,
    take_rows,
    to_array,
)
from randsub._typing import BoolArray, FloatArray, IntArray, Table

# Numbers of a file whose columns are read for the first time, as many as a processor's cache holds.
COLUMNS_AT_ONCE = 2**15


class Standardizer:
    """Scale the numeric columns of arrays, sparse matrices and frames.

    Sparse data is not centred, and non-numeric columns of a frame are left unchanged. float32 stays
    float32, frames stay frames, and missing values stay missing. Large tables are read in portions
    and never copied as a whole. Columns of a large, column-major, memory-mapped file are read when
    they are first needed.

    Attributes
    ----------
    file : ColumnFile or None
        That file, while a model is fitted to it.
    """

    file: "ColumnFile | None" = None

    def fit(self, X: Table, sample_weight: FloatArray | None, rows: IntArray | None = None) -> Self:
        """Compute means and standard deviations.

        Parameters
        ----------
        X : table of shape (n, M)
        sample_weight : ndarray of shape (n,) or None
        rows : int ndarray, default=None
            Rows to use; all by default.
        """
        self._columns: IntArray | None = None
        if frame_kind(X) is not None:
            self._columns = np.flatnonzero(numeric_columns(X))
        self._scaler = StandardScaler(with_mean=not issparse(X))
        if self._columns is not None and not len(self._columns):
            return self
        if rows is None:
            rows = np.arange(X.shape[0])
        weight = None if sample_weight is None else sample_weight[rows]
        if is_column_file(X):
            self.file = ColumnFile(X, weight, rows)
            return self
        # A column of missing values has no mean, and is left unchanged.
        with np.errstate(invalid="ignore", divide="ignore"):
            if _in_portions(X, len(rows), weight):
                n_columns = X.shape[1] if self._columns is None else len(self._columns)
                _set(self._scaler, _moments(partial(self._read, X), n_columns, weight, rows))
            else:
                self._scaler.fit(self._read(X, rows), sample_weight=weight)
        return self

    def transform(self, X: Table, columns: IntArray | None = None) -> Table:
        """Scale a table of the same type as in ``fit``.

        Parameters
        ----------
        X : table
        columns : int ndarray, default=None
            Columns that X holds, if X is an array; all by default.
        """
        if self._columns is not None:
            if not len(self._columns):
                return X
            return replace_columns(X, self._columns, self._scaled(self._numbers(X)))
        if issparse(X):
            return self._scaled(X)
        columns = np.arange(X.shape[1]) if columns is None else columns
        return scale_cells(X.astype(_scaled_dtype(X)), self, columns)

    def applied_to(self, X: Table) -> Table:
        """As ``transform``, but a memory-mapped array is scaled when it is read.

        So is an array beside a file, of whose columns few are read.
        """
        is_read = is_mapped(X) or (self.file is not None and isinstance(X, np.ndarray))
        return ScaledArray(X, self, _scaled_dtype(X)) if is_read else self.transform(X)

    def moments(self, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """Means, which are 0 after a fit to sparse data, and deviations of some columns."""
        if self.file is not None:
            known = self.file.moments(columns)
            return known.mean, known.scale
        mean, scale = self._scaler.mean_[columns], self._scaler.scale_[columns]
        return (mean if self._scaler.with_mean else np.zeros_like(mean)), scale

    def least_scale(self) -> float:
        """A number that the deviation of no column of integers is below."""
        if self.file is not None:
            return self.file.least_scale()
        return float(self._scaler.scale_.min())

    def kept(self, columns: IntArray) -> "Standardizer":
        """The same without the file, if there is one: of its columns, only these can be scaled.

        Others become NaN.
        """
        if self.file is None:
            return self
        everything = Moments(*np.full((4, self.file.X.shape[1]), np.nan))
        for values, some in zip(everything, self.file.moments(columns), strict=True):
            values[columns] = some
        kept = Standardizer()
        kept._columns, kept._scaler = None, StandardScaler()
        _set(kept._scaler, everything)
        return kept

    def _scaled(self, numbers: Table) -> Table:
        # scikit-learn looks for missing values by a sum, which may overflow.
        with np.errstate(invalid="ignore"):
            return self._scaler.transform(numbers)

    def _numbers(self, X: Table) -> Table:
        return X if self._columns is None else to_array(X, self._columns)

    def _read(self, X: Table, rows: IntArray) -> Table:
        part = self._numbers(take_rows(X, rows))
        if frame_kind(X) is not None:
            # Sums by row as those of arrays: the same numbers are scaled to the same bits.
            part = np.ascontiguousarray(part)
        # For sparse data scikit-learn computes the variance in the dtype of the data, in which a
        # square may overflow.
        return part.astype(np.float64) if issparse(part) else part


def _in_portions(X: Table, n: int, weight: FloatArray | None) -> bool:
    """Whether n of the rows of X are read in portions.

    Without weights, NumPy adds up the rows of an array one after another, and so do we: the bits
    are the same, and portions cost nothing. It adds up single columns and weighted sums in other
    orders; there, and for frames, portions are used for large tables only.
    """
    if issparse(X):
        return False
    if isinstance(X, np.ndarray) and X.shape[1] > 1 and weight is None:
        return not fits_portion(n, X.shape[1])
    return is_large(*X.shape)


def _scaled_dtype(X: Any) -> np.dtype[Any]:
    """Type of the numbers of an array, once scaled by scikit-learn."""
    return StandardScaler().fit_transform(np.zeros((1, 1), X.dtype)).dtype


class Moments(NamedTuple):
    """What is known of M columns: arrays of shape (M,).

    ``n_seen`` is the number of rows without a missing value, or the sum of their weights.
    """

    n_seen: FloatArray
    mean: FloatArray
    variance: FloatArray
    scale: FloatArray


class ColumnFile:
    """Moments of the columns of a file, each computed when it is first asked for, and kept.

    Threads may compute the same column at the same time; they find the same numbers. Processes
    start with none.

    Parameters
    ----------
    X : ndarray of shape (n, M)
        Memory-mapped and column-major.
    weight : ndarray of shape (n_rows,) or None
        Of the rows.
    rows : int ndarray of shape (n_rows,)
        Rows to use.
    """

    def __init__(self, X: Any, weight: FloatArray | None, rows: IntArray) -> None:
        self.X, self.weight, self.rows = X, weight, rows
        self._moments = Moments(*np.empty((4, X.shape[1])))
        self._is_known = np.zeros(X.shape[1], dtype=bool)

    def __reduce__(self) -> tuple[Any, ...]:
        return ColumnFile, (self.X, self.weight, self.rows)

    def moments(self, columns: IntArray) -> Moments:
        """Those of some columns."""
        new = np.unique(columns[~self._is_known[columns]])
        size = max(2, COLUMNS_AT_ONCE // len(self.rows))
        for start in range(0, len(new), size):
            self._learn(new[start : start + size])
        return Moments(*(values[columns] for values in self._moments))

    def _learn(self, columns: IntArray) -> None:
        # NumPy adds up a single column in another order than several.
        asked = columns if len(columns) > 1 else np.repeat(columns, 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = _moments(
                lambda rows: take_cells(self.X, rows, asked), len(asked), self.weight, self.rows
            )
        for values, some in zip(self._moments, found, strict=True):
            values[asked] = some
        # Only now, since other threads read without waiting.
        self._is_known[columns] = True

    def least_scale(self) -> float:
        """A bound for columns of integers.

        If a value has the share p <= 1/2 of the weight and differs from the others by at least 1,
        the variance is at least p (1 - p) >= p / 2. Constant columns are divided by 1.
        """
        share = 1.0 / len(self.rows)
        if self.weight is not None:
            share = float(self.weight.min() / self.weight.sum())
        return 0.5 * float(np.sqrt(share))


def _set(scaler: StandardScaler, known: Moments) -> None:
    """Make a scaler that has these moments."""
    counts = np.unique(known.n_seen[~np.isnan(known.n_seen)])
    scaler.n_features_in_ = len(known.mean)
    scaler.n_samples_seen_ = counts[0] if len(counts) == 1 else known.n_seen
    scaler.mean_, scaler.var_, scaler.scale_ = known.mean, known.variance, known.scale


def _moments(
    read: Callable[[IntArray], Any], n_columns: int, weight: FloatArray | None, rows: IntArray
) -> Moments:
    """Those that ``StandardScaler.fit`` finds on some rows of a table, without a copy of them.

    ``partial_fit`` is not used: a column that is all missing in one of the portions would lose its
    variance, and the bits would differ from those of ``fit``.
    """
    count: FloatArray = np.zeros(n_columns)
    total: FloatArray = np.zeros(n_columns)
    portions = partial(_portions, read, n_columns, weight, rows)
    # One portion is read once.
    whole = list(portions()) if fits_portion(len(rows), n_columns) else None
    for cells, known, heavy in whole or portions():
        count = _added(count, known * heavy)
        total = _added(total, cells * heavy)
    mean = total / count
    residue: FloatArray = np.zeros(n_columns)
    squares: FloatArray = np.zeros(n_columns)
    for cells, known, heavy in whole or portions():
        deviation = np.where(known, cells - mean, 0.0)
        residue = _added(residue, deviation * heavy)
        squares = _added(squares, deviation**2 * heavy)
    # Correction for the rounding of the mean, by Chan, Golub and LeVeque.
    variance = (squares - residue**2 / count) / count
    # scikit-learn's rule for columns that are constant up to rounding.
    epsilon = np.finfo(np.float64).eps
    constant = variance <= count * epsilon * variance + (count * mean * epsilon) ** 2
    return Moments(count, mean, variance, np.where(constant, 1.0, np.sqrt(variance)))


def _portions(
    read: Callable[[IntArray], Any], n_columns: int, weight: FloatArray | None, rows: IntArray
) -> Iterator[tuple[FloatArray, BoolArray, Any]]:
    """Values in double precision with 0 for missing ones, the mask of known ones, and weights."""
    for part in row_portions(len(rows), n_columns):
        cells = np.array(read(rows[part]), dtype=np.float64, order="C")
        known = ~np.isnan(cells)
        cells[~known] = 0.0
        yield cells, known, 1.0 if weight is None else weight[part, np.newaxis]


def _added(total: FloatArray, terms: FloatArray) -> FloatArray:
    """A sum (M,) plus the rows of an array, one after another."""
    return np.add.reduce(np.concatenate([total[np.newaxis], terms]), axis=0)

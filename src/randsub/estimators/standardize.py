"""Columns scaled to mean 0 and standard deviation 1, as scikit-learn's ``StandardScaler`` does."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler

from randsub._tables import (
    ScaledArray,
    fits_portion,
    frame_kind,
    is_large,
    is_mapped,
    numeric_columns,
    replace_columns,
    row_portions,
    take_rows,
    to_array,
)
from randsub._typing import BoolArray, FloatArray, IntArray, Table


class Standardizer:
    """Scale the numeric columns of arrays, sparse matrices and frames.

    Sparse data is not centred, and non-numeric columns of a frame are left unchanged. float32 stays
    float32, frames stay frames, and missing values stay missing. Large tables are read in portions
    and never copied as a whole.
    """

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
        # A column of missing values has no mean, and is left unchanged.
        with np.errstate(invalid="ignore", divide="ignore"):
            if _in_portions(X, len(rows), weight):
                _fit_in_portions(self._scaler, partial(self._read, X), weight, rows)
            else:
                self._scaler.fit(self._read(X, rows), sample_weight=weight)
        return self

    def transform(self, X: Table) -> Table:
        """Scale a table of the same type as in ``fit``."""
        if self._columns is None:
            return self._scaled(X)
        if not len(self._columns):
            return X
        return replace_columns(X, self._columns, self._scaled(self._numbers(X)))

    def applied_to(self, X: Table) -> Table:
        """As ``transform``, but a memory-mapped array is scaled when it is read."""
        if not is_mapped(X):
            return self.transform(X)
        dtype = self._scaler.transform(X[:1]).dtype
        mean, scale = self._scaler.mean_, self._scaler.scale_
        return ScaledArray(X, mean.astype(dtype), scale.astype(dtype))

    def _scaled(self, numbers: Table) -> Table:
        # scikit-learn looks for missing values by a sum, which may overflow.
        with np.errstate(invalid="ignore"):
            return self._scaler.transform(numbers)

    def _numbers(self, X: Table) -> Table:
        return X if self._columns is None else to_array(X, self._columns)

    def _read(self, X: Table, rows: IntArray) -> Table:
        part = self._numbers(take_rows(X, rows))
        # For sparse data scikit-learn computes the variance in the dtype of the data, in which a
        # square may overflow.
        return part.astype(np.float64) if issparse(part) else part


def _in_portions(X: Table, n: int, weight: FloatArray | None) -> bool:
    """Whether n rows of X are read in portions.

    Without weights, NumPy adds up the rows of an array one after another, and so do we: the bits
    are the same, and portions cost nothing. It adds up columns of frames, single columns and
    weighted sums in other orders; there portions are used for large tables only.
    """
    if issparse(X):
        return False
    if isinstance(X, np.ndarray) and X.shape[1] > 1 and weight is None:
        return not fits_portion(n, X.shape[1])
    return is_large(n, X.shape[1])


def _fit_in_portions(
    scaler: StandardScaler,
    read: Callable[[IntArray], Any],
    weight: FloatArray | None,
    rows: IntArray,
) -> None:
    """``scaler.fit`` on some rows of a table, without a copy of them.

    ``partial_fit`` is not used: a column that is all missing in one of the portions would lose its
    variance, and the bits would differ from those of ``fit``.
    """
    n_features = read(rows[:1]).shape[1]
    count, total = np.zeros(n_features), np.zeros(n_features)
    for cells, known, heavy in _portions(read, n_features, weight, rows):
        count = _added(count, known * heavy)
        total = _added(total, cells * heavy)
    mean = total / count
    residue, squares = np.zeros(n_features), np.zeros(n_features)
    for cells, known, heavy in _portions(read, n_features, weight, rows):
        deviation = np.where(known, cells - mean, 0.0)
        residue = _added(residue, deviation * heavy)
        squares = _added(squares, deviation**2 * heavy)
    # Correction for the rounding of the mean, by Chan, Golub and LeVeque.
    variance = (squares - residue**2 / count) / count
    # scikit-learn's rule for columns that are constant up to rounding.
    epsilon = np.finfo(np.float64).eps
    constant = variance <= count * epsilon * variance + (count * mean * epsilon) ** 2
    scaler.n_features_in_ = n_features
    scaler.n_samples_seen_ = count if np.ptp(count) else count[0]
    scaler.mean_, scaler.var_ = mean, variance
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(variance))


def _portions(
    read: Callable[[IntArray], Any], n_features: int, weight: FloatArray | None, rows: IntArray
) -> Iterator[tuple[FloatArray, BoolArray, Any]]:
    """Values in double precision with 0 for missing ones, the mask of known ones, and weights."""
    for part in row_portions(len(rows), n_features):
        cells = read(rows[part]).astype(np.float64)
        known = ~np.isnan(cells)
        cells[~known] = 0.0
        yield cells, known, 1.0 if weight is None else weight[part, np.newaxis]


def _added(total: FloatArray, terms: FloatArray) -> FloatArray:
    """A sum (M,) plus the rows of an array, one after another."""
    return np.add.reduce(np.concatenate([total[np.newaxis], terms]), axis=0)

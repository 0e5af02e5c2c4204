"""Columns with mean 0 and deviation 1, as far as that makes sense."""

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
    """Scales dense numeric columns; sparse ones are not centred, and the others of a frame stay.

    float32 stays float32, frames stay frames, and missing values are left where they are. What is
    large is looked at in portions, never copied as a whole for that.
    """

    def fit(self, X: Table, sample_weight: FloatArray | None, rows: IntArray | None = None) -> Self:
        """Learn means and deviations.

        Parameters
        ----------
        X : table of shape (n, M)
        sample_weight : ndarray of shape (n,) or None
        rows : int ndarray, default=None
            Rows to learn from; all by default.
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
        # A column without a single value has no mean; it stays what it is.
        with np.errstate(invalid="ignore", divide="ignore"):
            if _in_portions(X, len(rows), weight):
                _fit_in_portions(self._scaler, partial(self._read, X), weight, rows)
            else:
                self._scaler.fit(self._read(X, rows), sample_weight=weight)
        return self

    def transform(self, X: Table) -> Table:
        """Scale a table of the kind that was fitted."""
        if self._columns is None:
            return self._scaled(X)
        if not len(self._columns):
            return X
        return replace_columns(X, self._columns, self._scaled(self._numbers(X)))

    def applied_to(self, X: Table) -> Table:
        """The same numbers as those of ``transform``; of a memory-mapped array, as it is read."""
        if not is_mapped(X):
            return self.transform(X)
        dtype = self._scaler.transform(X[:1]).dtype
        mean, scale = self._scaler.mean_, self._scaler.scale_
        return ScaledArray(X, mean.astype(dtype), scale.astype(dtype))

    def _scaled(self, numbers: Table) -> Table:
        # Large numbers of both signs may have no sum, by which scikit-learn looks for missing ones.
        with np.errstate(invalid="ignore"):
            return self._scaler.transform(numbers)

    def _numbers(self, X: Table) -> Table:
        return X if self._columns is None else to_array(X, self._columns)

    def _read(self, X: Table, rows: IntArray) -> Table:
        part = self._numbers(take_rows(X, rows))
        # Of sparse data scikit-learn keeps the variance in the type of the data, which may have no
        # number for the square of one that it has.
        return part.astype(np.float64) if issparse(part) else part


def _in_portions(X: Table, n: int, weight: FloatArray | None) -> bool:
    """Whether n rows of X are read in portions.

    That is never worse where the bits are the same: numpy adds up the rows of an array one after
    the other, and so do we. The columns of frames, single columns and weighted sums it adds up in
    other orders; there it must be worth it.
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
    """What ``scaler.fit`` does with some rows of a table, without a copy of them.

    Its ``partial_fit`` is no way to do that: a column without a value in one of the portions loses
    its variance.
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
    # What is left of the residue's rounding, after Chan, Golub and LeVeque.
    variance = (squares - residue**2 / count) / count
    # scikit-learn's rule for columns that are constant but for rounding.
    epsilon = np.finfo(np.float64).eps
    constant = variance <= count * epsilon * variance + (count * mean * epsilon) ** 2
    scaler.n_features_in_ = n_features
    scaler.n_samples_seen_ = count if np.ptp(count) else count[0]
    scaler.mean_, scaler.var_ = mean, variance
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(variance))


def _portions(
    read: Callable[[IntArray], Any], n_features: int, weight: FloatArray | None, rows: IntArray
) -> Iterator[tuple[FloatArray, BoolArray, Any]]:
    """Numbers in double precision with 0 for missing ones, which are known, and their weights."""
    for part in row_portions(len(rows), n_features):
        cells = read(rows[part]).astype(np.float64)
        known = ~np.isnan(cells)
        cells[~known] = 0.0
        yield cells, known, 1.0 if weight is None else weight[part, np.newaxis]


def _added(total: FloatArray, terms: FloatArray) -> FloatArray:
    """A sum (M,) and the rows of an array, one row after the other."""
    return np.add.reduce(np.concatenate([total[np.newaxis], terms]), axis=0)

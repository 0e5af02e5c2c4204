"""Columns with mean 0 and deviation 1, as far as that makes sense."""

from typing import Self

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler

from randsub._tables import frame_kind, numeric_columns, replace_columns, to_array
from randsub._typing import FloatArray, IntArray, Table


class Standardizer:
    """Scales dense numeric columns; sparse ones are not centred, and the others of a frame stay.

    float32 stays float32, frames stay frames, and missing values are left where they are.
    """

    def fit(self, X: Table, sample_weight: FloatArray | None) -> Self:
        """Learn means and deviations."""
        self._columns: IntArray | None = None
        if frame_kind(X) is not None:
            self._columns = np.flatnonzero(numeric_columns(X))
        self._scaler = StandardScaler(with_mean=not issparse(X))
        if self._columns is None or len(self._columns):
            # A column without a single value has no mean; it stays what it is.
            with np.errstate(invalid="ignore", divide="ignore"):
                self._scaler.fit(self._numbers(X), sample_weight=sample_weight)
        return self

    def transform(self, X: Table) -> Table:
        """Scale a table of the kind that was fitted."""
        if self._columns is None:
            return self._scaler.transform(X)
        if not len(self._columns):
            return X
        return replace_columns(X, self._columns, self._scaler.transform(self._numbers(X)))

    def _numbers(self, X: Table) -> Table:
        return X if self._columns is None else to_array(X, self._columns)

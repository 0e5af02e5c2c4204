"""Rows that a report is given: a table, its targets and weights, checked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, assert_all_finite

from randsub._tables import frame_kind, n_rows, take_rows
from randsub._typing import FloatArray, IntArray, Table
from randsub.ensemble.subspace import SubspaceEnsemble


@dataclass(frozen=True, eq=False)
class Rows:
    """A table with a target for each row.

    Parameters
    ----------
    X : table of shape (n, n_features)
        An array, a sparse matrix in csr format or a frame.
    y : ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
    """

    X: Table
    y: Any
    weight: FloatArray | None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    def take(self, chosen: IntArray) -> "Rows":
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(take_rows(self.X, chosen), self.y[chosen], weight)


def check_rows(
    model: SubspaceEnsemble, X: Table | None, y: Any, sample_weight: Any, suffix: str = ""
) -> Rows | None:
    """Data that fits the model and is complete, or None where nothing was given.

    Parameters
    ----------
    model : fitted ensemble
    X, y, sample_weight
        As the user gave them.
    suffix : str, default=""
        What follows their names in messages.
    """
    if X is None and y is None and sample_weight is None:
        return None
    if X is None or y is None:
        present = "y" if X is None else "X"
        missing = "X" if X is None else "y"
        if y is None and X is None:
            present = "sample_weight"
        raise ValueError(
            f"{present}{suffix} was given without {missing}{suffix}; give both, or neither."
        )
    try:
        if frame_kind(X) is None:
            X = check_array(X, accept_sparse="csr", ensure_all_finite="allow-nan")
        y = column_or_1d(y, warn=False)
        check_consistent_length(X, y)
        if model._task == "regression":
            y = np.asarray(y, dtype=float)
        assert_all_finite(y, input_name="y")
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
            if not weight.any():
                raise ValueError("sample_weight is 0 for every row: one must be positive.")
        if not n_rows(X):
            raise ValueError("there is no row in X.")
        # The model has its own eye for columns and their names; better now than after training.
        model.predict(take_rows(X, np.arange(1)))
    except (ValueError, TypeError) as error:
        names = ", ".join(f"{name}{suffix}" for name in ("X", "y", "sample_weight"))
        raise type(error)(f"In the data for the report ({names}): {error}") from error
    return Rows(X, y, weight)

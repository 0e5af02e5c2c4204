"""Rows with targets and weights, checked against the model of a report."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import assert_all_finite

from randsub._sklearn import check_sample_weight
from randsub._tables import frame_kind, n_rows, take_rows
from randsub._typing import FloatArray, IntArray, Table
from randsub.estimators.base import SubspaceEnsemble
from randsub.estimators.training_rows import KnownRows, TrainingRows, remembered
from randsub.exceptions import TrainingRowsWarning


@dataclass(frozen=True, eq=False)
class Rows:
    """A table with one target per row.

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
    """Complete data that fits the model, or None where nothing was given.

    Parameters
    ----------
    model : fitted ensemble
    X, y, sample_weight
        As given by the user.
    suffix : str, default=""
        Suffix of the names of the parameters, for error messages.
    """
    names = [f"{name}{suffix}" for name in ("X", "y", "sample_weight")]
    given = zip(names, (X, y, sample_weight), strict=True)
    present = [name for name, value in given if value is not None]
    if not present:
        return None
    missing = [name for name in names[:2] if name not in present]
    if missing:
        raise ValueError(f"{present[0]} was given without {missing[0]}; give both, or neither.")
    if getattr(model, "n_outputs_", 1) > 1:
        raise ValueError(
            f"A report scores models of one target, and this {type(model).__name__} has "
            f"{model.n_outputs_}. Leave out {' and '.join(present)}: the page then shows "
            "importances, training and how to fit the model again. Its score on new rows is "
            "model.score(X, y)."
        )
    try:
        if frame_kind(X) is None:
            X = check_array(X, accept_sparse="csr", ensure_all_finite="allow-nan")
        y = column_or_1d(y, warn=False)
        check_consistent_length(X, y)
        if model._task == "regression":
            y = np.asarray(y, dtype=float)
        assert_all_finite(y, input_name="y")
        if not n_rows(X):
            raise ValueError("X has no rows.")
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
            if not weight.any():
                raise ValueError("sample_weight is 0 for every row: one must be positive.")
        # The model checks columns and their names; better now than after training.
        model.predict(take_rows(X, np.arange(1)))
    except (ValueError, TypeError) as error:
        raise type(error)(f"In the data for the report ({', '.join(names)}): {error}") from error
    return Rows(X, y, weight)


def new_rows(
    model: SubspaceEnsemble, train: Rows | None, test: Rows | None
) -> tuple[Rows | None, KnownRows | None]:
    """The test rows that the model was not trained on, and which were training rows.

    Parameters
    ----------
    model : fitted ensemble
    train : Rows or None
        The training rows, for a model that does not remember them.
    test : Rows or None
        What was given as new.
    """
    trained = remembered(model)
    if trained is None and train is not None:
        trained = TrainingRows.of(train.X, train.y)
    if test is None or trained is None:
        return test, None
    known = trained.among(test.X, test.y)
    if not len(known.new):
        raise ValueError(
            f"The test rows are not new: {known}. A score on them tells how well they are "
            "remembered. Give rows that the model was not trained on, or none: then a part of the "
            "training rows is set aside for a copy of the model."
        )
    if known.is_known.any():
        warnings.warn(
            f"In the test data, {known}; only the others are scored.",
            TrainingRowsWarning,
            stacklevel=3,
        )
        test = test.take(known.new)
    return test, known

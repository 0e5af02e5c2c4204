"""Permuted copies of the columns, and models that take them.

A shadow is a column with its rows permuted. If all columns of a copy share one permutation
(:func:`shared_orders`), the shadows have the same correlations among themselves as the real
columns, and columns that belong together (indicators of one category, lags) stay together. Only the
dependence on y, and on the real columns, is removed. ``conditional_shadows.py`` makes orders that
keep the latter.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from randsub._tables import frame_kind, take_rows
from randsub._typing import IntArray, Table
from randsub.estimators.column_encoding import choose_categorical
from randsub.estimators.groups import resolve_groups
from randsub.penalties import Penalty


def shared_orders(n: int, n_shadows: int, rng: np.random.RandomState) -> IntArray:
    """One random order of n rows per copy, (n_shadows, n)."""
    return np.stack([rng.permutation(n) for _ in range(n_shadows)])


def with_shadows(X: Table, orders: IntArray) -> Table:
    """X with permuted copies of its columns appended.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n, M)
    orders : int ndarray of shape (n_shadows, n) or (n_shadows, n, M)
        Rows of X that make the rows of each copy, or of each of its columns; a sparse X takes only
        the former.

    Returns
    -------
    enlarged : same type as X, of shape (n, M (1 + n_shadows))
        Copy c of column j is column ``c M + j``; c = 0 is the column itself.
    """
    n_shadows = len(orders)
    tables = [X, *(take_rows(X, o) if o.ndim == 1 else _reordered(X, o) for o in orders)]
    match frame_kind(X):
        case "pandas":
            pandas = sys.modules["pandas"]
            names = _names(list(X.columns), n_shadows)
            rows = [table.reset_index(drop=True) for table in tables]
            return pandas.concat(rows, axis=1).set_axis(names, axis=1)
        case "polars":
            polars = sys.modules["polars"]
            width, names = X.shape[1], _names(X.columns, n_shadows)
            renamed = [
                table.rename(dict(zip(X.columns, names[c * width : (c + 1) * width], strict=True)))
                for c, table in enumerate(tables)
            ]
            return polars.concat(renamed, how="horizontal")
    if sparse.issparse(X):
        return sparse.hstack(tables, format="csr")
    return np.hstack(tables)


def _reordered(X: Table, order: IntArray) -> Table:
    """X with the rows of each column in an order of its own, (n, M)."""
    match frame_kind(X):
        case "pandas":
            columns = [X.iloc[rows, j].reset_index(drop=True) for j, rows in enumerate(order.T)]
            return sys.modules["pandas"].concat(columns, axis=1)
        case "polars":
            return X.select(column.gather(rows) for column, rows in zip(X, order.T, strict=True))
    return np.take_along_axis(X, order, axis=0)


def _names(columns: Sequence[Any], n_shadows: int) -> list[Any]:
    """Unique names for all columns: strings if all names are strings, else numbers."""
    if not all(isinstance(name, str) for name in columns):
        return list(range(len(columns) * (1 + n_shadows)))
    mark = "shadow"
    while any(mark in name for name in columns):
        mark += "_"
    copies = [f"{name} ({mark} {c})" for c in range(1, n_shadows + 1) for name in columns]
    return [*columns, *copies]


def column_groups(estimator: Any, n_columns: int, names: Sequence[str]) -> IntArray:
    """Group of each column, (n_columns,), by the estimator's ``feature_groups`` if it has any."""
    if getattr(estimator, "feature_groups", None) is None:
        return np.arange(n_columns)
    return resolve_groups(estimator.feature_groups, n_columns, names)


def enlarged(
    estimator: Any, X: Table, groups: IntArray, names: Sequence[str], n_shadows: int
) -> Any:
    """A clone whose parameters about columns cover the columns of X and their shadows.

    Parameters
    ----------
    estimator : estimator
    X : table of shape (n, M)
        The table without shadows.
    groups : int ndarray of shape (M,)
        Group of each column.
    names : sequence of str
        Names of the columns; may be empty.
    n_shadows : int
    """
    own = estimator.get_params(deep=False)
    n_groups, copies = int(groups.max()) + 1, np.arange(1 + n_shadows)[:, np.newaxis]
    changed: dict[str, Any] = {}
    if own.get("feature_groups") is not None:
        changed["feature_groups"] = (groups + n_groups * copies).ravel()
    categorical = own.get("categorical_features")
    if categorical is not None and not isinstance(categorical, str):
        columns = choose_categorical(categorical, X, [], names)
        changed["categorical_features"] = (columns + X.shape[1] * copies).ravel()
    if np.ndim(own.get("alpha_init")) == 1:
        if len(own["alpha_init"]) != n_groups:
            raise ValueError(
                f"alpha_init has {len(own['alpha_init'])} entries, but X has {n_groups} columns "
                "or groups of columns."
            )
        changed["alpha_init"] = np.tile(own["alpha_init"], 1 + n_shadows)
    if not isinstance(own.get("distribution", "auto"), str):
        raise ValueError(
            f"distribution={own['distribution']!r} is made for the columns of X and cannot take "
            "shadows; use distribution='auto', with feature_groups for columns that are drawn "
            "together."
        )
    if isinstance(own.get("penalty"), Penalty):
        _check_penalty(own["penalty"], n_groups * (1 + n_shadows))
    return clone(estimator).set_params(**changed)


def _check_penalty(penalty: Penalty, n_parameters: int) -> None:
    """Raise unless the penalty treats columns and shadows alike."""
    reason = "it tells columns apart"
    try:
        penalty.check(n_parameters)
        theta = np.random.default_rng(0).random((1, n_parameters))
        alike = bool(np.isclose(penalty.value(theta), penalty.value(theta[:, ::-1]), rtol=1e-9))
    except ValueError as error:
        reason, alike = str(error).rstrip("."), False
    if not alike:
        raise ValueError(
            f"penalty={penalty!r} cannot take shadows, with which there are {n_parameters} columns "
            f"or groups: {reason}. Use a penalty that treats all columns alike, such as "
            "ExpectedSize, or None."
        )

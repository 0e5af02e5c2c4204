"""Columns that hold categories: which they are, and one indicator for each of their values.

Encoding happens beneath everything else. Subsets, alpha, groups, penalties and the fitted
attributes are about the columns of X; only where models are trained and asked does each column of
categories stand for all its indicators, so these are always drawn together.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from randsub._tables import frame_kind, numeric_columns, take_cells, take_columns, to_array
from randsub._typing import FloatArray, IntArray, Table

# Stands for a missing value, which is a category of its own where training data has it.
MISSING = "missing"


def choose_categorical(
    categorical_features: Any, X: Table, base: Any, names: Sequence[str]
) -> IntArray:
    """Positions of the columns to encode.

    Parameters
    ----------
    categorical_features : {"auto", "from_dtype"}, array-like or None
        "auto": columns of a frame that have a type of categories, or that hold text or objects of
        which some spell no number, where the base model is one of scikit-learn's that takes nothing
        but numbers. "from_dtype": columns of text, objects or categories, whatever the base model.
        Else the columns themselves: names, positions, or a truth value for each. None: no column.
    X : table of shape (n, M)
    base : estimator
    names : sequence of str
        Names of the columns; may be empty.
    """
    if categorical_features is None:
        return np.empty(0, dtype=np.intp)
    if not isinstance(categorical_features, str):
        return _listed(categorical_features, X, names)
    if frame_kind(X) is None or (categorical_features == "auto" and not _only_numbers(base)):
        return np.empty(0, dtype=np.intp)
    columns = _by_dtype(X)
    if categorical_features == "auto":
        # Text that spells numbers is read as numbers, as scikit-learn does; numbers that somebody
        # has declared to be categories are mere labels.
        declared = _declared(X)
        columns = [j for j in columns if declared[j] or not _is_readable(_values(X, j))]
    return np.array(columns, dtype=np.intp)


def _only_numbers(base: Any) -> bool:
    """Whether a base model surely cannot do anything with categories.

    What has parts may encode them itself, and other libraries' models are not ours to judge.
    """
    if isinstance(base, Pipeline) or not type(base).__module__.startswith("sklearn."):
        return False
    params = base.get_params(deep=False)
    takes_them = "categorical_features" in params or get_tags(base).input_tags.categorical
    return not takes_them and not any(hasattr(value, "fit") for value in params.values())


def _by_dtype(frame: Table) -> list[int]:
    """Columns of text, of objects, or of categories."""
    declared = _declared(frame)
    if frame_kind(frame) == "polars":
        import polars as pl

        kinds = (pl.String, pl.Object)
        held = [isinstance(dtype, kinds) for dtype in frame.dtypes]
    else:
        from pandas.api.types import is_object_dtype, is_string_dtype

        held = [is_object_dtype(dtype) or is_string_dtype(dtype) for dtype in frame.dtypes]
    return [j for j, is_held in enumerate(held) if is_held or declared[j]]


def _declared(frame: Table) -> list[bool]:
    """Which columns of a frame have a type of categories, whatever these are."""
    kinds: tuple[type, ...] = (pd.CategoricalDtype,)
    if frame_kind(frame) == "polars":
        import polars as pl

        kinds = (pl.Categorical, pl.Enum)
    return [isinstance(dtype, kinds) for dtype in frame.dtypes]


def _is_readable(values: Any) -> bool:
    """Whether every value is, or spells, a number."""
    try:
        np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return False
    return True


def _listed(columns: Any, X: Table, names: Sequence[str]) -> IntArray:
    n_features = X.shape[1]
    if issparse(X):
        raise ValueError("categorical_features needs a frame or a dense array, got sparse X.")
    listed = np.asarray(columns)
    if listed.ndim != 1:
        raise ValueError(
            "categorical_features must be 'auto', 'from_dtype', None or a list of columns, got "
            f"{columns!r}."
        )
    if listed.dtype == bool:
        if len(listed) != n_features:
            raise ValueError(
                f"categorical_features has {len(listed)} truth values, but X has {n_features} "
                "columns."
            )
        return np.flatnonzero(listed)
    position = {name: j for j, name in enumerate(names)}
    found = [_position(column, position, n_features) for column in list(columns)]
    return np.unique(np.array(found, dtype=np.intp))


def _position(column: Any, position: dict[str, int], n_features: int) -> int:
    if isinstance(column, str):
        if column not in position:
            known = "X has no column names" if not position else f"X has {list(position)[:10]}"
            raise ValueError(f"categorical_features names the column {column!r}, but {known}.")
        return position[column]
    is_number = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if is_number and -n_features <= column < n_features:
        return int(column) % n_features
    raise ValueError(
        f"categorical_features names the column {column!r}, but columns are numbered 0 to "
        f"{n_features - 1}."
    )


def _values(X: Table, column: int) -> Any:
    """One column as an array of objects, missing values as None."""
    part = take_columns(X, np.array([column]))
    match frame_kind(part):
        case "polars":
            values = np.array(part.to_series().to_list(), dtype=object)
        case "pandas":
            values = part.iloc[:, 0].astype(object).to_numpy()
        case _:
            values = np.asarray(part)[:, 0].astype(object)
    values = values.copy()
    values[pd.isna(values)] = None
    return values


class CategoryEncoder:
    """One indicator for each category, in place of the column; other columns as numbers.

    Values that were not there during ``fit`` have no indicator: all are 0. Indicators are not
    scaled: two samples of different categories are then as far apart, in squares, as two samples
    are on average in a column of deviation 1.

    Parameters
    ----------
    columns : int ndarray
        Positions of the columns that hold categories.

    Attributes
    ----------
    categories_ : list of lists
        Values of each of these columns, in the order of their indicators.
    origin_ : int ndarray of shape (n_encoded,)
        Which column of X each encoded column comes from.
    """

    def __init__(self, columns: IntArray) -> None:
        self.columns = columns

    def fit(self, X: Table, rows: IntArray) -> Self:
        """Learn the categories from some rows of X."""
        self.categories_: list[list[Any]] = []
        for column in self.columns:
            found = {_key(value): value for value in _values(X, column)[rows]}
            # An order that does not depend on that of the rows, for values of any types.
            self.categories_.append([found[key] for key in sorted(found)])
        widths = np.ones(X.shape[1], dtype=np.intp)
        widths[self.columns] = [len(found) for found in self.categories_]
        self.origin_: IntArray = np.repeat(np.arange(X.shape[1]), widths)
        return self

    def transform(self, X: Table, scaled: Table) -> FloatArray:
        """Encode X; columns of numbers are taken from ``scaled``."""
        numbers = np.setdiff1d(np.arange(X.shape[1]), self.columns)
        values = _numbers(scaled, numbers) if len(numbers) else np.empty((X.shape[0], 0))
        single = np.asarray(values).dtype == np.float32
        encoded = np.zeros((X.shape[0], len(self.origin_)), np.float32 if single else np.float64)
        encoded[:, ~np.isin(self.origin_, self.columns)] = values
        for column, categories in zip(self.columns, self.categories_, strict=True):
            place = {_key(value): k for k, value in enumerate(categories)}
            codes = np.array([place.get(_key(v), -1) for v in _values(X, column)], dtype=np.intp)
            known = np.flatnonzero(codes >= 0)
            first = int(np.flatnonzero(self.origin_ == column)[0])
            encoded[known, first + codes[known]] = 1.0
        return encoded

    def expand(self, columns: IntArray) -> IntArray:
        """Encoded columns that come from some columns of X."""
        return np.flatnonzero(np.isin(self.origin_, columns))


def _key(value: Any) -> tuple[str, str]:
    """Type and text of a value: equal for equal values, and with an order."""
    if value is None:
        return MISSING, ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1 and 1.0 are one category
    kind = "number" if isinstance(value, int | float | np.number) else type(value).__name__
    return kind, str(value)


def _numbers(table: Table, columns: IntArray) -> Any:
    if frame_kind(table) is None:
        return take_cells(table, np.arange(table.shape[0]), columns)
    try:
        return to_array(table, columns)
    except (TypeError, ValueError):
        numeric = numeric_columns(table)
        strange = [j for j in columns if not (numeric[j] or _is_readable(_values(table, j)))]
        dtypes = list(table.dtypes)
        shown = {str(table.columns[j]): str(dtypes[j]) for j in strange[:5]}
        raise ValueError(
            f"Columns {shown} hold neither numbers nor categories that are encoded; list them in "
            "categorical_features, or make numbers of them."
        ) from None

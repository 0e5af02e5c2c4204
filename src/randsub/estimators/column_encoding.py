"""Columns that base models cannot use as they are: categories, and numbers that may be missing.

Masks, alpha, groups, penalties and the fitted attributes refer to the columns of X. Only where base
models are trained and predict does each categorical column stand for all its indicators, so these
are always drawn together.

A column of numbers with missing values, where these are filled, stands for two: the numbers, with
the mean in place of those that are missing, and whether they are.

scikit-learn's ``OneHotEncoder`` is not used: it refuses columns of mixed types, and takes ``True``
and 1 for one category.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from pandas.api.types import is_object_dtype, is_string_dtype
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from randsub._tables import frame_kind, numeric_columns, take_cells, take_columns, to_array
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.estimators.groups import column_position
from randsub.estimators.missing_values import is_nothing
from randsub.exceptions import SHOWN, ManyCategoriesWarning

# Transformers that may turn any columns into numbers.
OPEN = (ColumnTransformer, FunctionTransformer)
# Kind of a missing value, which is a category if the training data has one.
MISSING = "missing"
# A column of more categories than this, and of fewer than two rows for each, is doubtful.
MANY_CATEGORIES = 50


def choose_categorical(
    categorical_features: Any, X: Table, bases: Sequence[Any], names: Sequence[str]
) -> IntArray:
    """Positions of the columns to encode.

    Parameters
    ----------
    categorical_features : {"auto", "from_dtype"}, array-like or None
        "auto": the columns of a frame with a categorical dtype, and those of text or objects that
        cannot all be converted to numbers, if one of scikit-learn's base models needs numbers
        there; they are encoded for such base models alone. "from_dtype": columns of text, objects
        or categorical dtype, for any base model. Otherwise the columns: names, positions, or a
        mask. None: no column.
    X : table of shape (n, M)
    bases : sequence of estimators
    names : sequence of str
        Names of the columns; may be empty.
    """
    if categorical_features is None:
        return np.empty(0, dtype=np.intp)
    if not isinstance(categorical_features, str):
        return _listed(categorical_features, X, names)
    if frame_kind(X) is None:
        return np.empty(0, dtype=np.intp)
    if categorical_features == "from_dtype":
        return np.flatnonzero(np.logical_or(*_dtypes(X)))
    categorical, text = _labels(X)
    if not any(_needs_numbers(base, has_text=bool(text.any())) for base in bases):
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(categorical | text)


def see_labels(categorical_features: Any, X: Table, bases: Sequence[Any]) -> list[int]:
    """Places of the base models that see a frame as it is, where it is encoded for others."""
    if not (isinstance(categorical_features, str) and categorical_features == "auto"):
        return []
    has_text = bool(_labels(X)[1].any())
    return [n for n, base in enumerate(bases) if not _needs_numbers(base, has_text=has_text)]


def _needs_numbers(base: Any, *, has_text: bool) -> bool:
    """Whether a base model, or what a pipeline begins with, is known to accept only numbers.

    A meta-estimator does if all estimators in it do. Functions of the user may encode categories
    themselves, and so may estimators of other libraries. scikit-learn's own that recognise
    categories by their dtype refuse text.
    """
    if isinstance(base, Pipeline):
        # Some steps leave text as it is.
        steps = [step for step in _steps(base) if not (is_nothing(step) or _fills_any(step))]
        return bool(steps) and _needs_numbers(steps[0], has_text=has_text)
    library = type(base).__module__.partition(".")[0]
    if library not in ("sklearn", "randsub") or isinstance(base, OPEN):
        return False
    params = base.get_params(deep=False)
    if "categorical_features" in params:
        listed = params["categorical_features"]
        by_dtype = isinstance(listed, str) and listed == "from_dtype"
        return has_text if by_dtype else listed is None
    nested = [
        part
        for value in params.values()
        # Pairs of names and estimators, or one of them.
        for part in ([one[1] for one in value] if _is_named(value) else [value])
        if hasattr(part, "fit")
    ]
    if nested:
        return all(_needs_numbers(part, has_text=has_text) for part in nested)
    tags = get_tags(base).input_tags
    return not (tags.categorical or tags.string)


def _is_named(value: Any) -> bool:
    """Whether a parameter is a list of pairs, as those of voting and of unions of features."""
    return isinstance(value, list) and all(
        isinstance(one, tuple | list) and len(one) == 2 for one in value
    )


def _steps(pipeline: Pipeline) -> Iterator[Any]:
    """The steps, and those of pipelines among them."""
    for _, step in pipeline.steps:
        if isinstance(step, Pipeline):
            yield from _steps(step)
        else:
            yield step


def _fills_any(step: Any) -> bool:
    """Whether a step of a pipeline replaces missing values of any type, and nothing else."""
    return isinstance(step, SimpleImputer) and step.strategy in ("most_frequent", "constant")


def _labels(frame: Table) -> tuple[BoolArray, BoolArray]:
    """Which columns have a categorical dtype, and which hold text that spells no numbers.

    Text that can be converted to numbers is, as in scikit-learn; numbers with a categorical dtype
    are labels.
    """
    categorical, text = _dtypes(frame)
    for j in np.flatnonzero(text).tolist():
        text[j] = not _is_readable(_values(frame, j))
    return categorical, text


def _dtypes(frame: Table) -> tuple[BoolArray, BoolArray]:
    """Which columns of a frame have a categorical dtype, and which hold text or objects."""
    if frame_kind(frame) == "polars":
        import polars as pl

        categorical = [isinstance(dtype, pl.Categorical | pl.Enum) for dtype in frame.dtypes]
        text = [isinstance(dtype, pl.String | pl.Object) for dtype in frame.dtypes]
    else:
        categorical = [isinstance(dtype, pd.CategoricalDtype) for dtype in frame.dtypes]
        text = [is_object_dtype(dtype) or is_string_dtype(dtype) for dtype in frame.dtypes]
    return np.array(categorical, dtype=bool), np.array(text, dtype=bool)


def refuse_times(X: Table, encoded: IntArray, bases: Sequence[Any]) -> None:
    """Raise a ValueError if a frame has dates or times that are not encoded as categories.

    Base models that accept only numbers would fail on them, or take them for numbers of seconds or
    of fractions of them.
    """
    if frame_kind(X) == "polars":
        times = [dtype.is_temporal() for dtype in X.dtypes]
    else:
        times = [dtype.kind in "mM" or isinstance(dtype, pd.PeriodDtype) for dtype in X.dtypes]
    found = np.setdiff1d(np.flatnonzero(times), encoded)
    if not len(found) or not any(_needs_numbers(base, has_text=True) for base in bases):
        return
    shown = {str(X.columns[j]): str(list(X.dtypes)[j]) for j in found[:5].tolist()}
    raise ValueError(
        f"Columns {shown} hold dates or times. Convert them to numbers that mean something to the "
        "base model, such as days since a start, or the month; or list them in "
        "categorical_features, or leave them out."
    )


def _is_readable(values: Any) -> bool:
    """Whether every value can be converted to a number."""
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
    found = [column_position(c, n_features, position, "categorical_features") for c in columns]
    return np.unique(np.array(found, dtype=np.intp))


def _values(X: Table, column: int) -> Any:
    """One column as an array of objects, with None for missing values."""
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


class ColumnEncoder:
    """One-hot encoding of categorical columns, and numbers in place of missing ones.

    Missing numbers are replaced by the mean, with an indicator beside them, in columns that had
    some in training.

    A missing value is a category; unseen categories encode to zeros. Indicators are not scaled:
    the squared distance between two different categories is 2, the mean squared distance of two
    samples in a column of standard deviation 1.

    Parameters
    ----------
    columns : int ndarray
        Positions of the categorical columns.
    fills : bool, default=False
        Whether missing numbers are replaced.
    centered : int ndarray, default=()
        Positions of the columns of numbers that come with mean 0.
    unused_by : sequence of int, default=()
        Places of the base models that see X as it is, since they may encode it themselves.

    Attributes
    ----------
    categories_ : list of lists
        Categories of each categorical column, in the order of their indicators.
    filled_ : int ndarray
        Positions of the columns of numbers with missing values in training.
    means_ : ndarray of shape (n_features,)
        What replaces missing numbers of each column, if they are replaced.
    origin_ : int ndarray of shape (n_encoded,)
        Column of X that each encoded column comes from.
    """

    # Of encoders that were saved before base models could see X as it is.
    unused_by: Sequence[int] = ()

    def __init__(
        self,
        columns: IntArray,
        *,
        fills: bool = False,
        centered: Sequence[int] | IntArray = (),
        unused_by: Sequence[int] = (),
    ) -> None:
        self.columns = columns
        self.fills = fills
        self.centered: IntArray = np.asarray(centered, dtype=np.intp)
        self.unused_by = list(unused_by)

    def fit(self, X: Table, rows: IntArray, weight: FloatArray | None = None) -> Self:
        """Learn the categories, and what replaces missing numbers, from some rows of X."""
        self.categories_: list[list[Any]] = []
        for column in self.columns:
            found = {_key(value): value for value in _values(X, column)[rows]}
            # Sorted, for values of any types, so that the order of the rows does not matter.
            self.categories_.append([found[key] for key in sorted(found)])
        self._warn_of_many(X, len(rows))
        widths = np.ones(X.shape[1], dtype=np.intp)
        widths[self.columns] = [len(found) for found in self.categories_]
        self.filled_: IntArray = np.empty(0, dtype=np.intp)
        if self.fills:
            self._learn_means(X, rows, weight)
            widths[self.filled_] = 2
        self.origin_: IntArray = np.repeat(np.arange(X.shape[1]), widths)
        return self

    def _warn_of_many(self, X: Table, n_rows: int) -> None:
        """Say which columns have about as many categories as there are rows."""
        names = list(X.columns) if frame_kind(X) is not None else range(X.shape[1])
        many = {
            names[column]: len(found)
            for column, found in zip(self.columns.tolist(), self.categories_, strict=True)
            if len(found) > max(MANY_CATEGORIES, n_rows // 2)
        }
        if many:
            size = 8 * n_rows * sum(many.values()) / 1e6
            shown = str(dict(list(many.items())[:SHOWN]))
            if len(many) > SHOWN:
                shown += f" and {len(many) - SHOWN} more"
            warnings.warn(
                f"{n_rows} rows have columns of so many categories: {shown}. For base models that "
                f"need numbers each category is a column of its own, {size:,.1f} MB in all, and "
                "nearly none says anything about another row. Leave names and identifiers out, "
                "convert dates to numbers, and merge rare categories.",
                ManyCategoriesWarning,
                stacklevel=2,
            )

    def _learn_means(self, X: Table, rows: IntArray, weight: FloatArray | None) -> None:
        numbers = np.setdiff1d(np.arange(X.shape[1]), self.columns)
        self.means_: FloatArray = np.zeros(X.shape[1])
        if not len(numbers):
            return
        values = np.asarray(_numbers(X, numbers)[rows], dtype=float)
        missing = np.isnan(values)
        self.filled_ = numbers[missing.any(axis=0)]
        weights = np.where(missing, 0.0, 1.0 if weight is None else weight[rows, np.newaxis])
        totals = weights.sum(axis=0)
        # A column of which nothing is known is 0.
        sums = (weights * np.where(missing, 0.0, values)).sum(axis=0)
        self.means_[numbers] = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0.0)
        self.means_[self.centered] = 0.0

    def transform(self, X: Table, scaled: Table) -> FloatArray:
        """Encode X; numeric columns are taken from ``scaled``."""
        numbers = np.setdiff1d(np.arange(X.shape[1]), self.columns)
        values = _numbers(scaled, numbers) if len(numbers) else np.empty((X.shape[0], 0))
        single = np.asarray(values).dtype == np.float32
        encoded = np.zeros((X.shape[0], len(self.origin_)), np.float32 if single else np.float64)
        # Of two columns, numbers come first, then whether they are missing.
        first = np.searchsorted(self.origin_, numbers)
        encoded[:, first] = values
        if self.fills:
            missing = np.isnan(encoded[:, first])
            encoded[:, first] = np.where(missing, self.means_[numbers], encoded[:, first])
            places = np.searchsorted(self.origin_, self.filled_)
            encoded[:, places + 1] = missing[:, np.searchsorted(numbers, self.filled_)]
        for column, categories in zip(self.columns, self.categories_, strict=True):
            place = {_key(value): k for k, value in enumerate(categories)}
            codes = np.array([place.get(_key(v), -1) for v in _values(X, column)], dtype=np.intp)
            known = np.flatnonzero(codes >= 0)
            begin = int(np.searchsorted(self.origin_, column))
            encoded[known, begin + codes[known]] = 1.0
        return encoded

    def tables(self, X: Table, scaled: Table, n_bases: int) -> list[Table]:
        """What each base model sees of X."""
        serves = [self.serves(base) for base in range(n_bases)]
        encoded = self.transform(X, scaled) if any(serves) else scaled
        return [encoded if served else scaled for served in serves]

    def expand(self, columns: IntArray, base: int = 0) -> IntArray:
        """Columns that a base model sees of some columns of X."""
        return np.flatnonzero(np.isin(self.origin_, columns)) if self.serves(base) else columns

    def serves(self, base: int) -> bool:
        """Whether a base model sees encoded columns."""
        return base not in self.unused_by


def chosen_encoder(
    categorical_features: Any,
    X: Table,
    bases: Sequence[Any],
    names: Sequence[str],
    scaled: IntArray,
    *,
    fills: bool,
) -> ColumnEncoder | None:
    """The encoder that base models need for a table, not fitted; None if they use it as it is.

    ``scaled`` are the columns of numbers that come with mean 0, ``fills`` says whether missing
    numbers are replaced; the others are as in :func:`choose_categorical`.
    """
    columns = choose_categorical(categorical_features, X, bases, names)
    if frame_kind(X) is not None:
        refuse_times(X, columns, bases)
    if not len(columns) and not fills:
        return None
    return ColumnEncoder(
        columns,
        fills=fills,
        centered=np.setdiff1d(scaled, columns),
        unused_by=() if fills else see_labels(categorical_features, X, bases),
    )


def _key(value: Any) -> tuple[str, str]:
    """Type and text of a value, which can be compared and sorted."""
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
            f"Columns {shown} are neither numbers nor categories that are encoded; list them in "
            "categorical_features, or convert them to numbers."
        ) from None

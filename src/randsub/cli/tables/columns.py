"""Whether the columns of a table can be learned from; everything is named that cannot."""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from randsub.cli.tables.kinds import EXACT_FLOATS, TableError

Task = Literal["regression", "classification"]
# Whole numbers with so many different values at most are taken for classes.
MOST_CLASSES = 10
# Share of a text column that must read as numbers for the rest to be called a mistake.
MOSTLY = 0.5
SHOWN = 5


def find_column(path: Path, frame: pd.DataFrame, name: str, flag: str) -> str:
    """The name itself, if the table has such a column."""
    if name in frame.columns:
        return name
    near = difflib.get_close_matches(name, list(frame.columns[:10_000]), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {_listed(list(frame.columns))}"
    raise TableError(path, f"there is no column {name!r} as {flag} asks for; {hint}")


def guess_task(y: pd.Series) -> tuple[Task, str]:
    """Regression or classification, and the reason in words."""
    values = y.dropna()
    n_values = values.nunique()
    if not is_numeric_dtype(y) or is_bool_dtype(y):
        return "classification", f"its values are no numbers: {_listed(_distinct(values))}"
    numbers = values.to_numpy(dtype=float)
    is_whole = bool(np.isfinite(numbers).all() and (np.mod(numbers, 1.0) == 0.0).all())
    if is_whole and n_values <= MOST_CLASSES:
        return "classification", f"it has {n_values} different whole numbers"
    if is_whole:
        return "regression", f"it has {n_values} different whole numbers"
    return "regression", "it has numbers with fractions"


def check_target(path: Path, y: pd.Series, task: Task) -> Any:
    """The target as an array that can be learned from, (n,)."""
    name = y.name
    missing = np.flatnonzero(y.isna())
    if len(missing):
        raise TableError(
            path,
            f"the target {name!r} is missing in {len(missing)} of {len(y)} rows, first in "
            f"{_row(y, missing[0])}; remove them or fill it in",
        )
    if task == "regression":
        values = check_numbers(path, y)
        if len(values) and np.ptp(values) == 0.0:
            raise TableError(
                path,
                f"the target {name!r} is {values[0]:g} in every row; there is nothing to learn",
            )
        return values
    classes = _distinct(y)
    if len(classes) < 2:
        raise TableError(
            path,
            f"the target {name!r} has one class only, {classes[0]!r}, in all {len(y)} rows; at "
            "least two are needed",
        )
    if is_numeric_dtype(y) and not is_bool_dtype(y):
        numbers = check_numbers(path, y)
        fraction = np.flatnonzero(np.mod(numbers, 1.0))
        if len(fraction):
            raise TableError(
                path,
                f"the target {name!r} has numbers with fractions, as {numbers[fraction[0]]:g}, "
                "which are no classes; use --task regression",
            )
        if is_integer_dtype(y):
            # Not by way of floats, in which labels beyond 2^53 are the same.
            return y.to_numpy(dtype=np.uint64 if numbers.max() >= 2.0**63 else np.int64)
        if np.abs(numbers).max() > EXACT_FLOATS:
            raise TableError(
                path,
                f"the target {name!r} has {numbers[np.abs(numbers).argmax()]:g} among its classes, "
                "stored as a number with fractions, which cannot tell such large ones apart; write "
                "labels as text or as whole numbers",
            )
        return numbers.astype(np.int64)
    if not is_bool_dtype(y) and len(y) > MOST_CLASSES and len(classes) == len(y):
        raise TableError(
            path,
            f"the target {name!r} has another text in each row, as {str(y.iloc[0])!r}, where "
            "numbers or classes are needed",
        )
    return y.astype(bool).to_numpy() if is_bool_dtype(y) else y.astype(str).to_numpy(dtype=str)


def check_numbers(path: Path, column: pd.Series) -> Any:
    """A column as finite numbers, (n,); the first entry that is none is named."""
    values = _as_numbers(path, column)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        what = "no value" if np.isnan(values[bad[0]]) else f"{values[bad[0]]:g}"
        raise TableError(
            path,
            f"column {column.name!r} should hold finite numbers, but has {what} in "
            f"{_row(column, bad[0])}",
        )
    return values


def check_weights(path: Path, column: pd.Series) -> Any:
    """A column of sample weights, (n,)."""
    weight = check_numbers(path, column)
    if (weight < 0.0).any() or not weight.any():
        raise TableError(
            path,
            f"the weights in column {column.name!r} should not be negative nor all 0; they go from "
            f"{weight.min():g} to {weight.max():g}",
        )
    return weight


def as_numbers(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """All columns as floats; missing values stay, and an entry that is no number is named."""
    text = [name for name, dtype in frame.dtypes.items() if not is_numeric_dtype(dtype)]
    if text:
        frame = frame.assign(**{str(name): _as_numbers(path, frame[name]) for name in text})
    values = frame.to_numpy(dtype=float, na_value=np.nan)
    return pd.DataFrame(values, index=frame.index, columns=frame.columns)


def _as_numbers(path: Path, column: pd.Series) -> Any:
    if not is_numeric_dtype(column):
        numbers = pd.to_numeric(column.astype(object), errors="coerce")
        bad = np.flatnonzero(numbers.isna() & column.notna())
        if len(bad):
            raise TableError(
                path,
                f"column {column.name!r} should hold numbers, but has {str(column.iloc[bad[0]])!r} "
                f"in {_row(column, bad[0])}",
            )
        column = numbers
    return column.to_numpy(dtype=float, na_value=np.nan)


@dataclass(frozen=True)
class FeatureRules:
    """What features may be.

    Parameters
    ----------
    categorical : collection of str
        Columns that the user calls categories: whatever is in them is right.
    takes_missing : bool
        Whether the base model can be trained on missing values.
    base : str
        What to call the base model in messages.
    """

    categorical: Collection[str]
    takes_missing: bool
    base: str


def check_features(path: Path, X: pd.DataFrame, rules: FeatureRules) -> pd.DataFrame:
    """Features as numbers and, where they are none, as categories.

    Parameters
    ----------
    path : Path
        The file, for messages.
    X : DataFrame of shape (n, M)
    rules : FeatureRules

    Returns
    -------
    X : DataFrame of shape (n, M)
        With columns of floats, and columns of text for categories. What cannot be learned from
        raises an error.
    """
    texts = [
        str(name)
        for name, dtype in X.dtypes.items()
        if name in rules.categorical or not (is_numeric_dtype(dtype) or _reads(path, X[name]))
    ]
    numbers = as_numbers(path, X.drop(columns=texts) if texts else X)
    values = numbers.to_numpy()
    is_missing = np.isnan(values)
    _check_not_empty(path, [name for name in texts if X[name].isna().all()])
    _check_not_empty(path, list(numbers.columns[is_missing.all(axis=0)]))
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        row, column = infinite[0]
        raise TableError(
            path,
            f"column {numbers.columns[column]!r} has {values[row, column]:g} in {_row(X, row)}; "
            "replace what is not finite",
        )
    # Missing categories are categories of their own.
    gaps = list(numbers.columns[is_missing.any(axis=0)])
    if gaps and not rules.takes_missing:
        first = np.flatnonzero(numbers[gaps[0]].isna())[0]
        raise TableError(
            path,
            f"{_columns(gaps)} missing values (first in {_row(X, first)}), which the base model "
            f"{rules.base} does not take; fill them in, leave {_them(gaps)} out with --drop "
            f"{_flag(gaps)}, or use --base tree",
        )
    return with_categories(numbers, X, texts)


def _check_not_empty(path: Path, empty: Sequence[str]) -> None:
    if empty:
        raise TableError(
            path,
            f"{_columns(empty)} no value in any row; leave {_them(empty)} out with --drop "
            f"{_flag(empty)}",
        )


def with_categories(numbers: pd.DataFrame, X: pd.DataFrame, texts: Sequence[str]) -> pd.DataFrame:
    """Columns of numbers and, as text, the others of X, in the order of X."""
    if not texts:
        return numbers
    # Without a value, not the text "nan".
    columns = {
        name: X[name].astype(object).where(X[name].isna(), X[name].astype(str)) for name in texts
    }
    joined = pd.concat([numbers, pd.DataFrame(columns, index=X.index)], axis=1)
    return joined[list(X.columns)]


def _reads(path: Path, column: pd.Series) -> bool:
    """Whether text reads as numbers; raise where it is neither that nor categories."""
    values = column.dropna()
    if is_bool_dtype(column):
        return True
    if not len(values):
        return True
    is_number = pd.to_numeric(values.astype(str), errors="coerce").notna().to_numpy()
    name = column.name
    if is_number.all():
        return True
    if is_number.mean() >= MOSTLY:
        at = np.flatnonzero(column.notna())[np.flatnonzero(~is_number)[0]]
        raise TableError(
            path,
            f"column {name!r} holds numbers, but has {str(column.iloc[at])!r} in "
            f"{_row(column, at)}; correct it, or say that these are categories with "
            f"--categorical {name}",
        )
    if len(values) > MOST_CLASSES and values.nunique() == len(values):
        raise TableError(
            path,
            f"column {name!r} has another text in each row, as {str(values.iloc[0])!r}, where "
            f"numbers or categories are needed; leave it out with --drop {name}",
        )
    return False


def _row(table: Any, position: int) -> str:
    """A row in words: by its name where it has one, else by number."""
    label = table.index[position]
    named = not isinstance(table.index, pd.RangeIndex)
    return f"row {label!r}" if named else f"row {int(position) + 1}"


def _distinct(values: pd.Series) -> list[Any]:
    # As they come: labels of several types cannot be sorted.
    return list(values.unique().tolist())


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown}, ... ({len(names) - SHOWN} more)"


def _columns(names: Sequence[str]) -> str:
    return f"column {names[0]!r} has" if len(names) == 1 else f"the columns {_listed(names)} have"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _flag(names: Sequence[str]) -> str:
    return " ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")


def same_labels(path: Path, y: pd.Series, classes: Any) -> Any:
    """Labels of a table as a model has them: numbers as numbers, text as text.

    Parameters
    ----------
    path : Path
        The file, for messages.
    y : Series of shape (n,)
    classes : ndarray
        Labels that the model knows, for their type; others may be in y.
    """
    if classes.dtype.kind not in "iufb":
        return y.astype(str).to_numpy(dtype=str)
    labels = check_numbers(path, y)
    if is_integer_dtype(y):
        labels = y.to_numpy(dtype=np.uint64 if labels.max() >= 2.0**63 else np.int64)
    with np.errstate(invalid="ignore", over="ignore"):
        cast = labels.astype(classes.dtype)
    other = np.flatnonzero(cast != labels)
    if len(other):
        raise TableError(
            path,
            f"the target {y.name!r} has {labels[other[0]]:g} in {_row(y, other[0])}, which is no "
            f"class of the kind that was learned, as {classes[0]}",
        )
    return cast

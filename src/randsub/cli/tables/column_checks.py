"""Checks that a model can be trained on the columns of a table; errors name the column and row."""

import difflib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from randsub.cli.tables.file_formats import TableError, listed
from randsub.cli.tables.near_numbers import MAX_CLASSES, find_oddity, remedy_for

Task = Literal["regression", "classification"]
# Floats tell integers apart up to this one.
EXACT_FLOATS: Final = 2**53


def find_column(path: Path, frame: pd.DataFrame, name: str, source: str) -> str:
    """The name itself, if the table has such a column; `source` is what asks for it."""
    if name in frame.columns:
        return name
    hint = names_a_row(frame, name)
    if not hint:
        near = difflib.get_close_matches(name, list(frame.columns[:10_000]), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {listed(list(frame.columns))}"
    raise TableError(path, f"there is no column {name!r}, which {source} asks for; {hint}")


def names_a_row(frame: pd.DataFrame, name: str) -> str:
    """A hint, if a name that should be a column is that of a row; else empty."""
    has_names = not isinstance(frame.index, pd.RangeIndex)
    rows = frame.index if has_names else frame[frame.columns[0]]
    if not (rows.astype(str) == name).any():
        return ""
    return f"transposed? {name!r} is the name of a row; add or remove --transpose"


def guess_task(path: Path, y: pd.Series) -> tuple[Task, str]:
    """Regression or classification, and the reason in words."""
    values = y.dropna()
    odd = find_oddity(y, may_be_classes=True) if _is_text(y) else None
    if odd is not None:
        raise TableError(
            path,
            f"the target {y.name!r} holds numbers, but has {odd.value!r} in "
            f"{_row(y, odd.position)}; {odd.remedy}, or use --task classification if these are "
            "classes",
        )
    if is_bool_dtype(y) or not _is_numbers(values):
        return "classification", f"its values are not numbers: {listed(_distinct(values))}"
    numbers = pd.to_numeric(values).to_numpy(dtype=float)
    if not np.isfinite(numbers).all() or np.mod(numbers, 1.0).any():
        return "regression", "it has numbers with fractions"
    n_values = values.nunique()
    task: Task = "classification" if n_values <= MAX_CLASSES else "regression"
    return task, f"it has {n_values} distinct integers"


def check_target(path: Path, y: pd.Series, task: Task) -> Any:
    """The target as an array of shape (n,) that a model can be trained on."""
    name = y.name
    missing = np.flatnonzero(y.isna())
    if len(missing):
        raise TableError(
            path,
            f"the target {name!r} is missing in {len(missing)} of {len(y)} rows, first in "
            f"{_row(y, missing[0])}; remove these rows or fill in the values",
        )
    if task == "regression":
        values = check_numbers(path, y)
        if len(values) and np.ptp(values) == 0.0:
            raise TableError(
                path, f"the target {name!r} is {values[0]:g} in every row; nothing can be learned"
            )
        return values
    classes = _distinct(y)
    if len(classes) < 2:
        raise TableError(
            path,
            f"the target {name!r} has only one class, {classes[0]!r}, in all {len(y)} rows; at "
            "least two are needed",
        )
    if is_bool_dtype(y):
        return y.to_numpy(dtype=bool)
    if _is_text(y):
        if len(y) > MAX_CLASSES and len(classes) == len(y):
            raise TableError(
                path,
                f"the target {name!r} has a different text in each row, such as "
                f"{str(y.iloc[0])!r}; numbers or classes are needed",
            )
        return y.astype(str).to_numpy(dtype=str)
    return _integer_labels(path, y)


def _integer_labels(path: Path, y: pd.Series) -> Any:
    numbers = check_numbers(path, y)
    fraction = np.flatnonzero(np.mod(numbers, 1.0))
    if len(fraction):
        raise TableError(
            path,
            f"the target {y.name!r} has numbers with fractions, such as {numbers[fraction[0]]:g}, "
            "which are not classes; use --task regression",
        )
    if not is_integer_dtype(y) and np.abs(numbers).max() > EXACT_FLOATS:
        raise TableError(
            path,
            f"the target {y.name!r} has the class {numbers[np.abs(numbers).argmax()]:g}, stored as "
            "a float, which cannot represent such large integers exactly; write the classes as "
            "text or integers",
        )
    return _as_integers(y, numbers)


def _as_integers(y: pd.Series, numbers: Any) -> Any:
    # Not by way of floats, in which integers beyond 2^53 are not distinct.
    whole = y if is_integer_dtype(y) else numbers
    return np.asarray(whole, dtype=np.uint64 if numbers.max() >= 2.0**63 else np.int64)


def check_numbers(path: Path, column: pd.Series) -> Any:
    """A column as finite numbers, (n,)."""
    values = _to_floats(path, column)
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
            f"the weights in column {column.name!r} should not be negative nor all 0; they range "
            f"from {weight.min():g} to {weight.max():g}",
        )
    return weight


def as_numbers(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """All columns as floats, with NaN for missing values."""
    text = [name for name, dtype in frame.dtypes.items() if not is_numeric_dtype(dtype)]
    frame = frame.assign(**{str(name): _to_floats(path, frame[name]) for name in text})
    values = frame.to_numpy(dtype=float, na_value=np.nan)
    return pd.DataFrame(values, index=frame.index, columns=frame.columns)


def _to_floats(path: Path, column: pd.Series) -> Any:
    if _is_text(column):
        numbers = pd.to_numeric(column.astype(object), errors="coerce")
        bad = np.flatnonzero(numbers.isna() & column.notna())
        if len(bad):
            value = str(column.iloc[bad[0]])
            remedy = remedy_for(value)
            raise TableError(
                path,
                f"column {column.name!r} should hold numbers, but has {value!r} in "
                f"{_row(column, bad[0])}{remedy and f'; {remedy}'}",
            )
        column = numbers
    return column.to_numpy(dtype=float, na_value=np.nan)


def check_features(
    path: Path, X: pd.DataFrame, categorical: Collection[str], refusing: Sequence[str]
) -> pd.DataFrame:
    """Features as columns of floats and, for categories, of text.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    X : DataFrame of shape (n, M)
    categorical : collection of str
        Columns that are categories, whatever they hold.
    refusing : sequence of str
        Names of the base models that cannot be trained on missing values.
    """
    texts = [
        str(name)
        for name, dtype in X.dtypes.items()
        if name in categorical or not (is_numeric_dtype(dtype) or _reads_as_numbers(path, X[name]))
    ]
    numbers = as_numbers(path, X.drop(columns=texts))
    values = numbers.to_numpy()
    empty = list(X.columns[X.isna().all()])
    if empty:
        raise TableError(path, f"{_have(empty)} no value in any row; {_drop(empty)}")
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        row, column = infinite[0]
        raise TableError(
            path,
            f"column {numbers.columns[column]!r} has {values[row, column]:g} in {_row(X, row)}; "
            "replace values that are not finite",
        )
    # Missing categories are a category of their own.
    gaps = list(numbers.columns[np.isnan(values).any(axis=0)])
    if gaps and refusing:
        first = np.flatnonzero(numbers[gaps[0]].isna())[0]
        raise TableError(
            path,
            f"{_have(gaps)} missing values (first in {_row(X, first)}), which "
            f"{_refuse(refusing)} not support; fill them in, {_drop(gaps)}, or use --base tree or "
            "--base auto",
        )
    return with_categories(numbers, X, texts)


def with_categories(numbers: pd.DataFrame, X: pd.DataFrame, texts: Sequence[str]) -> pd.DataFrame:
    """Columns of numbers and, as text, the others of X, in the order of X."""
    if not texts:
        return numbers
    # Missing values stay missing instead of becoming the text "nan".
    columns = {
        name: X[name].astype(object).where(X[name].isna(), X[name].astype(str)) for name in texts
    }
    joined = pd.concat([numbers, pd.DataFrame(columns, index=X.index)], axis=1)
    return joined[list(X.columns)]


def _reads_as_numbers(path: Path, column: pd.Series) -> bool:
    """Whether text is numbers; False for categories, an error for anything else."""
    odd = find_oddity(column)
    if odd is not None:
        raise TableError(
            path,
            f"column {column.name!r} holds numbers, but has {odd.value!r} in "
            f"{_row(column, odd.position)}; {odd.remedy}, or treat the column as categories with "
            f"--categorical {column.name}",
        )
    return _is_numbers(column.dropna())


def same_labels(path: Path, y: pd.Series, classes: Any) -> Any:
    """Labels of a table in the type of the classes of a model.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    y : Series of shape (n,)
        It may hold labels that are not among the classes.
    classes : ndarray
    """
    if classes.dtype.kind not in "iufb":
        return y.astype(str).to_numpy(dtype=str)
    labels = check_numbers(path, y)
    if is_integer_dtype(y):
        labels = _as_integers(y, labels)
    with np.errstate(invalid="ignore", over="ignore"):
        cast = labels.astype(classes.dtype)
    other = np.flatnonzero(cast != labels)
    if len(other):
        raise TableError(
            path,
            f"the target {y.name!r} has {labels[other[0]]:g} in {_row(y, other[0])}, which is not "
            f"a class like those of the model, such as {classes[0]}",
        )
    return cast


def _is_numbers(values: pd.Series) -> bool:
    """Whether these are numbers, or text that spells numbers."""
    if is_numeric_dtype(values):
        return True
    return bool(pd.to_numeric(values.astype(str), errors="coerce").notna().all())


def _is_text(column: pd.Series) -> bool:
    return not is_numeric_dtype(column)


def _row(table: Any, position: int) -> str:
    """A row in words: by its name if it has one, else by number."""
    if isinstance(table.index, pd.RangeIndex):
        return f"row {int(position) + 1}"
    return f"row {table.index[position]!r}"


def _distinct(values: pd.Series) -> list[Any]:
    # In order of appearance: labels of several types cannot be sorted.
    return list(values.unique().tolist())


def _refuse(names: Sequence[str]) -> str:
    several = len(names) > 1
    return f"the base model{'s' * several} {', '.join(names)} do{'' if several else 'es'}"


def _have(names: Sequence[str]) -> str:
    return f"column {names[0]!r} has" if len(names) == 1 else f"the columns {listed(names)} have"


def _drop(names: Sequence[str]) -> str:
    more = " ..." if len(names) > 5 else ""
    return f"ignore {'it' if len(names) == 1 else 'them'} with --drop {' '.join(names[:5])}{more}"

"""Columns that number or name the rows, and are not features.

Left out are, if a table has more than `MAX_CLASSES` rows,

* integers in constant steps from row to row, such as row numbers, unless the name is that of a
  time, such as year or day;
* integers that differ from row to row, if the name is that of an identifier, such as id or index;
* text that differs from row to row.

A column of numbers with fractions is always a feature, also in constant steps (a time, or the steps
of an experiment). So are integers that differ from row to row (counts, ranks) under other names.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from randsub.cli.console import printable
from randsub.cli.tables.file_formats import listed
from randsub.cli.tables.near_numbers import MAX_CLASSES, find_oddity

_IDENTIFIER: Final = re.compile(
    r"(?i:ids?|idx|index|row|row[ _.-]?(?:id|nr|num|number)|nr|key|uuid|guid|unnamed: ?\d+"
    r"|.*[ _.-]ids?|ids?[ _.-].*)|.*[a-z]I[dD]"
)
_TIME: Final = re.compile(
    r"(?i)(?:.*[ _.-])?(?:t|time|timestamp|date|year|quarter|month|week|day|hour|minute|second)s?"
    r"(?:[ _.-].*)?"
)

_CONSTANT_STEPS: Final = "integers in constant steps: {}"


@dataclass(frozen=True)
class RowLabels:
    """What was found in a table.

    Parameters
    ----------
    row_names : str
        The first names of the rows, if they have names.
    left_out : dict
        Reason, in words, by name of the column.
    times : list of str
        Columns that count the rows, but by their names are times, and stay features.
    """

    row_names: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    times: list[str] = field(default_factory=list)

    def told(self, path: Path) -> list[str]:
        """What to tell the user, in sentences."""
        lines = []
        if self.row_names:
            lines.append(f"{path}: the rows have names ({self.row_names}), which are not features.")
        if self.left_out:
            parts = [f"{name!r} ({reason})" for name, reason in self.left_out.items()]
            more = f" and {len(parts) - 5} more" if len(parts) > 5 else ""
            lines.append(
                f"{path}: left out {', '.join(parts[:5])}{more}; to use a column as a feature, "
                "name it with --keep."
            )
        if self.times:
            lines.append(
                f"{path}: {listed(self.times)} numbers the rows in constant steps and is kept as a "
                "time; ignore it with --drop if it is not a feature."
            )
        return lines


def find_row_labels(X: pd.DataFrame, keep: Collection[str] = ()) -> RowLabels:
    """Columns that are not features, except for those in `keep`."""
    has_names = not isinstance(X.index, pd.RangeIndex)
    found = RowLabels(_shown(X.index) if has_names else "")
    if len(X) <= MAX_CLASSES:
        return found
    for name in _candidates(X):
        column = X[name]
        if name in keep or column.isna().any():
            continue
        reason = _reason(column)
        if reason == _CONSTANT_STEPS and _TIME.fullmatch(str(name)):
            found.times.append(str(name))
        elif reason:
            found.left_out[str(name)] = reason.format(_shown(column))
    return found


def _candidates(X: pd.DataFrame) -> list[str]:
    """Columns that may be labels by their first rows; wide tables are not looked at in full."""
    is_number = np.array([is_numeric_dtype(dtype) for dtype in X.dtypes])
    head = X.loc[:, is_number].head(3).to_numpy(dtype=float, na_value=np.nan)
    # Of infinite numbers, there are no differences.
    with np.errstate(invalid="ignore"):
        steps = np.diff(head, axis=0)
        is_whole = (np.mod(head, 1.0) == 0.0).all(axis=0)
    names = X.columns[is_number]
    is_named = np.array([bool(_IDENTIFIER.fullmatch(str(name))) for name in names], dtype=bool)
    may_be = ~is_number
    may_be[is_number] = is_whole & ((steps[0] == steps[1]) & (steps[0] != 0.0) | is_named)
    return [str(name) for name in X.columns[may_be]]


def _reason(column: pd.Series) -> str:
    """Why a column without missing values is not a feature; empty if it is one."""
    values = _integers(column)
    if values is not None:
        steps = np.diff(values)
        if steps[0] != 0 and (steps == steps[0]).all():
            return _CONSTANT_STEPS
        if _IDENTIFIER.fullmatch(str(column.name)) and column.is_unique:
            return "a different value in each row: {}"
    elif not is_numeric_dtype(column) and column.is_unique and find_oddity(column) is None:
        numbers = pd.to_numeric(column.astype(str), errors="coerce")
        return "a different value in each row: {}" if numbers.isna().any() else ""
    return ""


def _shown(values: Any) -> str:
    """The first three values."""
    return ", ".join(printable(value)[:30] for value in values[:3]) + ", ..."


def _integers(column: pd.Series) -> Any:
    """The values as integers, or None if they are not."""
    if is_bool_dtype(column):
        return None
    if not is_numeric_dtype(column):
        numbers = pd.to_numeric(column.astype(str), errors="coerce")
        if numbers.isna().any():
            return None
        column = numbers
    values = np.asarray(column if is_integer_dtype(column) else column.to_numpy(dtype=float))
    if values.dtype.kind in "iu":
        return values
    whole = np.isfinite(values).all() and not np.mod(values, 1.0).any()
    return values if whole else None


def rows_look_like_features(path: Path, frame: pd.DataFrame) -> list[str]:
    """What to tell, if rows have names and outnumber the columns, as those of genes often do."""
    has_names = not isinstance(frame.index, pd.RangeIndex)
    names = frame.index if has_names else frame[frame.columns[0]]
    n_columns = frame.shape[1] - (not has_names)
    if is_numeric_dtype(names) or not names.is_unique or len(names) <= n_columns:
        return []
    return [
        f"{path}: transposed? It has {len(names)} rows with names, such as "
        f"{str(names.tolist()[0])!r}, and {n_columns} columns of values. If genes are in rows, use "
        "--transpose."
    ]

"""Text that would be numbers, but for commas, thousands separators or units."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype, is_numeric_dtype

# A text column with more distinct values than this is not taken for classes or categories if it is
# nearly numbers; and an integer target with at most as many is taken for classes.
MAX_CLASSES: Final = 10
# If at least this fraction of a text column are numbers, the others are taken for mistakes.
MOSTLY_NUMBERS: Final = 0.5
# If at least this fraction is numbers, that is more than a coincidence.
NEARLY_ALL: Final = 0.9

_WHOLE: Final = re.compile(r"[+-]?\d+")
_COMMA: Final = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
# Of these, one with a single comma may be a number with three decimals as well.
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2}(?:[., '\u2019\u00a0\u202f]\d{3})+(?:[.,]\d+)?")
_WITH_UNIT: Final = re.compile(
    r"(?P<currency>[$\u20ac\u00a3\u00a5]?)\s*[+-]?\d[\d.,]*\s*"
    r"(?P<unit>(?:[^\W\d_]|[%\u2030\u00b0/^ ]){0,10})"
)
_ASK: Final = "use --decimal , if the comma is a decimal mark"


class Oddity(NamedTuple):
    """A value among numbers that is not a number.

    Parameters
    ----------
    position : int
        Its row.
    value : str
    remedy : str
        What to do about it, as a clause.
    """

    position: int
    value: str
    remedy: str


def find_oddity(column: pd.Series, *, may_be_classes: bool = False) -> Oddity | None:
    """The first value that is not a number in a text column that holds numbers, or nearly does.

    Parameters
    ----------
    column : Series
    may_be_classes : bool, default=False
        Whether up to `MAX_CLASSES` distinct values may be classes, if they are not nearly all
        numbers.
    """
    values = column.dropna().astype(str).str.strip()
    is_number = _are_numbers(values)
    if not len(values) or is_number.all():
        return None
    if is_number.mean() < (NEARLY_ALL if may_be_classes else MOSTLY_NUMBERS):
        # Looked at only now, because it takes longer.
        kinds = [_kind(value) for value in values[~is_number]]
        n_near = is_number.sum() + sum(map(bool, kinds))
        if n_near < MOSTLY_NUMBERS * len(values) or values.nunique() <= MAX_CLASSES:
            return None
        if not _is_one_kind(kinds):
            return None
    at = int(np.flatnonzero(~is_number)[0])
    position = int(np.flatnonzero(column.notna())[at])
    return Oddity(position, str(column.iloc[position]), remedy_for(values.iloc[at]) or "correct it")


def remedy_for(value: str) -> str:
    """What to do about a text that would be a number, as a clause; empty for any other text."""
    kind = _kind(value.strip())
    if kind == "comma":
        return _ASK
    if kind == "ambiguous":
        return f"{_ASK}, or remove the thousands separators"
    if kind == "thousands":
        return "remove the thousands separators"
    return f"remove {kind!r} from its values" if kind else ""


def _kind(value: str) -> str:
    """What keeps a text from being a number: "comma", "thousands", or its unit; else empty."""
    if _THOUSANDS.fullmatch(value):
        return "ambiguous" if _COMMA.fullmatch(value) else "thousands"
    if _COMMA.fullmatch(value):
        return "comma"
    form = _WITH_UNIT.fullmatch(value)
    return (form["currency"] or form["unit"].strip()) if form else ""


def _is_one_kind(kinds: Iterable[str]) -> bool:
    """Whether what keeps values from being numbers is nearly always the same."""
    marks = {"ambiguous": "comma", "thousands": "comma"}
    counts = Counter(marks.get(kind, kind) for kind in kinds if kind)
    return max(counts.values(), default=0) >= NEARLY_ALL * counts.total()


def _are_numbers(values: pd.Series) -> Any:
    return pd.to_numeric(values, errors="coerce").notna().to_numpy()


def has_decimal_commas(frame: pd.DataFrame) -> tuple[str, str] | None:
    """A column and one of its values that show that the decimal mark of a table is the comma.

    Some columns of text are nearly all numbers with a comma, not all of them of the form 1,234,
    which may be a thousands separator, and no column has numbers with a decimal point.
    """
    texts = (column for _, column in frame.items() if not is_numeric_dtype(column))
    shown = next(((str(c.name), value) for c in texts if (value := _clear_comma(c))), None)
    if shown is None:
        return None
    floats = (column for _, column in frame.items() if is_float_dtype(column))
    fractions = (column[np.isfinite(column) & (np.mod(column, 1.0) != 0.0)] for column in floats)
    # Not every fraction has a point: 1e-06.
    has_points = any("." in repr(value) for column in fractions for value in column.tolist())
    return None if has_points else shown


def has_fractions(words: Sequence[str]) -> bool:
    """Whether all of these are numbers, and some of them not integers."""
    try:
        numbers = [float(word.replace(",", ".")) for word in words]
    except ValueError:
        return False
    return not all(number.is_integer() for number in numbers)


def _clear_comma(column: pd.Series) -> str:
    """A value with a decimal comma, if nearly all of a text column are such numbers."""
    values = [str(value).strip() for value in column.dropna()]
    commas = [value for value in values if _COMMA.fullmatch(value)]
    n_numbers = len(commas) + sum(bool(_WHOLE.fullmatch(value)) for value in values)
    if not commas or n_numbers < NEARLY_ALL * len(values):
        return ""
    return next((value for value in commas if not _THOUSANDS.fullmatch(value)), "")


def with_points(frame: pd.DataFrame) -> pd.DataFrame:
    """Decimal commas as points in columns that stayed text because of some of their values."""
    changed = {}
    for name, column in frame.items():
        if not is_numeric_dtype(column) and column.notna().any():
            is_comma = np.array([bool(_COMMA.fullmatch(str(value).strip())) for value in column])
            if is_comma.sum() >= MOSTLY_NUMBERS * column.notna().sum():
                points = column.astype(str).str.replace(",", ".")
                changed[name] = column.where(~is_comma, points)
    return frame.assign(**{str(name): column for name, column in changed.items()})

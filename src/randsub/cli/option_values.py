"""How the values of options are read: functions for argparse's ``type``."""

import argparse
import ast
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

PENALTY_FORMS: Final = (
    "size=LAM, fused=LAM (consecutive columns) or fused=LAM@HEIGHTxWIDTH (pixels of an image)"
)


def number_from(
    kind: type[int] | type[float], low: float, high: float = math.inf, *, inclusive: bool = True
) -> Callable[[str], Any]:
    """A reader of numbers of at least `low` and at most `high`, or strictly between them."""
    what = "an integer" if kind is int else "a number"
    what += f" of at least {low:g}" if high == math.inf else f" between {low:g} and {high:g}"
    what += "" if inclusive else " (exclusive)"

    def read(text: str) -> Any:
        try:
            value: float = kind(text)
        except ValueError:
            value = math.nan
        inside = low <= value <= high if inclusive else low < value < high
        if not inside or value == math.inf:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return value

    return read


def seconds(text: str) -> float:
    """A duration such as 90, 90s, 15m or 2h, in seconds."""
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:].lower())
    try:
        value = float(text if unit is None else text[:-1]) * (unit or 1.0)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration; write 90s, 15m or 2h")
    return value


def sample_number(text: str) -> float:
    """A number of samples, or a fraction of them."""
    with suppress(ValueError):
        value = float(text)
        if value >= 2 and value.is_integer():
            return int(value)
        if 0.0 < value < 1.0:
            return value
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither an integer of at least 2 nor a fraction between 0 and 1"
    )


def assignment(text: str) -> tuple[str, Any]:
    """NAME=VALUE, with a Python literal as the value (3, 0.5, None, [1, 2]) or else a string."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, {"true": True, "false": False, "none": None}.get(value.lower(), value)


def decimal_mark(text: str) -> str:
    """A point or a comma."""
    if text not in (".", ","):
        raise argparse.ArgumentTypeError(f"{text!r} is not a decimal mark; write . or ,")
    return text


def coupling(text: str) -> Any:
    """The coefficient of a network's coupling penalty, or ``path``."""
    return text if text == "path" else number_from(float, 0)(text)


def repeats(text: str) -> Any:
    """A number of repeats, or ``auto``."""
    if text == "auto":
        return text
    try:
        return number_from(int, 1)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor 'auto'") from None


class PenaltyOption(NamedTuple):
    """A penalty before the number of columns is known: its name, coefficient and image shape."""

    name: str
    lam: float
    grid: tuple[int, int] | None


def penalty(text: str) -> PenaltyOption:
    """``size=0.01``, ``fused=0.001`` or ``fused=0.001@28x28``."""
    form = re.fullmatch(r"size=([^@]+)|fused=([^@]+)(?:@([1-9]\d*)x([1-9]\d*))?", text.lower())
    with suppress(ValueError):
        if form is not None and 0.0 <= (lam := float(form[1] or form[2])) < math.inf:
            grid = (int(form[3]), int(form[4])) if form[3] else None
            return PenaltyOption("size" if form[1] else "fused", lam, grid)
    raise argparse.ArgumentTypeError(f"{text!r} is not a penalty; write {PENALTY_FORMS}")


def make_penalty(options: Sequence[PenaltyOption], n_columns: int) -> Any:
    """The sum of the penalties on alpha; `n_columns` is the number of columns or groups."""
    from randsub.penalties import ExpectedSize, FusedLasso

    for _, _, grid in options:
        if grid and grid[0] * grid[1] != n_columns:
            raise ValueError(
                f"--penalty fused=...@{grid[0]}x{grid[1]} needs {grid[0] * grid[1]} columns, but "
                f"there are {n_columns} features or groups."
            )
    return sum(
        ExpectedSize(lam) if name == "size" else FusedLasso.grid(lam, *(grid or (1, n_columns)))
        for name, lam, grid in options
    )

"""Check of the numbers that a user passes to a loss, an optimiser or a callback."""

import math
from numbers import Real
from typing import Any


def check_number(
    owner: Any,
    name: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
) -> None:
    """Raise a ValueError unless an attribute of ``owner`` is a finite number in a range.

    The range is [low, high), or (low, high) with ``open_low``.
    """
    value = getattr(owner, name)
    if isinstance(value, Real):
        number = float(value)
        above = number > low if open_low else number >= low
        if math.isfinite(number) and above and number < high:
            return
    wanted = f"{name} {'>' if open_low else '>='} {low:g}" if math.isfinite(low) else name
    if math.isfinite(high):
        wanted = f"{low:g} {'<' if open_low else '<='} {name} < {high:g}"
    raise ValueError(f"{type(owner).__name__} needs a finite {wanted}, got {value!r}.")

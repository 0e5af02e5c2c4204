"""Numbers, durations and lists as text."""

from collections.abc import Iterable, Sequence
from math import isfinite

MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 3) -> str:
    """A number with some significant digits; integer parts are never rounded.

    Examples
    --------
    >>> number(0.90431), number(35600.0), number(-0.0213), number(float("nan"))
    ('0.904', '35,600', '-0.0213', 'not defined')
    """
    if not isfinite(value):
        return "not defined"
    if abs(value) >= 10 ** (digits - 1) or value == int(value):
        return f"{value:,.0f}"
    if 0.0 < abs(value) < 1e-4:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{digits}g}"


def score(value: float) -> str:
    """A score with three decimals and a typographic minus.

    Examples
    --------
    >>> score(0.9), score(-0.0004), score(-1.25)
    ('0.900', '0.000', '−1.250')
    """
    if not isfinite(value):
        return "not defined"
    written = f"{value:.3f}"
    return written.replace("-0.000", "0.000").replace("-", MINUS)


def signed(value: float) -> str:
    """A difference of scores with its sign.

    Examples
    --------
    >>> signed(0.0213), signed(-0.2), signed(0.0)
    ('+0.021', '−0.200', '0.000')
    """
    written = score(value)
    return f"+{written}" if value > 0.0 and written not in ("0.000", "not defined") else written


def seconds(value: float) -> str:
    """A duration.

    Examples
    --------
    >>> seconds(0.034), seconds(3.21), seconds(75.0), seconds(7300.0)
    ('0.03 s', '3.2 s', '1 min 15 s', '2 h 1 min')
    """
    if value < 10.0:
        return f"{value:.1f} s" if value >= 0.1 else f"{value:.2f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def listed(words: Sequence[str], most: int = 5) -> str:
    """An enumeration of words; beyond the first few, only their number.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b", "c"], most=1), listed([])
    ('a', 'a, b and c', 'a and 2 more', 'none')
    """
    shown = list(words[:most])
    if len(words) > most:
        shown.append(f"{len(words) - most:,} more")
    *first, last = shown or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def rounded(values: Iterable[float], digits: int = 7) -> list[float | None]:
    """Numbers for JSON: with some significant digits, None where they are not finite.

    Examples
    --------
    >>> rounded([1 / 3, float("nan")], 3)
    [0.333, None]
    """
    return [float(f"{value:.{digits}g}") if isfinite(value) else None for value in values]

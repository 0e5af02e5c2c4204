"""Tables: numbers for machines (csv), the same in words for readers (markdown, terminal)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

Column = Callable[[Any], str]


def rows_of(frame: pd.DataFrame) -> Iterator[Any]:
    """The rows as named tuples."""
    return frame.itertuples(index=False)


@dataclass(frozen=True, eq=False)
class Table:
    """A table of results.

    Parameters
    ----------
    name : str
        Name of its files. Those that begin with "time" depend on the machine.
    title : str
        One line above it.
    frame : DataFrame
        The numbers, as they go into the csv file.
    columns : mapping of str to callable
        What readers see: heading, and a function from a row (a named tuple) to its text.
    note : str, default=""
        What readers need to know.
    """

    name: str
    title: str
    frame: pd.DataFrame
    columns: Mapping[str, Column]
    note: str = ""

    def cells(self) -> list[list[str]]:
        """Headings and rows as text."""
        rows = rows_of(self.frame)
        body = [[show(row) for show in self.columns.values()] for row in rows]
        return [list(self.columns), *body]

    def csv(self) -> str:
        """All numbers in full."""
        return str(self.frame.to_csv(index=False, lineterminator="\n"))

    def markdown(self) -> str:
        """For a page."""
        head, *body = self.cells()
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body)]
        note = ["", self.note] if self.note else []
        return "\n".join([f"**{self.title}**", "", *lines, *note]) + "\n"

    def text(self) -> str:
        """For a terminal: words to the left, numbers to the right."""
        rows = self.cells()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        numeric = [
            any(map(_is_number, column)) and all(map(_is_number_or_empty, column))
            for column in zip(*rows[1:], strict=True)
        ] or [False] * len(widths)
        lines = [
            "  ".join(
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(row, widths, numeric, strict=True)
            ).rstrip()
            for row in rows
        ]
        rule = "-" * max(map(len, lines))
        note = [self.note] if self.note else []
        return "\n".join([self.title, rule, lines[0], rule, *lines[1:], rule, *note]) + "\n"


def _is_number(text: str) -> bool:
    return bool(text) and text[0] in "+-0123456789" and any(map(str.isdigit, text))


def _is_number_or_empty(text: str) -> bool:
    return not text or _is_number(text)


# -- how numbers are written -----------------------------------------------------------------------


def plain(value: float | None, digits: int, sign: str = "") -> str:
    """A number with ``digits`` decimals; empty if it is missing or not finite."""
    if value is None or not np.isfinite(value):
        return ""
    # Adding 0 turns a -0 that rounding left into 0.
    return f"{round(float(value), digits) + 0.0:{sign},.{digits}f}"


def spread(mean: float, sd: float, digits: int) -> str:
    """A mean and its deviation: "0.88 ± 0.03"."""
    parts = [plain(mean, digits), plain(sd, digits)]
    return " ± ".join(filter(None, parts))

"""Finished cells in one csv file, small enough for a repository: a run is continued elsewhere.

The folder of a run has its cells as json files, with all their parameters. Here a cell is a line:
who it is, its key, in which a hash stands for everything that decides its result, and its numbers.
Cells of other parameters, data or versions of randsub have other keys, so they are not taken for
those of today.
"""

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from randsub._files import check_writable, write_atomically
from randsub_experiments.cells import Cell, Row

KEY: Final = "key"
_WHO: Final = ("experiment", "problem", "method", "base", "setting", "replicate")

# Texts by the names of the columns.
Line = dict[str, str]


class CellFile:
    """The file.

    Parameters
    ----------
    path : Path
        A csv file. It is created when the first cell is added; its folder must exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self) -> None:
        """Raise if the file cannot be read or written: an error now, not after the last cell."""
        check_writable(self.path)
        self._lines()

    def rows(self) -> dict[str, Row]:
        """Rows of the cells in the file, by the keys of the cells."""
        return {key: _row(line) for key, line in self._lines().items()}

    def add(self, finished: Iterable[tuple[Cell, Row]]) -> None:
        """Add cells with their rows, unless they are in the file already."""
        # Read each time: another command may have added cells in the meantime.
        lines = self._lines()
        new = {cell.key: _line(cell, row) for cell, row in finished if cell.key not in lines}
        if new:
            self._write({**lines, **new})

    def _lines(self) -> dict[str, Line]:
        """Lines of the file by their keys."""
        if not self.path.exists():
            return {}
        try:
            with self.path.open(encoding="utf-8", newline="") as file:
                return {line[KEY]: line for line in csv.DictReader(file) if _row(line)}
        except (KeyError, ValueError, TypeError, csv.Error) as error:
            raise ValueError(
                f"{self.path} is not a file of finished cells; name one that --cells has written, "
                "or a new one."
            ) from error

    def _write(self, lines: dict[str, Line]) -> None:
        # Sorted, so that a repository sees what is new and nothing else.
        ordered = [lines[key] for key in sorted(lines)]
        numbers = sorted({name for line in ordered for name in line} - {KEY, *_WHO})
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, [*_WHO, KEY, *numbers], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)
        write_atomically(self.path, text.getvalue().encode())


def _line(cell: Cell, row: Row) -> Line:
    who = {name: str(getattr(cell, name)) for name in _WHO}
    # Numbers, lists and None as json writes them, so that they are read exactly as they were.
    numbers = {name: json.dumps(value) for name, value in row.items()}
    return {**who, KEY: cell.key, **numbers}


def _row(line: Line) -> Row:
    names = [name for name in line if name not in (KEY, *_WHO)]
    return {name: json.loads(line[name]) for name in names if line[name] != ""}

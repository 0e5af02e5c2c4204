"""Finished cells on disk: one small json file each, written at once and whole.

A file is written beside its place and then moved there, so that whoever is killed leaves either the
whole cell or nothing. What cannot be read, or belongs to another cell, counts as not there.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from randsub._files import write_atomically
from randsub.reproduce.cells import Cell, Row


@dataclass(frozen=True)
class Record:
    """What became of a cell: its numbers, or the error that ended it.

    Parameters
    ----------
    cell : Cell
    row : dict
        The numbers; empty where it failed.
    error : str, default=""
        The error in one line.
    trace : str, default=""
        Where the error came from.
    """

    cell: Cell
    row: Row
    error: str = ""
    trace: str = ""

    @property
    def failed(self) -> bool:
        """Whether the cell ended in an error."""
        return bool(self.error)

    @property
    def seconds(self) -> float | None:
        """Time that it took."""
        return self.row.get("seconds")


class Store:
    """The cells in a folder.

    Parameters
    ----------
    folder : Path
        Made when the first cell is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, cell: Cell) -> Path:
        """Where the cell is, or would be."""
        return self.folder / f"{cell.key}.json"

    def write(self, record: Record) -> None:
        """Keep what became of a cell."""
        content: dict[str, Any] = {"cell": record.cell.identity, "row": record.row}
        if record.failed:
            content |= {"error": record.error, "trace": record.trace}
        text = json.dumps(content, indent=1, sort_keys=True) + "\n"
        write_atomically(self.path(record.cell), text.encode())

    def read(self, cell: Cell) -> Record | None:
        """What became of the cell, or None where that is not known."""
        try:
            content = json.loads(self.path(cell).read_text(encoding="utf-8"))
            if content["cell"] != json.loads(json.dumps(cell.identity)):
                return None
            record = Record(
                cell, dict(content["row"]), content.get("error", ""), content.get("trace", "")
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return record if record.failed or record.row else None

    def records(self, experiment: str) -> Iterator[Record]:
        """What became of every cell of an experiment that is there, by name of the file.

        Cells of other versions are passed over: they are not what would be computed today.
        """
        for path in sorted(self.folder.glob("*.json")):
            try:
                content = json.loads(path.read_text(encoding="utf-8"))["cell"]
                cell = Cell(**{field.name: content[field.name] for field in fields(Cell)})
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if cell.experiment != experiment or self.path(cell) != path:
                continue
            record = self.read(cell)
            if record is not None:
                yield record

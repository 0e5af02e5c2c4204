"""Finished cells on disk: one small json file each, written at once and atomically.

A process that is killed leaves either the whole cell or nothing. A file that cannot be read, or
that belongs to another cell, counts as missing.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from randsub._files import write_atomically
from randsub_experiments.cell_file import CellFile
from randsub_experiments.cells import Cell, Row


@dataclass(frozen=True)
class Record:
    """Result of a cell: its numbers, or the error that ended it.

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
        Created when the first cell is written.
    file : CellFile, default=None
        Where finished cells are kept, too.
    """

    def __init__(self, folder: Path, file: CellFile | None = None) -> None:
        self.folder, self.file = folder, file

    def path(self, cell: Cell) -> Path:
        """File of the cell, whether it exists or not."""
        return self.folder / f"{cell.key}.json"

    def write(self, record: Record) -> None:
        """Store the record of a cell."""
        content: dict[str, Any] = {"cell": record.cell.identity, "row": record.row}
        if record.failed:
            content |= {"error": record.error, "trace": record.trace}
        text = json.dumps(content, indent=1, sort_keys=True) + "\n"
        write_atomically(self.path(record.cell), text.encode())
        if self.file is not None and not record.failed:
            self.file.add([(record.cell, record.row)])

    def exchange(self, cells: Sequence[Cell]) -> int:
        """Take finished cells from the file, and add those to it that it lacks.

        Parameters
        ----------
        cells : sequence of Cell

        Returns
        -------
        n_taken : int
            Number of cells taken from the file.
        """
        if self.file is None:
            return 0
        rows, n_taken, own = self.file.rows(), 0, []
        for cell in cells:
            record = self.read(cell)
            if record is not None and not record.failed:
                own.append((cell, record.row))
            elif cell.key in rows:
                Store(self.folder).write(Record(cell, rows[cell.key]))
                n_taken += 1
        self.file.add(own)
        return n_taken

    def read(self, cell: Cell) -> Record | None:
        """Record of the cell, or None if there is none."""
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
        """Records of all stored cells of an experiment, by file name.

        Cells of other versions are skipped: they are not what would be computed today.
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

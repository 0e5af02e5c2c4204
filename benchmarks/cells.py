"""Cells of a study: each is run in a fresh process under a time limit, and its row is kept.

A cell is a dict of json values. The script that lists the cells also runs them: with ``--cell`` it
reads one, and prints its measures as the last line. A fresh process makes peak memory that of one
fit, and a time limit possible.
"""

import csv
import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from randsub.parallel.dispatch import Dispatcher

RESULTS = Path(__file__).parent / "results"
PROC = Path("/proc/self")


def resident_megabytes(field: str = "VmHWM") -> float:
    """Resident size of this process: the largest so far, or with "VmRSS" that of now."""
    status = PROC / "status"
    if status.is_file():
        # Not ru_maxrss, which on Linux begins with the size of the parent process.
        return int(re.search(rf"{field}:\s+(\d+) kB", status.read_text())[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


class Meter:
    """Seconds inside, and the peak memory inside beyond what the process held before."""

    def __enter__(self) -> "Meter":
        # Linux forgets the peak of the past, such as that of a compilation, where it is allowed to.
        with suppress(OSError):
            (PROC / "clear_refs").write_text("5")
        self.before = resident_megabytes("VmRSS")
        self.begin = time.perf_counter()
        return self

    def __exit__(self, *details: object) -> None:
        self.seconds = time.perf_counter() - self.begin
        self.megabytes = resident_megabytes() - self.before


class Count:
    """Base models that were trained."""

    def __init__(self) -> None:
        # Appended to by several threads.
        self.sizes: list[tuple[int, int]] = []

    @property
    def models(self) -> int:
        """Number of base models."""
        return sum(models for models, _ in self.sizes)

    @property
    def feature_models(self) -> int:
        """Sum of their numbers of features."""
        return sum(features for _, features in self.sizes)


@contextmanager
def counting() -> Iterator[Count]:
    """Count exactly what the dispatchers of this process are given to train."""
    count = Count()
    former = {name: getattr(Dispatcher, name) for name in ("predict", "fit")}

    def watched(train: Any) -> Any:
        def method(self: Dispatcher, assignments: Sequence[Any], *more: Any) -> Any:
            for masks in (one.masks for one in assignments):
                features = masks.nnz if issparse(masks) else np.count_nonzero(masks)
                count.sizes.append((masks.shape[0], int(features)))
            return train(self, assignments, *more)

        return method

    try:
        for name, train in former.items():
            setattr(Dispatcher, name, watched(train))
        yield count
    finally:
        for name, train in former.items():
            setattr(Dispatcher, name, train)


class Results:
    """Rows of finished cells in a csv file.

    Parameters
    ----------
    path : Path
    keys : mapping of str to type
        Columns that name a cell.
    measures : sequence of str
        Columns that are measured. They are empty, and ``limit`` is not, for a cell that did not
        end within ``limit`` seconds.
    sizes : sequence of str
        Keys by which a cell can only take longer.
    """

    def __init__(
        self,
        path: Path,
        keys: Mapping[str, type],
        measures: Sequence[str],
        sizes: Sequence[str] = (),
    ) -> None:
        self.path, self.keys, self.sizes = path, keys, sizes
        self.fields = [*keys, *measures, "limit"]
        self.rows: list[dict[str, Any]] = []
        if path.is_file():
            with path.open(newline="") as file:
                self.rows = [
                    {**row, **{key: kind(row[key]) for key, kind in keys.items()}}
                    for row in csv.DictReader(file)
                ]

    def has(self, cell: Mapping[str, Any], limit: float) -> bool:
        """Whether the cell has ended, or was stopped at this limit or a later one."""
        return any(
            all(row[key] == cell[key] for key in self.keys)
            and (not row["limit"] or float(row["limit"]) >= limit)
            for row in self.rows
        )

    def is_hopeless(self, cell: Mapping[str, Any], limit: float) -> bool:
        """Whether a smaller cell of the same kind and another seed did not end in this time."""
        same = [key for key in self.keys if key not in (*self.sizes, "seed", "fit")]
        return any(
            bool(row["limit"])
            and float(row["limit"]) >= limit
            and all(row[key] == cell[key] for key in same)
            and all(row[size] <= cell[size] for size in self.sizes)
            for row in self.rows
        )

    def add(
        self, cell: Mapping[str, Any], measures: Mapping[str, Any] | None, limit: float
    ) -> None:
        """Keep the row of a cell; no measures if it did not end."""
        row = {**cell, **({"limit": f"{limit:g}"} if measures is None else measures)}
        row = dict.fromkeys(self.fields, "") | row
        # A row of the same cell under a shorter limit is replaced.
        self.rows = [r for r in self.rows if any(r[key] != cell[key] for key in self.keys)] + [row]
        self.path.parent.mkdir(exist_ok=True)
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, self.fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


def run_cell(
    script: str, cell: Mapping[str, Any], limit: float, *more: str
) -> dict[str, Any] | None:
    """Measures of a cell from a process of its own; None if it does not end within the limit.

    Parameters
    ----------
    script : str
        Script that is called with ``--cell``, the cell as json, and ``more``.
    cell : mapping
    limit : float
        Seconds, those to start and to compile included.
    """
    command = [sys.executable, script, "--cell", json.dumps(cell), *more]
    try:
        ended = subprocess.run(
            command, stdout=subprocess.PIPE, timeout=limit, check=True, text=True
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(ended.stdout.splitlines()[-1])


def run_missing(
    script: str,
    results: Results,
    cells: Sequence[Mapping[str, Any]],
    limit: float,
    more: Sequence[str] = (),
) -> None:
    """Run those of the cells that have no row, and keep each row at once."""
    for cell in cells:
        if results.has(cell, limit):
            continue
        hopeless = results.is_hopeless(cell, limit)
        measures = None if hopeless else run_cell(script, cell, limit, *more)
        results.add(cell, measures, limit)
        told = "a smaller one did not end" if hopeless else f"did not end within {limit:g} s"
        print(*cell.values(), measures or told, sep=", ", flush=True)

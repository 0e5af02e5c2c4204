"""From records to files: results, timings, tables and figures.

Everything but the times depends on the cells alone, not on the order in which they were run nor on
interruptions.
"""

import importlib.util
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from randsub._files import EXACT, write_atomically
from randsub._version import versions_of
from randsub_experiments.cell_store import Record, Store
from randsub_experiments.cells import BASE_LABELS, METHOD_LABELS, PARTS, Row
from randsub_experiments.compatibility import PROTOCOL, comparable, protocol
from randsub_experiments.experiments.base import Experiment
from randsub_experiments.figures.style import png
from randsub_experiments.result_table import Table

NUMBERS: Final = ("score", "aupr", "size", "models", "epochs", "tuned")
# Only where an experiment has them.
FURTHER: Final = (
    "auroc",
    "early_precision",
    "validation_loss",
    "standard_error",
    "validation_score",
    "log_loss",
    "calibration",
)
# Conditions within a cell, and lists of numbers, each in its own file.
INNER: Final = ("lam",)
VECTORS: Final = ("alpha", "sizes")
CELL_COLUMNS: Final = ("experiment", "problem", "method", "base", "setting", "replicate", "seed")
_WHOLE: Final = ("models", "epochs", "n_estimators", "max_iter", "n_candidates")
# A hash may look like a number.
_TEXT: Final = ("base", "setting", "params", "data")
# Names that are not listed come last.
_RANKS: Final = {
    "method": list(METHOD_LABELS),
    "base": ["", *BASE_LABELS],
    "setting": ["", "paper", "defaults"],
}


def results_frame(records: Sequence[Record]) -> pd.DataFrame:
    """One row per finished cell, in an order that depends on the cells alone.

    Parameters
    ----------
    records : sequence of Record
        Failed ones are left out.

    Returns
    -------
    results : DataFrame
        The cell (``experiment``, ``problem``, ``method``, ``base``, ``setting``, ``replicate``,
        ``seed``), its conditions, how it was measured (``n_estimators``, ``max_iter`` and
        ``n_candidates``, ``params``, a hash of all parameters, and ``data``, a hash of the dataset
        unless it is generated), the numbers, and ``seconds``; and, for experiments that have them,
        further numbers and vectors (tuples of numbers). A cell with several parts has a row for
        each.
    """
    rows = [
        {
            **{name: getattr(record.cell, name) for name in CELL_COLUMNS},
            **record.cell.conditions,
            **protocol(record.cell),
            **row,
        }
        for record in records
        if not record.failed
        for row in _parts(record.row)
    ]
    there = {name for row in rows for name in row}
    inner, further, vectors = (
        [name for name in names if name in there] for names in (INNER, FURTHER, VECTORS)
    )
    conditions = [*sorted({name for r in records for name in r.cell.conditions}), *inner]
    numbers = [*NUMBERS, *further, "seconds"]
    frame = pd.DataFrame(rows, columns=[*CELL_COLUMNS, *conditions, *PROTOCOL, *numbers, *vectors])
    for name in (*_WHOLE, *numbers):
        frame[name] = pd.to_numeric(frame[name])
    for name in vectors:
        frame[name] = [tuple(v) if isinstance(v, list) else () for v in frame[name]]
    return _ordered(_whole_numbers(frame), conditions)


def _parts(row: Row) -> list[Row]:
    """The rows that a cell gives: one, or one for each of its parts."""
    common = {name: value for name, value in row.items() if name != PARTS}
    return [{**common, **part} for part in row.get(PARTS, [{}])]


def _whole_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(dict.fromkeys(_WHOLE, "Int64"))


def _ordered(frame: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    def rank(column: pd.Series) -> pd.Series:
        order = _RANKS.get(str(column.name))
        if order is None:
            return column
        places = {name: f"{place:03d}" for place, name in enumerate(order)}
        return column.map(lambda name: places.get(name, f"{len(order):03d} {name}"))

    by = ["experiment", "problem", *conditions, "method", "base", "setting", "replicate"]
    return frame.sort_values(by, key=rank, kind="stable", ignore_index=True)


def failures_frame(records: Sequence[Record]) -> pd.DataFrame:
    """One row per failed cell, with its error."""
    rows = [
        {**{name: getattr(record.cell, name) for name in CELL_COLUMNS}, "error": record.error}
        for record in records
        if record.failed
    ]
    frame = pd.DataFrame(rows, columns=[*CELL_COLUMNS, "error"])
    return frame.sort_values(list(CELL_COLUMNS), kind="stable", ignore_index=True)


def environment() -> dict[str, str]:
    """Versions that the results were computed with."""
    return versions_of("numpy", "scipy", "scikit-learn", "joblib")


@dataclass(frozen=True)
class Written:
    """What was written.

    Parameters
    ----------
    tables : list of Table
    n_others : int
        Number of cells of earlier commands that are in the tables too.
    n_left_out : int
        Number of cells of earlier commands that are not, since they were measured in another way.
    """

    tables: list[Table]
    n_others: int
    n_left_out: int


class Folder:
    """The files of one run, or of several that add up.

    Parameters
    ----------
    path : Path
        ``cells/`` in it has the finished cells; ``results.csv`` (and ``results.parquet``, with
        pyarrow), ``timings.csv``, ``failed.csv`` if cells failed, ``run.json``, ``tables/`` and
        ``figures/`` are written at the end. A vector has a csv file of its name, with the lines of
        ``results.csv``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def cells(self) -> Path:
        """Folder of the finished cells."""
        return self.path / "cells"

    def prepare(self) -> None:
        """Create the folder and try to write into it: an error now, not after the first cell."""
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.cells):
                pass
        except OSError as error:
            raise OSError(
                f"Nothing can be written to {self.path} ({error}): name another folder with "
                "--output."
            ) from error

    def write(
        self, experiment: Experiment, records: Sequence[Record], command: str, n_missing: int = 0
    ) -> Written:
        """Write the results of these records and of stored cells of earlier commands.

        Parameters
        ----------
        experiment : Experiment
        records : sequence of Record
            Results of the cells of this command.
        command : str
            The command itself.
        n_missing : int, default=0
            Number of cells of this command that were not run, since it was stopped.

        Returns
        -------
        written : Written
        """
        mine = {record.cell.key for record in records}
        there = [r for r in Store(self.cells).records(experiment.name) if r.cell.key not in mine]
        others = comparable(records, there)
        n_left_out = len(there) - len(others)
        every = [*records, *others]
        results = results_frame(every)
        self._write_results(results)
        self._write_failures(failures_frame(every))
        # Commands whose cells are left out in part would not give what is here.
        before = self._commands(experiment) if others and not n_left_out else []
        run = {
            "experiment": experiment.name,
            "commands": list(dict.fromkeys([*before, command])),
            "environment": environment(),
            "cells": len(every),
            "failed": sum(record.failed for record in every),
            "missing": n_missing,
            "complete": n_missing == 0,
        }
        self._text("run.json", json.dumps(run, indent=1) + "\n")
        tables = experiment.tables(results) if len(results) else []
        self._replace_folder("tables", self._table_files(tables))
        if len(results):
            figures = experiment.figures(results)
            self._replace_folder(
                "figures", {f"{name}.png": png(figure) for name, figure in figures.items()}
            )
        return Written(tables, len(others), n_left_out)

    def _commands(self, experiment: Experiment) -> list[str]:
        """Commands that have written here before."""
        try:
            run = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            return list(run["commands"]) if run["experiment"] == experiment.name else []
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def read(self) -> tuple[dict[str, Any], pd.DataFrame]:
        """The content of ``run.json``, and the results with their times."""
        try:
            run = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            text = dict.fromkeys(_TEXT, str)
            results, timings = (
                pd.read_csv(self.path / name, dtype=text, **EXACT)
                for name in ("results.csv", "timings.csv")
            )
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{self.path} has no results ({Path(error.filename).name} is missing); name a "
                "folder that `randsub-experiments` has written."
            ) from error
        if not {"params", "commands"} <= {*results, *run}:
            raise ValueError(
                f"{self.path} was written by an earlier version of randsub: run its command again, "
                "finished cells are kept."
            )
        frame = results.assign(seconds=timings["seconds"], **self._read_vectors())
        return run, _whole_numbers(frame.fillna(dict.fromkeys(_TEXT, "")))

    def _write_results(self, results: pd.DataFrame) -> None:
        self._write_vectors(results)
        frame = results.drop(columns=["seconds", *VECTORS], errors="ignore")
        self._text("results.csv", frame.to_csv(index=False, lineterminator="\n"))
        timings = results[[*CELL_COLUMNS, *(name for name in INNER if name in results), "seconds"]]
        self._text("timings.csv", timings.to_csv(index=False, lineterminator="\n"))
        if importlib.util.find_spec("pyarrow") is not None:
            write_atomically(self.path / "results.parquet", frame.to_parquet(index=False))

    def _write_vectors(self, results: pd.DataFrame) -> None:
        for name in VECTORS:
            if name not in results:
                (self.path / f"{name}.csv").unlink(missing_ok=True)
                continue
            vectors = results[name].tolist()
            # Rows without a vector are empty lines.
            padded = np.full((len(vectors), max(map(len, vectors))), np.nan)
            for row, vector in zip(padded, vectors, strict=True):
                row[: len(vector)] = vector
            frame = pd.DataFrame(padded)
            self._text(f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))

    def _read_vectors(self) -> dict[str, list[tuple[float, ...]]]:
        """Vectors in the folder, a tuple for each row of the results."""
        return {
            name: [
                tuple(row[~np.isnan(row)].tolist())
                for row in pd.read_csv(path, skip_blank_lines=False, **EXACT).to_numpy(float)
            ]
            for name in VECTORS
            if (path := self.path / f"{name}.csv").is_file()
        }

    def _write_failures(self, failures: pd.DataFrame) -> None:
        if len(failures):
            self._text("failed.csv", failures.to_csv(index=False, lineterminator="\n"))
        else:
            (self.path / "failed.csv").unlink(missing_ok=True)

    @staticmethod
    def _table_files(tables: Sequence[Table]) -> dict[str, bytes]:
        files = {}
        for table in tables:
            files[f"{table.name}.md"] = table.markdown().encode()
            files[f"{table.name}.csv"] = table.csv().encode()
        return files

    def _replace_folder(self, name: str, files: dict[str, bytes]) -> None:
        """Write the files, and remove those of earlier runs that this one does not write."""
        folder = self.path / name
        for file, content in files.items():
            write_atomically(folder / file, content)
        for path in folder.glob("*"):
            if path.name not in files and path.suffix in {".md", ".csv", ".png"}:
                path.unlink()

    def _text(self, name: str, text: str) -> None:
        write_atomically(self.path / name, text.encode())

"""From records to files: results, timings, tables and figures.

Everything but the times follows from the cells alone, whatever order they were run in and however
often the run was interrupted.
"""

import importlib.util
import json
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np
import pandas as pd
import scipy
import sklearn

import randsub
from randsub._files import write_atomically
from randsub._tables import exact_floats
from randsub.reproduce.cells import BASE_LABELS, METHOD_LABELS
from randsub.reproduce.comparable import MANNER, comparable, manner
from randsub.reproduce.experiment import Experiment
from randsub.reproduce.figures import png
from randsub.reproduce.store import Record, Store
from randsub.reproduce.tables import Table

NUMBERS: Final = ("score", "aupr", "size", "models", "epochs", "tuned")
WHO: Final = ("experiment", "problem", "method", "base", "setting", "replicate", "seed")
_WHOLE: Final = ("models", "epochs", "n_estimators", "max_iter", "n_candidates")
# A hash may look like a number.
_TEXT: Final = ("base", "setting", "params", "data")
# Later ones of an order come after those that it names.
_RANKS: Final = {
    "method": list(METHOD_LABELS),
    "base": ["", *BASE_LABELS],
    "setting": ["", "paper", "defaults"],
}


def results_frame(records: Sequence[Record]) -> pd.DataFrame:
    """One row a finished cell, in an order that depends on the cells alone.

    Parameters
    ----------
    records : sequence of Record
        Those that failed are left out.

    Returns
    -------
    results : DataFrame
        Who (``experiment``, ``problem``, ``method``, ``base``, ``setting``, ``replicate``,
        ``seed``), the conditions of the cells, how they were measured (``n_estimators``,
        ``max_iter`` and ``n_candidates`` as asked for, ``params``, a hash of all parameters, and
        ``data``, one of the dataset where it is not generated), the numbers, and ``seconds``.
    """
    rows = [
        {
            **{name: getattr(record.cell, name) for name in WHO},
            **record.cell.conditions,
            **manner(record.cell),
            **record.row,
        }
        for record in records
        if not record.failed
    ]
    conditions = sorted({name for record in records for name in record.cell.conditions})
    frame = pd.DataFrame(rows, columns=[*WHO, *conditions, *MANNER, *NUMBERS, "seconds"])
    for name in (*_WHOLE, *NUMBERS, "seconds"):
        frame[name] = pd.to_numeric(frame[name])
    return _ordered(_whole_numbers(frame), conditions)


def _whole_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(dict.fromkeys(_WHOLE, "Int64"))


def _ordered(frame: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    def rank(column: pd.Series) -> pd.Series:
        order = _RANKS.get(str(column.name))
        if order is None:
            return column
        places = {name: f"{place}" for place, name in enumerate(order)}
        return column.map(lambda name: places.get(name, f"{len(order)} {name}"))

    by = ["experiment", "problem", *conditions, "method", "base", "setting", "replicate"]
    return frame.sort_values(by, key=rank, kind="stable", ignore_index=True)


def failures_frame(records: Sequence[Record]) -> pd.DataFrame:
    """One row a failed cell: who it is, and its error."""
    rows = [
        {**{name: getattr(record.cell, name) for name in WHO}, "error": record.error}
        for record in records
        if record.failed
    ]
    frame = pd.DataFrame(rows, columns=[*WHO, "error"])
    return frame.sort_values(list(WHO), kind="stable", ignore_index=True)


def environment() -> dict[str, str]:
    """Versions that the results were computed with."""
    return {
        "randsub": randsub.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "joblib": joblib.__version__,
    }


@dataclass(frozen=True)
class Written:
    """What went into the files.

    Parameters
    ----------
    tables : list of Table
    draws : bool
        Whether there was matplotlib for figures.
    n_others : int
        Cells of earlier commands that are in the tables too.
    n_left_out : int
        Cells of earlier commands that are not, since they were measured otherwise.
    """

    tables: list[Table]
    draws: bool
    n_others: int
    n_left_out: int


class Folder:
    """The files of one run, or of several that add up.

    Parameters
    ----------
    path : Path
        ``cells/`` in it has the finished cells; ``results.csv`` (and ``results.parquet``, with
        pyarrow), ``timings.csv``, ``failed.csv`` where cells failed, ``run.json``, ``tables/`` and
        ``figures/`` are written at the end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def cells(self) -> Path:
        """Folder of the finished cells."""
        return self.path / "cells"

    def prepare(self) -> None:
        """Make the folder and try to write into it: better now than after the first cell."""
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
        """Write everything, of these records and of cells that earlier commands have left here.

        Parameters
        ----------
        experiment : Experiment
        records : sequence of Record
            What became of the cells of this command.
        command : str
            The command itself.
        n_missing : int, default=0
            Cells of this command that were not run, since it was stopped.

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
        # Commands of which something was left out would not give what is here.
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
        draws = importlib.util.find_spec("matplotlib") is not None
        self._replace_folder("tables", self._table_files(tables))
        if draws and len(results):
            figures = experiment.figures(results)
            self._replace_folder(
                "figures", {f"{name}.png": png(figure) for name, figure in figures.items()}
            )
        return Written(tables, draws, len(others), n_left_out)

    def _commands(self, experiment: Experiment) -> list[str]:
        """Commands that have written here before."""
        try:
            run = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            return list(run["commands"]) if run["experiment"] == experiment.name else []
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def read(self) -> tuple[dict[str, Any], pd.DataFrame]:
        """What was run, and its results with their times."""
        try:
            run = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            text = dict.fromkeys(_TEXT, str)
            results, timings = (
                pd.read_csv(self.path / name, dtype=text, **exact_floats())
                for name in ("results.csv", "timings.csv")
            )
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{self.path} has no results ({Path(error.filename).name} is missing); name a "
                "folder that `randsub reproduce` has written."
            ) from error
        if not {"params", "commands"} <= {*results, *run}:
            raise ValueError(
                f"{self.path} was written by an earlier version of randsub: run its command again, "
                "finished cells are kept."
            )
        frame = results.assign(seconds=timings["seconds"])
        return run, _whole_numbers(frame.fillna(dict.fromkeys(_TEXT, "")))

    def _write_results(self, results: pd.DataFrame) -> None:
        frame = results.drop(columns="seconds")
        self._text("results.csv", frame.to_csv(index=False, lineterminator="\n"))
        timings = results[[*WHO, "seconds"]]
        self._text("timings.csv", timings.to_csv(index=False, lineterminator="\n"))
        if importlib.util.find_spec("pyarrow") is not None:
            write_atomically(self.path / "results.parquet", frame.to_parquet(index=False))

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
        """Write the files, and remove those of earlier runs that this one does not make."""
        folder = self.path / name
        for file, content in files.items():
            write_atomically(folder / file, content)
        for path in folder.glob("*"):
            if path.name not in files and path.suffix in {".md", ".csv", ".png"}:
                path.unlink()

    def _text(self, name: str, text: str) -> None:
        write_atomically(self.path / name, text.encode())

"""From records to files: results, timings, tables and figures.

Everything but the times follows from the cells alone, whatever order they were run in and however
often the run was interrupted.
"""

import importlib.util
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np
import pandas as pd
import scipy
import sklearn

import randsub
from randsub.reproduce.cells import BASE_LABELS, METHOD_LABELS
from randsub.reproduce.experiment import Experiment
from randsub.reproduce.figures import png
from randsub.reproduce.store import Record, write_atomically
from randsub.reproduce.tables import Table

NUMBERS: Final = ("score", "aupr", "size", "models", "epochs", "tuned")
_WHO: Final = ("experiment", "problem", "method", "base", "setting", "replicate", "seed")
_WHOLE: Final = ("models", "epochs")
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
        ``seed``), the conditions of the cells, the numbers, and ``seconds``.
    """
    rows = [
        {
            **{name: getattr(record.cell, name) for name in _WHO},
            **record.cell.conditions,
            **record.row,
        }
        for record in records
        if not record.failed
    ]
    conditions = sorted({name for record in records for name in record.cell.conditions})
    frame = pd.DataFrame(rows, columns=[*_WHO, *conditions, *NUMBERS, "seconds"])
    for name in (*NUMBERS, "seconds"):
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
        {**{name: getattr(record.cell, name) for name in _WHO}, "error": record.error}
        for record in records
        if record.failed
    ]
    frame = pd.DataFrame(rows, columns=[*_WHO, "error"])
    return frame.sort_values(list(_WHO), kind="stable", ignore_index=True)


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


class Folder:
    """The files of one run.

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

    def write(
        self, experiment: Experiment, records: Sequence[Record], command: str
    ) -> tuple[list[Table], bool]:
        """Write everything; returns the tables, and whether there was matplotlib for figures."""
        results = results_frame(records)
        self._write_results(results)
        self._write_failures(failures_frame(records))
        run = {
            "experiment": experiment.name,
            "command": command,
            "environment": environment(),
            "cells": len(records),
            "failed": sum(record.failed for record in records),
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
        return tables, draws

    def read(self) -> tuple[dict[str, Any], pd.DataFrame]:
        """What was run, and its results with their times."""
        try:
            run = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            text = dict.fromkeys(("base", "setting"), str)
            results, timings = (
                pd.read_csv(self.path / name, dtype=text, keep_default_na=True)
                for name in ("results.csv", "timings.csv")
            )
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{self.path} has no results ({Path(error.filename).name} is missing); name a "
                "folder that `randsub reproduce` has written."
            ) from error
        frame = results.assign(seconds=timings["seconds"])
        return run, _whole_numbers(frame.fillna({"base": "", "setting": ""}))

    def _write_results(self, results: pd.DataFrame) -> None:
        frame = results.drop(columns="seconds")
        self._text("results.csv", frame.to_csv(index=False, lineterminator="\n"))
        timings = results[[*_WHO, "seconds"]]
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

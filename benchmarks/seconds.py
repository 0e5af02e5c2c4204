"""Seconds per fit for different numbers of samples and features, by base model.

Friedman's problem, default settings, one thread: seconds of processor time, which other work on the
machine hardly changes. Each fit runs in a fresh process; rows go to benchmarks/results/seconds.csv
at once, and cells that are there are not run again. A fit that does not end within ``--limit``
seconds is stopped, and larger ones of its base model are not begun. At the end the table in
docs/guide/cost.md is written.

    python benchmarks/seconds.py [--rows 100 1000] [--columns 30 300] [--bases knn] [--limit 300]
"""

import argparse
import json
import tempfile
import time
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from cells import RESULTS, Meter, Results, run_missing
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from tables import DOCS, place, table

from randsub import PRSRegressor
from randsub.datasets import make_friedman

BASES: dict[str, type | None] = {
    "ridge": Ridge,
    "knn": KNeighborsRegressor,
    "tree": DecisionTreeRegressor,
    "svm": SVR,
    "boosting": GradientBoostingRegressor,
    "auto": None,
}
LABELS = {name: name for name in BASES} | {"knn": "kNN", "svm": "SVM", "auto": '"auto"'}
ROWS, COLUMNS = (100, 1_000, 10_000), (30, 300, 3_000, 30_000)
KEYS = {"base": str, "rows": int, "columns": int}
MEASURES = ("seconds", "megabytes", "models", "epochs")


def stored(path: Path) -> Results:
    return Results(path, KEYS, MEASURES, sizes=["rows", "columns"])


def measure(cell: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Fit one cell, in this process."""
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    kind = BASES[cell["base"]]
    base = "auto" if kind is None else kind()
    # Compiles; the result is of no use.
    PRSRegressor(base, n_estimators=4, max_iter=2).fit(X[:40, :20], y[:40])
    with Meter() as meter:
        begin = time.process_time()
        model = PRSRegressor(base, random_state=0).fit(X, y)
        seconds = time.process_time() - begin
    return {
        "seconds": round(seconds, 2),
        "megabytes": round(meter.megabytes),
        "models": model.n_models_trained_,
        "epochs": model.n_iter_,
    }


def seconds_table(results: Results) -> list[str]:
    """Base models and samples down, features across."""
    known = {tuple(row[key] for key in KEYS): row for row in results.rows}
    lines = []
    for base, label in LABELS.items():
        for rows in ROWS:
            cells = [known.get((base, rows, columns)) for columns in COLUMNS]
            if any(cells):
                lines.append([label, f"{rows:,}", *map(_told, cells)])
    return table(
        ["base model", "samples", *(f"{columns:,} features" for columns in COLUMNS)], lines
    )


def _told(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["limit"]:
        return f"> {float(row['limit']):.0f} s"
    seconds = float(row["seconds"])
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bases", nargs="+", choices=BASES, default=list(BASES))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    parser.add_argument("--columns", nargs="+", type=int, default=list(COLUMNS))
    parser.add_argument("--limit", type=float, default=300, help="seconds per fit; default: 300")
    parser.add_argument("--results", type=Path, default=RESULTS / "seconds.csv")
    parser.add_argument("--page", type=Path, default=DOCS / "guide" / "cost.md")
    parser.add_argument("--cell", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell is not None:
        print(json.dumps(measure(args.cell, args.folder)))
        return
    results = stored(args.results)
    missing = [
        cell
        for rows in sorted(args.rows)
        for columns in sorted(args.columns)
        for base in args.bases
        if not results.has(cell := {"base": base, "rows": rows, "columns": columns}, args.limit)
    ]
    for (rows, columns), cells in groupby(missing, lambda cell: (cell["rows"], cell["columns"])):
        with tempfile.TemporaryDirectory() as folder:
            X, y, _ = make_friedman(rows, columns - 5, random_state=0)
            np.save(Path(folder) / "X.npy", X)
            np.save(Path(folder) / "y.npy", y)
            del X
            run_missing(__file__, results, list(cells), args.limit, ["--folder", folder])
    place(args.page, "seconds", seconds_table(results))


if __name__ == "__main__":
    main()

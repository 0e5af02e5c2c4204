"""PRS beside what people would use instead: prediction, ranking, false discoveries and time.

Each cell is one fit: a method of benchmarks/peer_methods.py, a dataset and a seed, in a process of
its own with one thread and a time limit. Rows go to benchmarks/results/peers.csv at once; cells
that are there are not run again. ``benchmarks/peers_page.py`` writes docs/peers.md from them. No
seed is that of another study.

    python benchmarks/peers.py --data FOLDER [--kinds simulated wide] [--methods prs_knn rf]
        [--problems friedman] [--limit 120]

Kinds of data: *simulated*, 300 training samples of the four problems with 300 irrelevant features,
two datasets each; *wide*, 200 samples with 1,990 irrelevant features; *regression* and
*classification*, 1,000 samples of each table of the folder; *genomic*, half of the samples of each
gene-expression file. There are 1,000 test samples, or the other half of a file. FOLDER has the
folders tabular_reg, tabular_clf and genomic; without it the simulated problems are run.
``make peers DATA=FOLDER`` installs the other packages and runs everything; a method whose package
is missing is skipped.
"""

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from cells import RESULTS, Results, run_missing
from peer_methods import KINDS, KNOWN, METHODS, Selected
from sklearn.metrics import average_precision_score

from randsub_experiments import datasets
from randsub_experiments.cells import FIRST_SEED, Cell
from randsub_experiments.problem import Problem
from selection import discoveries

PROBLEMS = ("checkerboard", "friedman", "hypercube", "linear")
SIZES = {
    "simulated": {"n_train": 240, "n_val": 60, "n_test": 1000, "n_irrelevant": 300},
    "wide": {"n_train": 160, "n_val": 40, "n_test": 1000, "n_irrelevant": 1990},
}
TABLES = ("regression", "classification")
SMALLEST_CLASS = 20
SEEDS = dict.fromkeys(KINDS, (5000,)) | {"simulated": (5000, 5001)}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
KEYS = {"method": str, "kind": str, "problem": str, "seed": int}
MEASURES = ("score", "aupr", "false", "distant", "found", "selected", "seconds", "failed")


def stored(path: Path = RESULTS / "peers.csv") -> Results:
    return Results(path, KEYS, MEASURES)


# -- datasets --------------------------------------------------------------------------------------


def load(cell: Mapping[str, Any], home: Path | None) -> Problem:
    """Training, validation and test samples; methods are in the end trained on the first two."""
    if cell["kind"] in KNOWN:
        from randsub_experiments.experiments.simulated_data import draw_problem

        drawn = Cell(
            "peers", cell["problem"], cell["seed"] - FIRST_SEED, "", conditions=SIZES[cell["kind"]]
        )
        return replace(draw_problem(drawn), refit=True)
    if cell["kind"] in TABLES:
        table = datasets.load_tabular(cell["problem"], home, task=cell["kind"])
        sample = datasets.sample_tabular(table, cell["seed"], n_train=800, n_val=200, n_test=1000)
        parts = [
            getattr(sample, f"{letter}_{part}")
            for part in ("train", "val", "test")
            for letter in "Xy"
        ]
        return Problem(cell["kind"], *parts, refit=True)
    data = datasets.load_genomic(cell["problem"], home, min_class_size=SMALLEST_CLASS)
    fold = datasets.genomic_folds(data, random_state=cell["seed"], n_splits=2)[0]
    X = np.asarray(data.X, dtype=float)
    parts = [array[rows] for rows in fold for array in (X, data.y)]
    return Problem("classification", *parts, refit=True)


def problems(kind: str, home: Path | None) -> Sequence[str]:
    """Names of the datasets of a kind: those of the folder, or the simulated problems."""
    if kind in KNOWN:
        return PROBLEMS
    if home is None:
        return ()
    if kind == "genomic":
        return datasets.list_genomic(home, min_class_size=SMALLEST_CLASS)
    return [name for name, task in datasets.list_tabular(home) if task == kind]


# -- one cell, in its own process ------------------------------------------------------------------


def measure(cell: Mapping[str, Any], home: Path | None) -> dict[str, Any]:
    """Train and test one cell; a package of others that fails is told as such."""
    problem, method = load(cell, home), METHODS[cell["method"]]
    try:
        fitted, row = method.measure(cell["seed"], problem)
    except Exception as error:
        if not method.package:
            raise
        return {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
    row = {"score": row["score"], "seconds": row["seconds"]}
    if problem.relevant is not None and fitted.ranking is not None:
        truth = np.isin(np.arange(problem.n_features), problem.relevant)
        row["aupr"] = average_precision_score(truth, fitted.ranking)
    if isinstance(fitted, Selected):
        chosen = np.flatnonzero(fitted.support)
        row["selected"] = len(chosen)
        if problem.relevant is not None:
            row |= discoveries(chosen, problem.relevant, problem.final[0])
    return {name: round(float(value), 4) for name, value in row.items()}


# -- the study -------------------------------------------------------------------------------------


def wanted_cells(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All cells, dataset by dataset."""
    for kind in args.kinds:
        for problem in problems(kind, args.data):
            if args.problems and problem not in args.problems:
                continue
            for seed in SEEDS[kind]:
                for name in args.methods:
                    if kind in METHODS[name].kinds:
                        yield {"method": name, "kind": kind, "problem": problem, "seed": seed}


def installed(names: Sequence[str]) -> list[str]:
    """Those of the methods that can be run here; the others are told, with the reason."""
    obstacles = {name: METHODS[name].obstacle for name in names}
    for name, obstacle in obstacles.items():
        if obstacle:
            print(f"{name}: skipped, {obstacle}")
    return [name for name, obstacle in obstacles.items() if not obstacle]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the tables and genomic files")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--problems", nargs="+", help="some of the datasets")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--limit", type=float, default=120, help="seconds per cell; default: 120")
    parser.add_argument("--results", type=Path, default=RESULTS / "peers.csv")
    parser.add_argument("--cell", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell is not None:
        print(json.dumps(measure(args.cell, args.data)))
        return
    # Inherited by the processes of the cells.
    os.environ.update(dict.fromkeys(THREADS, "1"))
    args.methods = installed(args.methods)
    more = ["--data", str(args.data)] if args.data else []
    run_missing(__file__, stored(args.results), list(wanted_cells(args)), args.limit, more)


if __name__ == "__main__":
    main()

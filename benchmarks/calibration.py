"""Log loss and calibration error of class probabilities, before and after calibration, on tables.

Each row is one fit: base model(s), a table (1,000 samples each for training, validation and test)
and a seed, which none of the other studies has. Rows go to benchmarks/results/calibration.csv at
once; those that are there are not run again. At the end the table in docs/guide/mixes.md is
written.

    python benchmarks/calibration.py --data FOLDER [--bases tree auto] [--tables phoneme]
"""

import argparse
from copy import copy
from pathlib import Path
from typing import Any

import pandas as pd
from cells import RESULTS, Results
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tables import DOCS, place, table

from randsub import PRSClassifier
from randsub_experiments import datasets
from randsub_experiments.calibration import probability_measures

BASES = {"tree": DecisionTreeClassifier, "knn": KNeighborsClassifier, "svm": SVC, "auto": None}
LABELS = {"tree": "tree", "knn": "kNN", "svm": "SVM", "auto": '"auto"'}
SEEDS = (200, 201)
KEYS = {"base": str, "table": str, "seed": int}
MEASURES = (
    *("log_loss_before", "log_loss_after", "calibration_before", "calibration_after"),
    *("temperature", "score"),
)


def stored(path: Path) -> Results:
    return Results(path, KEYS, MEASURES)


def measure(cell: dict[str, Any], data: Path) -> dict[str, Any]:
    """Fit one cell; its probabilities as they are, and without the temperature."""
    dataset = datasets.load_tabular(cell["table"], data, task="classification")
    drawn = datasets.sample_tabular(dataset, random_state=cell["seed"])
    kind = BASES[cell["base"]]
    model = PRSClassifier("auto" if kind is None else kind(), random_state=cell["seed"])
    model.fit(drawn.X_train, drawn.y_train, X_val=drawn.X_val, y_val=drawn.y_val)
    # What calibrate=False gives: the same members, averaged.
    plain = copy(model)
    del plain.temperature_
    row = {"temperature": model.temperature_, "score": model.score(drawn.X_test, drawn.y_test)}
    for moment, one in {"before": plain, "after": model}.items():
        measured = probability_measures(one, drawn.X_test, drawn.y_test)
        row |= {f"{name}_{moment}": value for name, value in measured.items()}
    return {name: round(float(value), 4) for name, value in row.items()}


def summary(results: Results) -> list[str]:
    """Means over tables and seeds, one row per base model; then those of "auto" by table."""
    frame = pd.DataFrame(results.rows)
    frame[list(MEASURES)] = frame[list(MEASURES)].apply(pd.to_numeric)
    rows = [_line(LABELS[base], frame[frame["base"] == base]) for base in LABELS]
    of_auto = frame[frame["base"] == "auto"]
    rows += [_line(f'"auto", {name}', part) for name, part in of_auto.groupby("table")]
    names = ["log loss before", "after", "calibration error before", "after", "log loss is lower"]
    return table(["base model", "fits", *names], [row for row in rows if row[1] != "0"])


def _line(label: str, part: pd.DataFrame) -> list[str]:
    means = part[list(MEASURES[:4])].mean()
    n_better = int((part["log_loss_after"] < part["log_loss_before"]).sum())
    return [label, str(len(part)), *(f"{mean:.3f}" for mean in means), f"{n_better} of {len(part)}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the tables")
    parser.add_argument("--bases", nargs="+", choices=BASES, default=list(BASES))
    parser.add_argument("--tables", nargs="+", help="some of the tables")
    parser.add_argument("--results", type=Path, default=RESULTS / "calibration.csv")
    parser.add_argument("--page", type=Path, default=DOCS / "guide" / "mixes.md")
    args = parser.parse_args()
    known = [name for name, task in datasets.list_tabular(args.data) if task == "classification"]
    results = stored(args.results)
    for seed in SEEDS:
        for name in args.tables or known:
            for base in args.bases:
                cell = {"base": base, "table": name, "seed": seed}
                if not results.has(cell, 0.0):
                    row = measure(cell, args.data)
                    results.add(cell, row, 0.0)
                    print(*cell.values(), row, flush=True)
    place(args.page, "calibration", summary(results))


if __name__ == "__main__":
    main()

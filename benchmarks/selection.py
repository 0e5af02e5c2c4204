"""All relevant features and a minimal set, on simulated problems.

ShadowSelector with each of its two nulls, on each problem, over many datasets: the mean false
discovery proportion with its standard error over the datasets, the mean fraction of the relevant
features that is found, and the number of selected features, at the rates 0.1 and 0.2 from the same
fits. Each dataset is a row of benchmarks/results/selection.csv; rows that are there are not run
again. With ``--page``, the table in docs/selection.md is written.

A selected feature is false if it is not one of those that make y. In Checkerboard and Friedman
neighbouring columns have correlation 0.9, and a neighbour of a relevant column carries its signal;
"distant" counts as false only columns whose correlation with every relevant column is below 0.5.

Settings were chosen on the seeds 0 to 9; the default is 40 others.

With ``--copies``, all selectors on tables in which every relevant column is there twice: the share
of the relevant features that have a selected column (found), or both of them (twice), how many
columns of noise are selected, and the score of the base model, on 1,000 new rows, from the selected
columns and from all.

    python benchmarks/selection.py [--null marginal conditional] [--problems hypercube linear]
        [--datasets 40] [--seed 100] [--irrelevant 100] [--samples 300] [--runs 3] [--epochs 300]
        [--jobs 1] [--page]
    python benchmarks/selection.py --copies [--fdr 0.1] [--datasets 3] [--seed 0] ...
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from cells import RESULTS, Results
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import DOCS, place, table

from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_checkerboard, make_friedman, make_hypercube, make_linear
from randsub.selection import MinimalSelector, ShadowSelector
from randsub.solver import Solver

PROBLEMS = {
    "hypercube": (make_hypercube, PRSClassifier, KNeighborsClassifier),
    "linear": (make_linear, PRSClassifier, KNeighborsClassifier),
    "checkerboard": (make_checkerboard, PRSRegressor, KNeighborsRegressor),
    "friedman": (make_friedman, PRSRegressor, KNeighborsRegressor),
}
NULLS = ("marginal", "conditional")
RATES = (0.1, 0.2)
RELATED = 0.5
KEYS = {
    **{"problem": str, "null": str, "seed": int},
    **{"samples": int, "irrelevant": int, "runs": int, "epochs": int},
}
COUNTED = ("false", "distant", "found", "selected")
MEASURES = (*(f"{name}_{rate}" for rate in RATES for name in COUNTED), "seconds")


def judge(cell: dict[str, Any], jobs: int) -> dict[str, float]:
    """Select on one dataset, and compare with the truth at each of the rates."""
    make, *_ = PROBLEMS[cell["problem"]]
    X, y, relevant = make(cell["samples"], cell["irrelevant"], random_state=cell["seed"])
    selector = ShadowSelector(
        ensemble_of(cell["problem"], cell["epochs"]),
        fdr=min(RATES),
        null=cell["null"],
        n_runs=cell["runs"],
        n_jobs=jobs,
        random_state=cell["seed"],
    )
    begin = time.perf_counter()
    selector.fit(X, y)
    row = {"seconds": time.perf_counter() - begin}
    for rate in RATES:
        counted = discoveries(np.flatnonzero(selector.q_values_ <= rate), relevant, X)
        row |= {f"{name}_{rate}": value for name, value in counted.items()}
    return {name: round(float(value), 4) for name, value in row.items()}


def discoveries(chosen: np.ndarray, relevant: np.ndarray, X: np.ndarray) -> dict[str, float]:
    """Shares of false, and of distant, features among the selected ones; share of those found."""
    false = np.setdiff1d(chosen, relevant)
    correlations = np.abs(np.corrcoef(X.T)[np.ix_(false, relevant)])
    n_distant = np.count_nonzero(correlations.max(axis=1, initial=0.0) < RELATED)
    return {
        "false": len(false) / max(len(chosen), 1),
        "distant": n_distant / max(len(chosen), 1),
        "found": (len(chosen) - len(false)) / len(relevant),
        "selected": len(chosen),
    }


def measure(results: Results, args: argparse.Namespace) -> None:
    """Run the datasets that have no row."""
    for seed in range(args.seed, args.seed + args.datasets):
        for problem in args.problems:
            for null in args.null:
                cell = {"problem": problem, "null": null, "seed": seed, **settings(args)}
                if not results.has(cell, 0.0):
                    row = judge(cell, args.jobs)
                    results.add(cell, row, 0.0)
                    print(*cell.values(), row, flush=True)


def settings(args: argparse.Namespace) -> dict[str, int]:
    """What datasets of one table have in common."""
    return {name: getattr(args, name) for name in ("samples", "irrelevant", "runs", "epochs")}


def summary(results: Results, args: argparse.Namespace) -> list[str]:
    """One line per problem and null: means over the datasets, with standard errors of the rate."""
    frame = pd.DataFrame(results.rows)
    seeds = range(args.seed, args.seed + args.datasets)
    frame = frame[frame["seed"].isin(seeds)]
    for name, value in settings(args).items():
        frame = frame[frame[name] == value]
    frame[list(MEASURES)] = frame[list(MEASURES)].apply(pd.to_numeric)
    rows = []
    for (problem, null), part in frame.groupby(["problem", "null"], sort=False):
        mean, error = part[list(MEASURES)].mean(), part[list(MEASURES)].sem()
        line = [problem.capitalize(), null, str(len(part))]
        for rate in RATES:
            false = f"false_{rate}"
            line += [f"{mean[false]:.3f} ± {error[false]:.3f}", f"{mean[f'distant_{rate}']:.3f}"]
            line += [f"{mean[f'found_{rate}']:.2f}", f"{mean[f'selected_{rate}']:.1f}"]
        rows.append([*line, f"{mean['seconds']:.1f}"])
    rows.sort(key=lambda row: (list(PROBLEMS).index(row[0].lower()), row[1]))
    names = [n for rate in RATES for n in (f"false at {rate}", "distant", "found", "selected")]
    return table(["problem", "null", "datasets", *names, "seconds"], rows)


def compare(problem: str, seed: int, args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """All selectors on one dataset with two copies of the relevant columns."""
    make, _, base = PROBLEMS[problem]
    X, y, relevant = make(args.samples + 1000, args.irrelevant, random_state=seed)
    X, n_columns, n_relevant = np.hstack([X, X[:, relevant]]), X.shape[1], len(relevant)
    train, test = np.arange(args.samples), np.arange(args.samples, len(y))
    model = ensemble_of(problem, args.epochs)
    options = {"n_jobs": args.jobs, "random_state": seed}
    selectors = {
        "minimal": MinimalSelector(model, **options),
        **{
            null: ShadowSelector(model, fdr=args.fdr, null=null, n_runs=args.runs, **options)
            for null in NULLS
        },
    }

    def score(columns: np.ndarray) -> float:
        if not len(columns):
            return np.nan
        alone = make_pipeline(StandardScaler(), base())
        alone.fit(X[np.ix_(train, columns)], y[train])
        return alone.score(X[np.ix_(test, columns)], y[test])

    found = {}
    for name, selector in selectors.items():
        begin = time.perf_counter()
        chosen = selector.fit(X[train], y[train]).get_support()
        seconds = time.perf_counter() - begin
        pairs = np.stack([chosen[relevant], chosen[n_columns:]])
        found[name] = {
            "selected": chosen.sum(),
            "found": pairs.any(axis=0).sum() / n_relevant,
            "twice": pairs.all(axis=0).sum() / n_relevant,
            "noise": chosen.sum() - pairs.sum(),
            "score": score(np.flatnonzero(chosen)),
            "of all": score(np.arange(X.shape[1])),
            "seconds": seconds,
        }
    return found


def ensemble_of(problem: str, epochs: int) -> PRSClassifier | PRSRegressor:
    """The model, with fewer epochs than by default, and longer steps."""
    _, ensemble, base = PROBLEMS[problem]
    default = Solver()
    rate = default.learning_rate * default.max_iter / epochs
    return ensemble(
        base(),
        max_iter=epochs,
        # Runs and folds take the place of repeats.
        n_repeats=1,
        solver=Solver(learning_rate=rate),
        n_jobs=1,
    )


def print_copies(args: argparse.Namespace) -> None:
    """One line per problem and selector, with means over the datasets."""
    for problem in args.problems:
        rows = [compare(problem, args.seed + d, args) for d in range(args.datasets)]
        for name in rows[0]:
            means = {key: np.mean([row[name][key] for row in rows]) for key in rows[0][name]}
            shown = "".join(f"  {key} {value:.2f}" for key, value in means.items())
            print(f"{problem:<14}{name:<12}{shown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--null", nargs="+", choices=NULLS, default=list(NULLS))
    parser.add_argument("--copies", action="store_true", help="all selectors, on copied columns")
    parser.add_argument("--datasets", type=int, default=40)
    parser.add_argument("--irrelevant", type=int, default=100)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--fdr", type=float, default=0.1, help="of --copies")
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=100, help="of the first dataset")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "selection.csv")
    parser.add_argument("--page", action="store_true", help="write the table to docs/selection.md")
    args = parser.parse_args()
    print(
        f"kNN, {args.samples} samples, {args.irrelevant} irrelevant features, {args.runs} run(s) "
        f"of {args.epochs} epochs, {args.datasets} datasets from seed {args.seed} on"
    )
    if args.copies:
        print_copies(args)
        return
    results = Results(args.results, KEYS, MEASURES)
    measure(results, args)
    lines = summary(results, args)
    print(*lines, sep="\n")
    if args.page:
        place(DOCS / "selection.md", "false discoveries", lines)


if __name__ == "__main__":
    main()

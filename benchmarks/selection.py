"""All relevant features and a minimal set, on simulated problems.

ShadowSelector, for each problem, over several datasets: the mean false discovery proportion with
its 95 % interval (Student's t, over datasets), the mean fraction of the relevant features that is
found, the number of selected features, and the time. The nominal rate is ``--fdr``.

In Hypercube and Linear the noise is independent, and the rate should hold. In Checkerboard and
Friedman neighbouring columns have correlation 0.9: a neighbour of a relevant column carries its
signal, beats every shadow, and counts as false here. The column "distant" counts as false only
columns whose correlation with every relevant column is below 0.5.

With ``--copies``, both selectors on tables in which every relevant column is there twice: the share
of the relevant features that have a selected column (found), or both of them (twice), how many
columns of noise are selected, and the score of the base model, on 1,000 new rows, from the selected
columns and from all.

    python benchmarks/selection.py [--copies] [--problems hypercube linear checkerboard]
        [--datasets 20] [--irrelevant 100] [--samples 300] [--runs 3] [--fdr 0.1] [--epochs 300]
        [--jobs 2]
"""

import argparse
import time

import numpy as np
from scipy import stats
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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
RELATED = 0.5


def judge(problem: str, seed: int, args: argparse.Namespace) -> dict[str, float]:
    """Select on one dataset, and compare with the truth."""
    make, *_ = PROBLEMS[problem]
    X, y, relevant = make(args.samples, args.irrelevant, random_state=seed)
    selector = ShadowSelector(
        ensemble_of(problem, args),
        fdr=args.fdr,
        n_runs=args.runs,
        n_jobs=args.jobs,
        random_state=seed,
    )
    begin = time.perf_counter()
    chosen = selector.fit(X, y).get_support(indices=True)
    seconds = time.perf_counter() - begin
    false = np.setdiff1d(chosen, relevant)
    related = np.abs(np.corrcoef(X.T)[np.ix_(false, relevant)]).max(axis=1, initial=0.0) >= RELATED
    n_chosen = max(len(chosen), 1)
    return {
        "false": len(false) / n_chosen,
        "distant": float((~related).sum()) / n_chosen,
        "power": len(np.intersect1d(chosen, relevant)) / len(relevant),
        "selected": len(chosen),
        "seconds": seconds,
    }


def compare(problem: str, seed: int, args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Both selectors on one dataset with two copies of the relevant columns."""
    make, _, base = PROBLEMS[problem]
    X, y, relevant = make(args.samples + 1000, args.irrelevant, random_state=seed)
    X, n_columns, n_relevant = np.hstack([X, X[:, relevant]]), X.shape[1], len(relevant)
    train, test = np.arange(args.samples), np.arange(args.samples, len(y))
    model = ensemble_of(problem, args)
    options = {"n_jobs": args.jobs, "random_state": seed}
    selectors = {
        "minimal": MinimalSelector(model, **options),
        "relevant": ShadowSelector(model, fdr=args.fdr, n_runs=args.runs, **options),
    }

    def score(columns: np.ndarray) -> float:
        alone = make_pipeline(StandardScaler(), base())
        alone.fit(X[np.ix_(train, columns)], y[train])
        return alone.score(X[np.ix_(test, columns)], y[test]) if len(columns) else np.nan

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


def ensemble_of(problem: str, args: argparse.Namespace) -> PRSClassifier | PRSRegressor:
    """The model, with fewer epochs than by default, and longer steps."""
    _, ensemble, base = PROBLEMS[problem]
    default = Solver()
    rate = default.learning_rate * default.max_iter / args.epochs
    return ensemble(
        base(),
        max_iter=args.epochs,
        # Runs and folds take the place of repeats.
        n_repeats=1,
        solver=Solver(learning_rate=rate),
        n_jobs=1,
    )


def interval(values: np.ndarray) -> str:
    """The 95 % interval of a mean."""
    if len(values) < 2 or values.std() == 0.0:
        return "-"
    margin = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return f"[{max(values.mean() - margin, 0.0):.3f}, {values.mean() + margin:.3f}]"


def print_copies(args: argparse.Namespace) -> None:
    """One line per problem and selector, with means over the datasets."""
    for problem in args.problems:
        rows = [compare(problem, args.seed + d, args) for d in range(args.datasets)]
        for name in rows[0]:
            means = {key: np.mean([row[name][key] for row in rows]) for key in rows[0][name]}
            shown = "".join(f"  {key} {value:.2f}" for key, value in means.items())
            print(f"{problem:<14}{name:<10}{shown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--problems",
        nargs="+",
        choices=PROBLEMS,
        default=["hypercube", "linear", "checkerboard"],
    )
    parser.add_argument("--copies", action="store_true", help="both selectors, on copied columns")
    parser.add_argument("--datasets", type=int, default=20)
    parser.add_argument("--irrelevant", type=int, default=100)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--fdr", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="of the first dataset")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    print(
        f"kNN, {args.samples} samples, {args.irrelevant} irrelevant features, {args.runs} run(s) "
        f"of {args.epochs} epochs, nominal rate {args.fdr}, {args.datasets} datasets from seed "
        f"{args.seed} on, {args.jobs} worker(s)"
    )
    if args.copies:
        print_copies(args)
        return
    print(
        f"{'problem':<14}{'false':>7}{'95 % interval':>17}{'distant':>9}{'power':>7}"
        f"{'selected':>10}{'seconds':>9}"
    )
    for problem in args.problems:
        rows = [judge(problem, args.seed + d, args) for d in range(args.datasets)]
        found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        print(
            f"{problem:<14}{found['false'].mean():>7.3f}{interval(found['false']):>17}"
            f"{found['distant'].mean():>9.3f}{found['power'].mean():>7.2f}"
            f"{found['selected'].mean():>10.1f}{found['seconds'].mean():>9.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

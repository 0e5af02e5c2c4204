"""False discovery proportion of ShadowSelector on simulated problems.

For each problem, over several datasets: the mean false discovery proportion with its 95 % interval
(Student's t, over datasets), the mean fraction of the relevant features that is found, the number
of selected features, and the time. The nominal rate is ``--fdr``.

In Hypercube and Linear the noise is independent, and the rate should hold. In Checkerboard and
Friedman neighbouring columns have correlation 0.9: a neighbour of a relevant column carries its
signal, beats every shadow, and counts as false here. The column "distant" counts as false only
columns whose correlation with every relevant column is below 0.5.

    python benchmarks/selection.py [--problems hypercube linear checkerboard] [--datasets 20]
        [--irrelevant 100] [--samples 300] [--runs 3] [--fdr 0.1] [--epochs 300] [--jobs 2]
"""

import argparse
import time

import numpy as np
from scipy import stats
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_checkerboard, make_friedman, make_hypercube, make_linear
from randsub.selection import ShadowSelector
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
    make, ensemble, base = PROBLEMS[problem]
    X, y, relevant = make(args.samples, args.irrelevant, random_state=seed)
    # Fewer epochs than by default go as far with longer steps; runs take the place of repeats.
    default = Solver()
    rate = default.learning_rate * default.max_iter / args.epochs
    model = ensemble(
        base(),
        max_iter=args.epochs,
        n_repeats=1,
        solver=Solver(learning_rate=rate),
        n_jobs=1,
    )
    selector = ShadowSelector(
        model, fdr=args.fdr, n_runs=args.runs, n_jobs=args.jobs, random_state=seed
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


def interval(values: np.ndarray) -> str:
    """The 95 % interval of a mean."""
    if len(values) < 2 or values.std() == 0.0:
        return "-"
    margin = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return f"[{max(values.mean() - margin, 0.0):.3f}, {values.mean() + margin:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--problems",
        nargs="+",
        choices=PROBLEMS,
        default=["hypercube", "linear", "checkerboard"],
    )
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

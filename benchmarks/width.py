"""Cost and quality of a fit by the number of features, from 100 to 100,000.

Each cell is one fit: a method, a problem with 200 training and 1,000 test samples, a number of
features, a seed of the data, and the number of a fit of these data. It runs in a fresh process; its
row has the base models trained, the sum of their numbers of features, seconds, peak memory beyond
the data and the libraries, test score, AUPR of the ranking and the 20 best features. Rows go to
benchmarks/results/width.csv at once; cells that are there are not run again.
``benchmarks/width_page.py`` makes tables of them, and a picture.

    python benchmarks/width.py [--methods one_run forest] [--features 5000 20000 50000]

How well fits that differ in their seed alone agree, on simulated data and on files of a folder
(X and y in an .npz file, or X and Y in a .mat file; all samples are training samples):

    python benchmarks/width.py --methods one_run default --problems linear hypercube \
        --features 5000 --fits 4
    python benchmarks/width.py --methods one_run default --problems Prostate_GE colon \
        --data FOLDER --seeds 1 --fits 8

The defaults before this study, by the code that they belong to:

    git worktree add ../former 8360da9
    PYTHONPATH=../former/src python benchmarks/width.py --methods former --features 5000
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from cells import RESULTS, Count, Meter, Results, counting, run_missing
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_friedman, make_hypercube, make_linear
from randsub.solver import Solver

WIDTHS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
# Generators, and numbers of relevant features.
PROBLEMS = {
    "linear": (make_linear, 10),
    "friedman": (make_friedman, 5),
    "hypercube": (make_hypercube, 5),
}
FORMER = "8360da9"
N_TRAIN, N_TEST, N_BEST = 200, 1_000, 20
KEYS = {"method": str, "problem": str, "features": int, "seed": int, "fit": int}
MEASURES = ("models", "feature_models", "seconds", "megabytes", "score", "aupr", "best")


def stored(path: Path = RESULTS / "width.csv") -> Results:
    return Results(path, KEYS, MEASURES, sizes=["features"])


# -- the methods: a fitted model, and a value for each feature -------------------------------------


def _is_regression(y: np.ndarray) -> bool:
    return y.dtype.kind == "f"


def _neighbors(y: np.ndarray) -> Any:
    return KNeighborsRegressor() if _is_regression(y) else KNeighborsClassifier()


def _prs(X: np.ndarray, y: np.ndarray, seed: int, jobs: int, **params: Any) -> tuple[Any, Any]:
    kind = PRSRegressor if _is_regression(y) else PRSClassifier
    model = kind(_neighbors(y), n_jobs=jobs, random_state=seed, **params).fit(X, y)
    return model, model.alpha_


def one_run(X: np.ndarray, y: np.ndarray, seed: int, jobs: int, **params: Any) -> tuple[Any, Any]:
    """The defaults, but a single optimisation."""
    return _prs(X, y, seed, jobs, n_repeats=1, **params)


def marginal(X: np.ndarray, y: np.ndarray, seed: int, jobs: int) -> tuple[Any, Any]:
    """One optimisation that starts from what single columns say of the target."""
    return one_run(X, y, seed, jobs, alpha_init="marginal")


def marginal_default(X: np.ndarray, y: np.ndarray, seed: int, jobs: int) -> tuple[Any, Any]:
    """The defaults, with that start."""
    return _prs(X, y, seed, jobs, alpha_init="marginal")


def former(X: np.ndarray, y: np.ndarray, seed: int, jobs: int) -> tuple[Any, Any]:
    """The defaults before this study, by the code of that time: see the note above."""
    if hasattr(Solver(), "n_iter_no_change"):
        raise SystemExit(f"former: set PYTHONPATH to the folder src of a checkout of {FORMER}.")
    return _prs(X, y, seed, jobs)


def forest(X: np.ndarray, y: np.ndarray, seed: int, jobs: int) -> tuple[Any, Any]:
    kind = RandomForestRegressor if _is_regression(y) else RandomForestClassifier
    model = kind(1000, n_jobs=jobs, random_state=seed).fit(X, y)
    return model, model.feature_importances_


def f_test(X: np.ndarray, y: np.ndarray, seed: int, jobs: int) -> tuple[Any, Any]:
    """The base model of PRS on the 20 features with the largest F."""
    select = SelectKBest(f_regression if _is_regression(y) else f_classif, k=N_BEST)
    model = make_pipeline(StandardScaler(), select, _neighbors(y)).fit(X, y)
    return model, select.scores_


def l1(X: np.ndarray, y: np.ndarray, seed: int, jobs: int) -> tuple[Any, Any]:
    """Lasso or L1-penalised logistic regression, the penalty chosen by five folds."""
    linear = (
        LassoCV(alphas=20, cv=5)
        if _is_regression(y)
        else LogisticRegressionCV(
            Cs=np.logspace(-2, 1, 10),
            l1_ratios=(1.0,),
            solver="liblinear",
            cv=5,
            scoring="accuracy",
            random_state=seed,
            use_legacy_attributes=False,
        )
    )
    model = make_pipeline(StandardScaler(), linear).fit(X, y)
    return model, np.abs(linear.coef_).max(axis=0) if linear.coef_.ndim > 1 else abs(linear.coef_)


METHODS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "one_run": one_run,
    "default": _prs,
    "marginal": marginal,
    "marginal_default": marginal_default,
    "former": former,
    "forest": forest,
    "f_test": f_test,
    "l1": l1,
}
PRS = ("one_run", "default", "marginal", "marginal_default", "former")


# -- one cell, in its own process ------------------------------------------------------------------


def write_data(folder: Path, problem: str, features: int, seed: int, home: Path | None) -> None:
    """Training and test samples of a problem as files, so that making them needs no memory of ours.

    ``home`` is the folder of the problems that are not simulated.
    """
    relevant = np.arange(0)
    if problem in PROBLEMS:
        make, n_relevant = PROBLEMS[problem]
        X, y, relevant = make(N_TRAIN + N_TEST, features - n_relevant, random_state=seed)
    else:
        X, y = load_file(problem, home)
    n_train = N_TRAIN if problem in PROBLEMS else len(y)
    arrays = {"X": X[:n_train], "y": y[:n_train], "X_test": X[n_train:], "y_test": y[n_train:]}
    for name, array in {**arrays, "relevant": relevant}.items():
        np.save(folder / f"{name}.npy", array)


def load_file(name: str, home: Path | None) -> tuple[np.ndarray, np.ndarray]:
    from randsub_experiments.datasets import load_genomic

    if home is None:
        raise SystemExit(f"{name!r} is none of {', '.join(PROBLEMS)}: name its folder with --data.")
    dataset = load_genomic(name, home, min_class_size=1)
    return np.asarray(dataset.X, dtype=float), dataset.y


def measure(cell: dict[str, Any], folder: Path, jobs: int) -> dict[str, Any]:
    """Fit and test one cell, in this process."""
    X, y, relevant = (np.load(folder / f"{name}.npy") for name in ("X", "y", "relevant"))
    method, is_prs = METHODS[cell["method"]], cell["method"] in PRS
    if is_prs:
        # Compiles; the result is of no use. Samples of a file may be sorted by class.
        some = np.linspace(0, len(y) - 1, 40).astype(int)
        _prs(X[some, :20], y[some], 0, jobs, n_estimators=4, max_iter=2)
    with counting() as count, Meter() as meter:
        model, ranking = method(X, y, cell["seed"] + 1000 * cell["fit"], jobs)
    row: dict[str, Any] = {
        "seconds": round(meter.seconds, 2),
        "megabytes": round(meter.megabytes),
        "best": " ".join(map(str, best_features(ranking))),
    }
    if is_prs:
        row |= _counted(count, model)
    if len(relevant):
        truth = np.isin(np.arange(X.shape[1]), relevant)
        row["aupr"] = round(float(average_precision_score(truth, ranking)), 4)
        X, y = (np.load(folder / f"{name}_test.npy") for name in ("X", "y"))
        row["score"] = round(float(model.score(X, y)), 4)
    return row


def best_features(ranking: np.ndarray) -> np.ndarray:
    """The 20 best features, or fewer if the ranking is above 0 for fewer: equals have no order."""
    order = np.argsort(-ranking, kind="stable")[:N_BEST]
    return order[ranking[order] > 0]


def _counted(count: Count, model: Any) -> dict[str, int]:
    if count.models != model.n_models_trained_:
        if count.models < model.n_models_trained_ and model.n_repeats_ > 1:
            # Repeats were trained by other processes, where nobody counts features.
            return {"models": model.n_models_trained_}
        raise RuntimeError(f"{count.models} models seen, {model.n_models_trained_} trained.")
    return {"models": count.models, "feature_models": count.feature_models}


# -- the study -------------------------------------------------------------------------------------


def wanted_cells(args: argparse.Namespace) -> list[dict[str, Any]]:
    """All cells, those of the same data one after the other, narrow ones first."""
    widths = {
        problem: args.features
        if problem in PROBLEMS
        else [load_file(problem, args.data)[0].shape[1]]
        for problem in args.problems
    }
    cells = [
        {"method": method, "problem": problem, "features": width, "seed": seed, "fit": fit}
        for seed in range(args.seeds)
        for problem in args.problems
        for width in widths[problem]
        for method in args.methods
        for fit in range(args.fits)
    ]
    return sorted(cells, key=lambda cell: (cell["features"], cell["seed"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), help="or names of files")
    parser.add_argument("--features", nargs="+", type=int, default=list(WIDTHS))
    parser.add_argument("--seeds", type=int, default=3, help="seeds 0, 1, ... before this one")
    parser.add_argument("--fits", type=int, default=1, help="fits of the same data")
    parser.add_argument("--data", type=Path, help="folder of the files")
    parser.add_argument("--limit", type=float, default=600, help="seconds per cell; default: 600")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS / "width.csv")
    parser.add_argument("--cell", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell is not None:
        print(json.dumps(measure(args.cell, args.folder, args.jobs)))
        return
    results = stored(args.results)
    missing = [cell for cell in wanted_cells(args) if not results.has(cell, args.limit)]
    for (problem, width, seed), cells in groupby(
        missing, key=lambda cell: (cell["problem"], cell["features"], cell["seed"])
    ):
        with tempfile.TemporaryDirectory() as folder:
            write_data(Path(folder), problem, width, seed, args.data)
            more = ["--folder", folder, "--jobs", str(args.jobs)]
            run_missing(__file__, results, list(cells), args.limit, more)


if __name__ == "__main__":
    main()

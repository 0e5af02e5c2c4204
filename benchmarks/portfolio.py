"""Which base models ``estimator="auto"`` should mix: PRS with several portfolios, on tables.

Each row is one fit: a portfolio, a table (1,000 samples each for training, validation and test) and
a seed. Rows go to benchmarks/results/portfolio.csv at once; those that are there are not run again.
Tables and seeds are in two parts: portfolios are compared on the first, and what is chosen is
confirmed on the second. No seed is one of the experiments (1000, 1001, ...).

    python benchmarks/portfolio.py --data FOLDER [--part first] [--portfolios four six]
    python benchmarks/portfolio.py --print
"""

import argparse
import time
from pathlib import Path
from typing import Any

import pandas as pd
from cells import RESULTS, Results
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub import PRSClassifier, PRSRegressor
from randsub_experiments import datasets
from randsub_experiments.calibration import log_loss

# Regressor, classifier, parameters.
BASES: dict[str, tuple[type, type, dict[str, Any]]] = {
    "knn5": (KNeighborsRegressor, KNeighborsClassifier, {}),
    "knn10": (
        KNeighborsRegressor,
        KNeighborsClassifier,
        {"n_neighbors": 10, "weights": "distance"},
    ),
    "knn15": (
        KNeighborsRegressor,
        KNeighborsClassifier,
        {"n_neighbors": 15, "weights": "distance"},
    ),
    "tree": (DecisionTreeRegressor, DecisionTreeClassifier, {}),
    "tree5": (DecisionTreeRegressor, DecisionTreeClassifier, {"min_samples_leaf": 5}),
    "svm1": (SVR, SVC, {}),
    "svm10": (SVR, SVC, {"C": 10.0}),
    "linear": (Ridge, LinearDiscriminantAnalysis, {}),
    "boost": (GradientBoostingRegressor, GradientBoostingClassifier, {}),
    "boost50": (
        GradientBoostingRegressor,
        GradientBoostingClassifier,
        {"n_estimators": 50, "learning_rate": 0.2},
    ),
    "deep": (
        GradientBoostingRegressor,
        GradientBoostingClassifier,
        {"n_estimators": 50, "max_depth": 5},
    ),
}
PORTFOLIOS = {
    "knn": ["knn10"],
    "tree": ["tree"],
    "svm": ["svm10"],
    "boosting": ["boost"],
    "three": ["knn10", "tree", "svm10"],
    "four": ["knn10", "tree", "svm10", "boost"],
    "four, quick": ["knn10", "tree", "svm10", "boost50"],
    "four, deep": ["knn10", "tree", "svm10", "deep"],
    "five, linear": ["knn10", "tree", "svm10", "boost", "linear"],
    "six": ["knn5", "knn15", "tree", "tree5", "svm1", "svm10"],
    "eight": ["knn5", "knn15", "tree", "tree5", "svm1", "svm10", "boost", "deep"],
}
# What makes votes, by a suffix of the portfolio.
VOTES = ("auto", "hard")
PARTS: dict[str, tuple[list[str], list[int]]] = {
    "first": (
        [
            *("abalone", "california", "cpu_act", "sulfur"),
            *("compas-two-years__cat", "electricity", "eye_movements", "phoneme"),
        ],
        [0, 1],
    ),
    "second": (
        [
            *("Ailerons", "Bike_Sharing_Demand__cat", "MiamiHousing2016", "pol", "wine_quality"),
            *("MagicTelescope", "bank-marketing", "credit", "electricity__cat"),
        ],
        [100, 101],
    ),
}
KEYS = {"portfolio": str, "voting": str, "table": str, "seed": int}
MEASURES = ("score", "log_loss", "seconds", "models", "shares")


def stored(path: Path) -> Results:
    return Results(path, KEYS, MEASURES)


def made(portfolio: str, voting: str, task: str, seed: int) -> Any:
    """The ensemble, unfitted."""
    is_regression = task == "regression"
    if portfolio == "forest":
        return (RandomForestRegressor if is_regression else RandomForestClassifier)(
            500, random_state=seed
        )
    kinds = {name: BASES[name] for name in PORTFOLIOS[portfolio]}
    bases = [(name, k[0 if is_regression else 1](**k[2])) for name, k in kinds.items()]
    if is_regression:
        return PRSRegressor(bases, random_state=seed)
    return PRSClassifier(bases, voting=voting, random_state=seed)


def measure(cell: dict[str, Any], data: Path) -> dict[str, Any]:
    """Fit and test one cell."""
    known = dict(datasets.list_tabular(data))
    dataset = datasets.load_tabular(cell["table"], data, task=known[cell["table"]])
    drawn = datasets.sample_tabular(dataset, random_state=cell["seed"])
    model = made(cell["portfolio"], cell["voting"], known[cell["table"]], cell["seed"])
    begin = time.perf_counter()
    held_out = {} if cell["portfolio"] == "forest" else {"X_val": drawn.X_val, "y_val": drawn.y_val}
    model.fit(drawn.X_train, drawn.y_train, **held_out)
    seconds = time.perf_counter() - begin
    shares = getattr(model, "shares_", {})
    return {
        "score": round(float(model.score(drawn.X_test, drawn.y_test)), 4),
        "log_loss": round(
            log_loss(drawn.y_test, model.predict_proba(drawn.X_test), model.classes_), 4
        )
        if hasattr(model, "predict_proba")
        else "",
        "seconds": round(seconds, 1),
        "models": getattr(model, "n_models_trained_", ""),
        "shares": " ".join(f"{name}:{share:.2f}" for name, share in shares.items()),
    }


def summary(path: Path) -> pd.DataFrame:
    """Score of each portfolio less that of "four", in each part and task, with standard errors."""
    frame = pd.DataFrame(stored(path).rows)
    frame["portfolio"] += frame["voting"].map(lambda v: "" if v == "auto" else f", {v} votes")
    frame[["score", "seconds", "log_loss"]] = frame[["score", "seconds", "log_loss"]].apply(
        pd.to_numeric
    )
    rows = []
    for part, (tables, _) in PARTS.items():
        of_part = frame[frame["table"].isin(tables)]
        wide = {
            name: of_part.pivot(index=["table", "seed"], columns="portfolio", values=name)
            for name in ("score", "seconds", "log_loss")
        }
        if "four" not in wide["score"]:
            continue
        for name in wide["score"]:
            gain = (wide["score"][name] - wide["score"]["four"]).dropna()
            less = (wide["log_loss"][name] - wide["log_loss"]["four"]).dropna()
            slower = (wide["seconds"][name] / wide["seconds"]["four"]).dropna()
            rows.append(
                {
                    "part": part,
                    "portfolio": name,
                    "fits": len(gain),
                    "score": gain.mean(),
                    "error": gain.std() / len(gain) ** 0.5,
                    "log loss": less.mean(),
                    "time": slower.mean(),
                }
            )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the tables")
    parser.add_argument("--part", choices=PARTS, default="first")
    parser.add_argument("--portfolios", nargs="+", default=list(PORTFOLIOS))
    parser.add_argument("--votes", nargs="+", choices=VOTES, default=["auto"])
    parser.add_argument("--tables", nargs="+", help="some of the part's tables")
    parser.add_argument("--seeds", nargs="+", type=int, help="in place of the part's")
    parser.add_argument("--results", type=Path, default=RESULTS / "portfolio.csv")
    parser.add_argument("--print", action="store_true", help="print the comparison of all rows")
    args = parser.parse_args()
    if args.print:
        print(summary(args.results).round(4).to_string(index=False))
        return
    tables, seeds = PARTS[args.part]
    results = stored(args.results)
    for seed in args.seeds or seeds:
        for table in args.tables or tables:
            for voting in args.votes:
                for portfolio in args.portfolios:
                    cell = {"portfolio": portfolio, "voting": voting, "table": table, "seed": seed}
                    if not results.has(cell, 0.0):
                        row = measure(cell, args.data)
                        results.add(cell, row, 0.0)
                        print(*cell.values(), row, flush=True)


if __name__ == "__main__":
    main()

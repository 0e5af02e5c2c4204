"""Compiled engines compared with a plain scikit-learn loop, on the same masks, one thread each.

100 masks over 305 columns of a Friedman or Hypercube problem, 270 training and 130 query samples,
as in a batch of a paper-scale run; about 6 and about 15 columns per mask. The data are taken as
they are, with sample weights, and with a tenth of the values missing, where base models take them.
Prints the microseconds of CPU time per model (training and prediction), the ratio, and the largest
difference of the predictions; trees and boosting break ties at random.

    python benchmarks/engines.py [--repeats 5] [--only Tree]
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from plain import plain_models
from sklearn.base import is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from randsub.datasets import make_friedman, make_hypercube
from randsub.engines import (
    BoostingEngine,
    Engine,
    KNNEngine,
    Learner,
    LinearAndBayesEngine,
    SVMEngine,
    TreeEngine,
)

N_TRAIN, N_QUERY, N_MASKS = 270, 130, 100
MISSING = 0.1
CASES: list[tuple[type[Engine], Any]] = [
    (KNNEngine, KNeighborsRegressor()),
    (KNNEngine, KNeighborsClassifier()),
    (TreeEngine, DecisionTreeRegressor()),
    (TreeEngine, DecisionTreeClassifier()),
    (TreeEngine, DecisionTreeClassifier(criterion="entropy")),
    (BoostingEngine, GradientBoostingRegressor(n_estimators=50)),
    (BoostingEngine, GradientBoostingClassifier(n_estimators=50)),
    (LinearAndBayesEngine, Ridge()),
    (LinearAndBayesEngine, LinearRegression()),
    (LinearAndBayesEngine, GaussianNB()),
    (LinearAndBayesEngine, LinearDiscriminantAnalysis()),
    (SVMEngine, SVR()),
    (SVMEngine, SVC()),
]


def best_of(repeats: int, run: Callable[[], Any]) -> float:
    """Shortest CPU time of several runs, after one that does not count."""
    run()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def kinds_of_data(estimator: Any) -> list[str]:
    """As they are, with sample weights, and with missing values, if the estimator takes them."""
    kinds = ["plain"]
    if has_fit_parameter(estimator, "sample_weight"):
        kinds.append("weights")
    if get_tags(estimator).input_tags.allow_nan:
        kinds += ["missing", "both"]
    return kinds


def compare(engine: type[Engine], estimator: Any, kind: str, size: int, repeats: int) -> str:
    """A line of the table."""
    classify = is_classifier(estimator)
    X, y, _ = (make_hypercube if classify else make_friedman)(N_TRAIN + N_QUERY, random_state=0)
    rng = np.random.default_rng(0)
    masks = rng.random((N_MASKS, X.shape[1])) < size / X.shape[1]
    masks[~masks.any(axis=1), 0] = True
    weight = rng.uniform(0.5, 2.0, N_TRAIN) if kind in ("weights", "both") else None
    if kind in ("missing", "both"):
        X[rng.random(X.shape) < MISSING] = np.nan
    voting: Any = "soft" if hasattr(estimator, "predict_proba") else "hard"
    compiled = engine(Learner(estimator, np.unique(y) if classify else None, voting, True))
    data, seeds = (X[:N_TRAIN], y[:N_TRAIN], masks, X[N_TRAIN:]), np.arange(N_MASKS)

    def ours() -> Any:
        return compiled.predict_many(*data, seeds, weight)

    def theirs() -> Any:
        return plain_models(estimator, *data, voting, weight)

    with threadpool_limits(1):
        gap = np.abs(ours() - theirs()).max()
        fast, plain = best_of(repeats, ours), best_of(repeats, theirs)
    per_model = 1e6 / N_MASKS
    return (
        f"{type(estimator).__name__:<28}{kind:>8}{masks.sum(axis=1).mean():>8.1f}"
        f"{plain * per_model:>10.0f}{fast * per_model:>11.1f}{plain / fast:>7.1f}{gap:>10.1e}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="part of the name of a base model")
    args = parser.parse_args()
    print(
        f"{N_MASKS} masks, {N_TRAIN} training and {N_QUERY} query samples, one thread each; seed 0."
    )
    print(
        f"{'base model':<28}{'data':>8}{'columns':>8}{'plain us':>10}{'engine us':>11}{'ratio':>7}"
        f"{'gap':>10}"
    )
    for engine, estimator in CASES:
        if args.only not in type(estimator).__name__:
            continue
        for kind in kinds_of_data(estimator):
            for size in (6, 15):
                print(compare(engine, estimator, kind, size, args.repeats), flush=True)


if __name__ == "__main__":
    main()

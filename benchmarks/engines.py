"""Compiled engines compared with a plain scikit-learn loop, on the same masks, one thread each.

100 masks over 305 columns of a Friedman or Hypercube problem, 270 training and 130 query samples,
as in a batch of a paper-scale run; about 6 and about 15 columns per mask. Prints the microseconds
per model (training and prediction), the ratio, and the largest difference of the predictions.

    python benchmarks/engines.py [--repeats 5]
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
CASES: list[tuple[type[Engine], Any]] = [
    (KNNEngine, KNeighborsRegressor()),
    (KNNEngine, KNeighborsClassifier()),
    (TreeEngine, DecisionTreeRegressor()),
    (TreeEngine, DecisionTreeClassifier()),
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
    """Shortest time of several runs, after one that does not count."""
    run()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print(
        f"{N_MASKS} masks, {N_TRAIN} training and {N_QUERY} query samples, one thread each; seed 0."
    )
    print(
        f"{'base model':<28}{'columns':>8}{'plain us':>10}{'engine us':>11}{'ratio':>7}{'gap':>10}"
    )
    for engine, estimator in CASES:
        classify = is_classifier(estimator)
        make = make_hypercube if classify else make_friedman
        X, y, _ = make(N_TRAIN + N_QUERY, random_state=0)
        voting = "soft" if hasattr(estimator, "predict_proba") else "hard"
        learner = Learner(estimator, np.unique(y) if classify else None, voting)
        for size in (6, 15):
            rng = np.random.default_rng(0)
            masks = rng.random((N_MASKS, X.shape[1])) < size / X.shape[1]
            masks[~masks.any(axis=1), 0] = True
            data = (X[:N_TRAIN], y[:N_TRAIN], masks, X[N_TRAIN:])
            seeds = np.arange(N_MASKS)
            compiled = engine(learner)
            asked = (estimator, *data, voting)
            with threadpool_limits(1):
                gap = np.abs(compiled.predict_many(*data, seeds) - plain_models(*asked)).max()
                ours = best_of(
                    args.repeats, lambda c=compiled, d=data, s=seeds: c.predict_many(*d, s)
                )
                plain = best_of(args.repeats, lambda a=asked: plain_models(*a))
            name = type(estimator).__name__
            per_model = 1e6 / N_MASKS
            print(
                f"{name:<28}{masks.sum(axis=1).mean():>8.1f}{plain * per_model:>10.0f}"
                f"{ours * per_model:>11.1f}{plain / ours:>7.1f}{gap:>10.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()

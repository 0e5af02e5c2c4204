"""Test score of the final ensemble, trained on different samples.

The paper does not say which samples the models of the final ensemble are trained on. For the same
alphas (default settings, 300 training and 100 validation samples), the members are trained

* on the training samples, as in `PRSRegressor` and `PRSClassifier` with validation data (two
  columns: the fitted members, and new ones);
* on the training and the validation samples, as in these models without validation data;
* on nine tenths of the training samples, with ten times the number of members: an ensemble of the
  models that a run with the paper's settings trains for its ten batches;
* on bootstrap samples of the training samples.

    python benchmarks/final_ensemble.py [--datasets 10] [--problems friedman hypercube] [--jobs 2]
"""

import argparse
from collections.abc import Iterator

import numpy as np
from paper_scale import model_for
from sklearn.base import clone

from randsub.datasets import make_friedman, make_hypercube

PROBLEMS = {"friedman": make_friedman, "hypercube": make_hypercube}
N_TRAIN, N_VAL, N_TEST = 300, 100, 1000
FOLDS = 10


def rows_of_members(kind: str, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The samples of each member."""
    if kind == "training":
        yield from (np.arange(N_TRAIN) for _ in range(n))
    elif kind == "training and validation":
        yield from (np.arange(N_TRAIN + N_VAL) for _ in range(n))
    elif kind == "bootstrap":
        yield from (rng.integers(0, N_TRAIN, N_TRAIN) for _ in range(n))
    else:
        fold = rng.permutation(np.arange(N_TRAIN) % FOLDS)
        yield from (np.flatnonzero(fold != t % FOLDS) for t in range(n * FOLDS))


KINDS = ("training", "training and validation", "batches", "bootstrap")


def score(model, kind, X, y, seed: int) -> float:
    """Test score of members drawn anew from the model's alpha."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = model.standardizer_.transform(X)
    test = slice(N_TRAIN + N_VAL, None)
    total, n = 0.0, 0
    for rows in rows_of_members(kind, model.n_estimators, rng):
        columns = np.flatnonzero(rng.random(X.shape[1]) < model.alpha_)
        if len(columns) == 0:
            continue
        member = clone(model.estimator_).fit(X[np.ix_(rows, columns)], y[rows])
        total, n = total + member.predict(X[test][:, columns]), n + 1
    mean = total / n
    if hasattr(model, "classes_"):
        return float(np.mean((mean > model.classes_.mean()) == (y[test] > model.classes_.mean())))
    return float(1 - np.mean((mean - y[test]) ** 2) / np.var(y[test]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--bases", nargs="+", default=["tree", "knn"])
    parser.add_argument("--datasets", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1000, help="seed of the first dataset")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    print(f"{'problem':<12}{'base':<6}{'own members':>14}" + "".join(f"{k:>26}" for k in KINDS))
    for problem in args.problems:
        for base in args.bases:
            found = []
            for seed in range(args.seed, args.seed + args.datasets):
                X, y = PROBLEMS[problem](N_TRAIN + N_VAL + N_TEST, random_state=seed)[:2]
                train, val = slice(N_TRAIN), slice(N_TRAIN, N_TRAIN + N_VAL)
                model = model_for(base, y, seed, args.jobs)
                model.fit(X[train], y[train], X_val=X[val], y_val=y[val])
                own = model.score(X[N_TRAIN + N_VAL :], y[N_TRAIN + N_VAL :])
                found.append([own, *(score(model, kind, X, y, seed) for kind in KINDS)])
            mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
            cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True)]
            print(f"{problem:<12}{base:<6}{cells[0]:>14}" + "".join(f"{c:>26}" for c in cells[1:]))


if __name__ == "__main__":
    main()

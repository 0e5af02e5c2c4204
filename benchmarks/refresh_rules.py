"""Other rules of the optimisation with the default steps: when models are retrained, and how.

    python benchmarks/refresh_rules.py [--seeds 10] [--jobs 2] [--page docs/width.md]

One run with nearest neighbours on Linear, Friedman and Hypercube, 200 training and 1,000 test
samples, with 300 and with 5,000 features. Rows go to benchmarks/results/refresh_rules.csv at once;
those that are there are not run again. With ``--page`` the table of the page is written: paired
differences to the default rule, with their standard errors over problems and seeds.

* window: only the oldest of G generations of models is retrained.
* coupled: masks are moved to the new alpha, and as few of them as possible change.
* k-hat: models are retrained when the shape of the tail of the weights, a generalised Pareto
  distribution, is above a limit, instead of when the effective sample size is too small.
* revival by quarters: eight revivals instead of two, each of a quarter of the features that are
  drawn by chance, to four times the level.
* alpha of the last epoch: instead of that with the least loss on the validation samples.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from cells import RESULTS, Results
from joblib import Parallel, delayed
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from tables import DOCS, place, table
from width import N_TEST, N_TRAIN, PROBLEMS

from randsub import PRSClassifier, PRSRegressor
from randsub.solver import Solver, Window, loop, rounds, schedule

WIDTHS = (300, 5_000)
# None of these had a part in another choice.
FIRST_SEED = 700
KEYS = {"rule": str, "problem": str, "features": int, "seed": int}
MEASURES = ("score", "aupr", "models", "epochs")


def shape_of_tail(weights: np.ndarray) -> float:
    """Shape k of a generalised Pareto distribution of the largest weights, by Zhang and Stephens.

    The tail is a fifth of the weights, or three times the root of their number if that is less. The
    estimate is their posterior mean, drawn to 0.5 by ten observations as for importance sampling.
    """
    n = len(weights)
    n_tail = int(min(0.2 * n, 3.0 * np.sqrt(n)))
    ordered = np.sort(weights)
    excess = ordered[-n_tail:] - ordered[-n_tail - 1]
    if n_tail < 5 or excess[-1] <= 1e-12 * ordered[-1]:
        return -np.inf
    excess = np.maximum(excess, 1e-12 * ordered[-1])
    n_points = 30 + int(np.sqrt(n_tail))
    quartile = excess[int(n_tail / 4 + 0.5) - 1]
    points = 1.0 - np.sqrt(n_points / (np.arange(1, n_points + 1) - 0.5))
    theta = 1.0 / excess[-1] + points / (3.0 * quartile)
    shapes = np.log1p(-theta[:, None] * excess).mean(axis=1)
    profile = n_tail * (np.log(-theta / shapes) - shapes - 1.0)
    share = 1.0 / np.exp(profile - profile[:, None]).sum(axis=1)
    mean = float(theta @ share / share.sum())
    k = float(np.log1p(-mean * excess).mean())
    return (n_tail * k + 10 * 0.5) / (n_tail + 10)


@contextmanager
def by_shape(limit: float) -> Iterator[None]:
    """Weights count as worn out when the shape of their tail is above the limit."""

    def size(weights: np.ndarray) -> float:
        return 0.0 if shape_of_tail(weights) > limit else float(len(weights))

    with patch.object(rounds, "size_of_weights", size):
        yield


@contextmanager
def by_quarters() -> Iterator[None]:
    """A revival raises a quarter of the features, drawn by chance."""
    whole = schedule.revived

    def revived(problem: Any, settings: Any, state: Any) -> Any:
        new = whole(problem, settings, state)
        if new is state:
            return state
        chosen = np.random.default_rng(state.epoch).random(state.theta.shape[1]) < 0.25
        raised = np.where(chosen, new.theta, np.minimum(new.theta, state.best_theta))
        # Those of other tasks are not at their best theta.
        theta = np.where((new.theta != state.theta).any(axis=1)[:, None], raised, state.theta)
        return replace(new, theta=theta)

    with patch.object(loop, "revived", revived):
        yield


@contextmanager
def ends_last() -> Iterator[None]:
    """Alpha of the last epoch, not of the one with the least loss on validation."""
    train = loop.train

    def trained(*args: Any, **options: Any) -> Any:
        state = train(*args, **options)
        return replace(state, best_theta=state.theta)

    with patch.object(loop, "train", trained):
        yield


@contextmanager
def as_it_is() -> Iterator[None]:
    yield


def quarters(n_features: int) -> Solver:
    level = Solver().level_of_revival(n_features)
    return Solver(n_revivals=8, revival_level=min(4.0 * level, 0.5))


# Parameters by the number of features, and what holds during the fit.
RULES: dict[str, tuple[Callable[[int], Solver], Callable[[], Any]]] = {
    "default": (lambda M: Solver(), as_it_is),
    "window of 5": (lambda M: Solver(refresh=Window(5)), as_it_is),
    "window of 10": (lambda M: Solver(refresh=Window(10)), as_it_is),
    "coupled": (lambda M: Solver(refresh="coupled"), as_it_is),
    "k-hat at most 0.5": (lambda M: Solver(), lambda: by_shape(0.5)),
    "k-hat at most 0.7": (lambda M: Solver(), lambda: by_shape(0.7)),
    "revival by quarters": (quarters, by_quarters),
    "no revival": (lambda M: Solver(n_revivals=0), as_it_is),
    "optimal baseline": (lambda M: Solver(baseline="optimal"), as_it_is),
    "alpha of the last epoch": (lambda M: Solver(), ends_last),
    "no end on a plateau": (lambda M: Solver(n_iter_no_change=None), as_it_is),
}


def measure(cell: dict[str, Any]) -> dict[str, Any]:
    make, n_relevant = PROBLEMS[cell["problem"]]
    n_features, seed = cell["features"], cell["seed"]
    X, y, relevant = make(N_TRAIN + N_TEST, n_features - n_relevant, random_state=seed)
    kind, base = (
        (PRSRegressor, KNeighborsRegressor())
        if y.dtype.kind == "f"
        else (PRSClassifier, KNeighborsClassifier())
    )
    solver, during = RULES[cell["rule"]]
    with during():
        model = kind(base, solver=solver(n_features), n_repeats=1, random_state=seed)
        model.fit(X[:N_TRAIN], y[:N_TRAIN])
    truth = np.isin(np.arange(n_features), relevant)
    return {
        "score": round(float(model.score(X[N_TRAIN:], y[N_TRAIN:])), 4),
        "aupr": round(float(average_precision_score(truth, model.alpha_)), 4),
        "models": int(model.n_models_trained_),
        "epochs": int(model.n_iter_),
    }


def differences(rows: list[dict[str, Any]]) -> list[str]:
    """Table of what each rule changes, paired by problem and seed."""
    frame = pd.DataFrame(rows).astype(dict.fromkeys(MEASURES, float))
    lines = []
    for width, part in frame.groupby("features"):
        default = part[part["rule"] == "default"]
        for rule in (rule for rule in RULES if rule in set(part["rule"])):
            both = part[part["rule"] == rule].merge(
                default, on=["problem", "seed"], suffixes=("", "_default")
            )
            if both.empty:
                continue
            told = [f"{width:,}", rule]
            for name in ("score", "aupr"):
                gap = both[name] - both[f"{name}_default"]
                error = gap.std() / np.sqrt(len(gap))
                told.append(
                    f"{both[name].mean():.3f}"
                    if rule == "default"
                    else f"{gap.mean():+.3f} ± {error:.3f}"
                )
            ratio = both["models"].sum() / both["models_default"].sum()
            lines.append([*told, f"{ratio:.0%}", f"{both['epochs'].mean():.0f}", str(len(both))])
    return table(["features", "rule", "score", "AUPR", "models", "epochs", "fits"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES))
    parser.add_argument("--features", nargs="+", type=int, default=list(WIDTHS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "refresh_rules.csv")
    parser.add_argument("--page", nargs="?", type=Path, const=DOCS / "width.md")
    args = parser.parse_args()
    results = Results(args.results, KEYS, MEASURES)
    cells = [
        {"rule": rule, "problem": problem, "features": width, "seed": FIRST_SEED + seed}
        for width in args.features
        for seed in range(args.seeds)
        for problem in PROBLEMS
        for rule in args.rules
    ]
    missing = [cell for cell in cells if not results.has(cell, np.inf)]
    found = Parallel(args.jobs, return_as="generator")(delayed(measure)(cell) for cell in missing)
    for cell, row in zip(missing, found, strict=True):
        results.add(cell, row, np.inf)
    lines = differences(results.rows)
    print("\n".join(lines))
    if args.page is not None:
        place(args.page, "rules", lines)


if __name__ == "__main__":
    main()

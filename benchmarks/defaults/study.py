"""Quality and cost of PRS with different settings: the study behind the defaults.

Each cell is one fit: a setting, a base model, a simulated problem and a seed (of the data and of
the fit). 300 training, 100 validation and 1,000 test samples, 300 irrelevant features, as in the
paper except for the larger test set. With ``splits``, a fit has all 400 samples, and each of its
repeats sets a part of them aside. A
finished cell is written to the result file at once; cells that are already there are not run again.

    python benchmarks/defaults/study.py [--settings NAME ...] [--bases knn] [--seeds 10] [--jobs 2]
    python benchmarks/defaults/study.py --list
"""

import argparse
import csv
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from settings import BASES, N_TEST, N_TRAIN, N_VAL, PROBLEMS, SETTINGS, STAGES
from sklearn.metrics import average_precision_score

from randsub import PRSClassifier, PRSRegressor
from randsub.solver import Callback, Solver, TrainingState, loop

RESULTS = Path(__file__).parent / "results.csv"
FIELDS = ["setting", "base", "problem", "seed", "score", "aupr", "models", "epochs", "seconds"]


class MovingAverage(Callback):
    """Exponential average of theta since the last revival, as it was at the best epoch."""

    def __init__(self, memory: float) -> None:
        self.memory = memory
        self.theta: Any = None
        self.best: Any = None

    def on_epoch_end(self, state: TrainingState) -> None:
        """Take the epoch's theta in."""
        if self.theta is None or state.history[-1].revived:
            self.theta = state.theta
        self.theta = self.memory * self.theta + (1.0 - self.memory) * state.theta
        if state.best_epoch == state.epoch:
            self.best = self.theta


@contextmanager
def averaging(memory: float | None) -> Iterator[None]:
    """Fits inside end with the average of theta instead of its best value."""
    if memory is None:
        yield
        return

    train = loop.train

    def averaged(problem: Any, settings: Any, state: Any, callbacks: Any, **options: Any) -> Any:
        average = MovingAverage(memory)
        state = train(problem, settings, state, [*callbacks, average], **options)
        return replace(state, best_theta=average.best)

    loop.train = averaged
    try:
        yield
    finally:
        loop.train = train


def run_cell(setting: str, base: str, problem: str, seed: int) -> dict[str, Any]:
    params = dict(SETTINGS[setting])
    memory, voting = params.pop("averaged", None), params.pop("voting")
    splits = params.pop("splits", False)
    numbers = Solver().get_params(deep=False)
    solver = Solver(**{name: params.pop(name) for name in [*params] if name in numbers})
    X, y, relevant = PROBLEMS[problem](N_TRAIN + N_VAL + N_TEST, random_state=seed)
    train_, val, test = np.split(np.arange(len(X)), [N_TRAIN, N_TRAIN + N_VAL])
    regressor, classifier = BASES[base]
    if y.dtype.kind == "f":
        model = PRSRegressor(regressor, solver=solver, random_state=seed, **params)
    else:
        if not hasattr(classifier, "predict_proba"):
            voting = "hard"
        model = PRSClassifier(classifier, solver=solver, random_state=seed, voting=voting, **params)
    with averaging(memory):
        begin = time.perf_counter()
        if splits:
            known = np.concatenate([train_, val])
            model.fit(X[known], y[known])
        else:
            model.fit(X[train_], y[train_], X_val=X[val], y_val=y[val])
        seconds = time.perf_counter() - begin
    truth = np.isin(np.arange(X.shape[1]), relevant)
    return {
        "setting": setting,
        "base": base,
        "problem": problem,
        "seed": seed,
        "score": round(float(model.score(X[test], y[test])), 5),
        "aupr": round(float(average_precision_score(truth, model.alpha_)), 5),
        "models": model.n_models_trained_,
        "epochs": model.n_iter_,
        "seconds": round(seconds, 2),
    }


def done(path: Path) -> set[tuple[str, str, str, int]]:
    if not path.is_file():
        return set()
    with path.open(newline="") as file:
        return {
            (row["setting"], row["base"], row["problem"], int(row["seed"]))
            for row in csv.DictReader(file)
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--bases", nargs="+", choices=BASES, default=["knn"])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=10, help="seeds 0, 1, ... before this one")
    parser.add_argument("--jobs", type=int, default=1, help="fits at the same time")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--list", action="store_true", help="print the settings and stop")
    args = parser.parse_args()
    if args.list:
        for stage, settings in STAGES.items():
            print(stage, *(f"  {name}: {change}" for name, change in settings.items()), sep="\n")
        return
    there = done(args.results)
    cells = [
        (setting, base, problem, seed)
        for base in args.bases
        for setting in args.settings
        for seed in range(args.seeds)
        for problem in args.problems
        if (setting, base, problem, seed) not in there
    ]
    begin = time.perf_counter()
    rows = joblib.Parallel(n_jobs=args.jobs, return_as="generator_unordered")(
        joblib.delayed(run_cell)(*cell) for cell in cells
    )
    new = not args.results.is_file()
    with args.results.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        for n, row in enumerate(rows, 1):
            writer.writerow(row)
            file.flush()
            left = (time.perf_counter() - begin) / n * (len(cells) - n)
            print(f"{n}/{len(cells)}, {left / 60:.0f} min left: {list(row.values())}", flush=True)


if __name__ == "__main__":
    main()

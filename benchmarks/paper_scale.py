"""A paper-scale run compared with a plain implementation, and with the default settings.

Friedman (or another problem), 300 training samples and 300 irrelevant features. Ours runs to the
end: in the paper's settings (100 models, 10 batches, 3,000 epochs, fresh refreshes) and in the
default ones, three times each; the median time is reported. The plain implementation (plain.py)
runs the first 40 epochs on one thread. Its total time is estimated from its seconds per model and
per step, and the numbers of models and steps of our run with the paper's settings.

    python benchmarks/paper_scale.py [--bases knn tree svm] [--problem friedman] [--jobs 2]
"""

import argparse
import time
from typing import Any

import numpy as np
from defaults.settings import BASES, N_TEST, N_TRAIN, N_VAL, PROBLEMS
from plain import plain_prs
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from randsub import PRSClassifier, PRSRegressor
from randsub.solver import Solver


def model_for(
    base: str, y: Any, seed: int, jobs: int, solver: Solver | None = None, way: str = "default"
) -> Any:
    """The ensemble for a problem; the paper's trees see all rows."""
    regressor, classifier = BASES[base]
    bootstrap: Any = False if way == "paper" else "auto"
    common = {"solver": solver, "bootstrap": bootstrap, "n_jobs": jobs, "random_state": seed}
    if y.dtype.kind != "f":
        return PRSClassifier(classifier, **common)
    return PRSRegressor(regressor, **common)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bases", nargs="+", choices=BASES, default=list(BASES))
    parser.add_argument("--problem", choices=PROBLEMS, default="friedman")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--plain-epochs", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3, help="runs of ours")
    args = parser.parse_args()
    X, y, relevant = PROBLEMS[args.problem](N_TRAIN + N_VAL + N_TEST, random_state=args.seed)
    rows = np.split(np.arange(len(X)), [N_TRAIN, N_TRAIN + N_VAL])
    (X, X_val, X_test), (y, y_val, y_test) = ([table[part] for part in rows] for table in (X, y))
    truth = np.isin(np.arange(X.shape[1]), relevant)
    print(
        f"{args.problem}, seed {args.seed}; ours on {args.jobs} threads, the plain "
        "implementation on one."
    )
    print(
        f"{'base':<6}{'way':<10}{'seconds':>9}{'ratio':>7}{'models':>9}{'steps':>8}{'score':>8}"
        f"{'AUPR':>7}"
    )
    for base in args.bases:
        lines = {}
        for way, solver in (("paper", Solver.paper()), ("default", Solver())):
            # Compile first: that happens once per machine.
            short = clone(solver).set_params(max_iter=2)
            model_for(base, y, 0, args.jobs, short, way).fit(X, y)
            times = []
            for _ in range(args.repeats):
                model = model_for(base, y, args.seed, args.jobs, solver, way)
                begin = time.perf_counter()
                model.fit(X, y, X_val=X_val, y_val=y_val)
                times.append(time.perf_counter() - begin)
            steps = model.n_iter_ * min(solver.n_batches, len(X))
            aupr = average_precision_score(truth, model.alpha_)
            lines[way] = (
                float(np.median(times)),
                model.n_models_trained_,
                steps,
                model.score(X_test, y_test),
                aupr,
            )
        regressor, classifier = BASES[base]
        with threadpool_limits(1):
            spent = plain_prs(
                regressor if y.dtype.kind == "f" else classifier, X, y, X_val, args.plain_epochs
            )
        a_model, a_step = spent.model_seconds / spent.n_models, spent.step_seconds / spent.n_steps
        _, n_models, n_steps, _, _ = lines["paper"]
        plain = a_model * n_models + a_step * n_steps
        print(f"{base:<6}{'plain':<10}{plain:>9.0f}{1:>7}{n_models:>9}{n_steps:>8}", flush=True)
        for way, (seconds, n_models, n_steps, score, aupr) in lines.items():
            print(
                f"{base:<6}{way:<10}{seconds:>9.2f}{plain / seconds:>7.0f}{n_models:>9}{n_steps:>8}"
                f"{score:>8.3f}{aupr:>7.2f}",
                flush=True,
            )
        print(
            f"      plain: {1e3 * a_model:.2f} ms per model, {1e3 * a_step:.2f} ms per step, "
            f"measured over {spent.n_models} models and {spent.n_steps} steps",
            flush=True,
        )


if __name__ == "__main__":
    main()

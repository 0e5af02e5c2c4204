"""Time limits of ten seconds on ten slow combinations of base model and data.

    python benchmarks/time_limits.py [--limit 10] [--only svc ...]

Each fit is to end within one and a half times the limit, with a usable model or an
``UnfinishedFitError``. Data are simulated, with the shapes of real tables. Kernels are compiled and
libraries loaded by a small fit before the time is taken.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from randsub import PRSClassifier, PRSRegressor
from randsub.callbacks import TimeLimit
from randsub.exceptions import UnfinishedFitError
from randsub.network import PRSNetwork


def classes(n_rows: int, n_columns: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) > 0).astype(int)


def numbers(n_rows: int, n_columns: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n_rows)


def network(model: Any, X: Any, y: Any) -> Any:
    return model.fit(X)


def plain(model: Any, X: Any, y: Any) -> Any:
    return model.fit(X, y)


PIPELINE = make_pipeline(StandardScaler(), PCA(0.95), SVC())
CASES: dict[str, tuple[Callable[[], Any], Callable[..., Any], tuple[int, int]]] = {
    "svc": (lambda: PRSClassifier(SVC()), classes, (5_000, 54)),
    "svr": (lambda: PRSRegressor(SVR()), numbers, (20_640, 8)),
    "gaussian process": (lambda: PRSRegressor(GaussianProcessRegressor()), numbers, (1_500, 10)),
    "neural network": (lambda: PRSClassifier(MLPClassifier(max_iter=50)), classes, (2_000, 20)),
    "histogram boosting": (
        lambda: PRSClassifier(HistGradientBoostingClassifier()),
        classes,
        (5_000, 20),
    ),
    "pipeline": (lambda: PRSClassifier(PIPELINE), classes, (2_000, 30)),
    "wide tree": (lambda: PRSClassifier(DecisionTreeClassifier()), classes, (100, 20_000)),
    "neighbours": (lambda: PRSClassifier(KNeighborsClassifier()), classes, (50_000, 20)),
    "auto": (lambda: PRSClassifier("auto"), classes, (5_000, 30)),
    "network": (lambda: PRSNetwork(), numbers, (200, 100)),
}


def rows(names: list[str], limit: float) -> Iterator[str]:
    for name in names:
        make, data, (n_rows, n_columns) = CASES[name]
        fit = network if name == "network" else plain
        fit(make().set_params(n_estimators=5, max_iter=1), *data(60, min(n_columns, 50)))
        X, y = data(n_rows, n_columns)
        model = make().set_params(random_state=0).set_callbacks(TimeLimit(limit))
        begin = time.perf_counter()
        try:
            fit(model, X, y)
            end = time.perf_counter()
            n_epochs = model.n_iter_ if hasattr(model, "n_iter_") else len(model.history_)
            outcome = f"model after {n_epochs} epochs"
        except UnfinishedFitError as error:
            end = time.perf_counter()
            outcome = f"refused: {error.n_done} of {error.n_all} first models"
        seconds = end - begin
        verdict = "in time" if seconds <= 1.5 * limit else "TOO LATE"
        yield f"{name:18} {n_rows:6} x {n_columns:6}  {seconds:6.1f} s  {verdict:8}  {outcome}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds (default: 10)")
    parser.add_argument("--only", nargs="+", choices=CASES, default=[*CASES])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for row in rows(args.only, args.limit):
        print(row, flush=True)


if __name__ == "__main__":
    main()

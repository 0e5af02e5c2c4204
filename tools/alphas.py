"""Whether a change of the code has changed any result: alphas and predictions, bit for bit.

    python tools/alphas.py --write before.json      at one commit
    python tools/alphas.py --against before.json    at another: says which fits differ

The fits cover the compiled engines, the generic one, the ways of refreshing, the paper's settings,
penalties, groups, wide data and networks. The same versions of the libraries are assumed.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_friedman, make_hypercube, make_network
from randsub.network import PRSNetwork
from randsub.penalties import ExpectedSize
from randsub.solver import Solver, Window

KNN = KNeighborsRegressor()
PAPER = Solver(
    learning_rate=1e-3,
    n_batches=10,
    ess_threshold=0.9,
    n_revivals=0,
    self_normalize=False,
    baseline="paper",
)
REGRESSORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "knn reg": (KNN, {}),
    "tree reg": (DecisionTreeRegressor(random_state=0), {}),
    "svr": (SVR(), {}),
    "ridge": (Ridge(), {}),
    "lasso generic": (Lasso(alpha=0.01), {"max_iter": 60}),
    "pipeline generic": (make_pipeline(StandardScaler(), KNN), {"max_iter": 40}),
    "window": (KNN, {"solver": Solver(refresh=Window(5), ess_threshold=0.7)}),
    "coupled": (KNN, {"solver": Solver(refresh="coupled")}),
    "paper": (KNN, {"solver": PAPER}),
    "members": (
        KNN,
        {"objective": "members", "n_iter_no_change": 20, "solver": Solver(tol=1e-3)},
    ),
    "penalty prox": (
        KNN,
        {"penalty": ExpectedSize(0.001), "solver": Solver(optimizer="prox_adam")},
    ),
    "penalty adam": (KNN, {"penalty": ExpectedSize(0.001)}),
    "max_samples": (
        KNN,
        {"max_samples": 80, "validation_fraction": None, "feature_groups": np.arange(65) // 2},
    ),
}
CLASSIFIERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "knn clf": (KNeighborsClassifier(), {}),
    "tree clf": (DecisionTreeClassifier(), {}),
    "svc": (SVC(), {}),
    "nb": (GaussianNB(), {"voting": "soft"}),
    "generic clf": (LogisticRegression(), {"max_iter": 40}),
}
NETWORKS: dict[str, dict[str, Any]] = {
    "network apart": {"lam": 0.0, "max_iter": 200},
    "network together": {"lam": 0.003, "max_iter": 200},
    "network path": {"lams": [0.0, 0.002, 0.004], "max_iter": 150},
}


def fits() -> Iterator[tuple[str, list[str]]]:
    """Name of each fit, and the bits of what it found."""
    X, y, _ = make_friedman(n_samples=300, n_irrelevant=60, random_state=3)
    for name, (base, params) in REGRESSORS.items():
        settings = {"max_iter": 300, "random_state": 5, **params}
        model = PRSRegressor(base, **settings).fit(X, y)
        yield name, [_bits(model.alpha_), _bits(model.predict(X[:50]))]
    X, y, _ = make_hypercube(n_samples=300, n_irrelevant=60, random_state=3)
    for name, (base, params) in CLASSIFIERS.items():
        settings = {"max_iter": 300, "random_state": 5, **params}
        model = PRSClassifier(base, **settings).fit(X, y)
        yield name, [_bits(model.alpha_), _bits(model.predict_proba(X[:50]))]
    X = np.random.default_rng(0).standard_normal((120, 1200))
    wide = PRSRegressor(KNN, max_iter=60, random_state=1).fit(X, X[:, 0] + X[:, 1])
    yield "wide", [_bits(wide.alpha_), ""]
    truth = make_network(80, n_regulators=8, n_targets=20, n_modules=2, random_state=0)
    for name, params in NETWORKS.items():
        network = PRSNetwork(random_state=2, **params)
        network.fit(truth.expression, truth.regulators, gene_names=truth.gene_names)
        yield name, [_bits(network.alpha_), _bits(network.link_weights_)]


def _bits(values: Any) -> str:
    return np.ascontiguousarray(values, dtype=float).tobytes().hex()


def main() -> None:
    """Write, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FILE")
    what.add_argument("--against", type=Path, metavar="FILE")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.write is not None:
        options.write.write_text(json.dumps(dict(fits())))
        return
    before, differ = json.loads(options.against.read_text()), 0
    for name, found in fits():
        same = before.get(name) == found
        differ += not same
        print(f"{name:18} {'the same, bit for bit' if same else 'DIFFERENT'}")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()

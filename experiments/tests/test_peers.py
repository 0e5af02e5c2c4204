"""The methods of scikit-learn that PRS is compared with."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_friedman, make_hypercube
from randsub.parallel import one_thread
from randsub.solver import Solver
from randsub_experiments import peers
from randsub_experiments.cells import Cell
from randsub_experiments.methods import measure
from randsub_experiments.peers import BASE_GRIDS, HISTOGRAM_GRID
from randsub_experiments.problem import Problem

TASKS = ["regression", "classification"]


def problem(make, task):
    X, y, _ = make(240, 5, random_state=0)
    return Problem(task, X[:120], y[:120], X[120:180], y[120:180], X[180:], y[180:])


@pytest.fixture(autouse=True)
def _one_thread():
    """As in a run: threads that wait for each other take longer than these fits."""
    with one_thread():
        yield


@pytest.fixture(scope="module")
def data():
    return {
        "regression": problem(make_friedman, "regression"),
        "classification": problem(make_hypercube, "classification"),
    }


def cell(method, base="", **params):
    return Cell("tabular", "a", 0, method, base, params=params)


@pytest.mark.parametrize("task", TASKS)
def test_histogram_boosting_is_the_best_of_its_grid(data, task):
    one = data[task]
    row = measure(cell("hgb", max_iter=3), one)
    kinds = {
        "regression": HistGradientBoostingRegressor,
        "classification": HistGradientBoostingClassifier,
    }
    grid = [
        {"learning_rate": rate, "max_depth": depth, "max_leaf_nodes": leaves}
        for rate in (0.05, 0.1, 0.2)
        for depth in (None, 3, 6)
        for leaves in (8, 31)
    ]
    machines = [
        kinds[task](max_iter=3, early_stopping=False, random_state=1000, **params).fit(
            one.X_train, one.y_train
        )
        for params in grid
    ]
    best = int(np.argmax([machine.score(one.X_val, one.y_val) for machine in machines]))
    assert row["tuned"] == best
    assert row["score"] == machines[best].score(one.X_test, one.y_test)
    assert row["models"] == 18 * 3
    assert list(ParameterGrid(dict(HISTOGRAM_GRID))) == grid
    if task == "classification":
        expected = log_loss(one.y_test, machines[best].predict_proba(one.X_test))
        assert row["log_loss"] == pytest.approx(expected)
    else:
        assert row["log_loss"] is row["calibration"] is None


CANDIDATES = {
    "tree": [
        DecisionTreeClassifier(max_depth=depth, min_samples_leaf=least, random_state=1000)
        for depth in (2, 4, 6, 8, None)
        for least in (1, 5, 10)
    ],
    "knn": [
        KNeighborsClassifier(n, weights=weights)
        for n in (1, 3, 5, 10, 20, 40)
        for weights in ("uniform", "distance")
    ],
    # With standardised features gamma="scale" is 1 / 10.
    "svm": [
        SVC(C=C, gamma=gamma, random_state=1000) for C in (0.1, 1, 10, 100) for gamma in (0.1, 0.01)
    ],
}


@pytest.mark.parametrize("base", list(CANDIDATES))
def test_single_model_tuned_on_validation(data, base):
    one = data["classification"]
    scaler = StandardScaler().fit(one.X_train)
    train, val, test = (scaler.transform(X) for X in (one.X_train, one.X_val, one.X_test))
    models = [model.fit(train, one.y_train) for model in CANDIDATES[base]]
    best = int(np.argmax([model.score(val, one.y_val) for model in models]))
    row = measure(cell("tuned", base), one)
    assert (row["tuned"], row["models"]) == (best, len(models))
    assert row["score"] == models[best].score(test, one.y_test)
    # An SVC has no probabilities.
    assert (row["log_loss"] is None) == (row["calibration"] is None) == (base == "svm")


def test_support_vector_regression_does_not_depend_on_units(data):
    one = data["regression"]
    row = measure(cell("tuned", "svm"), one)
    small = {name: getattr(one, name) * 2.0**-13 for name in ("y_train", "y_val", "y_test")}
    again = measure(cell("tuned", "svm"), replace(one, **small))
    assert again["score"] == pytest.approx(row["score"])
    assert again["tuned"] == row["tuned"]
    # It is better than with its defaults, on targets as they are.
    scaler = StandardScaler().fit(one.X_train)
    plain = SVR().fit(scaler.transform(one.X_train), one.y_train)
    assert row["score"] > plain.score(scaler.transform(one.X_test), one.y_test)


def test_no_more_neighbours_than_samples(data):
    one = data["regression"]
    few = replace(one, X_train=one.X_train[:30], y_train=one.y_train[:30])
    assert measure(cell("tuned", "knn"), few)["models"] == 10


def test_tuned_models_are_trained_on_both_parts_in_the_end(data):
    one = replace(data["classification"], refit=True)
    n_candidates = len(ParameterGrid(dict(BASE_GRIDS["tree"])))
    assert measure(cell("tuned", "tree"), one)["models"] == n_candidates + 1
    assert measure(cell("hgb", max_iter=2), one)["models"] == 2 * 19


@pytest.mark.parametrize("task", TASKS)
def test_stacking_has_the_base_models_of_auto(data, task):
    one = data[task]
    row = measure(cell("stack"), one)
    names = [name for name, _ in peers.portfolio_of(one)]
    assert row["models"] == 6 * len(names) + 1
    assert row["score"] > {"regression": 0.5, "classification": 0.7}[task]
    assert (row["log_loss"] is None) == (task == "regression")
    assert row["score"] == measure(cell("stack"), one)["score"]
    kind = {"regression": PRSRegressor, "classification": PRSClassifier}[task]
    model = kind("auto", n_estimators=4, max_iter=1, solver=Solver.quick(), random_state=0)
    assert names == list(model.fit(one.X_train, one.y_train).shares_)


def test_stacking_does_not_depend_on_units(data):
    one = data["regression"]
    large = {name: getattr(one, name) * 2.0**13 for name in ("y_train", "y_test")}
    expected = measure(cell("stack"), one)["score"]
    assert measure(cell("stack"), replace(one, **large))["score"] == pytest.approx(expected)

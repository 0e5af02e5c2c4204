"""How methods are trained, tuned and measured."""

import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from randsub import PRSClassifier
from randsub.baselines.random_subspace import candidate_sizes
from randsub.datasets import make_friedman, make_hypercube
from randsub.penalties import ExpectedSize
from randsub.reproduce.cells import Cell
from randsub.reproduce.methods import Problem, measure
from randsub.reproduce.settings import PAPER, prs_parameters

SMALL = {**PAPER, "n_estimators": 10, "n_batches": 2}


def problem(make, task):
    X, y, relevant = make(160, 5, random_state=0)
    return Problem(task, X[:80], y[:80], X[80:120], y[80:120], X[120:], y[120:], relevant)


@pytest.fixture(scope="module")
def regression():
    return problem(make_friedman, "regression")


@pytest.fixture(scope="module")
def classification():
    return problem(make_hypercube, "classification")


def cell(method, base="", **params):
    return Cell("simulated", "friedman", 0, method, base, params=params)


def test_sizes_as_the_paper_rounds_them():
    assert candidate_sizes(305) == [1, 3, 6, 15, 17, 30, 61, 102, 152, 305]
    assert candidate_sizes(1) == [1]
    assert candidate_sizes(7)[-1] == 7


def test_single_model_is_scaled_and_trained_on_training_samples_alone(regression):
    scaler = StandardScaler().fit(regression.X_train)
    model = KNeighborsRegressor().fit(scaler.transform(regression.X_train), regression.y_train)
    row = measure(cell("single", "knn"), regression)
    expected = model.score(scaler.transform(regression.X_test), regression.y_test)
    assert row["score"] == pytest.approx(expected)
    assert (row["models"], row["size"], row["aupr"]) == (1, 10.0, None)


def test_forest_is_the_best_on_validation(classification):
    row = measure(cell("rf", n_estimators=5), classification)
    sizes = candidate_sizes(10)
    forests = [
        RandomForestClassifier(5, max_features=size, random_state=1000).fit(
            classification.X_train, classification.y_train
        )
        for size in sizes
    ]
    scores = [forest.score(classification.X_val, classification.y_val) for forest in forests]
    best = int(np.argmax(scores))
    assert row["tuned"] == sizes[best]
    assert row["score"] == forests[best].score(classification.X_test, classification.y_test)
    assert row["models"] == 5 * len(sizes)
    assert 0.0 < row["aupr"] <= 1.0


def test_boosting_counts_the_trees_of_every_depth(regression):
    row = measure(cell("gbdt", n_estimators=3), regression)
    assert row["models"] == 3 * 10
    assert 1 <= row["tuned"] <= 10


def test_prs_is_the_estimator_with_these_parameters(classification):
    params = prs_parameters(SMALL, 3)
    row = measure(cell("prs", "knn", **params, data="of no meaning to it"), classification)
    model = PRSClassifier(KNeighborsClassifier(), random_state=1000, **params).fit(
        classification.X_train,
        classification.y_train,
        X_val=classification.X_val,
        y_val=classification.y_val,
    )
    assert row["score"] == model.score(classification.X_test, classification.y_test)
    assert row["size"] == model.expected_size_
    assert row["models"] == model.n_models_trained_
    assert row["epochs"] == 3


def test_prs_chooses_its_penalty_on_validation(classification):
    params = prs_parameters(SMALL, 3)
    row = measure(cell("prs", "knn", **params, penalties=[0.1, 0.001]), classification)
    scores, models = {}, 0
    for coefficient in (0.1, 0.001):
        penalised = {**params, "penalty": ExpectedSize(coefficient)}
        model = PRSClassifier(KNeighborsClassifier(), random_state=1000, **penalised).fit(
            classification.X_train,
            classification.y_train,
            X_val=classification.X_val,
            y_val=classification.y_val,
        )
        scores[coefficient] = model.score(classification.X_val, classification.y_val)
        models += model.n_models_trained_
    assert scores[row["tuned"]] == max(scores.values())
    assert row["models"] == models


class StandIn:
    """Takes the parameters of the baselines and keeps what it was given."""

    made: ClassVar[list[tuple[int, dict[str, Any]]]] = []

    def __init__(self, estimator, random_state, **params):
        self.made.append((random_state, params))

    def fit(self, X, y, X_val, y_val):
        self.expected_size_, self.n_models_trained_ = 4.0, len(X) + len(X_val)
        self.alpha_ = np.arange(X.shape[1])[::-1]
        return self

    def score(self, X, y):
        return float(len(X))


def test_baselines_are_given_what_they_need(regression, monkeypatch):
    rooms = SimpleNamespace(RandomSubspaceRegressor=StandIn, RaSERegressor=StandIn)
    monkeypatch.setitem(sys.modules, "randsub.baselines", rooms)
    monkeypatch.setattr(StandIn, "made", [])
    row = measure(cell("rs", "knn", n_estimators=7, data="x"), regression)
    assert (row["size"], row["tuned"], row["models"], row["aupr"]) == (4.0, 4.0, 120, None)
    assert row["score"] == 40.0
    row = measure(cell("rase", "knn", n_estimators=7, n_candidates=2, max_iter=3), regression)
    assert (row["size"], row["epochs"], row["models"]) == (4.0, 3, 120)
    assert row["aupr"] is not None
    assert StandIn.made == [
        (1000, {"n_estimators": 7, "max_features": "validation"}),
        (1000, {"n_estimators": 7, "n_candidates": 2, "max_iter": 3}),
    ]


@pytest.mark.parametrize("method", ["rs", "rase"])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_baselines_themselves(method, task, request):
    params = {"n_estimators": 5}
    if method == "rase":
        params |= {"n_candidates": 2, "max_iter": 1}
    row = measure(cell(method, "knn", **params), request.getfixturevalue(task))
    assert row["models"] >= 5
    assert 1.0 <= row["size"] <= 10.0
    assert (row["aupr"] is not None) == (method == "rase")


def test_the_paper_s_settings():
    params = prs_parameters(PAPER)
    assert params["max_iter"] == 3000
    assert params["n_batches"] == 10
    assert params["ess_threshold"] == 0.9
    assert not params["self_normalize"]
    assert params["n_revivals"] == 0
    assert prs_parameters(PAPER, 7)["max_iter"] == 7
    assert not {"n_jobs", "random_state", "estimator", "verbose"} & set(params)
    assert prs_parameters({})["max_iter"] == PRSClassifier().max_iter

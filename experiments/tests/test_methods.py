"""How methods are trained, tuned and measured."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from flat_parameters import flat
from randsub import (
    PRSClassifier,
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
    RaSEClassifier,
    RaSERegressor,
)
from randsub.datasets import make_friedman, make_hypercube
from randsub.estimators.random_subspace import candidate_sizes
from randsub.penalties import ExpectedSize
from randsub.solver import Solver, Window
from randsub_experiments import methods
from randsub_experiments.cells import Cell
from randsub_experiments.methods import measure
from randsub_experiments.peers import STRENGTHS
from randsub_experiments.problem import Problem
from randsub_experiments.prs_settings import (
    CLASSIFIERS_ONLY,
    PAPER,
    portfolio_parameters,
    prs_parameters,
    with_solver,
)

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
    model = PRSClassifier(KNeighborsClassifier(), **flat(random_state=1000, **params)).fit(
        classification.X_train,
        classification.y_train,
        X_val=classification.X_val,
        y_val=classification.y_val,
    )
    assert row["score"] == model.score(classification.X_test, classification.y_test)
    assert row["size"] == model.expected_size_
    assert row["models"] == model.n_models_trained_
    assert row["epochs"] == 3


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_auto_is_prs_that_chooses_its_base_models(task, request):
    data = request.getfixturevalue(task)
    params = prs_parameters({"n_estimators": 4, "n_batches": 2}, 2)
    row = measure(cell("auto", **params, **portfolio_parameters()), data)
    unknown = CLASSIFIERS_ONLY if task == "regression" else ()
    given = {name: value for name, value in params.items() if name not in unknown}
    model = methods._PRS[task]("auto", **flat(random_state=1000, **given)).fit(
        data.X_train, data.y_train, X_val=data.X_val, y_val=data.y_val
    )
    assert row["score"] == model.score(data.X_test, data.y_test)
    assert (row["models"], row["epochs"]) == (model.n_models_trained_, 2)
    assert row["size"] == model.expected_size_
    truth = np.isin(np.arange(data.n_features), data.relevant)
    assert row["aupr"] == average_precision_score(truth, model.alpha_)


def test_prs_chooses_its_penalty_on_validation(classification):
    params = prs_parameters(SMALL, 3)
    row = measure(cell("prs", "knn", **params, penalties=[0.1, 0.001]), classification)
    scores, models = {}, 0
    for coefficient in (0.1, 0.001):
        penalised = {**params, "penalty": ExpectedSize(coefficient)}
        model = PRSClassifier(KNeighborsClassifier(), **flat(random_state=1000, **penalised)).fit(
            classification.X_train,
            classification.y_train,
            X_val=classification.X_val,
            y_val=classification.y_val,
        )
        scores[coefficient] = model.score(classification.X_val, classification.y_val)
        models += model.n_models_trained_
    assert scores[row["tuned"]] == max(scores.values())
    assert row["models"] == models


def test_a_coefficient_of_zero_is_no_penalty(classification):
    params = prs_parameters(SMALL, 3)
    plain = measure(cell("prs", "knn", **params), classification)
    row = measure(cell("prs", "knn", **params, penalties=[0.0]), classification)
    assert row["tuned"] == 0.0
    assert {**row, "tuned": None, "seconds": 0} == {**plain, "seconds": 0}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_l1_is_tuned_on_training_and_validation_samples(n_classes):
    X, _, relevant = make_hypercube(300, 5, random_state=0)
    y = np.digitize(X[:, relevant[0]], [-0.5, 0.5][: n_classes - 1])
    data = Problem("classification", X[:80], y[:80], X[80:120], y[80:120], X[120:], y[120:])
    row = measure(cell("l1"), data)
    assert row["score"] > 0.8
    assert row["tuned"] in STRENGTHS
    assert 1 <= row["size"] <= 10
    n_separate = 1 if n_classes == 2 else n_classes
    assert row["models"] == n_separate * (5 * len(STRENGTHS) + 1)
    # Wrong targets of all validation samples change the choice.
    wrong = replace(data, y_val=np.roll(y[80:120], 1))
    assert measure(cell("l1"), wrong)["tuned"] != row["tuned"]


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("method", ["single", "rf", "gbdt", "l1"])
def test_samples_of_the_final_model(method, refit, classification, monkeypatch):
    """Training samples alone, or validation samples too; never test samples."""
    base = {"single": "tree"}.get(method, "")
    params = {"n_estimators": 3} if method in ("rf", "gbdt") else {}
    data = replace(classification, refit=refit)
    row = measure(cell(method, base, **params), data)
    seen = []
    final = classification.both if refit else (classification.X_train, classification.y_train)
    monkeypatch.setattr(Problem, "final", property(lambda self: seen.append(1) or final))
    again = measure(cell(method, base, **params), replace(data, refit=True))
    assert seen
    assert again["score"] == row["score"]
    assert len(classification.both[0]) == 120


@pytest.mark.parametrize("penalties", [[], [0.0, 0.01]])
def test_ensembles_that_set_validation_samples_aside(classification, penalties):
    params = prs_parameters(SMALL, 3)
    more = {"penalties": penalties} if penalties else {}
    row = measure(cell("prs", "knn", **params, **more), replace(classification, refit=True))
    models = []
    for coefficient in penalties or [0.0]:
        one = {**params, "penalty": ExpectedSize(coefficient) if coefficient else None}
        model = PRSClassifier(KNeighborsClassifier(), **flat(random_state=1000, **one))
        models.append(model.fit(*classification.both))
    best = min(models, key=lambda model: model.validation_loss_)
    assert row["score"] == best.score(classification.X_test, classification.y_test)
    assert row["models"] == sum(model.n_models_trained_ for model in models)


BASELINES = {
    ("rs", "regression"): RandomSubspaceRegressor,
    ("rs", "classification"): RandomSubspaceClassifier,
    ("rase", "regression"): RaSERegressor,
    ("rase", "classification"): RaSEClassifier,
}
NEIGHBORS = {"regression": KNeighborsRegressor, "classification": KNeighborsClassifier}


@pytest.mark.parametrize(("method", "task"), list(BASELINES))
def test_a_baseline_is_the_estimator_trained_on_the_same_parts(method, task, request):
    data = request.getfixturevalue(task)
    params = {"n_estimators": 5} | (
        {"n_candidates": 4, "max_iter": 2} if method == "rase" else {"max_features": "validation"}
    )
    given = {name: value for name, value in params.items() if name != "max_features"}
    row = measure(cell(method, "knn", **given), data)
    model = BASELINES[method, task](NEIGHBORS[task](), random_state=1000, **params)
    model.fit(data.X_train, data.y_train, X_val=data.X_val, y_val=data.y_val)
    assert row["score"] == model.score(data.X_test, data.y_test)
    assert row["size"] == model.expected_size_
    assert row["models"] == model.n_models_trained_
    if method == "rs":
        assert (row["tuned"], row["aupr"]) == (model.max_features_, None)
    else:
        truth = np.isin(np.arange(data.n_features), data.relevant)
        assert row["aupr"] == average_precision_score(truth, model.alpha_)
        assert row["epochs"] == 2


@pytest.mark.parametrize("method", ["prs", "auto", "rs", "rase"])
def test_nothing_is_compiled_in_the_time_that_is_taken(method, classification, monkeypatch):
    """What a method needs is called by a tiny fit before the clock starts."""
    calls, fits = [], []
    kinds = {"rs": methods._SUBSPACE, "rase": methods._RASE}.get(method, methods._PRS)
    is_prs = kinds is methods._PRS

    class Watched(kinds["classification"]):
        def fit(self, X, y, **more):
            calls.append("fit")
            fits.append((len(X), getattr(self._solver(), "self_normalize", None)))
            return super().fit(X, y, **more)

    monkeypatch.setitem(kinds, "classification", Watched)
    clock = SimpleNamespace(perf_counter=lambda: calls.append("clock") or 0.0)
    monkeypatch.setattr(methods, "time", clock)
    methods.compile_engines.cache_clear()
    small = {"n_estimators": 4, **({"n_candidates": 2, "max_iter": 1} if method == "rase" else {})}
    params = prs_parameters(SMALL, 2) if is_prs else small
    try:
        measure(cell(method, "" if method == "auto" else "knn", **params), classification)
    finally:
        methods.compile_engines.cache_clear()
    before = calls.index("clock")
    assert calls == ["fit"] * before + ["clock", "fit", "clock"]
    assert before >= 1
    assert {way for _, way in fits[:before]} == ({True, False} if is_prs else {None})


def test_the_paper_s_settings():
    params = prs_parameters(PAPER)
    assert params["max_iter"] == 3000
    assert params["n_batches"] == 10
    assert params["ess_threshold"] == 0.9
    assert not params["self_normalize"]
    assert params["n_revivals"] == 0
    assert prs_parameters(PAPER, 7)["max_iter"] == 7
    assert not {"n_jobs", "random_state", "estimator", "verbose"} & set(params)
    # Nothing of it is left to the constructor.
    assert params == PAPER
    assert prs_parameters({})["max_iter"] == Solver().max_iter


def test_settings_become_a_solver():
    made = with_solver(prs_parameters(PAPER))
    assert made.pop("solver").get_params() == {**Solver.paper().get_params(), "revival_level": 0.02}
    changed = {"alpha_init": 0.05, "bootstrap": False, "n_repeats": 1, "n_iter_no_change": None}
    changed |= {"voting": "hard", "calibrate": False}
    assert {**PRSClassifier().get_params(deep=False), **changed}.items() >= made.items()
    made = PRSClassifier(**with_solver(prs_parameters({})))
    assert made.solver.get_params() == Solver().get_params()
    made = with_solver(prs_parameters({"refresh": "window", "n_generations": 4}, 7))
    assert repr(made["solver"]) == repr(Solver(max_iter=7, refresh=Window(4)))

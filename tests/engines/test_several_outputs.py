"""Engines on several outputs: the truth is scikit-learn's own model, fitted on the same columns."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    MultiTaskElasticNet,
    MultiTaskLasso,
    Ridge,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from randsub.engines import ENGINES, GenericEngine, KNNEngine, Learner
from randsub.engines.target_units import Unit, needs_units, unit_of

# Some base models are left to scikit-learn here, which a fit says.
pytestmark = pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")

RNG = np.random.default_rng(0)
X, X_NEW = RNG.normal(size=(50, 5)), RNG.normal(size=(13, 5))
NUMBERS = RNG.normal(size=(50, 3)) + X[:, :3]
LABELS = (NUMBERS > 0.2).astype(int)
MASKS = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 1, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]], dtype=bool)
SEEDS = np.arange(4)


def truth(base, y, voting=None):
    """Predictions (T, n, C) of a plain loop over the masks."""
    found = []
    for mask in MASKS:
        if not mask.any():
            shares = [y.mean(axis=0)] * len(X_NEW)
            found.append(np.round(shares) if voting == "hard" else np.array(shares))
            continue
        model = clone(base).fit(X[:, mask], y)
        if voting == "soft":
            found.append(np.column_stack([p[:, 1] for p in model.predict_proba(X_NEW[:, mask])]))
        else:
            found.append(model.predict(X_NEW[:, mask]))
    values = np.array(found, dtype=float)
    if voting is None:
        return values
    return np.stack([1.0 - values, values], axis=-1).reshape(*values.shape[:2], -1)


@pytest.mark.parametrize("engine", [GenericEngine, KNNEngine])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [3, 5, 20])
def test_neighbours_give_the_mean_of_each_output(engine, weights, k):
    base = KNeighborsRegressor(k, weights=weights)
    assert engine.is_usable_for(base, X, NUMBERS, None)
    learner = Learner(base, n_targets=3)
    answer = engine(learner).predict_many(X, NUMBERS, MASKS, X_NEW, SEEDS)
    np.testing.assert_allclose(answer, truth(base, NUMBERS), rtol=1e-12)


@pytest.mark.parametrize("engine", [GenericEngine, KNNEngine])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("k", [3, 4, 20])
def test_neighbours_vote_on_each_label(engine, weights, voting, k):
    base = KNeighborsClassifier(k, weights=weights)
    assert engine.is_usable_for(base, X, LABELS, None)
    learner = Learner(base, np.array([0, 1]), voting, n_targets=3)
    answer = engine(learner).predict_many(X, LABELS, MASKS, X_NEW, SEEDS)
    np.testing.assert_allclose(answer, truth(base, LABELS, voting), rtol=1e-12)


@pytest.mark.parametrize("voting", [None, "hard", "soft"])
def test_fitted_neighbours_answer_as_scikit_learns_own(voting):
    base, y, classes = KNeighborsRegressor(4), NUMBERS, None
    if voting is not None:
        base, y, classes = KNeighborsClassifier(4), LABELS.copy(), np.array([0, 1])
        # A label of which only one value was seen.
        y[:, 2] = 1
    engine = KNNEngine(Learner(base, classes, voting or "hard", n_targets=3))
    generic = GenericEngine(engine.learner)
    (model,) = generic.fit_many(X, y, MASKS[1:2], SEEDS[1:2])
    expected = generic.predict_many(X, y, MASKS[1:2], X_NEW, SEEDS[1:2])[0]
    np.testing.assert_allclose(
        engine.predict_fitted(model, X_NEW[:, MASKS[1]]), expected, rtol=1e-12
    )


def test_a_member_of_another_number_of_outputs_answers_for_itself():
    engine = KNNEngine(Learner(KNeighborsRegressor(4), n_targets=3))
    other = KNeighborsRegressor(4).fit(X, NUMBERS[:, 0])
    assert engine.predict_fitted(other, X_NEW) is None


def test_compiled_engines_but_that_of_neighbours_step_aside():
    for name, engine in ENGINES.items():
        for base in (DecisionTreeRegressor(), Ridge(), LinearRegression(), KNeighborsRegressor()):
            is_usable = engine.is_usable_for(base, X, NUMBERS, None)
            knn = name == "knn" and isinstance(base, KNeighborsRegressor)
            assert is_usable == (name == "generic" or knn)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "base",
    [
        Lasso(0.05),
        ElasticNet(0.05),
        MultiTaskLasso(0.05),
        MultiTaskElasticNet(0.05),
        MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0),
        MultiOutputRegressor(SVR()),
        MultiOutputRegressor(make_pipeline(StandardScaler(), Lasso(0.05))),
        make_pipeline(StandardScaler(), MultiOutputRegressor(SVR(kernel="linear"))),
    ],
    ids=lambda base: " ".join(repr(base).split())[:40],
)
def test_models_are_turned_back_to_the_units_of_each_output(base):
    assert needs_units(base)
    y = NUMBERS * [1.0, 1e6, 1e-4] + [0.0, 3e6, 5.0]
    unit = unit_of(y, np.ones(50))
    np.testing.assert_allclose(unit.of_targets(y).std(axis=0), 1.0)
    model = clone(base).fit(X, unit.of_targets(y))
    expected = unit.of_predictions(model.predict(X_NEW))
    unit.turn_back(model)
    np.testing.assert_allclose(model.predict(X_NEW), expected, rtol=1e-9)


def test_constant_outputs_have_the_unit_1():
    y = np.c_[NUMBERS[:, 0], np.full(50, 7.0)]
    unit = unit_of(y, np.ones(50))
    assert (unit.center[1], unit.scale[1]) == (7.0, 1.0)
    assert not needs_units(MultiOutputRegressor(KNeighborsRegressor()))
    assert isinstance(unit, Unit)

"""``engine_`` says who trained, and a warning why it was not the compiled engine."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Lasso, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from randsub import PRSRegressor, RandomSubspaceRegressor, RaSERegressor
from randsub.engines import GenericEngine
from randsub.exceptions import SlowEngineWarning
from randsub.network import PRSNetwork

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = X[:, 0] + 0.1 * RNG.normal(size=60)
FEW = {"n_estimators": 3, "random_state": 0}
QUICK = {**FEW, "max_iter": 2}


class Mine(GenericEngine):
    """An engine of a user."""


@pytest.mark.parametrize(
    ("model", "engine"),
    [
        (PRSRegressor(KNeighborsRegressor(), **QUICK), "knn"),
        (PRSRegressor(KNeighborsRegressor(), engine="generic", **QUICK), "generic"),
        (PRSRegressor(KNeighborsRegressor(), engine=Mine, **QUICK), "Mine"),
        (PRSRegressor(Lasso(0.01), **QUICK), "generic"),
        (
            PRSRegressor([("near", KNeighborsRegressor()), ("lasso", Lasso(0.01))], **QUICK),
            {"near": "knn", "lasso": "generic"},
        ),
        (RandomSubspaceRegressor(Ridge(), max_features=2, **FEW), "linear_and_bayes"),
        (RaSERegressor(Ridge(), n_candidates=2, cv=2, **QUICK), "linear_and_bayes"),
    ],
    ids=str,
)
def test_engine_of_a_fitted_model(model, engine):
    assert model.fit(X, Y, sample_weight=np.linspace(0.0, 1.0, 60)).engine_ == engine


def test_engine_of_a_network():
    network = PRSNetwork(KNeighborsRegressor(), lam=0.0, **QUICK).fit(X)
    assert network.engine_ == "knn"


def test_trees_with_weights_and_missing_values_stay_compiled():
    gaps = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    model = PRSRegressor(DecisionTreeRegressor(), **QUICK)
    assert model.fit(gaps, Y, sample_weight=np.linspace(0.1, 1.0, 60)).engine_ == "tree"
    assert np.isfinite(model.predict(gaps)).all()


def test_a_fallback_is_said_once_with_its_reason_and_the_remedy():
    model = PRSRegressor(KNeighborsRegressor(p=1), **QUICK)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert model.fit(X, Y).engine_ == "generic"
    assert [one.category for one in caught] == [SlowEngineWarning]
    for words in ("KNeighborsRegressor(p=1)", "'knn'", "p=1; use p=2", "engine='generic'"):
        assert words in str(caught[0].message)


def test_fallbacks_of_several_base_models_are_one_warning():
    names = ["near", "far", "tree"]
    bases = [
        ("near", KNeighborsRegressor(p=1)),
        ("far", KNeighborsRegressor(9, p=1)),
        ("tree", DecisionTreeRegressor(max_features=2)),
        ("ridge", Ridge()),
    ]
    model = PRSRegressor(bases, **QUICK)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engines = model.fit(X, Y).engine_
    assert engines == {**dict.fromkeys(names, "generic"), "ridge": "linear_and_bayes"}
    assert [one.category for one in caught] == [SlowEngineWarning]
    text = str(caught[0].message)
    assert f"The base models {', '.join(names)} are trained by scikit-learn" in text
    assert text.count("p=1; use p=2") == 1
    assert "'tree': does not support max_features=2; use None" in text

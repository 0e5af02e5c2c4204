"""How much memory the predictions of fitted models take beside the data."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from randsub.engines import (
    BoostingEngine,
    KNNEngine,
    Learner,
    LinearAndBayesEngine,
    SVMEngine,
    TreeEngine,
    compiled,
)

N_TRAIN, N, M = 600, 40_000, 5
MODELS = [
    (KNNEngine, KNeighborsRegressor()),
    (KNNEngine, KNeighborsClassifier()),
    (TreeEngine, DecisionTreeRegressor()),
    (TreeEngine, DecisionTreeClassifier()),
    (BoostingEngine, GradientBoostingRegressor(n_estimators=5)),
    (BoostingEngine, GradientBoostingClassifier(n_estimators=5)),
    (SVMEngine, SVR()),
    (SVMEngine, SVR(kernel="linear")),
    (SVMEngine, SVC()),
    (LinearAndBayesEngine, Ridge()),
    (LinearAndBayesEngine, LinearRegression()),
    (LinearAndBayesEngine, GaussianNB()),
    (LinearAndBayesEngine, LinearDiscriminantAnalysis()),
]


@pytest.fixture(scope="module", name="X")
def many_rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, M))


def fitted(kind, base, X):
    """An engine, and a model that it has fitted to the first rows."""
    y = X[:N_TRAIN, 0] + np.random.default_rng(1).normal(size=N_TRAIN)
    learner = Learner(base)
    if is_classifier(base):
        y = np.digitize(y, [-1.0, -0.5, 0.0, 0.5, 1.0])
        learner = Learner(base, np.arange(6), "hard")
    engine = kind(learner)
    [model] = engine.fit_many(X[:N_TRAIN], y, np.ones((1, M), dtype=bool), np.arange(1))
    return engine, model


@pytest.mark.parametrize(("kind", "base"), MODELS, ids=[str(base) for _, base in MODELS])
def test_predictions_for_many_rows_take_memory_for_copies_of_the_data(kind, base, X) -> None:
    engine, model = fitted(kind, base, X)
    # What is loaded and compiled once is not a matter of the data.
    engine.predict_fitted(model, X[:50])
    assert not tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        prediction = engine.predict_fitted(model, X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Copies of the data and of the predictions, then portions: 2 ** 18 numbers, several times.
    assert peak < 3 * X.nbytes + 5 * prediction.nbytes + 10 * 8 * compiled.PORTION


@pytest.mark.parametrize("n", [1, 300, 4160, 5003])
@pytest.mark.parametrize(("kind", "base"), MODELS, ids=[str(base) for _, base in MODELS])
def test_portions_have_the_bits_of_all_rows_at_once(kind, base, n, X, monkeypatch) -> None:
    engine, model = fitted(kind, base, X)
    # As wherever engines work: several threads of BLAS would share out the rows by their number.
    with threadpool_limits(1):
        portions = engine.predict_fitted(model, X[:n])
        monkeypatch.setattr(compiled, "PORTION", 2**60)
        np.testing.assert_array_equal(portions, engine.predict_fitted(model, X[:n]))

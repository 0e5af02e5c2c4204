"""Boosting with sample weights: as scikit-learn does it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from randsub.engines import BoostingEngine, GenericEngine, Learner


def answers(estimator, X, y, masks, X_query, weight, *, voting="soft", bootstrap=False):
    """Predictions of the engine, and of scikit-learn one model at a time."""
    classes = np.unique(y) if isinstance(estimator, GradientBoostingClassifier) else None
    learner = Learner(estimator, classes, voting, passes_weight=True, bootstrap=bootstrap)
    seeds = np.arange(len(masks))
    return [
        engine(learner).predict_many(X, y, masks, X_query, seeds, weight)
        for engine in (BoostingEngine, GenericEngine)
    ]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(60, 160),
    m=st.integers(1, 10),
    classes=st.sampled_from([None, 2, 3]),
    stages=st.integers(1, 8),
    rate=st.sampled_from([0.0, 0.1, 1.0]),
    depth=st.integers(1, 3),
    leaf=st.sampled_from([10, 14, 0.1]),
    offset=st.sampled_from([0.0, 1e4]),
    decimals=st.sampled_from([1, 8]),
    zeros=st.sampled_from([0.0, 0.3]),
    unit=st.sampled_from([1.0, 1e140, 1e-140]),
    bootstrap=st.booleans(),
)
def test_predictions_without_ties_are_scikit_learns(
    seed, n, m, classes, stages, rate, depth, leaf, offset, decimals, zeros, unit, bootstrap
):
    rng = np.random.default_rng(seed)
    X, X_query = (np.round(rng.normal(size=(size, m)), decimals) for size in (n, 20))
    y, kind = X[:, 0] + rng.normal(size=n), GradientBoostingClassifier
    if classes is None:
        y, kind = y + offset, GradientBoostingRegressor
    else:
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
    weight = unit * np.where(rng.random(n) < zeros, 0.0, rng.uniform(0.2, 5.0, n))
    estimator = kind(
        n_estimators=stages, learning_rate=rate, max_depth=depth, min_samples_leaf=leaf
    )
    masks = rng.random((3, m)) < 0.7
    masks[0] = True
    ours, theirs = answers(estimator, X, y, masks, X_query, weight, bootstrap=bootstrap)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


def test_a_class_without_weight_is_for_scikit_learn():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 4)), np.arange(90) % 3
    weight = np.where(y == 1, 0.0, rng.uniform(1.0, 2.0, 90))
    estimator = GradientBoostingClassifier(n_estimators=5, max_depth=1, random_state=0)
    for voting in ("soft", "hard"):
        ours, theirs = answers(estimator, X, y, np.eye(4, dtype=bool), X, weight, voting=voting)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_full_trees_are_as_good_as_those_of_scikit_learn(kind):
    """Of splits that part the same rows, scikit-learn's rounding takes one, here one is drawn."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 6))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=300)
    if kind is GradientBoostingClassifier:
        y = (y > 0).astype(int)
    weight, masks = rng.uniform(0.2, 3.0, 200), rng.random((60, 6)) < 0.6
    ours, theirs = answers(kind(n_estimators=20), X[:200], y[:200], masks, X[200:], weight)
    errors = [((found[:, :, -1] - y[200:]) ** 2).mean(axis=1) for found in (ours, theirs)]
    gaps = errors[0] - errors[1]
    assert abs(gaps.mean()) < 3.0 * gaps.std() / np.sqrt(60) + 1e-12

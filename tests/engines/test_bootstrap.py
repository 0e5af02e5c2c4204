"""Models that are trained on bootstrap samples of the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.engines import GenericEngine, KNNEngine, Learner, TreeEngine
from randsub.engines.bootstrap import bootstrap_rows
from randsub.exceptions import SlowEngineWarning

RNG = np.random.default_rng(0)
X, QUERY = RNG.normal(size=(120, 5)), RNG.normal(size=(30, 5))
Y = X[:, 0] + X[:, 1] ** 2 + 0.1 * RNG.normal(size=120)
MASKS = np.array([[1, 0, 0, 1, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=bool)
SEEDS = np.array([3, 8, 8, 2**31 - 2])


@settings(deadline=None)
@given(seed=st.integers(0, 2**31 - 2), n_rows=st.integers(1, 300))
def test_a_sample_has_as_many_rows_as_there_are(seed, n_rows):
    rows = bootstrap_rows(seed, n_rows)
    assert len(rows) == n_rows
    assert (np.diff(rows) >= 0).all()
    assert rows[0] >= 0
    assert rows[-1] < n_rows
    np.testing.assert_array_equal(rows, bootstrap_rows(seed, n_rows))


def test_all_rows_are_drawn_alike_and_independently():
    counts = np.array([np.bincount(bootstrap_rows(seed, 40), minlength=40) for seed in range(2000)])
    assert chisquare(counts.sum(axis=0)).pvalue > 1e-3
    # The share of rows that are not drawn at all.
    assert (counts == 0).mean() == pytest.approx((1 - 1 / 40) ** 40, abs=0.01)
    # Neighbouring seeds have nothing to do with each other.
    assert abs(np.corrcoef(counts[:-1].ravel(), counts[1:].ravel())[0, 1]) < 0.02


@pytest.mark.parametrize("engine", [GenericEngine, TreeEngine])
def test_each_model_is_trained_on_its_own_sample(engine):
    # Limits that leave no tied splits.
    tree = DecisionTreeRegressor(max_depth=2, min_samples_leaf=9)
    found = engine(Learner(tree, bootstrap=True)).predict_many(X, Y, MASKS, QUERY, SEEDS)
    for prediction, mask, seed in zip(found, MASKS, SEEDS, strict=True):
        if mask.any():
            rows = bootstrap_rows(seed, len(X))
            model = clone(tree).fit(X[np.ix_(rows, mask)], Y[rows])
            expected = model.predict(QUERY[:, mask])
        else:
            # A constant needs no sample.
            expected = np.full(len(QUERY), Y.mean())
        np.testing.assert_allclose(prediction[:, 0], expected, rtol=1e-12)


def test_compiled_trees_on_samples_are_as_good_as_those_of_scikit_learn():
    labels = (np.median(Y) < Y).astype(int)
    masks, seeds = np.tile(MASKS[3], (200, 1)), np.arange(200)
    for criterion in ("gini", "entropy"):
        learner = Learner(
            DecisionTreeClassifier(criterion=criterion), np.array([0, 1]), "hard", bootstrap=True
        )
        ours, theirs = (
            engine(learner).predict_many(X, labels, masks, QUERY, seeds).mean(axis=0)
            for engine in (TreeEngine, GenericEngine)
        )
        # They differ in how they break ties.
        np.testing.assert_allclose(ours, theirs, atol=0.1)


def test_weights_and_metadata_go_along():
    seen = []

    class Spy(LinearRegression):
        def fit(self, X, y, sample_weight=None, groups=None):
            seen.append((X[:, 0], sample_weight, groups))
            return super().fit(X, y)

    learner = Learner(Spy(), passes_weight=True, bootstrap=True)
    weight, groups = np.arange(120.0), np.arange(120) % 7
    GenericEngine(learner).fit_many(X, Y, MASKS[:1], SEEDS[:1], weight, {"groups": groups})
    rows = bootstrap_rows(SEEDS[0], 120)
    for found, whole in zip(seen[0], (X[:, 0], weight, groups), strict=True):
        np.testing.assert_array_equal(found, whole[rows])


def test_auto_is_for_trees_alone_and_not_for_wide_data():
    data = make_friedman(80, n_irrelevant=3, random_state=0)[:2]
    options = {"bootstrap": "auto", "max_iter": 5, "n_estimators": 5, "random_state": 0}
    for base, drawn, engine in [
        (DecisionTreeRegressor(), True, TreeEngine),
        (KNeighborsRegressor(), False, KNNEngine),
    ]:
        model = PRSRegressor(base, **options).fit(*data)
        assert model._engines[0].learner.bootstrap is drawn
        assert type(model._engines[0]) is engine
        same = clone(model).set_params(bootstrap=drawn).fit(*data)
        np.testing.assert_array_equal(same.alpha_, model.alpha_)
    wide = np.random.default_rng(0).normal(size=(30, 300))
    for n_features, drawn in [(299, True), (300, False)]:
        model = PRSRegressor(DecisionTreeRegressor(), **options)
        model.fit(wide[:, :n_features], wide[:, 0])
        assert model._engines[0].learner.bootstrap is drawn
    kneighbors = PRSRegressor(KNeighborsRegressor(), **{**options, "bootstrap": True})
    with pytest.warns(SlowEngineWarning, match="does not draw bootstrap samples"):
        assert kneighbors.fit(*data).engine_ == "generic"

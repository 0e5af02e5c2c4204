"""Compiled boosting: scikit-learn's where no splits are tied, and like it in law where they are."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)

from engine_choice import choose_engine, reason_to_step_aside
from randsub.datasets import make_friedman, make_hypercube
from randsub.engines import BoostingEngine, GenericEngine, Learner
from randsub.engines.boosting.losses import MORE_CLASSES, SQUARED_ERROR, TWO_CLASSES, residuals_of
from randsub.engines.bootstrap import bootstrap_rows
from randsub.exceptions import BaseModelError

X, Y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2

USABLE = [
    GradientBoostingRegressor(),
    GradientBoostingRegressor(n_estimators=3, learning_rate=0.5, max_depth=None, alpha=0.3),
    GradientBoostingRegressor(min_samples_split=0.1, min_samples_leaf=3, random_state=2),
    GradientBoostingRegressor(verbose=1, validation_fraction=0.5, tol=0.1),
    GradientBoostingClassifier(),
    GradientBoostingClassifier(max_depth=np.int64(2), learning_rate=0.0),
]
NOT_USABLE = [
    GradientBoostingRegressor(loss="absolute_error"),
    GradientBoostingRegressor(loss="huber"),
    GradientBoostingClassifier(loss="exponential"),
    GradientBoostingRegressor(subsample=0.5),
    GradientBoostingRegressor(max_features=2),
    GradientBoostingRegressor(max_leaf_nodes=5),
    GradientBoostingRegressor(min_weight_fraction_leaf=0.1),
    GradientBoostingRegressor(min_impurity_decrease=0.1),
    GradientBoostingRegressor(ccp_alpha=0.1),
    GradientBoostingRegressor(init="zero"),
    GradientBoostingRegressor(init=GradientBoostingRegressor()),
    GradientBoostingRegressor(n_iter_no_change=3),
    GradientBoostingRegressor(warm_start=True),
    GradientBoostingRegressor(n_estimators=0),
    GradientBoostingRegressor(max_depth=0),
    HistGradientBoostingRegressor(),
]


@pytest.mark.parametrize("estimator", USABLE)
def test_auto_takes_it(estimator):
    assert choose_engine("auto", estimator, X, Y, None) is BoostingEngine
    assert choose_engine("auto", estimator, pd.DataFrame(X), Y, np.ones(40)) is BoostingEngine


@pytest.mark.parametrize("estimator", NOT_USABLE)
def test_auto_falls_back(estimator):
    reason_to_step_aside(estimator, X, Y)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_every_parameter_has_been_thought_of(kind):
    """One that a new scikit-learn brings must be supported, or refused, by decision."""
    # How splits are compared is the same for all values.
    known = {"criterion"}
    for estimator in USABLE + NOT_USABLE[:-1]:
        params, default = estimator.get_params(deep=False), type(estimator)().get_params()
        known |= {name for name in params if params[name] != default[name]}
    assert set(kind().get_params()) <= known


@pytest.mark.parametrize(
    "table",
    [
        csr_array(X),
        pd.DataFrame(X).assign(text="a"),
        np.where(X > 2.0, np.nan, X),
        np.where(X < -1.5, -1e39, X),
    ],
)
def test_auto_falls_back_for_other_data(table):
    reason_to_step_aside(GradientBoostingRegressor(), table, Y)


def answers(estimator, X, y, masks, X_query, voting="soft", *, classes=None, bootstrap=False):
    """Predictions of the engine, and of scikit-learn one model at a time."""
    if classes is None and isinstance(estimator, GradientBoostingClassifier):
        classes = np.unique(y)
    learner = Learner(estimator, classes, voting, bootstrap=bootstrap)
    seeds = np.arange(len(masks))
    return [
        engine(learner).predict_many(X, y, masks, X_query, seeds)
        for engine in (BoostingEngine, GenericEngine)
    ]


def some_masks(rng, m, n=3):
    masks = rng.random((n, m)) < 0.7
    masks[0] = True
    return masks


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(60, 200),
    m=st.integers(1, 12),
    q=st.integers(1, 40),
    stages=st.integers(1, 12),
    rate=st.sampled_from([0.0, 0.1, 1.0]),
    depth=st.integers(1, 3),
    leaf=st.sampled_from([8, 12, 0.1]),
    split=st.sampled_from([2, 30, 0.4]),
    offset=st.sampled_from([0.0, 1e4]),
    decimals=st.sampled_from([1, 8]),
    bootstrap=st.booleans(),
)
def test_regression_without_ties_is_scikit_learns(
    seed, n, m, q, stages, rate, depth, leaf, split, offset, decimals, bootstrap
):
    rng = np.random.default_rng(seed)
    X, X_query = (np.round(rng.normal(size=(size, m)), decimals) for size in (n, q))
    y = X[:, 0] + rng.normal(size=n) + offset
    estimator = GradientBoostingRegressor(
        n_estimators=stages,
        learning_rate=rate,
        max_depth=depth,
        min_samples_leaf=leaf,
        min_samples_split=split,
    )
    ours, theirs = answers(estimator, X, y, some_masks(rng, m), X_query, bootstrap=bootstrap)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(30, 150),
    classes=st.integers(2, 5),
    stages=st.integers(1, 12),
    rate=st.sampled_from([0.1, 1.0]),
    depth=st.integers(1, 2),
    leaf=st.sampled_from([5, 0.1]),
    voting=st.sampled_from(["soft", "hard"]),
    bootstrap=st.booleans(),
)
def test_classification_on_one_column_is_scikit_learns(
    seed, n, classes, stages, rate, depth, leaf, voting, bootstrap
):
    """No two columns to choose from, so only places within a column can be tied."""
    rng = np.random.default_rng(seed)
    X, X_query = rng.normal(size=(n, 3)), rng.normal(size=(20, 3))
    # Continuous residuals from the second stage on, and a first split that is no matter of chance.
    y = np.digitize(X.sum(axis=1) + rng.normal(size=n), np.linspace(-2, 2, classes + 1)[1:-1])
    estimator = GradientBoostingClassifier(
        n_estimators=stages, learning_rate=rate, max_depth=depth, min_samples_leaf=leaf
    )
    ours, theirs = answers(
        estimator, X, y, np.eye(3, dtype=bool), X_query, voting, bootstrap=bootstrap
    )
    same = np.isclose(ours, theirs, rtol=1e-9, atol=1e-9).all(axis=(1, 2))
    for t in np.flatnonzero(~same):
        # Places that are tied but for rounding: the ensembles fit the training set equally well.
        fit, other = answers(estimator, X, y, np.eye(3, dtype=bool)[[t]], X, bootstrap=False)
        assert log_loss(fit[0], y) == pytest.approx(log_loss(other[0], y), rel=0.05)
    assert same.sum() >= 2


def log_loss(shares, y):
    codes = np.searchsorted(np.unique(y), y)
    return -np.log(np.clip(shares[np.arange(len(y)), codes], 1e-12, 1.0)).mean()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_classification_in_large_leaves_is_scikit_learns(classes, voting, bootstrap):
    rng = np.random.default_rng(7)
    X, X_query = rng.normal(size=(900, 9)), rng.normal(size=(50, 9))
    height = X[:, 0] + 0.8 * X[:, 8] + rng.normal(size=900)
    y = np.digitize(height, np.quantile(height, np.linspace(0, 1, classes + 1)[1:-1]))
    estimator = GradientBoostingClassifier(n_estimators=15, min_samples_leaf=60)
    ours, theirs = answers(
        estimator, X, y, some_masks(rng, 9), X_query, voting, bootstrap=bootstrap
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    assert len(np.unique(ours)) == 2 or voting == "soft"


@pytest.mark.parametrize("bootstrap", [False, True])
def test_each_model_is_trained_on_its_own_sample(bootstrap):
    rng = np.random.default_rng(1)
    X, X_query = rng.normal(size=(150, 5)), rng.normal(size=(30, 5))
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=150)
    base = GradientBoostingRegressor(n_estimators=20, min_samples_leaf=10)
    masks = some_masks(rng, 5, 6)
    ours, _ = answers(base, X, y, masks, X_query, bootstrap=bootstrap)
    for seed, (found, mask) in enumerate(zip(ours, masks, strict=True)):
        rows = bootstrap_rows(seed, 150) if bootstrap else np.arange(150)
        model = clone(base).fit(X[np.ix_(rows, mask)], y[rows])
        np.testing.assert_allclose(found[:, 0], model.predict(X_query[:, mask]), rtol=1e-9)


@pytest.mark.parametrize("present", [[0, 2], [1, 2, 3]])
def test_classes_that_are_missing_have_no_probability(present):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 4))
    y = np.array(present)[
        np.digitize(X[:, 0] + rng.normal(size=300), [0.0, 0.8][: len(present) - 1])
    ]
    base = GradientBoostingClassifier(n_estimators=10, max_depth=2, min_samples_leaf=30)
    ours, theirs = answers(base, X, y, some_masks(rng, 4), X, classes=np.arange(4))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert (ours[:, :, np.setdiff1d(np.arange(4), present)] == 0.0).all()


@pytest.mark.parametrize("rare", [1, 2])
def test_a_bootstrap_sample_may_lose_a_class(rare):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] > 0.3, 4, 0) if rare == 2 else np.zeros(80, int)
    y[5] = 7
    base = GradientBoostingClassifier(n_estimators=5, max_depth=1, min_samples_leaf=15)
    masks = np.tile([[True, False]], (12, 1))
    ours, theirs = answers(base, X, y, masks, X, bootstrap=True)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    lost = np.array([not (y[bootstrap_rows(seed, 80)] == 7).any() for seed in range(12)])
    assert 0 < lost.sum() < 12
    assert (ours[lost, :, -1] == 0.0).all()
    assert (ours[~lost, :, -1] > 0.0).all()


def test_thousands_of_rows_and_trees_of_many_nodes():
    """Queries walk down trees that are too large for all of their splits to be made."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(6000, 11))
    y = X[:, 0] * X[:, 10] + rng.normal(size=6000)
    for depth in (None, 4, 5):
        estimator = GradientBoostingRegressor(
            n_estimators=4, max_depth=depth, min_samples_leaf=30, learning_rate=0.3
        )
        ours, theirs = answers(estimator, X[:5000], y[:5000], np.ones((1, 11), bool), X[5000:])
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_values_that_are_almost_the_same():
    """Neighbours within 1e-7 are one value, and which are neighbours depends on the node."""
    rng = np.random.default_rng(0)
    for step in (3e-8, 6e-8, 9e-8, 1.2e-7):
        x = rng.permutation(np.arange(60) // 2 * step * rng.integers(1, 4, 60))[:, None]
        y = rng.normal(size=60)
        base = GradientBoostingRegressor(n_estimators=5, learning_rate=0.5)
        ours, theirs = answers(base, x, y, np.ones((1, 1), bool), x)
        assert 1 < len(np.unique(theirs)) < 60
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_tied_columns_give_the_ensembles_of_scikit_learn():
    """In a first stage two classes have two residuals, and splits of equal counts are tied."""
    x = np.arange(12.0)
    X = np.column_stack([x, x[::-1] ** 3, np.r_[x[6:], x[:6]]])
    y = (x >= 6).astype(int)
    queries = np.random.default_rng(0).uniform(0, 12, size=(15, 3))
    base = GradientBoostingClassifier(n_estimators=2, max_depth=1, learning_rate=0.7)
    ours, theirs = answers(base, X, y, np.ones((120, 3), bool), queries)
    kinds = [np.unique(found[:, :, 1].round(9), axis=0) for found in (ours, theirs)]
    assert len(kinds[0]) == len(kinds[1]) > 3
    np.testing.assert_allclose(*kinds, atol=1e-8)
    again, _ = answers(base, X, y, np.ones((120, 3), bool), queries)
    np.testing.assert_array_equal(ours, again)


def test_six_classes_have_the_same_few_first_stages():
    """Which of them is drawn differs; which there are to draw from does not."""
    rng = np.random.default_rng(7)
    X, X_query = rng.normal(size=(900, 9)), rng.normal(size=(50, 9))
    height = X[:, 0] + 0.8 * X[:, 8] + rng.normal(size=900)
    y = np.digitize(height, np.quantile(height, np.linspace(0, 1, 7)[1:-1]))
    base = GradientBoostingClassifier(n_estimators=1, min_samples_leaf=60)
    ours, theirs = answers(base, X, y, np.ones((40, 9), bool), X_query)
    kinds = [np.unique(found.round(9), axis=0) for found in (ours, theirs)]
    assert len(kinds[0]) == len(kinds[1]) == 4
    np.testing.assert_allclose(*kinds, atol=1e-8)


@pytest.mark.parametrize(
    "case",
    [
        (make_friedman, GradientBoostingRegressor(n_estimators=30)),
        (make_friedman, GradientBoostingRegressor(n_estimators=10, max_depth=None)),
        (make_hypercube, GradientBoostingClassifier(n_estimators=30)),
        (make_hypercube, GradientBoostingClassifier(n_estimators=10, max_depth=5)),
    ],
    ids=lambda case: str(case[1]),
)
def test_the_test_error_over_80_masks_cannot_be_told_apart(case):
    make, estimator = case
    X, y, _ = make(n_samples=250, n_irrelevant=15, random_state=0)
    masks = np.random.default_rng(0).random((80, X.shape[1])) < 0.3
    ours, theirs = answers(estimator, X[:150], y[:150], masks, X[150:])
    target = y[150:] if make is make_friedman else np.eye(2)[y[150:]]
    target = target.reshape(100, -1)
    gaps = ((ours - target) ** 2).mean(axis=(1, 2)) - ((theirs - target) ** 2).mean(axis=(1, 2))
    assert abs(gaps.mean()) < 3.0 * gaps.std() / np.sqrt(80) + 1e-12


@pytest.mark.parametrize("kind", ["regression", "two classes", "three classes"])
def test_columns_that_say_nothing_and_targets_that_are_all_fitted(kind):
    """Constant columns, and so many steps that residuals vanish."""
    x = np.repeat(np.arange(6.0), 10)
    X = np.column_stack([np.full(60, 7.0), x])
    y = x if kind == "regression" else (x // (3 if kind == "two classes" else 2)).astype(int)
    base = GradientBoostingRegressor if kind == "regression" else GradientBoostingClassifier
    estimator = base(n_estimators=300, learning_rate=1.0)
    ours, theirs = answers(estimator, X, y, np.array([[1, 0], [1, 1]], dtype=bool), X)
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_huge_values():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 2)) * [3e37, 1.0]
    base = GradientBoostingRegressor(n_estimators=5, max_depth=2, min_samples_leaf=20)
    y = X[:, 0] / 3e37 + rng.normal(size=120)
    for scale in (1e-30, 1e100):
        ours, theirs = answers(base, X, scale * y, np.ones((1, 2), bool), X)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    # Squares overflow: whatever scikit-learn makes of it.
    ours, theirs = answers(base, X, 1e200 * y, np.ones((1, 2), bool), X)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("strange", [np.nan, -np.inf])
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_queries_that_are_no_numbers_are_for_scikit_learn(strange, voting):
    """Only models that look at them are affected, and these answer as scikit-learn's do."""
    rng = np.random.default_rng(7)
    X, X_query = rng.normal(size=(60, 3)), rng.normal(size=(20, 3))
    X_query[::2, 0] = strange
    masks = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)
    base = GradientBoostingClassifier(n_estimators=3, max_depth=1, min_samples_leaf=15)
    y = np.digitize(X[:, 1] + 0.5 * X[:, 0], [-0.5, 0.5])
    with pytest.raises(BaseModelError, match=r"NaN|infinity"):
        answers(base, X, y, masks, X_query, voting)
    ours, theirs = answers(base, X, y, masks[1:], X_query, voting)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("classes", [None, 2, 3])
def test_fitted_models_are_asked_without_checks(classes, voting):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] + rng.normal(size=200)
    base, labels = GradientBoostingRegressor(n_estimators=7), None
    if classes is not None:
        y, base = np.digitize(y, [0.0, 0.9][: classes - 1]), GradientBoostingClassifier()
        # A class that the models do not know.
        labels = np.arange(classes + 1)
    learner = Learner(base, labels, voting)
    engine, generic = BoostingEngine(learner), GenericEngine(learner)
    masks = np.ones((1, 4), dtype=bool)
    [model] = engine.fit_many(X, y, masks, np.arange(1))
    expected = generic.predict_many(X, y, masks, X, np.arange(1))[0]
    np.testing.assert_allclose(engine.predict_fitted(model, X), expected, rtol=1e-12)
    assert engine.predict_fitted(model, np.where(X > 2.0, np.nan, X)) is None
    model.set_params(init="zero")
    assert engine.predict_fitted(model, X) is None


def test_even_odds_are_a_vote_for_the_second_class():
    """As in scikit-learn's predict: a raw prediction of zero is not below zero."""
    X, y = np.zeros((6, 1)), np.array([0, 1] * 3)
    base = GradientBoostingClassifier(n_estimators=2)
    ours, theirs = answers(base, X, y, np.ones((1, 1), bool), X, "hard")
    np.testing.assert_array_equal(ours, theirs)
    assert (ours == [0.0, 1.0]).all()


def test_residuals_are_those_of_scikit_learns_losses():
    rng = np.random.default_rng(9)
    y = rng.integers(0, 2, 2000).astype(float)
    raw = rng.normal(size=(1, 2000)) * 10.0 ** rng.integers(-3, 3, 2000)
    found = np.empty_like(raw)
    residuals_of(TWO_CLASSES, y, raw, found)
    wrong = 1.0 / (1.0 + np.exp(np.clip(np.where(y > 0, raw[0], -raw[0]), -700, 700)))
    np.testing.assert_allclose(found[0], np.where(y > 0, wrong, -wrong), rtol=1e-14, atol=1e-300)
    kinds, many = rng.integers(0, 4, 2000).astype(float), rng.normal(size=(4, 2000)) * 30.0
    found = np.empty_like(many)
    residuals_of(MORE_CLASSES, kinds, many, found)
    expected = np.eye(4)[kinds.astype(int)].T - softmax(many, axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    residuals_of(SQUARED_ERROR, y, raw, found[:1])
    np.testing.assert_array_equal(found[0], y - raw[0])

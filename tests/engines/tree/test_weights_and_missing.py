"""Compiled trees with sample weights and missing values: as scikit-learn grows them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub.datasets import make_friedman, make_hypercube
from randsub.engines import GenericEngine, Learner, TreeEngine
from randsub.engines.tree import engine as tree_engine

SHARE_OF_ZEROS = st.sampled_from([None, 0.0, 0.3])
SHARE_MISSING = st.sampled_from([0.0, 0.02, 0.4])


def answers(estimator, X, y, masks, X_query, weight=None, *, voting="soft", bootstrap=False):
    """Predictions of the engine, and of scikit-learn one model at a time."""
    classes = np.unique(y) if isinstance(estimator, DecisionTreeClassifier) else None
    learner = Learner(estimator, classes, voting, passes_weight=True, bootstrap=bootstrap)
    seeds = np.arange(len(masks))
    return [
        engine(learner).predict_many(X, y, masks, X_query, seeds, weight)
        for engine in (TreeEngine, GenericEngine)
    ]


def with_gaps(rng, X, share):
    """X with missing values; the first column has none, the last nothing else."""
    X = np.where(rng.random(X.shape) < share, np.nan, X)
    if share and X.shape[1] > 2:
        X[:, -1] = np.nan
        X[:, 0] = rng.normal(size=len(X))
    return X


def weights(rng, n, share_of_zeros):
    if share_of_zeros is None:
        return None
    weight = rng.uniform(0.2, 5.0, n)
    weight[rng.random(n) < share_of_zeros] = 0.0
    return weight


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(80, 200),
    m=st.integers(1, 18),
    q=st.integers(1, 40),
    depth=st.integers(1, 3),
    leaf=st.sampled_from([12, 16, 0.15]),
    split=st.sampled_from([2, 40, 0.4]),
    fraction=st.sampled_from([0.0, 0.05, 0.2]),
    decrease=st.sampled_from([0.0, 0.02]),
    offset=st.sampled_from([0.0, 1e4]),
    zeros=SHARE_OF_ZEROS,
    missing=SHARE_MISSING,
    unit=st.sampled_from([1.0, 1e140, 1e-140]),
    bootstrap=st.booleans(),
)
def test_regression_without_ties_is_scikit_learns(
    seed, n, m, q, depth, leaf, split, fraction, decrease, offset, zeros, missing, unit, bootstrap
):
    rng = np.random.default_rng(seed)
    X, X_query = (with_gaps(rng, rng.normal(size=(size, m)), missing) for size in (n, q))
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=n) + offset
    masks = rng.random((5, m)) < 0.7
    masks[0] = True
    estimator = DecisionTreeRegressor(
        max_depth=depth,
        min_samples_leaf=leaf,
        min_samples_split=split,
        min_weight_fraction_leaf=fraction,
        min_impurity_decrease=decrease,
    )
    weight = weights(rng, n, zeros)
    weight = None if weight is None else weight * unit
    ours, theirs = answers(estimator, X, y, masks, X_query, weight, bootstrap=bootstrap)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 120),
    leaf=st.integers(1, 4),
    depth=st.sampled_from([None, 1, 2, 5]),
    decimals=st.sampled_from([1, 8]),
    zeros=st.sampled_from([None, 0.0]),
    missing=SHARE_MISSING,
)
def test_regression_on_one_column_is_scikit_learns_down_to_the_last_pair(
    seed, n, leaf, depth, decimals, zeros, missing
):
    """No two columns to choose from, so no ties, however small the nodes."""
    rng = np.random.default_rng(seed)
    X, X_query = (np.round(rng.normal(size=(size, 1)), decimals) for size in (n, 60))
    X, X_query = (np.where(rng.random(t.shape) < missing, np.nan, t) for t in (X, X_query))
    estimator = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf)
    ours, theirs = answers(
        estimator, X, rng.normal(size=n), np.ones((1, 1), bool), X_query, weights(rng, n, zeros)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("zeros", [None, 0.0, 0.3])
@pytest.mark.parametrize(
    "limits", [{}, {"min_weight_fraction_leaf": 0.0715}, {"min_impurity_decrease": 0.01}]
)
def test_classification_in_large_leaves_is_scikit_learns(
    criterion, classes, missing, zeros, limits
):
    rng = np.random.default_rng(7)
    X, X_query = (with_gaps(rng, rng.normal(size=(size, 10)), missing) for size in (600, 50))
    height = np.nan_to_num(X[:, 0]) + 0.8 * np.nan_to_num(X[:, 8]) + rng.normal(size=600)
    y = np.digitize(height, np.quantile(height, np.linspace(0, 1, classes + 1)[1:-1]))
    estimator = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=40, **limits)
    weight = weights(rng, 600, zeros)
    masks = np.ones((6, 10), bool)
    ours, theirs = answers(estimator, X, y, masks, X_query, weight)
    # Without weights, some splits are tied, and scikit-learn has more than one tree.
    for found in ours:
        assert any(np.allclose(found, tree, rtol=0.0, atol=1e-12) for tree in theirs)
    if weight is not None:
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
        votes, others = answers(estimator, X, y, masks[:1], X_query, weight, voting="hard")
        np.testing.assert_array_equal(votes, others)
    # A tree of one leaf would say nothing.
    assert len(np.unique(theirs[0], axis=0)) > 1


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize(
    "case",
    [
        (make_friedman, DecisionTreeRegressor()),
        (make_hypercube, DecisionTreeClassifier()),
        (make_hypercube, DecisionTreeClassifier(criterion="entropy", min_samples_leaf=3)),
    ],
    ids=lambda case: str(case[1]),
)
def test_the_test_error_over_150_masks_cannot_be_told_apart(case, missing, is_weighted, bootstrap):
    """Full trees, whose last splits are tied."""
    make, estimator = case
    X, y, _ = make(n_samples=230, n_irrelevant=15, random_state=0)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < missing] = np.nan
    masks = rng.random((150, X.shape[1])) < 0.3
    weight = rng.uniform(0.1, 3.0, 150) if is_weighted else None
    ours, theirs = answers(estimator, X[:150], y[:150], masks, X[150:], weight, bootstrap=bootstrap)
    target = y[150:] if make is make_friedman else np.eye(2)[y[150:]]
    target = target.reshape(80, -1)
    gaps = ((ours - target) ** 2).mean(axis=(1, 2)) - ((theirs - target) ** 2).mean(axis=(1, 2))
    assert abs(gaps.mean()) < 3.0 * gaps.std() / np.sqrt(150) + 1e-12


@pytest.mark.parametrize("kind", ["regression", "gini", "entropy"])
def test_equal_columns_are_taken_equally_often(kind):
    """Copies of a column with missing values: each query is to the right in one of them alone."""
    n, n_equal = 40, 11
    x = np.where(np.arange(n) < 30, np.arange(n), np.nan)
    y = np.isnan(x).astype(int)
    estimator = DecisionTreeRegressor(max_depth=1)
    if kind != "regression":
        estimator = DecisionTreeClassifier(criterion=kind, max_depth=1)
    queries = np.where(np.eye(n_equal, dtype=bool), np.nan, 1e30)
    classes = None if kind == "regression" else np.array([0, 1])
    found = TreeEngine(Learner(estimator, classes, "soft")).predict_many(
        np.tile(x[:, np.newaxis], n_equal),
        y,
        np.ones((3000, n_equal), bool),
        queries,
        np.arange(3000),
    )
    split_on = found[:, :, -1] == 1.0
    np.testing.assert_array_equal(split_on.sum(axis=1), 1)
    assert chisquare(split_on.sum(axis=0)).pvalue > 0.001


@pytest.mark.parametrize("weight", [None, np.linspace(1.0, 2.0, 9)])
@pytest.mark.parametrize(("n_left", "goes_left"), [(6, True), (3, False)])
def test_missing_only_in_queries_follows_the_larger_child(weight, n_left, goes_left):
    x = np.arange(9.0)[:, np.newaxis]
    y = (x[:, 0] >= n_left).astype(float)
    query = np.array([[np.nan], [-5.0], [50.0]])
    ours, theirs = answers(
        DecisionTreeRegressor(max_depth=1), x, y, np.ones((1, 1), bool), query, weight
    )
    expected = [0.0 if goes_left else 1.0, 0.0, 1.0]
    np.testing.assert_allclose(ours[0, :, 0], expected, atol=1e-15)
    np.testing.assert_allclose(ours, theirs, atol=1e-15)


def test_of_two_children_of_one_size_it_is_the_right_one():
    x = np.arange(8.0)[:, np.newaxis]
    y = (x[:, 0] >= 4).astype(float)
    stump = DecisionTreeRegressor(max_depth=1)
    ours, theirs = answers(stump, x, y, np.ones((1, 1), bool), np.array([[np.nan]]))
    assert ours == theirs == 1.0


@pytest.mark.parametrize("value", [0.0, 3e38])
def test_missing_values_can_be_split_from_all_numbers(value):
    """Constant but for the missing ones; numbers that were never seen go with the numbers."""
    x = np.array([1.0, np.nan, 1.0, np.nan, 1.0])[:, np.newaxis]
    y = np.array([2.0, 7.0, 2.0, 7.0, 2.0])
    query = np.array([[value], [np.nan], [-value]])
    ours, theirs = answers(DecisionTreeRegressor(), x, y, np.ones((1, 1), bool), query)
    np.testing.assert_allclose(ours[0, :, 0], [2.0, 7.0, 2.0], atol=1e-14)
    np.testing.assert_allclose(ours, theirs, atol=1e-14)


def test_a_missing_value_with_a_sign_is_missing():
    x = np.array([1.0, -np.nan, 3.0, np.copysign(np.nan, -1.0), 5.0, 6.0])[:, np.newaxis]
    ours, theirs = answers(
        DecisionTreeRegressor(), x, np.arange(6.0), np.ones((1, 1), bool), x[:, [0]]
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-14)


def test_weights_are_those_of_repeated_rows():
    """But for limits that count rows, a row of weight 2 is a row that is there twice."""
    rng = np.random.default_rng(4)
    X, y, counts = rng.normal(size=(90, 4)), rng.normal(size=90), rng.integers(0, 4, 90)
    X[rng.random(X.shape) < 0.1] = np.nan
    rows = np.repeat(np.arange(90), counts)
    masks, query = np.eye(4, dtype=bool), rng.normal(size=(30, 4))
    tree = DecisionTreeRegressor(min_weight_fraction_leaf=0.1, max_depth=3)
    weighted = answers(tree, X, y, masks, query, counts.astype(float))[0]
    repeated = answers(tree, X[rows], y[rows], masks, query)[0]
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)


def test_negative_weights_are_for_scikit_learn():
    rng = np.random.default_rng(5)
    X, y, weight = rng.normal(size=(60, 3)), rng.normal(size=60), rng.uniform(1.0, 2.0, 60)
    weight[:5] = -0.1
    ours, theirs = answers(
        DecisionTreeRegressor(max_depth=2), X, y, np.ones((2, 3), bool), X, weight
    )
    np.testing.assert_array_equal(ours, theirs)


def test_older_releases_of_scikit_learn_grow_trees_with_missing_values(monkeypatch):
    monkeypatch.setattr(tree_engine, "TAKES_MISSING", False)
    X, y = np.array([[1.0], [np.nan], [2.0]]), np.arange(3.0)
    reason = TreeEngine.obstacle(DecisionTreeRegressor(), X, y, None)
    assert "scikit-learn 1.9" in reason
    assert TreeEngine.obstacle(DecisionTreeRegressor(), X[::2], y[::2], None) is None

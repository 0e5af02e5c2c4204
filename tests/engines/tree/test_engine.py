"""Compiled trees: scikit-learn's where no splits are tied, and like them in law where they are."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
)

from engine_choice import choose_engine, reason_to_step_aside
from randsub.datasets import make_friedman, make_hypercube
from randsub.engines import GenericEngine, Learner, TreeEngine
from randsub.engines.tree.engine import rows_in_order
from randsub.exceptions import BaseModelError

X, Y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2

USABLE = [
    DecisionTreeRegressor(),
    DecisionTreeRegressor(
        max_depth=3, min_samples_split=0.1, min_samples_leaf=2, min_impurity_decrease=0.1
    ),
    DecisionTreeRegressor(min_samples_leaf=0.1, random_state=3),
    DecisionTreeRegressor(min_weight_fraction_leaf=0.1),
    DecisionTreeClassifier(),
    DecisionTreeClassifier(criterion="entropy", max_depth=np.int64(2)),
    DecisionTreeClassifier(criterion="log_loss"),
]
NOT_USABLE = [
    DecisionTreeRegressor(criterion="absolute_error"),
    DecisionTreeRegressor(criterion="poisson"),
    DecisionTreeRegressor(criterion="gini"),
    DecisionTreeClassifier(criterion="squared_error"),
    DecisionTreeRegressor(splitter="random"),
    DecisionTreeRegressor(max_features=2),
    DecisionTreeRegressor(max_features="sqrt"),
    DecisionTreeRegressor(max_leaf_nodes=5),
    DecisionTreeRegressor(min_weight_fraction_leaf=0.6),
    DecisionTreeRegressor(ccp_alpha=0.1),
    DecisionTreeRegressor(monotonic_cst=[1, 0, 0]),
    DecisionTreeClassifier(class_weight="balanced"),
    DecisionTreeRegressor(max_depth=0),
    DecisionTreeRegressor(max_depth=2.5),
    DecisionTreeRegressor(min_samples_split=1),
    DecisionTreeRegressor(min_samples_split=1.5),
    DecisionTreeRegressor(min_samples_leaf=0),
    DecisionTreeRegressor(min_impurity_decrease=-1.0),
    ExtraTreeRegressor(),
]


@pytest.mark.parametrize("estimator", USABLE)
def test_auto_takes_it(estimator):
    assert choose_engine("auto", estimator, X, Y, None) is TreeEngine
    gaps = pd.DataFrame(np.where(X > 2.0, np.nan, X))
    assert choose_engine("auto", estimator, gaps, Y, np.ones(40)) is TreeEngine


@pytest.mark.parametrize("estimator", NOT_USABLE)
def test_auto_falls_back(estimator):
    reason_to_step_aside(estimator, X, Y)


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_every_parameter_has_been_thought_of(kind):
    """One that a new scikit-learn brings must be supported, or refused, by decision."""
    known = {"criterion", "random_state"}
    for estimator in USABLE + NOT_USABLE[:-1]:
        params, default = estimator.get_params(), type(estimator)().get_params()
        known |= {name for name in params if params[name] != default[name]}
    assert set(kind().get_params()) <= known


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (csr_array(X), "sparse matrices"),
        (pd.DataFrame(X).assign(text="a"), "columns of numbers"),
        (np.where(X > 2.0, np.inf, X), "up to 3.4e38"),
        (np.where(X < -1.5, -1e39, np.where(X > 2.0, np.nan, X)), "up to 3.4e38"),
    ],
)
def test_auto_falls_back_for_other_data(table, words):
    assert words in reason_to_step_aside(DecisionTreeRegressor(), table, Y)


def answers(estimator, X, y, masks, X_query, voting="soft", seed=0):
    classes = np.unique(y) if isinstance(estimator, DecisionTreeClassifier) else None
    learner = Learner(estimator, classes, voting)
    seeds = np.arange(len(masks)) + seed
    return [
        engine(learner).predict_many(X, y, masks, X_query, seeds)
        for engine in (TreeEngine, GenericEngine)
    ]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(60, 200),
    m=st.integers(1, 20),
    q=st.integers(1, 40),
    depth=st.integers(1, 3),
    leaf=st.sampled_from([8, 12, 0.1]),
    split=st.sampled_from([2, 30, 0.4]),
    decrease=st.sampled_from([0.0, 0.02]),
    offset=st.sampled_from([0.0, 1e4]),
)
def test_regression_without_ties_is_scikit_learns(
    seed, n, m, q, depth, leaf, split, decrease, offset
):
    rng = np.random.default_rng(seed)
    X, X_query = rng.normal(size=(n, m)), rng.normal(size=(q, m))
    y = X[:, 0] + rng.normal(size=n) + offset
    masks = rng.random((5, m)) < 0.7
    masks[0] = True
    estimator = DecisionTreeRegressor(
        max_depth=depth,
        min_samples_leaf=leaf,
        min_samples_split=split,
        min_impurity_decrease=decrease,
    )
    ours, theirs = answers(estimator, X, y, masks, X_query)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 120),
    leaf=st.integers(1, 4),
    depth=st.sampled_from([None, 1, 2, 5]),
    decimals=st.sampled_from([1, 8]),
    other=st.integers(0, 17),
)
def test_regression_on_one_column_is_scikit_learns_down_to_the_last_pair(
    seed, n, leaf, depth, decimals, other
):
    """No two columns to choose from, so no ties, however small the nodes."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 18)), decimals)
    y = rng.normal(size=n)
    masks = np.zeros((2, 18), dtype=bool)
    masks[0, other] = True
    # Constant columns beside it are nothing to choose from either.
    X[:, 1:] = np.where(np.arange(1, 18) == other, X[:, 1:], 3.0)
    masks[1, [*range(1, 18), other]] = True
    estimator = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf)
    ours, theirs = answers(estimator, X, y, masks, np.round(rng.normal(size=(60, 18)), decimals))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_values_that_are_almost_the_same():
    """Neighbours within 1e-7 are one value, and which are neighbours depends on the node."""
    rng = np.random.default_rng(0)
    for step in (3e-8, 6e-8, 9e-8, 1.2e-7):
        x = rng.permutation(np.arange(60) // 2 * step * rng.integers(1, 4, 60))
        y = rng.normal(size=60)
        ours, theirs = answers(
            DecisionTreeRegressor(), x[:, None], y, np.ones((1, 1), bool), x[:, None]
        )
        assert 1 < len(np.unique(theirs)) < 60
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
        kinds = np.arange(60) % 3
        ours, theirs = answers(
            DecisionTreeClassifier(max_depth=2, min_samples_leaf=7),
            x[:, None],
            kinds,
            np.ones((1, 1), bool),
            x[:, None],
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_rows_are_sorted_by_value_then_number():
    values = np.array(
        [[3, -1, 0.0, -0.5, -np.float32(3e38), 1e-40, -1, 3, np.float32(3e38), -1e-40]], np.float32
    )
    np.testing.assert_array_equal(rows_in_order(values), [[4, 1, 6, 3, 9, 2, 5, 0, 7, 8]])
    many = np.random.default_rng(0).normal(size=(20, 300)).astype(np.float32).round(1) + 0.0
    np.testing.assert_array_equal(rows_in_order(many), np.argsort(many, axis=1, kind="stable"))


def test_thousands_of_rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(6000, 11))
    y = X[:, 0] * X[:, 10] + rng.normal(size=6000)
    estimator = DecisionTreeRegressor(min_samples_leaf=30)
    ours, theirs = answers(estimator, X[:5000], y[:5000], np.ones((1, 11), bool), X[5000:])
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("classes", [2, 3, 30])
@pytest.mark.parametrize("decrease", [0.0, 0.02, 0.05])
def test_classification_in_large_leaves_is_scikit_learns(criterion, classes, decrease):
    rng = np.random.default_rng(7)
    X, X_query = rng.normal(size=(900, 9)), rng.normal(size=(50, 9))
    height = X[:, 0] + 0.8 * X[:, 8] + rng.normal(size=900)
    y = np.digitize(height, np.quantile(height, np.linspace(0, 1, classes + 1)[1:-1]))
    estimator = DecisionTreeClassifier(
        criterion=criterion, min_samples_leaf=60, min_impurity_decrease=decrease
    )
    ours, theirs = answers(estimator, X, y, np.ones((1, 9), bool), X_query)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_first_split_that_gains_nothing_is_made(criterion, classes):
    """Exclusive or: neither column alone tells anything, both together everything."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 21, dtype=float)
    y = np.where(np.arange(84) < 40, X[:, 0] != X[:, 1], (classes - 1) * (X[:, 0] != X[:, 1]))
    ours, theirs = answers(
        DecisionTreeClassifier(criterion=criterion), X, y.astype(int), np.ones((9, 2), bool), X
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_single_column_leaves_no_choice(criterion, classes):
    """With one column, only tied places in it can differ; probabilities agree at full depth."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4))
    y = np.digitize(X @ [1.0, 0.5, -1.0, 0.2] + rng.normal(size=150), [-1, 0, 1][: classes - 1])
    masks = np.eye(4, dtype=bool)
    full = DecisionTreeClassifier(criterion=criterion)
    ours, theirs = answers(full, X, y, masks, X)
    np.testing.assert_allclose(ours, theirs)
    stump = DecisionTreeClassifier(criterion=criterion, max_depth=1, min_samples_leaf=20)
    ours, theirs = answers(stump, X, y, masks, rng.normal(size=(50, 4)))
    np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("kind", ["regression", "gini", "entropy"])
@pytest.mark.parametrize("values", ["continuous", "whole numbers", "constant column"])
def test_the_fit_of_a_full_tree_is_the_same(kind, values):
    """Rows that share their values share a leaf; all others are told apart."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 5))
    if values == "whole numbers":
        X = np.round(X)
    if values == "constant column":
        X[:, 0] = 7.0
    masks = np.array([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=bool)
    if kind == "regression":
        y, estimator = rng.normal(size=120), DecisionTreeRegressor()
    else:
        y, estimator = rng.integers(0, 3, 120), DecisionTreeClassifier(criterion=kind)
    ours, theirs = answers(estimator, X, y, masks, X)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize(
    "case",
    [
        (make_friedman, DecisionTreeRegressor()),
        (make_hypercube, DecisionTreeClassifier()),
        (make_hypercube, DecisionTreeClassifier(criterion="entropy", min_samples_leaf=3)),
        (make_friedman, DecisionTreeRegressor(max_depth=6, min_samples_split=7)),
    ],
    ids=lambda case: str(case[1]),
)
def test_the_test_error_over_200_masks_cannot_be_told_apart(case):
    make, estimator = case
    X, y, _ = make(n_samples=250, n_irrelevant=15, random_state=0)
    rng = np.random.default_rng(0)
    masks = rng.random((200, X.shape[1])) < 0.3
    ours, theirs = answers(estimator, X[:150], y[:150], masks, X[150:])
    target = y[150:] if make is make_friedman else np.eye(2)[y[150:]]
    target = target.reshape(100, -1)
    gaps = ((ours - target) ** 2).mean(axis=(1, 2)) - ((theirs - target) ** 2).mean(axis=(1, 2))
    assert abs(gaps.mean()) < 3.0 * gaps.std() / np.sqrt(200) + 1e-12


def test_ties_are_broken_by_the_seed():
    """Two copies of a column: which one is split on shows where the query columns differ."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=60)
    X, X_query = np.column_stack([x, x]), rng.normal(size=(30, 2))
    masks = np.ones((40, 2), dtype=bool)
    ours, theirs = answers(DecisionTreeRegressor(max_depth=1), X, x, masks, X_query)
    again, _ = answers(DecisionTreeRegressor(max_depth=1), X, x, masks, X_query)
    np.testing.assert_array_equal(ours, again)
    for found in (ours, theirs):
        kinds = np.unique(found[:, :, 0], axis=0)
        assert len(kinds) == 2
        share = (found[:, :, 0] == kinds[0]).all(axis=1).mean()
        assert 0.2 < share < 0.8


@pytest.mark.parametrize("kind", ["regression", "gini", "entropy"])
@pytest.mark.parametrize("n", [2, 40])
def test_equal_columns_are_taken_equally_often(kind, n):
    """Each query is to the right in one column alone, so answers say which column was split."""
    n_equal = 11
    x = np.arange(float(n))
    # Four columns of no use stand between copies of one, which fill more than one vector.
    useless = np.arange(n_equal + 4) % 4 == 1
    X = np.where(useless, 1.0, x[:, np.newaxis])
    y = (x >= n // 2).astype(int)
    estimator = DecisionTreeRegressor(max_depth=1)
    if kind != "regression":
        estimator = DecisionTreeClassifier(criterion=kind, max_depth=1)
    queries = np.where(np.eye(n_equal + 4, dtype=bool)[~useless], 100.0, -100.0)
    masks = np.ones((3000, n_equal + 4), dtype=bool)
    classes = None if kind == "regression" else np.array([0, 1])
    found = TreeEngine(Learner(estimator, classes, "soft")).predict_many(
        X, y, masks, queries, np.arange(3000)
    )
    split_on = found[:, :, -1] == 1.0
    np.testing.assert_array_equal(split_on.sum(axis=1), 1)
    assert chisquare(split_on.sum(axis=0)).pvalue > 0.001
    # Seeds that follow each other say nothing about each other.
    taken = split_on.argmax(axis=1)
    pairs = np.bincount((taken[1:] - taken[:-1]) % n_equal, minlength=n_equal)
    assert chisquare(pairs).pvalue > 0.001


def test_votes_constant_targets_and_two_rows():
    ours, theirs = answers(
        DecisionTreeClassifier(max_depth=2, min_samples_leaf=10),
        X,
        Y,
        np.ones((1, 3), bool),
        X,
        "hard",
    )
    assert set(np.unique(ours)) == {0.0, 1.0}
    np.testing.assert_array_equal(ours.sum(axis=2), 1.0)
    assert (ours == theirs).mean() > 0.9
    one, other = answers(DecisionTreeRegressor(), X, np.full(40, 0.1), np.ones((1, 3), bool), X)
    np.testing.assert_allclose(one, other)
    one, other = answers(DecisionTreeRegressor(), X[:2], X[:2, 0], np.eye(3, dtype=bool), X)
    np.testing.assert_allclose(one, other)


def test_the_estimator_itself_is_not_fitted():
    estimator = DecisionTreeRegressor()
    answers(estimator, X, X[:, 0], np.eye(3, dtype=bool), X)
    assert vars(estimator) == vars(clone(estimator))


def test_metadata_for_fit_goes_to_fit():
    engine = TreeEngine(Learner(DecisionTreeRegressor()))
    seen = []
    engine._generic.learner = Learner(_spy(seen))
    masks = np.eye(3, dtype=bool)
    engine.predict_many(X, X[:, 0], masks, X, np.arange(3), None, {"check_input": False})
    assert seen == [False, False, False]


def _spy(seen):
    class Spy(DecisionTreeRegressor):
        def fit(self, X, y, check_input=True):
            seen.append(check_input)
            return super().fit(X, y)

    return Spy()


@pytest.mark.parametrize("strange", [np.nan, -np.inf])
def test_queries_that_are_no_numbers(strange):
    """Only models that look at them are affected, and these answer as scikit-learn's do."""
    rng = np.random.default_rng(7)
    X, X_query = rng.normal(size=(60, 3)), rng.normal(size=(20, 3))
    X_query[::2, 0] = strange
    masks = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)
    estimator = DecisionTreeRegressor(max_depth=2, min_samples_leaf=9)
    if np.isnan(strange):
        ours, theirs = answers(estimator, X, X[:, 0] + X[:, 1], masks, X_query)
        np.testing.assert_allclose(ours, theirs)
        return
    with pytest.raises(BaseModelError, match="infinity"):
        answers(estimator, X, X[:, 0] + X[:, 1], masks, X_query)
    ours, theirs = answers(estimator, X, X[:, 0] + X[:, 1], masks[1:], X_query)
    np.testing.assert_allclose(ours, theirs)

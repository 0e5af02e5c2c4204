"""Compiled nearest neighbours: where they apply, where they step aside, and at the edges."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsRegressor,
)

from engine_choice import choose_engine, reason_to_step_aside
from randsub.engines import GenericEngine, KNNEngine, Learner
from randsub.engines.knn.kernels import LARGEST_CHAIN, MOST_ROWS
from randsub.exceptions import BaseModelError


class Own(KNeighborsRegressor):
    """A subclass may do anything."""


USABLE = [
    KNeighborsRegressor(),
    KNeighborsRegressor(1, algorithm="kd_tree", leaf_size=3, n_jobs=2),
    KNeighborsRegressor(30, weights="distance", metric="euclidean"),
    KNeighborsClassifier(np.int64(4), weights=None, p=2.0),
]
NOT_USABLE = [
    KNeighborsRegressor(p=1),
    KNeighborsRegressor(p=3),
    KNeighborsRegressor(metric="manhattan"),
    KNeighborsRegressor(metric="cosine"),
    KNeighborsRegressor(metric=lambda a, b: 0.0),
    KNeighborsRegressor(metric_params={"w": [1.0]}),
    KNeighborsRegressor(weights=lambda d: d),
    KNeighborsRegressor(weights="inverse"),
    KNeighborsRegressor(n_neighbors=0),
    KNeighborsRegressor(n_neighbors=2.5),
    KNeighborsRegressor(algorithm="guess"),
    Own(),
    RadiusNeighborsRegressor(),
]
X, Y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2


@pytest.mark.parametrize("estimator", USABLE)
def test_auto_takes_it(estimator):
    assert choose_engine("auto", estimator, X, Y, None) is KNNEngine
    assert choose_engine("auto", estimator, pd.DataFrame(X), Y, None) is KNNEngine
    assert choose_engine("auto", estimator, X.astype(np.int8), Y, None) is KNNEngine
    # Weights are for the loss alone.
    assert choose_engine("auto", estimator, X, Y, np.ones(30)) is KNNEngine
    assert choose_engine("generic", estimator, X, Y, None) is GenericEngine


@pytest.mark.parametrize("estimator", NOT_USABLE)
def test_auto_falls_back(estimator):
    reason_to_step_aside(estimator, X, Y)
    with pytest.raises(ValueError, match="engine='knn' cannot train"):
        choose_engine("knn", estimator, X, Y, None)


@pytest.mark.parametrize(
    "table",
    [csr_array(X), pd.DataFrame(X).assign(text="a"), pd.DataFrame(X).assign(flag=True), X > 0],
)
def test_auto_falls_back_for_other_tables(table):
    words = "sparse" if issparse(table) else "columns of numbers"
    assert words in reason_to_step_aside(KNeighborsRegressor(), table, Y)


def answers(estimator, X, y, masks, X_query, voting="soft"):
    classes = np.unique(y) if isinstance(estimator, KNeighborsClassifier) else None
    learner = Learner(estimator, classes, voting)
    seeds = np.zeros(len(masks), dtype=int)
    return [
        engine(learner).predict_many(X, y, masks, X_query, seeds)
        for engine in (KNNEngine, GenericEngine)
    ]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(9, 70),
    q=st.integers(1, 150),
    m=st.integers(1, 12),
    k=st.sampled_from([1, 2, 5, 8, 9, 15, 16, 40]),
    weights=st.sampled_from(["uniform", "distance"]),
    voting=st.sampled_from(["soft", "hard", None]),
    offset=st.sampled_from([0.0, 1e3]),
)
def test_any_shape_gives_what_scikit_learn_gives(seed, n, q, m, k, weights, voting, offset):
    rng, k = np.random.default_rng(seed), min(k, n)
    X, X_query = rng.normal(size=(n, m)) + offset, rng.normal(size=(q, m)) + offset
    masks = rng.random((6, m)) < 0.6
    masks[0] = False
    kind = KNeighborsRegressor if voting is None else KNeighborsClassifier
    # The brute force of scikit-learn loses digits to the offset; its trees do not.
    estimator = kind(k, weights=weights, algorithm="kd_tree")
    y = rng.normal(size=n) if voting is None else rng.permutation(np.arange(n) % 3)
    ours, theirs = answers(estimator, X, y, masks, X_query, voting or "hard")
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_queries_that_stand_on_training_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    X[20:] = X[:20]  # each row twice
    y = rng.normal(size=40)
    masks = np.array([[1, 1, 0, 0], [1, 1, 1, 1]], dtype=bool)
    for weights in ("uniform", "distance"):
        estimator = KNeighborsRegressor(2, weights=weights)
        ours, theirs = answers(estimator, X, y, masks, X)
        np.testing.assert_allclose(ours, theirs)
        np.testing.assert_allclose(ours[1, :20, 0], (y[:20] + y[20:]) / 2)


def test_ties_take_rows_at_the_same_distance():
    """On a grid of whole numbers, which rows are taken may differ, how far they are may not."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, size=(60, 3)).astype(float)
    X_query = rng.integers(0, 4, size=(25, 3)).astype(float)
    masks = np.ones((1, 3), dtype=bool)
    # The prediction is a sum of values that are functions of the row's place, constant on ties.
    center = X_query.mean(axis=0)
    y = ((X - center) ** 2).sum(axis=1)
    ours, _ = answers(KNeighborsRegressor(1), X, y, masks, X_query)
    squares = ((X_query[:, None] - X[None]) ** 2).sum(axis=2)
    for i, value in enumerate(ours[0, :, 0]):
        nearest = squares[i] == squares[i].min()
        assert np.isclose(y[nearest], value).any()


def test_constant_columns_and_one_row():
    X = np.ones((5, 2))
    y = np.arange(5.0)
    masks = np.array([[True, False], [True, True]])
    ours, _ = answers(KNeighborsRegressor(5), X, y, masks, np.ones((3, 2)))
    np.testing.assert_allclose(ours, 2.0)
    one, other = answers(KNeighborsRegressor(1), X[:1], y[:1], masks, np.zeros((2, 2)))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("q", [1, 31, 32, 33, 80, 81, 112, 113, 130, 160, 161, 192, 193, 300])
def test_every_query_is_answered_whatever_their_number(q):
    rng = np.random.default_rng(q)
    X, X_query = rng.normal(size=(50, 5)), rng.normal(size=(q, 5))
    masks = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], dtype=bool)
    ours, theirs = answers(KNeighborsRegressor(), X, rng.normal(size=50), masks, X_query)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12, 1e30])
@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7, 1e-9, 1e-12])
def test_distances_that_single_precision_cannot_tell_apart(gap, scale):
    """Rows on rays from the query, each a little farther than the one before."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(60, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rank = rng.permutation(60)
    X = scale * directions * (1.0 + gap * rank)[:, np.newaxis]
    y = rank.astype(float)
    ours, _ = answers(KNeighborsRegressor(5), X, y, np.ones((1, 3), dtype=bool), np.zeros((20, 3)))
    np.testing.assert_allclose(ours, 2.0, rtol=1e-12)  # ranks 0 to 4


@pytest.mark.parametrize("n", [MOST_ROWS - 1, MOST_ROWS, MOST_ROWS + 1])
def test_many_rows(n):
    rng = np.random.default_rng(1)
    X, y, X_query = rng.normal(size=(n, 3)), rng.normal(size=n), rng.normal(size=(20, 3))
    masks = np.array([[1, 0, 0], [1, 1, 1]], dtype=bool)
    for weights in ("uniform", "distance"):
        ours, theirs = answers(KNeighborsRegressor(4, weights=weights), X, y, masks, X_query)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("k", [LARGEST_CHAIN - 1, LARGEST_CHAIN, LARGEST_CHAIN + 1])
def test_many_neighbours(k):
    rng = np.random.default_rng(1)
    X, y, X_query = rng.normal(size=(150, 3)), rng.normal(size=150), rng.normal(size=(20, 3))
    masks = np.array([[1, 0, 0], [1, 1, 1]], dtype=bool)
    for weights in ("uniform", "distance"):
        ours, theirs = answers(KNeighborsRegressor(k, weights=weights), X, y, masks, X_query)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_a_column_far_from_zero_does_not_drown_the_others():
    rng = np.random.default_rng(2)
    X, X_query = rng.normal(size=(80, 3)), rng.normal(size=(30, 3))
    y, masks = rng.normal(size=80), np.ones((1, 3), dtype=bool)
    near, _ = answers(KNeighborsRegressor(), X, y, masks, X_query)
    shift = np.array([1e8, 0.0, -1e6])
    far, _ = answers(KNeighborsRegressor(), X + shift, y, masks, X_query + shift)
    np.testing.assert_allclose(far, near, rtol=1e-12)


def test_distances_that_overflow_still_find_neighbours():
    X = np.array([[1e200], [2e200], [-1e200], [0.0]])
    learner = Learner(KNeighborsRegressor(2))
    found = KNNEngine(learner).predict_many(
        X, np.arange(4.0), np.ones((1, 1), dtype=bool), 1.1 * X, np.zeros(1, dtype=int)
    )
    # Nearest are 0 and 3 or 1, 1 and 0, 2 and 3, 3 and 0 (or 2, as far).
    np.testing.assert_allclose(found[0, [1, 2], 0], [0.5, 2.5])
    assert found[0, 0, 0] in (0.5, 1.5)
    assert found[0, 3, 0] in (1.5, 2.5)


def test_too_few_rows_are_refused_in_the_words_of_scikit_learn():
    learner = Learner(KNeighborsRegressor(5))
    with pytest.raises(BaseModelError, match="n_neighbors"):
        KNNEngine(learner).predict_many(
            X[:4], X[:4, 0], np.ones((1, 3), dtype=bool), X, np.zeros(1, dtype=int)
        )


def test_equal_masks_are_trained_once(monkeypatch):
    seen = []
    engine = KNNEngine(Learner(KNeighborsRegressor()))
    original = engine._predict
    monkeypatch.setattr(engine, "_predict", lambda b: seen.append(len(b.masks)) or original(b))
    masks = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0]], dtype=bool)
    found = engine.predict_many(X, X[:, 0], masks, X, np.arange(5))
    assert seen == [2]
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[4])
    np.testing.assert_allclose(found[3], X[:, 0].mean())


def test_rows_either_side_of_a_rounded_distance():
    """Keys whose rounded squares differ while their distances hardly do, for all row numbers."""
    rng = np.random.default_rng(5)
    n, wrong = 512, 0
    for _ in range(40):
        X = np.full((n, 1), 50.0)
        # Two rivals, in the first and the last row, at distances that differ by a relative 1e-8.
        radius = rng.uniform(0.5, 2.0)
        X[0], X[n - 1] = radius * (1.0 + 1e-8), -radius
        X_query = np.linspace(-2e-9, 1e-9, 60)[:, np.newaxis]
        y = np.arange(float(n))
        ours, _ = answers(KNeighborsRegressor(1), X, y, np.ones((1, 1), dtype=bool), X_query)
        exact = np.where(np.abs(X[0] - X_query) < np.abs(X[n - 1] - X_query), 0.0, n - 1.0)
        wrong += int((ours[0] != exact).sum())
    assert wrong == 0


def test_huge_columns_do_not_spoil_masks_without_them():
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=40), 1e300 * rng.normal(size=40)])
    y = rng.normal(size=40)
    engine = KNNEngine(Learner(KNeighborsRegressor(3)))
    both = np.eye(2, dtype=bool)
    together = engine.predict_many(X, y, both, X[:9], np.arange(2))
    for t in range(2):
        alone = engine.predict_many(X, y, both[[t]], X[:9], np.arange(1))
        np.testing.assert_array_equal(alone[0], together[t])

"""K features for every member, K fixed or chosen on validation."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub import RandomSubspaceClassifier, RandomSubspaceRegressor
from randsub.datasets import make_friedman, make_hypercube
from randsub.estimators import random_subspace
from randsub.estimators.random_subspace import candidate_sizes, draw_masks


@given(st.integers(1, 5000))
def test_candidate_sizes(m):
    sizes = candidate_sizes(m)
    assert sizes == sorted(set(sizes))
    assert (sizes[0], sizes[-1]) == (1, m)
    for wanted in [1, *(m / part for part in (100, 50, 20, 10, 5, 3, 2, 1)), m**0.5]:
        assert max(1, round(wanted)) in sizes
    assert len(sizes) <= 10


def test_candidate_sizes_of_the_simulated_problems():
    assert candidate_sizes(305) == [1, 3, 6, 15, 17, 30, 61, 102, 152, 305]


def test_every_subset_of_a_size_is_as_likely():
    masks = draw_masks(6000, 5, 2, np.random.default_rng(0))
    assert (masks.sum(axis=1) == 2).all()
    seen = [tuple(np.flatnonzero(mask).tolist()) for mask in masks]
    counts = [seen.count(pair) for pair in combinations(range(5), 2)]
    assert chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(
    ("max_features", "expected"),
    [(1, 1), (4, 4), (25, 25), (0.5, 12), (1.0, 25), (1e-9, 1), ("sqrt", 5)],
)
def test_fixed_number_of_features(max_features, expected):
    X, y, _ = make_friedman(n_samples=30, n_irrelevant=20, random_state=0)
    model = RandomSubspaceRegressor(
        KNeighborsRegressor(3), n_estimators=7, max_features=max_features, random_state=0
    ).fit(X, y)
    assert model.max_features_ == model.expected_size_ == expected
    assert {len(f) for f in model.estimators_features_} == {expected}
    assert [m.n_features_in_ for m in model.estimators_] == [expected] * 7
    # Nothing to choose: no row is set aside, and no other model is trained.
    assert model.n_models_trained_ == 7
    assert {m.n_samples_fit_ for m in model.estimators_} == {30}
    assert not hasattr(model, "validation_scores_")
    X_scaled = model.standardizer_.transform(X)
    np.testing.assert_allclose(X_scaled.mean(axis=0), 0.0, atol=1e-12)
    answers = [
        m.predict(X_scaled[:, f])
        for m, f in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    np.testing.assert_allclose(model.predict(X), np.mean(answers, axis=0))


def test_the_best_size_is_chosen():
    X, y, _ = make_hypercube(n_samples=120, n_irrelevant=35, random_state=0)
    model = RandomSubspaceClassifier(KNeighborsClassifier(), n_estimators=10, random_state=0)
    model.fit(X[:80], y[:80], X_val=X[80:], y_val=y[80:])
    table = model.validation_scores_
    assert list(table.columns) == ["max_features", "score"]
    assert table["max_features"].tolist() == candidate_sizes(40)
    best = table[table["score"] == table["score"].max()]
    assert model.max_features_ == best["max_features"].min()
    assert table["score"].between(0.0, 1.0).all()
    assert model.n_models_trained_ == 10 * (len(table) + 1)
    assert {m.n_samples_fit_ for m in model.estimators_} == {80}


def test_of_equal_scores_the_smallest_size_is_taken(monkeypatch):
    scores = iter([0.2, 0.7, 0.7, 0.1])
    monkeypatch.setattr(random_subspace, "validation_score", lambda *args: next(scores))
    monkeypatch.setattr(random_subspace, "candidate_sizes", lambda m: [1, 2, 4, 6])
    X, y, _ = make_friedman(n_samples=30, n_irrelevant=1, random_state=0)
    assert RandomSubspaceRegressor(n_estimators=3).fit(X, y).max_features_ == 2


def test_the_final_members_see_all_rows():
    X, y, _ = make_friedman(n_samples=50, n_irrelevant=3, random_state=0)
    model = RandomSubspaceRegressor(KNeighborsRegressor(), n_estimators=4, random_state=0)
    assert {m.n_samples_fit_ for m in model.fit(X, y).estimators_} == {50}


def test_it_learns():
    """Only features together help a linear model here: all of them is best."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    model = RandomSubspaceRegressor(LinearRegression(), n_estimators=20, random_state=0)
    model.fit(X[:150], X[:150].sum(axis=1))
    assert model.max_features_ == 10
    assert model.score(X[150:], X[150:].sum(axis=1)) > 0.99


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_features": 9}, "max_features=9 is more than the 8 feature"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": 1.5}, "max_features"),
        ({"max_features": True}, "'max_features' parameter .* Got True instead"),
        ({"max_features": np.True_}, "'max_features' parameter .* Got"),
        ({"max_features": "log2"}, "max_features"),
        ({"validation_fraction": None}, "needs validation data"),
        ({"n_estimators": 0}, "n_estimators"),
    ],
)
def test_bad_parameters(params, message):
    X, y, _ = make_friedman(n_samples=30, n_irrelevant=3, random_state=0)
    with pytest.raises(ValueError, match=message):
        RandomSubspaceRegressor(**params).fit(X, y)


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_votes_and_probabilities(voting):
    X, y, _ = make_hypercube(n_samples=80, n_irrelevant=5, random_state=0)
    model = RandomSubspaceClassifier(
        LogisticRegression(), n_estimators=5, max_features=3, voting=voting, random_state=0
    ).fit(X, y)
    shares = model.predict_proba(X) * 5
    assert (voting == "hard") == bool(np.allclose(shares, np.round(shares)))

"""The choice among penalties."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_friedman
from randsub.penalties import ExpectedSize, FusedLasso
from randsub.penalty_search import _nearest, _places, image_penalties, search_penalty

QUICK = {"n_estimators": 15, "max_iter": 12, "n_batches": 2, "n_revivals": 0}
LAMS = (0.0, 0.01, 5.0)


def data(n=90):
    X, y, _ = make_friedman(n_samples=n, n_irrelevant=5, random_state=0)
    return X, y


def regressor(**params):
    return PRSRegressor(KNeighborsRegressor(), **flat(**{**QUICK, "random_state": 0, **params}))


def test_every_row_is_an_ordinary_fit():
    X, y = data()
    model = regressor()
    search = search_penalty(model, [ExpectedSize(lam) for lam in LAMS], X, y)
    assert not hasattr(model, "alpha_")
    assert list(search.table["ExpectedSize"]) == list(LAMS)
    for lam, fitted, (_, row) in zip(LAMS, search.models, search.table.iterrows(), strict=True):
        alone = regressor(penalty=ExpectedSize(lam)).fit(X, y)
        np.testing.assert_array_equal(fitted.alpha_, alone.alpha_)
        np.testing.assert_array_equal(fitted.predict(X), alone.predict(X))
        objective = alone.history_["validation_objective"].min()
        loss = objective - lam * alone.alpha_.sum()
        assert row["validation_loss"] == pytest.approx(loss) == alone.validation_loss_
        assert row["expected_size"] == alone.expected_size_
        assert row["n_models_trained"] == alone.n_models_trained_
        assert row["started_from"] == -1
    assert search.best_index == search.table["validation_loss"].idxmin() != 2
    assert search.best_model is search.models[search.best_index]
    assert list(np.flatnonzero(search.table["best"])) == [search.best_index]


def test_a_score_decides_where_it_is_asked_for():
    X, y = data()
    labels = np.where(y > np.median(y), "high", "low")
    train, val = slice(0, 60), slice(60, None)
    model = PRSClassifier(KNeighborsClassifier(), **flat(random_state=0, **QUICK))
    search = search_penalty(
        model,
        [None, ExpectedSize(0.01), ExpectedSize(5.0)],
        X[train],
        labels[train],
        X_val=X[val],
        y_val=labels[val],
        scoring="accuracy",
    )
    scores = [fitted.score(X[val], labels[val]) for fitted in search.models]
    np.testing.assert_allclose(search.table["validation_score"], scores)
    assert scores[search.best_index] == max(scores)
    tied = search.table[search.table["validation_score"] == max(scores)]
    assert tied["validation_loss"].idxmin() == search.best_index
    assert list(search.table["ExpectedSize"]) == [0.0, 0.01, 5.0]  # None weighs nothing


def test_a_warm_start_goes_on_from_the_nearest_penalty():
    X, y = data()
    penalties = [ExpectedSize(a) + FusedLasso.grid(b, 2, 5) for a in LAMS[:2] for b in LAMS[:2]]
    search = search_penalty(regressor(), penalties, X, y, warm_start=True, warm_iter=0.5)
    assert list(search.table["started_from"]) == [-1, 0, 0, 2]
    assert [model.n_iter_ for model in search.models] == [12, 6, 6, 6]
    start = np.maximum(search.models[0].alpha_, 0.02)
    again = regressor(penalty=penalties[1], alpha_init=start, max_iter=6).fit(X, y)
    np.testing.assert_array_equal(search.models[1].alpha_, again.alpha_)


def test_several_base_models():
    X, y = data()
    model = regressor(n_repeats=2)
    model.set_params(estimator=[("knn", KNeighborsRegressor()), ("ridge", Ridge())])
    penalties = [ExpectedSize(lam) for lam in LAMS]
    search = search_penalty(model, penalties, X, y, warm_start=True, warm_iter=0.5)
    start = np.maximum(search.models[0].alpha_, 0.02)
    again = clone(model).set_params(penalty=penalties[1], alpha_init=start, max_iter=6).fit(X, y)
    np.testing.assert_array_equal(search.models[1].alpha_, again.alpha_)
    assert search.models[1].shares_ == again.shares_


def test_a_warm_start_leaves_barred_features_barred_and_groups_grouped():
    X, y = data()
    init = np.full(5, 0.3)
    init[1] = 0.0
    model = regressor(alpha_init=init, feature_groups=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    search = search_penalty(model, [ExpectedSize(0.0), ExpectedSize(0.01)], X, y, warm_start=True)
    for fitted in search.models:
        assert fitted.group_alpha_.shape == (5,)
        assert fitted.group_alpha_[1] == 0.0


@pytest.mark.parametrize("warm_start", [False, True])
def test_the_same_seed_gives_the_same_search_for_any_number_of_workers(warm_start):
    X, y = data()
    penalties = [ExpectedSize(lam) for lam in LAMS]
    tables = [
        search_penalty(regressor(n_jobs=n), penalties, X, y, warm_start=warm_start).table
        for n in (1, 2)
    ]
    pd.testing.assert_frame_equal(*(table.drop(columns="seconds") for table in tables))


def test_without_a_seed_all_fits_still_share_their_draws():
    X, y = data()
    state = np.random.RandomState(3)
    search = search_penalty(
        regressor(random_state=state), [ExpectedSize(0.01), ExpectedSize(0.01)], X, y
    )
    np.testing.assert_array_equal(search.models[0].alpha_, search.models[1].alpha_)


def test_a_grid_for_images():
    penalties = image_penalties(3, 4)
    assert len(penalties) == 16
    pairs = [tuple(penalty.coefficients().values()) for penalty in penalties]
    levels = (0.0, 1e-4, 1e-3, 1e-2)
    assert pairs == [(a, b) for a in levels for b in levels]
    for penalty in penalties:
        penalty.check(12)
    # Neighbours on the grid: the one to the left or, at the left edge, the one above.
    places = _places(pd.DataFrame(pairs))
    nearest = [_nearest(places, place) for place in range(1, 16)]
    assert nearest == [0 if k == 4 else k - 4 if k % 4 == 0 else k - 1 for k in range(1, 16)]


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"penalties": []}, ValueError, "penalties is empty"),
        ({"penalties": ExpectedSize(0.1)}, TypeError, "a list of them, got the single Expected"),
        ({"penalties": [0.1]}, TypeError, "must hold Penalty objects or None, got 0.1"),
        ({"penalties": [ExpectedSize(-1.0)]}, ValueError, "ExpectedSize needs a finite lam"),
        ({"model": KNeighborsRegressor()}, TypeError, "got KNeighborsRegressor"),
        ({"scoring": "r2"}, ValueError, "scoring='r2' needs X_val and y_val"),
        ({"warm_iter": 0.0}, ValueError, r"warm_iter must be in \(0, 1\], got 0.0"),
    ],
)
def test_bad_input(change, error, message):
    X, y = data()
    arguments = {"model": regressor(), "penalties": [ExpectedSize(0.1)], "X": X, "y": y, **change}
    with pytest.raises(error, match=message):
        search_penalty(**arguments)


def test_only_the_best_model_is_repeated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40))
    y = X[:, 0]
    penalties = [ExpectedSize(0.01), ExpectedSize(5.0)]
    search = search_penalty(regressor(), penalties, X, y)
    assert [model.n_repeats_ for model in search.models] == [1, 1]
    alone = regressor(penalty=penalties[search.best_index]).fit(X, y)
    assert search.best_model.n_repeats_ == alone.n_repeats_ == 5
    np.testing.assert_array_equal(search.best_model.alphas_, alone.alphas_)
    # The first repeat is the model that was compared.
    compared = search.models[search.best_index]
    np.testing.assert_array_equal(search.best_model.alphas_[0], compared.alpha_)
    several = search_penalty(regressor(n_repeats=2), penalties, X, y)
    assert [model.n_repeats_ for model in several.models] == [2, 2]
    assert several.best_model is several.models[several.best_index]
    given = search_penalty(regressor(), penalties, X[:18], y[:18], X_val=X[18:], y_val=y[18:])
    assert given.best_model is given.models[given.best_index]
    weight = np.where(np.arange(30) < 20, 1.0, 0.0)
    few = search_penalty(regressor(), penalties, X[:, :20], y, weight)
    assert few.best_model.n_repeats_ == 5

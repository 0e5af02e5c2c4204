"""Weights mean what they should: with fixed splits, a weight of k is k copies of the sample."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from randsub import RandomSubspaceRegressor, RaSERegressor

FEW = {"n_estimators": 8, "n_candidates": 6, "max_iter": 2, "max_size": 4}


def folds_of(sample_of_row):
    """Folds by number of the sample instead of by chance, so that copies stay together."""
    place = sample_of_row % 4
    return [(np.flatnonzero(place != k), np.flatnonzero(place == k)) for k in range(4)]


def with_folds(model, sample_of_row):
    """The model with fixed folds, where it has any."""
    if isinstance(model, RaSERegressor):
        model.set_params(cv=folds_of(sample_of_row))
    return model


def problem(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = X[:, 0] - 0.5 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, y, rng.integers(1, 4, size=n)


def figures(model):
    """What was judged on the way."""
    if isinstance(model, RaSERegressor):
        return model.history_[["cv_error", "validation_score"]].to_numpy()
    return model.validation_scores_["score"].to_numpy()


@pytest.mark.parametrize(
    "model",
    [
        RaSERegressor(Ridge(), random_state=0, **FEW),
        RandomSubspaceRegressor(Ridge(), n_estimators=8, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_weight_is_so_many_copies(model):
    X, y, weight = problem(0)
    X_val, y_val, weight_val = problem(1, n=20)
    with_folds(model, np.arange(40))
    model.fit(X, y, weight, X_val=X_val, y_val=y_val, sample_weight_val=weight_val)
    weighted, answers = figures(model), model.predict(X_val)

    copies, copies_val = np.repeat(np.arange(40), weight), np.repeat(np.arange(20), weight_val)
    with_folds(model, copies)
    model.fit(X[copies], y[copies], X_val=X_val[copies_val], y_val=y_val[copies_val])
    np.testing.assert_allclose(figures(model), weighted, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X_val), answers, rtol=1e-6)

    # And the weights did matter.
    with_folds(model, np.arange(40))
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert np.abs(figures(model) - weighted).max() > 1e-3


def test_weights_count_in_the_error_of_base_models_that_take_none():
    X, y, weight = problem(0)
    model = RaSERegressor(KNeighborsRegressor(3), random_state=0, standardize=False, **FEW)
    with_folds(model, np.arange(40))
    plain = model.fit(X, y, X_val=X, y_val=y).history_["cv_error"]
    same = model.fit(X, y, np.full(40, 2.0), X_val=X, y_val=y).history_["cv_error"]
    weighted = model.fit(X, y, weight, X_val=X, y_val=y).history_["cv_error"]
    np.testing.assert_allclose(same, plain)
    assert abs(weighted.iloc[0] - plain.iloc[0]) > 1e-3

"""Weights mean what they should: with fixed splits, a weight of k is k copies of the sample."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.solver import Solver, Window, refresh
from randsub.solver.rounds import Batch


@pytest.fixture
def blocks(monkeypatch):
    """Batches by block of samples instead of by chance, so that copies stay with the original."""

    def choose(block_of_row, n_batches):
        def deal(rows, n, strata, max_samples, rng):
            block = block_of_row[rows]
            return [
                Batch(rows[block % n_batches != k], rows[block % n_batches == k])
                for k in range(n_batches)
            ]

        monkeypatch.setattr(refresh, "deal_batches", deal)

    return choose


def problem(seed, n=40, classes=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=n)
    if classes:
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
    weight = rng.integers(1, 4, size=n)
    return X, y, weight


SETTINGS = {"n_estimators": 20, "max_iter": 15, "n_batches": 4, "learning_rate": 0.02}


@pytest.mark.parametrize(
    "model",
    [
        PRSRegressor(Ridge(), **flat(random_state=0, **SETTINGS)),
        PRSRegressor(
            Ridge(), **flat(objective="members", loss="huber", random_state=0, **SETTINGS)
        ),
        PRSRegressor(Ridge(), **flat(solver=Solver(refresh=Window(4)), random_state=0, **SETTINGS)),
        PRSClassifier(
            DecisionTreeClassifier(max_depth=2, min_samples_leaf=1, random_state=0),
            **flat(bootstrap=False, random_state=0, **SETTINGS),
        ),
    ],
    ids=["ridge", "members-huber", "window", "tree"],
)
def test_a_weight_is_so_many_copies(model, blocks):
    classes = 3 if isinstance(model, PRSClassifier) else None
    X, y, weight = problem(0, classes=classes)
    X_val, y_val, weight_val = problem(1, n=20, classes=classes)
    # Trees break ties between equally good splits by their seed and by rounding; scaled copies of
    # the data must agree to the last bit for that not to matter.
    model.set_params(standardize=not classes, engine="generic")

    blocks(np.arange(len(y)), 4)
    model.fit(X, y, weight, X_val=X_val, y_val=y_val, sample_weight_val=weight_val)
    weighted, of_weighted = model.alpha_, model.history_

    copies, copies_val = np.repeat(np.arange(40), weight), np.repeat(np.arange(20), weight_val)
    blocks(copies, 4)
    model.fit(X[copies], y[copies], X_val=X_val[copies_val], y_val=y_val[copies_val])
    np.testing.assert_allclose(model.alpha_, weighted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.history_["objective"], of_weighted["objective"], rtol=1e-6)
    np.testing.assert_allclose(
        model.history_["validation_objective"], of_weighted["validation_objective"], rtol=1e-6
    )

    # And the weights did matter.
    blocks(np.arange(len(y)), 4)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert np.abs(model.alpha_ - weighted).max() > 1e-4


def test_weights_reach_the_loss_of_base_models_that_take_none(blocks):
    X, y, weight = problem(0)
    blocks(np.arange(len(y)), 4)
    model = PRSRegressor(KNeighborsRegressor(), **flat(random_state=0, **SETTINGS))
    weighted = model.fit(X, y, weight, X_val=X, y_val=y).history_["objective"]
    plain = model.fit(X, y, X_val=X, y_val=y).history_["objective"]
    # With the same masks at first; later the two may cross.
    assert np.abs(weighted - plain).iloc[0] > 1e-3


def test_a_weight_of_zero_removes_the_sample():
    X, y, _ = problem(2)
    weight = np.ones(40)
    weight[5:15] = 0.0
    X_bad, y_bad = X.copy(), y.copy()
    X_bad[5:15], y_bad[5:15] = 1e6, -1e6
    model = PRSRegressor(Ridge(), **flat(random_state=0, **SETTINGS)).fit(X_bad, y_bad, weight)
    clean = PRSRegressor(Ridge(), **flat(random_state=0, **SETTINGS)).fit(
        np.delete(X, np.s_[5:15], axis=0), np.delete(y, np.s_[5:15]), np.ones(30)
    )
    np.testing.assert_allclose(model.alpha_, clean.alpha_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), clean.predict(X), rtol=1e-9)


def test_equal_weights_change_nothing():
    X, y, _ = problem(3)
    model = PRSRegressor(Ridge(), **flat(random_state=0, **SETTINGS))
    plain = model.fit(X, y).alpha_
    np.testing.assert_allclose(model.fit(X, y, np.full(40, 1.0)).alpha_, plain, rtol=1e-9)


@pytest.mark.parametrize(
    "weight, message",
    [
        (np.zeros(40), "at least one"),
        (np.full(40, -1.0), "Negative values"),
        (np.full(40, np.nan), "NaN"),
        (np.ones(39), "sample_weight.shape"),
        (np.ones((40, 2)), "1D"),
        (np.eye(40)[0], "positive weight"),
    ],
)
def test_unusable_weights(weight, message):
    X, y, _ = problem(4)
    with pytest.raises(ValueError, match=message):
        PRSRegressor(**flat(**SETTINGS)).fit(X, y, weight)

"""Proximal optimisers inside the estimators."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from flat_parameters import flat
from randsub import PRSRegressor
from randsub.penalties import ExpectedSize, FusedLasso, Penalty
from randsub.solver import Solver

SIDE = 5
PENALTY = ExpectedSize(1e-3) + FusedLasso.grid(0.05, SIDE, SIDE)


def images(n=80):
    """Images of which only the square at the lower left matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, SIDE, SIDE))
    return X.reshape(n, -1), X[:, 3:, :2].sum(axis=(1, 2)) + 0.1 * rng.normal(size=n)


def fitted(optimizer, **params):
    X, y = images()
    settings = {
        "n_estimators": 30,
        "max_iter": 60,
        "n_batches": 2,
        "n_revivals": 0,
        # Noise, for the penalty to remove.
        "baseline": "weighted",
        "ess_threshold": 0.5,
        "learning_rate": 5e-3,
        "penalty": PENALTY,
        "random_state": 0,
        **params,
    }
    return PRSRegressor(
        LinearRegression(), **flat(solver=Solver(optimizer=optimizer), **settings)
    ).fit(X, y)


def equal_pairs(alpha):
    a, b = FusedLasso.grid(1.0, SIDE, SIDE).edges.T
    return np.count_nonzero((alpha[a] == alpha[b]) & (alpha[a] > 0.0))


def roughness(alpha):
    """Total variation relative to the range of alpha.

    It is the same for every flat square on flat ground, whatever their heights.
    """
    return PENALTY.right.value(alpha[np.newaxis]) / np.ptp(alpha)


@pytest.mark.parametrize("optimizer, rate", [("prox_adam", 5e-3), ("prox_gradient", 5e-2)])
def test_neighbours_become_equal_and_the_square_stands_out(optimizer, rate):
    smooth, rough = fitted(optimizer, learning_rate=rate), fitted("adam")
    assert equal_pairs(smooth.alpha_) > 5
    assert equal_pairs(rough.alpha_) == 0
    assert roughness(smooth.alpha_) < roughness(rough.alpha_)
    alpha = smooth.alpha_.reshape(SIDE, SIDE)
    assert alpha[3:, :2].min() > alpha[:2, 2:].max()


def test_features_that_are_barred_stay_so_whatever_their_neighbours():
    init = np.full(SIDE * SIDE, 0.2)
    init[[0, 16, 20]] = 0.0
    alpha = fitted("prox_adam", alpha_init=init, n_revivals=1).alpha_
    np.testing.assert_array_equal(alpha[[0, 16, 20]], 0.0)
    assert alpha[15] > 0.0


def test_without_a_penalty_it_is_adam():
    one, other = fitted("prox_adam", penalty=None), fitted("adam", penalty=None)
    np.testing.assert_array_equal(one.alpha_, other.alpha_)


def test_a_penalty_without_a_proximal_step_is_refused_before_any_training():
    class Square(Penalty):
        def value(self, theta):
            return float(np.sum(theta**2))

        def gradient(self, theta):
            return 2.0 * theta

    with pytest.raises(ValueError, match=r"needs a penalty with a proximal step.*use one of"):
        fitted("prox_adam", penalty=Square())

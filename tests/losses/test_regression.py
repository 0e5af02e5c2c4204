"""Squared error, Huber and Poisson deviance against their formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import brier_score_loss, mean_poisson_deviance, mean_squared_error

from oracle import finite_differences
from randsub import PRSRegressor
from randsub.losses import Huber, PoissonDeviance, Reference, SquaredError

numbers = arrays(float, (6, 1), elements=st.floats(-50, 50))
weights = arrays(float, 6, elements=st.floats(0.1, 5))
anything = settings(max_examples=60, deadline=None, derandomize=True)


@anything
@given(y=numbers, f=numbers, weight=weights)
def test_squared_error_is_the_mean_squared_error(y, f, weight):
    value = SquaredError().value(y, f, weight)
    expected = mean_squared_error(y, f, sample_weight=weight)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert value >= 0.0
    assert SquaredError().value(y, y, weight) == 0.0


@anything
@given(y=numbers, f=numbers, weight=weights, shift=st.floats(-9, 9), factor=st.floats(0.1, 9))
def test_squared_error_forgets_shifts_and_squares_units(y, f, weight, shift, factor):
    value = SquaredError().value(y, f, weight)
    moved = SquaredError().value(shift + factor * y, shift + factor * f, weight)
    assert moved == pytest.approx(factor**2 * value, rel=1e-8, abs=1e-8)


def test_squared_error_is_the_brier_score_in_classification():
    rng = np.random.default_rng(0)
    label, share = rng.integers(0, 3, 40), rng.dirichlet(np.ones(3), 40)
    weight = rng.uniform(0.1, 2.0, 40)
    expected = brier_score_loss(
        label, share, sample_weight=weight, labels=[0, 1, 2], scale_by_half=False
    )
    assert SquaredError().value(np.eye(3)[label], share, weight) == pytest.approx(expected)
    assert SquaredError.tasks == {"regression", "classification"}


def test_huber_is_squared_error_near_the_target_and_its_tangent_far_from_it():
    loss = Huber(delta=2.0)
    y = np.zeros((6, 1))
    f = np.array([[-7.0], [-1.5], [0.0], [1.0], [2.0], [5.0]])
    # 2 delta |r| - delta ** 2 beyond the bend
    np.testing.assert_allclose(loss.pointwise(y, f), [24.0, 2.25, 0.0, 1.0, 4.0, 16.0])
    np.testing.assert_allclose(
        loss.pointwise_gradient(y, f)[:, 0], [-4.0, -3.0, 0.0, 2.0, 4.0, 4.0]
    )


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_huber_is_smooth_at_the_bend(side):
    loss, y, weight = Huber(delta=1.35), np.array([[0.4]]), np.ones(1)
    for offset in (-1e-3, 0.0, 1e-3):
        f = np.array([[0.4 + side * (1.35 + offset)]])
        slope = finite_differences(lambda at: loss.value(y, at, weight), f)
        # At the bend itself a difference straddles the two branches: it is right to first order.
        np.testing.assert_allclose(loss.gradient(y, f, weight), slope, atol=2e-6)


@anything
@given(y=numbers, f=numbers, weight=weights, delta=st.floats(0.01, 20), shift=st.floats(-9, 9))
def test_huber_is_never_negative_nor_larger_than_squared_error(y, f, weight, delta, shift):
    value = Huber(delta).value(y, f, weight)
    assert 0.0 <= value <= SquaredError().value(y, f, weight) * (1.0 + 1e-9)
    assert Huber(delta).value(y + shift, f + shift, weight) == pytest.approx(value, abs=1e-7)
    assert Huber(1000.0).value(y, f, weight) == pytest.approx(SquaredError().value(y, f, weight))
    # Bend and residuals in other units.
    assert Huber(3.0 * delta).value(3.0 * y, 3.0 * f, weight) == pytest.approx(9.0 * value)


@pytest.mark.parametrize("delta", [0.0, -1.0, np.inf, np.nan])
def test_huber_refuses_a_bend_that_is_none(delta):
    with pytest.raises(ValueError, match=r"Huber needs a finite delta > 0, got"):
        Huber(delta).check(np.zeros((3, 1)))
    assert Huber(0.5).check(np.zeros((3, 1))) is None


def test_poisson_deviance_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    y = rng.poisson(2.0, (50, 1)).astype(float)
    assert (y == 0.0).any()
    f, weight = rng.uniform(0.1, 4.0, (50, 1)), rng.uniform(0.1, 2.0, 50)
    expected = mean_poisson_deviance(y, f, sample_weight=weight)
    assert PoissonDeviance().value(y, f, weight) == pytest.approx(expected, rel=1e-12)


@anything
@given(
    y=arrays(float, (6, 1), elements=st.just(0.0) | st.floats(1e-9, 50)),
    f=arrays(float, (6, 1), elements=st.floats(-1, 50)),
    weight=weights,
)
def test_poisson_deviance_is_never_negative(y, f, weight):
    value = PoissonDeviance().value(y, f, weight)
    assert value >= -1e-12
    assert np.isfinite(value)
    assert np.isfinite(PoissonDeviance().gradient(y, f, weight)).all()
    seen = np.maximum(y, 0.01)
    assert PoissonDeviance().value(seen, seen, weight) == pytest.approx(0.0, abs=1e-12)


@anything
@given(factor=st.floats(0.1, 10), seed=st.integers(0, 1000))
def test_poisson_deviance_grows_with_the_unit(factor, seed):
    rng = np.random.default_rng(seed)
    y, f = rng.poisson(2.0, (9, 1)) * 1.0, rng.uniform(0.2, 4.0, (9, 1))
    value, weight = PoissonDeviance().value(y, f, np.ones(9)), np.ones(9)
    scaled = PoissonDeviance().value(factor * y, factor * f, weight)
    assert scaled == pytest.approx(factor * value, rel=1e-9)


def test_poisson_deviance_below_the_floor_stands_at_the_floor():
    loss, weight = PoissonDeviance(floor=0.05), np.ones(1)
    at_floor = np.array([[0.05]])
    for target in (0.0, 0.02, 1.0, 3.0):
        y = np.array([[target]])
        for output in (0.049, 0.0, -2.0):
            f = np.array([[output]])
            assert loss.value(y, f, weight) == loss.value(y, at_floor, weight)
            np.testing.assert_array_equal(
                loss.gradient(y, f, weight), [[2.0 * (1.0 - target / 0.05)]]
            )
        above = np.array([[0.06]])
        slope = finite_differences(lambda at, y=y: loss.value(y, at, weight), above)
        np.testing.assert_allclose(loss.gradient(y, above, weight), slope, rtol=1e-6)


def test_poisson_reference_keeps_the_origin():
    y, weight = np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 1.0])
    assert PoissonDeviance().reference(y, weight) == Reference(0.0, 7.0 / 4.0)
    assert PoissonDeviance().reference(np.zeros(3), weight) == Reference(0.0, 1.0)


@pytest.mark.parametrize("floor", [0.0, -1.0, np.inf, np.nan])
def test_poisson_deviance_refuses_a_floor_that_is_none(floor):
    with pytest.raises(ValueError, match="PoissonDeviance needs a finite floor > 0, got"):
        PoissonDeviance(floor).check(np.ones((3, 1)))


def test_poisson_deviance_refuses_targets_that_are_no_counts():
    with pytest.raises(ValueError, match=r"targets y >= 0, but the smallest is -0\.5"):
        PoissonDeviance().check(np.array([[1.0], [-0.5], [2.0]]))
    with pytest.raises(ValueError, match="some target y > 0, but all of them are 0"):
        PoissonDeviance().check(np.zeros((3, 1)))
    assert PoissonDeviance().check(np.array([[0.0], [1.5]])) is None


def test_poisson_deviance_takes_validation_data_without_a_count():
    """Rare counts may well be absent from a small validation set."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.poisson(1.0, 40)
    PoissonDeviance().check_validation(np.zeros((3, 1)))
    model = PRSRegressor(loss="poisson", n_estimators=5, max_iter=2, random_state=0)
    model.fit(X, y, X_val=X[:10], y_val=np.zeros(10))
    assert np.isfinite(model.validation_loss_)
    with pytest.raises(ValueError, match="some target y > 0, but all of them are 0"):
        model.fit(X, np.zeros(40), X_val=X[:10], y_val=y[:10])
    with pytest.raises(ValueError, match="PoissonDeviance needs targets y >= 0"):
        model.fit(X, y, X_val=X[:10], y_val=np.full(10, -1.0))

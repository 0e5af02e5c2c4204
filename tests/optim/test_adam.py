"""Projected Adam against Adam written out one number at a time."""

import numpy as np
import pytest

from randsub.optim import ProjectedAdam


def plain_adam(theta, gradients, lr, beta1, beta2, eps, decay=0.0, low=0.0, high=1.0):
    """Every coordinate on its own, with plain numbers."""
    path = np.empty(gradients.shape)
    for place in np.ndindex(theta.shape):
        x, m, v = float(theta[place]), 0.0, 0.0
        for n, gradient in enumerate(gradients, start=1):
            g = float(gradient[place])
            if (x <= low and g > 0.0) or (x >= high and g < 0.0):
                g = 0.0
            m = beta1 * m + (1.0 - beta1) * g
            v = beta2 * v + (1.0 - beta2) * g * g
            rate = lr / (1.0 + decay * (n - 1))
            x -= rate * (m / (1.0 - beta1**n)) / ((v / (1.0 - beta2**n)) ** 0.5 + eps)
            x = min(max(x, low), high)
            path[(n - 1, *place)] = x
    return path


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"learning_rate": 0.1},
        {"learning_rate": 0.05, "beta1": 0.0, "beta2": 0.5, "eps": 1e-2},
        {"learning_rate": 0.2, "beta1": 0.8, "beta2": 0.9, "eps": 0.1},
        {"learning_rate": 0.2, "decay": 0.03},
        {"learning_rate": 0.9, "beta1": 0.5, "beta2": 0.9, "decay": 1.0},
    ],
)
@pytest.mark.parametrize("low", [0.0, 0.05])
def test_adam_in_a_box(settings, low):
    rng = np.random.default_rng(0)
    theta = np.array([[0.05, 0.5, 0.95, 0.3], [low, 1.0 - low, 0.5, 0.06]])
    # A drift takes coordinates to the edges, and back again after half of the steps.
    drift = np.sign(np.arange(60) - 29.5)[:, np.newaxis, np.newaxis]
    gradients = rng.normal(size=(60, 2, 4)) + drift * rng.choice([-1.0, 1.0], size=(2, 4))
    optimizer = ProjectedAdam(**settings)
    params = optimizer.get_params()
    lr = params.pop("learning_rate")
    expected = plain_adam(theta, gradients, lr, **params, low=low, high=1.0 - low)
    state = optimizer.init(theta)
    for gradient, row in zip(gradients, expected, strict=True):
        theta, state = optimizer.update(
            gradient, state, theta, lambda at: np.clip(at, low, 1.0 - low)
        )
        np.testing.assert_allclose(theta, row, rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(state.steps, [60, 60])
    if lr > 0.01:
        assert (expected == low).any()
        assert (expected == 1.0 - low).any()


def test_the_first_step_is_the_learning_rate_against_the_sign():
    theta = np.full((1, 3), 0.5)
    optimizer = ProjectedAdam(learning_rate=0.01)
    moved, _ = optimizer.update(
        np.array([[1e-4, -30.0, 0.0]]), optimizer.init(theta), theta, lambda at: at
    )
    np.testing.assert_allclose(moved, [[0.49, 0.51, 0.5]], rtol=1e-4)


def test_a_gradient_that_would_leave_is_not_remembered():
    theta = np.array([[0.0, 1.0, 0.0]])
    optimizer = ProjectedAdam()
    _, state = optimizer.update(
        np.array([[1.0, -1.0, -1.0]]), optimizer.init(theta), theta, lambda at: np.clip(at, 0, 1)
    )
    np.testing.assert_allclose(state.first, [[0.0, 0.0, -0.1]])
    np.testing.assert_allclose(state.second, [[0.0, 0.0, 0.001]])


def test_defaults_are_those_of_the_paper():
    assert ProjectedAdam().get_params() == {
        "learning_rate": 1e-3,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "decay": 0.0,
    }


@pytest.mark.parametrize("name", ["beta1", "beta2"])
@pytest.mark.parametrize("value", [-0.1, 1.0, np.nan])
def test_a_memory_that_does_not_fade_is_refused(name, value):
    with pytest.raises(
        ValueError, match=f"ProjectedAdam needs a finite 0 <= {name} < 1, got {value!r}"
    ):
        ProjectedAdam(**{name: value}).check()


@pytest.mark.parametrize("eps", [0.0, -1e-8, np.nan])
def test_an_eps_that_is_none_is_refused(eps):
    with pytest.raises(ValueError, match="ProjectedAdam needs a finite eps > 0, got"):
        ProjectedAdam(eps=eps).check()


def test_a_rate_that_falls_is_the_same_rate_at_the_first_step():
    theta, gradient = np.full((1, 3), 0.5), np.array([[1.0, -2.0, 0.3]])
    moved = [
        optimizer.update(gradient, optimizer.init(theta), theta, lambda at: at)[0]
        for optimizer in (ProjectedAdam(0.01), ProjectedAdam(0.01, decay=7.0))
    ]
    np.testing.assert_array_equal(*moved)


def test_steps_along_a_constant_gradient_are_the_rate_of_each_step():
    # Both moments of a constant gradient are its own, so Adam steps by the rate alone.
    optimizer = ProjectedAdam(0.01, decay=0.5)
    theta, state = np.full((1, 1), 0.9), None
    path = [theta]
    for _ in range(6):
        state = optimizer.init(theta) if state is None else state
        theta, state = optimizer.update(np.ones((1, 1)), state, theta, lambda at: at)
        path.append(theta)
    expected = -0.01 / (1.0 + 0.5 * np.arange(6))
    np.testing.assert_allclose(np.diff(np.ravel(path)), expected, rtol=1e-7)


def test_a_task_that_was_restarted_has_its_first_rate_again():
    optimizer = ProjectedAdam(0.01, decay=1.0)
    theta = np.full((2, 1), 0.9)
    state = optimizer.init(theta)
    for _ in range(9):
        theta, state = optimizer.update(np.ones((2, 1)), state, theta, lambda at: at)
    state = optimizer.restart(state, theta, np.array([False, True]))
    moved, state = optimizer.update(np.ones((2, 1)), state, theta, lambda at: at)
    np.testing.assert_allclose(theta - moved, [[0.01 / 10.0], [0.01]], rtol=1e-6)
    np.testing.assert_array_equal(state.steps, [10, 1])


@pytest.mark.parametrize("decay", [-1e-3, np.nan, np.inf, "slow", None])
def test_a_decay_that_is_none_is_refused(decay):
    with pytest.raises(ValueError, match=f"ProjectedAdam needs a finite decay >= 0, got {decay!r}"):
        ProjectedAdam(decay=decay).check()

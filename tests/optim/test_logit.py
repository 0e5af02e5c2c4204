"""Adam on log-odds against Adam on log-odds written out one number at a time."""

from math import exp, log

import numpy as np
import pytest

from oracle import finite_differences
from randsub.distributions import Bernoulli
from randsub.optim import LogitAdam, ProjectedAdam
from randsub.optim.logit import NEAREST


def plain_logit_adam(theta, gradients, floor, learning_rate, beta1, beta2, eps, decay, first_step):
    """Every coordinate on its own, with plain numbers; a task starts afresh at its first step."""
    path = np.empty(gradients.shape)
    for task, j in np.ndindex(theta.shape):
        x, m, v, n = float(theta[task, j]), 0.0, 0.0, 0
        for step, gradient in enumerate(gradients):
            if step == first_step[task]:
                m, v, n = 0.0, 0.0, 0
            n += 1
            inside = min(max(x, NEAREST), 1.0 - NEAREST)
            g = float(gradient[task, j]) * inside * (1.0 - inside)
            m = beta1 * m + (1.0 - beta1) * g
            v = beta2 * v + (1.0 - beta2) * g * g
            rate = learning_rate / (1.0 + decay * (n - 1))
            phi = log(inside / (1.0 - inside))
            phi -= rate * (m / (1.0 - beta1**n)) / ((v / (1.0 - beta2**n)) ** 0.5 + eps)
            if x not in (0.0, 1.0):
                x = 1.0 / (1.0 + exp(-phi))
                x = min(max(x, NEAREST), 1.0 - NEAREST)
            x = min(max(x, floor), 1.0 - floor)
            path[step, task, j] = x
    return path


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"learning_rate": 0.3},
        {"learning_rate": 0.5, "beta1": 0.0, "beta2": 0.5, "eps": 1e-2},
        {"learning_rate": 1.0, "beta1": 0.8, "beta2": 0.9, "eps": 0.1, "decay": 0.05},
    ],
)
@pytest.mark.parametrize("floor", [0.0, 0.05])
def test_adam_on_log_odds(settings, floor):
    rng = np.random.default_rng(0)
    theta = np.array([[0.05, 0.5, 0.95, 0.3, 0.0], [0.2, 1.0, 0.5, 0.06, 1e-5]])
    # A drift takes coordinates towards the edges, and back again after half of the steps.
    drift = np.sign(np.arange(60) - 29.5)[:, np.newaxis, np.newaxis]
    gradients = rng.normal(size=(60, *theta.shape)) + drift * rng.choice([-2.0, 2.0], theta.shape)
    optimizer = LogitAdam(**settings)
    # The first task starts afresh on the way, so the tasks count different steps.
    expected = plain_logit_adam(
        theta, gradients, floor, first_step=[22, 0], **optimizer.get_params()
    )
    project = Bernoulli(theta.shape[1], floor=floor).project
    state = optimizer.init(theta)
    for step, (gradient, row) in enumerate(zip(gradients, expected, strict=True)):
        if step == 22:
            state = optimizer.restart(state, theta, np.array([True, False]))
        theta, state = optimizer.update(gradient, state, theta, project)
        np.testing.assert_allclose(theta, row, rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(state.steps, [38, 60])


@pytest.mark.parametrize("gradient", [-1e9, -1.0, 0.0, 1.0, 1e9])
def test_what_begins_at_the_edge_stays_and_nothing_else_gets_there(gradient):
    begin = np.array([[0.0, 1.0, 1e-12, 1e-7, 0.5, 1.0 - 1e-7, 1.0 - 1e-12]])
    optimizer = LogitAdam(learning_rate=5.0)
    theta, state = begin, optimizer.init(begin)
    for _ in range(50):
        theta, state = optimizer.update(
            np.full((1, 7), gradient), state, theta, Bernoulli(7).project
        )
        np.testing.assert_array_equal(theta[0, :2], [0.0, 1.0])
        assert ((theta[0, 2:] >= NEAREST) & (theta[0, 2:] <= 1.0 - NEAREST)).all()
    if gradient:
        # They went as far as they may.
        far = 1.0 - NEAREST if gradient < 0.0 else NEAREST
        np.testing.assert_allclose(theta[0, 2:], far, rtol=1e-9)
        # And they come back when the gradient turns.
        for _ in range(60):
            theta, state = optimizer.update(
                np.full((1, 7), -1e3 * gradient), state, theta, Bernoulli(7).project
            )
        np.testing.assert_allclose(theta[0, 2:], 1.0 - far, rtol=1e-9)


def test_steps_are_relative():
    theta = np.array([[0.01, 0.1]])
    optimizer = LogitAdam(learning_rate=0.01)
    moved, _ = optimizer.update(np.ones((1, 2)), optimizer.init(theta), theta, lambda at: at)
    # A step of 0.01 in log-odds is a hundredth of the probability that the feature is left out.
    np.testing.assert_allclose(moved / theta, 1.0 - 0.01 * (1.0 - theta), rtol=1e-4)


def test_the_last_word_is_the_projection():
    theta = np.array([[0.2, 0.5, 0.79, 0.0]])
    optimizer = LogitAdam(learning_rate=2.0)
    gradient = np.array([[1.0, 0.0, -1.0, 1.0]])
    project = Bernoulli(4, floor=0.2).project
    moved, _ = optimizer.update(gradient, optimizer.init(theta), theta, project)
    np.testing.assert_allclose(moved, [[0.2, 0.5, 0.8, 0.2]], rtol=1e-12)


def some_loss(theta):
    """Smooth, with coordinates that depend on each other."""
    return float(np.sin(3.0 * theta[0, 0]) * theta[0, 1] ** 2 + np.exp(theta[0, 2] * theta[0, 0]))


def slope_of(theta):
    return finite_differences(some_loss, theta)


@pytest.mark.parametrize("seed", range(5))
def test_the_step_is_along_the_slope_in_log_odds(seed):
    """With an eps that is large beside the slope g, a first step is rate g / (|g| + eps)."""
    rng = np.random.default_rng(seed)
    theta = rng.uniform(0.05, 0.95, (1, 3))
    phi = np.log(theta / (1.0 - theta))
    slope = finite_differences(lambda at: some_loss(1.0 / (1.0 + np.exp(-at))), phi)
    rate, eps = 0.01, 10.0
    optimizer = LogitAdam(learning_rate=rate, eps=eps)
    moved, _ = optimizer.update(slope_of(theta), optimizer.init(theta), theta, lambda at: at)
    step = phi - np.log(moved / (1.0 - moved))
    np.testing.assert_allclose(step * eps / (rate - np.abs(step)), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_small_steps_descend(seed):
    theta = np.random.default_rng(seed).uniform(0.05, 0.95, (1, 3))
    optimizer = LogitAdam(learning_rate=1e-3)
    state, before = optimizer.init(theta), some_loss(theta)
    for _ in range(20):
        theta, state = optimizer.update(slope_of(theta), state, theta, Bernoulli(3).project)
        assert some_loss(theta) < before
        before = some_loss(theta)


def test_its_parameters_are_those_of_adam():
    assert LogitAdam().get_params() == ProjectedAdam().get_params()


@pytest.mark.parametrize(
    "name, value, wanted",
    [
        ("learning_rate", 0.0, "learning_rate > 0"),
        ("learning_rate", None, "learning_rate > 0"),
        ("beta1", 1.0, "0 <= beta1 < 1"),
        ("beta2", -0.1, "0 <= beta2 < 1"),
        ("eps", 0.0, "eps > 0"),
        ("decay", -0.1, "decay >= 0"),
        ("decay", np.nan, "decay >= 0"),
    ],
)
def test_bad_parameters_are_refused(name, value, wanted):
    with pytest.raises(ValueError, match=f"LogitAdam needs a finite {wanted}, got {value!r}"):
        LogitAdam(**{name: value}).check()


def test_every_parameter_has_a_bad_value_above():
    marks = test_bad_parameters_are_refused.pytestmark
    assert {name for name, *_ in marks[0].args[1]} == set(LogitAdam().get_params())

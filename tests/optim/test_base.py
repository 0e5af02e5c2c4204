"""What every optimiser keeps: purity, the box, one memory for each task."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from randsub.distributions import Bernoulli
from randsub.optim import (
    FisherAdam,
    LogitAdam,
    Optimizer,
    ProjectedAdam,
    ProjectedGradientDescent,
)
from randsub.optim.adam import projected

OPTIMIZERS = {
    "adam": ProjectedAdam(learning_rate=0.05),
    "adam that slows down": ProjectedAdam(learning_rate=0.05, decay=0.01),
    "fisher": FisherAdam(learning_rate=0.05, beta1=0.9, beta2=0.99),
    "fisher that lets noise move": FisherAdam(learning_rate=0.05, beta1=0.9, noise=0.0),
    # The slope in log-odds vanishes towards the edges: a short memory does not mind.
    "logit": LogitAdam(learning_rate=0.125, beta2=0.9, decay=0.01),
    "descent": ProjectedGradientDescent(learning_rate=0.05),
}
every_optimizer = pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS.keys())
P, M = 3, 5


def box(theta):
    return np.clip(theta, 0.0, 1.0)


def walk(optimizer: Optimizer, theta, gradients, state=None, project=box):
    """Theta and memory after a step along each gradient."""
    state = optimizer.init(theta) if state is None else state
    for gradient in gradients:
        theta, state = optimizer.update(gradient, state, theta, project)
    return theta, state


def some_walk(seed: int, n_steps: int = 12):
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(P, M)), rng.normal(size=(n_steps, P, M))


def test_projected_gradient_is_zero_where_a_step_would_leave():
    theta = np.array([[0.0, 0.0, 1.0, 1.0, 0.5, 0.5, 1e-3]])
    gradient = np.array([[2.0, -2.0, 2.0, -2.0, 3.0, -3.0, 7.0]])
    expected = [[0.0, -2.0, 2.0, 0.0, 3.0, -3.0, 7.0]]
    np.testing.assert_array_equal(projected(gradient, theta, box), expected)


def test_projected_gradient_knows_the_floor():
    floor = Bernoulli(4, floor=0.1).project
    theta = np.array([[0.1, 0.1, 0.9, 0.9]])
    gradient = np.array([[1.0, -1.0, 1.0, -1.0]])
    np.testing.assert_array_equal(projected(gradient, theta, floor), [[0.0, -1.0, 1.0, 0.0]])


@every_optimizer
def test_update_leaves_its_arguments_alone(optimizer):
    theta, gradients = some_walk(0)
    theta, state = walk(optimizer, theta, gradients)
    arguments = gradients[0], state, theta
    before = copy.deepcopy(arguments)
    first = optimizer.update(*arguments, box)
    second = optimizer.update(*arguments, box)
    for now, then in zip(
        (arguments[0], *state, theta), (before[0], *before[1], before[2]), strict=True
    ):
        np.testing.assert_array_equal(now, then)
    np.testing.assert_array_equal(first[0], second[0])
    for one, other in zip(first[1], second[1], strict=True):
        np.testing.assert_array_equal(one, other)
    assert (first[0] != theta).any()


@every_optimizer
def test_memory_has_the_task_as_first_axis(optimizer):
    state = optimizer.init(np.zeros((P, M)))
    assert all(len(part) == P for part in state)
    for name, part in state._asdict().items():
        # A decay rate to the power of no observation.
        assert (part == (1.0 if name == "fading" else 0.0)).all()


@every_optimizer
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data(), floor=st.sampled_from([0.0, 0.1]), n_steps=st.integers(1, 6))
def test_theta_never_leaves_its_domain(optimizer, data, floor, n_steps):
    project = Bernoulli(4, floor=floor).project
    theta = project(data.draw(arrays(float, (2, 4), elements=st.floats(0, 1))))
    gradients = data.draw(arrays(float, (n_steps, 2, 4), elements=st.floats(-1e6, 1e6)))
    state = optimizer.init(theta)
    for gradient in gradients:
        theta, state = optimizer.update(gradient, state, theta, project)
        assert ((theta >= floor) & (theta <= 1.0 - floor)).all()
        assert all(np.isfinite(part).all() for part in state)


@every_optimizer
def test_tasks_do_not_see_each_other(optimizer):
    theta, gradients = some_walk(1)
    together, _ = walk(optimizer, theta, gradients)
    for task in range(P):
        alone, _ = walk(optimizer, theta[[task]], gradients[:, [task]])
        np.testing.assert_array_equal(together[[task]], alone)


@every_optimizer
def test_restarting_one_task_leaves_the_memory_of_the_others(optimizer):
    theta, gradients = some_walk(2)
    theta, state = walk(optimizer, theta, gradients[:7])
    tasks = np.array([False, True, False])
    renewed = optimizer.restart(state, theta, tasks)
    assert type(renewed) is type(state)
    for now, then, start in zip(renewed, state, optimizer.init(theta), strict=True):
        assert now.dtype == then.dtype
        np.testing.assert_array_equal(now[~tasks], then[~tasks])
        np.testing.assert_array_equal(now[tasks], start[tasks])
        assert (then[tasks] != start[tasks]).any()  # it was not renewed in place
    # From here on the task moves as in a fresh start and the others as if nothing had happened.
    after, _ = walk(optimizer, theta, gradients[7:], renewed)
    ongoing, _ = walk(optimizer, theta, gradients[7:], state)
    started, _ = walk(optimizer, theta, gradients[7:])
    np.testing.assert_array_equal(after[~tasks], ongoing[~tasks])
    np.testing.assert_array_equal(after[tasks], started[tasks])


@every_optimizer
@pytest.mark.parametrize("floor", [0.0, 0.1])
def test_the_minimum_of_a_quadratic_in_the_box_is_found(optimizer, floor):
    """For a sum over coordinates it is the free minimum, clipped."""
    project = Bernoulli(M, floor=floor).project
    curvature = np.array([[0.5, 1.0, 2.0, 4.0, 1.0], [3.0, 1.0, 0.7, 2.0, 1.0]])
    center = np.array([[0.3, -0.4, 1.7, 0.9, 0.0], [0.02, 0.6, 1.0, -2.0, 0.45]])
    optimizer = clone(optimizer).set_params(learning_rate=0.4 * optimizer.learning_rate)
    theta = np.full(center.shape, 0.5)
    state = optimizer.init(theta)
    for _ in range(1500):
        theta, state = optimizer.update(curvature * (theta - center), state, theta, project)
    np.testing.assert_allclose(theta, np.clip(center, floor, 1.0 - floor), atol=1e-4)


@every_optimizer
@pytest.mark.parametrize("rate", [0.0, -1.0, np.inf, np.nan])
def test_a_learning_rate_that_is_none_is_refused(optimizer, rate):
    broken = clone(optimizer).set_params(learning_rate=rate)
    name = type(broken).__name__
    with pytest.raises(ValueError, match=f"{name} needs a finite learning_rate > 0, got {rate!r}"):
        broken.check()


@every_optimizer
def test_usable_optimizers_pass_and_clone(optimizer):
    assert optimizer.check() is None
    assert clone(optimizer).get_params() == optimizer.get_params()


def test_an_optimizer_needs_both_functions():
    class Half(Optimizer):
        def init(self, theta):
            raise NotImplementedError

    with pytest.raises(TypeError, match="update"):
        Half()

"""Adam in the metric of the distribution against its formula, one number at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from oracle import probabilities
from randsub.distributions import Bernoulli
from randsub.optim import OPTIMIZERS, FisherAdam, ProjectedAdam


def scale_of(theta):
    return np.minimum(1.0, theta * (1.0 - theta) / 0.0475) ** 0.6


def plain_fisher_adam(theta, gradients, floor, first_step, learning_rate, beta1, beta2, eps, noise):
    """Every coordinate on its own, with plain numbers; a task starts afresh at its first step."""
    path, n_observed = np.empty(gradients.shape), np.zeros(theta.shape, dtype=int)
    nu = noise * theta.shape[1] / (theta.shape[1] + 10_000)
    for task, j in np.ndindex(theta.shape):
        x, m, v, n = float(theta[task, j]), 0.0, 0.0, 0
        for step, gradient in enumerate(gradients):
            if step == first_step[task]:
                m, v, n = 0.0, 0.0, 0
            g = float(gradient[task, j])
            if g != 0.0:
                n += 1
                if (x <= floor and g > 0.0) or (x >= 1.0 - floor and g < 0.0):
                    g = 0.0
                m = beta1 * m + (1.0 - beta1) * g
                v = beta2 * v + (1.0 - beta2) * g * g
                u = m / ((v / (1.0 - beta2**n)) ** 0.5 + eps)
                wiener = u**2 / (u**2 + nu) if u else 0.0
                x -= learning_rate * min(1.0, x * (1.0 - x) / 0.0475) ** 0.6 * u * wiener
                x = min(max(x, floor), 1.0 - floor)
            path[step, task, j] = x
        n_observed[task, j] = n
    return path, n_observed


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"learning_rate": 0.1, "beta1": 0.9},
        {"learning_rate": 0.05, "beta1": 0.0, "beta2": 0.5, "eps": 1e-2, "noise": 0.0},
        {"learning_rate": 0.3, "beta1": 0.8, "beta2": 0.9, "eps": 0.1, "noise": 200.0},
    ],
)
@pytest.mark.parametrize("floor", [0.0, 0.05])
@pytest.mark.parametrize("n_columns", [1, 6, 600])
def test_steps_are_the_formula(params, floor, n_columns):
    rng = np.random.default_rng(0)
    theta = np.array([[0.05, 0.5, 0.95, 0.3, 0.0, 1e-5], [0.2, 1.0, 0.5, 0.06, 1.0, 0.999]])
    theta = np.tile(np.clip(theta, floor, 1.0 - floor), 100)[:, :n_columns]
    # A drift takes coordinates towards the edges, and back again after half of the steps.
    drift = np.sign(np.arange(60) - 29.5)[:, np.newaxis, np.newaxis]
    gradients = rng.normal(size=(60, *theta.shape)) + drift * rng.choice([-2.0, 2.0], theta.shape)
    # Some masks hold the feature in two of three steps.
    gradients[rng.random(gradients.shape) < 1.0 / 3.0] = 0.0
    optimizer = FisherAdam(**params)
    expected, n_observed = plain_fisher_adam(
        theta, gradients, floor, first_step=[22, 0], **optimizer.get_params()
    )
    project = Bernoulli(n_columns, floor=floor).project
    state = optimizer.init(theta)
    for step, (gradient, row) in enumerate(zip(gradients, expected, strict=True)):
        if step == 22:
            # The tasks count different steps.
            state = optimizer.restart(state, theta, np.array([True, False]))
        theta, state = optimizer.update(gradient, state, theta, project)
        np.testing.assert_allclose(theta, row, rtol=1e-9, atol=1e-12)
    assert n_observed.max() < 60
    np.testing.assert_allclose(state.fading, optimizer.beta2**n_observed, rtol=1e-12)


@pytest.mark.parametrize("n_copies", [1, 300, 5000])
def test_the_first_step_is_known_before(n_copies):
    """The first moment is a share 1 - beta1 of the gradient, the second all of its square."""
    theta = np.array([[0.5, 0.3, 0.05, 0.95, 0.01, 0.99, 1e-4, 1e-8, 0.0, 1.0]])
    gradient = np.array([[1e-3, -50.0, 2.0, -2.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0]])
    np.testing.assert_allclose(scale_of(theta)[0, :4], 1.0)
    theta, gradient = np.tile(theta, n_copies), np.tile(gradient, n_copies)
    optimizer = FisherAdam(learning_rate=0.01, beta1=0.9, noise=0.04)
    moved, _ = optimizer.update(gradient, optimizer.init(theta), theta, lambda at: at)
    nu = 0.04 * theta.size / (theta.size + 10_000)
    length = 0.01 * 0.1 * 0.1**2 / (0.1**2 + nu)
    expected = theta - length * scale_of(theta) * np.sign(gradient)
    # eps shortens the step along the gradient of 1e-3 by 1e-5 of it.
    np.testing.assert_allclose(moved - theta, expected - theta, rtol=1e-4, atol=1e-15)


# -- what no mask holds ----------------------------------------------------------------------------


def test_an_unobserved_coordinate_keeps_its_probability_and_its_memory():
    rng = np.random.default_rng(4)
    theta = rng.uniform(0.1, 0.9, (2, 50))
    optimizer = FisherAdam(learning_rate=0.01)
    state = optimizer.init(theta)
    project = Bernoulli(50).project
    for _ in range(20):
        observed = rng.random(theta.shape) < 0.5
        gradient = np.where(observed, rng.normal(size=theta.shape), 0.0)
        moved, memory = optimizer.update(gradient, state, theta, project)
        for old, new in zip((theta, *state), (moved, *memory), strict=True):
            np.testing.assert_array_equal(new[~observed], old[~observed])
            assert (new[observed] != old[observed]).all()
        theta, state = moved, memory


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_without_a_gradient_nothing_moves(noise):
    theta = np.array([[0.2, 1e-12, 0.0, 1.0]])
    optimizer = FisherAdam(noise=noise)
    state = optimizer.init(theta)
    for _ in range(3):
        moved, memory = optimizer.update(np.zeros((1, 4)), state, theta, Bernoulli(4).project)
        np.testing.assert_array_equal(moved, theta)
        for old, new in zip(state, memory, strict=True):
            np.testing.assert_array_equal(new, old)


def test_evidence_on_a_rarely_observed_coordinate_adds_up():
    """After as many observations it is where one that is observed in every step is."""
    rng = np.random.default_rng(5)
    gradients = 1.0 + rng.normal(size=40)
    project = Bernoulli(2).project
    optimizer = FisherAdam(learning_rate=0.01)
    often = np.array([[0.3, 0.3]])
    rarely = often
    state_often, state_rarely = optimizer.init(often), optimizer.init(rarely)
    for g in gradients:
        often, state_often = optimizer.update(np.full((1, 2), g), state_often, often, project)
        # The second coordinate is observed in one step of 25, between those of the first.
        for step in range(25):
            gradient = np.array([[rng.normal(), g if step == 13 else 0.0]])
            rarely, state_rarely = optimizer.update(gradient, state_rarely, rarely, project)
        assert rarely[0, 1] == often[0, 1]
        for a, b in zip(state_often, state_rarely, strict=True):
            assert a[0, 1] == b[0, 1]
    assert often[0, 1] < 0.25


def test_along_a_constant_gradient_steps_grow_to_the_learning_rate_in_the_metric():
    theta = np.array([[0.6, 0.04, 0.96, 0.01]])
    optimizer = FisherAdam(learning_rate=1e-5, noise=100.0)
    nu = 100.0 * 4 / 10_004
    state = optimizer.init(theta)
    lengths = []
    for n in range(1, 301):
        moved, state = optimizer.update(
            np.array([[3.0, -1e-2, 7.0, -1.0]]), state, theta, lambda at: at
        )
        known = 1.0 - 0.9**n
        lengths.append(np.abs(moved - theta) / (1e-5 * scale_of(theta)))
        np.testing.assert_allclose(lengths[-1], known**3 / (known**2 + nu), rtol=1e-4)
        theta = moved
    assert (np.diff(lengths[:100], axis=0) > 0.0).all()
    np.testing.assert_allclose(lengths[-1], 1.0 / (1.0 + nu), rtol=1e-3)


# -- length of a step ------------------------------------------------------------------------------


def largest_ratio(n, beta1, beta2):
    """Largest ratio of the moments after n observed steps, by Cauchy and Schwarz."""
    ages = np.arange(n)
    of_first = (1.0 - beta1) * beta1**ages
    of_second = (1.0 - beta2) * beta2**ages / (1.0 - beta2**n)
    return np.sqrt(np.sum(of_first**2 / of_second))


RATIOS = np.array([largest_ratio(n, 0.9, 0.999) for n in range(9)])


def test_the_largest_ratio_grows_with_the_observations():
    assert RATIOS[0] == 0.0
    assert RATIOS[1] == pytest.approx(0.1)
    assert (np.diff(RATIOS) > 0.0).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    data=st.data(),
    n_columns=st.integers(1, 5),
    n_steps=st.integers(1, 8),
    noise=st.sampled_from([0.0, 1e-3, 0.1, 5.0]),
    floor=st.sampled_from([0.0, 0.1]),
)
def test_no_step_is_longer_than_the_metric_allows(data, n_columns, n_steps, noise, floor):
    """The learning rate times the scale, times the largest ratio of the moments."""
    project = Bernoulli(n_columns, floor=floor).project
    shape = (2, n_columns)
    theta = project(data.draw(arrays(float, shape, elements=st.floats(0, 1))))
    entries = st.just(0.0) | st.floats(-1e6, 1e6)
    gradients = data.draw(arrays(float, (n_steps, *shape), elements=entries))
    optimizer = FisherAdam(learning_rate=0.02, noise=noise)
    state = optimizer.init(theta)
    n_observed = np.zeros(shape, dtype=int)
    for gradient in gradients:
        moved, state = optimizer.update(gradient, state, theta, project)
        n_observed += gradient != 0.0
        bound = 0.02 * scale_of(theta) * RATIOS[n_observed]
        assert (np.abs(moved - theta) <= bound * (1.0 + 1e-9) + 1e-15).all()
        theta = moved


def test_the_bound_on_a_step_is_reached():
    """By gradients in proportion to the ratio of the two decay rates."""
    theta = np.array([[0.5]])
    optimizer = FisherAdam(learning_rate=1e-3, noise=0.0)
    state = optimizer.init(theta)
    for n in range(1, 9):
        gradient = np.array([[-((0.9 / 0.999) ** -n)]])
        moved, state = optimizer.update(gradient, state, theta, lambda at: at)
        np.testing.assert_allclose(moved - theta, 1e-3 * RATIOS[n], rtol=1e-6)
        theta = moved


@pytest.mark.parametrize("gradient", [-1e9, -1.0, 0.0, 1.0, 1e9])
def test_what_is_at_the_edge_stays(gradient):
    begin = np.array([[0.0, 1.0, 0.0, 1.0]])
    optimizer = FisherAdam(learning_rate=0.5, noise=0.0)
    theta, state = begin, optimizer.init(begin)
    for sign in (1.0, -1.0, 1.0):
        theta, state = optimizer.update(
            np.full((1, 4), sign * gradient), state, theta, Bernoulli(4).project
        )
        np.testing.assert_array_equal(theta, begin)
        assert all(np.isfinite(part).all() for part in state)


def test_the_edge_is_reached_in_a_finite_number_of_steps():
    """Steps become shorter towards it, but like the root of the distance."""
    theta = np.array([[0.03, 0.97, 0.5]])
    optimizer = FisherAdam(learning_rate=1e-3)
    state = optimizer.init(theta)
    for _ in range(200):
        theta, state = optimizer.update(
            np.array([[1.0, -1.0, 0.0]]), state, theta, Bernoulli(3).project
        )
    np.testing.assert_array_equal(theta, [[0.0, 1.0, 0.5]])


def test_without_memory_and_noise_it_is_adam_at_probabilities_of_moderate_size():
    rng = np.random.default_rng(1)
    theta, project = np.full((2, 5), 0.5), Bernoulli(5).project
    fisher, adam = FisherAdam(0.01, beta1=0.0, noise=0.0), ProjectedAdam(0.01, beta1=0.0)
    first, second = (theta, fisher.init(theta)), (theta, adam.init(theta))
    for gradient in rng.normal(size=(30, 2, 5)):
        first = fisher.update(gradient, first[1], first[0], project)
        second = adam.update(gradient, second[1], second[0], project)
        np.testing.assert_allclose(first[0], second[0], rtol=1e-12)
    assert np.ptp(first[0]) > 0.05


def ways(noise, n_features):
    """Mean way of coordinates with gradients of one sign, and of no mean, in 200 steps."""
    signal = np.arange(n_features) % 2 == 0
    optimizer = FisherAdam(learning_rate=1e-5, noise=noise)
    theta = np.full((1, n_features), 0.5)
    state, way = optimizer.init(theta), np.zeros(n_features)
    rng = np.random.default_rng(2)
    for step in range(300):
        gradient = np.where(signal, 1.0, rng.normal(size=n_features))[np.newaxis]
        moved, state = optimizer.update(gradient, state, theta, lambda at: at)
        if step >= 100:
            way += np.abs(moved - theta)[0]
        theta = moved
    return way[signal].mean(), way[~signal].mean()


def test_noise_is_left_alone_among_thousands_of_features():
    """Gradients of no mean move theta a fraction as far, those of one sign nearly as far."""
    for n_features in (20, 6000):
        as_far, noise_as_far = ways(0.0, n_features)
        far, noise_far = ways(0.5, n_features)
        assert 0.8 * as_far < far < as_far
        if n_features == 20:
            # A few features that follow noise do no harm.
            assert 0.9 * noise_as_far < noise_far < noise_as_far
        else:
            assert noise_far < 0.4 * noise_as_far
            assert noise_far < 0.1 * far


def test_a_step_costs_the_effective_sample_size_that_the_docstring_says():
    """By enumeration: the mean of squared weights is the product over coordinates."""
    rng = np.random.default_rng(3)
    theta = rng.uniform(0.1, 0.9, 5)
    delta = rng.uniform(-0.05, 0.05, 5)
    p, q = probabilities(theta + delta), probabilities(theta)
    np.testing.assert_allclose(
        np.sum(p**2 / q), np.prod(1.0 + delta**2 / (theta * (1.0 - theta))), rtol=1e-10
    )


# -- the protocol ----------------------------------------------------------------------------------


def run(optimizer, theta, gradients):
    """Theta and state after the steps, from the initial state."""
    state = optimizer.init(theta)
    for gradient in gradients:
        theta, state = optimizer.update(gradient, state, theta, Bernoulli(theta.shape[1]).project)
    return theta, state


def sparse_gradients(rng, shape):
    return np.where(rng.random(shape) < 0.5, rng.normal(size=shape), 0.0)


def test_an_update_changes_none_of_its_arguments():
    rng = np.random.default_rng(6)
    optimizer = FisherAdam(learning_rate=0.05)
    theta, state = run(optimizer, np.full((2, 7), 0.4), sparse_gradients(rng, (5, 2, 7)))
    gradient = sparse_gradients(rng, (2, 7))
    arguments = (gradient, theta, *state)
    copies = [part.copy() for part in arguments]
    for part in arguments:
        part.setflags(write=False)
    moved, memory = optimizer.update(gradient, state, theta, Bernoulli(7).project)
    again, memory_again = optimizer.update(gradient, state, theta, Bernoulli(7).project)
    for part, copy in zip(arguments, copies, strict=True):
        np.testing.assert_array_equal(part, copy)
        assert not any(np.shares_memory(part, new) for new in (moved, *memory))
    # Nothing is remembered outside of the state.
    for one, two in zip((moved, *memory), (again, *memory_again), strict=True):
        np.testing.assert_array_equal(one, two)


def test_tasks_are_independent():
    rng = np.random.default_rng(7)
    theta, gradients = rng.random((4, 6)), sparse_gradients(rng, (30, 4, 6))
    optimizer = FisherAdam(learning_rate=0.05)
    together, state = run(optimizer, theta, gradients)
    for task in range(4):
        alone, own = run(optimizer, theta[[task]], gradients[:, [task]])
        np.testing.assert_array_equal(together[[task]], alone)
        for part, own_part in zip(state, own, strict=True):
            np.testing.assert_array_equal(part[[task]], own_part)


def test_a_restart_forgets_the_chosen_tasks_alone():
    rng = np.random.default_rng(8)
    optimizer = FisherAdam(learning_rate=0.05)
    theta, state = run(optimizer, rng.random((3, 6)), rng.normal(size=(9, 3, 6)))
    restarted = optimizer.restart(state, theta, np.array([False, True, False]))
    for new, old, initial in zip(restarted, state, optimizer.init(theta), strict=True):
        np.testing.assert_array_equal(new[[0, 2]], old[[0, 2]])
        np.testing.assert_array_equal(new[1], initial[1])
        assert (old[1] != initial[1]).any()


def test_defaults():
    assert FisherAdam().get_params() == {
        "learning_rate": 1.2e-3,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "noise": 0.5,
    }
    assert OPTIMIZERS["fisher_adam"] is FisherAdam


@pytest.mark.parametrize("noise", [-1e-3, np.nan, np.inf, "some", None])
def test_a_noise_that_is_none_is_refused(noise):
    with pytest.raises(ValueError, match=f"FisherAdam needs a finite noise >= 0, got {noise!r}"):
        FisherAdam(noise=noise).check()


@pytest.mark.parametrize(
    "params", [{"learning_rate": 0.0}, {"beta1": 1.0}, {"beta2": -0.1}, {"eps": 0.0}]
)
def test_the_parameters_are_checked(params):
    (name,) = params
    with pytest.raises(ValueError, match=f"FisherAdam needs a finite .*{name}"):
        FisherAdam(**params).check()


def test_rounding_errors_are_no_observations():
    """A feature that all masks hold has a gradient of 0, up to rounding; both are left alone."""
    optimizer = FisherAdam(learning_rate=1e-2)
    theta = np.array([[0.5, 0.5]])
    _, state = optimizer.update(np.array([[1.0, 1.0]]), optimizer.init(theta), theta, lambda at: at)
    moved, after = optimizer.update(np.array([[0.0, 1e-17]]), state, theta, lambda at: at)
    np.testing.assert_array_equal(moved, theta)
    for new, old in zip(after, state, strict=True):
        np.testing.assert_array_equal(new, old)

"""Steps along the loss, then along the penalty."""

import numpy as np
import pytest

from randsub.optim import (
    ProjectedAdam,
    ProjectedGradientDescent,
    ProximalAdam,
    ProximalGradientDescent,
)
from randsub.penalties import ExpectedSize, FusedLasso


def box(theta):
    return np.clip(theta, 0.0, 1.0)


def prox_of(penalty):
    def prox(moved, step):
        return penalty.prox(moved, step, np.zeros(moved.shape, bool), box)

    return prox


def walk(optimizer, prox, seed=0, n_steps=15):
    rng = np.random.default_rng(seed)
    theta = rng.uniform(size=(2, 6))
    state = optimizer.init(theta)
    for _ in range(n_steps):
        gradient = rng.normal(size=theta.shape)
        if prox is None:
            theta, state = optimizer.update(gradient, state, theta, box)
        else:
            theta, state = optimizer.proximal_update(gradient, state, theta, box, prox)
    return theta, state


@pytest.mark.parametrize(
    "proximal, plain",
    [
        (ProximalAdam(0.05, decay=0.1), ProjectedAdam(0.05, decay=0.1)),
        (ProximalGradientDescent(0.05), ProjectedGradientDescent(0.05)),
    ],
    ids=["adam", "descent"],
)
def test_a_penalty_that_asks_nothing_changes_nothing(proximal, plain):
    expected, memory = walk(plain, None)
    for prox in (None, lambda moved, step: box(moved), prox_of(ExpectedSize(0.0))):
        theta, state = walk(proximal, prox)
        np.testing.assert_array_equal(theta, expected)
        for now, then in zip(state, memory, strict=True):
            np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_the_metric_is_that_of_adams_step(decay):
    # With no memory of the first moment, Adam's step is the gradient times the length.
    optimizer = ProximalAdam(0.01, beta1=0.0, decay=decay)
    theta = np.full((2, 3), 0.5)
    state = optimizer.init(theta)
    rng = np.random.default_rng(0)
    for _ in range(4):
        gradient = rng.normal(size=theta.shape)
        seen = []

        def prox(moved, step, seen=seen):
            seen.append((moved, step))
            return moved

        before = theta
        theta, state = optimizer.proximal_update(gradient, state, before, box, prox)
        moved, step = seen[0]
        np.testing.assert_allclose(before - moved, step * gradient, rtol=1e-10)
        assert (step > 0.0).all()


@pytest.mark.parametrize("make", [ProximalAdam, ProximalGradientDescent])
def test_neighbours_end_equal_where_the_loss_has_no_reason_for_a_difference(make):
    # A quadratic loss with nearly equal targets left and right: two flat pieces at the end.
    targets = np.array([[0.30, 0.32, 0.31, 0.80, 0.82, 0.81]])
    chain = FusedLasso(0.05, np.stack([np.arange(5), np.arange(1, 6)], axis=1))
    optimizer, theta = make(0.02), np.random.default_rng(0).uniform(size=(1, 6))
    state = optimizer.init(theta)
    for _ in range(2000):
        theta, state = optimizer.proximal_update(theta - targets, state, theta, box, prox_of(chain))
    assert np.ptp(theta[0, :3]) == 0.0
    assert np.ptp(theta[0, 3:]) == 0.0
    # Each piece of three is pulled by one edge.
    np.testing.assert_allclose(theta[0, [0, 3]], [0.31 + 0.05 / 3, 0.81 - 0.05 / 3], atol=5e-3)


def test_a_subgradient_does_not_make_neighbours_equal():
    targets = np.array([[0.30, 0.32, 0.31]])
    chain = FusedLasso(0.05, [[0, 1], [1, 2]])
    optimizer, theta = ProjectedAdam(0.02), np.random.default_rng(0).uniform(size=(1, 3))
    state = optimizer.init(theta)
    for _ in range(2000):
        gradient = theta - targets + chain.gradient(theta)
        theta, state = optimizer.update(gradient, state, theta, box)
    assert len(np.unique(theta)) == 3


@pytest.mark.parametrize("optimizer", [ProjectedAdam(), ProjectedGradientDescent()])
def test_an_optimiser_without_a_proximal_step_says_so(optimizer):
    assert not optimizer.is_proximal
    theta = np.full((1, 2), 0.5)
    with pytest.raises(NotImplementedError, match="has no proximal step"):
        optimizer.proximal_update(theta, optimizer.init(theta), theta, box, lambda m, s: m)

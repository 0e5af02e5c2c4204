"""Projected gradient descent."""

import numpy as np

from randsub.optim import ProjectedGradientDescent


def test_a_step_goes_against_the_gradient_and_stops_at_the_edge():
    optimizer = ProjectedGradientDescent(learning_rate=0.1)
    theta = np.array([[0.5, 0.05, 0.95, 0.0]])
    gradient = np.array([[2.0, 1.0, -1.0, -3.0]])
    moved, state = optimizer.update(
        gradient, optimizer.init(theta), theta, lambda at: np.clip(at, 0.0, 1.0)
    )
    np.testing.assert_allclose(moved, [[0.3, 0.0, 1.0, 0.3]], atol=1e-15)
    np.testing.assert_array_equal(state.steps, [1])


def test_steps_are_counted_for_each_task():
    optimizer = ProjectedGradientDescent()
    theta = np.full((3, 2), 0.5)
    state = optimizer.init(theta)
    for _ in range(4):
        theta, state = optimizer.update(np.ones((3, 2)), state, theta, lambda at: at)
    np.testing.assert_array_equal(state.steps, [4, 4, 4])
    np.testing.assert_allclose(theta, 0.5 - 4 * 1e-3)

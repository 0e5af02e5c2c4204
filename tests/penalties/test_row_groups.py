"""Norms of features across tasks."""

import numpy as np
import pytest

from randsub.penalties import ExpectedSize, RowGroups


def test_value_is_a_sum_of_norms_across_tasks():
    theta = np.random.default_rng(0).uniform(size=(3, 5))
    total = 0.0
    for j in range(5):
        total += np.sqrt(sum(theta[task, j] ** 2 for task in range(3)))
    assert RowGroups(0.2).value(theta) == pytest.approx(0.2 * total)


def test_with_one_task_it_is_the_expected_size():
    theta = np.random.default_rng(1).uniform(0.01, 1.0, (1, 7))
    groups, size = RowGroups(0.3), ExpectedSize(0.3)
    assert groups.value(theta) == pytest.approx(size.value(theta))
    np.testing.assert_allclose(groups.gradient(theta), size.gradient(theta), rtol=1e-12)


def test_a_feature_that_no_task_uses_costs_and_feels_nothing():
    theta = np.array([[0.0, 0.3], [0.0, 0.4]])
    np.testing.assert_allclose(RowGroups(2.0).gradient(theta), [[0.0, 1.2], [0.0, 1.6]])
    assert RowGroups(2.0).value(theta) == pytest.approx(2.0 * 0.5)


def test_a_feature_in_use_is_cheaper_for_the_next_task():
    penalty = RowGroups(1.0)
    shared = np.array([[0.5, 0.0], [0.5, 0.0]])
    separate = np.array([[0.5, 0.0], [0.0, 0.5]])
    assert penalty.value(shared) < penalty.value(separate)

"""The expected size of a subset."""

import numpy as np

from randsub.distributions import Bernoulli
from randsub.penalties import ExpectedSize


def test_value_is_the_expected_number_of_features():
    theta = np.array([[0.2, 0.5, 0.0, 1.0], [0.1, 0.3, 0.7, 0.0]])
    sizes = [Bernoulli(4).expected_size(row) for row in theta]
    np.testing.assert_allclose(ExpectedSize(0.5).value(theta), 0.5 * sum(sizes))


def test_every_feature_is_pushed_alike():
    theta = np.array([[0.0, 0.5, 1.0]])
    np.testing.assert_array_equal(ExpectedSize(0.02).gradient(theta), [[0.02, 0.02, 0.02]])


def test_default_coefficient():
    assert ExpectedSize().get_params() == {"lam": 0.01}

"""The loss of several outputs or labels: the mean of their losses."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_squared_error

from randsub.losses import CrossEntropy, Huber, MeanOverOutputs, SquaredError


def shares(rng, n_samples, n_labels):
    present = rng.uniform(0.1, 0.9, (n_samples, n_labels))
    return np.stack([1.0 - present, present], axis=-1).reshape(n_samples, -1)


def test_squared_error_is_scikit_learns_uniform_average():
    rng = np.random.default_rng(0)
    y, f, weight = rng.normal(size=(8, 3)), rng.normal(size=(8, 3)), rng.uniform(size=8)
    loss = MeanOverOutputs(SquaredError(), 3)
    expected = mean_squared_error(y, f, sample_weight=weight, multioutput="uniform_average")
    assert loss.value(y, f, weight) == pytest.approx(expected, rel=1e-12)


def test_labels_have_the_mean_of_their_log_losses():
    rng = np.random.default_rng(1)
    labels, weight = rng.integers(2, size=(9, 4)), rng.uniform(0.5, 2.0, 9)
    f = shares(rng, 9, 4)
    y = np.eye(2)[labels].reshape(9, -1)
    loss = MeanOverOutputs(CrossEntropy(), 4).for_ensemble(100)
    expected = np.mean(
        [log_loss(labels[:, k], f[:, 2 * k : 2 * k + 2], sample_weight=weight) for k in range(4)]
    )
    assert loss.value(y, f, weight) == pytest.approx(expected, rel=1e-12)


def test_the_clip_is_that_of_classes():
    loss = MeanOverOutputs(CrossEntropy(), 2).for_ensemble(50)
    assert loss.loss.clip == 0.01
    y = np.array([[1.0, 0.0, 0.0, 1.0]])
    f = np.array([[0.0, 1.0, 0.5, 0.5]])
    assert loss.pointwise(y, f)[0] == pytest.approx((-np.log(0.01) - np.log(0.5)) / 2.0)


def test_one_output_has_the_loss_itself():
    rng = np.random.default_rng(2)
    y, members, weight = rng.normal(size=(7, 1)), rng.normal(size=(3, 7, 1)), rng.uniform(size=7)
    plain, several = Huber(0.7), MeanOverOutputs(Huber(0.7), 1)
    assert several.value(y, members[0], weight) == plain.value(y, members[0], weight)
    np.testing.assert_array_equal(
        several.gradient(y, members[0], weight), plain.gradient(y, members[0], weight)
    )
    np.testing.assert_array_equal(
        several.of_members(y, members, weight), plain.of_members(y, members, weight)
    )


def test_bad_targets_and_parameters_are_refused_as_by_the_loss_of_one():
    with pytest.raises(ValueError, match="delta"):
        MeanOverOutputs(Huber(-1.0), 2).check(np.ones((3, 2)))

"""Cross-entropy against its formula, inside and outside of what it clips."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.metrics import log_loss

from oracle import finite_differences
from randsub.losses import CrossEntropy

anything = settings(max_examples=60, deadline=None, derandomize=True)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_cross_entropy_is_the_log_loss(n_classes):
    rng = np.random.default_rng(n_classes)
    label, share = rng.integers(0, n_classes, 50), rng.dirichlet(np.ones(n_classes) * 3.0, 50)
    weight = rng.uniform(0.1, 3.0, 50)
    expected = log_loss(label, share, sample_weight=weight, labels=np.arange(n_classes))
    value = CrossEntropy(1e-6).value(np.eye(n_classes)[label], share, weight)
    assert value == pytest.approx(expected, rel=1e-10)


@anything
@given(
    label=arrays(int, 5, elements=st.integers(0, 3)),
    f=arrays(float, (5, 4), elements=st.floats(1e-9, 1)),
    weight=arrays(float, 5, elements=st.floats(0.1, 5)),
)
def test_cross_entropy_of_shares_is_never_negative(label, f, weight):
    loss, y = CrossEntropy(0.01), np.eye(4)[label]
    assert 0.0 <= loss.value(y, f, weight) <= -np.log(0.01) + 1e-12
    assert (loss.gradient(y, f, weight) <= 0.0).all()
    assert loss.value(y, y, weight) == 0.0


@anything
@given(factor=st.floats(0.2, 1.0), seed=st.integers(0, 1000))
def test_a_common_factor_of_the_shares_adds_a_constant(factor, seed):
    rng = np.random.default_rng(seed)
    y, f = np.eye(3)[rng.integers(0, 3, 8)], rng.uniform(0.1, 1.0, (8, 3))
    loss, weight = CrossEntropy(0.01), rng.uniform(0.1, 2.0, 8)
    moved = loss.value(y, factor * f, weight)
    assert moved == pytest.approx(loss.value(y, f, weight) - np.log(factor))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_only_the_true_class_counts(n_classes):
    rng = np.random.default_rng(7)
    label = rng.integers(0, n_classes, 6)
    y, f = np.eye(n_classes)[label], rng.uniform(0.1, 0.9, (6, n_classes))
    other = np.where(y == 1.0, f, rng.uniform(0.0, 1.0, f.shape))
    loss = CrossEntropy(0.01)
    np.testing.assert_array_equal(loss.pointwise(y, f), loss.pointwise(y, other))
    gradient = loss.pointwise_gradient(y, f)
    np.testing.assert_array_equal(gradient[y == 0.0], 0.0)
    np.testing.assert_allclose(gradient[y == 1.0], -1.0 / f[y == 1.0])


def test_below_the_clip_the_value_stays_and_the_gradient_keeps_its_slope():
    loss, y, weight = CrossEntropy(0.1), np.array([[0.0, 1.0]]), np.ones(1)
    for share in (0.1, 0.05, 0.0, -0.3):
        f = np.array([[1.0 - share, share]])
        assert loss.value(y, f, weight) == pytest.approx(-np.log(0.1), rel=1e-14)
        np.testing.assert_allclose(loss.gradient(y, f, weight), [[0.0, -10.0]], rtol=1e-14)


def test_above_one_the_value_is_zero_and_the_gradient_keeps_its_slope():
    """Weights that are not self-normalised can put a share above 1."""
    loss, y, weight = CrossEntropy(0.1), np.array([[0.0, 1.0]]), np.ones(1)
    for share in (1.0, 1.0 + 1e-9, 1.4):
        f = np.array([[0.2, share]])
        assert loss.value(y, f, weight) == 0.0
        np.testing.assert_array_equal(loss.gradient(y, f, weight), [[0.0, -1.0]])


def test_a_share_of_one_may_be_off_by_rounding():
    """Votes that agree add up to 1 but for the last bits, which must not decide anything."""
    loss, y = CrossEntropy(0.1), np.array([[0.0, 1.0]])
    one = np.array([[0.0, 1.0]])
    for share in 1.0 + np.array([-4, -1, 1, 4]) * np.finfo(float).eps:
        f = np.array([[0.0, share]])
        np.testing.assert_allclose(loss.pointwise(y, f), loss.pointwise(y, one), atol=1e-14)
        np.testing.assert_allclose(
            loss.pointwise_gradient(y, f), loss.pointwise_gradient(y, one), rtol=1e-14
        )


def test_just_inside_the_clips_the_gradient_is_the_derivative():
    loss, y, weight = CrossEntropy(0.1), np.array([[0.0, 1.0]]), np.ones(1)
    for share in (0.1 + 1e-4, 1.0 - 1e-4):
        f = np.array([[0.3, share]])
        slope = finite_differences(lambda at: loss.value(y, at, weight), f)
        np.testing.assert_allclose(loss.gradient(y, f, weight), slope, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("n_masks", [1, 25, 100])
def test_auto_clips_at_half_a_vote(n_masks):
    loss = CrossEntropy()
    ready = loss.for_ensemble(n_masks)
    assert ready.clip == 1.0 / (2.0 * n_masks)
    assert loss.clip == "auto"
    value = ready.value(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.ones(1))
    assert value == pytest.approx(np.log(2.0 * n_masks))


def test_a_clip_of_ones_own_is_kept():
    loss = CrossEntropy(0.03)
    assert loss.for_ensemble(100) is loss
    assert clone(CrossEntropy(0.03)).clip == 0.03
    assert CrossEntropy().get_params() == {"clip": "auto"}


def test_a_subclass_need_not_list_the_clip():
    class Doubled(CrossEntropy):
        def __init__(self, factor=2.0):
            super().__init__()
            self.factor = factor

        def pointwise(self, y, f):
            return self.factor * super().pointwise(y, f)

    bound = Doubled(3.0).for_ensemble(10)
    y, f = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    assert bound.value(y, f, np.ones(1)) == pytest.approx(3.0 * np.log(20.0))


def test_auto_needs_the_number_of_models():
    y, f = np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"call for_ensemble\(n_masks\) first"):
        CrossEntropy().value(y, f, np.ones(1))
    with pytest.raises(ValueError, match=r"call for_ensemble\(n_masks\) first"):
        CrossEntropy().gradient(y, f, np.ones(1))


@pytest.mark.parametrize("clip", [0.0, 1.0, -0.1, 3, np.nan])
def test_a_clip_that_leaves_no_share_is_refused(clip):
    with pytest.raises(ValueError, match="CrossEntropy needs a finite 0 < clip < 1, got"):
        CrossEntropy(clip).check(np.eye(2))


@pytest.mark.parametrize("clip", ["auto", 0.2])
def test_a_usable_clip_passes(clip):
    assert CrossEntropy(clip).check(np.eye(2)) is None
    assert CrossEntropy.tasks == {"classification"}

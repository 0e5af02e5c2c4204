"""What every loss keeps, the ones we ship and one that a user wrote."""

from functools import partial
from inspect import signature

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from oracle import finite_differences
from randsub.losses import (
    CrossEntropy,
    Huber,
    Loss,
    MeanOverOutputs,
    PoissonDeviance,
    Reference,
    SquaredError,
)


class LogCosh(Loss):
    """A loss as a user would write it."""

    def __init__(self, sharpness: float = 1.0) -> None:
        self.sharpness = sharpness

    def pointwise(self, y, f):
        return np.log(np.cosh(self.sharpness * (f - y))).sum(axis=-1)

    def pointwise_gradient(self, y, f):
        return self.sharpness * np.tanh(self.sharpness * (f - y))


class FocalCrossEntropy(CrossEntropy):
    """A subclass, as a user would write it, with a further parameter."""

    def __init__(self, clip="auto", focus: float = 2.0) -> None:
        super().__init__(clip)
        self.focus = focus

    def pointwise(self, y, f):
        missing = (y * (1.0 - np.clip(f, 0.0, 1.0))).sum(axis=-1)
        return missing**self.focus * super().pointwise(y, f)

    def pointwise_gradient(self, y, f):
        missing = (y * (1.0 - np.clip(f, 0.0, 1.0))).sum(axis=-1, keepdims=True)
        entropy = super().pointwise(y, f)[..., np.newaxis]
        slope = missing**self.focus * super().pointwise_gradient(y, f)
        return slope - y * self.focus * missing ** (self.focus - 1.0) * entropy


LOSSES = {
    "squared error": (SquaredError(), 1),
    "brier score": (SquaredError(), 4),
    "huber": (Huber(0.8), 1),
    "poisson": (PoissonDeviance(0.01), 1),
    "two classes": (CrossEntropy(0.02), 2),
    "four classes": (CrossEntropy(0.02), 4),
    "written by a user": (LogCosh(1.3), 1),
    "subclass of a user": (FocalCrossEntropy(0.02, focus=1.5), 3),
    "three outputs": (MeanOverOutputs(SquaredError(), 3), 3),
    "three counts": (MeanOverOutputs(PoissonDeviance(0.01), 3), 3),
    "three labels": (MeanOverOutputs(CrossEntropy(0.02), 3), 6),
    "three outputs of a user": (MeanOverOutputs(LogCosh(1.3), 3), 3),
}
every_loss = pytest.mark.parametrize("loss, n_outputs", LOSSES.values(), ids=LOSSES.keys())


def some_data(loss: Loss, n_outputs: int, seed: int, n_samples: int = 9):
    """Targets (n, C), outputs of five models (5, n, C), and weights, away from every kink."""
    if isinstance(loss, MeanOverOutputs):
        n_each = n_outputs // loss.n_outputs
        seeds = range(seed, seed + loss.n_outputs)
        parts = [some_data(loss.loss, n_each, s, n_samples) for s in seeds]
        y, members = (np.concatenate([part[i] for part in parts], axis=-1) for i in (0, 1))
        return y, members, parts[0][2]
    rng = np.random.default_rng(seed)
    shape = (5, n_samples, n_outputs)
    weight = rng.uniform(0.1, 3.0, n_samples)
    if isinstance(loss, PoissonDeviance):
        y = rng.poisson(1.5, shape[1:]).astype(float)
        return y, rng.uniform(0.05, 3.0, shape), weight
    if n_outputs == 1:
        return rng.normal(size=shape[1:]), rng.normal(size=shape) * 2.0, weight
    y = np.eye(n_outputs)[np.arange(n_samples) % n_outputs]
    return y, rng.dirichlet(np.full(n_outputs, 3.0), shape[:2]) * 0.9 + 0.03, weight


@every_loss
def test_gradient_is_the_derivative_of_the_value(loss, n_outputs):
    for seed in range(3):
        y, members, weight = some_data(loss, n_outputs, seed)
        for f in members:
            slopes = finite_differences(partial(_value, loss, y, weight), f)
            gradient = loss.gradient(y, f, weight)
            assert gradient.shape == f.shape
            np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-8)


def _value(loss, y, weight, f):
    return loss.value(y, f, weight)


@every_loss
def test_value_is_the_weighted_mean_of_the_pointwise_loss(loss, n_outputs):
    y, (f, *_), weight = some_data(loss, n_outputs, 1)
    points = loss.pointwise(y, f)
    assert points.shape == (len(y),)
    total = sum(w * loss.pointwise(y[[i]], f[[i]])[0] for i, w in enumerate(weight))
    assert loss.value(y, f, weight) == pytest.approx(total / weight.sum(), rel=1e-12)


@every_loss
def test_loss_of_members_is_the_value_of_each(loss, n_outputs):
    y, members, weight = some_data(loss, n_outputs, 2)
    expected = [loss.value(y, f, weight) for f in members]
    np.testing.assert_allclose(loss.of_members(y, members, weight), expected, rtol=1e-12)


@every_loss
def test_gradient_is_linear_in_the_share_of_the_weight(loss, n_outputs):
    y, (f, *_), weight = some_data(loss, n_outputs, 3)
    plain = loss.pointwise_gradient(y, f)
    for i, c in np.ndindex(f.shape):
        expected = weight[i] / weight.sum() * plain[i, c]
        assert loss.gradient(y, f, weight)[i, c] == pytest.approx(expected, rel=1e-12)


@every_loss
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    times=arrays(int, 9, elements=st.integers(0, 4)),
    seed=st.integers(0, 1000),
)
def test_a_weight_of_k_is_a_sample_repeated_k_times(loss, n_outputs, times, seed):
    assume(times.any())
    y, members, _ = some_data(loss, n_outputs, seed)
    repeated = np.repeat(np.arange(9), times)
    ones = np.ones(len(repeated))
    weight = times.astype(float)
    value = loss.value(y, members[0], weight)
    assert value == pytest.approx(loss.value(y[repeated], members[0][repeated], ones), rel=1e-10)
    np.testing.assert_allclose(
        loss.of_members(y, members, weight),
        loss.of_members(y[repeated], members[:, repeated], ones),
        rtol=1e-10,
    )
    # The copies of a sample share its derivative.
    parts = loss.gradient(y[repeated], members[0][repeated], ones)
    expected = np.zeros_like(y)
    np.add.at(expected, repeated, parts)
    np.testing.assert_allclose(
        loss.gradient(y, members[0], weight), expected, rtol=1e-9, atol=1e-12
    )


@every_loss
@settings(max_examples=25, deadline=None, derandomize=True)
@given(factor=st.floats(1e-3, 1e3), seed=st.integers(0, 1000))
def test_only_the_proportions_of_the_weights_count(loss, n_outputs, factor, seed):
    y, members, weight = some_data(loss, n_outputs, seed)
    scaled = factor * weight
    assert loss.value(y, members[0], scaled) == pytest.approx(loss.value(y, members[0], weight))
    np.testing.assert_allclose(
        loss.gradient(y, members[0], scaled), loss.gradient(y, members[0], weight), rtol=1e-10
    )
    np.testing.assert_allclose(
        loss.of_members(y, members, scaled), loss.of_members(y, members, weight), rtol=1e-10
    )


@every_loss
def test_losses_clone_and_list_their_parameters(loss, n_outputs):
    copy = clone(loss)
    assert copy is not loss
    assert type(copy) is type(loss)
    assert repr(copy.get_params()) == repr(loss.get_params())
    for name in loss.get_params(deep=False):
        assert copy.set_params(**{name: 0.5}).get_params()[name] == 0.5


@every_loss
def test_for_an_ensemble_a_loss_keeps_its_type_and_its_other_parameters(loss, n_outputs):
    for at_first in (loss, type(loss)(**{**loss.get_params(deep=False), **auto_parameters(loss)})):
        before = at_first.get_params(deep=False)
        bound = at_first.for_ensemble(50)
        assert type(bound) is type(loss)
        kept = {name: value for name, value in before.items() if value != "auto"}
        assert {name: bound.get_params(deep=False)[name] for name in kept} == kept
        assert at_first.get_params(deep=False) == before
        y, (f, *_), weight = some_data(loss, n_outputs, 5)
        assert np.isfinite(bound.value(y, f, weight))
        # Once the number of models is known, binding again changes nothing.
        assert bound.for_ensemble(20).get_params(deep=False) == bound.get_params(deep=False)


def auto_parameters(loss: Loss) -> dict[str, str]:
    """Parameters whose default depends on the number of models."""
    defaults = {name: one.default for name, one in signature(type(loss)).parameters.items()}
    return {name: value for name, value in defaults.items() if value == "auto"}


@every_loss
def test_arguments_are_left_alone(loss, n_outputs):
    y, members, weight = some_data(loss, n_outputs, 4)
    before = y.copy(), members.copy(), weight.copy()
    loss.value(y, members[0], weight)
    loss.gradient(y, members[0], weight)
    loss.of_members(y, members, weight)
    for now, then in zip((y, members, weight), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_defaults_of_a_loss_written_by_a_user():
    loss = LogCosh()
    assert loss.tasks == {"regression"}
    assert loss.check(np.array([[-3.0]])) is None
    assert loss.check_validation(np.array([[-3.0]])) is None
    assert loss.for_ensemble(100) is loss


def test_a_loss_needs_a_value_and_a_gradient():
    class Half(Loss):
        def pointwise(self, y, f):
            raise NotImplementedError

    with pytest.raises(TypeError, match="pointwise_gradient"):
        Half()


def test_reference_is_the_weighted_mean_and_deviation():
    y, weight = np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0])
    reference = SquaredError().reference(y, weight)
    repeated = np.array([1.0, 2.0, 4.0, 4.0])
    assert reference.center == pytest.approx(repeated.mean())
    assert reference.scale == pytest.approx(repeated.std())


def test_reference_puts_values_in_its_units():
    np.testing.assert_allclose(
        Reference(3.0, 2.0).apply(np.array([[3.0], [7.0]])), [[0.0], [2.0]], rtol=1e-15
    )
    np.testing.assert_array_equal(Reference().apply(np.array([1.0, -2.0])), [1.0, -2.0])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    level=st.floats(-1e9, 1e9),
    n_samples=st.integers(1, 200),
    seed=st.integers(0, 1000),
)
def test_a_constant_target_has_the_unit_one(level, n_samples, seed):
    """The rounding of its mean must not be taken for a deviation."""
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, n_samples)
    reference = SquaredError().reference(np.full(n_samples, level), weight)
    assert reference.scale == 1.0
    assert reference.center == pytest.approx(level, rel=1e-12)


def test_samples_without_weight_do_not_make_a_target_vary():
    reference = SquaredError().reference(np.array([0.1] * 10 + [5.0]), np.array([0.7] * 10 + [0.0]))
    assert reference == Reference(pytest.approx(0.1), 1.0)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(shift=st.floats(-100, 100), factor=st.floats(0.01, 100), seed=st.integers(0, 1000))
def test_in_units_of_the_reference_losses_do_not_depend_on_the_units_of_y(shift, factor, seed):
    rng = np.random.default_rng(seed)
    y, f, weight = rng.normal(size=(20, 1)), rng.normal(size=(20, 1)), rng.uniform(0.1, 2.0, 20)
    for loss in (SquaredError(), Huber()):
        values = []
        for a, b in ((0.0, 1.0), (shift, factor)):
            reference = loss.reference(a + b * y[:, 0], weight)
            seen, out = reference.apply(a + b * y), reference.apply(a + b * f)
            values.append(loss.value(seen, out, weight))
        assert values[1] == pytest.approx(values[0], rel=1e-7)

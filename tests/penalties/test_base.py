"""What every penalty keeps: derivatives, convexity, sums, scikit-learn's parameters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from oracle import finite_differences
from randsub.penalties import ExpectedSize, FusedLasso, Penalty, RowGroups, Sum

N_PARAMETERS = 6
EDGES = np.array([[0, 1], [1, 2], [0, 3], [1, 4], [5, 2], [4, 3], [0, 5]])


class Ridge(Penalty):
    """A penalty as a user would write it."""

    def __init__(self, lam: float = 0.1) -> None:
        self.lam = lam

    def value(self, theta):
        return float(self.lam * np.sum(theta**2))

    def gradient(self, theta):
        return 2.0 * self.lam * theta


PENALTIES = {
    "expected size": ExpectedSize(0.3),
    "fused lasso": FusedLasso(0.7, EDGES),
    "fused lasso on a grid": FusedLasso.grid(0.2, 2, 3),
    "row groups": RowGroups(0.4),
    "written by a user": Ridge(0.25),
    "a sum": ExpectedSize(0.1) + FusedLasso.grid(0.2, 3, 2),
    "a sum of three": RowGroups(0.1) + ExpectedSize(0.2) + Ridge(0.3),
}
every_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES.keys())


@every_penalty
@pytest.mark.parametrize("n_tasks", [1, 4])
def test_gradient_is_the_derivative_of_the_value(penalty, n_tasks):
    for seed in range(3):
        theta = np.random.default_rng(seed).uniform(0.05, 0.95, (n_tasks, N_PARAMETERS))
        gaps = np.abs(theta[:, :, np.newaxis] - theta[:, np.newaxis])
        assert gaps[:, ~np.eye(N_PARAMETERS, dtype=bool)].min() > 1e-5  # away from kinks
        gradient = penalty.gradient(theta)
        assert gradient.shape == theta.shape
        np.testing.assert_allclose(
            gradient, finite_differences(penalty.value, theta), rtol=1e-6, atol=1e-8
        )


# Few levels, so that neighbours are often equal and features often at 0: the kinks.
levels = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(1e-9, 1.0))


@every_penalty
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data(), n_tasks=st.sampled_from([1, 4]))
def test_gradient_is_a_subgradient(penalty, data, n_tasks):
    at, other = (data.draw(arrays(float, (n_tasks, N_PARAMETERS), elements=levels)) for _ in "ab")
    bound = penalty.value(at) + np.sum(penalty.gradient(at) * (other - at))
    assert penalty.value(other) >= bound - 1e-12


@every_penalty
def test_nothing_costs_nothing(penalty):
    assert penalty.value(np.zeros((2, N_PARAMETERS))) == 0.0


@every_penalty
def test_arguments_are_left_alone(penalty):
    theta = np.random.default_rng(0).uniform(size=(2, N_PARAMETERS))
    before = theta.copy()
    gradient = penalty.gradient(theta)
    penalty.value(theta)
    gradient += 1.0
    np.testing.assert_array_equal(theta, before)


@every_penalty
def test_usable_penalties_pass_and_clone(penalty):
    assert penalty.check(N_PARAMETERS) is None
    copy = clone(penalty)
    theta = np.random.default_rng(1).uniform(size=(2, N_PARAMETERS))
    assert copy is not penalty
    assert copy.value(theta) == penalty.value(theta)
    assert list(copy.get_params()) == list(penalty.get_params())


@pytest.mark.parametrize("make", [ExpectedSize, RowGroups, lambda lam: FusedLasso(lam, EDGES)])
@pytest.mark.parametrize("lam", [-0.1, np.inf, np.nan, "0.1", None])
def test_a_coefficient_that_is_none_is_refused(make, lam):
    penalty = make(lam)
    name = type(penalty).__name__
    with pytest.raises(ValueError, match=f"{name} needs a finite lam >= 0, got {lam!r}"):
        penalty.check(N_PARAMETERS)
    with pytest.raises(ValueError, match=f"{name} needs a finite lam >= 0"):
        (Ridge() + penalty).check(N_PARAMETERS)
    with pytest.raises(ValueError, match=f"{name} needs a finite lam >= 0"):
        (penalty + Ridge()).check(N_PARAMETERS)


@pytest.mark.parametrize("make", [ExpectedSize, RowGroups, lambda lam: FusedLasso(lam, EDGES)])
def test_value_and_gradient_are_linear_in_the_coefficient(make):
    theta = np.random.default_rng(2).uniform(size=(3, N_PARAMETERS))
    assert make(0.6).value(theta) == pytest.approx(3.0 * make(0.2).value(theta))
    np.testing.assert_allclose(make(0.6).gradient(theta), 3.0 * make(0.2).gradient(theta))
    assert make(0).value(theta) == 0.0
    assert make(0).check(N_PARAMETERS) is None


def test_sums_add_values_and_gradients():
    a, b, c = ExpectedSize(0.3), FusedLasso(0.7, EDGES), RowGroups(0.4)
    theta = np.random.default_rng(3).uniform(size=(4, N_PARAMETERS))
    for total, parts in ((a + b, (a, b)), (a + b + c, (a, b, c)), (a + (b + c), (a, b, c))):
        assert isinstance(total, Sum)
        assert total.value(theta) == pytest.approx(sum(part.value(theta) for part in parts))
        np.testing.assert_allclose(
            total.gradient(theta), np.sum([part.gradient(theta) for part in parts], axis=0)
        )


def test_only_penalties_add_up():
    with pytest.raises(TypeError, match="unsupported operand"):
        ExpectedSize() + 1.0
    with pytest.raises(TypeError, match="unsupported operand"):
        1.0 + ExpectedSize()


def test_parameters_of_a_sum_are_found_and_set_by_nested_names():
    total = ExpectedSize(0.1) + RowGroups(0.2) + FusedLasso(0.3, [[0, 1]])
    params = total.get_params()
    assert {name: params[name] for name in params if name.endswith("lam")} == {
        "left__left__lam": 0.1,
        "left__right__lam": 0.2,
        "right__lam": 0.3,
    }
    copy = clone(total).set_params(left__left__lam=5.0, right__edges=[[0, 2]])
    theta = np.array([[0.1, 0.2, 0.4]])
    assert copy.value(theta) == pytest.approx(5.0 * 0.7 + 0.2 * 0.7 + 0.3 * 0.3)
    assert total.value(theta) == pytest.approx(0.1 * 0.7 + 0.2 * 0.7 + 0.3 * 0.1)
    with pytest.raises(ValueError, match="Invalid parameter"):
        total.set_params(middle__lam=1.0)


def test_a_penalty_needs_a_value_and_a_gradient():
    class Half(Penalty):
        def value(self, theta):
            raise NotImplementedError

    with pytest.raises(TypeError, match="gradient"):
        Half()

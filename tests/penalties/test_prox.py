"""Proximal steps against a slow solver, their optimality, and equality to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, minimize

from randsub.penalties import ExpectedSize, FusedLasso, Penalty, RowGroups
from randsub.penalties.total_variation import make_graph, smooth

EDGES = np.array([[0, 1], [1, 2], [0, 3], [1, 4], [5, 2], [4, 3], [0, 5]])
M = 6
NOTHING_FIXED = np.zeros(M, dtype=bool)


def box(theta):
    return np.clip(theta, 0.0, 1.0)


def floor(theta):
    return np.clip(theta, 0.1, 0.9)


class Square(Penalty):
    """A penalty without a proximal step."""

    def value(self, theta):
        return float(np.sum(theta**2))

    def gradient(self, theta):
        return 2.0 * theta


PENALTIES = {
    "expected size": ExpectedSize(0.3),
    "fused lasso": FusedLasso(0.2, EDGES),
    "fused lasso with weights": FusedLasso(0.2, EDGES, weights=np.arange(7) / 4.0),
    "fused lasso on a grid": FusedLasso.grid(0.1, 2, 3),
    "row groups": RowGroups(0.4),
    "sparse and smooth": ExpectedSize(0.2) + FusedLasso.grid(0.15, 3, 2),
    "smooth and sparse": FusedLasso.grid(0.15, 3, 2) + ExpectedSize(0.2),
    "three terms": ExpectedSize(0.1) + FusedLasso(0.1, EDGES) + ExpectedSize(0.1),
    "rows and size": RowGroups(0.2) + ExpectedSize(0.1),
    "no weight": FusedLasso(0.0, EDGES),
    "rows of no weight": RowGroups(0.0),
}
every_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES.keys())


def problem(seed, n_tasks):
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-0.4, 1.4, (n_tasks, M))
    step = rng.choice([0.05, 0.5, 2.0], (n_tasks, M)) * rng.uniform(0.5, 1.5, (n_tasks, M))
    return theta, step, rng


def objective(penalty, x, theta, step):
    return penalty.value(x) + np.sum((x - theta) ** 2 / (2.0 * step))


# The minimiser x of a function that is strongly convex is the one point for which every other y
# has f(y) >= f(x) + |y - x|^2 / 2 in the metric.
@every_penalty
@pytest.mark.parametrize("project", [box, floor])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), n_tasks=st.sampled_from([1, 3]), share=st.floats(0, 0.6))
def test_prox_is_the_minimiser(penalty, project, seed, n_tasks, share):
    theta, step, rng = problem(seed, n_tasks)
    fixed = rng.random(theta.shape) < share
    theta[fixed] = project(theta)[fixed]
    x = penalty.prox(theta, step, fixed, project)
    np.testing.assert_array_equal(x[fixed], theta[fixed])
    np.testing.assert_array_equal(project(x), x)
    lowest = objective(penalty, x, theta, step)
    for scale in (1.0, 0.1, 1e-3):
        for _ in range(8):
            moved = x + scale * rng.normal(size=x.shape) * (rng.random(x.shape) < rng.random())
            y = np.where(fixed, theta, project(moved))
            gap = np.sum((y - x) ** 2 / (2.0 * step))
            assert objective(penalty, y, theta, step) >= lowest + gap - 1e-10


@pytest.mark.parametrize("lam", [0.05, 0.3])
@pytest.mark.parametrize("size", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_fused_lasso_against_a_slow_solver(lam, size, seed):
    theta, step, _ = problem(seed, 1)
    a, b = EDGES.T

    # |theta_a - theta_b| as the least s that is neither below the difference nor below its opposite
    def cost(z):
        return size * z[:M].sum() + lam * z[M:].sum() + np.sum((z[:M] - theta) ** 2 / (2 * step))

    def slope(z):
        return np.concatenate([size + (z[:M] - theta[0]) / step[0], np.full(len(EDGES), lam)])

    def slack(z):
        gaps = z[a] - z[b]
        return np.concatenate([z[M:] - gaps, z[M:] + gaps])

    slow = minimize(
        cost,
        np.concatenate([np.full(M, 0.5), np.ones(len(EDGES))]),
        jac=slope,
        bounds=[(0, 1)] * M + [(0, 3)] * len(EDGES),
        constraints={"type": "ineq", "fun": slack},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    penalty = ExpectedSize(size) + FusedLasso(lam, EDGES)
    x = penalty.prox(theta, step, np.zeros((1, M), dtype=bool), box)
    np.testing.assert_allclose(x[0], slow.x[:M], atol=2e-5)


@pytest.mark.parametrize("seed", range(8))
def test_smoothing_against_the_dual_problem(seed):
    # x = u - B'f / d, where f, within the weights, brings x closest to 0 in the metric.
    rng = np.random.default_rng(seed)
    height, width = rng.integers(2, 6, 2)
    a, b = FusedLasso.grid(1.0, height, width).edges.T
    n = height * width
    u, d, w = rng.uniform(size=n), rng.uniform(0.2, 5.0, n), rng.uniform(0.01, 0.6, len(a))
    incidence = np.zeros((len(a), n))
    incidence[np.arange(len(a)), a] = 1.0
    incidence[np.arange(len(a)), b] = -1.0
    dual = lsq_linear((incidence / np.sqrt(d)).T, np.sqrt(d) * u, (-w, w), method="bvls", tol=1e-14)
    expected = u - incidence.T @ dual.x / d
    np.testing.assert_allclose(
        smooth(u, d, make_graph(a, b, w, n), np.zeros(n, bool)), expected, atol=1e-10
    )


def test_neighbours_become_equal_to_the_last_bit():
    rng = np.random.default_rng(0)
    image = np.zeros((12, 12))
    image[6:, :5] = 0.6
    noisy = (image + 0.05 * rng.normal(size=image.shape)).reshape(1, -1)
    step = rng.uniform(0.5, 1.5, noisy.shape)
    x = FusedLasso.grid(0.12, 12, 12).prox(noisy, step, np.zeros(noisy.shape, bool), box)
    assert len(np.unique(x)) <= 4
    inside = x.reshape(12, 12)[7:, :4]
    assert np.ptp(inside) == 0.0
    assert inside[0, 0] > 0.4


def test_a_strong_penalty_leaves_the_weighted_mean():
    theta, step, _ = problem(3, 1)
    x = FusedLasso(100.0, EDGES).prox(theta, step, NOTHING_FIXED[np.newaxis], lambda t: t)
    np.testing.assert_allclose(x, np.average(theta, weights=1.0 / step), rtol=1e-12)
    assert np.ptp(x) == 0.0


def test_pieces_that_no_edge_joins_do_not_feel_each_other():
    theta, step = np.array([[0.1, 0.3, 0.7, 0.9]]), np.ones((1, 4))
    x = FusedLasso(10.0, [[0, 1], [2, 3]]).prox(theta, step, np.zeros((1, 4), bool), box)
    np.testing.assert_allclose(x, [[0.2, 0.2, 0.8, 0.8]])


def test_fixed_neighbours_hold_and_are_felt():
    theta, step = np.array([[0.0, 0.5, 1.0]]), np.ones((1, 3))
    fixed = np.array([[True, False, False]])
    x = FusedLasso(0.3, [[0, 1], [1, 2]]).prox(theta, step, fixed, box)
    # The middle is pulled down and up alike; the last one comes down by the force of its edge.
    np.testing.assert_allclose(x, [[0.0, 0.5, 0.7]])
    x = FusedLasso(10.0, [[0, 1], [1, 2]]).prox(theta, step, fixed, box)
    np.testing.assert_array_equal(x, [[0.0, 0.0, 0.0]])


def test_rows_become_zero_as_a_whole():
    theta = np.array([[0.1, 0.9], [0.05, 0.0], [-0.2, 0.4]])
    x = RowGroups(0.5).prox(theta, np.ones_like(theta), np.zeros(theta.shape, bool), box)
    np.testing.assert_array_equal(x[:, 0], 0.0)
    norm = np.linalg.norm(theta[:, 1])
    np.testing.assert_allclose(x[:, 1], theta[:, 1] * (1.0 - 0.5 / norm), rtol=1e-12)


@every_penalty
def test_prox_leaves_its_arguments_alone(penalty):
    theta, step, rng = problem(1, 2)
    arguments = theta, step, rng.random(theta.shape) < 0.3
    before = [argument.copy() for argument in arguments]
    penalty.prox(*arguments, box)
    for now, then in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize(
    "penalty",
    [
        Square(),
        Square() + ExpectedSize(0.1),
        FusedLasso(0.1, EDGES) + RowGroups(0.1),
        (RowGroups(0.1) + ExpectedSize(0.1)) + FusedLasso(0.1, EDGES),
    ],
    ids=["no prox", "a sum with it", "two that bend", "three terms, two that bend"],
)
def test_sums_without_a_proximal_step_say_so(penalty):
    assert not penalty.has_prox
    theta, step, _ = problem(0, 1)
    with pytest.raises(NotImplementedError, match="has no proximal step"):
        penalty.prox(theta, step, NOTHING_FIXED[np.newaxis], box)


@every_penalty
def test_those_with_one_say_so(penalty):
    assert penalty.has_prox


def test_coefficients_by_kind():
    total = ExpectedSize(0.1) + FusedLasso(0.2, EDGES) + ExpectedSize(0.3)
    assert total.coefficients() == {"ExpectedSize": 0.1, "FusedLasso": 0.2, "ExpectedSize_2": 0.3}
    assert Square().coefficients() == {}

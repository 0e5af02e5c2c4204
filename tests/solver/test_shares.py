"""Shares of base models: on the simplex, whatever happens to them, and turned into members."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from oracle import finite_differences
from randsub.estimators.run import member_counts, member_weights
from randsub.penalties import ExpectedSize, RowGroups
from randsub.solver.shares import (
    LARGEST_STEP,
    RATE,
    SMALLEST,
    allotted,
    equal_shares,
    mean_by_share,
    mixed_penalty,
    moved_shares,
    penalties,
    penalty_gradient,
    penalty_prox,
    trained_rows,
    without_small,
)


@st.composite
def simplex(draw: st.DrawFn, n_tasks: int | None = None) -> np.ndarray:
    """Shares (P, B), some of them 0, some tiny."""
    n_tasks = n_tasks or draw(st.integers(1, 3))
    n_bases = draw(st.integers(1, 6))
    sizes = st.one_of(st.just(0.0), st.floats(-6.0, 0.0).map(lambda digits: 10.0**digits))
    raw = draw(arrays(float, (n_tasks, n_bases), elements=sizes, fill=st.nothing()))
    # Some base model of each task has a share.
    raw[np.arange(n_tasks), draw(st.integers(0, n_bases - 1))] = 1.0
    return raw / raw.sum(axis=1, keepdims=True)


@st.composite
def shares_and_gradient(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    shares = draw(simplex())
    slopes = st.floats(-1e6, 1e6)
    return shares, draw(arrays(float, shares.shape, elements=slopes))


# About as many members as base models, or many more.
NUMBERS = st.one_of(st.integers(1, 12), st.integers(1, 300))


def assert_on_simplex(shares: np.ndarray) -> None:
    assert (shares >= 0.0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


# -- a step ----------------------------------------------------------------------------------------


def test_they_begin_equal() -> None:
    np.testing.assert_array_equal(equal_shares(2, 4), np.full((2, 4), 0.25))
    np.testing.assert_array_equal(equal_shares(3, 1), np.ones((3, 1)))


@given(shares_and_gradient(), NUMBERS)
def test_steps_stay_on_the_simplex(drawn, n_members) -> None:
    shares, gradient = drawn
    moved = moved_shares(shares, gradient)
    assert_on_simplex(moved)
    assert not moved[shares == 0.0].any()
    kept = without_small(moved, n_members)
    assert_on_simplex(kept)
    assert not kept[moved == 0.0].any()
    # They are values: nobody else's are changed.
    assert_on_simplex(shares)


@given(shares_and_gradient())
def test_a_step_is_one_of_mirror_descent(drawn) -> None:
    shares, gradient = drawn
    gradient /= 1e6
    expected = shares * np.exp(-RATE * gradient)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(moved_shares(shares, gradient), expected, rtol=1e-9)


def test_one_step_is_bounded_whatever_the_loss() -> None:
    moved = moved_shares(np.array([[0.5, 0.5]]), np.array([[1e9, 0.0]]))
    assert moved[0, 0] / moved[0, 1] == pytest.approx(np.exp(-LARGEST_STEP))


@given(shares_and_gradient(), st.integers(-(10**6), 10**6))
def test_what_all_base_models_cost_moves_none_of_them(drawn, constant) -> None:
    shares, gradient = drawn
    # Whole numbers, so that the sum is exact.
    gradient = np.round(gradient)
    np.testing.assert_array_equal(
        moved_shares(shares, gradient + constant), moved_shares(shares, gradient)
    )


@given(shares_and_gradient(), st.sampled_from([-1e300, 0.0, 1e300, np.inf]))
def test_a_step_does_not_depend_on_base_models_that_are_dropped(drawn, slope) -> None:
    shares, gradient = drawn
    other = np.where(shares > 0.0, gradient, slope)
    np.testing.assert_array_equal(moved_shares(shares, other), moved_shares(shares, gradient))


@given(shares_and_gradient())
def test_a_step_goes_down(drawn) -> None:
    shares, gradient = drawn
    moved = moved_shares(shares, gradient)
    before, after = (shares * gradient).sum(axis=1), (moved * gradient).sum(axis=1)
    assert (after <= before + 1e-9 * np.abs(gradient).max()).all()


def test_a_single_share_is_one_for_ever() -> None:
    shares = np.ones((3, 1))
    assert moved_shares(shares, np.array([[1e300], [-1.0], [np.inf]])) is shares
    np.testing.assert_array_equal(without_small(shares, 1), shares)


# -- small ones are dropped ------------------------------------------------------------------------


@given(simplex(), NUMBERS)
def test_only_small_shares_are_dropped_and_never_the_largest(shares, n_members) -> None:
    kept = without_small(shares, n_members)
    largest = shares == shares.max(axis=1, keepdims=True)
    least = min(max(SMALLEST, 0.5 / n_members), 0.5 / shares.shape[1])
    expected = (shares >= least) | largest
    np.testing.assert_array_equal(kept > 0.0, expected & (shares > 0.0))
    for before, after in zip(shares, kept, strict=True):
        held = after > 0.0
        # Nothing happens, to the last bit, to a task of which none is dropped.
        if (before[~held] == 0.0).all():
            np.testing.assert_array_equal(after, before)
        # The others keep their proportions.
        np.testing.assert_allclose(after[held], before[held] / before[held].sum(), rtol=1e-12)


def test_the_smallest_share_that_is_kept_is_half_a_member() -> None:
    shares = np.array([[0.5, 0.05, 0.45], [0.51, 0.049, 0.441]])
    kept = without_small(shares, 10)
    np.testing.assert_array_equal(kept[0], shares[0])
    np.testing.assert_array_equal(kept[1] == 0.0, [False, True, False])
    np.testing.assert_allclose(kept[1, [0, 2]], shares[1, [0, 2]] / 0.951)


@pytest.mark.parametrize("n_members", [25, 100, 10**6])
def test_with_many_members_the_smallest_share_that_is_kept_is_one_in_fifty(n_members) -> None:
    assert SMALLEST == 0.02
    shares = np.array([[0.5, 0.02, 0.48], [0.5, 0.0199, 0.4801], [0.981, 0.0099, 0.0091]])
    kept = without_small(shares, n_members)
    np.testing.assert_array_equal(kept[0], shares[0])
    np.testing.assert_allclose(kept[1], [0.5 / 0.9801, 0.0, 0.4801 / 0.9801])
    np.testing.assert_array_equal(kept[2], [1.0, 0.0, 0.0])


@pytest.mark.parametrize(("n_members", "n_bases"), [(1, 3), (2, 30), (100, 60)])
def test_of_many_base_models_half_an_equal_share_is_kept(n_members, n_bases) -> None:
    """Otherwise the first step would drop all but one."""
    np.testing.assert_array_equal(
        without_small(equal_shares(1, n_bases), n_members), equal_shares(1, n_bases)
    )
    shares = np.full((2, n_bases), 1.0 / n_bases)
    shares[:, 0] *= [0.51, 0.49]
    shares[:, 1] = 1.0 - shares[:, 0] - shares[:, 2:].sum(axis=1)
    kept = without_small(shares, n_members)
    np.testing.assert_array_equal(kept[0], shares[0])
    np.testing.assert_array_equal(kept[1] == 0.0, np.arange(n_bases) == 0)


# -- rows of theta ---------------------------------------------------------------------------------


def test_rows_of_dropped_base_models_are_left_out() -> None:
    assert [*trained_rows(0, np.array([0.2, 0.0, 0.8]))] == [(0, 0.2), (2, 0.8)]
    assert [*trained_rows(4, np.array([0.0, 0.3, 0.7]))] == [(13, 0.3), (14, 0.7)]
    assert [*trained_rows(7, np.ones(1))] == [(7, 1.0)]


def test_alpha_is_the_mean_of_theta_by_share() -> None:
    theta = np.random.default_rng(0).random((6, 4))
    shares = np.array([[0.2, 0.8, 0.0], [0.1, 0.3, 0.6]])
    expected = [shares[0] @ theta[:3], shares[1] @ theta[3:]]
    np.testing.assert_allclose(mean_by_share(theta, shares), expected)
    assert mean_by_share(theta, np.ones((6, 1))) is theta


@pytest.mark.parametrize("penalty", [ExpectedSize(0.3), RowGroups(0.2)], ids=repr)
def test_the_penalty_of_a_mixture_is_the_mean_by_share(penalty) -> None:
    rng = np.random.default_rng(1)
    theta, shares = rng.uniform(0.1, 0.9, (6, 4)), rng.dirichlet(np.ones(3), size=2)
    by_hand = sum(
        # Base model b of both tasks.
        shares[:, base].mean() * penalty.value(theta[[base, 3 + base]])
        for base in range(3)
    )
    assert mixed_penalty(penalty, theta, shares) == pytest.approx(by_hand)
    np.testing.assert_allclose(
        penalty_gradient(penalty, theta, shares),
        finite_differences(lambda t: mixed_penalty(penalty, t, shares), theta),
        rtol=1e-6,
    )
    # Each of two tasks has half of the derivative in the mean share.
    np.testing.assert_allclose(
        np.tile(penalties(penalty, theta, 3) / 2.0, (2, 1)),
        finite_differences(lambda s: mixed_penalty(penalty, theta, s), shares),
        rtol=1e-6,
    )


def test_what_a_task_has_dropped_costs_nothing_and_makes_nothing_cheaper() -> None:
    rng = np.random.default_rng(1)
    theta, shares = rng.uniform(0.1, 0.9, (6, 4)), np.array([[0.4, 0.6, 0.0], [0.3, 0.1, 0.6]])
    penalty, fixed = RowGroups(0.2), np.zeros((6, 4), dtype=bool)
    fixed[2] = True
    by_hand = [penalty.value(theta[rows]) for rows in ([0, 3], [1, 4], [5])]
    assert mixed_penalty(penalty, theta, shares) == pytest.approx(shares.mean(axis=0) @ by_hand)
    gradient = penalty_gradient(penalty, theta, shares)
    np.testing.assert_allclose(gradient[5], 0.3 * penalty.gradient(theta[[5]])[0])
    # A step that is long enough removes every feature of the task that is left.
    step = np.full((6, 4), 100.0)
    moved = penalty_prox(penalty, theta, step, fixed, lambda t: np.clip(t, 0.0, 1.0), shares)
    assert not moved[[0, 1, 3, 4, 5]].any()


# -- members ---------------------------------------------------------------------------------------


@given(simplex(n_tasks=1), NUMBERS)
def test_members_are_allotted_by_share(shares, n_members) -> None:
    [shares] = shares
    counts, exact = allotted(shares, n_members), shares * n_members
    assert counts.sum() == n_members
    assert not counts[shares == 0.0].any()
    enough = n_members >= np.count_nonzero(shares)
    if enough:
        assert (counts[shares > 0.0] >= 1).all()
    if not enough or (exact[shares > 0.0] >= 1.0).all():
        assert (np.abs(counts - exact) < 1.0 + 1e-9).all()


@given(simplex(n_tasks=1), NUMBERS)
def test_nobody_gets_fewer_members_than_one_with_a_smaller_share(shares, n_members) -> None:
    [shares] = shares
    assume(n_members >= np.count_nonzero(shares))
    counts = allotted(shares, n_members)
    order = np.argsort(shares)
    less = shares[order][:-1] < shares[order][1:] * (1.0 - 1e-9)
    assert (np.diff(counts[order])[less] >= 0).all()


@pytest.mark.parametrize(
    ("shares", "n_members", "counts"),
    [
        ([0.5, 0.5], 10, [5, 5]),
        ([0.26, 0.74], 10, [3, 7]),
        ([0.5, 0.3, 0.2], 1, [1, 0, 0]),
        ([0.0, 1.0], 7, [0, 7]),
        # One member each for those that would get none, at the cost of the largest.
        ([0.999, 0.001], 10, [9, 1]),
        ([0.8, 0.05, 0.05, 0.05, 0.05], 10, [6, 1, 1, 1, 1]),
        ([0.96, 0.01, 0.01, 0.01, 0.01], 5, [1, 1, 1, 1, 1]),
        # Of any sum.
        ([6.0, 2.0], 4, [3, 1]),
    ],
)
def test_members_of_some_shares(shares, n_members, counts) -> None:
    assert allotted(np.array(shares), n_members).tolist() == counts


@given(simplex(), NUMBERS)
def test_members_of_repeats_and_base_models_add_up(shares, n_members) -> None:
    counts = member_counts(shares, n_members)
    assert counts.shape == shares.shape
    assert (counts >= 0).all()
    assert counts.sum() == n_members
    assert not counts[shares == 0.0].any()
    # Base models by their mean share over the repeats.
    np.testing.assert_array_equal(counts.sum(axis=0), allotted(shares.mean(axis=0), n_members))
    if n_members >= np.count_nonzero(shares.any(axis=0)):
        assert (counts.sum(axis=0)[shares.any(axis=0)] >= 1).all()


def test_repeats_of_one_base_model_get_equal_numbers() -> None:
    np.testing.assert_array_equal(member_counts(np.ones((3, 1)), 8), [[3], [3], [2]])


@given(st.data(), NUMBERS)
def test_weights_make_the_ensemble_the_mixture(data, n_members) -> None:
    shares = data.draw(simplex(data.draw(st.integers(1, 8))))
    counts = member_counts(shares, n_members)
    weights = member_weights(shares, counts)
    assert len(weights) == n_members
    assert weights.sum() == pytest.approx(1.0)
    cells = np.zeros(shares.size)
    np.add.at(cells, np.repeat(np.arange(shares.size), counts.ravel()), weights)
    cells = cells.reshape(shares.shape)
    wanted = shares / len(shares)
    if (counts[shares > 0.0] > 0).all():
        np.testing.assert_allclose(cells, wanted, atol=1e-12)
    elif (counts.sum(axis=0) > 0)[shares.sum(axis=0) > 0.0].all():
        # Where not every repeat has a member of each base model, the base models have their shares.
        np.testing.assert_allclose(cells.sum(axis=0), wanted.sum(axis=0), atol=1e-12)

"""Independent coins, at the edges of their domain too, and coins for groups of columns."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.sparse import csr_array

from oracle import all_masks, dense, index_of, p_value_of_law, probabilities
from randsub.distributions import EDGE, Bernoulli, GroupedBernoulli, SubsetDistribution


def test_log_probability_is_that_of_independent_coins():
    theta = np.array([0.2, 0.5, 0.9, 0.01])
    expected = np.log(probabilities(theta))
    np.testing.assert_allclose(Bernoulli(4).log_prob(all_masks(4), theta), expected, rtol=1e-12)


def test_draws_follow_the_plain_product():
    theta = np.array([0.1, 0.35, 0.5, 0.65, 0.95])
    masks = Bernoulli(5).sample(theta, 40_000, np.random.default_rng(0))
    assert p_value_of_law(masks, probabilities(theta)) > 1e-4


def test_the_edges_are_never_and_always_drawn():
    theta = np.array([0.0, 0.4, 1.0, 0.0, 0.7])
    masks = dense(Bernoulli(5).sample(theta, 20_000, np.random.default_rng(1)))
    assert not masks[:, [0, 3]].any()
    assert masks[:, 2].all()
    assert p_value_of_law(masks, probabilities(theta)) > 1e-4


def test_parameters_at_the_edges_cost_no_random_number():
    theta = np.array([0.3, 0.8])
    wide = np.array([0.0, 0.3, 1.0, 0.0, 0.8, 1.0, 0.0])
    narrow_masks = dense(Bernoulli(2).sample(theta, 100, np.random.default_rng(2)))
    wide_masks = dense(Bernoulli(7).sample(wide, 100, np.random.default_rng(2)))
    np.testing.assert_array_equal(wide_masks[:, [1, 4]], narrow_masks)


def test_all_at_zero_draws_empty_masks():
    masks = Bernoulli(3).sample(np.zeros(3), 7, np.random.default_rng(0))
    np.testing.assert_array_equal(dense(masks), np.zeros((7, 3), dtype=bool))


# -- the sampler -----------------------------------------------------------------------------------


def plain_draws(theta, n_masks, rng):
    """Geometric gaps between the masks that hold a parameter, in dense masks."""
    masks = np.zeros((n_masks, len(theta)), dtype=bool)
    for j, level in enumerate(theta):
        if level == 1.0:
            masks[:, j] = True
        elif level > 0.0:
            t = -1
            while t < n_masks:
                with np.errstate(over="ignore"):
                    gap = np.log1p(-rng.random()) / np.log1p(-level)
                t += 1 + int(min(gap, n_masks))
                masks[t : t + 1, j] = True
    return masks


SAMPLED = {
    "some": (np.random.default_rng(3).uniform(size=30), 100),
    "wide": (np.random.default_rng(4).exponential(0.003, 5_000), 60),
    "edges": (np.array([0.0, 1.0, 1e-300, 5e-324, 1e-9, np.nextafter(1.0, 0.0), 0.5, 1.0]), 400),
    "one mask": (np.linspace(0.0, 1.0, 50), 1),
    "no masks": (np.array([0.5, 1.0]), 0),
}


@pytest.mark.parametrize("theta, n_masks", SAMPLED.values(), ids=SAMPLED)
def test_draws_are_those_of_geometric_gaps(theta, n_masks):
    """Also the generator is left where the plain formula leaves it."""
    rng, plain_rng = np.random.default_rng(5), np.random.default_rng(5)
    for _ in range(3):
        masks = Bernoulli(len(theta)).sample(theta, n_masks, rng)
        np.testing.assert_array_equal(dense(masks), plain_draws(theta, n_masks, plain_rng))
    assert rng.random() == plain_rng.random()


def test_the_room_for_draws_grows():
    """It is made for the expected number of draws; that may be exceeded, here several times."""
    n_masks = 30_000
    theta = np.concatenate([np.full(3, 0.01), [0.9], np.full(4, 0.01), [0.2, 0.99]])
    assert 1.1 * n_masks * theta.sum() + 1000 < n_masks * 3
    masks = Bernoulli(10).sample(theta, n_masks, np.random.default_rng(6))
    expected = plain_draws(theta, n_masks, np.random.default_rng(6))
    np.testing.assert_array_equal(dense(masks), expected)


@pytest.mark.parametrize("theta", [1e-4, 2e-3, 0.02, 0.2, 0.7])
def test_a_parameter_is_in_a_binomial_number_of_masks_at_any_place(theta):
    """Tiny probabilities, where most parameters are in no mask, have the same law as others."""
    n_parameters, n_masks = 60_000, 50
    rng = np.random.default_rng(7)
    masks = Bernoulli(n_parameters).sample(np.full(n_parameters, theta), n_masks, rng)
    times = np.bincount(masks.indices, minlength=n_parameters)
    law = stats.binom(n_masks, theta).pmf(np.arange(n_masks + 1)) * n_parameters
    enough = law >= 8.0
    observed = np.append(np.bincount(times, minlength=n_masks + 1)[enough], np.sum(~enough[times]))
    expected = np.append(law[enough], law[~enough].sum())
    if expected[-1] < 8.0:
        observed, expected = observed[:-1], expected[:-1] * observed[:-1].sum() / law[enough].sum()
    assert stats.chisquare(observed, expected).pvalue > 1e-4
    # No mask holds more than others, the first and the last included.
    sizes = np.diff(masks.indptr)
    assert sizes.sum() > 100
    assert stats.chisquare(sizes).pvalue > 1e-4


def test_a_tiny_probability_of_many_masks():
    n_masks, theta = 2_000_000, np.array([1e-5, 0.0, 3e-5, 1.0, 1e-300])
    masks = Bernoulli(5).sample(theta, n_masks, np.random.default_rng(8))
    times = np.bincount(masks.indices, minlength=5)
    np.testing.assert_array_equal(times[[1, 3, 4]], [0, n_masks, 0])
    for found, mean in zip(times[[0, 2]], [20.0, 60.0], strict=True):
        assert abs(found - mean) < 4.0 * np.sqrt(mean)
    places = np.flatnonzero(np.diff(masks.indptr) > 1)
    assert stats.kstest(places / n_masks, "uniform").pvalue > 1e-4


levels = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0, 1e-300, 1e-3, 1.0 - 1e-12])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    theta=arrays(float, st.integers(1, 80), elements=levels),
    n_masks=st.integers(0, 40),
    seed=st.integers(0, 100),
    grouped=st.booleans(),
)
def test_draws_are_sparse_rows_of_ones_in_ascending_order(theta, n_masks, seed, grouped):
    family = GroupedBernoulli(np.arange(len(theta))) if grouped else Bernoulli(len(theta))
    masks = family.sample(theta, n_masks, np.random.default_rng(seed))
    assert type(masks) is csr_array
    assert masks.shape == (n_masks, len(theta))
    assert (masks.data.dtype, masks.indices.dtype, masks.indptr.dtype) == (float, "i4", "i4")
    masks.check_format(full_check=True)
    assert (masks.data == 1.0).all()
    for begin, end in pairwise(masks.indptr):
        assert (np.diff(masks.indices[begin:end]) > 0).all()
    held = np.bincount(masks.indices, minlength=len(theta))
    assert not held[theta == 0.0].any()
    assert (held[theta == 1.0] == n_masks).all()


def test_theta_may_lie_anywhere_in_memory():
    theta = np.random.default_rng(9).uniform(size=(2, 40))
    family = Bernoulli(40)
    expected = dense(family.sample(theta[1], 20, np.random.default_rng(10)))
    frozen = theta[1].copy()
    frozen.flags.writeable = False
    for given_theta in (np.asfortranarray(theta)[1], np.repeat(theta[1], 2)[::2], frozen):
        found = family.sample(given_theta, 20, np.random.default_rng(10))
        np.testing.assert_array_equal(dense(found), expected)
        assert family.log_prob_empty(given_theta) == family.log_prob_empty(theta[1])


# -- probabilities ---------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, derandomize=True)
@given(theta=arrays(float, st.integers(1, 130), elements=levels))
def test_log_probability_of_the_empty_mask(theta):
    """In products of several factors that cannot underflow, even with all parameters at 1."""
    family, empty = Bernoulli(len(theta)), np.zeros((1, len(theta)), dtype=bool)
    found = family.log_prob_empty(theta)
    expected = np.log1p(-np.clip(theta, EDGE, 1.0 - EDGE)).sum()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert found == family.log_prob(empty, theta)[0]
    assert np.isfinite(family.log_prob_empty(np.ones(1_000)))


EDGES = np.array(
    [
        [0.0, 1.0, 0.5, 0.3, 1e-300],
        [EDGE, 1.0 - EDGE, EDGE / 2.0, 1.0 - EDGE / 2.0, 2.0 * EDGE],
        [np.nextafter(EDGE, 0), np.nextafter(EDGE, 1), 1.0 - 2.0 * EDGE, 0.0, 0.0],
        [np.nextafter(1.0 - EDGE, 0), np.nextafter(1.0 - EDGE, 1), np.nextafter(1, 0), 1.0, 0.7],
    ]
)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_log_probabilities_of_several_thetas_at_the_edges(sparse, grouped):
    masks = all_masks(5)
    inside = np.clip(EDGES, EDGE, 1.0 - EDGE)
    factors = np.where(masks, inside[:, np.newaxis], 1.0 - inside[:, np.newaxis])
    expected = np.log(factors).sum(axis=2)
    family = GroupedBernoulli(np.array([4, 0, 0, 2, 3, 1, 4])) if grouped else Bernoulli(5)
    given_masks = csr_array(masks, dtype=float) if sparse else masks
    found = family.log_probs(given_masks, EDGES)
    assert found.shape == (4, 32)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    single = [family.log_prob(given_masks, theta) for theta in EDGES]
    np.testing.assert_array_equal(found, single)


def test_log_probability_and_score_are_finite_at_the_edges():
    theta = np.array([0.0, 1.0, 0.5])
    masks = all_masks(3)
    log_p, score = Bernoulli(3).log_prob(masks, theta), Bernoulli(3).score(masks, theta)
    assert np.isfinite(log_p).all()
    assert np.isfinite(score).all()
    # The masks that can occur have their true probability, up to the edge; the others almost none.
    possible = probabilities(theta) > 0.0
    np.testing.assert_allclose(log_p[possible], np.log(0.5), atol=1e-5)
    assert (log_p[~possible] < np.log(2.0 * EDGE)).all()
    inside = np.clip(theta, EDGE, 1.0 - EDGE)
    expected = np.where(masks, 1.0 / inside, -1.0 / (1.0 - inside))
    np.testing.assert_allclose(score, expected, rtol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_score_sums_where_all_or_no_masks_hold_a_parameter(sparse):
    """The difference of two sums is not quite 0 there, and the score may be as large as 1e6."""
    rng = np.random.default_rng(5)
    theta = np.array([1.0, 0.5, 0.0, 0.5, 1.0 - 1e-9, 1e-9])
    masks = np.column_stack([np.ones(50), rng.random(50) < 0.5, np.zeros((50, 1)), np.ones(50)])
    masks = np.column_stack([masks, np.ones(50), np.zeros(50)]).astype(bool)
    coefficients = rng.dirichlet(np.ones(50), size=3)
    family = Bernoulli(6)
    given_masks = csr_array(masks, dtype=float) if sparse else masks
    first, second = family.score_sums(given_masks, theta, coefficients)
    expected = SubsetDistribution.score_sums(family, masks, theta, coefficients)
    np.testing.assert_allclose(first, expected[0], rtol=1e-12)
    np.testing.assert_allclose(second, expected[1], rtol=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data(), n_columns=st.integers(1, 7), n_masks=st.integers(1, 12))
def test_score_sums_match_the_default(data, n_columns, n_masks):
    theta = data.draw(arrays(float, n_columns, elements=st.floats(0.001, 0.999)))
    masks = data.draw(arrays(bool, (n_masks, n_columns)))
    coefficients = data.draw(arrays(float, (2, n_masks), elements=st.floats(-5, 5)))
    family = Bernoulli(n_columns)
    expected = SubsetDistribution.score_sums(family, masks, theta, coefficients)
    first, second = family.score_sums(csr_array(masks, dtype=float), theta, coefficients)
    np.testing.assert_allclose(first, expected[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(second, expected[1], rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("floor", [0.0, 0.05, 0.3])
def test_projection_keeps_the_distance_of_the_floor(floor):
    theta = np.array([[-1.0, 0.0, floor, 0.5], [1.0 - floor, 1.0, 1.5, floor / 2.0]])
    expected = [[floor, floor, floor, 0.5], [1.0 - floor, 1.0 - floor, 1.0 - floor, floor]]
    np.testing.assert_array_equal(Bernoulli(4, floor=floor).project(theta), expected)


@pytest.mark.parametrize("floor", [-0.1, 0.5, 1.0, float("nan")])
def test_a_floor_outside_its_range_is_refused(floor):
    with pytest.raises(ValueError, match=r"floor must be in \[0, 0.5\), got"):
        Bernoulli(3, floor=floor)
    with pytest.raises(ValueError, match=r"floor must be in \[0, 0.5\), got"):
        GroupedBernoulli(np.array([0, 1]), floor=floor)


@pytest.mark.parametrize("n_columns", [0, -2])
def test_no_columns_are_refused(n_columns):
    with pytest.raises(ValueError, match=f"n_columns must be at least 1, got {n_columns}"):
        Bernoulli(n_columns)


def test_bernoulli_has_a_parameter_for_each_column():
    family = Bernoulli(4)
    assert (family.n_columns, family.n_parameters) == (4, 4)
    np.testing.assert_array_equal(family.column_parameters(), [0, 1, 2, 3])
    np.testing.assert_array_equal(family.expand(all_masks(4)), all_masks(4))
    assert family.expected_size(np.array([0.5, 0.25, 1.0, 0.0])) == 1.75
    assert repr(Bernoulli(4, floor=0.1)) == "Bernoulli(n_columns=4, floor=0.1)"


def test_columns_of_a_group_are_drawn_together():
    groups = np.array([2, 0, 2, 1, 0, 2])
    family = GroupedBernoulli(groups)
    assert (family.n_columns, family.n_parameters) == (6, 3)
    theta = np.array([0.3, 0.6, 0.8])
    masks = dense(family.sample(theta, 20_000, np.random.default_rng(6)))
    columns = family.expand(masks)
    assert columns.shape == (20_000, 6)
    np.testing.assert_array_equal(dense(family.expand(csr_array(masks, dtype=float))), columns)
    for group in range(3):
        for column in np.flatnonzero(groups == group):
            np.testing.assert_array_equal(columns[:, column], masks[:, group])
    # Groups are independent of each other, and each has its own probability.
    assert p_value_of_law(masks, probabilities(theta)) > 1e-4
    assert len(np.unique(index_of(columns))) == 8


def test_expected_size_of_groups_counts_columns():
    family = GroupedBernoulli(np.array([2, 0, 2, 1, 0, 2]))
    theta = np.array([0.5, 0.25, 0.1])
    assert family.expected_size(theta) == pytest.approx(2 * 0.5 + 1 * 0.25 + 3 * 0.1)


def test_one_group_for_each_column_is_bernoulli():
    theta = np.array([0.2, 0.7, 0.4])
    grouped, single = GroupedBernoulli(np.arange(3)), Bernoulli(3)
    masks = all_masks(3)
    np.testing.assert_array_equal(grouped.log_prob(masks, theta), single.log_prob(masks, theta))
    np.testing.assert_array_equal(grouped.score(masks, theta), single.score(masks, theta))
    np.testing.assert_array_equal(grouped.expand(masks), masks)


def test_groups_say_what_they_are():
    assert repr(GroupedBernoulli(np.array([0, 1, 1]))) == (
        "GroupedBernoulli(n_groups=2, n_columns=3, floor=0.0)"
    )


@pytest.mark.parametrize(
    "groups, message",
    [
        ([], "one integer for each column"),
        ([0.0, 1.0], r"one integer for each column, got .* type float64"),
        ([[0, 1], [1, 0]], r"one integer for each column, got .*\(2, 2\)"),
        (["a", "b"], "one integer for each column"),
        ([True, False], "one integer for each column"),
        ([0, 2, 2], r"without gaps, got the numbers \[0, 2\]\."),
        ([1, 2], r"without gaps, got the numbers \[1, 2\]\."),
        ([-1, 0], r"without gaps, got the numbers \[-1, 0\]\."),
        (list(range(1, 13)), r"without gaps, got the numbers \[1, .*, 10\] \.\.\."),
    ],
)
def test_groups_that_do_not_number_the_columns_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        GroupedBernoulli(groups)

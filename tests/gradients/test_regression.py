"""The regression of costs on masks as control variate, against the formula and the exact gradient.

The regressors ``z_k - theta_k`` have expectation 0, and so has their product with the score of any
other parameter: what they explain of the costs is noise in the gradient of the others.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from oracle import Chain, all_masks, dense, derivative_of_mean, make_truth, probabilities
from randsub.distributions import Bernoulli, GroupedBernoulli
from randsub.gradients import (
    LEAST_VARIANCE,
    MASKS_PER_TERM,
    RIDGE,
    _give_back_own_effect,
    _residual_costs,
    _solved,
    score_gradient,
)


def plain_slopes(masks, theta, weights, costs):
    """Weighted ridge regression of the costs on the parameters that vary most."""
    shares = weights / weights.sum()
    variance = theta * (1.0 - theta)
    most = int(1.0 / np.sum(shares**2) / MASKS_PER_TERM)
    terms = sorted(range(len(theta)), key=lambda k: (-variance[k], k))[:most]
    terms = [k for k in terms if variance[k] >= LEAST_VARIANCE]
    x = (masks - theta)[:, terms]
    products = x.T @ (shares[:, np.newaxis] * x) + RIDGE * np.diag(variance[terms])
    slopes = np.zeros(len(theta))
    slopes[terms] = np.linalg.solve(products, x.T @ (shares * (costs - shares @ costs)))
    return slopes


def plain_gradient(masks, theta, weights, costs, slopes):
    """``sum_t w s_j (c - sum_{k != j} beta_k (z_k - theta_k) - b_j)``, entry by entry."""
    inside = np.clip(theta, 1e-6, 1.0 - 1e-6)
    gradient = []
    for j in range(len(theta)):
        others = np.arange(len(theta)) != j
        left = costs - (masks - theta)[:, others] @ slopes[others]
        s = np.where(masks[:, j], 1.0 / inside[j], -1.0 / (1.0 - inside[j]))
        b = np.sum(weights * s**2 * left) / np.sum(weights * s**2)
        gradient.append(np.sum(weights * s * (left - b)))
    return np.array(gradient)


PROBLEMS = {
    # Theta, and the number of masks.
    "more masks than parameters": (np.linspace(0.1, 0.9, 8), 83),
    "more parameters than terms": (np.linspace(0.1, 0.9, 40), 83),
    "equal parameters": (np.full(30, 0.3), 57),
    "some vary too little": (np.array([0.5, 0.001, 0.019, 0.021, 0.98, 0.979, 0.4]), 200),
    "at the edges": (np.array([0.0, 1.0, 0.4, 1e-9, 1.0 - 1e-9, 0.6, 0.3]), 61),
    "one parameter": (np.array([0.3]), 23),
    "too few masks for a term": (np.array([0.3, 0.5]), 4),
}


@pytest.mark.parametrize("sum_of_weights", [1.0, 0.7])
@pytest.mark.parametrize("theta, n_masks", PROBLEMS.values(), ids=PROBLEMS)
def test_gradient_is_the_plain_formula(theta, n_masks, sum_of_weights):
    rng = np.random.default_rng(0)
    masks = rng.random((n_masks, len(theta))) < theta
    costs = 3.0 + masks @ rng.normal(size=len(theta)) + rng.normal(size=n_masks)
    weights = sum_of_weights * rng.dirichlet(np.full(n_masks, 5.0))
    given_costs = costs.copy()
    slopes = plain_slopes(masks, theta, weights, costs)
    expected = plain_gradient(masks, theta, weights, costs, slopes)
    for given_masks in (masks, csr_array(masks, dtype=float)):
        found = score_gradient(
            Bernoulli(len(theta)), given_masks, theta, weights, given_costs, "regression"
        )
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(given_costs, costs)
    weighted = score_gradient(Bernoulli(len(theta)), masks, theta, weights, costs, "weighted")
    # The only slope is that of the parameter itself, or there is none.
    is_weighted = len(theta) == 1 or not slopes.any()
    assert is_weighted == (np.abs(found - weighted).max() < 1e-9)


@pytest.mark.parametrize("theta, n_masks", PROBLEMS.values(), ids=PROBLEMS)
def test_slopes_are_those_of_the_plain_regression(theta, n_masks):
    rng = np.random.default_rng(1)
    masks = rng.random((n_masks, len(theta))) < theta
    costs, weights = rng.normal(size=n_masks), rng.dirichlet(np.full(n_masks, 5.0))
    rows = csr_array(masks, dtype=float)
    residual, slopes = _residual_costs(rows.indptr, rows.indices, theta, weights, costs)
    expected = plain_slopes(masks, theta, weights, costs)
    np.testing.assert_allclose(slopes, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(residual, costs - (masks - theta) @ expected, rtol=1e-9, atol=1e-12)
    n_terms = np.count_nonzero(slopes)
    assert n_terms <= 1.0 / np.sum(weights**2) / MASKS_PER_TERM
    assert not slopes[theta * (1.0 - theta) < LEAST_VARIANCE].any()


@pytest.mark.parametrize("kind", ["regression", "two classes"])
@pytest.mark.parametrize("objective", ["ensemble", "members"])
def test_all_masks_with_their_probabilities_give_the_exact_gradient(kind, objective):
    """Whatever the slopes are, and although they come from the same costs."""
    truth = make_truth(kind, 7, seed=2)
    theta = np.random.default_rng(3).uniform(0.3, 0.7, 7)
    costs, p = truth.costs(theta, objective), probabilities(theta)
    assert np.abs(plain_slopes(all_masks(7), theta, p, costs)).min() > 1e-4
    found = score_gradient(Bernoulli(7), all_masks(7), theta, p, costs, "regression")
    np.testing.assert_allclose(found, truth.gradient(theta, objective), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("away", [False, True], ids=["at proposal", "away"])
def test_with_fixed_slopes_the_sum_over_masks_is_unbiased(away):
    """Summed over all masks with their probability; only the constant b_j is left out."""
    rng = np.random.default_rng(4)
    theta, slopes = rng.uniform(0.2, 0.8, 5), rng.normal(size=5)
    slopes[2] = 0.0
    q = probabilities(rng.uniform(0.2, 0.8, 5) if away else theta)
    masks, costs = all_masks(5), rng.normal(size=32)
    residual, w = costs - (masks - theta) @ slopes, probabilities(theta) / q
    mean = np.zeros(5)
    for row in range(32):
        coefficients = np.array([[w[row] * residual[row]], [w[row]]])
        first, second = Bernoulli(5).score_sums(masks[[row]], theta, coefficients)
        _give_back_own_effect(theta, slopes, first, second)
        mean += q[row] * first[0]
    np.testing.assert_allclose(mean, derivative_of_mean(costs, theta), rtol=1e-10, atol=1e-12)


def deviations(baseline, theta, n_masks, costs_of, n_rounds=200):
    """Differences of the gradients of several rounds from their mean, squared, averaged."""
    rng = np.random.default_rng(5)
    family, weights = Bernoulli(len(theta)), np.full(n_masks, 1.0 / n_masks)
    found = []
    for _ in range(n_rounds):
        masks = family.sample(theta, n_masks, rng)
        costs = costs_of(dense(masks), rng)
        found.append(score_gradient(family, masks, theta, weights, costs, baseline))
    return np.mean(found, axis=0), np.var(found, axis=0)


def test_additive_costs_leave_little_variance():
    theta = np.random.default_rng(6).uniform(0.2, 0.8, 15)
    slopes = np.random.default_rng(7).normal(size=15)

    def costs_of(masks, rng):
        return masks @ slopes + 0.1 * rng.normal(size=len(masks))

    mean, variance = deviations("regression", theta, 103, costs_of)
    _, of_weighted = deviations("weighted", theta, 103, costs_of)
    assert variance.sum() < 0.1 * of_weighted.sum()
    assert (variance < of_weighted).all()
    # The gradient of an additive cost is its slopes.
    np.testing.assert_allclose(mean, slopes, atol=0.1)


def test_a_few_effects_among_many_parameters():
    """Those that vary most, since their theta has risen, explain the noise of all others."""
    theta = np.full(400, 0.03)
    theta[[7, 150, 399]] = 0.5

    def costs_of(masks, rng):
        return 2.0 * masks[:, [7, 150, 399]].sum(axis=1) + 0.3 * rng.normal(size=len(masks))

    _, variance = deviations("regression", theta, 103, costs_of, n_rounds=60)
    _, of_weighted = deviations("weighted", theta, 103, costs_of, n_rounds=60)
    assert variance.sum() < 0.15 * of_weighted.sum()


def test_where_there_is_nothing_to_explain_little_is_lost():
    theta = np.random.default_rng(8).uniform(0.2, 0.8, 40)

    def costs_of(masks, rng):
        return rng.normal(size=len(masks))

    _, variance = deviations("regression", theta, 103, costs_of)
    _, of_weighted = deviations("weighted", theta, 103, costs_of)
    assert variance.sum() < 1.2 * of_weighted.sum()


def test_a_family_that_is_not_independent_gets_the_weighted_baseline():
    rng = np.random.default_rng(9)
    family, theta = Chain(4), rng.uniform(0.2, 0.8, 4)
    masks, weights = family.sample(theta, 60, rng), rng.dirichlet(np.ones(60))
    costs = masks @ rng.normal(size=4)
    np.testing.assert_array_equal(
        score_gradient(family, masks, theta, weights, costs, "regression"),
        score_gradient(family, masks, theta, weights, costs, "weighted"),
    )
    # Groups are independent.
    for grouped in (GroupedBernoulli(np.array([0, 1, 1, 2, 3])), Bernoulli(4)):
        found, weighted = (
            score_gradient(grouped, masks, theta, weights, costs, baseline)
            for baseline in ("regression", "weighted")
        )
        assert np.abs(found - weighted).max() > 1e-3


levels = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0, 1e-300, 0.02, 1.0 - 1e-9])


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    theta=st.lists(levels, min_size=1, max_size=30),
    n_masks=st.integers(1, 40),
    seed=st.integers(0, 1000),
    spread=st.sampled_from([0.0, 1.0, 30.0, 300.0]),
    same=st.booleans(),
)
def test_gradient_is_finite_for_any_theta_masks_and_weights(theta, n_masks, seed, spread, same):
    """Also where masks contradict theta, all masks are the same, or one weight dwarfs the rest."""
    rng = np.random.default_rng(seed)
    theta = np.array(theta)
    masks = np.repeat(rng.random((1, len(theta))) < 0.5, n_masks, axis=0)
    if not same:
        masks = rng.random(masks.shape) < 0.5
    weights = np.exp(-spread * rng.random(n_masks)) / n_masks
    costs = rng.normal(size=n_masks)
    found = score_gradient(Bernoulli(len(theta)), masks, theta, weights, costs, "regression")
    assert found.shape == theta.shape
    assert np.isfinite(found).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(n=st.integers(0, 25), seed=st.integers(0, 1000), ridge=st.sampled_from([1e-3, 0.1, 10.0]))
def test_positive_definite_systems_are_solved(n, seed, ridge):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n + 3, n))
    system, target = x.T @ x + ridge * np.eye(n), rng.normal(size=n)
    # Only the lower triangle is read.
    lower = np.where(np.tri(n, dtype=bool), system, np.nan)
    given_target = target.copy()
    np.testing.assert_allclose(
        _solved(lower, given_target), np.linalg.solve(system, target), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_array_equal(given_target, target)

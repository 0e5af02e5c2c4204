"""Importance weights: exact where a plain product is, and finite where it is not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from oracle import all_masks, dense, probabilities
from randsub.distributions import Bernoulli
from randsub.gradients import effective_sample_size, importance_weights, log_of_mixture

some_log_weights = arrays(float, st.integers(1, 40), elements=st.floats(-60, 60))
any_log_weights = arrays(float, st.integers(1, 40), elements=st.floats(-1e5, 1e5))
anything = settings(max_examples=100, deadline=None, derandomize=True)


@pytest.mark.parametrize("kind", [np.asarray, lambda masks: csr_array(masks, dtype=float)])
def test_weights_are_ratios_of_probabilities(kind):
    theta, theta_q = np.array([0.2, 0.7, 0.5, 0.9]), np.array([0.4, 0.6, 0.5, 0.3])
    p, q = probabilities(theta), probabilities(theta_q)
    log_w = Bernoulli(4).log_prob(kind(all_masks(4)), theta) - np.log(q)
    np.testing.assert_allclose(np.exp(log_w), p / q, rtol=1e-12)
    np.testing.assert_allclose(
        importance_weights(log_w, self_normalize=False), p / q / 16, rtol=1e-12
    )
    np.testing.assert_allclose(importance_weights(log_w), p / q / (p / q).sum(), rtol=1e-12)


def test_at_the_proposal_all_weights_are_equal():
    log_w = np.zeros(8)
    for self_normalize in (False, True):
        weights = importance_weights(log_w, self_normalize=self_normalize)
        np.testing.assert_array_equal(weights, np.full(8, 1 / 8))


@anything
@given(log_w=any_log_weights)
def test_self_normalised_weights_add_up_to_one(log_w):
    weights = importance_weights(log_w)
    assert weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert (weights >= 0.0).all()
    assert weights[np.argmax(log_w)] == weights.max()


@anything
@given(log_w=some_log_weights, shift=st.floats(-1e4, 1e4))
def test_self_normalised_weights_forget_a_common_factor(log_w, shift):
    np.testing.assert_allclose(
        importance_weights(log_w + shift), importance_weights(log_w), rtol=1e-9
    )


@anything
@given(log_w=any_log_weights, shift=st.floats(-1e5, 1e5))
def test_effective_sample_size_lies_between_one_and_all(log_w, shift):
    ess = effective_sample_size(log_w)
    assert 1.0 - 1e-9 <= ess <= len(log_w) * (1.0 + 1e-12)
    assert effective_sample_size(log_w + shift) == pytest.approx(ess, rel=1e-7)


@anything
@given(log_w=some_log_weights)
def test_effective_sample_size_is_its_formula(log_w):
    w = np.exp(log_w)
    assert effective_sample_size(log_w) == pytest.approx(w.sum() ** 2 / np.sum(w**2), rel=1e-9)


@anything
@given(level=st.floats(-1e5, 1e5), n_masks=st.integers(1, 300))
def test_equal_weights_are_all_worth_the_same(level, n_masks):
    assert effective_sample_size(np.full(n_masks, level)) == pytest.approx(n_masks, rel=1e-12)


@anything
@given(log_w=any_log_weights)
def test_one_weight_that_dwarfs_the_others_counts_alone(log_w):
    log_w = np.append(log_w, log_w.max() + 50.0)
    assert effective_sample_size(log_w) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_stay_finite_with_very_many_features(sparse):
    n_features, n_masks = 20_000, 40
    rng = np.random.default_rng(0)
    family = Bernoulli(n_features)
    proposal = rng.choice([0.0, 1e-4, 0.5, 1.0 - 1e-4, 1.0], n_features)
    masks = family.sample(proposal, n_masks, rng)
    given_masks = masks if sparse else dense(masks)
    log_q = family.log_prob(given_masks, proposal)
    for theta in (proposal, proposal[::-1].copy(), np.zeros(n_features), np.ones(n_features)):
        log_w = family.log_prob(given_masks, theta) - log_q
        assert np.isfinite(log_w).all()
        for self_normalize in (False, True):
            weights = importance_weights(log_w, self_normalize=self_normalize)
            assert np.isfinite(weights).all()
            assert np.isfinite(weights @ weights)
            assert (weights >= 0.0).all()
        assert importance_weights(log_w).sum() == pytest.approx(1.0)
        assert 1.0 - 1e-9 <= effective_sample_size(log_w) <= n_masks * (1.0 + 1e-12)
        logs = family.log_probs(given_masks, np.stack([proposal, theta]))
        mixed = log_of_mixture(logs, np.array([0.25, 0.75]))
        assert np.isfinite(mixed).all()
    # So far from the proposal that plain weights overflow and underflow.
    extreme = np.array([-1e6, 0.0, 1e6])
    with np.errstate(all="raise", under="ignore"):
        weights = importance_weights(extreme, self_normalize=False)
        assert np.isfinite(weights @ weights)
        np.testing.assert_allclose(importance_weights(extreme), [0.0, 0.0, 1.0], atol=1e-100)


@pytest.mark.parametrize("kind", [np.asarray, lambda masks: csr_array(masks, dtype=float)])
def test_mixture_is_the_plain_sum_of_probabilities(kind):
    rng = np.random.default_rng(1)
    thetas, shares = rng.uniform(0.1, 0.9, (3, 5)), np.array([0.5, 0.2, 0.3])
    log_q = log_of_mixture(Bernoulli(5).log_probs(kind(all_masks(5)), thetas), shares)
    expected = sum(share * probabilities(t) for share, t in zip(shares, thetas, strict=True))
    np.testing.assert_allclose(np.exp(log_q), expected, rtol=1e-12)
    assert np.exp(log_q).sum() == pytest.approx(1.0)


def test_mixture_of_one_theta_is_its_law():
    theta, masks = np.array([0.3, 0.8, 0.5]), all_masks(3)
    expected = Bernoulli(3).log_prob(masks, theta)
    for thetas, shares in (([theta], [1.0]), ([theta] * 4, [0.1, 0.2, 0.3, 0.4])):
        log_q = log_of_mixture(Bernoulli(3).log_probs(masks, np.array(thetas)), np.array(shares))
        np.testing.assert_allclose(log_q, expected, rtol=1e-12)


def test_a_generation_without_masks_does_not_count():
    rng = np.random.default_rng(2)
    thetas, masks = rng.uniform(0.1, 0.9, (3, 4)), all_masks(4)
    log_q = log_of_mixture(Bernoulli(4).log_probs(masks, thetas), np.array([0.4, 0.0, 0.6]))
    expected = 0.4 * probabilities(thetas[0]) + 0.6 * probabilities(thetas[2])
    np.testing.assert_allclose(np.exp(log_q), expected, rtol=1e-12)

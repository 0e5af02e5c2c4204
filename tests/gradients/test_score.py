"""The cheap form of the gradient against the plain formula, with every array written out.

The plain formula is the paper's: a baseline for each sample and output, scores and predictions in
arrays of shape (T, n, C, M). Whether it is the gradient of anything is the business of
``test_score_truth.py``.
"""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from oracle import Chain, make_truth
from randsub.distributions import Bernoulli, GroupedBernoulli
from randsub.gradients import (
    OBJECTIVES,
    Votes,
    ensemble_output,
    importance_weights,
    model_costs,
    score_gradient,
)
from randsub.losses import CrossEntropy

EDGE = 1e-6
KINDS = ["regression", "two classes", "four classes", "three outputs", "two labels"]
BASELINES = ["optimal", "weighted", "paper", "none"]


def plain_weights(masks, theta, theta_q):
    """Ratios of products, one mask at a time."""
    ratios = []
    for mask in masks:
        p = q = 1.0
        for held, a, b in zip(mask, inside(theta), inside(theta_q), strict=True):
            p *= a if held else 1.0 - a
            q *= b if held else 1.0 - b
        ratios.append(p / q)
    return np.array(ratios)


def plain_gradient(masks, theta, w, total, slope, predictions, baseline):
    """``sum_i <dL/df_i, sum_t w_t s_tj (F_ti - b_ij)> / W`` in arrays of shape (T, n, C, M)."""
    theta = inside(theta)
    s = np.where(masks, 1.0 / theta, -1.0 / (1.0 - theta))[:, None, None, :]
    F = predictions[:, :, :, None]
    w = w[:, None, None, None]
    if baseline == "optimal":
        b = (w**2 * s**2 * F).sum(axis=0) / (w**2 * s**2).sum(axis=0)
    elif baseline == "weighted":
        b = (w * s**2 * F).sum(axis=0) / (w * s**2).sum(axis=0)
    elif baseline == "paper":
        b = (s**2 * F).sum(axis=0) / (s**2).sum(axis=0)
    else:
        b = np.zeros((*predictions.shape[1:], 1))
    of_samples = (w * s * (F - b)).sum(axis=0) / total
    return (slope[:, :, None] * of_samples).sum(axis=(0, 1))


def inside(theta):
    return np.clip(theta, EDGE, 1.0 - EDGE)


def some_masks(rng, theta_q, n_masks):
    """Masks of which all hold feature 0 and none holds feature 1."""
    masks = rng.random((n_masks, len(theta_q))) < theta_q
    masks[:, 0], masks[:, 1] = True, False
    return masks


# Theta, and the theta of the proposal.
THETAS = {
    "inside": (
        [0.3, 0.6, 0.2, 0.8, 0.5, 0.45, 0.7],
        [0.5, 0.4, 0.35, 0.55, 0.6, 0.3, 0.5],
    ),
    "at the edges": (
        [1.0, 0.0, 0.0, 1.0, 0.5, 0.45, 0.7],
        [0.9, 0.2, 0.3, 0.6, 0.6, 0.3, 0.5],
    ),
    # Feature 0, which all masks hold, at 0; feature 1, which none holds, at 1.
    "at the other edges": (
        [0.0, 1.0, 0.3, 0.6, 1.0, 0.0, 0.2],
        [0.0, 1.0, 0.35, 0.55, 0.7, 0.3, 0.5],
    ),
    "next to the edges": (
        [1.0 - 1e-5, 1e-5, 1e-4, 0.6, 1.0 - 1e-4, 1e-3, 0.2],
        [0.9, 0.2, 0.3, 0.55, 0.7, 0.3, 0.5],
    ),
}


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("self_normalize", [True, False], ids=["self-normalised", "over T"])
@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("theta, theta_q", THETAS.values(), ids=THETAS.keys())
def test_cheap_form_is_the_plain_formula(theta, theta_q, kind, baseline, self_normalize, sparse):
    rng = np.random.default_rng(0)
    theta, theta_q = np.array(theta), np.array(theta_q)
    truth = make_truth(kind, 3, seed=1, n_samples=5)
    predictions = truth.predictions[rng.integers(0, 8, 40)]
    predictions = predictions + 0.01 * rng.normal(size=predictions.shape)
    masks = some_masks(rng, theta_q, 40)
    family = Bernoulli(7)

    w = plain_weights(masks, theta, theta_q)
    # These masks hold features against their law. A factor that goes into the proposal as well
    # makes the weights 0.8 on average, with which shares stay below 1 where W is T.
    factor = 0.8 / w.mean()
    w = factor * w
    assert np.ptp(w) > 1.0  # the weights matter
    total = w.sum() if self_normalize else len(w)
    f = np.einsum("t,tnc->nc", w, predictions) / total
    slope = truth.loss.gradient(truth.targets, f, truth.sample_weight)
    expected = plain_gradient(masks, theta, w, total, slope, predictions, baseline)
    assert (np.abs(expected[2:]) > 1e-4).any()

    given_masks = csr_array(masks, dtype=float) if sparse else masks
    log_q = family.log_prob(given_masks, theta_q) - np.log(factor)
    weights = importance_weights(
        family.log_prob(given_masks, theta) - log_q, self_normalize=self_normalize
    )
    output = ensemble_output(weights, predictions)
    np.testing.assert_allclose(output, f, rtol=1e-10, atol=1e-12)
    costs = model_costs(
        truth.loss.gradient(truth.targets, output, truth.sample_weight), predictions
    )
    gradient = score_gradient(family, given_masks, theta, weights, costs, baseline)
    assert gradient.shape == (7,)
    bound = 1e-10 * size_of_terms(masks, theta, weights, costs)
    if baseline == "optimal":
        bound += rounding_of_squares(masks, theta, weights, costs)
    np.testing.assert_array_less(np.abs(gradient - expected), bound)


def size_of_terms(masks, theta, weights, costs):
    """What the rounding of each entry is relative to.

    A gradient is a sum of terms ``w s c``. Where the score of a feature that is not held is as
    large as 1e6, it multiplies a difference of two sums of weights, each with its rounding.
    """
    theta = inside(theta)
    s = np.where(masks, 1.0 / theta, -1.0 / (1.0 - theta))
    terms = weights @ np.abs(s) + 1e-5 / (1.0 - theta) * weights.sum()
    return terms * np.abs(costs).max()


def rounding_of_squares(masks, theta, weights, costs):
    """What rounding does to the best baseline, and through it to the gradient.

    Squared weights of masks that do not hold a feature are a difference of two sums too, and their
    factor is the square of the score: at theta = 1, 1e12 times the rounding of a sum.
    """
    theta = inside(theta)
    s = np.where(masks, 1.0 / theta, -1.0 / (1.0 - theta))
    squares = weights**2
    of_rest = 1e-15 * squares.sum() / (1.0 - theta) ** 2
    relative = of_rest / (squares @ s**2)
    assert relative.max() < 1e-3
    return 2.0 * relative * np.abs(costs).max() * np.abs(weights @ s)


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("objective", ["ensemble", "members"])
def test_objectives_lead_to_the_plain_formula(objective, baseline):
    """Of members, the prediction of a model is its loss and dL/df is 1."""
    rng = np.random.default_rng(2)
    theta, theta_q = rng.uniform(0.2, 0.8, (2, 6))
    truth = make_truth("four classes", 3, seed=3, n_samples=8)
    predictions = truth.predictions[rng.integers(0, 8, 30)]
    masks = rng.random((30, 6)) < theta_q
    w = plain_weights(masks, theta, theta_q)
    data = truth.targets, [Votes(w / w.sum(), predictions)], truth.sample_weight
    [costs] = OBJECTIVES[objective].costs(truth.loss, *data)
    value = OBJECTIVES[objective].value(truth.loss, *data)
    if objective == "members":
        members = [truth.loss.value(truth.targets, f, truth.sample_weight) for f in predictions]
        outputs, slope = np.reshape(members, (30, 1, 1)), np.ones((1, 1))
        assert value == pytest.approx(np.average(members, weights=w))
    else:
        f = np.average(predictions, axis=0, weights=w)
        outputs, slope = predictions, truth.loss.gradient(truth.targets, f, truth.sample_weight)
        assert value == pytest.approx(truth.loss.value(truth.targets, f, truth.sample_weight))
    expected = plain_gradient(masks, theta, w, w.sum(), slope, outputs, baseline)
    gradient = score_gradient(Bernoulli(6), masks, theta, w / w.sum(), costs, baseline)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("baseline", ["optimal", "weighted", "paper"])
@pytest.mark.parametrize("theta_j", [0.5, 1.0 - 1e-9, 1.0, 1e-9, 0.0])
def test_a_feature_that_all_or_no_masks_hold_shows_no_contrast(baseline, theta_j):
    """With a baseline its gradient is 0, or the rounding of 0, however large the score is."""
    rng = np.random.default_rng(4)
    theta = np.array([theta_j, theta_j, 0.4, 0.6])
    masks = some_masks(rng, np.full(4, 0.5), 50)
    weights, costs = rng.dirichlet(np.ones(50)), 1.0 + rng.normal(size=50)
    for given_masks in (masks, csr_array(masks, dtype=float)):
        gradient = score_gradient(Bernoulli(4), given_masks, theta, weights, costs, baseline)
        if baseline == "weighted":
            assert (np.abs(gradient[:2]) * np.clip([theta_j, 1.0 - theta_j], EDGE, 1)).max() < 1e-12
        assert np.isfinite(gradient).all()
        assert (np.abs(gradient[2:]) > 1e-4).all()


@pytest.mark.parametrize("baseline", ["optimal", "weighted", "paper"])
def test_a_constant_cost_has_no_gradient(baseline):
    rng = np.random.default_rng(5)
    theta = rng.uniform(0.2, 0.8, 5)
    masks, weights = rng.random((20, 5)) < theta, rng.dirichlet(np.ones(20))
    gradient = score_gradient(Bernoulli(5), masks, theta, weights, np.full(20, 7.0), baseline)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


@pytest.mark.parametrize("self_normalize", [True, False])
def test_votes_that_agree_cost_the_same_whatever_the_rounding_of_their_sum(self_normalize):
    """Without a baseline, their gradient is that of the weights alone, in every round."""
    loss, unanimous = CrossEntropy().for_ensemble(30), np.zeros((30, 4, 3))
    unanimous[:, :, 1] = 1.0
    sums = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        theta = rng.uniform(0.2, 0.8, 5)
        masks = rng.random((30, 5)) < theta
        log_w = rng.normal(scale=0.3, size=30)
        if not self_normalize:
            # Their mean is 1 but for the rounding.
            log_w -= np.log(np.exp(log_w).mean())
        weights = importance_weights(log_w, self_normalize=self_normalize)
        sums.append(weights.sum())
        votes = [Votes(weights, unanimous)]
        [costs] = OBJECTIVES["ensemble"].costs(loss, unanimous[0], votes, np.ones(4))
        np.testing.assert_allclose(costs, -1.0, rtol=1e-12)
        score = np.where(masks, 1.0 / theta, -1.0 / (1.0 - theta))
        gradient = score_gradient(Bernoulli(5), masks, theta, weights, costs, "none")
        np.testing.assert_allclose(gradient, -weights @ score, rtol=1e-9, atol=1e-12)
    assert min(sums) <= 1.0 < max(sums)


@pytest.mark.parametrize("baseline", BASELINES)
def test_gradient_is_linear_in_the_costs(baseline):
    rng = np.random.default_rng(6)
    theta = rng.uniform(0.2, 0.8, 5)
    masks, weights = rng.random((20, 5)) < theta, rng.dirichlet(np.ones(20))
    one, other = rng.normal(size=(2, 20))
    gradient = partial(score_gradient, Bernoulli(5), masks, theta, weights)
    np.testing.assert_allclose(
        gradient(2.0 * one - 3.0 * other, baseline),
        2.0 * gradient(one, baseline) - 3.0 * gradient(other, baseline),
        rtol=1e-9,
        atol=1e-11,
    )


class Gated(Chain):
    """Features other than the first are drawn only together with it: without it, no score."""

    def score(self, masks, theta):
        gate = masks[:, [0]] | (np.arange(self.n_columns) == 0)
        return np.where(gate, np.where(masks, 1.0 / theta, -1.0 / (1.0 - theta)), 0.0)


@pytest.mark.parametrize("baseline", BASELINES)
def test_a_parameter_that_plays_no_part_in_any_mask_has_no_gradient(baseline):
    masks, theta = np.zeros((6, 3), dtype=bool), np.array([0.1, 0.4, 0.6])
    weights, costs = np.full(6, 1 / 6), np.arange(6.0)
    gradient = score_gradient(Gated(3), masks, theta, weights, costs, baseline)
    np.testing.assert_array_equal(gradient[1:], 0.0)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("baseline", BASELINES)
def test_groups_have_one_gradient_each(baseline):
    """Masks of groups are masks of coins; columns do not matter to the gradient."""
    rng = np.random.default_rng(7)
    theta = np.array([0.3, 0.6, 0.5])
    masks, weights = rng.random((20, 3)) < theta, rng.dirichlet(np.ones(20))
    costs = rng.normal(size=20)
    grouped = GroupedBernoulli(np.array([0, 0, 1, 2, 2, 2]))
    np.testing.assert_array_equal(
        score_gradient(grouped, masks, theta, weights, costs, baseline),
        score_gradient(Bernoulli(3), masks, theta, weights, costs, baseline),
    )


def test_the_weighted_baseline_is_the_default():
    rng = np.random.default_rng(8)
    theta = rng.uniform(0.2, 0.8, 4)
    masks, weights = rng.random((20, 4)) < theta, rng.dirichlet(np.ones(20))
    costs = rng.normal(size=20)
    default = score_gradient(Bernoulli(4), masks, theta, weights, costs)
    gradients = {
        baseline: score_gradient(Bernoulli(4), masks, theta, weights, costs, baseline)
        for baseline in BASELINES
    }
    np.testing.assert_array_equal(default, gradients["weighted"])
    for other in ("optimal", "paper", "none"):
        assert np.abs(default - gradients[other]).max() > 1e-3


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_costs_contract_samples_and_outputs(n_outputs):
    rng = np.random.default_rng(9)
    predictions, slope = rng.normal(size=(6, 5, n_outputs)), rng.normal(size=(5, n_outputs))
    expected = [
        sum(slope[i, c] * predictions[t, i, c] for i in range(5) for c in range(n_outputs))
        for t in range(6)
    ]
    np.testing.assert_allclose(model_costs(slope, predictions), expected, rtol=1e-12)
    # Predictions of a window are merged and may lie in memory in any order.
    strided = np.asfortranarray(predictions)
    np.testing.assert_allclose(model_costs(np.asfortranarray(slope), strided), expected)


def test_output_is_the_weighted_sum_of_predictions():
    rng = np.random.default_rng(10)
    predictions, weights = rng.normal(size=(6, 5, 3)), rng.uniform(size=6)
    expected = sum(w * f for w, f in zip(weights, predictions, strict=True))
    np.testing.assert_allclose(ensemble_output(weights, predictions), expected, rtol=1e-12)

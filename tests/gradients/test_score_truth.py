"""The estimate of the gradient against the exact gradient, over all subsets.

Which estimator has which property:

* dL/df fixed, no baseline, W = T: unbiased, at the proposal and away from it;
* what is shipped (f inside dL/df, a baseline, self-normalised weights): consistent, with a bias
  that falls like 1 / T;
* a baseline: less variance.
"""

from itertools import product
from math import factorial

import numpy as np
import pytest
from scipy.sparse import csr_array

from oracle import (
    all_masks,
    derivative_of_mean,
    finite_differences,
    index_of,
    make_truth,
    probabilities,
)
from randsub.distributions import Bernoulli
from randsub.gradients import (
    OBJECTIVES,
    Votes,
    ensemble_output,
    importance_weights,
    model_costs,
    score_gradient,
)

KINDS = ["regression", "two classes", "four classes", "three outputs", "two labels"]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_objective = pytest.mark.parametrize("objective", ["ensemble", "members"])
every_place = pytest.mark.parametrize("away", [False, True], ids=["at proposal", "away"])


def some_thetas(n_features: int, away: bool, seed: int = 0):
    """Theta and the theta that the masks are drawn from."""
    rng = np.random.default_rng(seed)
    theta = rng.uniform(0.25, 0.75, n_features)
    shift = rng.uniform(0.08, 0.15, n_features) * rng.choice([-1.0, 1.0], n_features)
    return theta, theta + shift if away else theta


def weights_of(masks, theta, theta_q, self_normalize):
    family = Bernoulli(len(theta))
    log_w = family.log_prob(masks, theta) - family.log_prob(masks, theta_q)
    return importance_weights(log_w, self_normalize=self_normalize)


def shipped(truth, rows, theta, theta_q, objective, baseline="weighted", self_normalize=True):
    """Output and gradient from the masks in some rows of the table."""
    masks = csr_array(all_masks(truth.n_features)[rows], dtype=float)
    weights = weights_of(masks, theta, theta_q, self_normalize)
    predictions = truth.predictions[rows]
    [costs] = OBJECTIVES[objective].costs(
        truth.loss, truth.targets, [Votes(weights, predictions)], truth.sample_weight
    )
    gradient = score_gradient(Bernoulli(len(theta)), masks, theta, weights, costs, baseline)
    return ensemble_output(weights, predictions), gradient


def unbiased(truth, rows, theta, theta_q, objective):
    """The gradient with dL/df at the infinite ensemble, no baseline, and W = T."""
    masks = all_masks(truth.n_features)[rows]
    weights = weights_of(masks, theta, theta_q, self_normalize=False)
    if objective == "members":
        costs = truth.loss.of_members(truth.targets, truth.predictions[rows], truth.sample_weight)
    else:
        slope = truth.loss.gradient(truth.targets, truth.output(theta), truth.sample_weight)
        costs = model_costs(slope, truth.predictions[rows])
    return score_gradient(Bernoulli(len(theta)), masks, theta, weights, costs, "none")


@every_kind
@every_objective
@pytest.mark.parametrize("n_features", [3, 8])
def test_exact_gradient_is_the_derivative_of_the_exact_objective(kind, objective, n_features):
    truth = make_truth(kind, n_features, seed=1)
    theta, _ = some_thetas(n_features, away=False)
    slopes = finite_differences(lambda at: truth.objective(at, objective), theta)
    gradient = truth.gradient(theta, objective)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-8)
    assert (np.abs(gradient) > 1e-3).any()


@every_kind
def test_exact_objectives_differ(kind):
    """Jensen: the ensemble is at least as good as its members, so neither stands for the other."""
    truth = make_truth(kind, 5, seed=1)
    theta, _ = some_thetas(5, away=False)
    assert truth.objective(theta, "members") > truth.objective(theta, "ensemble") + 0.01
    gap = truth.gradient(theta, "members") - truth.gradient(theta, "ensemble")
    assert np.abs(gap).max() > 0.01


@every_kind
@every_objective
@every_place
def test_one_mask_is_unbiased(kind, objective, away):
    """Summed over all masks with their probability, one-mask estimates are the exact values."""
    truth = make_truth(kind, 5, seed=2)
    theta, theta_q = some_thetas(5, away)
    q = probabilities(theta_q)
    gradient = sum(
        q[row] * unbiased(truth, [row], theta, theta_q, objective) for row in range(len(q))
    )
    np.testing.assert_allclose(gradient, truth.gradient(theta, objective), rtol=0, atol=1e-12)
    output = sum(
        q[row]
        * ensemble_output(
            weights_of(all_masks(5)[[row]], theta, theta_q, False), truth.predictions[[row]]
        )
        for row in range(len(q))
    )
    np.testing.assert_allclose(output, truth.output(theta), rtol=0, atol=1e-12)


@every_objective
@every_place
def test_several_masks_are_unbiased(objective, away):
    truth = make_truth("regression", 3, seed=3)
    theta, theta_q = some_thetas(3, away)
    q = probabilities(theta_q)
    gradient = sum(
        q[[*rows]].prod() * unbiased(truth, [*rows], theta, theta_q, objective)
        for rows in product(range(8), repeat=3)
    )
    np.testing.assert_allclose(gradient, truth.gradient(theta, objective), rtol=0, atol=1e-12)


@every_kind
@every_objective
@every_place
def test_many_drawn_masks_are_unbiased(kind, objective, away):
    """Within the exact standard error of the mean, which is small beside the gradient."""
    n_masks = 150_000
    truth = make_truth(kind, 6, seed=4)
    theta, theta_q = some_thetas(6, away)
    masks = Bernoulli(6).sample(theta_q, n_masks, np.random.default_rng(5))
    estimate = unbiased(truth, index_of(masks), theta, theta_q, objective)
    exact = truth.gradient(theta, objective)

    q, ratio = probabilities(theta_q), probabilities(theta) / probabilities(theta_q)
    score = np.where(all_masks(6), 1.0 / theta, -1.0 / (1.0 - theta))
    terms = (ratio * truth.costs(theta, objective))[:, np.newaxis] * score
    error = np.sqrt((q @ terms**2 - (q @ terms) ** 2) / n_masks)
    np.testing.assert_allclose(q @ terms, exact, atol=1e-12)
    assert (np.abs(estimate - exact) < 4.5 * error).all()
    assert (np.abs(exact) > 10.0 * error).any()


@every_kind
@every_objective
@every_place
@pytest.mark.parametrize("self_normalize", [True, False], ids=["self-normalised", "over T"])
def test_output_and_gradient_converge_like_one_over_root_t(kind, objective, away, self_normalize):
    truth = make_truth(kind, 8, seed=6, n_samples=4)
    theta, theta_q = some_thetas(8, away)
    exact = truth.output(theta), truth.gradient(theta, objective)
    rng = np.random.default_rng(7)
    errors = []
    for n_masks in (100, 500, 2500):
        squares = np.zeros(2)
        for _ in range(40):
            rows = index_of(Bernoulli(8).sample(theta_q, n_masks, rng))
            found = shipped(truth, rows, theta, theta_q, objective, self_normalize=self_normalize)
            squares += [np.sum((a - b) ** 2) for a, b in zip(found, exact, strict=True)]
        errors.append(np.sqrt(squares / 40))
    errors = np.array(errors)
    scaled = errors * np.sqrt([[100], [500], [2500]])
    assert (scaled.max(axis=0) < 1.5 * scaled.min(axis=0)).all()
    for error, true in zip(errors[-1], exact, strict=True):
        assert error < 0.15 * np.linalg.norm(true)


def counts_of(total: int, n_cells: int):
    """All ways of putting ``total`` masks into cells."""
    if n_cells == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in counts_of(total - first, n_cells - 1):
            yield (first, *rest)


@every_objective
@every_place
@pytest.mark.parametrize("baseline", ["optimal", "weighted", "paper", "none"])
def test_bias_of_the_shipped_gradient_falls_like_one_over_t(objective, away, baseline):
    """Its exact expectation, by the multinomial law of how often each of four masks is drawn."""
    truth = make_truth("two classes", 2, seed=8)
    theta, theta_q = some_thetas(2, away)
    q, exact = probabilities(theta_q), truth.gradient(theta, objective)
    bias = []
    for n_masks in (5, 10, 20):
        mean = np.zeros(2)
        for counts in counts_of(n_masks, 4):
            chance = factorial(n_masks) * np.prod(
                [q_row**n / factorial(n) for q_row, n in zip(q, counts, strict=True)]
            )
            rows = np.repeat(np.arange(4), counts)
            mean += chance * shipped(truth, rows, theta, theta_q, objective, baseline)[1]
        bias.append(np.linalg.norm(mean - exact))
    if objective == "members" and baseline == "none" and not away:
        assert max(bias) < 1e-12  # nothing is plugged in
        return
    assert bias[0] > 1e-4
    assert bias[1] < 0.6 * bias[0]
    assert bias[2] < 0.6 * bias[1]
    assert bias[2] < 0.2 * np.linalg.norm(exact)


def some_draws(n_features, theta_q, n_draws=150, n_masks=50):
    """Rows of the table for several rounds of masks."""
    rng = np.random.default_rng(10)
    return [index_of(Bernoulli(n_features).sample(theta_q, n_masks, rng)) for _ in range(n_draws)]


@every_kind
@every_objective
@every_place
@pytest.mark.parametrize("baseline", ["optimal", "weighted", "paper"])
def test_a_baseline_lowers_the_variance(kind, objective, away, baseline):
    """Of the gradient that is shipped, several times over where costs are far from 0."""
    truth = make_truth(kind, 8, seed=9)
    theta, theta_q = some_thetas(8, away)
    draws = some_draws(8, theta_q)

    def variance(which):
        found = [shipped(truth, rows, theta, theta_q, objective, which)[1] for rows in draws]
        return np.var(found, axis=0)

    assert variance(baseline).sum() < 0.5 * variance("none").sum()


@every_kind
@every_objective
@pytest.mark.parametrize("baseline", ["optimal", "weighted", "paper"])
def test_with_fixed_slope_at_the_proposal_a_baseline_never_costs(kind, objective, baseline):
    """There it is the best constant for each feature, even where costs are near 0."""
    truth = make_truth(kind, 5, seed=9)
    theta, _ = some_thetas(5, away=False)
    draws = some_draws(5, theta)
    costs, weights = truth.costs(theta, objective), np.full(50, 1 / 50)

    def variance(which):
        return np.var(
            [
                score_gradient(Bernoulli(5), all_masks(5)[rows], theta, weights, costs[rows], which)
                for rows in draws
            ],
            axis=0,
        )

    assert variance(baseline).sum() < 0.9 * variance("none").sum()


@every_kind
@every_objective
def test_away_from_the_proposal_the_weighted_baseline_is_the_better_one(kind, objective):
    truth = make_truth(kind, 5, seed=9)
    theta, theta_q = some_thetas(5, away=True)
    draws = some_draws(5, theta_q)
    weighted, paper = (
        np.var([shipped(truth, rows, theta, theta_q, objective, which)[1] for rows in draws], 0)
        for which in ("weighted", "paper")
    )
    assert weighted.sum() < 0.9 * paper.sum()


def test_derivative_of_a_mean_needs_no_score():
    """The oracle of the oracle: a linear function of the mask has its coefficients as gradient."""
    theta, slope = np.array([0.2, 0.5, 0.9]), np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(derivative_of_mean(all_masks(3) @ slope, theta), slope)


def far_thetas(n_features: int, seed: int):
    """Theta, and a theta of the proposal that is far from it: weights differ a great deal."""
    rng = np.random.default_rng(seed)
    theta_q = rng.uniform(0.35, 0.65, n_features)
    return theta_q + rng.choice([-0.25, 0.25], n_features), theta_q


def best_constants(truth, theta, theta_q, objective):
    """For each baseline its value with all subsets enumerated, and the variance that it leaves.

    Of one term ``w s (c - b)``, a mask drawn from the proposal; (M,) each.
    """
    q, p = probabilities(theta_q), probabilities(theta)
    w, c = p / q, truth.costs(theta, objective)
    s = np.where(all_masks(len(theta)), 1.0 / theta, -1.0 / (1.0 - theta))
    found = {}
    for name, v in {"optimal": w**2, "weighted": w, "paper": np.ones_like(w)}.items():
        found[name] = (q * v * c) @ s**2 / ((q * v) @ s**2)
    found["none"] = np.zeros(len(theta))
    terms = {name: (w * (c - b[:, np.newaxis])).T * s for name, b in found.items()}
    return found, {name: q @ t**2 - (q @ t) ** 2 for name, t in terms.items()}


@every_kind
@every_objective
@pytest.mark.parametrize("seed", range(3))
def test_no_constant_leaves_less_variance_than_the_optimal_baseline(kind, objective, seed):
    """By enumeration: the formula that the docstring gives is the minimum."""
    truth = make_truth(kind, 5, seed=11 + seed)
    theta, theta_q = far_thetas(5, seed)
    constants, variances = best_constants(truth, theta, theta_q, objective)
    for other in ("weighted", "paper", "none"):
        assert (variances["optimal"] <= variances[other] * (1.0 + 1e-12)).all()
        assert variances["optimal"].sum() < 0.999 * variances[other].sum()
    # The variance is a parabola in b whose vertex is there.
    q, s = probabilities(theta_q), np.where(all_masks(5), 1.0 / theta, -1.0 / (1.0 - theta))
    w, c = probabilities(theta) / q, truth.costs(theta, objective)
    for shift in (-0.1, 0.1):
        b = constants["optimal"] + shift * np.ptp(c)
        terms = w[:, np.newaxis] * s * (c[:, np.newaxis] - b)
        assert (q @ terms**2 - (q @ terms) ** 2 > variances["optimal"]).all()


@every_kind
@every_objective
def test_with_fixed_slope_the_optimal_baseline_varies_least(kind, objective):
    """The estimate itself, with its baseline from the same masks, as a weighted sum (W = T).

    Its variance over 600 rounds of 200 masks is that of the best constant, within a fifth; and
    not larger than with any other baseline, within 2 per cent (the rounds are the same for all).
    """
    truth = make_truth(kind, 4, seed=12)
    theta, theta_q = far_thetas(4, seed=1)
    costs = truth.costs(theta, objective)
    draws = some_draws(4, theta_q, n_draws=600, n_masks=200)

    def variance(which):
        found = []
        for rows in draws:
            masks = all_masks(4)[rows]
            weights = weights_of(masks, theta, theta_q, self_normalize=False)
            found.append(score_gradient(Bernoulli(4), masks, theta, weights, costs[rows], which))
        return np.var(found, axis=0)

    optimal = variance("optimal").sum()
    for other in ("weighted", "paper", "none"):
        assert optimal < 1.02 * variance(other).sum()
    _, exact = best_constants(truth, theta, theta_q, objective)
    np.testing.assert_allclose(optimal, exact["optimal"].sum() / 200, rtol=0.2)
    # The masks are far enough from theta for the baselines to differ.
    assert exact["optimal"].sum() < 0.95 * exact["paper"].sum()
    assert optimal < variance("paper").sum()

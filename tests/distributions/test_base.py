"""What every family of distributions keeps, the ones we ship and one that a user wrote."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from oracle import Chain, all_masks, dense, finite_differences, p_value_of_law
from randsub.distributions import Bernoulli, GroupedBernoulli, SubsetDistribution
from randsub.gradients import score_gradient

FAMILIES = {
    "bernoulli": Bernoulli(5),
    "bernoulli with a floor": Bernoulli(4, floor=0.05),
    "grouped": GroupedBernoulli(np.array([0, 2, 1, 1, 3, 0, 1])),
    "written by a user": Chain(4),
}
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


def some_theta(family: SubsetDistribution, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.1, 0.9, family.n_parameters)


@every_family
def test_probabilities_of_all_masks_add_up_to_one(family):
    masks = all_masks(family.n_parameters)
    for seed in range(5):
        p = np.exp(family.log_prob(masks, some_theta(family, seed)))
        np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-12)


@every_family
def test_masks_are_drawn_with_their_probability(family):
    theta = some_theta(family, 1)
    masks = family.sample(theta, 40_000, np.random.default_rng(2))
    assert masks.shape == (40_000, family.n_parameters)
    p = np.exp(family.log_prob(all_masks(family.n_parameters), theta))
    assert p_value_of_law(masks, p) > 1e-4
    # The same masks contradict the law of a theta nearby, so agreement means something.
    nearby = np.exp(family.log_prob(all_masks(family.n_parameters), theta + 0.03))
    assert p_value_of_law(masks, nearby) < 1e-6


@every_family
def test_draws_follow_from_the_generator_alone(family):
    theta = some_theta(family)
    draws = [family.sample(theta, 50, np.random.default_rng(seed)) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(dense(draws[0]), dense(draws[1]))
    assert (dense(draws[0]) != dense(draws[2])).any()


@every_family
def test_score_is_the_derivative_of_the_log_probability(family):
    theta = some_theta(family, 3)
    masks = all_masks(family.n_parameters)
    score = family.score(masks, theta)
    assert score.shape == masks.shape
    for mask, row in zip(masks, score, strict=True):
        slopes = finite_differences(partial(_log_prob_of, family, mask), theta)
        np.testing.assert_allclose(row, slopes, rtol=1e-7, atol=1e-7)


def _log_prob_of(family, mask, theta):
    return family.log_prob(mask[np.newaxis], theta)[0]


@every_family
def test_dense_and_sparse_masks_give_the_same(family):
    rng = np.random.default_rng(5)
    theta = some_theta(family, 5)
    masks = dense(family.sample(theta, 60, rng))
    sparse = csr_array(masks, dtype=float)
    coefficients = rng.normal(size=(2, 60))
    np.testing.assert_allclose(
        family.log_prob(sparse, theta), family.log_prob(masks, theta), rtol=1e-13
    )
    np.testing.assert_array_equal(family.score(sparse, theta), family.score(masks, theta))
    for of_sparse, of_dense in zip(
        family.score_sums(sparse, theta, coefficients),
        family.score_sums(masks, theta, coefficients),
        strict=True,
    ):
        np.testing.assert_allclose(of_sparse, of_dense, rtol=1e-12, atol=1e-12)


@every_family
@pytest.mark.parametrize("kind", [np.asarray, partial(csr_array, dtype=float)])
def test_score_sums_are_sums_of_the_score(family, kind):
    rng = np.random.default_rng(6)
    theta = some_theta(family, 6)
    masks = dense(family.sample(theta, 80, rng))
    coefficients = rng.normal(size=(3, 80))
    first, second = family.score_sums(kind(masks), theta, coefficients)
    expected = SubsetDistribution.score_sums(family, masks, theta, coefficients)
    np.testing.assert_allclose(first, expected[0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(second, expected[1], rtol=1e-11, atol=1e-11)
    # And the default is what it says, written out.
    score = family.score(masks, theta)
    for k, j in np.ndindex(3, family.n_parameters):
        plain = sum(coefficients[k, t] * score[t, j] for t in range(80))
        squares = sum(coefficients[k, t] * score[t, j] ** 2 for t in range(80))
        np.testing.assert_allclose([expected[0][k, j], expected[1][k, j]], [plain, squares])


@every_family
def test_projection_is_idempotent_and_keeps_the_shape(family):
    theta = np.random.default_rng(7).normal(0.5, 1.0, size=(2, 3, family.n_parameters))
    once = family.project(theta)
    assert once.shape == theta.shape
    assert ((once >= 0.0) & (once <= 1.0)).all()
    np.testing.assert_array_equal(family.project(once), once)
    inside = some_theta(family)
    np.testing.assert_array_equal(family.project(inside), inside)


# The default of expected_size is for families in which theta holds the marginal probabilities.
@pytest.mark.parametrize("family", [FAMILIES["bernoulli"], FAMILIES["grouped"]])
def test_expected_size_is_the_mean_number_of_columns(family):
    theta = some_theta(family, 8)
    p = np.exp(family.log_prob(all_masks(family.n_parameters), theta))
    sizes = family.expand(all_masks(family.n_parameters)).sum(axis=1)
    np.testing.assert_allclose(family.expected_size(theta), p @ sizes, rtol=1e-12)


def test_a_family_needs_all_abstract_methods():
    class Half(SubsetDistribution):
        def sample(self, theta, n_masks, rng):
            raise NotImplementedError

    with pytest.raises(TypeError, match="abstract"):
        Half()


def test_gradient_for_a_family_written_by_a_user():
    """Summed over all masks, the one-sample estimate is the derivative of the expectation."""
    family = Chain(4)
    theta, theta_q = some_theta(family, 9), some_theta(family, 10)
    masks = all_masks(4)
    costs = np.random.default_rng(11).normal(size=len(masks))

    def mean_cost(at):
        return float(np.exp(family.log_prob(masks, at)) @ costs)

    expected = finite_differences(mean_cost, theta)
    for at in (theta, theta_q):
        q = np.exp(family.log_prob(masks, at))
        w = np.exp(family.log_prob(masks, theta)) / q
        estimates = [
            score_gradient(family, masks[[r]], theta, w[[r]], costs[[r]], "none")
            for r in range(len(masks))
        ]
        np.testing.assert_allclose(q @ np.array(estimates), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("baseline", ["optimal", "weighted", "paper"])
def test_baselines_for_a_family_written_by_a_user(baseline):
    family = Chain(4)
    rng = np.random.default_rng(12)
    theta = some_theta(family, 12)
    masks = family.sample(theta, 30, rng)
    costs, weights = rng.normal(size=30), rng.dirichlet(np.ones(30))
    score = family.score(masks, theta)
    expected = []
    for j in range(4):
        power = {"optimal": 2, "weighted": 1, "paper": 0}[baseline]
        s, v = score[:, j], weights**power
        b = np.sum(v * s**2 * costs) / np.sum(v * s**2)
        expected.append(np.sum(weights * s * (costs - b)))
    gradient = score_gradient(family, masks, theta, weights, costs, baseline)
    np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-12)


@every_family
@pytest.mark.parametrize("kind", [np.asarray, partial(csr_array, dtype=float)])
def test_several_thetas_at_once(family, kind):
    masks = kind(dense(family.sample(some_theta(family), 30, np.random.default_rng(13))))
    thetas = np.array([some_theta(family, seed) for seed in range(4)])
    found = family.log_probs(masks, thetas)
    assert found.shape == (4, 30)
    expected = [family.log_prob(masks, theta) for theta in thetas]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert np.ptp(found, axis=0).min() > 1e-3  # each row has its own theta
    np.testing.assert_array_equal(family.log_probs(masks[:0], thetas), np.empty((4, 0)))


def test_the_default_asks_for_one_theta_at_a_time():
    asked = []

    class Asked(Chain):
        def log_prob(self, masks, theta):
            asked.append(theta)
            return super().log_prob(masks, theta)

    family = Asked(4)
    thetas = np.array([some_theta(family, seed) for seed in range(3)])
    found = family.log_probs(all_masks(4), thetas)
    np.testing.assert_array_equal(asked, thetas)
    np.testing.assert_array_equal(found[2], Chain(4).log_prob(all_masks(4), thetas[2]))

"""What every family of distributions keeps, the ones we ship and one that a user wrote."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix

from oracle import Chain, all_masks, finite_differences, p_value_of_law
from randsub.distributions import (
    Bernoulli,
    GroupedBernoulli,
    SubsetDistribution,
    as_dense,
    as_sparse,
)
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
    assert masks.dtype == bool
    p = np.exp(family.log_prob(all_masks(family.n_parameters), theta))
    assert p_value_of_law(masks, p) > 1e-4
    # The same masks contradict the law of a theta nearby, so agreement means something.
    nearby = np.exp(family.log_prob(all_masks(family.n_parameters), theta + 0.03))
    assert p_value_of_law(masks, nearby) < 1e-6


@every_family
def test_draws_follow_from_the_generator_alone(family):
    theta = some_theta(family)
    draws = [family.sample(theta, 50, np.random.default_rng(seed)) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()


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
    masks = family.sample(theta, 60, rng)
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
    masks = family.sample(theta, 80, rng)
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
    masks = kind(family.sample(some_theta(family), 30, np.random.default_rng(13)))
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


# -- masks in sparse rows ------------------------------------------------------------------------


def some_masks(shape=(7, 5)):
    masks = np.random.default_rng(14).random(shape) < 0.4
    masks[0], masks[-1] = False, True
    return masks


def with_wide_indices(masks):
    rows = csr_array(masks, dtype=float)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def with_explicit_zeros(masks):
    rows = csr_array(np.ones(masks.shape))
    rows.data[:] = masks.ravel()
    assert rows.nnz == masks.size
    return rows


MASK_KINDS = {
    "bool": np.asarray,
    "numbers": lambda masks: masks.astype(float),
    "fortran": np.asfortranarray,
    "strided": lambda masks: np.repeat(masks, 2, axis=1)[:, ::2],
    "csr float": partial(csr_array, dtype=float),
    "csr bool": csr_array,
    "csr single precision": partial(csr_array, dtype=np.float32),
    "csr_matrix": partial(csr_matrix, dtype=float),
    "csc": partial(csc_array, dtype=float),
    "wide indices": with_wide_indices,
    "explicit zeros": with_explicit_zeros,
}
SHAPES = {
    "some": some_masks(),
    "one": some_masks((2, 1)),
    "nothing held": np.zeros((4, 5), dtype=bool),
    "everything held": np.ones((4, 5), dtype=bool),
    "no masks": np.zeros((0, 5), dtype=bool),
}


@pytest.mark.parametrize("kind", MASK_KINDS.values(), ids=MASK_KINDS)
@pytest.mark.parametrize("masks", SHAPES.values(), ids=SHAPES)
def test_masks_in_sparse_rows(kind, masks):
    given = kind(masks)
    rows = as_sparse(given)
    assert type(rows) is csr_array
    assert rows.shape == masks.shape
    # What the kernels are compiled for.
    assert (rows.data.dtype, rows.indices.dtype, rows.indptr.dtype) == (float, np.int32, np.int32)
    np.testing.assert_array_equal(rows.toarray(), masks.astype(float))
    np.testing.assert_array_equal(as_dense(given) != 0, masks)
    expected = csr_array(masks, dtype=float)
    if kind is not with_explicit_zeros:
        np.testing.assert_array_equal(rows.indptr, expected.indptr)
        np.testing.assert_array_equal(rows.indices, expected.indices)
        np.testing.assert_array_equal(rows.data, np.ones(masks.sum()))
    # It is a matrix like any other.
    rows.check_format(full_check=True)
    np.testing.assert_array_equal((rows @ np.ones((masks.shape[1], 1)))[:, 0], masks.sum(axis=1))
    # Whichever way they came, they mean the same.
    family, theta = Bernoulli(masks.shape[1]), np.linspace(0.2, 0.8, masks.shape[1])
    coefficients = np.random.default_rng(15).normal(size=(2, len(masks)))
    np.testing.assert_allclose(
        family.log_prob(given, theta), family.log_prob(masks, theta), rtol=1e-14
    )
    np.testing.assert_allclose(
        family.score_sums(given, theta, coefficients),
        family.score_sums(masks, theta, coefficients),
        rtol=1e-13,
    )


def test_masks_that_are_in_sparse_rows_are_not_copied():
    rows = csr_array(some_masks(), dtype=float)
    assert as_sparse(rows) is rows
    assert as_sparse(as_sparse(some_masks()[:0])).shape == (0, 5)


@pytest.mark.parametrize("kind", MASK_KINDS.values(), ids=MASK_KINDS)
def test_masks_that_were_given_stay_as_they_are(kind):
    given, before = kind(some_masks()), kind(some_masks())
    rows = as_sparse(given)
    if rows is not given:
        rows.data[:] = 5.0
    np.testing.assert_array_equal(as_dense(given), as_dense(before))

"""The network against its law: who depends on whom, how, and how much."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import average_precision_score
from sklearn.utils._param_validation import InvalidParameterError

from randsub.datasets import make_network
from randsub.datasets.simulated_network import _draw_responses, _express, draw_edges


def own_regulators(network, gene):
    return network.edges[network.edges[:, 1] == gene, 0]


# The form of the result


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_result_has_the_promised_form(data):
    n_regulators = data.draw(st.integers(1, 12))
    n_targets = data.draw(st.integers(1, 15))
    most = data.draw(st.integers(1, n_regulators))
    fewest = data.draw(st.integers(1, most))
    n_modules = data.draw(st.integers(1, n_regulators))
    fraction = data.draw(st.floats(0, 1))
    network = make_network(
        4,
        n_regulators,
        n_targets,
        n_modules=n_modules,
        regulators_per_gene=(fewest, most),
        modularity=data.draw(st.floats(0, 1)),
        regulated_fraction=fraction,
        repression=data.draw(st.floats(0, 1)),
        noise=data.draw(st.floats(0, 1)),
        random_state=data.draw(st.integers(0, 2**32 - 1)),
    )
    n_genes = n_regulators + n_targets
    assert network.expression.shape == (4, n_genes)
    assert np.isfinite(network.expression).all()
    assert len(set(network.gene_names)) == len(network.gene_names) == n_genes
    assert network.regulators.tolist() == list(range(n_regulators))
    assert set(network.modules[:n_regulators]) == set(range(n_modules))
    sizes = np.bincount(network.modules[n_regulators:], minlength=n_modules)
    assert sizes.max() - sizes.min() <= 1

    gold = network.gold
    assert gold.shape == (n_genes, n_genes)
    assert gold.dtype == np.bool_
    assert gold.sum() == len(network.edges) == len(network.signs)
    assert set(network.signs) <= {-1, 1}
    # Only regulators regulate, and only what stands after them: there is no cycle.
    assert not gold[n_regulators:].any()
    assert not np.tril(gold).any()
    counts = gold.sum(axis=0)
    assert (counts[n_regulators:] >= fewest).all()
    assert counts.max() <= most
    regulated = np.flatnonzero(counts[:n_regulators])
    assert len(regulated) == round(fraction * (n_regulators - 1))
    assert (counts[regulated] >= np.minimum(fewest, regulated)).all()


def test_a_number_of_regulators_is_met_exactly():
    network = make_network(5, 20, 60, regulators_per_gene=4, random_state=0)
    assert network.gold.sum(axis=0)[20:].tolist() == [4] * 60


def test_a_range_of_regulators_is_used_evenly():
    network = make_network(2, 20, 3000, regulators_per_gene=(2, 4), random_state=0)
    counts = np.bincount(network.gold.sum(axis=0)[20:])
    assert counts[:2].tolist() == [0, 0]
    assert stats.chisquare(counts[2:]).pvalue > 1e-3


# Who depends on whom


@pytest.mark.parametrize("regulated_fraction", [0.0, 0.7])
def test_a_gene_depends_on_its_own_regulators_and_noise_only(regulated_fraction):
    """Shuffling what is not upstream of a gene leaves it alone; shuffling a regulator does not."""
    rng = np.random.RandomState(0)
    modules = np.arange(20) % 2
    regulated = np.append(np.arange(1, 6) if regulated_fraction else [], np.arange(6, 20))
    edges = draw_edges(modules, 6, regulated.astype(int), (1, 3), 0.8, None, rng)
    responses = _draw_responses("sigmoid", len(edges), 0.5, rng)
    innovations = rng.standard_normal((30, 20))
    before = _express(innovations, edges, responses, 0.2)
    upstream = np.eye(20, dtype=bool)
    for regulator, gene in edges:  # ordered by gene, regulators first
        upstream[:, gene] |= upstream[:, regulator]
    for gene in range(20):
        others = np.flatnonzero(~upstream[:, gene])
        shuffled = innovations.copy()
        shuffled[:, others] = rng.permutation(shuffled[:, others])
        after = _express(shuffled, edges, responses, 0.2)
        np.testing.assert_array_equal(after[:, gene], before[:, gene])
        for source in np.flatnonzero(upstream[:, gene]):
            shuffled = innovations.copy()
            shuffled[:, source] += 1.0
            after = _express(shuffled, edges, responses, 0.2)
            assert np.abs(after[:, gene] - before[:, gene]).max() > 1e-6


def test_expression_is_the_formula():
    """The documented formula, gene by gene and sample by sample, with moments by simulation."""
    rng = np.random.RandomState(3)
    edges = np.array([[0, 1], [0, 3], [1, 3], [2, 4]])
    responses = _draw_responses("sigmoid", 4, 0.5, rng)
    innovations = rng.standard_normal((3, 5))
    noise = 0.3
    found = _express(innovations, edges, responses, noise)
    normals = np.random.RandomState(4).standard_normal(400_000)
    expected = innovations.copy()
    for gene in (1, 3, 4):
        total, variance = np.zeros(3), 0.0
        for e in np.flatnonzero(edges[:, 1] == gene):
            weight = responses.signs[e] * responses.strength[e]
            steepness, threshold = responses.steepness[e], responses.threshold[e]
            law = expit(steepness * (normals - threshold))
            total += weight * (
                expit(steepness * (expected[:, edges[e, 0]] - threshold)) - law.mean()
            )
            variance += weight**2 * law.var()
        expected[:, gene] = np.sqrt(1 - noise) * total / np.sqrt(variance)
        expected[:, gene] += np.sqrt(noise) * innovations[:, gene]
    np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize("noise", [0.0, 0.5, 1.0])
def test_noise_is_the_fraction_of_the_variance_that_is_chance(noise):
    network = make_network(
        20_000, 8, 12, n_modules=2, regulators_per_gene=1, noise=noise, random_state=0
    )
    np.testing.assert_allclose(network.expression.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(network.expression.var(axis=0), 1, atol=0.06)
    for gene in range(8, 20):
        (regulator,) = own_regulators(network, gene)
        # With one regulator, monotone: the mean within narrow bins is the signal.
        bins = np.array_split(np.argsort(network.expression[:, regulator]), 200)
        within = np.mean([network.expression[rows, gene].var() for rows in bins])
        assert within == pytest.approx(noise, abs=0.04)


def test_signs_are_the_directions_of_the_responses():
    network = make_network(
        400, 10, 200, n_modules=2, regulators_per_gene=2, noise=0.0, random_state=0
    )
    correlation = np.corrcoef(network.expression.T)
    found = np.sign(correlation[network.edges[:, 0], network.edges[:, 1]])
    # The regulators are independent, so that each link shows by itself.
    assert np.mean(found == network.signs) > 0.99


@pytest.mark.parametrize("repression", [0.0, 0.3, 1.0])
def test_repression_is_the_probability_of_a_negative_sign(repression):
    network = make_network(2, 10, 1000, repression=repression, random_state=0)
    n_negative = int(np.sum(network.signs == -1))
    assert stats.binomtest(n_negative, len(network.signs), repression).pvalue > 1e-3


def test_responses_saturate():
    rng = np.random.RandomState(0)
    responses = _draw_responses("sigmoid", 1, 0.0, rng)
    levels = np.zeros((5, 2))
    levels[:, 0] = [-40, -20, 0, 20, 40]
    u = _express(levels, np.array([[0, 1]]), responses, 0.0)[:, 1]
    assert u[0] == pytest.approx(u[1])
    assert u[3] == pytest.approx(u[4])
    assert u[1] < u[2] < u[3]


# Modules


@pytest.mark.parametrize("modularity", [0.0, 0.6, 1.0])
def test_modularity_is_the_probability_of_a_regulator_of_the_own_module(modularity):
    network = make_network(
        2, 40, 1500, n_modules=4, modularity=modularity, regulators_per_gene=2, random_state=0
    )
    inside = network.modules[network.edges[:, 0]] == network.modules[network.edges[:, 1]]
    assert stats.binomtest(int(inside.sum()), len(inside), modularity).pvalue > 1e-3


def test_regulators_of_a_module_are_chosen_evenly():
    network = make_network(
        2, 12, 3000, n_modules=3, modularity=1.0, regulators_per_gene=2, random_state=0
    )
    assert stats.chisquare(network.gold.sum(axis=1)[:12]).pvalue > 1e-3


@pytest.mark.parametrize("modularity", [0.0, 1.0])
def test_where_one_side_is_too_small_the_other_makes_up_for_it(modularity):
    network = make_network(
        2, 4, 30, n_modules=2, modularity=modularity, regulators_per_gene=3, random_state=0
    )
    inside = network.modules[network.edges[:, 0]] == network.modules[network.edges[:, 1]]
    counts = np.bincount(network.edges[inside, 1], minlength=34)[4:]
    assert counts.tolist() == [2 if modularity else 1] * 30


# Seeds and sizes


def test_the_same_seed_gives_the_same_network_and_another_another():
    first, again, other = (
        make_network(20, 10, 30, n_modules=2, regulated_fraction=0.5, random_state=seed)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.expression, again.expression)
    np.testing.assert_array_equal(first.edges, again.edges)
    np.testing.assert_array_equal(first.signs, again.signs)
    assert not np.array_equal(first.gold, other.gold)
    assert not np.array_equal(first.expression, other.expression)


def test_the_network_does_not_depend_on_the_number_of_samples():
    few, many = (make_network(n, 10, 30, n_modules=2, random_state=0) for n in (5, 500))
    np.testing.assert_array_equal(few.edges, many.edges)
    np.testing.assert_array_equal(few.signs, many.signs)


def test_twenty_thousand_genes_are_practical():
    network = make_network(3, 200, 19_800, regulated_fraction=0.5, random_state=0)
    assert network.expression.shape == (3, 20_000)
    # The matrix of all pairs is not made unless asked for.
    assert "gold" not in vars(network)


def test_the_links_can_be_found_again():
    """An off-the-shelf ranking beats chance by far: the data carry the network."""
    network = make_network(150, 12, 6, n_modules=3, noise=0.1, random_state=0)
    forest = RandomForestRegressor(50, max_features=4, random_state=0)
    scores = [
        forest.fit(network.expression[:, :12], network.expression[:, gene]).feature_importances_
        for gene in range(12, 18)
    ]
    truth = network.gold[:12, 12:].T
    assert average_precision_score(truth.ravel(), np.ravel(scores)) > 3 * truth.mean()


# Other kinds of networks


@pytest.mark.parametrize("response", ["sigmoid", "linear", "bell", "product"])
def test_a_regulated_gene_has_variance_one_whatever_the_response(response):
    network = make_network(
        20_000, 12, 30, n_modules=1, response=response, noise=0.3, random_state=0
    )
    np.testing.assert_allclose(network.expression.mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(network.expression.var(axis=0), 1.0, atol=0.1)


def test_a_product_needs_all_its_regulators():
    rng = np.random.RandomState(0)
    responses = _draw_responses("product", 2, 0.0, rng)
    levels = np.zeros((4, 3))
    levels[:, :2] = [[-40, -40], [-40, 40], [40, -40], [40, 40]]
    u = _express(levels, np.array([[0, 2], [1, 2]]), responses, 0.0)[:, 2]
    np.testing.assert_allclose(u[:3], u[0])
    assert u[3] > u[0] + 1.0


def test_linear_and_bell_responses_are_the_formula():
    levels = np.linspace(-2.0, 2.0, 9)[:, np.newaxis] * [1.0, 0.0]
    for kind in ("linear", "bell"):
        responses = _draw_responses(kind, 1, 0.0, np.random.RandomState(1))
        found = _express(levels, np.array([[0, 1]]), responses, 0.0)[:, 1]
        h = levels[:, 0]
        if kind == "bell":
            h = np.exp(-0.5 * (responses.steepness * (h - responses.threshold)) ** 2)
        np.testing.assert_allclose(found, (h - responses.mean) / np.sqrt(responses.variance))


def test_hubs_regulate_many():
    most = []
    for hubs in (0.0, 1.0, 2.0):
        edges = make_network(2, 40, 400, n_modules=1, hubs=hubs, random_state=0).edges
        most.append(np.bincount(edges[:, 0]).max())
    assert most[0] * 2 < most[1] < most[2]
    # Also the genes that are drawn first in the order of the columns are not the hubs by rule.
    firsts = [
        np.bincount(make_network(2, 40, 400, hubs=2.0, random_state=seed).edges[:, 0]).argmax()
        for seed in range(6)
    ]
    assert len(set(firsts)) > 3


def test_confounding_is_the_share_of_a_common_factor():
    network = make_network(20_000, 30, 1, n_modules=1, confounding=0.4, random_state=0)
    correlations = np.corrcoef(network.expression[:, :30].T)[np.triu_indices(30, 1)]
    np.testing.assert_allclose(np.abs(correlations), 0.4, atol=0.04)
    assert (correlations < 0.0).any()
    np.testing.assert_array_equal(
        network.edges, make_network(2, 30, 1, n_modules=1, random_state=0).edges
    )


# Bad parameters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_samples", 1),
        ("n_regulators", 0),
        ("n_targets", 0),
        ("n_modules", 0),
        ("modularity", 1.1),
        ("regulated_fraction", -0.1),
        ("repression", 2),
        ("noise", -0.5),
        ("hubs", -1),
        ("response", "step"),
        ("confounding", 1.0),
        ("random_state", "seed"),
        ("regulators_per_gene", "few"),
    ],
)
def test_bad_parameters_are_named(name, value):
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of make_network"):
        make_network(**{name: value})


@pytest.mark.parametrize("counts", [0, 11, (2, 1), (1, 11), (1, 2, 3), (1.5, 2), ()])
def test_bad_numbers_of_regulators_are_shown(counts):
    with pytest.raises(ValueError, match="between 1 and n_regulators=10") as caught:
        make_network(10, 10, 10, n_modules=2, regulators_per_gene=counts)
    assert repr(counts) in str(caught.value)


def test_more_modules_than_regulators_are_refused():
    with pytest.raises(ValueError, match="n_modules=4 is more than n_regulators=3"):
        make_network(10, 3, 10, n_modules=4)

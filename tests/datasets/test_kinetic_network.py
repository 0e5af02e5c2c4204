"""The kinetic network against its equations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils._param_validation import InvalidParameterError

from randsub.datasets import kinetic_network, make_kinetic_network
from randsub.datasets.kinetic_network import _draw_kinetics, _moving, _settled

STILL = {"molecular_noise": 0.0, "measurement_noise": 0.0}


@pytest.fixture
def kinetics():
    """Genes 0 and 1 are free; 2 has two regulators, 3 has three, one of which it regulates."""
    edges = np.array([[0, 2], [3, 2], [0, 3], [1, 3], [2, 3]])
    return _draw_kinetics(edges, 4, 0.5, 0.5, np.random.RandomState(1))


def plain_rate(kinetics, gene, x):
    """Production of one gene at concentrations x (n_genes,), switch by switch."""
    rate = kinetics.basal[gene]
    ends = [*kinetics.begins[1:], len(kinetics.edges)]
    for begin, end, effect in zip(kinetics.begins, ends, kinetics.effect, strict=True):
        if kinetics.edges[begin, 1] != gene:
            continue
        share = 1.0
        for edge in range(begin, end):
            n, k = kinetics.steepness[edge], kinetics.threshold[edge]
            bound = x[kinetics.edges[edge, 0]] ** n
            bound /= k**n + bound
            share *= bound if kinetics.directions[edge] > 0 else 1.0 - bound
        rate += effect * share
    return rate


def test_production(kinetics):
    rng = np.random.default_rng(0)
    x, change = rng.uniform(0.05, 1.0, (6, 4)), rng.normal(scale=0.01, size=(6, 4))
    found = kinetics.production(x, change)
    for sample in range(6):
        for gene in range(4):
            expected = plain_rate(kinetics, gene, x[sample]) + change[sample, gene]
            assert found[sample, gene] == pytest.approx(max(expected, 1e-6))


def test_rates_are_between_0_and_1_in_all_states():
    for seed in range(20):
        edges = np.array([[0, 2], [1, 2], [0, 3], [1, 3], [2, 3]])
        kinetics = _draw_kinetics(edges, 4, 0.5, 0.3, np.random.RandomState(seed))
        corners = 1e6 ** np.random.RandomState(seed).choice([-1.0, 1.0], (50, 4))
        rates = kinetics.production(corners, np.zeros((50, 4)))
        assert rates.min() >= 0.0
        assert rates.max() <= 1.0 + 1e-9


def test_signs_are_those_of_the_derivative(kinetics):
    for (regulator, gene), sign in zip(kinetics.edges, kinetics.signs(), strict=True):
        x = np.full((2, 4), 0.5)
        x[1, regulator] += 1e-4
        low, high = kinetics.production(x, np.zeros((2, 4)))[:, gene]
        assert np.sign(high - low) == sign


def test_production_and_decay_balance_without_noise(kinetics):
    change = 0.05 * np.random.default_rng(0).normal(size=(5, 4))
    x = _settled(kinetics, change)
    np.testing.assert_allclose(x, kinetics.production(x, change), atol=1e-7)


def test_the_spread_of_a_free_gene_is_that_of_the_equation(kinetics, monkeypatch):
    """dx = (f - x) dt + c (sqrt(f) dW + sqrt(x) dV) has mean f and variance c^2 f."""
    monkeypatch.setattr(kinetic_network, "_NOISY_STEP", 0.01)
    change = np.zeros((4000, 4))
    x = _moving(kinetics, _settled(kinetics, change), change, 0.05, np.random.RandomState(0))
    for gene in (0, 1):
        rate = kinetics.basal[gene]
        assert x[:, gene].mean() == pytest.approx(rate, abs=5 * 0.05 * np.sqrt(rate / 4000))
        # The standard error of a variance of 4,000 samples is 2 %; the step adds half a percent.
        assert x[:, gene].var() == pytest.approx(0.05**2 * rate, rel=0.1)


def test_noise_reaches_the_genes_below():
    calm, noisy = (
        make_kinetic_network(
            400,
            1,
            1,
            regulators_per_gene=1,
            perturbation=0.0,
            molecular_noise=noise,
            measurement_noise=0.0,
            random_state=3,
        )
        for noise in (0.0, 0.05)
    )
    assert calm.edges.tolist() == [[0, 1]]
    assert np.ptp(calm.expression, axis=0).max() < 1e-6
    correlation = np.corrcoef(noisy.expression.T)[0, 1]
    assert correlation * noisy.signs[0] > 0.2


def test_measurement_noise_is_that_of_logarithms():
    quiet, loud = (
        make_kinetic_network(
            500, 5, 5, molecular_noise=0.0, measurement_noise=noise, random_state=0
        ).expression
        for noise in (0.0, 0.2)
    )
    gaps = np.log(loud / quiet)
    assert gaps.std() == pytest.approx(0.2, rel=0.05)
    assert abs(gaps.mean()) < 0.02


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_result_has_the_promised_form(data):
    n_regulators, n_targets = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 8))
    most = data.draw(st.integers(1, n_regulators))
    feedback, fraction = data.draw(st.booleans()), data.draw(st.floats(0, 1))
    network = make_kinetic_network(
        3,
        n_regulators,
        n_targets,
        regulators_per_gene=(1, most),
        regulated_fraction=fraction,
        feedback=feedback,
        hubs=data.draw(st.sampled_from([0.0, 1.5])),
        repression=data.draw(st.floats(0, 1)),
        cooperation=data.draw(st.floats(0, 1)),
        perturbation=data.draw(st.floats(0, 1)),
        molecular_noise=data.draw(st.sampled_from([0.0, 0.3])),
        random_state=data.draw(st.integers(0, 2**32 - 1)),
    )
    n_genes = n_regulators + n_targets
    assert network.expression.shape == (3, n_genes)
    assert np.isfinite(network.expression).all()
    assert (network.expression > 0.0).all()
    gold = network.gold
    assert gold.sum() == len(network.edges) == len(network.signs)
    assert set(network.signs) <= {-1, 1}
    assert not gold[n_regulators:].any()
    assert not gold.diagonal().any()
    assert feedback or not np.tril(gold).any()
    counts = gold.sum(axis=0)
    assert counts.max() <= most
    assert (counts[n_regulators:] >= 1).all()
    assert np.count_nonzero(counts[:n_regulators]) <= round(fraction * (n_regulators - 1))
    # Ordered by gene, then regulator, as in make_network.
    assert (np.lexsort(network.edges.T) == np.arange(len(network.edges))).all()


def test_there_are_cycles_only_with_feedback():
    def has_cycles(network):
        power = reached = network.gold.astype(float)
        for _ in range(len(network.gold)):
            power = np.minimum(power @ network.gold, 1.0)
            reached = reached + power
        return bool(reached.diagonal().any())

    assert has_cycles(make_kinetic_network(2, 10, 2, random_state=0, **STILL))
    assert not has_cycles(make_kinetic_network(2, 10, 2, feedback=False, random_state=0, **STILL))


def test_the_network_does_not_depend_on_the_number_of_samples():
    few, many = (make_kinetic_network(n, 8, 12, random_state=5) for n in (3, 30))
    np.testing.assert_array_equal(few.edges, many.edges)
    np.testing.assert_array_equal(few.signs, many.signs)
    again = make_kinetic_network(30, 8, 12, random_state=5)
    np.testing.assert_array_equal(again.expression, many.expression)


@pytest.mark.parametrize(
    "wrong",
    [{"perturbation": -0.1}, {"cooperation": 2.0}, {"feedback": "yes"}, {"n_regulators": 0}],
)
def test_wrong_parameters(wrong):
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        make_kinetic_network(**wrong)


def test_more_regulators_than_there_are():
    with pytest.raises(ValueError, match="regulators_per_gene"):
        make_kinetic_network(10, 3, 5)

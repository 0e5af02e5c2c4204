"""False discovery rates of links, from shadows of the regulators that compete in the fit."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from flat_parameters import flat_network
from randsub.datasets import make_network
from randsub.network import InferredNetwork, PRSNetwork, Ranking, infer_network
from randsub.network.fit_data import read_samples
from randsub.network.infer import N_REPEATS

TRUTH = make_network(80, n_regulators=8, n_targets=12, n_modules=2, noise=0.1, random_state=0)
NAMES = np.array(TRUTH.gene_names)
QUICK = {"n_estimators": 20, "max_iter": 25, "n_batches": 3, "random_state": 0, "lam": 0.0}


def fitted(estimator=None, order=slice(None), expression=TRUTH.expression, **parameters):
    model = PRSNetwork(estimator or Ridge(), **flat_network(**{**QUICK, **parameters}))
    regulators = [name for name in NAMES[order] if name.startswith("R")]
    return model.fit(expression[:, order], regulators, gene_names=NAMES[order])


def test_shadows_are_the_regulators_in_another_order():
    samples = read_samples(TRUTH.expression, TRUTH.regulators, splits=True)
    first, second = samples.splits(0.1, [np.random.default_rng(n) for n in range(2)])
    plain, shadowed = samples.scaled(first), samples.scaled(first, [1, 2])
    np.testing.assert_array_equal(shadowed.X[:, :8], plain.X)
    shadows = shadowed.X[:, 8:]
    np.testing.assert_array_equal(np.sort(shadows, axis=0), np.sort(plain.X, axis=0))
    # All of them in one order: among themselves they are correlated as the regulators are.
    np.testing.assert_allclose(np.corrcoef(shadows.T), np.corrcoef(plain.X.T))
    assert (shadows != plain.X).mean() > 0.9
    # The same order in each repeat, whatever the scale.
    other = samples.scaled(second, [1, 2])
    np.testing.assert_array_equal(np.argsort(other.X[:, 8]), np.argsort(shadows[:, 0]))
    assert not shadowed.allowed[0, 8]
    np.testing.assert_array_equal(shadowed.allowed[:, 8:], plain.allowed)


def test_q_values_are_those_of_ranks_among_shadows():
    rng = np.random.default_rng(0)
    weights, shadows = rng.uniform(size=(2, 2, 3))
    network = InferredNetwork(weights, ("a", "b"), ("a", "c", "d"), None, 0, shadows)
    allowed = np.array([[False, True, True], [True, True, True]])
    p = [(1 + (shadows[allowed] >= w).sum()) / 6 for w in weights[allowed]]
    found = network.q_values()
    assert found.loc["a", "a"] == 1.0
    np.testing.assert_allclose(found.to_numpy()[allowed], false_discovery_control(p))
    everything = network.links(fdr=0.999)
    assert everything.columns.tolist() == ["regulator", "target", "weight", "q_value"]
    for fdr in (0.3, 0.6):
        links = network.links(fdr=fdr)
        assert (links["q_value"] <= fdr).all()
        assert len(links) == (found.to_numpy()[allowed] <= fdr).sum()
    assert len(network.links(1, fdr=0.999)) == 1


def test_true_links_stand_out_and_others_do_not():
    model = fitted(shadows=True, max_iter=40)
    links = model.links(fdr=0.1)
    gold = pd.DataFrame(TRUTH.gold, index=NAMES, columns=NAMES)
    is_true = [gold.loc[r, t] for r, t in zip(links["regulator"], links["target"], strict=True)]
    assert len(links) >= 10
    # A fifth of all pairs are links.
    assert np.mean(is_true) > 0.7
    assert model.shadow_weights_.shape == model.link_weights_.shape == (8, 20)
    assert model.alpha_.shape == model.repeat_alphas_[0].shape == (8, 20)
    np.testing.assert_allclose(model.alpha_.sum(axis=0), model.expected_sizes_)
    np.testing.assert_allclose(model.path_["mean_size"], model.expected_sizes_.mean())
    assert (np.diagonal(model.shadow_weights_) == 0.0).all()
    # Where nothing depends on anything, a list at ten percent is nearly always empty.
    noise = np.random.default_rng(0).normal(size=TRUTH.expression.shape)
    assert len(fitted(shadows=True, expression=noise).links(fdr=0.1)) <= 1


def test_all_rules_rank_shadows_along_with_the_regulators():
    ranking = Ranking(evidence=("mean", "members"), combine="rank", direction="weaker")
    ranking.set_params(targets="sum", regulators="sum")
    tree = DecisionTreeRegressor(min_samples_leaf=5)
    options = {"shadows": True, "ranking": ranking, "n_repeats": 2, "lam": "path"}
    options["lams"] = (0.0, 0.01)
    order = np.random.default_rng(0).permutation(20)
    one, other = (fitted(tree, o, **options) for o in (slice(None), order))
    pd.testing.assert_frame_equal(one.links(fdr=0.9), other.links(fdr=0.9), check_exact=True)
    assert one.shadow_weights_.mean() < one.link_weights_.mean()
    again = one.ranked(ranking)
    np.testing.assert_array_equal(again.shadows, one.shadow_weights_)
    np.testing.assert_array_equal(one.network_at(one.lam_).shadows, one.shadow_weights_)
    assert one.ranked(Ranking()).shadows.shape == (8, 20)


def test_the_function_adds_the_shadows_itself():
    options = flat_network(**QUICK, estimator=Ridge(), gene_names=NAMES)
    links = infer_network(TRUTH.expression, TRUTH.regulators, fdr=0.2, **options)
    expected = fitted(shadows=True, n_repeats=N_REPEATS).links(fdr=0.2)
    pd.testing.assert_frame_equal(links, expected, check_exact=True)


def test_a_rate_without_shadows():
    with pytest.raises(ValueError, match=r"fit PRSNetwork\(shadows=True\)"):
        fitted().links(fdr=0.1)


@pytest.mark.parametrize("fdr", [0.0, 1.0, -1, "low", np.nan])
def test_a_rate_that_is_none_is_refused_before_any_work(fdr, monkeypatch):
    monkeypatch.setattr("randsub.network.infer.PRSNetwork.fit", None)
    with pytest.raises(ValueError, match="fdr must be a number above 0 and below 1"):
        infer_network(TRUTH.expression, fdr=fdr)


def test_a_rate_is_measured_without_a_penalty(monkeypatch):
    """Which would make it too optimistic."""
    coefficients = []
    monkeypatch.setattr(PRSNetwork, "fit", lambda self, *args, **kw: coefficients.append(self.lam))
    monkeypatch.setattr(PRSNetwork, "links", lambda self, *args, **kw: None)
    for options in ({}, {"fdr": 0.1}, {"fdr": 0.1, "lam": 0.01}, {"lam": 0.02}):
        infer_network(TRUTH.expression, **options)
    assert coefficients == ["path", 0.0, 0.01, 0.02]

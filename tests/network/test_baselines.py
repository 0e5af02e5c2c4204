"""Other methods: each target's result is that of the estimator itself."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor

from randsub import RaSERegressor
from randsub.datasets import make_network
from randsub.estimators.fit_data import seed_words
from randsub.network import genie3, grnboost, rase_network, score_network
from randsub.network.candidate_links import gene_generator
from randsub.network.grnboost import Stop

RASE = {"n_estimators": 10, "n_candidates": 5, "max_iter": 2}


@pytest.fixture(scope="module")
def truth():
    return make_network(60, n_regulators=6, n_targets=6, n_modules=2, random_state=0)


def scaled(values):
    return (values - values.mean(axis=0)) / values.std(axis=0)


def reductions_of_variance(forest):
    """What the splits on each feature take from the variance, the mean over trees."""
    total = np.zeros(forest.n_features_in_)
    for tree in (one.tree_ for one in forest.estimators_):
        held = tree.weighted_n_node_samples * tree.impurity / tree.weighted_n_node_samples[0]
        for node in np.flatnonzero(tree.feature >= 0):
            below = held[tree.children_left[node]] + held[tree.children_right[node]]
            total[tree.feature[node]] += held[node] - below
    return total / len(forest.estimators_)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_genie3_is_a_forest_for_each_target(truth, n_jobs):
    network = genie3(
        truth.expression,
        truth.regulators,
        gene_names=truth.gene_names,
        n_estimators=30,
        n_jobs=n_jobs,
        random_state=3,
    )
    X = scaled(truth.expression)
    for target in (2, 9):
        name = truth.gene_names[target]
        # R1 to R6 are in the order of their names.
        others = [j for j in range(6) if j != target]
        seed = int(gene_generator(name, seed_words(3).tolist()).integers(2**31))
        forest = RandomForestRegressor(30, max_features="sqrt", random_state=seed)
        expected = reductions_of_variance(forest.fit(X[:, others], X[:, target]))
        np.testing.assert_allclose(network.alpha[others, target], expected, atol=1e-12)
    assert network.targets == truth.gene_names
    assert network.regulators == truth.gene_names[:6]
    # Full trees explain all of the variance of their bootstrap samples.
    np.testing.assert_allclose(network.alpha.sum(axis=0), 1.0, atol=0.2)
    assert np.ptp(network.alpha.sum(axis=0)) > 1e-3
    assert (np.diagonal(network.alpha) == 0.0).all()
    assert network.n_models_trained == 360
    scores = score_network(network, truth.gold, gene_names=truth.gene_names)
    assert scores.aupr > 2 * scores.n_edges / scores.n_pairs


def test_rase_is_an_ensemble_for_each_target(truth):
    train, val = truth.expression[:45], truth.expression[45:]
    network = rase_network(
        train,
        truth.regulators,
        KNeighborsRegressor(),
        expression_val=val,
        gene_names=truth.gene_names,
        random_state=3,
        **RASE,
    )
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    X, X_val = (train - mean) / deviation, (val - mean) / deviation
    n_models = 0
    for target, name in enumerate(truth.gene_names):
        others = [j for j in range(6) if j != target]
        seed = int(gene_generator(name, seed_words(3).tolist()).integers(2**31))
        model = RaSERegressor(
            KNeighborsRegressor(), standardize=False, random_state=seed, **RASE
        ).fit(X[:, others], X[:, target], X_val=X_val[:, others], y_val=X_val[:, target])
        np.testing.assert_array_equal(network.alpha[others, target], model.alpha_)
        assert network.expected_sizes[target] == pytest.approx(model.expected_size_)
        n_models += model.n_models_trained_
    assert network.n_models_trained == n_models


@pytest.mark.parametrize("scale", [0.0, 2.0])
def test_boosting_ends_when_trees_do_not_improve(scale):
    """At the first tree with which the mean of the last improvements is below 0, and not before."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(100, 5)), rng.normal(size=100)
    model = GradientBoostingRegressor(n_estimators=400, subsample=0.8, random_state=0)
    model.fit(X, scale * X[:, 0] + 0.2 * noise, monitor=Stop(25))
    means = np.convolve(model.oob_improvement_, np.ones(25) / 25, "valid")
    assert 25 <= len(model.estimators_) < 400
    assert means[-1] < 0.0 <= means[:-1].min(initial=0.0)


def test_grnboost_is_boosting_for_each_target(truth):
    params = {"n_estimators": 60, "learning_rate": 0.1, "max_features": 0.5, "subsample": 0.8}
    names = list(truth.gene_names)
    options = {"gene_names": names, "early_stopping": 5, "random_state": 3}
    network = grnboost(truth.expression, truth.regulators, **params, **options)
    X, n_models = scaled(truth.expression), 0
    for target, name in enumerate(names):
        others = [j for j in range(6) if j != target]
        seed = int(gene_generator(name, seed_words(3).tolist()).integers(2**31))
        model = GradientBoostingRegressor(random_state=seed, **params)
        model.fit(X[:, others], X[:, target], monitor=Stop(5))
        n_trees = len(model.estimators_)
        expected = model.feature_importances_ * n_trees
        np.testing.assert_allclose(network.alpha[others, target], expected, atol=1e-9)
        n_models += n_trees
    assert network.n_models_trained == n_models
    scores = score_network(network, truth.gold, gene_names=names)
    assert scores.aupr > 2 * scores.n_edges / scores.n_pairs


@pytest.mark.parametrize(("name", "value"), [("subsample", 1.0), ("early_stopping", 0)])
def test_bad_parameters_of_grnboost(truth, name, value):
    with pytest.raises(ValueError, match=name):
        grnboost(truth.expression, **{name: value})


@pytest.mark.parametrize("validation_fraction", [0.2, None])
def test_rase_sets_validation_samples_aside(truth, validation_fraction):
    network = rase_network(
        truth.expression,
        truth.regulators,
        validation_fraction=validation_fraction,
        random_state=0,
        **RASE,
    )
    assert network.alpha.shape == (6, 12)
    assert ((network.alpha >= 0.0) & (network.alpha <= 1.0)).all()


@pytest.mark.parametrize("method", [genie3, grnboost, rase_network])
def test_the_order_of_the_genes_does_not_matter(truth, method):
    options = RASE if method is rase_network else {"n_estimators": 5}
    order = np.random.default_rng(0).permutation(12)
    names = np.array(truth.gene_names)
    one = method(truth.expression, names[:6], gene_names=names, random_state=0, **options)
    other = method(
        truth.expression[:, order],
        names[:6][::-1],
        gene_names=names[order],
        random_state=0,
        **options,
    )
    np.testing.assert_array_equal(one.alpha[::-1][:, order], other.alpha)
    assert one.links().equals(other.links())


@pytest.mark.parametrize("method", [genie3, grnboost, rase_network])
def test_a_lone_regulator_has_no_links_to_itself(truth, method):
    options = RASE if method is rase_network else {"n_estimators": 5}
    network = method(truth.expression, [0], random_state=0, **options)
    assert network.alpha[0, 0] == 0.0
    assert (network.alpha[0, 1:] > 0.0).all()

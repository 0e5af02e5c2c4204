"""Correlations from few samples, against what defines them."""

import numpy as np
import pytest

from randsub.selection.correlation_model import (
    candidates,
    covariance_selection,
    fitted_correlations,
)

SHRUNKEN, SAMPLE, GRAPH, FACTOR = 0, 1, 3, 4


def standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def chain(n, n_columns, seed=0, correlation=0.9):
    """Neighbours are correlated, and independent of the others given their own neighbours."""
    steps = np.random.default_rng(seed).normal(size=(n, n_columns))
    X = steps.copy()
    for j in range(1, n_columns):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * steps[:, j]
    return standard(X)


def with_factor(n, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    return standard(rng.normal(size=(n, 1)) + rng.normal(size=(n, n_columns)))


def test_covariance_selection_is_the_sample_on_edges_and_its_inverse_0_elsewhere():
    scores = chain(60, 12)
    sample = scores.T @ scores / 60
    edges = np.random.default_rng(1).random((12, 12)) < 0.3
    edges = np.triu(edges, 1) | np.triu(edges, 1).T
    sigma = covariance_selection(sample, edges)
    np.testing.assert_array_equal(np.diag(sigma), np.diag(sample))
    np.testing.assert_allclose(sigma[edges], sample[edges], atol=3e-3)
    precision = np.linalg.inv(sigma)
    outside = ~edges & ~np.eye(12, dtype=bool)
    assert np.abs(precision[outside]).max() < 0.01 * np.abs(precision[edges]).max()


def test_covariance_selection_without_and_with_all_edges():
    scores = chain(60, 5)
    sample = scores.T @ scores / 60
    everything = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(covariance_selection(sample, everything), sample)
    nothing = np.zeros((5, 5), dtype=bool)
    np.testing.assert_allclose(covariance_selection(sample, nothing), np.eye(5))


@pytest.mark.parametrize(
    "scores, expected",
    [
        (chain(150, 60), GRAPH),
        (chain(80, 120), GRAPH),
        (with_factor(150, 60), FACTOR),
        (chain(3000, 4, correlation=0.5), None),
        (standard(np.random.default_rng(0).normal(size=(40, 60))), None),
    ],
)
def test_held_out_rows_choose(scores, expected):
    sigma = fitted_correlations(scores, np.random.RandomState(0))
    np.testing.assert_allclose(np.diag(sigma), 1.0, atol=0.05)
    assert np.linalg.eigvalsh(sigma)[0] > 0
    if expected is not None:
        np.testing.assert_array_equal(sigma, list(candidates(scores))[expected])


def test_neighbours_stay_as_correlated_as_they_are():
    scores = chain(300, 100)
    sample = scores.T @ scores / 300
    sigma = fitted_correlations(scores, np.random.RandomState(0))
    shrunken = next(candidates(scores))
    beside = np.arange(99), np.arange(1, 100)
    assert np.abs(sigma - sample)[beside].max() < 0.005
    # What shrinkage does instead.
    assert (sample - shrunken)[beside].min() > 0.01


@pytest.mark.parametrize(
    "X",
    [
        np.repeat(chain(50, 4), 3, axis=1),
        chain(4, 30),
        chain(2, 3),
        chain(30, 1),
    ],
    ids=["equal columns", "few rows", "two rows", "one column"],
)
def test_always_positive_definite(X):
    sigma = fitted_correlations(X, np.random.RandomState(0))
    assert np.linalg.eigvalsh(sigma)[0] > 0
    assert sigma.shape == (X.shape[1], X.shape[1])

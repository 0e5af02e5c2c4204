"""Correlations of the columns of a table, estimated from few samples.

Copies of a column are to be as correlated with the other columns as the column itself. Shrinkage
towards the identity makes every correlation smaller, and with it those of the copies alone. A graph
of partial correlations does not: the estimate of largest likelihood without partial correlations
outside the graph has the correlations of the sample at each of its edges (covariance selection,
Dempster 1972). Nor do factors that all columns share. Which of them suits depends on the data, so
held-out rows decide.
"""

import warnings
from collections.abc import Iterator
from itertools import islice

import numpy as np
from sklearn.covariance import LedoitWolf, log_likelihood
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning

from randsub._typing import BoolArray, FloatArray

FOLDS = 3
# With fewer rows the estimate is shrunken.
FEWEST = 12
# Edges of the graphs: partial correlations above so many standard deviations of the others.
CUTS = (2.0, 4.0)
FACTORS = (1, 3, 10)
# Share of the identity in the sample's correlations, which makes those of equal columns regular.
REGULAR = 1e-3
MOST_SWEEPS = 50
PRECISION = 1e-3


def fitted_correlations(columns: FloatArray, rng: np.random.RandomState) -> FloatArray:
    """Correlations of the columns: the estimate under which held-out rows are most likely.

    Parameters
    ----------
    columns : ndarray of shape (n, M)
        Of mean 0 and variance 1.
    rng : RandomState
        Draws the folds.

    Returns
    -------
    sigma : ndarray of shape (M, M)
        Positive definite.
    """
    # The first, which is shrunken, is always positive definite.
    shrunken = next(candidates(columns))
    if len(columns) < FEWEST:
        return shrunken
    fold = rng.permutation(len(columns)) % FOLDS
    likelihoods = np.array(
        [
            [_likelihood(sigma, columns[fold == k]) for sigma in candidates(columns[fold != k])]
            for k in range(FOLDS)
        ]
    )
    best = int(np.argmax(likelihoods.mean(axis=0)))
    sigma = next(islice(candidates(columns), best, None))
    return sigma if _is_definite(sigma) else shrunken


def candidates(columns: FloatArray) -> Iterator[FloatArray]:
    """Estimates of the correlations: shrunken, the sample's, with sparse graphs, with factors."""
    shrunken = LedoitWolf(assume_centered=True).fit(columns)
    sample = _regular(columns.T @ columns / len(columns))
    yield _regular(shrunken.covariance_)
    yield sample
    partial = _partial_correlations(shrunken.precision_)
    # The median of most pairs, which have no edge, is 0.67 standard deviations.
    spread = np.median(partial[np.triu_indices(len(partial), 1)]) / 0.67 if len(sample) > 1 else 0.0
    for cut in CUTS:
        yield _with_graph(sample, partial > cut * spread)
    for n_factors in FACTORS:
        yield _with_factors(columns, n_factors)


def _with_graph(sample: FloatArray, edges: BoolArray) -> FloatArray:
    """The estimate with these edges; not finite, or not definite, if it cannot be found."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return covariance_selection(sample, edges)
    except np.linalg.LinAlgError:
        return np.full_like(sample, np.nan)


def _with_factors(columns: FloatArray, n_factors: int) -> FloatArray:
    model = FactorAnalysis(min(n_factors, *columns.shape), tol=0.01, max_iter=100, random_state=0)
    # Factors that are not quite found, or more than there are, are judged as they are.
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        sigma = model.fit(columns).get_covariance()
    scale = np.sqrt(np.diag(sigma))
    return _regular(sigma / np.outer(scale, scale))


def _regular(sigma: FloatArray) -> FloatArray:
    return (1.0 - REGULAR) * sigma + REGULAR * np.eye(len(sigma))


def _partial_correlations(precision: FloatArray) -> FloatArray:
    """Absolute partial correlations, with zeros on the diagonal."""
    scale = np.sqrt(np.diag(precision))
    partial = np.abs(precision) / np.outer(scale, scale)
    np.fill_diagonal(partial, 0.0)
    return partial


def covariance_selection(sample: FloatArray, edges: BoolArray) -> FloatArray:
    """The covariance of largest likelihood whose inverse is 0 outside the edges.

    Column by column, by regression on the neighbours in the graph (Hastie, Tibshirani and Friedman,
    The Elements of Statistical Learning, algorithm 17.1).

    Parameters
    ----------
    sample : ndarray of shape (M, M)
        Covariance of the sample; positive definite.
    edges : bool ndarray of shape (M, M)
        Symmetric; False on the diagonal.
    """
    sigma = sample.copy()
    neighbours = [np.flatnonzero(row) for row in edges]
    for _ in range(MOST_SWEEPS):
        before = sigma.copy()
        for j, beside in enumerate(neighbours):
            weights = np.linalg.solve(sigma[np.ix_(beside, beside)], sample[beside, j])
            column = weights @ sigma[beside]
            column[j] = sample[j, j]
            sigma[:, j] = sigma[j] = column
        if np.abs(sigma - before).max() < PRECISION:
            break
    return sigma


def _is_definite(sigma: FloatArray) -> bool:
    return bool(np.isfinite(sigma).all() and np.linalg.eigvalsh(sigma)[0] > REGULAR / 10.0)


def _likelihood(sigma: FloatArray, columns: FloatArray) -> float:
    """Gaussian log-likelihood of held-out rows; minus infinity if sigma is not a covariance."""
    if not _is_definite(sigma):
        return -np.inf
    return float(log_likelihood(columns.T @ columns / len(columns), np.linalg.inv(sigma)))

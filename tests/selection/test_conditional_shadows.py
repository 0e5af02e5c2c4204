"""Gaussian knockoffs: exact in law, and exchangeable with columns that add nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import chisquare
from sklearn.linear_model import Lasso, Ridge
from sklearn.tree import DecisionTreeRegressor

from fake_importances import Correlation, FirstRow
from randsub import PRSRegressor
from randsub.selection import ShadowSelector
from randsub.selection.conditional_shadows import (
    GaussianCopies,
    conditional_orders,
    largest_own_parts,
)
from randsub.selection.shadows import shared_orders, with_shadows

ALONE, PAIRS = np.arange(6), np.array([0, 1, 0, 1, 2, 3])


def random_correlations(n_columns=6, seed=0):
    X = np.random.default_rng(seed).normal(size=(2 * n_columns, n_columns))
    X[:, 1] += 2 * X[:, 0]
    return np.corrcoef(X.T)


def chain(n, n_columns, rng, correlation=0.9):
    X = rng.normal(size=(n, n_columns))
    for j in range(1, n_columns):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    return X


@pytest.mark.parametrize("groups", [ALONE, PAIRS], ids=["columns", "groups"])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_columns_and_copies_can_change_places(m, groups):
    """Their joint covariance has blocks sigma, and sigma - D off the diagonal, for a D by group."""
    sigma = random_correlations()
    D = largest_own_parts(sigma, groups, m)
    copies = GaussianCopies.of(sigma, groups, m)
    np.testing.assert_array_equal(D[groups[:, np.newaxis] != groups], 0.0)
    np.testing.assert_allclose(sigma @ copies.kept, sigma - D, atol=1e-12)
    shared = copies.kept.T @ sigma @ copies.kept + copies.common @ copies.common.T
    own = copies.own @ copies.own.T
    np.testing.assert_allclose(shared + (1 - 1 / m) * own, sigma, atol=1e-12)
    np.testing.assert_allclose(shared - own / m, sigma - D, atol=1e-12)
    joint = np.kron(np.ones((m + 1, m + 1)), sigma - D) + np.kron(np.eye(m + 1), D)
    assert np.linalg.eigvalsh(joint)[0] > 0


@pytest.mark.parametrize("groups", [ALONE, PAIRS], ids=["columns", "groups"])
def test_no_other_own_parts_have_a_larger_determinant(groups):
    sigma, m, rng = random_correlations(), 3, np.random.default_rng(0)

    def log_determinant(D):
        joint = np.kron(np.ones((m + 1, m + 1)), sigma - D) + np.kron(np.eye(m + 1), D)
        sign, value = np.linalg.slogdet(joint)
        return value if sign > 0 and np.linalg.eigvalsh(D)[0] > 0 else -np.inf

    D = largest_own_parts(sigma, groups, m)
    best = log_determinant(D)
    within = groups[:, np.newaxis] == groups
    for _ in range(50):
        step = rng.normal(size=D.shape) * within * 0.05 * np.sqrt(np.outer(np.diag(D), np.diag(D)))
        assert log_determinant(D + (step + step.T) / 2) < best + 1e-3


def test_copies_of_independent_columns_are_independent_of_them():
    np.testing.assert_allclose(largest_own_parts(np.eye(4), np.arange(4), 5), np.eye(4))


def test_draws_have_the_law():
    sigma, m, n, rng = random_correlations(), 2, 40_000, np.random.RandomState(0)
    columns = rng.multivariate_normal(np.zeros(6), sigma, size=n)
    drawn = GaussianCopies.of(sigma, ALONE, m).draw(columns, rng)
    D = largest_own_parts(sigma, ALONE, m)
    joint = np.kron(np.ones((3, 3)), sigma - D) + np.kron(np.eye(3), D)
    found = np.cov(np.hstack([columns, *drawn]).T)
    np.testing.assert_allclose(found, joint, atol=5 / np.sqrt(n))


def places_of_noise(make_orders, n_datasets=200, m=4):
    """Rank of a column beside the one that makes y among its copies, by correlation with y."""
    places = []
    for seed in range(n_datasets):
        rng = np.random.RandomState(seed)
        X = chain(60, 5, rng)
        y = X[:, 2] + 0.5 * rng.normal(size=60)
        table = with_shadows(X, make_orders(X, m, rng))
        # Given the others: what column 3 and its copies explain beyond the relevant one.
        beyond = y - X[:, 2] * (X[:, 2] @ y) / (X[:, 2] @ X[:, 2])
        importance = np.abs(table[:, 3::5].T @ beyond) + np.abs(table[:, 3::5].T @ y)
        places.append((importance[0] > importance[1:]).sum())
    return np.bincount(places, minlength=m + 1)


def test_noise_beside_a_relevant_column_is_exchangeable_with_its_copies():
    conditional = places_of_noise(lambda X, m, rng: conditional_orders(X, np.arange(5), m, rng))
    assert chisquare(conditional).pvalue > 0.01
    # The wrong null for this question: shadows that are independent of the relevant column.
    marginal = places_of_noise(lambda X, m, rng: shared_orders(len(X), m, rng))
    assert marginal[-1] > 0.9 * marginal.sum()


def test_a_copy_is_a_permutation_of_its_column():
    rng = np.random.RandomState(0)
    X = chain(50, 4, rng)
    X[:, 1], X[:, 2], X[:, 3] = X[:, 1] > 0, np.exp(3 * X[:, 2]), 7.0
    orders = conditional_orders(X, np.arange(4), 3, rng)
    assert orders.shape == (3, 50, 4)
    for copy in orders:
        np.testing.assert_array_equal(np.sort(copy, axis=0).T, np.tile(np.arange(50), (4, 1)))
    # Units do not matter, nor does the scale of a column far from normal.
    other = X * [10.0, 2.0, 1.0, 1.0] + [5.0, 1.0, 0.0, 0.0]
    other[:, 2] = np.log(other[:, 2] + 1.0) ** 9
    again = conditional_orders(other, np.arange(4), 3, np.random.RandomState(1))
    same = conditional_orders(X, np.arange(4), 3, np.random.RandomState(1))
    np.testing.assert_array_equal(again, same)


def selection_rates(null, n_relevant, n_datasets, fdr=0.2):
    """False discovery proportions and power of a Lasso in a chain."""
    proportions, power = [], []
    relevant = np.array([3, 8, 13, 18])[:n_relevant]
    for seed in range(n_datasets):
        rng = np.random.RandomState(seed)
        X = chain(150, 21, rng, correlation=0.8)
        y = X[:, relevant].sum(axis=1) + 0.5 * rng.normal(size=150)
        selector = ShadowSelector(
            Lasso(alpha=0.05), fdr=fdr, null=null, n_runs=1, random_state=seed
        )
        chosen = selector.fit(X, y).get_support(indices=True)
        false = np.setdiff1d(chosen, relevant)
        proportions.append(len(false) / max(len(chosen), 1))
        power.append(np.isin(relevant, chosen).mean() if n_relevant else 1.0)
    return np.mean(proportions), np.std(proportions) / np.sqrt(n_datasets), np.mean(power)


@pytest.mark.parametrize("n_relevant", [0, 4])
def test_the_false_discovery_rate_is_kept_among_correlated_columns(n_relevant):
    rate, error, power = selection_rates("conditional", n_relevant, n_datasets=50)
    assert rate <= 0.2 + 2 * error
    assert power > 0.9


def test_groups_that_are_nearly_copies_are_found_as_a_whole():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 8))
    X[:, 1] = X[:, 0] + 0.01 * rng.normal(size=150)
    y = X[:, 0] + 0.1 * rng.normal(size=150)
    model = PRSRegressor(Ridge(), max_iter=30, feature_groups=[[0, 1], [2, 3]])
    selector = ShadowSelector(model, fdr=0.5, null="conditional", n_runs=1, random_state=0)
    assert selector.fit(X, y).get_support()[:2].all()


def test_tables_of_all_kinds():
    rng = np.random.RandomState(0)
    X = chain(80, 5, rng)
    X[:, 4] = X[:, 4] > 0
    y = X[:, 0] + rng.normal(size=80)
    expected = ShadowSelector(Correlation(), null="conditional", random_state=0).fit(X, y)
    names = list("abcde")
    frame = pd.DataFrame(X, columns=names, index=range(80, 0, -1)).astype({"e": bool})
    for table in (frame, pl.DataFrame(frame), X.tolist()):
        found = ShadowSelector(Correlation(), null="conditional", random_state=0).fit(table, y)
        np.testing.assert_allclose(found.run_importances_, expected.run_importances_)


@pytest.mark.parametrize(
    "change, estimator, message",
    [
        (sparse.csr_array, Ridge(), "a dense table, but X is sparse. Use X.toarray"),
        (
            lambda X: pd.DataFrame(X).assign(kind=["a", "b"] * 20).rename(columns=str),
            FirstRow(),
            "needs numbers, but these columns.*: 'kind'. Encode them, or use null='marginal'",
        ),
        (
            lambda X: np.where(X > 1.5, np.nan, X),
            PRSRegressor(DecisionTreeRegressor()),
            r"needs complete columns, but \d have missing values. Fill them, or use null=",
        ),
        (
            lambda X: (X > 0).astype(int),
            PRSRegressor(categorical_features=[1, 2]),
            "needs numbers, but these columns have other values or are categories: 1, 2",
        ),
    ],
    ids=["sparse", "text", "missing", "categories"],
)
def test_what_the_conditional_null_cannot_take(change, estimator, message):
    X = np.random.default_rng(0).normal(size=(40, 6))
    FirstRow.seen.clear()
    selector = ShadowSelector(estimator, null="conditional", n_runs=1)
    with pytest.raises(ValueError, match=message):
        selector.fit(change(X), X[:, 0] > 0)
    assert not FirstRow.seen
    assert not hasattr(selector, "support_")

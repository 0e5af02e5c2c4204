"""Copies of the columns that depend on the other columns as the columns do: Gaussian knockoffs.

1. Columns far from normal are replaced by normal scores: ranks as quantiles of the normal
   distribution.
2. ``sigma`` is the correlation matrix of the columns, estimated by ``correlation_model.py``.
3. ``D`` is the variance of the part of each column that its copies do not share. It is as large as
   the joint distribution of the columns and their m copies allows: of all correlation matrices with
   blocks ``sigma`` and ``sigma - D``, the one with the largest determinant.
4. Copies are drawn given the columns, and replaced by the values of the column with the same ranks.
   A copy of a column is thus a permutation of it, as a shadow is, but one that follows the other
   columns.

If the columns are Gaussian with correlations ``sigma``, a column and its copies can change places
without a change of their joint distribution with all other columns and copies (exchangeability).
A column that adds nothing about y to the other columns can then change places with its copies even
given y, so that any importance that it reaches, they reach as often.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import norm

from randsub._tables import frame_kind, numeric_columns, to_array
from randsub._typing import FloatArray, IntArray, Table
from randsub.estimators.column_encoding import choose_categorical
from randsub.selection.correlation_model import fitted_correlations

# Columns with a smaller correlation with their normal scores are replaced by these. It is 0.98 for
# uniform numbers, 0.90 for exponential ones.
NORMAL = 0.95
# Sweeps over the groups to find D end when none of it changes by more than this share. Any D on the
# way makes exchangeable copies.
MOST_SWEEPS = 50
CHANGE = 0.05


def numeric_values(X: Table, estimator: Any, names: list[str]) -> FloatArray:
    """X as an array of numbers, (n, M); an error if it has others, or missing values."""
    remedy = "or use null='marginal', which takes any table."
    needs = "null='conditional' models each column given the others, which needs "
    if sparse.issparse(X):
        raise ValueError(f"{needs}a dense table, but X is sparse. Use X.toarray(), {remedy}")
    is_number = np.ones(X.shape[1], dtype=bool)
    if frame_kind(X) is not None:
        is_number = numeric_columns(X) | [str(d).lower().startswith("bool") for d in X.dtypes]
    listed = getattr(estimator, "categorical_features", None)
    if listed is not None and not isinstance(listed, str):
        is_number[choose_categorical(listed, X, [], names)] = False
    if not is_number.all():
        others = np.flatnonzero(~is_number)
        shown = ", ".join(repr(names[j]) if names else str(j) for j in others[:5])
        more = ", ..." if len(others) > 5 else ""
        raise ValueError(
            f"{needs}numbers, but these columns have other values or are categories: {shown}{more}."
            f" Encode them, {remedy}"
        )
    columns = np.arange(X.shape[1])
    values = np.asarray(X if frame_kind(X) is None else to_array(X, columns), dtype=float)
    if np.isnan(values).any():
        n_missing = int(np.isnan(values).any(axis=0).sum())
        raise ValueError(
            f"{needs}complete columns, but {n_missing} have missing values. Fill them, {remedy}"
        )
    return values


def conditional_orders(
    values: FloatArray, groups: IntArray, n_shadows: int, rng: np.random.RandomState
) -> IntArray:
    """Orders of the rows of each column that make its copies.

    Parameters
    ----------
    values : ndarray of shape (n, M)
    groups : int ndarray of shape (M,)
        Group of each column. Copies of a group are exchangeable with it as a whole.
    n_shadows : int
    rng : RandomState

    Returns
    -------
    orders : int ndarray of shape (n_shadows, n, M)
        Row i of copy c of column j is ``values[orders[c, i, j], j]``.
    """
    # Equal values are ordered at random, as if they were rounded.
    by_value = np.lexsort((rng.random_sample(values.shape), values), axis=0)
    columns = nearly_normal(values, ranks_of(by_value))
    sigma = fitted_correlations(columns, rng)
    copies = GaussianCopies.of(sigma, groups, n_shadows).draw(columns, rng)
    return np.stack([_places(by_value, np.argsort(copy, axis=0)) for copy in copies])


def nearly_normal(values: FloatArray, ranks: IntArray) -> FloatArray:
    """The columns with mean 0 and variance 1, (n, M); normal scores of those far from normal.

    Scores are less correlated than the normal columns that they replace, if a little: a copy would
    depend on the other columns a little less than its column does.
    """
    scores = norm.ppf((np.arange(len(ranks)) + 0.5) / len(ranks))
    scores = (scores / scores.std())[ranks]
    scale = values.std(axis=0)
    standard = (values - values.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)
    return np.where((standard * scores).mean(axis=0) > NORMAL, standard, scores)


def ranks_of(orders: IntArray) -> IntArray:
    """Rank of each row in each column, from the rows in increasing order; (n, M) both."""
    ranks = np.empty_like(orders)
    np.put_along_axis(ranks, orders, np.arange(len(orders))[:, np.newaxis], axis=0)
    return ranks


def _places(by_value: IntArray, by_copy: IntArray) -> IntArray:
    """Row of the column that has the rank of each row of the copy."""
    return np.take_along_axis(by_value, ranks_of(by_copy), axis=0)


class GaussianCopies(NamedTuple):
    """The law of m copies given the columns: ``copy_c = columns @ kept + common + own_c``.

    Parameters
    ----------
    kept : ndarray of shape (M, M)
        Coefficients of the mean of every copy: ``I - sigma^-1 D``.
    common : ndarray of shape (M, M)
        Factor of the covariance, ``(m + 1) / m D - D sigma^-1 D``, of the mean of the copies.
    own : ndarray of shape (M, M)
        Factor of D, the covariance of copies around their mean (times ``m / (m - 1)``).
    n_shadows : int
        m.
    """

    kept: FloatArray
    common: FloatArray
    own: FloatArray
    n_shadows: int

    @classmethod
    def of(cls, sigma: FloatArray, groups: IntArray, n_shadows: int) -> "GaussianCopies":
        """For columns with correlations ``sigma``, (M, M), and the group of each, (M,)."""
        D = largest_own_parts(sigma, groups, n_shadows)
        regression = np.linalg.solve(sigma, D)
        common = (1.0 + 1.0 / n_shadows) * D - D @ regression
        return cls(np.eye(len(D)) - regression, _factor(common), _factor(D), n_shadows)

    def draw(self, columns: FloatArray, rng: np.random.RandomState) -> FloatArray:
        """Copies of the columns, (n, M): an array of shape (m, n, M)."""
        common = rng.standard_normal(columns.shape) @ self.common.T
        own = rng.standard_normal((self.n_shadows, *columns.shape)) @ self.own.T
        return columns @ self.kept + common + own - own.mean(axis=0)


def _factor(covariance: FloatArray) -> FloatArray:
    """A matrix F with ``F F^T`` the covariance, which may be singular."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def largest_own_parts(sigma: FloatArray, groups: IntArray, n_shadows: int) -> FloatArray:
    """D, (M, M), with a block per group: what copies of a group do not share with it.

    It maximises ``m log det D + log det((m + 1) / m sigma - D)``, the log determinant of the joint
    correlations of columns and copies, group by group: given the other blocks, the best one is
    ``m / (m + 1)`` times the Schur complement of the group.

    Parameters
    ----------
    sigma : ndarray of shape (M, M)
        Correlations of the columns; positive definite.
    groups : int ndarray of shape (M,)
        Group of each column.
    n_shadows : int
        m.
    """
    total = (1.0 + 1.0 / n_shadows) * sigma
    D = np.diag(np.full(len(sigma), 0.5 * np.linalg.eigvalsh(sigma)[0]))
    product = np.empty_like(D)
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    for _ in range(MOST_SWEEPS):
        before = np.diag(D).copy()
        inverse = np.linalg.inv(total - D)
        for columns in members:
            block = np.ix_(columns, columns)
            schur = np.linalg.inv(inverse[block]) + D[block]
            change = n_shadows / (n_shadows + 1.0) * schur - D[block]
            D[block] += change
            beside = inverse[:, columns]
            inner = np.linalg.solve(np.eye(len(columns)) - change @ inverse[block], change)
            inverse += np.matmul(beside @ inner, beside.T, out=product)
        if (np.abs(np.diag(D) - before) < CHANGE * np.diag(D)).all():
            break
    return D

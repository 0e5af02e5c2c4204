"""What is drawn: families p(z | theta) of distributions over feature subsets.

:class:`SubsetDistribution` is the protocol; its members flip one coin per column or group.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from randsub._compile import compiled
from randsub._typing import BoolArray, FloatArray, IntArray, Masks


class SubsetDistribution(ABC):
    """A parametric family p(z | theta) over subsets z of the columns.

    ``theta`` has one entry for each of the ``n_parameters`` things that are drawn: columns, or
    groups of columns. :meth:`expand` turns masks over parameters into masks over columns.

    A custom family defines ``n_parameters``, ``n_columns`` and the five abstract methods.
    :meth:`log_probs` and :meth:`score_sums` have defaults in terms of :meth:`log_prob` and
    :meth:`score`, which a family may override with something faster.
    """

    n_parameters: int
    n_columns: int

    @abstractmethod
    def sample(self, theta: FloatArray, n_masks: int, rng: np.random.Generator) -> BoolArray:
        """Draw masks.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
        n_masks : int
        rng : numpy.random.Generator

        Returns
        -------
        masks : bool ndarray of shape (n_masks, n_parameters)
        """

    @abstractmethod
    def log_prob(self, masks: Masks, theta: FloatArray) -> FloatArray:
        """Log-probability of each mask, shape (n_masks,); finite for every theta in the domain."""

    def log_probs(self, masks: Masks, thetas: FloatArray) -> FloatArray:
        """Log-probability of each mask under several thetas (G, n_parameters): (G, n_masks)."""
        return np.stack([self.log_prob(masks, theta) for theta in thetas])

    @abstractmethod
    def score(self, masks: Masks, theta: FloatArray) -> FloatArray:
        """Gradient of the log-probability in theta, shape (n_masks, n_parameters)."""

    @abstractmethod
    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of the domain, elementwise; theta may have any leading shape."""

    @abstractmethod
    def column_parameters(self) -> IntArray:
        """Index of the parameter of each column, shape (n_columns,)."""

    def expand(self, masks: BoolArray) -> BoolArray:
        """Masks over columns, shape (n_masks, n_columns), from masks over parameters."""
        return masks[:, self.column_parameters()]

    def expected_size(self, theta: FloatArray) -> float:
        """Expected number of columns in a subset, if theta holds marginal probabilities."""
        return float(theta[self.column_parameters()].sum())

    def score_sums(
        self, masks: Masks, theta: FloatArray, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sums of the score and of its square over masks, for several sets of coefficients.

        Parameters
        ----------
        masks : (n_masks, n_parameters)
        theta : ndarray of shape (n_parameters,)
        coefficients : ndarray of shape (k, n_masks)

        Returns
        -------
        first, second : ndarrays of shape (k, n_parameters)
            ``sum_t a_t s_tj`` and ``sum_t a_t s_tj ** 2`` for each row a of ``coefficients``.
        """
        score = self.score(masks, theta)
        return coefficients @ score, coefficients @ score**2


# dtypes of sparse masks; comparing with a dtype is faster than with a type, at every step.
ONES_TYPE, INDEX_TYPE = np.dtype(float), np.dtype(np.int32)


def as_dense(masks: Any) -> Any:
    """Masks as a dense array."""
    return masks.toarray() if issparse(masks) else np.asarray(masks)


def as_sparse(masks: Any) -> csr_array:
    """Masks as sparse rows of ones with 32-bit indices, without a copy if they are already."""
    if (
        isinstance(masks, csr_array)
        and masks.data.dtype == ONES_TYPE
        and masks.indices.dtype == INDEX_TYPE
    ):
        return masks
    dense = as_dense(masks) != 0
    # Five times faster than the constructor of csr_array.
    n_masks, n_parameters = dense.shape
    held = np.flatnonzero(dense)
    rows = csr_array(dense.shape)
    rows.indices = (held % n_parameters).astype(np.int32)
    rows.indptr = np.searchsorted(held, np.arange(n_masks + 1) * n_parameters).astype(np.int32)
    rows.data = np.ones(len(held))
    return rows


# Smaller than any probability that a step can reach, but large enough that rounding errors in a sum
# of weights, times the squared score 1 / EDGE ** 2, stay small.
EDGE = 1e-6
NUMBERS_AT_ONCE = 1_000_000


class IndependentBernoulli(SubsetDistribution):
    """The mathematics that the two families share.

    Parameters
    ----------
    floor : float, default=0.0
        Smallest distance of theta from 0 and from 1. With a floor of 0, both are absorbing: the
        gradient of a feature that is never drawn, or always, is 0.
    """

    def __init__(self, floor: float = 0.0) -> None:
        if not 0.0 <= floor < 0.5:
            raise ValueError(f"floor must be in [0, 0.5), got {floor!r}.")
        self.floor = floor

    def sample(self, theta: FloatArray, n_masks: int, rng: np.random.Generator) -> BoolArray:
        """Draw masks; a parameter at exactly 0 takes no random number."""
        masks = np.zeros((n_masks, self.n_parameters), dtype=bool)
        live = np.flatnonzero(theta > 0.0)
        # A block of rows at a time: the same numbers, without all of them in memory at once.
        rows = max(1, NUMBERS_AT_ONCE // max(len(live), 1))
        for start in range(0, n_masks, rows):
            block = masks[start : start + rows]
            block[:, live] = rng.random((len(block), len(live))) < theta[live]
        return masks

    def log_prob(self, masks: Masks, theta: FloatArray) -> FloatArray:
        """Log-probability of each mask."""
        return self.log_probs(masks, theta[np.newaxis])[0]

    def log_probs(self, masks: Masks, thetas: FloatArray) -> FloatArray:
        """Log-probability of each mask under several thetas."""
        rows = as_sparse(masks)
        return _log_probs(rows.indptr, rows.indices, rows.data, thetas)

    def score(self, masks: Masks, theta: FloatArray) -> FloatArray:
        """Gradient of the log-probability in theta."""
        inside = np.clip(theta, EDGE, 1.0 - EDGE)
        return np.where(as_dense(masks) != 0, 1.0 / inside, -1.0 / (1.0 - inside))

    def project(self, theta: FloatArray) -> FloatArray:
        """Clip to the box."""
        # np.clip takes four times as long on small arrays.
        return np.minimum(np.maximum(theta, self.floor), 1.0 - self.floor)

    def score_sums(
        self, masks: Masks, theta: FloatArray, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sums of the score and of its square, from sums over the masks that hold a parameter."""
        rows = as_sparse(masks)
        return _score_sums(rows.indptr, rows.indices, rows.data, coefficients, theta)


class Bernoulli(IndependentBernoulli):
    """Independent columns: z_j ~ Bernoulli(theta_j).

    Parameters
    ----------
    n_columns : int
        Number of columns of X.
    floor : float, default=0.0
        Smallest distance of theta from 0 and from 1.
    """

    def __init__(self, n_columns: int, floor: float = 0.0) -> None:
        super().__init__(floor)
        if n_columns < 1:
            raise ValueError(f"n_columns must be at least 1, got {n_columns!r}.")
        self.n_columns = int(n_columns)
        self.n_parameters = self.n_columns

    def column_parameters(self) -> IntArray:
        """Every column has its own parameter."""
        return np.arange(self.n_columns)

    def __repr__(self) -> str:
        return f"Bernoulli(n_columns={self.n_columns}, floor={self.floor})"


class GroupedBernoulli(IndependentBernoulli):
    """Independent groups of columns: z_j = b_g(j) with b_g ~ Bernoulli(theta_g).

    Parameters
    ----------
    groups : array-like of int of shape (n_columns,)
        Group of each column, numbered 0, 1, ... without gaps.
    floor : float, default=0.0
        Smallest distance of theta from 0 and from 1.
    """

    def __init__(self, groups: IntArray, floor: float = 0.0) -> None:
        super().__init__(floor)
        groups = np.asarray(groups)
        if groups.ndim != 1 or not np.issubdtype(groups.dtype, np.integer) or not len(groups):
            raise ValueError(
                "groups must hold one integer for each column, got an array of shape "
                f"{groups.shape} and type {groups.dtype}."
            )
        seen = np.unique(groups)
        if not np.array_equal(seen, np.arange(len(seen))):
            raise ValueError(
                "groups must be numbered 0, 1, ... without gaps, got the numbers "
                f"{seen[:10].tolist()}{' ...' if len(seen) > 10 else ''}."
            )
        self.groups = groups
        self.n_columns = len(groups)
        self.n_parameters = len(seen)

    def column_parameters(self) -> IntArray:
        """The group of each column."""
        return self.groups

    def __repr__(self) -> str:
        return (
            f"GroupedBernoulli(n_groups={self.n_parameters}, n_columns={self.n_columns}, "
            f"floor={self.floor})"
        )


@compiled()
def _log_probs(begin, columns, ones, thetas):  # type: ignore[no-untyped-def]
    """Log-probability of masks in sparse rows under several thetas, (G, T)."""
    n_thetas, n_parameters = thetas.shape
    log_odds = np.empty(n_parameters)
    at_edge, beside_edge = np.log(EDGE), np.log1p(-EDGE)
    result = np.empty((n_thetas, len(begin) - 1))
    for g in range(n_thetas):
        nothing_held = 0.0
        for j in range(n_parameters):
            # Most entries of a trained theta are 0: no logarithms for these.
            log_held, log_not_held = at_edge, beside_edge
            theta = thetas[g, j]
            if theta >= 1.0 - EDGE:
                log_held, log_not_held = beside_edge, at_edge
            elif theta > EDGE:
                log_held, log_not_held = np.log(theta), np.log1p(-theta)
            log_odds[j] = log_held - log_not_held
            nothing_held += log_not_held
        for t in range(len(begin) - 1):
            total = nothing_held
            for p in range(begin[t], begin[t + 1]):
                total += ones[p] * log_odds[columns[p]]
            result[g, t] = total
    return result


@compiled()
def _score_sums(begin, columns, ones, coefficients, theta):  # type: ignore[no-untyped-def]
    """Sums of the score and of its square, (k, M) each, over masks in sparse rows."""
    k, n_masks = coefficients.shape
    first = np.zeros((k, len(theta)))
    second = np.empty((k, len(theta)))
    count = np.zeros(len(theta))
    for t in range(n_masks):
        for p in range(begin[t], begin[t + 1]):
            count[columns[p]] += ones[p]
            for row in range(k):
                first[row, columns[p]] += ones[p] * coefficients[row, t]
    for row in range(k):
        total = 0.0
        for t in range(n_masks):
            total += coefficients[row, t]
        for j in range(len(theta)):
            inside = min(max(theta[j], EDGE), 1.0 - EDGE)
            held, not_held = 1.0 / inside, -1.0 / (1.0 - inside)
            over_held = first[row, j]
            # total - held is rounding noise, not zero, where every mask holds the parameter, and
            # the score there may be as large as 1 / EDGE.
            over_rest = 0.0 if count[j] == n_masks else total - over_held
            first[row, j] = over_held * held + over_rest * not_held
            second[row, j] = over_held * held**2 + over_rest * not_held**2
    return first, second


__all__ = ["Bernoulli", "GroupedBernoulli", "SubsetDistribution"]

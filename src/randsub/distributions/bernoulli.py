"""Independent coins: one for each column, or one for each group of columns.

Log-probability and score use theta clipped to ``[EDGE, 1 - EDGE]``, so that they stay finite when
theta reaches 0 or 1; sampling and projection use theta as it is.

The score takes two values a parameter, ``1 / theta`` where the mask holds it and
``-1 / (1 - theta)`` where it does not. Every sum over masks therefore follows from the sum over the
masks that hold the parameter and from the total: O(nnz) work on sparse masks instead of O(T M).
"""

import numpy as np

from randsub._compile import compiled
from randsub._typing import BoolArray, FloatArray, IntArray, Masks
from randsub.distributions.base import SubsetDistribution, as_dense, as_sparse

# Small enough to leave every probability that a step can reach alone; large enough that rounding
# noise in a sum of weights, times the squared score 1 / EDGE ** 2, stays noise.
EDGE = 1e-6
NUMBERS_AT_ONCE = 1_000_000


class IndependentBernoulli(SubsetDistribution):
    """The mathematics that the two families share.

    Parameters
    ----------
    floor : float, default=0.0
        Distance that theta keeps from 0 and from 1. At 0, both are absorbing: a feature that is
        never drawn (or always) shows no contrast, so nothing in the data can move it.
    """

    def __init__(self, floor: float = 0.0) -> None:
        if not 0.0 <= floor < 0.5:
            raise ValueError(f"floor must be in [0, 0.5), got {floor!r}.")
        self.floor = floor

    def sample(self, theta: FloatArray, n_masks: int, rng: np.random.Generator) -> BoolArray:
        """Draw masks; a parameter at exactly 0 is never held and costs no random number."""
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
        # np.clip takes four times as long to find out what is asked of it.
        return np.minimum(np.maximum(theta, self.floor), 1.0 - self.floor)

    def score_sums(
        self, masks: Masks, theta: FloatArray, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sums of the score and of its square, from sums over the masks that hold a parameter."""
        rows = as_sparse(masks)
        return _score_sums(rows.indptr, rows.indices, rows.data, coefficients, theta)


class Bernoulli(IndependentBernoulli):
    """Each column is drawn on its own: z_j ~ Bernoulli(theta_j).

    Parameters
    ----------
    n_columns : int
        Number of columns of X.
    floor : float, default=0.0
        Distance that theta keeps from 0 and from 1.
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
    """The columns of a group are drawn together, with one probability.

    Parameters
    ----------
    groups : array-like of int of shape (n_columns,)
        Group of each column, numbered 0, 1, ... without gaps.
    floor : float, default=0.0
        Distance that theta keeps from 0 and from 1.
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

"""What is drawn: families p(z | theta) of distributions over feature subsets.

:class:`SubsetDistribution` is the protocol; its members flip one coin per column or group.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from randsub._compile import compiled
from randsub._masks import as_dense, as_sparse, sparse_rows
from randsub._typing import FloatArray, IntArray, Masks


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
    # Whether the parameters are drawn independently of each other, so that those that no mask holds
    # can be left out of masks and theta alike.
    is_independent: ClassVar[bool] = False

    @abstractmethod
    def sample(self, theta: FloatArray, n_masks: int, rng: np.random.Generator) -> Masks:
        """Draw masks.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
        n_masks : int
        rng : numpy.random.Generator

        Returns
        -------
        masks : bool ndarray or csr_array of ones, of shape (n_masks, n_parameters)
        """

    @abstractmethod
    def log_prob(self, masks: Masks, theta: FloatArray) -> FloatArray:
        """Log-probability of each mask, shape (n_masks,); finite for every theta in the domain."""

    def log_probs(self, masks: Masks, thetas: FloatArray) -> FloatArray:
        """Log-probability of each mask under several thetas (G, n_parameters): (G, n_masks)."""
        return np.stack([self.log_prob(masks, theta) for theta in thetas])

    def log_probs_held(
        self, masks: csr_array, parameters: IntArray, thetas: FloatArray
    ) -> FloatArray:
        """Log-probability of masks over some of the parameters, which hold none of the others.

        Parameters
        ----------
        masks : csr_array of shape (n_masks, m)
        parameters : int ndarray of shape (m,)
            The parameter of each column of ``masks``; of an independent family.
        thetas : ndarray of shape (G, n_parameters)

        Returns
        -------
        log_probs : ndarray of shape (G, n_masks)
        """
        part = thetas[:, parameters]
        logs = self.log_probs(masks, part)
        for of_theta, theta, held in zip(logs, thetas, part, strict=True):
            of_theta += self.log_prob_empty(theta) - self.log_prob_empty(held)
        return logs

    @abstractmethod
    def score(self, masks: Masks, theta: FloatArray) -> FloatArray:
        """Gradient of the log-probability in theta, shape (n_masks, n_parameters)."""

    def log_prob_empty(self, theta: FloatArray) -> float:
        """Log-probability of the empty mask."""
        return float(self.log_prob(np.zeros((1, len(theta)), dtype=bool), theta)[0])

    @abstractmethod
    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of the domain, elementwise; theta may have any leading shape."""

    @abstractmethod
    def column_parameters(self) -> IntArray:
        """Index of the parameter of each column, shape (n_columns,)."""

    def expand(self, masks: Masks) -> Masks:
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


# No larger than any probability that a step or a revival reaches, but large enough that rounding
# errors in a sum of weights, times the squared score 1 / EDGE ** 2, stay small.
EDGE = 1e-6
# Factors whose product is far from underflow if each is at least EDGE.
FACTORS_PER_LOG = 40


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

    is_independent: ClassVar[bool] = True

    def sample(self, theta: FloatArray, n_masks: int, rng: np.random.Generator) -> csr_array:
        """Draw masks, as sparse rows; a parameter at exactly 0 takes no random number."""
        begin, held = _drawn(np.ascontiguousarray(theta), n_masks, rng)
        return sparse_rows(begin, held, self.n_parameters)

    def log_prob_empty(self, theta: FloatArray) -> float:
        """Log-probability of the empty mask."""
        return float(_log_prob_empty(np.ascontiguousarray(theta)))

    def log_prob(self, masks: Masks, theta: FloatArray) -> FloatArray:
        """Log-probability of each mask."""
        return self.log_probs(masks, theta[np.newaxis])[0]

    def log_probs(self, masks: Masks, thetas: FloatArray) -> FloatArray:
        """Log-probability of each mask under several thetas."""
        rows = as_sparse(masks)
        return _log_probs(rows.indptr, rows.indices, rows.data, thetas)

    def log_probs_held(
        self, masks: csr_array, parameters: IntArray, thetas: FloatArray
    ) -> FloatArray:
        """The same in one compiled call: it is made for every step and every round."""
        return _log_probs_held(masks.indptr, masks.indices, masks.data, parameters, thetas)

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

    def expand(self, masks: Masks) -> Masks:
        """The masks themselves."""
        return masks

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
def _drawn(theta, n_masks, rng):  # type: ignore[no-untyped-def]
    """Independent draws in sparse rows: where each begins, and the parameters of all masks.

    One parameter after the other. From one mask that holds it to the next, the number of masks
    that do not is geometric, so the work is in proportion to what is held and not to all masks.
    """
    room = int(1.1 * n_masks * theta.sum()) + 1000
    masks, parameters = np.empty(room, np.int32), np.empty(room, np.int32)
    begin = np.zeros(n_masks + 1, np.int64)
    n = 0
    for j in range(len(theta)):
        if theta[j] <= 0.0:
            continue
        if n + n_masks > room:
            room = 2 * room + n_masks
            masks = np.append(masks[:n], np.empty(room - n, np.int32))
            parameters = np.append(parameters[:n], np.empty(room - n, np.int32))
        scale, u = 0.0, 0.0
        if theta[j] < 1.0:
            u = rng.random()
            # Most parameters of a wide problem are in no mask: no logarithm for these.
            if u >= theta[j] * n_masks:
                continue
            scale = 1.0 / np.log1p(-theta[j])
        t = int(min(np.log1p(-u) * scale, n_masks))
        while t < n_masks:
            masks[n], parameters[n] = t, j
            begin[t + 1] += 1
            n += 1
            t += 1
            if theta[j] < 1.0:
                t += int(min(np.log1p(-rng.random()) * scale, n_masks))
    for t in range(n_masks):
        begin[t + 1] += begin[t]
    place = begin[:-1].copy()
    held = np.empty(n, np.int32)
    for i in range(n):
        held[place[masks[i]]] = parameters[i]
        place[masks[i]] += 1
    return begin, held


@compiled()
def _log_prob_empty(theta):  # type: ignore[no-untyped-def]
    """Sum of log(1 - theta), a logarithm per product of several factors."""
    total = 0.0
    for start in range(0, len(theta), FACTORS_PER_LOG):
        product = 1.0
        for j in range(start, min(start + FACTORS_PER_LOG, len(theta))):
            product *= 1.0 - min(max(theta[j], EDGE), 1.0 - EDGE)
        total += np.log(product)
    return total


@compiled()
def _log_odds(theta):  # type: ignore[no-untyped-def]
    inside = min(max(theta, EDGE), 1.0 - EDGE)
    return np.log(inside / (1.0 - inside))


@compiled()
def _log_probs(begin, columns, ones, thetas):  # type: ignore[no-untyped-def]
    """Log-probability of masks in sparse rows under several thetas, (G, T)."""
    n_thetas, n_parameters = thetas.shape
    log_odds = np.empty(n_parameters)
    # Whichever are fewer: logarithms of all parameters, or of all entries of the masks.
    by_parameter = n_parameters <= len(columns)
    result = np.empty((n_thetas, len(begin) - 1))
    for g in range(n_thetas):
        empty = _log_prob_empty(thetas[g])
        if by_parameter:
            for j in range(n_parameters):
                log_odds[j] = _log_odds(thetas[g, j])
        for t in range(len(begin) - 1):
            total = empty
            for p in range(begin[t], begin[t + 1]):
                if by_parameter:
                    total += ones[p] * log_odds[columns[p]]
                else:
                    total += ones[p] * _log_odds(thetas[g, columns[p]])
            result[g, t] = total
    return result


@compiled()
def _log_probs_held(begin, columns, ones, parameters, thetas):  # type: ignore[no-untyped-def]
    """The same for masks over some parameters; all thetas have those of the others, too."""
    held = np.empty((len(thetas), len(parameters)))
    for g in range(len(thetas)):
        for i in range(len(parameters)):
            held[g, i] = thetas[g, parameters[i]]
    result = _log_probs(begin, columns, ones, held)
    for g in range(len(thetas)):
        others = _log_prob_empty(thetas[g]) - _log_prob_empty(held[g])
        for t in range(result.shape[1]):
            result[g, t] += others
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

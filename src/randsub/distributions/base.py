"""The protocol of a distribution over feature subsets."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from randsub._typing import BoolArray, FloatArray, IntArray, Masks


class SubsetDistribution(ABC):
    """A parametric family p(z | theta) over subsets z of the columns.

    Parameters live in *parameter space*: ``theta`` has one entry for each of the
    ``n_parameters`` things that are drawn (a column, a group of columns). A mask over
    parameters is turned into a mask over columns by :meth:`expand`.

    A family of one's own needs ``n_parameters``, ``n_columns`` and the five abstract methods;
    :meth:`log_probs` and :meth:`score_sums` have defaults in terms of :meth:`log_prob` and
    :meth:`score` that a family may replace by something faster.
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
        """Index of the parameter that decides over each column, shape (n_columns,)."""

    def expand(self, masks: BoolArray) -> BoolArray:
        """Masks over columns, shape (n_masks, n_columns), from masks over parameters."""
        return masks[:, self.column_parameters()]

    def expected_size(self, theta: FloatArray) -> float:
        """Expected number of columns in a subset, where theta holds marginal probabilities."""
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


# Of sparse masks; they are compared at every step, and a type is found more slowly than a dtype.
ONES_TYPE, INDEX_TYPE = np.dtype(float), np.dtype(np.int32)


def as_dense(masks: Any) -> Any:
    """Masks as a dense array, whatever they were."""
    return masks.toarray() if issparse(masks) else np.asarray(masks)


def as_sparse(masks: Any) -> csr_array:
    """Masks as sparse rows of ones with 32-bit indices; those that are, as they are."""
    if (
        isinstance(masks, csr_array)
        and masks.data.dtype == ONES_TYPE
        and masks.indices.dtype == INDEX_TYPE
    ):
        return masks
    dense = as_dense(masks) != 0
    # What the constructor does, at a fifth of the time.
    n_masks, n_parameters = dense.shape
    held = np.flatnonzero(dense)
    rows = csr_array(dense.shape)
    rows.indices = (held % n_parameters).astype(np.int32)
    rows.indptr = np.searchsorted(held, np.arange(n_masks + 1) * n_parameters).astype(np.int32)
    rows.data = np.ones(len(held))
    return rows

"""Smoothness: neighbours should have similar probabilities."""

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from randsub._numbers import check_number
from randsub._typing import BoolArray, FloatArray, IntArray, Projection
from randsub.penalties.base import Penalty
from randsub.penalties.total_variation import Graph, make_graph, smooth


class FusedLasso(Penalty):
    """``lam * sum_(a, b) w_ab |theta_a - theta_b|``, over the edges (a, b) of a graph.

    Parameters
    ----------
    lam : float
    edges : array-like of int of shape (n_edges, 2), or sparse matrix of shape (M, M)
        Pairs of neighbouring features, in either order; a pair that is listed twice counts twice.
        Or a symmetric adjacency matrix whose entries are the weights of the edges. Its diagonal is
        ignored, so that the result of :func:`sklearn.feature_extraction.image.grid_to_graph` can be
        used.
    weights : array-like of shape (n_edges,), default=None
        Non-negative w; 1 for each edge by default. Must be None with an adjacency matrix.

    Notes
    -----
    Subgradient steps pull neighbours together but never make them equal. With
    ``Solver(optimizer="prox_adam")`` or ``"prox_gradient"`` they become equal, to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> from randsub.penalties import FusedLasso
    >>> chain = FusedLasso(0.1, [[0, 1], [1, 2]])
    >>> round(chain.value(np.array([[0.5, 0.7, 0.2]])), 3)
    0.07
    """

    # Set by for_fit.
    _built: Graph | None = None

    def __init__(self, lam: float, edges: Any, weights: ArrayLike | None = None) -> None:
        self.lam = lam
        self.edges = edges
        self.weights = weights

    @classmethod
    def grid(cls, lam: float, height: int, width: int, channels: int = 1) -> Self:
        """A penalty on the 4-neighbours of an image of height x width pixels in row-major order.

        Parameters
        ----------
        lam : float
        height, width : int
        channels : int, default=1
            Number of values per pixel, as in an array of shape (height, width, channels). Channels
            are separate images.

        Returns
        -------
        penalty : FusedLasso
        """
        if height < 1 or width < 1 or channels < 1:
            raise ValueError(
                f"height and width must be at least 1, got {height!r} and {width!r}"
                + ("." if channels == 1 else f"; so must channels, got {channels!r}.")
            )
        pixel = np.arange(height * width * channels).reshape(height, width, channels)
        down = np.stack([pixel[:-1].ravel(), pixel[1:].ravel()], axis=1)
        right = np.stack([pixel[:, :-1].ravel(), pixel[:, 1:].ravel()], axis=1)
        return cls(lam, np.concatenate([down, right]))

    def check(self, n_parameters: int) -> None:
        """``lam`` must not be negative and the edges must join existing features."""
        check_number(self, "lam", 0.0)
        if sparse.issparse(self.edges):
            self._check_adjacency(n_parameters)
            return
        edges = np.asarray(self.edges)
        if edges.ndim and edges.size == 0:
            self._check_weights(0)
            return
        if edges.ndim != 2 or edges.shape[1] != 2 or not np.issubdtype(edges.dtype, np.integer):
            raise ValueError(
                "FusedLasso needs edges of shape (n_edges, 2) and integer type, or a sparse "
                f"adjacency matrix, got shape {edges.shape} and type {edges.dtype}."
            )
        self._check_weights(len(edges))
        if edges.min() < 0 or edges.max() >= n_parameters:
            raise ValueError(
                f"FusedLasso has edges between features {edges.min()} and {edges.max()}, but "
                f"features are numbered 0 to {n_parameters - 1}."
            )

    def _check_adjacency(self, n_parameters: int) -> None:
        if self.weights is not None:
            raise ValueError(
                "FusedLasso got weights beside an adjacency matrix; put them into the matrix."
            )
        if self.edges.shape != (n_parameters, n_parameters):
            raise ValueError(
                f"FusedLasso has an adjacency matrix of shape {self.edges.shape}, but there are "
                f"{n_parameters} features or groups."
            )
        # Not all formats hold their entries in one array.
        adjacency = self.edges.tocsr()
        strange = self._strange(adjacency.data)
        if len(strange):
            raise ValueError(
                "FusedLasso needs an adjacency matrix of finite weights that are not negative, got "
                f"{strange[:5].tolist()}."
            )
        if abs(adjacency - adjacency.T).max() > 0:
            raise ValueError(
                "FusedLasso needs a symmetric adjacency matrix A, and this one is not; take "
                "A.maximum(A.T) to join features of which either names the other."
            )

    def _check_weights(self, n_edges: int) -> None:
        if self.weights is None:
            return
        weights = np.asarray(self.weights)
        if weights.shape != (n_edges,) or not np.issubdtype(weights.dtype, np.number):
            raise ValueError(
                f"FusedLasso needs one weight for each of its {n_edges} edges, got an array of "
                f"shape {weights.shape} and type {weights.dtype}."
            )
        if len(self._strange(weights)):
            raise ValueError(
                "FusedLasso needs finite weights that are not negative, got "
                f"{self._strange(weights)[:5].tolist()}."
            )

    @staticmethod
    def _strange(weights: Any) -> Any:
        return weights[~(np.isfinite(weights) & (weights >= 0))]

    def for_fit(self, sizes: IntArray) -> Self:
        """A copy that holds the graph, which is then not built at every step."""
        bound = copy(self)
        bound._built = self._graph(len(sizes))
        return bound

    def value(self, theta: FloatArray) -> float:
        """``lam`` times the total variation over the graph."""
        graph = self._graph(theta.shape[1])
        return float((graph.weights * np.abs(theta[:, graph.a] - theta[:, graph.b])).sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Sum of ``lam w_ab sign(theta_a - theta_b)`` over the edges of each feature."""
        graph = self._graph(theta.shape[1])
        pull = graph.weights * np.sign(theta[:, graph.a] - theta[:, graph.b])
        gradient = np.zeros_like(theta)
        for row, force in zip(gradient, pull, strict=True):
            row += np.bincount(graph.a, force, minlength=len(row))
            row -= np.bincount(graph.b, force, minlength=len(row))
        return gradient

    @property
    def has_prox(self) -> bool:
        """Yes."""
        return True

    def prox(
        self, theta: FloatArray, step: FloatArray, fixed: BoolArray, project: Projection
    ) -> FloatArray:
        """Total variation denoising of each task, then a projection.

        Projecting last is exact: which entries lie above a level does not depend on other levels,
        so the ends of the domain just cut levels off.
        """
        graph = self._graph(theta.shape[1])
        rows = [
            smooth(values, 1.0 / length, graph, kept)
            for values, length, kept in zip(theta, step, fixed, strict=True)
        ]
        return np.where(fixed, theta, project(np.array(rows)))

    def _graph(self, n_parameters: int) -> Graph:
        """The edges, each with ``lam`` times its weight."""
        # Compiled code follows the graph unchecked, so it never comes from a model file.
        if isinstance(self._built, Graph):
            return self._built
        if sparse.issparse(self.edges):
            above = sparse.triu(self.edges, k=1, format="coo")
            a, b, weights = above.row.astype(np.intp), above.col.astype(np.intp), above.data
        else:
            a, b = np.asarray(self.edges, dtype=np.intp).reshape(-1, 2).T
            weights = np.ones(len(a)) if self.weights is None else np.asarray(self.weights, float)
        return make_graph(a, b, self.lam * weights, n_parameters)

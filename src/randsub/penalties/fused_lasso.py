"""Smoothness: neighbours should have similar probabilities."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from randsub._numbers import check_number
from randsub._typing import BoolArray, FloatArray, IntArray, Projection
from randsub.penalties.base import Penalty
from randsub.penalties.total_variation import smooth


class FusedLasso(Penalty):
    """``lam`` times the sum of ``w_ab |theta_a - theta_b|`` over the edges (a, b) of a graph.

    Parameters
    ----------
    lam : float
    edges : array-like of int of shape (n_edges, 2), or sparse matrix of shape (M, M)
        Pairs of neighbouring features, in either order, a pair that is listed twice counting twice;
        or a symmetric adjacency matrix of all features, whose entries are the weights of the edges.
        What is on its diagonal does not matter, so that
        :func:`sklearn.feature_extraction.image.grid_to_graph` can be given as it is.
    weights : array-like of shape (n_edges,), default=None
        w, not negative; 1 for each edge by default. Not with an adjacency matrix, which has its
        own.

    Notes
    -----
    A subgradient pulls neighbours together but never makes them equal. With
    ``optimizer="prox_adam"`` or ``"prox_gradient"`` they become equal, to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> from randsub.penalties import FusedLasso
    >>> chain = FusedLasso(0.1, [[0, 1], [1, 2]])
    >>> round(chain.value(np.array([[0.5, 0.7, 0.2]])), 3)
    0.07
    """

    def __init__(self, lam: float, edges: Any, weights: ArrayLike | None = None) -> None:
        self.lam = lam
        self.edges = edges
        self.weights = weights

    @classmethod
    def grid(cls, lam: float, height: int, width: int, channels: int = 1) -> Self:
        """Neighbours on an image of height x width pixels, its rows laid end to end.

        Parameters
        ----------
        lam : float
        height, width : int
        channels : int, default=1
            Numbers of each pixel, one after the other, as in an array of shape
            (height, width, channels); each channel is an image of its own.

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
        """The coefficient must be usable and the edges must join features that exist."""
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
                "FusedLasso was given weights beside an adjacency matrix; put them into the matrix."
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

    def value(self, theta: FloatArray) -> float:
        """``lam`` times the total variation over the graph."""
        a, b, weights = self._graph()
        return float((weights * np.abs(theta[:, a] - theta[:, b])).sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Each edge pulls its ends together with its force; equal ends feel nothing."""
        a, b, weights = self._graph()
        pull = weights * np.sign(theta[:, a] - theta[:, b])
        gradient = np.zeros_like(theta)
        for row, force in zip(gradient, pull, strict=True):
            row += np.bincount(a, force, minlength=len(row))
            row -= np.bincount(b, force, minlength=len(row))
        return gradient

    @property
    def has_prox(self) -> bool:
        """Yes."""
        return True

    def prox(
        self, theta: FloatArray, step: FloatArray, fixed: BoolArray, project: Projection
    ) -> FloatArray:
        """Neighbours become equal where nothing stronger than the edges holds them apart.

        Projection comes last and is exact: which entries lie above a level does not depend on what
        happens at other levels, so the domain's ends just cut levels off.
        """
        a, b, weights = self._graph()
        rows = [
            smooth(values, 1.0 / length, a, b, weights, kept)
            for values, length, kept in zip(theta, step, fixed, strict=True)
        ]
        return np.where(fixed, theta, project(np.array(rows)))

    def _graph(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Both ends of each edge, and ``lam`` times its weight."""
        if sparse.issparse(self.edges):
            above = sparse.triu(self.edges, k=1, format="coo")
            return above.row.astype(np.intp), above.col.astype(np.intp), self.lam * above.data
        edges = np.asarray(self.edges, dtype=np.intp).reshape(-1, 2)
        weights = np.ones(len(edges)) if self.weights is None else np.asarray(self.weights, float)
        return edges[:, 0], edges[:, 1], self.lam * weights

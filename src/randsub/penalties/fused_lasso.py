"""Smoothness: neighbours should have similar probabilities."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from randsub._numbers import check_number
from randsub._typing import FloatArray, IntArray
from randsub.penalties.base import Penalty


class FusedLasso(Penalty):
    """``lam`` times the sum of ``|theta_a - theta_b|`` over the edges (a, b) of a graph.

    Parameters
    ----------
    lam : float
    edges : array-like of int of shape (n_edges, 2)
        Pairs of neighbouring features.
    """

    def __init__(self, lam: float, edges: ArrayLike) -> None:
        self.lam = lam
        self.edges = edges

    @classmethod
    def grid(cls, lam: float, height: int, width: int) -> Self:
        """Neighbours on an image of height x width pixels, its rows laid end to end."""
        if height < 1 or width < 1:
            raise ValueError(f"height and width must be at least 1, got {height!r} and {width!r}.")
        pixel = np.arange(height * width).reshape(height, width)
        down = np.stack([pixel[:-1].ravel(), pixel[1:].ravel()], axis=1)
        right = np.stack([pixel[:, :-1].ravel(), pixel[:, 1:].ravel()], axis=1)
        return cls(lam, np.concatenate([down, right]))

    def check(self, n_parameters: int) -> None:
        """The coefficient must be usable and the edges must join features that exist."""
        check_number(self, "lam", 0.0)
        edges = np.asarray(self.edges)
        if edges.size == 0:
            return
        if edges.ndim != 2 or edges.shape[1] != 2 or not np.issubdtype(edges.dtype, np.integer):
            raise ValueError(
                "FusedLasso needs edges of shape (n_edges, 2) and integer type, got shape "
                f"{edges.shape} and type {edges.dtype}."
            )
        if edges.min() < 0 or edges.max() >= n_parameters:
            raise ValueError(
                f"FusedLasso has edges between features {edges.min()} and {edges.max()}, but "
                f"features are numbered 0 to {n_parameters - 1}."
            )

    def value(self, theta: FloatArray) -> float:
        """``lam`` times the total variation over the graph."""
        a, b = self._ends()
        return float(self.lam * np.abs(theta[:, a] - theta[:, b]).sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Each edge pulls its ends together with force ``lam``; equal ends feel nothing."""
        a, b = self._ends()
        pull = self.lam * np.sign(theta[:, a] - theta[:, b])
        gradient = np.zeros_like(theta)
        for row, force in zip(gradient, pull, strict=True):
            row += np.bincount(a, force, minlength=len(row))
            row -= np.bincount(b, force, minlength=len(row))
        return gradient

    def _ends(self) -> tuple[IntArray, IntArray]:
        edges = np.asarray(self.edges, dtype=np.intp).reshape(-1, 2)
        return edges[:, 0], edges[:, 1]

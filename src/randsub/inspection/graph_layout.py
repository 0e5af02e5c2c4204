"""Positions of the nodes of a drawn graph.

Connected components are laid out one by one, so that distances in the drawing are close to
distances along the links (the stress of Kamada and Kawai, minimised by majorisation), and then
placed side by side. The layout is deterministic.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, shortest_path
from sklearn.decomposition import PCA

from randsub._typing import FloatArray, IntArray

_STEPS = 200
# Distance between two components, in lengths of a link.
_MARGIN = 1.0


def place_nodes(ends: IntArray, n_nodes: int, aspect: float) -> FloatArray:
    """Positions of the nodes of a graph, in lengths of a link.

    Parameters
    ----------
    ends : int ndarray of shape (2, n_links)
        The two nodes of each link.
    n_nodes : int
    aspect : float
        Width of the axes divided by their height.

    Returns
    -------
    positions : ndarray of shape (n_nodes, 2)
    """
    ones = np.ones(ends.shape[1])
    graph = coo_array((ones, tuple(ends)), shape=(n_nodes, n_nodes)).tocsr()
    distances = shortest_path(graph, directed=False, unweighted=True)
    n_components, labels = connected_components(graph, directed=False)
    members = [np.flatnonzero(labels == label) for label in range(n_components)]
    # Large components first; of equal ones the one with the first node.
    members.sort(key=lambda nodes: (-len(nodes), nodes[0]))
    blocks = [_unstressed(distances[np.ix_(nodes, nodes)]) for nodes in members]
    positions = np.empty((n_nodes, 2))
    for nodes, block, corner in zip(members, blocks, _shelves(blocks, aspect), strict=True):
        positions[nodes] = block - block.min(axis=0) + corner
    return positions


def legible(places: FloatArray, lengths: Sequence[int], letter: tuple[float, float]) -> list[int]:
    """Indices of the names that can be written without overlap; earlier names are preferred.

    Parameters
    ----------
    places : ndarray of shape (n, 2)
        Centre of each name.
    lengths : sequence of int
        Number of letters of each name.
    letter : (float, float)
        Width and height of a letter, in the units of the places.
    """
    sizes = np.column_stack([np.multiply(lengths, letter[0]), np.full(len(lengths), letter[1])])
    kept: list[int] = []
    for k, (place, size) in enumerate(zip(places, sizes, strict=True)):
        apart = np.abs(places[kept] - place) >= (sizes[kept] + size) / 2.0
        if apart.any(axis=1).all():
            kept.append(k)
    return kept


def _unstressed(distances: FloatArray) -> FloatArray:
    """Points (n, 2) whose distances are close to the given ones, by stress majorisation."""
    n = len(distances)
    if n == 1:
        return np.zeros((1, 2))
    goal = distances.copy()
    np.fill_diagonal(goal, 1.0)
    # Errors are relative to the distance: it matters most between neighbours.
    weights = goal**-2.0
    np.fill_diagonal(weights, 0.0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    angles = 2.0 * np.pi * np.arange(n) / n
    points = np.column_stack([np.cos(angles), np.sin(angles)]) * goal.max() / 2.0
    for _ in range(_STEPS):
        apart = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
        pull = -weights * goal / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = inverse @ (pull @ points)
    # Rotated so that the points spread most from left to right.
    return PCA(n_components=2).fit_transform(points)


def _shelves(blocks: list[FloatArray], aspect: float) -> list[FloatArray]:
    """Lower left corner of each block, from left to right in rows of similar width."""
    sizes = [np.ptp(block, axis=0) + _MARGIN for block in blocks]
    width = max(
        float(np.sqrt(aspect * sum(size.prod() for size in sizes))), max(s[0] for s in sizes)
    )
    corners, left, bottom, height = [], 0.0, 0.0, 0.0
    for size in sizes:
        if left and left + size[0] > width * 1.05:
            left, bottom, height = 0.0, bottom - height, 0.0
        corners.append(np.array([left, bottom - size[1]]))
        left, height = left + size[0], max(height, size[1])
    return corners

"""Where the nodes of a drawn graph go.

Connected parts are laid out one by one, so that distances on paper are close to distances along the
links (the stress of Kamada and Kawai, made smaller step by step by majorisation), and then set side
by side. Nothing is drawn at random.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, shortest_path

from randsub._typing import FloatArray, IntArray

_STEPS = 200
# Between two parts, in lengths of a link.
_MARGIN = 1.0


def place_nodes(sources: IntArray, targets: IntArray, n_nodes: int, aspect: float) -> FloatArray:
    """Positions of the nodes of a graph, in lengths of a link.

    Parameters
    ----------
    sources, targets : int ndarrays of shape (n_links,)
        The nodes that each link joins.
    n_nodes : int
    aspect : float
        Width of the paper divided by its height.

    Returns
    -------
    positions : ndarray of shape (n_nodes, 2)
    """
    ones = np.ones(len(sources))
    graph = coo_array((ones, (sources, targets)), shape=(n_nodes, n_nodes)).tocsr()
    distances = shortest_path(graph, directed=False, unweighted=True)
    _, parts = connected_components(graph, directed=False)
    members = [np.flatnonzero(parts == part) for part in range(parts.max() + 1)]
    # Large parts first; of equal ones that with the first node.
    members.sort(key=lambda nodes: (-len(nodes), nodes[0]))
    blocks = [_unstressed(distances[np.ix_(nodes, nodes)]) for nodes in members]
    positions = np.empty((n_nodes, 2))
    for nodes, block, corner in zip(members, blocks, _shelves(blocks, aspect), strict=True):
        positions[nodes] = block - block.min(axis=0) + corner
    return positions


def _unstressed(distances: FloatArray) -> FloatArray:
    """Points (n, 2) about as far apart as they should be, by stress majorisation."""
    n = len(distances)
    if n == 1:
        return np.zeros((1, 2))
    goal = distances.copy()
    np.fill_diagonal(goal, 1.0)
    # Errors count relative to the distance: neighbours must be right, the far ones may be off.
    weights = goal**-2.0
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    angles = 2.0 * np.pi * np.arange(n) / n
    points = np.column_stack([np.cos(angles), np.sin(angles)]) * goal.max() / 2.0
    for _ in range(_STEPS):
        apart = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
        pull = -weights * goal / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = inverse @ (pull @ points)
    return _lying(points)


def _lying(points: FloatArray) -> FloatArray:
    """The points turned so that they spread most from left to right."""
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    # The sign of an axis is arbitrary, and must not depend on the library that found it.
    axes *= np.where(axes[:, :1] + 1e-9 * axes[:, 1:] < 0.0, -1.0, 1.0)
    return centred @ axes.T


def _shelves(blocks: list[FloatArray], aspect: float) -> list[FloatArray]:
    """Lower left corner of each block, from left to right in rows of about one width."""
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

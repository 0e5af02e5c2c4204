"""What stands in a file for objects that a list of trusted types cannot do justice to.

pandas' frames have no safe form of their own. The trees of scikit-learn's compiled code do, but
their numbers are addresses: code that follows them does not look where they lead, so that trusting
the *type* of a tree found in a file would mean to trust every number in it. A decision tree is
therefore kept as its arrays, which are checked before a tree is made of them again; a tree of
neighbours is built again from its points, which gives the same tree.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import BallTree, KDTree
from sklearn.tree._tree import TREE_LEAF, Tree

from randsub._typing import FloatArray, IntArray
from randsub.persistence.exchange import Copy, Swap
from randsub.persistence.frames import StoredFrame, pack, unpack

NEIGHBOR_TREES = {"KDTree": KDTree, "BallTree": BallTree}
# Distances that are known by a name and, in one case, an exponent.
METRICS = {
    "EuclideanDistance64": "euclidean",
    "ManhattanDistance64": "manhattan",
    "ChebyshevDistance64": "chebyshev",
    "MinkowskiDistance64": "minkowski",
}


@dataclass
class StoredTree:
    """A decision tree of scikit-learn.

    Parameters
    ----------
    n_features : int
    n_classes : int ndarray of shape (n_outputs,)
    n_outputs : int
    max_depth : int
    nodes : structured ndarray of shape (n_nodes,)
    values : ndarray of shape (n_nodes, n_outputs, most classes of an output)
    """

    n_features: int
    n_classes: IntArray
    n_outputs: int
    max_depth: int
    nodes: np.ndarray[Any, Any]
    values: FloatArray

    @classmethod
    def of(cls, tree: Any) -> "StoredTree":
        """The arrays of a tree."""
        _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
        count = state["node_count"]
        return cls(
            int(n_features),
            np.array(n_classes),
            int(n_outputs),
            int(state["max_depth"]),
            np.array(state["nodes"][:count]),
            np.array(state["values"][:count]),
        )

    def restore(self) -> Any:
        """A tree, if every number in it leads to a place within it."""
        self._check_outputs()
        self._check_nodes()
        tree = Tree(self.n_features, self.n_classes.astype(np.intp), self.n_outputs)
        tree.__setstate__(
            {
                "max_depth": self.max_depth,
                "node_count": len(self.nodes),
                "nodes": self.nodes,
                "values": self.values,
            }
        )
        return tree

    def _check_outputs(self) -> None:
        shape = (len(self.nodes), self.n_outputs, int(self.n_classes.max(initial=1)))
        if (
            self.n_classes.shape != (self.n_outputs,)
            or self.n_outputs < 1
            or self.n_classes.min() < 1
            or self.values.shape != shape
        ):
            raise ValueError("a decision tree in it has values of an impossible shape")

    def _check_nodes(self) -> None:
        n_nodes = len(self.nodes)
        inner = np.flatnonzero(self.nodes["left_child"] != TREE_LEAF)
        left, right = self.nodes["left_child"][inner], self.nodes["right_child"][inner]
        feature, children = self.nodes["feature"][inner], np.concatenate([left, right])
        if (
            n_nodes == 0
            # Children come after their parent, and have but one: there is a way down, and an end.
            or (left <= inner).any()
            or (right <= inner).any()
            or (children >= n_nodes).any()
            or len(np.unique(children)) < len(children)
            or (feature < 0).any()
            or (feature >= self.n_features).any()
            or _depth(left, right, inner, n_nodes) > self.max_depth
        ):
            raise ValueError("a decision tree in it has branches that lead nowhere")


def _depth(left: IntArray, right: IntArray, inner: IntArray, n_nodes: int) -> int:
    depth = [0] * n_nodes
    for a, b, parent in zip(left.tolist(), right.tolist(), inner.tolist(), strict=True):
        depth[a] = depth[b] = depth[parent] + 1
    return max(depth)


@dataclass
class StoredNeighbors:
    """A tree in which scikit-learn looks for neighbours.

    Parameters
    ----------
    kind : {"KDTree", "BallTree"}
    points : ndarray of shape (n, M)
    leaf_size : int
    metric : str
    p : float
        Exponent of Minkowski's distance.
    weights : ndarray of shape (n,) or None
    """

    kind: Literal["KDTree", "BallTree"]
    points: FloatArray
    leaf_size: int
    metric: str
    p: float
    weights: FloatArray | None

    @classmethod
    def of(cls, tree: Any) -> "StoredNeighbors | None":
        """What a tree was built from; None for a distance of the user's own."""
        state = tree.__getstate__()
        points, leaf_size, metric, weights = state[0], state[4], state[11], state[12]
        p, vector, matrix = metric.__getstate__()[:3]
        name = METRICS.get(type(metric).__name__)
        plain = name is not None and vector.size <= 1 and matrix.size <= 1
        if not plain or type(tree) is not NEIGHBOR_TREES.get(type(tree).__name__):
            return None
        kind: Any = type(tree).__name__
        weights = None if weights is None else np.asarray(weights)
        return cls(kind, np.asarray(points), int(leaf_size), str(name), float(p), weights)

    def restore(self) -> Any:
        """The same tree, built again."""
        if self.metric not in METRICS.values():
            raise ValueError(f"it asks for the distance {self.metric!r}, which is not known")
        parameters = {"p": self.p} if self.metric == "minkowski" else {}
        metric = DistanceMetric.get_metric(self.metric, **parameters)
        build = NEIGHBOR_TREES[self.kind]
        return build(
            self.points, leaf_size=self.leaf_size, metric=metric, sample_weight=self.weights
        )


@dataclass
class StoredMapping:
    """A dictionary whose keys are not all strings, or all whole numbers."""

    keys: list[Any]
    values: list[Any]


def stand_in(obj: Any) -> Swap | None:
    """What is stored in place of an object, if it is not the object itself."""
    if isinstance(obj, pd.DataFrame | pd.Series | pd.Index):
        return Swap(pack(obj))
    if type(obj) is Tree:
        return Swap(StoredTree.of(obj))
    if isinstance(obj, KDTree | BallTree):
        stored = StoredNeighbors.of(obj)
        return None if stored is None else Swap(stored)
    # Workers leave maps of files behind that are gone tomorrow.
    if isinstance(obj, np.memmap):
        return Swap(np.array(obj))
    if type(obj) is dict and not ({str} >= set(map(type, obj)) or {int} >= set(map(type, obj))):
        return _mapping(obj)
    return None


def _mapping(obj: dict[Any, Any]) -> Swap:
    stored = StoredMapping([], [])

    def fill(copy: Copy) -> None:
        stored.keys.extend(copy(list(obj)))
        stored.values.extend(copy(list(obj.values())))

    return Swap(stored, fill)


def original(obj: Any) -> Swap | None:
    """What a stand-in stands for."""
    if type(obj) is StoredFrame:
        return Swap(unpack(obj))
    if type(obj) in (StoredTree, StoredNeighbors):
        return Swap(obj.restore())
    if type(obj) is StoredMapping:
        restored: dict[Any, Any] = {}

        def fill(copy: Copy) -> None:
            restored.update(zip(copy(obj.keys), copy(obj.values), strict=True))

        return Swap(restored, fill)
    return None

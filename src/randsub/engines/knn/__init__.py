"""k nearest neighbours, compiled."""

from randsub.engines.knn.engine import KNNEngine

__all__ = ["KNNEngine"]

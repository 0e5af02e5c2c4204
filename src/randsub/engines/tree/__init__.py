"""Decision trees, compiled."""

from randsub.engines.tree.engine import TreeEngine

__all__ = ["TreeEngine"]

"""Support vector machines, compiled."""

from randsub.engines.svm.engine import SVMEngine

__all__ = ["SVMEngine"]

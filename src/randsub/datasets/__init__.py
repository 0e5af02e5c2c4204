"""Simulated problems whose relevant features are known."""

from randsub.datasets.simulated import (
    make_checkerboard,
    make_friedman,
    make_hypercube,
    make_linear,
)

__all__ = ["make_checkerboard", "make_friedman", "make_hypercube", "make_linear"]

"""The version, where every room can see it."""

__version__ = "0.1.0"

"""The ``randsub`` command: one file for each verb."""

from randsub.cli.main import main

__all__ = ["main"]

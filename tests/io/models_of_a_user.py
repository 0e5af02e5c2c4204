"""What a user may have in a module: a base model, and something that does harm when it is made."""

from pathlib import Path
from typing import Any

from sklearn.linear_model import Ridge


class RidgeOfMine(Ridge):
    """A base model that randsub has never heard of."""


class Trap:
    """Leaves a mark when it is made from a file."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __setstate__(self, state: dict[str, Any]) -> None:
        Path(state["mark"]).write_text("it ran")


def leave_mark(path: str) -> str:
    """Leaves a mark when it is called."""
    Path(path).write_text("it ran")
    return path

"""Penalties and groups as a user writes them."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from randsub.cli.tables.kinds import TableError

FORMS = "size=LAM, fused=LAM (columns in a row) or fused=LAM@HEIGHTxWIDTH (an image)"


@dataclass(frozen=True)
class PenaltyWords:
    """A penalty before the number of columns is known.

    Parameters
    ----------
    kind : {"size", "fused"}
    lam : float
    grid : tuple of int or None
        Height and width of an image.
    """

    kind: str
    lam: float
    grid: tuple[int, int] | None = None


def read_penalty(text: str) -> PenaltyWords:
    """Read ``size=0.01``, ``fused=0.001`` or ``fused=0.001@28x28``."""
    kind, equals, rest = text.partition("=")
    number, at, shape = rest.partition("@")
    try:
        lam = float(number)
        grid = None
        if at:
            height, width = (int(side) for side in shape.lower().split("x"))
            grid = (height, width)
        if not equals or kind not in ("size", "fused") or not 0.0 <= lam < float("inf"):
            raise ValueError
        if grid is not None and (kind == "size" or min(grid) < 1):
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no penalty; write {FORMS}") from None
    return PenaltyWords(kind, lam, grid)


def make_penalty(words: Sequence[PenaltyWords], n_columns: int) -> Any:
    """The sum of the penalties, or None; `n_columns` is the number of columns or groups."""
    import numpy as np

    from randsub.penalties import ExpectedSize, FusedLasso

    total: Any = None
    for one in words:
        if one.kind == "size":
            made: Any = ExpectedSize(one.lam)
        elif one.grid is None:
            chain = np.arange(n_columns)
            made = FusedLasso(one.lam, np.stack([chain[:-1], chain[1:]], axis=1))
        elif one.grid[0] * one.grid[1] != n_columns:
            height, width = one.grid
            raise ValueError(
                f"--penalty fused=...@{height}x{width} is for {height * width} columns, but there "
                f"are {n_columns} features or groups."
            )
        else:
            made = FusedLasso.grid(one.lam, *one.grid)
        total = made if total is None else total + made
    return total


def read_groups(text: str | None, separator: str | None) -> Any:
    """Groups of columns: "prefix", or from a file.

    Parameters
    ----------
    text : str or None
        "prefix", or a file: json with ``{group: [columns]}``, or a table with the columns
        ``feature`` and ``group``.
    separator : str or None
        What is between the columns of a table of text.

    Returns
    -------
    groups : "prefix", dict of lists of str, or None
    """
    if text is None or text == "prefix":
        return text
    path = Path(text)
    if path.suffix.lower() == ".json":
        return _groups_of_json(path)
    from randsub.cli.tables import read_table

    frame = read_table(path, separator)
    if not {"feature", "group"} <= set(frame.columns):
        raise TableError(
            path,
            "a file of groups needs the columns 'feature' and 'group', and has "
            f"{', '.join(map(repr, frame.columns[:5]))}",
        )
    groups: dict[str, list[str]] = {}
    for feature, group in zip(frame["feature"], frame["group"], strict=True):
        groups.setdefault(str(group), []).append(str(feature))
    return groups


def _groups_of_json(path: Path) -> dict[str, list[str]]:
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file {path}; --groups takes 'prefix' or the name of a file."
        )
    try:
        groups = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TableError(path, f"it is no json ({error})") from error
    if not isinstance(groups, dict) or not all(
        isinstance(columns, list) and all(isinstance(name, str) for name in columns)
        for columns in groups.values()
    ):
        raise TableError(path, "a json file of groups should be {group: [names of columns]}")
    return groups

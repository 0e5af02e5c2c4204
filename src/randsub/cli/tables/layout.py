"""How a table is laid out in its file."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Layout:
    """The options ``--separator``, ``--decimal`` and ``--transpose``.

    Parameters
    ----------
    separator : str, default=None
        Character between the columns of text; by default as the name of the file says.
    decimal : {".", ","}, default=None
        Decimal mark of text; guessed by default.
    transpose : bool, default=None
        Whether features are in rows and samples in columns.
    """

    separator: str | None = None
    decimal: str | None = None
    transpose: bool | None = None

    @classmethod
    def of(cls, args: argparse.Namespace, remembered: Mapping[str, Any] | None = None) -> Self:
        """The layout of the options, or else that of the tables which a model was trained on."""
        options = {name: getattr(args, name, None) for name in cls.__dataclass_fields__}
        given = {name: value for name, value in options.items() if value is not None}
        return cls(**{**(remembered or {}), **given})

    def as_dict(self) -> dict[str, Any]:
        """The layout as a model folder remembers it."""
        return asdict(self)

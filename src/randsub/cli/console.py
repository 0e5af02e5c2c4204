"""What a command says: answers on standard output, everything else on standard error."""

import argparse
import json
import math
import sys
from typing import Any

from randsub.cli.main import tell


class Console:
    """Where a verb speaks.

    Parameters
    ----------
    args : argparse.Namespace
        With ``quiet`` and, where the verb has it, ``json``.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self.quiet = bool(args.quiet)
        self.json = bool(getattr(args, "json", False))

    def say(self, text: str) -> None:
        """Tell what is going on."""
        if not self.quiet:
            tell(text, sys.stderr)

    def done(self, text: str, document: Any) -> None:
        """Tell what was done: in words, or with ``--json`` as a document on standard output."""
        if self.json:
            tell(as_json(document), sys.stdout)
        else:
            self.say(text)


def printable(name: Any) -> str:
    """A name as it may be shown: one line, and nothing that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(name))


def as_json(document: Any) -> str:
    """Strict json; numbers that it has no word for become null."""
    return json.dumps(_plain(document), indent=1, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)

"""Where a command writes: results to standard output, everything else to standard error."""

import argparse
import json
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO


class Console:
    """Messages and the result of a command.

    Parameters
    ----------
    args : argparse.Namespace
        With ``quiet`` and, if the command has it, ``json``.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self.quiet = bool(args.quiet)
        self.json = bool(getattr(args, "json", False))

    def say(self, text: str) -> None:
        """Write a message to standard error, unless ``--quiet`` is given."""
        if not self.quiet:
            write_line(text, sys.stderr)

    def say_all(self, sentences: Iterable[str]) -> None:
        """Write several messages, one per line."""
        for sentence in sentences:
            self.say(sentence)

    def done(self, text: str, document: Any) -> None:
        """Say what was done; with ``--json``, print the document instead."""
        if self.json:
            write_line(as_json(document), sys.stdout)
        else:
            self.say(text)


def write_line(text: str, stream: TextIO, end: str = "\n") -> None:
    """Write and flush; a closed pipe (``| head``) is not an error."""
    try:
        stream.write(text + end)
        stream.flush()
    except OSError as error:
        # Otherwise Python fails again when it flushes its buffers at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def printable(name: Any) -> str:
    """A name on one line, without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(name))


def as_json(document: Any) -> str:
    """Strict json; NaN and infinity become null."""
    text = json.dumps(document, default=_plain)
    return json.dumps(json.loads(text, parse_constant=lambda _: None), indent=1, allow_nan=False)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)

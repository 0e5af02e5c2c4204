"""The command line: verbs, errors in one sentence, exit codes.

A verb is a module with ``add(verbs)``, which adds its parser and sets ``run`` on it: a function of
the parsed arguments that returns an exit code.
"""

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum
from typing import TextIO

import randsub


class Exit(IntEnum):
    """Exit codes of the command."""

    DONE = 0
    ERROR = 1
    USAGE = 2  # argparse's own
    INCOMPLETE = 3
    INTERRUPTED = 130  # as shells have it for Ctrl-C


_EPILOG = """\
exit codes:
  0    done
  1    an error; the message says what to do
  2    the command line could not be understood
  3    done, but parts of it failed
  130  stopped by Ctrl-C; what was finished is kept
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command."""
    from randsub.cli import reproduce

    command = argparse.ArgumentParser(
        prog="randsub",
        description="Random-subspace ensembles that learn which features each member should see.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--version", action="version", version=f"randsub {randsub.__version__}")
    command.add_argument("--debug", action="store_true", help="show where an error comes from")
    verbs = command.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    for verb in (reproduce,):
        verb.add(verbs)
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, default=None
        What follows ``randsub``; by default what the process was called with.

    Returns
    -------
    code : int
        0 done, 1 error, 2 wrong usage, 3 done with failures, 130 interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without ± must not cost the result.
        sys.stdout.reconfigure(errors="replace")
    args = parser().parse_args(words)
    args.command = words
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        _say("interrupted; what was finished is kept, the same command goes on from there.")
        return Exit.INTERRUPTED
    except Exception as error:
        if args.debug:
            traceback.print_exc()
        else:
            _say(f"error: {_in_one_line(error)}")
        return Exit.ERROR


def _in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    # What users can put right says so itself; anything else is shown with its name.
    if text and isinstance(error, ValueError | OSError | ImportError | RuntimeError):
        return text
    return f"{type(error).__name__}: {text or 'no message'} (--debug shows where it comes from)"


def _say(text: str) -> None:
    tell(f"randsub: {text}", sys.stderr)


def tell(text: str, stream: TextIO, end: str = "\n") -> None:
    """Write a line at once; where nobody reads any more (``| head``), that is the end of it."""
    try:
        stream.write(text + end)
        stream.flush()
    except BrokenPipeError:
        # Else Python would fail once more at its own end, when it empties its buffers.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

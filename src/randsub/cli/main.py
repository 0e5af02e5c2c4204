"""The command line: verbs, errors in one sentence, exit codes.

A verb is a module with ``add(verbs)``, which adds its parser and sets ``run`` on it: a function of
the parsed arguments that returns an exit code. Only the module of the verb that was asked for is
loaded, so that help comes at once.
"""

import argparse
import importlib
import io
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Final, TextIO

import randsub

# Each verb with what it does; its module is called as it is.
VERBS: Final[Mapping[str, str]] = {
    "fit": "learn which columns of a table matter, and a model that predicts from them",
    "predict": "predict with a model",
    "rank": "list the columns by importance",
    "select": "write a table with the columns that matter",
    "report": "write a page about a model",
    "info": "tell what is in a model folder, or what this installation is",
    "network": "infer which genes regulate which",
    "simulate": "write data whose relevant features are known",
    "reproduce": "run the paper's experiments again, beside its figures",
    "completion": "print what a shell needs to complete these words",
}


class Exit(IntEnum):
    """Exit codes of the command."""

    DONE = 0
    ERROR = 1
    USAGE = 2  # argparse's own
    INCOMPLETE = 3
    INTERRUPTED = 130  # as shells have it for Ctrl-C
    TERMINATED = 143  # and for SIGTERM


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM); it ends as after Ctrl-C."""


_EPILOG = """\
exit codes:
  0    done
  1    an error; the message says what to do
  2    the command line could not be understood
  3    done, but parts of it failed
  130  stopped by Ctrl-C
  143  stopped by SIGTERM

Files and folders are written whole or not at all. A command that is stopped leaves nothing behind,
except what it is asked to: `fit --checkpoint`, `fit --keep-best`, and the finished cells of
`reproduce`.
"""


def parser(asked: str | None = None) -> argparse.ArgumentParser:
    """The parser of the command.

    Parameters
    ----------
    asked : str, default=None
        The only verb whose own words are wanted; by default all of them.
    """
    command = argparse.ArgumentParser(
        prog="randsub",
        description="Random-subspace ensembles that learn which features each member should see.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--version", action="version", version=f"randsub {randsub.__version__}")
    command.add_argument("--debug", action="store_true", help="show where an error comes from")
    verbs = command.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    for name, summary in VERBS.items():
        if asked is None or asked == name:
            importlib.import_module(f"randsub.cli.{name}").add(verbs)
        else:
            verbs.add_parser(name, help=summary)
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
        0 done, 1 error, 2 wrong usage, 3 done with failures, 130 interrupted, 143 terminated.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without ± must not cost the result.
        sys.stdout.reconfigure(errors="replace")
    # No flag in front of the verb has a value.
    asked = next((word for word in words if not word.startswith("-")), "")
    args = parser(asked).parse_args(words)
    args.command = words
    if not hasattr(args, "after_interruption"):
        args.after_interruption = "nothing was written."
    args.stop_signal = None
    with _signals_interrupt(args), _plain_warnings():
        return _guarded(args)


def _guarded(args: argparse.Namespace) -> int:
    try:
        return int(args.run(args))
    except (Exception, KeyboardInterrupt) as error:
        stopped = _interruption(error)
        if stopped is not None:
            code = Exit.TERMINATED if isinstance(stopped, Terminated) else Exit.INTERRUPTED
            how = "terminated" if code is Exit.TERMINATED else "interrupted"
            text = f"{how}; {args.after_interruption}"
            _say(text)
        else:
            code, text = Exit.ERROR, _in_one_line(error)
            if args.debug:
                traceback.print_exc()
            else:
                _say(f"error: {text}")
        if getattr(args, "json", False):
            from randsub.cli.console import as_json

            # Whoever reads json gets a document, come what may.
            tell(as_json({"error": text, "exit_code": int(code)}), sys.stdout)
        return code


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """The Ctrl-C behind an error; a compiled function wraps it into another one."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return error
        error = error.__cause__ or error.__context__
    return None


@contextmanager
def _signals_interrupt(args: argparse.Namespace) -> Iterator[None]:
    """Let SIGTERM unwind what was begun, as Ctrl-C does; by itself it would end the process.

    Which of them came is put down in ``args.stop_signal`` as well: an exception that is raised
    while C code asks Python code for something may be swallowed there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wishes: dict[int, type[KeyboardInterrupt]] = {signal.SIGTERM: Terminated}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # A shell's background jobs ignore Ctrl-C, and go on doing so.
        wishes[signal.SIGINT] = KeyboardInterrupt

    def stop(number: int, frame: Any) -> None:
        args.stop_signal = wishes[number]
        raise args.stop_signal

    former = {number: signal.signal(number, stop) for number in wishes}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings as sentences, without the line of code that they come from."""
    former = warnings.showwarning
    said: set[str] = set()

    def show(message: Any, category: Any, *place: Any, **options: Any) -> None:
        text = " ".join(str(message).split())
        # Members of an ensemble warn one by one of the same thing.
        if text not in said:
            said.add(text)
            _say(f"warning: {text}")

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = former


def _in_one_line(error: BaseException) -> str:
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
    except OSError as error:
        # Else Python would fail once more at its own end, when it empties its buffers.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise

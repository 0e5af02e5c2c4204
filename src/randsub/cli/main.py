"""Run a command: its exit code, errors and warnings in one line, and signals."""

import argparse
import importlib
import io
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from randsub.cli.console import as_json, write_line
from randsub.cli.option_names import with_options
from randsub.cli.parser import make_parser
from randsub.exceptions import RandsubWarning, UnfinishedFitError


class Exit(IntEnum):
    """Exit codes of the command line."""

    DONE = 0
    ERROR = 1
    USAGE = 2  # argparse's own
    INTERRUPTED = 130  # as shells have it for Ctrl-C
    TERMINATED = 143  # and for SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM was received; the command ends as after Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        What follows ``randsub``; by default that of this process.

    Returns
    -------
    code : int
        0 success, 1 error, 2 invalid command line, 130 interrupted, 143 terminated.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without the character ± still shows the result.
        sys.stdout.reconfigure(errors="replace")
    args = make_parser().parse_args(words)
    args.words = words
    args.after_interruption = "nothing was written."
    args.stop_signal = None
    with _signals_interrupt(args), _warnings_in_one_line():
        try:
            importlib.import_module(f"randsub.cli.commands.{args.command}").run(args)
        except (Exception, KeyboardInterrupt) as error:
            return _report_error(args, error)
    return Exit.DONE


def _report_error(args: argparse.Namespace, error: BaseException) -> Exit:
    from randsub.solver.interruption import is_interruption

    if is_interruption(error):
        terminated = isinstance(error, Terminated) or args.stop_signal is Terminated
        code = Exit.TERMINATED if terminated else Exit.INTERRUPTED
        text = f"{code.name.lower()}; {args.after_interruption}"
        _say(text)
    else:
        code, text = Exit.ERROR, _in_one_line(error)
        if args.debug:
            traceback.print_exception(error)
        else:
            _say(f"error: {text}")
    if getattr(args, "json", False):
        # With --json there is one document on standard output, whatever happens.
        write_line(as_json({"error": text, "exit_code": int(code)}), sys.stdout)
    return code


@contextmanager
def _signals_interrupt(args: argparse.Namespace) -> Iterator[None]:
    """Let SIGTERM raise an exception, as Ctrl-C does, so that drafts are removed.

    The signal is also noted in ``args.stop_signal``: an exception that is raised while C code
    calls Python may be swallowed there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    raised: dict[int, type[KeyboardInterrupt]] = {signal.SIGTERM: Terminated}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Background jobs of a shell ignore Ctrl-C, and continue to do so.
        raised[signal.SIGINT] = KeyboardInterrupt

    def stop(number: int, frame: Any) -> None:
        args.stop_signal = raised[number]
        raise args.stop_signal

    former = {number: signal.signal(number, stop) for number in raised}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show each warning once, without the line of code that it comes from."""
    seen: set[str] = set()

    def show(message: Any, category: Any, *place: Any, **options: Any) -> None:
        text = " ".join(str(message).split())
        if issubclass(category, RandsubWarning):
            text = with_options(text)
        # Members of an ensemble repeat each other's warnings.
        if text not in seen:
            seen.add(text)
            _say(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _in_one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, UnfinishedFitError):
        text = with_options(text)
    # Errors that users can fix say how; any other is shown with its type.
    if text and isinstance(error, ValueError | OSError | ImportError | RuntimeError):
        return text
    return f"{type(error).__name__}: {text or 'no message'} (use --debug to see the traceback)"


def _say(text: str) -> None:
    write_line(f"randsub: {text}", sys.stderr)

"""How the program behaves: exit codes, errors in one sentence, signals, readers that leave."""

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Final, TextIO

NAME: Final = "randsub-experiments"
EPILOG: Final = """\
exit codes:
  0    done
  1    an error; the message says what to do
  2    the command line could not be understood
  3    done, but some cells failed
  130  stopped by Ctrl-C
  143  stopped by SIGTERM
"""


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


def tell(text: str, stream: TextIO) -> None:
    """Write a line at once. A reader that has left (``| head``) is not an error."""
    try:
        stream.write(text + "\n")
        stream.flush()
    except OSError as error:
        # Otherwise Python would fail once more at exit, when it empties its buffers.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def say(text: str) -> None:
    """Write a line to standard error, under the name of the program."""
    tell(f"{NAME}: {text}", sys.stderr)


def guarded(action: Callable[[], int], *, after_interruption: str, debug: bool) -> int:
    """Run an action; errors and interruptions become one sentence and an exit code.

    Parameters
    ----------
    action : callable
        Returns an exit code.
    after_interruption : str
        What is left after Ctrl-C or SIGTERM, for the message.
    debug : bool
        Whether to show the traceback of an error.

    Returns
    -------
    code : int
    """
    try:
        with _sigterm_interrupts(), _plain_warnings():
            return action()
    except Terminated:
        say(f"terminated; {after_interruption}")
        return Exit.TERMINATED
    except KeyboardInterrupt:
        say(f"interrupted; {after_interruption}")
        return Exit.INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        else:
            say(f"error: {_in_one_line(error)}")
        return Exit.ERROR


def _in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    # Errors that users can correct explain themselves; others are shown with their names.
    if text and isinstance(error, ValueError | OSError | ImportError | RuntimeError):
        return text
    return f"{type(error).__name__}: {text or 'no message'} (--debug shows where it comes from)"


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Let SIGTERM end the run as Ctrl-C does; by itself it would end the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise Terminated

    former = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show each warning once, as a sentence without the line of code it comes from."""
    former = warnings.showwarning
    said: set[str] = set()

    def show(message: Any, *place: Any, **options: Any) -> None:
        text = " ".join(str(message).split())
        if text not in said:
            said.add(text)
            say(f"warning: {text}")

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = former

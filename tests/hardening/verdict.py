"""What may come of a call: a whole result, or an error that was written for the user.

An error counts as written for the user where

* a ``raise`` of ours, or the validation of scikit-learn that we call, has raised it as a ValueError
  or TypeError, before any model was trained; or
* it is a BaseModelError, which names the subset on which the base model itself has failed.

Everything else is a failure: an error of another type, one that escapes from a line of ours that
raises nothing or from another library beneath it, one that comes once models have been trained, a
warning of numpy's, a result that is not finite, and a call that does not end.
"""

import faulthandler
import linecache
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import sklearn
from scipy.linalg import LinAlgWarning

import randsub
from randsub.exceptions import BaseModelError, RandsubWarning
from randsub.parallel import Dispatcher

Outcome = Literal["fitted", "refused", "base model failed"]
OURS = str(Path(randsub.__file__).parent)
VALIDATION = str(Path(sklearn.__file__).parent)
# What a call may say beside its answer: our own words, and what a base model says of its data.
WORDS = (RandsubWarning, LinAlgWarning)
# Seconds of computing; the first fit with an engine compiles it.
PATIENCE = 120
# Seconds of waiting, on a machine that may have other things to do.
LAST = 300


class Hang(BaseException):  # no error: nothing that catches errors may catch it
    """A call did not end."""


@contextmanager
def watchdog(seconds: float = PATIENCE) -> Iterator[None]:
    """Raise where something computes so long; where it only waits, end the process.

    Time of computing, so that what else the machine does has no say. Neither a deadlock nor
    compiled code listens to signals; against these, the process itself ends after ``LAST``.
    """
    faulthandler.dump_traceback_later(LAST, exit=True, file=sys.__stderr__)
    listens = hasattr(signal, "SIGPROF") and threading.current_thread() is threading.main_thread()
    former: Any = None
    if listens:
        former = signal.signal(signal.SIGPROF, _bark)
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        if listens:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.signal(signal.SIGPROF, former)
        faulthandler.cancel_dump_traceback_later()


def _bark(number: int, frame: Any) -> None:
    raise Hang


@contextmanager
def strictly() -> Iterator[None]:
    """Let every warning be an error, but for words that are meant for the user."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in WORDS:
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn\.")
        yield


@contextmanager
def noting_training() -> Iterator[Callable[[], bool]]:
    """Tell whether any model has been trained since."""
    seen: list[str] = []

    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            seen.append(method.__name__)
            return method(*args, **kwargs)

        return called

    with (
        mock.patch.object(Dispatcher, "predict", noted(Dispatcher.predict)),
        mock.patch.object(Dispatcher, "fit", noted(Dispatcher.fit)),
    ):
        yield lambda: bool(seen)


def attempt(call: Callable[[], Any]) -> Outcome:
    """Whether a fit succeeds or is refused; anything else raises what went wrong."""
    with watchdog(), strictly(), noting_training() as has_begun:
        try:
            call()
        except BaseModelError as error:
            check_blame(error)
            return "base model failed"
        except (ValueError, TypeError) as error:
            if has_begun():
                raise AssertionError("refused only after models had been trained") from error
            check_written(error)
            return "refused"
    return "fitted"


def check_blame(error: BaseModelError) -> None:
    """The base model must have failed by itself: not by a warning, and not in a line of ours."""
    assert error.model
    assert error.reason
    cause = error.__cause__
    if isinstance(cause, Warning):
        raise AssertionError("a warning came out of the base model") from error
    if cause is not None and _ends_in_ours(cause) and not _was_raised(cause):
        raise AssertionError("the base model was blamed for an error in a line of ours") from error


def check_written(error: Exception) -> None:
    """The error must have been raised by us on purpose, or by scikit-learn's validation."""
    assert str(error).strip(), f"{type(error).__name__} without a message"
    if isinstance(error, UnicodeError):
        raise AssertionError("an error of text encoding escaped") from error
    path = _files(error)
    places = [place for place, file in enumerate(path) if file.startswith(OURS)]
    if places and places[-1] == len(path) - 1:
        if not _was_raised(error):
            raise AssertionError("an error escaped from a line of ours") from error
    elif not path[places[-1] + 1 if places else -1].startswith(VALIDATION):
        raise AssertionError("an error escaped from another library") from error
    cause = error.__cause__
    if isinstance(cause, Exception) and str(cause) in str(error):
        # Passed on word for word: then those words must have been written for the user.
        check_written(cause)


def _files(error: BaseException) -> list[str]:
    """Files of the code through which an error came, the one that raised it last."""
    files, step = [], error.__traceback__
    while step is not None:
        files.append(step.tb_frame.f_code.co_filename)
        step = step.tb_next
    return files


def _ends_in_ours(error: BaseException) -> bool:
    return _files(error)[-1:] != [] and _files(error)[-1].startswith(OURS)


def _was_raised(error: BaseException) -> bool:
    """Whether the last line that an error came from is a ``raise``."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None:
        return False
    line = linecache.getline(step.tb_frame.f_code.co_filename, step.tb_lineno)
    return line.strip().startswith("raise")

"""What Ctrl-C and SIGTERM mean for a training that the command has begun."""

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from randsub.exceptions import InterruptedFitWarning
from randsub.training.callbacks import Callback
from randsub.training.state import TrainingState


@contextmanager
def interruptions_are_errors() -> Iterator[None]:
    """Let Ctrl-C end a training for good; in Python, it keeps the best alpha so far."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedFitWarning)
        yield


class SecondLook(Callback):
    """Raises once more what a signal has raised, where it was lost on its way.

    Libraries drop exceptions in places where they cannot pass them on: numpy while it looks for
    attributes, ctypes in callbacks, Python itself in finalizers and while it collects garbage.

    Parameters
    ----------
    args : argparse.Namespace
        Where the command puts down which signal came: ``stop_signal``.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args

    def on_epoch_end(self, state: TrainingState) -> None:
        """Go on only if nobody has asked to stop."""
        if self._args.stop_signal is not None:
            raise self._args.stop_signal

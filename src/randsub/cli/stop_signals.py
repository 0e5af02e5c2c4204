"""What Ctrl-C and SIGTERM mean while a command trains a model."""

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from randsub.exceptions import InterruptedFitWarning
from randsub.solver.callback import Callback
from randsub.solver.state import TrainingState


@contextmanager
def interruptions_are_errors() -> Iterator[None]:
    """Raise on Ctrl-C, where ``fit`` called from Python warns and keeps the best alpha so far."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedFitWarning)
        yield


class StopOnSignal(Callback):
    """Raises again, after a task or an epoch, what a signal raised and a library swallowed.

    Exceptions are lost where they cannot be passed on: in numpy's look-up of attributes, callbacks
    of ctypes, finalizers, and garbage collection.

    Parameters
    ----------
    args : argparse.Namespace
        With ``stop_signal``, which the signal handler sets.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args

    def on_epoch_end(self, state: TrainingState) -> None:
        """Raise if a signal was received."""
        self._raise()

    def on_models_trained(self, n_done: int, n_all: int) -> None:
        """Raise if a signal was received."""
        self._raise()

    def _raise(self) -> None:
        if self._args.stop_signal is not None:
            raise self._args.stop_signal

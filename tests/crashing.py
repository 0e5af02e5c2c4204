"""A fit that ends as if its process had."""

from randsub.callbacks import Callback


class CrashError(Exception):
    """Stands for whatever may end a process."""


class CrashAt(Callback):
    """Raises an error at the end of an epoch."""

    def __init__(self, epoch, error=CrashError):
        self.epoch, self.error = epoch, error

    def on_epoch_end(self, state):
        if state.epoch == self.epoch:
            raise self.error

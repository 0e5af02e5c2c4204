"""Ctrl-C: whether it happened, and what is told of it."""

import warnings

from randsub.exceptions import InterruptedFitWarning


def is_interruption(error: BaseException | None) -> bool:
    """Whether an error was caused by Ctrl-C; compiled functions raise another error for it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def warn_of_repeats(n_finished: int, n_repeats: int) -> None:
    """Warn that Ctrl-C has left the finished repeats of a fit."""
    warnings.warn(
        f"Training was interrupted; {n_finished} of {n_repeats} repeats were finished, and are "
        "kept.",
        InterruptedFitWarning,
        stacklevel=3,
    )

"""Ctrl-C: whether it happened, and what is told of it."""

import warnings

from randsub.exceptions import InterruptedFitWarning

# Reason to stop; behind it may stand how many repeats there are.
INTERRUPTED = "interrupted"


def is_interruption(error: BaseException | None) -> bool:
    """Whether an error was caused by Ctrl-C; compiled functions raise another error for it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def was_interrupted(reason: str | None) -> bool:
    """Whether this reason to stop is Ctrl-C, whatever it says of repeats."""
    return reason is not None and reason.startswith(INTERRUPTED)


def warn_of_repeats(n_finished: int, n_repeats: int) -> None:
    """Warn that Ctrl-C has left the finished repeats of a fit."""
    warnings.warn(
        f"Training was interrupted; {n_finished} of {n_repeats} repeats were finished, and are "
        "kept.",
        InterruptedFitWarning,
        stacklevel=3,
    )

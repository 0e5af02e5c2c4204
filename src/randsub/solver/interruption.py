"""Detection of Ctrl-C."""


def is_interruption(error: BaseException | None) -> bool:
    """Whether an error was caused by Ctrl-C; compiled functions raise another error for it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False

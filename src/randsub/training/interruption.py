"""Ctrl-C, in whatever shape it arrives."""


def is_interruption(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error; inside a compiled function it comes as another one."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False

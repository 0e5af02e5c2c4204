"""The wish to stop in the middle of a dispatch."""


class StopRequest(Exception):  # noqa: N818, as StopIteration: it says that all is well
    """Raised by whoever watches a dispatch, to end it before all models are trained.

    Parameters
    ----------
    reason : str
        Why training ends.
    n_done, n_all : int
        Number of models that were trained, out of how many.
    seconds : float
        Time that they took.
    """

    def __init__(self, reason: str, n_done: int, n_all: int, seconds: float) -> None:
        super().__init__(reason, n_done, n_all, seconds)
        self.reason, self.n_done, self.n_all, self.seconds = reason, n_done, n_all, seconds

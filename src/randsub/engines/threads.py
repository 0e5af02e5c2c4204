"""Work on threads of this process: the calling one takes part, or watches the others."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from sklearn import config_context, get_config

# How often the clock is looked at while threads are watched; their end is noticed at once.
SECONDS_BETWEEN_LOOKS = 0.2


class TaskOverdueError(Exception):
    """A piece of work takes longer than it may.

    Parameters
    ----------
    number : int
        Its place in the list of work.
    n_suspects : int, default=1
        Where it is not known which one it is: it may be so many, from that place on.
    """

    def __init__(self, number: int, n_suspects: int = 1) -> None:
        super().__init__(number, n_suspects)
        self.number = number
        self.n_suspects = n_suspects


def on_threads(work: Sequence[tuple[Any, ...]], workers: int) -> list[tuple[Any, float]]:
    """What joblib's threads would do, without its look at the results every 10 milliseconds.

    With compiled engines all the work of a refresh may take less than that. The calling thread
    takes its share, since new ones may have to wait for a core of their own.
    """
    turns = _Turns(work)
    with ThreadPoolExecutor(workers - 1) as pool:
        others = [pool.submit(turns.take) for _ in range(workers - 1)]
        try:
            turns.take()
        finally:
            # Where Ctrl-C has ended this thread's turn, the others' ends with the present task.
            turns.waiting.clear()
        for other in others:
            other.result()
    return turns.in_order()


def on_watched_threads(
    work: Sequence[tuple[Any, ...]], workers: int, limit: float
) -> list[tuple[Any, float]]:
    """The same by other threads than the calling one, which sees to it that none takes too long.

    A thread cannot be ended from outside. One that is overdue is left behind: it goes on until it
    ends by itself, and does not keep the interpreter from leaving.

    Raises
    ------
    TaskOverdueError
        Where a piece of work takes more than ``limit`` seconds.
    """
    turns = _Turns(work)
    others = [threading.Thread(target=turns.take_quietly, daemon=True) for _ in range(workers)]
    for other in others:
        other.start()
    try:
        for other in others:
            while other.is_alive():
                other.join(min(limit, SECONDS_BETWEEN_LOOKS))
                overdue = turns.overdue(limit)
                if overdue is not None:
                    raise TaskOverdueError(overdue)
    finally:
        turns.waiting.clear()
    return turns.in_order()


class _Turns:
    """Work that threads take piece by piece, in order, until none is left or one has failed."""

    def __init__(self, work: Sequence[tuple[Any, ...]]) -> None:
        self.waiting = deque(enumerate(work))
        self._n_pieces = len(work)
        # Settings of scikit-learn belong to a thread.
        self._config = get_config()
        self._answers: dict[int, tuple[Any, float]] = {}
        self._errors: dict[int, BaseException] = {}
        self._begun: dict[int, float] = {}

    def take(self) -> None:
        """Work until nothing is left."""
        with config_context(**self._config):
            while True:
                try:
                    n, (task, *rest) = self.waiting.popleft()
                except IndexError:
                    return
                self._begun[n] = time.monotonic()
                try:
                    self._answers[n] = task(*rest)
                except BaseException as error:
                    self._errors[n] = error
                    self.waiting.clear()
                    if not isinstance(error, Exception):
                        # Ctrl-C, or a wish to exit: not only this piece is over.
                        raise
                finally:
                    del self._begun[n]

    def take_quietly(self) -> None:
        """Work until nothing is left; whoever watches raises what has gone wrong."""
        with suppress(BaseException):
            self.take()

    def overdue(self, limit: float) -> int | None:
        """The first piece that has been worked on for more than ``limit`` seconds, if any."""
        now = time.monotonic()
        late = [n for n, begun in self._begun.copy().items() if now - begun > limit]
        return min(late, default=None)

    def in_order(self) -> list[tuple[Any, float]]:
        """All answers, or the error of the first piece that has failed."""
        if self._errors:
            # All work before that was begun: no chance decides which error is shown.
            raise self._errors[min(self._errors)]
        return [self._answers[n] for n in range(self._n_pieces)]

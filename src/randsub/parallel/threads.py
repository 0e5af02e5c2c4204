"""Work on threads of this process: the calling one takes part, or watches the others."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from sklearn import config_context, get_config

# How often the clock is looked at while threads are watched; their end is noticed at once.
SECONDS_BETWEEN_LOOKS = 0.2


class TaskOverdueError(Exception):
    """A task takes longer than it may.

    Parameters
    ----------
    number : int
        Its place in the list of tasks.
    n_suspects : int, default=1
        Number of tasks from that place on, where it is not known which one is overdue.
    """

    def __init__(self, number: int, n_suspects: int = 1) -> None:
        super().__init__(number, n_suspects)
        self.number = number
        self.n_suspects = n_suspects


def on_threads(
    tasks: Sequence[Callable[[], Any]],
    workers: int,
    limit: float | None = None,
    on_answer: Callable[[int], object] | None = None,
) -> list[Any]:
    """What joblib's threads would do, without its look at the results every 10 milliseconds.

    With compiled engines all the work of a refresh may take less than that. The calling thread
    takes its share, since new ones may have to wait for a core.

    With a limit it watches the others instead, so that none takes too long. A thread cannot be
    ended from outside. One that is overdue is left behind: it goes on until it ends by itself, and
    does not keep the interpreter from exiting.

    Parameters
    ----------
    tasks : sequence of callables
    workers : int
        Number of threads that work, the calling one included.
    limit : float, default=None
        Seconds per task.
    on_answer : callable, default=None
        Called on the calling thread with the number of each task that has ended, soon after its
        end. What it raises is the end of all work: tasks that have not begun are left out.

    Raises
    ------
    TaskOverdueError
        Where a task takes more than ``limit`` seconds.
    """
    turns = _Turns(tasks, on_answer)
    n_others = workers - 1 if limit is None else workers
    others = [threading.Thread(target=turns.take_quietly, daemon=True) for _ in range(n_others)]
    for other in others:
        other.start()
    try:
        if limit is None:
            turns.take(tells=True)
        if limit is not None or on_answer is not None:
            turns.watch(others, limit)
    finally:
        # Where Ctrl-C has ended this thread's turn, the others' ends with the present task.
        turns.waiting.clear()
        if limit is None:
            for other in others:
                other.join()
    return turns.in_order()


class _Turns:
    """Tasks that threads take one by one, in order, until none is left or one has failed."""

    def __init__(
        self, tasks: Sequence[Callable[[], Any]], on_answer: Callable[[int], object] | None
    ) -> None:
        self._on_answer = on_answer
        self._n_told = 0
        self.waiting = deque(enumerate(tasks))
        self._n_tasks = len(tasks)
        # Settings of scikit-learn belong to a thread.
        self._config = get_config()
        self._answers: dict[int, Any] = {}
        self._errors: dict[int, BaseException] = {}
        self._begun: dict[int, float] = {}

    def take(self, *, tells: bool = False) -> None:
        """Work until nothing is left; the calling thread tells what has ended meanwhile."""
        with config_context(**self._config):
            while True:
                try:
                    n, task = self.waiting.popleft()
                except IndexError:
                    return
                self._begun[n] = time.monotonic()
                try:
                    self._answers[n] = task()
                except BaseException as error:
                    self._errors[n] = error
                    self.waiting.clear()
                    if not isinstance(error, Exception):
                        # Ctrl-C, or a wish to exit: not only this task is over.
                        raise
                finally:
                    del self._begun[n]
                if tells:
                    self._tell()

    def take_quietly(self) -> None:
        """Work until nothing is left; the calling thread raises what has gone wrong."""
        with suppress(BaseException):
            self.take()

    def _tell(self) -> None:
        """Tell of the answers since the last time; they are in the order in which they came."""
        if self._on_answer is not None:
            for n in [*self._answers][self._n_told :]:
                self._n_told += 1
                self._on_answer(n)

    def watch(self, others: Sequence[threading.Thread], limit: float | None) -> None:
        """Wait for threads, unless one works on a task for more than ``limit`` seconds."""
        for other in others:
            while other.is_alive():
                other.join(
                    SECONDS_BETWEEN_LOOKS if limit is None else min(limit, SECONDS_BETWEEN_LOOKS)
                )
                self._tell()
                if limit is None:
                    continue
                now = time.monotonic()
                late = [n for n, begun in self._begun.copy().items() if now - begun > limit]
                if late:
                    raise TaskOverdueError(min(late))
        self._tell()

    def in_order(self) -> list[Any]:
        """All answers, or the error of the first task that has failed."""
        if self._errors:
            # All work before that was begun: no chance decides which error is shown.
            raise self._errors[min(self._errors)]
        return [self._answers[n] for n in range(self._n_tasks)]

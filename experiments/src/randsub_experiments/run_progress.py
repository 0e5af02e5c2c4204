"""One line of progress: cells done, time spent, time left, what is running."""

import io
import shutil
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from tqdm import tqdm

from randsub_experiments.cells import Cell


class Costs:
    """Times of finished cells, for an estimate of the others.

    The estimate for a cell is the mean time of those most like it: the same in everything but the
    replicate, else of the same method, base model and setting, else of the same method, else any.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], list[float]] = defaultdict(list)

    def add(self, cell: Cell, seconds: float) -> None:
        """Add the time of a finished cell."""
        for likeness in self._likenesses(cell):
            self._seen[likeness].append(seconds)

    def expected(self, cell: Cell) -> float | None:
        """Estimated seconds of a cell; None before any cell has finished."""
        for likeness in self._likenesses(cell):
            if seen := self._seen.get(likeness):
                return sum(seen) / len(seen)
        return None

    @staticmethod
    def _likenesses(cell: Cell) -> Iterator[tuple[Any, ...]]:
        method = (cell.method, cell.base, cell.setting)
        conditions = tuple(sorted((name, str(value)) for name, value in cell.conditions.items()))
        yield (*method, cell.problem, conditions)
        yield method
        yield (cell.method,)
        yield ()


class Progress:
    """Shows how far a run is: a line that rewrites itself on a terminal, else a line per cell.

    Parameters
    ----------
    cells : sequence of Cell
        Cells to run.
    n_before : int, default=0
        Number of cells that were finished before.
    n_jobs : int, default=1
        Number of cells that run at the same time.
    costs : Costs, default=None
        Times of the cells that were finished before.
    stream : text file, default=None
        Where it is shown; standard error by default.
    clock : callable, default=time.monotonic
        Returns the time in seconds.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        n_before: int = 0,
        *,
        n_jobs: int = 1,
        costs: Costs | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left = {cell.key: cell for cell in cells}
        self._running: dict[str, Cell] = {}
        self._n_done, self._n_total = n_before, n_before + len(cells)
        self._n_jobs = n_jobs
        self._costs = costs or Costs()
        self._stream = stream or sys.stderr
        self._clock, self._begin = clock, clock()
        self._rewrites = self._stream.isatty()
        self._width = 0
        # Cells are handed out by a thread of the pool and come back in the main one.
        self._lock = threading.Lock()

    def started(self, cell: Cell) -> None:
        """A cell begins."""
        with self._lock:
            self._running[cell.key] = cell
            if self._rewrites:
                self._show()

    def finished(self, cell: Cell, seconds: float | None, *, error: str = "") -> None:
        """A cell ends, with a result or with an error."""
        with self._lock:
            self._running.pop(cell.key, None)
            self._left.pop(cell.key, None)
            self._n_done += 1
            if seconds is not None:
                self._costs.add(cell, seconds)
            if error:
                self._print(f"failed: {cell}: {error}")
            self._show(last=cell)

    def close(self) -> None:
        """Leave the line as it is."""
        with self._lock:
            if self._rewrites and self._width:
                self._write("\n")
            self._width = 0

    def seconds_left(self) -> float | None:
        """Estimated time until the end, or None before any cell has finished."""
        expected = [self._costs.expected(cell) for cell in self._left.values()]
        known = [seconds for seconds in expected if seconds is not None]
        if len(known) < len(expected):
            return None
        return sum(known) / max(1, min(self._n_jobs, len(known)))

    def line(self, last: Cell | None = None) -> str:
        """The line itself."""
        left = self.seconds_left()
        times = [
            f"{self._n_done}/{self._n_total}",
            f"{tqdm.format_interval(self._clock() - self._begin)} elapsed",
            "time left unknown" if left is None else f"about {tqdm.format_interval(left)} left",
        ]
        what = ""
        if last is not None and not self._rewrites:
            what = f": done {last}"
        elif self._running:
            # Those before the last have finished by now, and wait to be counted.
            running = list(self._running.values())[-self._n_jobs :]
            what = f": now {'; '.join(map(str, running))}"
        return ", ".join(times) + what

    def _show(self, last: Cell | None = None) -> None:
        text = self.line(last)
        if not self._rewrites:
            self._print(text)
            return
        # A line that wraps could not be rewritten.
        shown = text[: shutil.get_terminal_size().columns - 1]
        self._write("\r" + shown.ljust(self._width))
        self._width = len(shown)

    def _print(self, text: str) -> None:
        if self._rewrites and self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0
        self._write(text + "\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            # The reader has left; that is no reason to stop.
            self._stream = io.StringIO()

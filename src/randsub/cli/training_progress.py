"""Progress of training: two lines that are updated on a terminal, else a line every 20 seconds.

On a terminal::

    epoch 450/900 [############............]  50%  00:12 elapsed, about 00:11 left
    validation 0.2981 (best 0.2911)  size 14.2  models 23,500  objective 0.3124  refreshes 23 ...
"""

import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TextIO

from tqdm import tqdm

from randsub.cli.console import write_line
from randsub.solver.callback import Callback
from randsub.solver.problem import Settings
from randsub.solver.state import TrainingState

# Seconds between two updates on a terminal, and between two lines elsewhere.
_UPDATE: Final = 0.1
_LINE: Final = 20.0
# Number of epochs over which the speed is measured: base models are replaced in bursts.
_WINDOW: Final = 300
_BAR: Final = 24


def is_terminal(stream: TextIO) -> bool:
    """Whether lines can be updated in place."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class TrainingProgress(Callback):
    """Shows the progress of training.

    Parameters
    ----------
    stream : text file, default=None
        Standard error by default.
    time_limit : float, default=None
        Seconds after which training ends.
    clock : callable, default=time.monotonic
        Returns the time in seconds.
    width : callable, default=None
        Returns the width of the terminal.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        time_limit: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        width: Callable[[], int] | None = None,
    ) -> None:
        self._stream = stream or sys.stderr
        self._updates = is_terminal(self._stream)
        self._limit = time_limit
        self._clock, self._begin = clock, clock()
        self._width = width or (lambda: shutil.get_terminal_size().columns)
        self._n_lines = 0
        self._last_shown = -float("inf")
        self._n_epochs = self._n_masks = 1
        self._refreshes = 0
        self._is_compiling = False
        # Epochs and when they ended. The first one is not measured, since kernels are compiled.
        self._seen: deque[tuple[int, float]] = deque(maxlen=_WINDOW)

    # -- hooks of the training loop ----------------------------------------------------------------

    def on_prepare(self, settings: Settings) -> None:
        """Say that the first base models are trained."""
        self._n_epochs = settings.max_iter
        if self._updates:
            self._show(["training the first base models"])

    def on_compile(self) -> None:
        """Say, once, why there is no progress."""
        if not self._is_compiling:
            self._is_compiling = True
            self._show(["compiling, once on this machine"])

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Say where a resumed training continues."""
        self._n_epochs, self._n_masks = settings.max_iter, settings.n_masks
        # A fit may run the loop several times.
        self._seen.clear()
        self._refreshes = sum(record.refreshed for record in state.history)
        if state.epoch and not self._updates:
            self._show([f"continuing after epoch {state.epoch} of {self._n_epochs}"])

    def on_epoch_end(self, state: TrainingState) -> None:
        """Show the progress, if it is time to."""
        now = self._clock()
        self._seen.append((state.epoch, now))
        self._refreshes += state.history[-1].refreshed
        if now - self._last_shown >= (_UPDATE if self._updates else _LINE):
            self._last_shown = now
            self._show_progress(state)

    def on_end(self, state: TrainingState) -> None:
        """Leave the last numbers on the screen."""
        if state.history:
            self._show_progress(state)
        elif self._n_lines:
            self._show([])
        self._n_lines = 0

    # -- what is shown -----------------------------------------------------------------------------

    def seconds_left(self) -> float | None:
        """Expected time until the end; None before the second epoch."""
        if len(self._seen) < 2:
            return None
        (first, begin), (epoch, end) = self._seen[0], self._seen[-1]
        left = (end - begin) / (epoch - first) * (self._n_epochs - epoch)
        if self._limit is not None:
            left = min(left, self._limit - (self._clock() - self._begin))
        return max(0.0, left)

    def _show_progress(self, state: TrainingState) -> None:
        times = f"{tqdm.format_interval(self._clock() - self._begin)} elapsed"
        left = self.seconds_left()
        if left is not None and state.stopped is None and state.epoch < self._n_epochs:
            times += f", about {tqdm.format_interval(left)} left"
        count = f"epoch {state.epoch}/{self._n_epochs}"
        last = state.history[-1]
        numbers = [
            f"validation {last.validation_objective:.4f} (best {state.best_objective:.4f})",
            f"size {last.expected_size:.1f}",
            f"models {last.n_models_trained:,}",
            f"objective {last.objective:.4f}",
            f"refreshes {self._refreshes}",
            f"ESS {last.min_ess / self._n_masks:.0%}",
        ]
        if not self._updates:
            self._show(["  ".join([count, *numbers, times])])
            return
        share = state.epoch / self._n_epochs
        bar = f"[{'#' * round(share * _BAR):.<{_BAR}}] {share:4.0%}"
        lines = (f"{count} {bar}  {times}", f"{count}  {times}", count)
        width = self._width() - 1
        first = next((line for line in lines if len(line) <= width), count)
        # The last numbers are left out first.
        while len(numbers) > 1 and len("  ".join(numbers)) > width:
            numbers.pop()
        self._show([first, "  ".join(numbers)])

    def _show(self, lines: Sequence[str]) -> None:
        """Write lines; on a terminal, in place of those shown before."""
        if not self._updates:
            write_line("\n".join(lines), self._stream)
            return
        text = f"\x1b[{self._n_lines}A\r\x1b[J" if self._n_lines else ""
        # A line that wraps cannot be replaced.
        width = self._width() - 1
        text += "".join(line[:width] + "\n" for line in lines)
        write_line(text, self._stream, end="")
        self._n_lines = len(lines)

"""How far a training is: two lines that rewrite themselves on a terminal, else a line now and then.

On a terminal::

    epoch 1200/2400 [############............]  50%  0:12 elapsed, about 0:11 left
    validation 0.2981 (best 0.2911)  size 14.2  models 23,500  objective 0.3124  refreshes 23 ...
"""

import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, TextIO

from randsub.cli.main import tell
from randsub.reproduce.progress import clock_time
from randsub.training.callbacks import Callback
from randsub.training.problem import Settings
from randsub.training.state import TrainingState

# Seconds between two pictures on a terminal, and between two lines elsewhere.
_FRAME: Final = 0.1
_LINE: Final = 20.0
# Epochs over which the pace is measured: models are renewed in bursts.
_WINDOW: Final = 300
_BAR: Final = 24


def is_terminal(stream: TextIO) -> bool:
    """Whether lines can be rewritten there."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Pace:
    """Epochs and when they were done, for a guess at how long the others will take."""

    def __init__(self) -> None:
        self._seen: deque[tuple[int, float]] = deque(maxlen=_WINDOW)

    def add(self, epoch: int, now: float) -> None:
        """Take in that an epoch is done."""
        self._seen.append((epoch, now))

    def seconds_left(self, last: int) -> float | None:
        """Expected time until the last epoch; None as long as nothing is known."""
        if len(self._seen) < 2:
            return None
        (first, begin), (epoch, end) = self._seen[0], self._seen[-1]
        return (end - begin) / (epoch - first) * (last - epoch)


class TrainingProgress(Callback):
    """Tells how far a training is.

    Parameters
    ----------
    stream : text file, default=None
        Where it is told; standard error by default.
    time_limit : float, default=None
        Seconds after which training will end at the latest.
    clock : callable, default=time.monotonic
        Gives the time in seconds.
    width : callable, default=None
        Gives the width of the terminal.
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
        self._rewrites = is_terminal(self._stream)
        self._limit = time_limit
        self._clock, self._begin = clock, clock()
        self._width = width or (lambda: shutil.get_terminal_size().columns)
        self._n_lines = 0
        self._last_told = -float("inf")
        self._n_epochs = self._n_masks = 1
        self._refreshes = 0
        self._is_compiling = False
        self._pace = Pace()

    # -- what the loop tells -----------------------------------------------------------------------

    def on_prepare(self, settings: Settings) -> None:
        """The first models are being trained."""
        self._n_epochs = settings.max_iter
        if self._rewrites:
            self._show(["training the first models"])

    def on_compile(self) -> None:
        """Say why nothing moves."""
        if self._is_compiling:
            # One word about it is enough, however many functions there are.
            return
        self._is_compiling = True
        text = "compiling, once on this machine"
        if self._rewrites:
            self._show([text])
        else:
            tell(text, self._stream)

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """The first epoch, or the first after a checkpoint, is about to begin."""
        self._n_epochs, self._n_masks = settings.max_iter, settings.n_masks
        self._refreshes = sum(record.refreshed for record in state.history)
        # The pace is measured from the end of the first epoch: compiling is in that one.
        if state.epoch and not self._rewrites:
            tell(f"going on after epoch {state.epoch} of {self._n_epochs}", self._stream)

    def on_epoch_end(self, state: TrainingState) -> None:
        """Tell, if it is time to."""
        now = self._clock()
        self._pace.add(state.epoch, now)
        self._refreshes += state.history[-1].refreshed
        if now - self._last_told >= (_FRAME if self._rewrites else _LINE):
            self._last_told = now
            self._tell(state)

    def on_end(self, state: TrainingState) -> None:
        """Leave the last figures there."""
        if state.history:
            self._tell(state)
        elif self._n_lines:
            self._show([])
        self._n_lines = 0

    # -- how it is shown ---------------------------------------------------------------------------

    def seconds_left(self) -> float | None:
        """Expected time until the end."""
        left = self._pace.seconds_left(self._n_epochs)
        if left is None or self._limit is None:
            return left
        return max(0.0, min(left, self._limit - (self._clock() - self._begin)))

    def _tell(self, state: TrainingState) -> None:
        elapsed = f"{clock_time(self._clock() - self._begin)} elapsed"
        left = self.seconds_left()
        times = elapsed if left is None else f"{elapsed}, about {clock_time(left)} left"
        if state.stopped is not None or state.epoch >= self._n_epochs:
            times = elapsed
        count = f"epoch {state.epoch}/{self._n_epochs}"
        figures = self._figures(state)
        if not self._rewrites:
            tell(f"{count}  {'  '.join(figures)}  {times}", self._stream)
            return
        share = state.epoch / self._n_epochs
        full = round(share * _BAR)
        bar = f"[{'#' * full}{'.' * (_BAR - full)}] {share:4.0%}"
        width = self._width() - 1
        first = next(
            (
                line
                for line in (f"{count} {bar}  {times}", f"{count}  {times}")
                if len(line) <= width
            ),
            count,
        )
        self._show([first, _fitting(figures, width)])

    def _figures(self, state: TrainingState) -> list[str]:
        """In the order in which they are given up where the line is short: the last first."""
        last = state.history[-1]
        return [
            f"validation {last.validation_objective:.4f} (best {state.best_objective:.4f})",
            f"size {last.expected_size:.1f}",
            f"models {last.n_models_trained:,}",
            f"objective {last.objective:.4f}",
            f"refreshes {self._refreshes}",
            f"ESS {last.min_ess / self._n_masks:.0%}",
        ]

    def _show(self, lines: Sequence[str]) -> None:
        """Put lines in the place of those that are there."""
        width = self._width() - 1
        text = ""
        if self._n_lines:
            text += f"\x1b[{self._n_lines}A\r\x1b[J"
        # A line that wraps could not be rewritten.
        text += "".join(line[:width] + "\n" for line in lines)
        tell(text, self._stream, end="")
        self._n_lines = len(lines)


def _fitting(pieces: Sequence[Any], width: int) -> str:
    shown = list(pieces)
    while len(shown) > 1 and len("  ".join(shown)) > width:
        shown.pop()
    return "  ".join(shown)

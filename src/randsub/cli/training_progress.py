"""Progress of training: two lines that are updated on a terminal, else a line every 20 seconds.

On a terminal, while base models are trained and after each epoch::

    epoch 450/900 [############............]  50%  models 120/500  00:12 elapsed, about 00:11 left
    validation 0.2981 (best 0.2911)  size 14.2  models 23,500  objective 0.3124  refreshes 23 ...

In a fit with several loops, such as a path of penalties, epochs of all of them are counted.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final, TextIO

from tqdm import tqdm

from randsub.cli.console import write_line
from randsub.solver.callback import TimedCallback
from randsub.solver.forecast import Forecast, LongFit
from randsub.solver.long_fit import advised
from randsub.solver.problem import Settings
from randsub.solver.run import Run
from randsub.solver.state import TrainingState

# Seconds between two updates on a terminal, and between two lines elsewhere.
_UPDATE: Final = 0.1
_LINE: Final = 20.0
_BAR: Final = 24


def is_terminal(stream: TextIO) -> bool:
    """Whether lines can be updated in place."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class TrainingProgress(TimedCallback):
    """Shows the progress of training.

    Parameters
    ----------
    stream : text file, default=None
        Standard error by default.
    clock : callable, default=time.monotonic
        Returns the time in seconds.
    width : callable, default=None
        Returns the width of the terminal.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        width: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(clock=clock)
        self._stream = stream or sys.stderr
        self._updates = is_terminal(self._stream)
        self._begin = clock()
        self._width = width or (lambda: shutil.get_terminal_size().columns)
        self._n_lines = 0
        self._last_shown = -float("inf")
        self._n_masks = 1
        # Of each task, on average.
        self._refreshes = 0.0
        self._is_compiling = self._has_begun = False
        self._state: TrainingState | None = None

    # -- hooks of the training loop ----------------------------------------------------------------

    def for_run(self, run: Run) -> "TrainingProgress":
        """Begin to measure."""
        self._forecast = Forecast(run, self._clock)
        return self

    def on_prepare(self, settings: Settings) -> None:
        """Say that the first base models are trained."""
        super().on_prepare(settings)
        self._n_masks, self._state = settings.n_masks, None
        if self._updates:
            self._show_progress()

    def on_compile(self) -> None:
        """Say, once, why there is no progress."""
        super().on_compile()
        if not self._is_compiling:
            self._is_compiling = True
            self._show(["compiling, once on this machine"])

    def on_models_trained(self, n_done: int, n_all: int) -> None:
        """Show how many models of a refresh are trained, if it is time to."""
        super().on_models_trained(n_done, n_all)
        self._show_in_time()

    def on_long_fit(self, advice: LongFit) -> bool:
        """Say it in a line that stays."""
        if self._updates:
            self._show([])
        text = advised(advice, "--max-samples {}", "--repeats {}", "--time-limit")
        write_line(f"note: {text}", self._stream)
        self._n_lines = 0
        return True

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Say where a resumed training continues."""
        super().on_start(settings, state)
        self._n_masks = settings.n_masks
        self._refreshes = sum(record.refreshed for record in state.history)
        if state.epoch and not self._updates:
            self._show([f"continuing after epoch {state.epoch} of {settings.max_iter}"])

    def on_epoch_end(self, state: TrainingState) -> None:
        """Show the progress, if it is time to."""
        super().on_epoch_end(state)
        if not self._has_begun:
            # That is worth a line, whenever the last one was.
            self._last_shown, self._has_begun = -float("inf"), True
        self._state = state
        self._refreshes += state.history[-1].refreshed
        self._show_in_time()

    def on_end(self, state: TrainingState) -> None:
        """Leave the last numbers on the screen; in lines, those of the last part."""
        is_over = self.forecast.is_over(state)
        if state.history:
            self._state = state
            if self._updates or is_over:
                self._show_progress()
        elif self._n_lines:
            self._show([])
        if is_over:
            self._n_lines = 0

    # -- what is shown -----------------------------------------------------------------------------

    def _show_in_time(self) -> None:
        now = self._clock()
        if now - self._last_shown >= (_UPDATE if self._updates else _LINE):
            self._last_shown = now
            self._show_progress()

    def _show_progress(self) -> None:
        state, (n_done, n_epochs) = self._state, self.forecast.epochs
        is_ended = state is not None and state.stopped is not None and self.forecast.is_over(state)
        times = f"{tqdm.format_interval(self._clock() - self._begin)} elapsed"
        left = self.forecast.time_left()
        if left is not None and not is_ended:
            times += f", about {tqdm.format_interval(left)} left"
        count = f"epoch {n_done}/{n_epochs}"
        trained = self.forecast.refresh
        models = "" if trained is None else f"  models {trained[0]}/{trained[1]}"
        numbers = ["training the first base models"] if state is None else self._numbers(state)
        if not self._updates:
            self._show(["  ".join([count + models, *numbers, times])])
            return
        share = n_done / n_epochs
        bar = f"[{'#' * round(share * _BAR):.<{_BAR}}] {share:4.0%}"
        lines = (f"{count} {bar}{models}  {times}", f"{count}{models}  {times}", count)
        width = self._width() - 1
        first = next((line for line in lines if len(line) <= width), count)
        # The last numbers are left out first.
        while len(numbers) > 1 and len("  ".join(numbers)) > width:
            numbers.pop()
        self._show([first, "  ".join(numbers)])

    def _numbers(self, state: TrainingState) -> list[str]:
        last = state.history[-1]
        return [
            f"validation {last.validation_objective:.4f} "
            f"({state.name_of_best} {state.best_objective:.4f})",
            f"size {last.expected_size:.1f}",
            f"models {last.n_models_trained:,}",
            f"objective {last.objective:.4f}",
            f"refreshes {self._refreshes:,.0f}",
            f"ESS {last.min_ess / self._n_masks:.0%}",
        ]

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

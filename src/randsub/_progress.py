"""The progress bar of training, networks, baselines and selection."""

import time
from collections.abc import Callable

from tqdm.auto import tqdm

# Seconds between two updates of what is said beside the bar.
_UPDATE = 0.2


class Bar:
    """Progress bar that can say what is being done, and how long that will take.

    Parameters
    ----------
    description : str
    total : int
        Number of steps.
    unit : str
        Name of a step.
    initial : int, default=0
        Number of steps already done.
    shown : bool, default=True
        Whether the bar is shown at all.
    """

    def __init__(
        self, description: str, total: int, unit: str, initial: int = 0, *, shown: bool = True
    ) -> None:
        self.description = description
        self._said = ""
        self._last_shown = 0.0
        self._bar = tqdm(
            total=total,
            initial=initial,
            desc=description,
            unit=unit,
            dynamic_ncols=True,
            disable=not shown,
        )

    def say(self, text: str, seconds_left: Callable[[], float | None] | None = None) -> None:
        """Show what is being done, until the next step.

        Parameters
        ----------
        text : str
        seconds_left : callable, default=None
            Returns the expected time until the end.
        """
        now = time.monotonic()
        if seconds_left is not None and now - self._last_shown < _UPDATE:
            return
        self._last_shown, self._said = now, text
        self._expect(seconds_left)
        self._bar.set_description(self.description + (text and f" ({text})"))

    def say_compiling(self) -> None:
        """Show that an engine is being compiled; once, although there are many kernels."""
        if self._said != (text := "compiling, once per machine"):
            self.say(text)

    def tell(self, **figures: str) -> None:
        """Show figures after the bar, from the next step on."""
        self._bar.set_postfix(**figures, refresh=False)

    def advance(self, steps: int = 1) -> None:
        """Advance the bar."""
        if self._said:
            self._said = ""
            self._bar.set_description(self.description, refresh=False)
        self._bar.update(steps)

    def move(self, position: int, seconds_left: Callable[[], float | None]) -> None:
        """Advance the bar to a position, with the expected time until the end."""
        now = time.monotonic()
        if now - self._last_shown >= _UPDATE:
            self._last_shown = now
            self._expect(seconds_left)
        self.advance(position - self._bar.n)

    def _expect(self, seconds_left: Callable[[], float | None] | None) -> None:
        left = None if seconds_left is None else seconds_left()
        if left is not None:
            # In place of what tqdm would expect from the steps alone.
            self._bar.bar_format = (
                "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<"
                + tqdm.format_interval(left)
                + "{postfix}]"
            )

    def close(self) -> None:
        """Close the bar."""
        self._bar.close()

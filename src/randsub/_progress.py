"""The progress bar of training, networks, baselines and selection."""

from tqdm.auto import tqdm


class Bar:
    """Progress bar that shows when an engine is being compiled.

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
        self._is_compiling = False
        self._bar = tqdm(
            total=total,
            initial=initial,
            desc=description,
            unit=unit,
            dynamic_ncols=True,
            disable=not shown,
        )

    def say_compiling(self) -> None:
        """Show that an engine is being compiled."""
        self._is_compiling = True
        self._bar.set_description(f"{self.description} (compiling, once per machine)")

    def say_name(self) -> None:
        """Show the description again."""
        self._is_compiling = False
        self._bar.set_description(self.description, refresh=False)

    def tell(self, **figures: str) -> None:
        """Show figures after the bar, from the next step on."""
        self._bar.set_postfix(**figures, refresh=False)

    def advance(self, steps: int = 1) -> None:
        """Advance the bar."""
        if self._is_compiling:
            self.say_name()
        self._bar.update(steps)

    def close(self) -> None:
        """Close the bar."""
        self._bar.close()

"""Who watches the loop: callbacks observe and may ask to stop; they never steer."""

from collections.abc import Sequence

from tqdm.auto import tqdm

from randsub.training.problem import Settings
from randsub.training.state import TrainingState


class Callback:
    """Hooks around the loop; each does nothing unless overridden."""

    def on_prepare(self, settings: Settings) -> None:
        """The first rounds are about to be trained."""

    def on_compile(self) -> None:
        """Something is being compiled that was not on disk yet; that takes seconds, once."""

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """The first rounds are trained; the first epoch is about to begin."""

    def on_epoch_end(self, state: TrainingState) -> bool | None:
        """An epoch is done; return True to ask the loop to stop."""

    def on_end(self, state: TrainingState) -> None:
        """The loop is over, however it ended."""


class Bar:
    """A bar on the screen that says so when nothing moves because something is being compiled.

    Parameters
    ----------
    description : str
    total : int
        Steps to go.
    unit : str
        What a step is called.
    initial : int, default=0
        Steps that are done already.
    shown : bool, default=True
        Whether there is anything to see at all.
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
        """Say why nothing moves."""
        self._is_compiling = True
        self._bar.set_description(f"{self.description} (compiling, once on this machine)")

    def say_name(self) -> None:
        """Call it by its name again."""
        self._is_compiling = False
        self._bar.set_description(self.description, refresh=False)

    def tell(self, **figures: str) -> None:
        """Show figures beside the bar from the next move on."""
        self._bar.set_postfix(**figures, refresh=False)

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        if self._is_compiling:
            self.say_name()
        self._bar.update(steps)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()


class ProgressBar(Callback):
    """A bar over epochs, with the objective, the expected size and the work done so far.

    Parameters
    ----------
    description : str, default="PRS"
    """

    def __init__(self, description: str = "PRS") -> None:
        self.description = description
        self._bar: Bar | None = None

    def on_prepare(self, settings: Settings) -> None:
        """Open the bar."""
        self._open(settings, 0)

    def on_compile(self) -> None:
        """Say why nothing moves."""
        if self._bar is not None:
            self._bar.say_compiling()

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Open the bar where training is taken up again, else call it by its name."""
        if self._bar is None:
            self._open(settings, state.epoch)
        else:
            self._bar.say_name()

    def _open(self, settings: Settings, epoch: int) -> None:
        self._bar = Bar(self.description, settings.max_iter, "epoch", epoch)

    def on_epoch_end(self, state: TrainingState) -> None:
        """Move the bar."""
        if self._bar is None:
            return
        last = state.history[-1]
        self._bar.tell(
            validation=f"{last.validation_objective:.4f}",
            best=f"{state.best_objective:.4f}",
            size=f"{last.expected_size:.1f}",
            # As text: a number of this size would be rounded to "3e+4".
            models=str(last.n_models_trained),
        )
        self._bar.advance()

    def on_end(self, state: TrainingState) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def tell_of_compiling(callbacks: Sequence[Callback]) -> None:
    """Pass the word to all of them."""
    for callback in callbacks:
        callback.on_compile()

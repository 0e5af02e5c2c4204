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


class ProgressBar(Callback):
    """A bar over epochs, with the objective, the expected size and the work done so far.

    Parameters
    ----------
    description : str, default="PRS"
    """

    def __init__(self, description: str = "PRS") -> None:
        self.description = description
        self._bar: tqdm | None = None

    def on_prepare(self, settings: Settings) -> None:
        """Open the bar."""
        self._open(settings, 0)

    def on_compile(self) -> None:
        """Say why nothing moves."""
        if self._bar is not None:
            self._bar.set_description(f"{self.description} (compiling, once on this machine)")

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Open the bar where training is taken up again, else call it by its name."""
        if self._bar is None:
            self._open(settings, state.epoch)
        else:
            self._bar.set_description(self.description)

    def _open(self, settings: Settings, epoch: int) -> None:
        self._bar = tqdm(
            total=settings.max_iter,
            initial=epoch,
            desc=self.description,
            unit="epoch",
            dynamic_ncols=True,
        )

    def on_epoch_end(self, state: TrainingState) -> None:
        """Move the bar."""
        if self._bar is None:
            return
        last = state.history[-1]
        self._bar.set_postfix(
            validation=f"{last.validation_objective:.4f}",
            best=f"{state.best_objective:.4f}",
            size=f"{last.expected_size:.1f}",
            # As text: a number of this size would be rounded to "3e+4".
            models=str(last.n_models_trained),
            refresh=False,
        )
        self._bar.update()

    def on_end(self, state: TrainingState) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def tell_of_compiling(callbacks: Sequence[Callback]) -> None:
    """Pass the word to all of them."""
    for callback in callbacks:
        callback.on_compile()

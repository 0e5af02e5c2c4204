"""Save a fit from time to time, so that it can be resumed after a crash."""

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from randsub._files import check_writable, remove_leftovers
from randsub._numbers import check_number
from randsub.exceptions import CheckpointWarning, as_sentence
from randsub.solver.callback import Callback
from randsub.solver.problem import Settings
from randsub.solver.run import Run
from randsub.solver.state import TrainingState


class Checkpoint(Callback):
    """Write a file from which the fit can be resumed: ``fit(X, y, resume_from=path)``.

    A resumed fit ends bit for bit as if it had never stopped: ``alpha_``, ``history_``, the members
    and their predictions. A checkpoint is written when ``every`` epochs or ``seconds`` have passed
    since the last one, whichever comes first, and when training ends for whatever reason. The
    former checkpoint stays in place until the new one is complete.

    Parameters
    ----------
    path : path-like
        The file; its folder must exist. An existing file is replaced at the first checkpoint. Use
        a different file for each fit; in particular, do not share one among clones that are fitted
        at the same time.
    every : int, default=None
        Number of epochs between two checkpoints.
    seconds : float or None, default=60
        Number of seconds between two checkpoints.

    Notes
    -----
    *Content*: alpha, the state of the optimiser, the history, the states of the random generators,
    and the masks and predictions of the current base models. The predictions take up nearly all of
    the file, about ``8 n_estimators n_outputs (n_train + n_batches n_val)`` bytes per repeat (or
    target of a network), where n_outputs is 1 in regression and the number of classes in
    classification: 2 MB for 1,000 samples and two classes. The data is not in it, only its dtype,
    shape and digest, together with the parameters as text and the versions of the libraries.

    *Cost*: about the time it takes to write a file of that size, by default at most once per
    minute. The first checkpoint also reads all of X once, for its digest.

    *Errors*: a file that is cut off or has a wrong bit is refused by its checksum, and nothing in a
    file can run code when it is read. If a checkpoint cannot be written, for example because the
    disk is full, there is a :class:`~randsub.exceptions.CheckpointWarning` and training continues.

    Examples
    --------
    A script that resumes the fit if there is a checkpoint::

        path = Path("run.ckpt")
        model = PRSClassifier(random_state=0).set_callbacks(Checkpoint(path))
        model.fit(X, y, resume_from=path if path.exists() else None)
    """

    def __init__(
        self,
        path: "os.PathLike[str] | str",
        *,
        every: int | None = None,
        seconds: float | None = 60.0,
    ) -> None:
        self.path = path
        self.every = every
        self.seconds = seconds

    def for_run(self, run: Run) -> "_Writer":
        """Check that the file can be written."""
        if self.every is not None:
            check_number(self, "every", 1)
        if self.seconds is not None:
            check_number(self, "seconds", 0.0)
        # The meaning of a relative path must not change during the fit.
        path = Path(self.path).absolute()
        check_writable(path)
        return _Writer(run, path, self.every, self.seconds)


@dataclass(eq=False)
class _Writer(Callback):
    run: Run
    path: Path
    every: int | None
    seconds: float | None
    now: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._last_time, self._last_epoch = self.now(), 0
        self._written: int | None = None

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Start counting epochs."""
        self._last_epoch, self._written = state.epoch, None
        remove_leftovers(self.path)

    def on_epoch_end(self, state: TrainingState) -> None:
        """Write a checkpoint if one is due."""
        by_epochs = self.every is not None and state.epoch - self._last_epoch >= self.every
        passed = self.now() - self._last_time
        if by_epochs or (self.seconds is not None and passed >= self.seconds):
            self._write(state)

    def on_end(self, state: TrainingState) -> None:
        """Write the epochs after the last checkpoint."""
        # Before the first epoch there is nothing to resume from.
        if state.epoch > 0 and state.epoch != self._written:
            self._write(state)

    def _write(self, state: TrainingState) -> None:
        self._last_epoch = state.epoch
        try:
            self.run.save(self.path, state)
        except OSError as error:
            warnings.warn(
                f"The checkpoint of epoch {state.epoch} could not be written to {self.path}: "
                f"{as_sentence(str(error))} Training continues; an earlier checkpoint is left as "
                "it was.",
                CheckpointWarning,
                stacklevel=2,
            )
        else:
            self._written = state.epoch
            remove_leftovers(self.path)
        # Counted from the end, so that writing never takes all of the time.
        self._last_time = self.now()

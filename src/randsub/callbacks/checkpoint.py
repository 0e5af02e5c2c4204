"""Save a fit from time to time, so that it can go on after a crash."""

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from randsub._numbers import check_number
from randsub.exceptions import CheckpointWarning
from randsub.training.archive import remove_leftovers
from randsub.training.callbacks import Callback
from randsub.training.problem import Settings
from randsub.training.run import Run
from randsub.training.state import TrainingState


class Checkpoint(Callback):
    """Write a file from which the fit can go on: ``fit(X, y, resume_from=path)``.

    A fit that is resumed ends bit for bit as if it had never stopped: ``alpha_``, ``history_``, the
    members and their predictions. A checkpoint is written when ``every`` epochs or ``seconds`` have
    passed since the last one, whichever comes first, and when training ends, however it ends. What
    it replaces stays in place until the new one is complete.

    Parameters
    ----------
    path : path-like
        The file; its folder must exist. One that is there is replaced at the first checkpoint. Each
        fit needs a file of its own, so do not share one among clones that are fitted at once.
    every : int, default=None
        Epochs between two checkpoints.
    seconds : float or None, default=60
        Seconds between two checkpoints.

    Notes
    -----
    *What is in it*: alpha, the optimiser's memory, the history, the states of the generators, and
    the masks and predictions of the models that are in use now. These last make up nearly all of
    it, about ``8 n_estimators n_outputs (n_train + n_batches n_val)`` bytes for each target, where
    n_outputs is 1 in regression and the number of classes in classification: 2 MB for 1,000
    samples and two classes. Of the data, the parameters and the versions of the libraries there are
    only fingerprints, no values: names of parameters with their values as text, shapes, and
    digests.

    *What it costs*: about as long as writing a file of that size takes; with the default, at most
    once a minute. The first one also reads all of X once, for its fingerprint.

    *What can go wrong*: a file that is cut off or has a wrong bit is refused by its checksum, and
    nothing in a file can run code when it is read. Where a checkpoint cannot be written, for lack
    of space for example, there is a :class:`~randsub.exceptions.CheckpointWarning` and training
    goes on.

    Examples
    --------
    A script that goes on where it was stopped, if it was::

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
        """Check that there is a place to write to."""
        if self.every is not None:
            check_number(self, "every", 1)
        if self.seconds is not None:
            check_number(self, "seconds", 0.0)
        # What is meant by a relative path must not change during the fit.
        path = Path(self.path).absolute()
        if path.is_dir() or not path.parent.is_dir():
            what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
            raise ValueError(f"Checkpoint cannot write to {path}, which {what}.")
        if not os.access(path.parent, os.W_OK):
            raise PermissionError(f"Checkpoint cannot write to the folder {path.parent}.")
        return _Writer(run, path, self.every, self.seconds)


class _Writer(Callback):
    def __init__(
        self,
        run: Run,
        path: Path,
        every: int | None,
        seconds: float | None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run, self._path, self._now = run, path, now
        self._every, self._seconds = every, seconds
        self._last_time = now()
        self._last_epoch = 0
        self._written: int | None = None

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Count from here."""
        self._last_epoch, self._written = state.epoch, None
        remove_leftovers(self._path)

    def on_epoch_end(self, state: TrainingState) -> None:
        """Write, if it is time to."""
        by_epochs = self._every is not None and state.epoch - self._last_epoch >= self._every
        passed = self._now() - self._last_time
        if by_epochs or (self._seconds is not None and passed >= self._seconds):
            self._write(state)

    def on_end(self, state: TrainingState) -> None:
        """Write what came after the last checkpoint."""
        # Before the first epoch there is nothing to go on from.
        if state.epoch > 0 and state.epoch != self._written:
            self._write(state)

    def _write(self, state: TrainingState) -> None:
        self._last_epoch = state.epoch
        try:
            self._run.save(self._path, state)
        except OSError as error:
            warnings.warn(
                f"The checkpoint of epoch {state.epoch} could not be written to {self._path}: "
                f"{error}. Training goes on; an earlier checkpoint is left as it was.",
                CheckpointWarning,
                stacklevel=2,
            )
        else:
            self._written = state.epoch
            remove_leftovers(self._path)
        # Counted from the end, so that writing never takes up all of the time.
        self._last_time = self._now()

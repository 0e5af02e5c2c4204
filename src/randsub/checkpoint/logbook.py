"""What a checkpoint holds, to which fit it belongs, and whether that fit may be resumed."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from randsub._typing import IntArray
from randsub._version import __version__, versions_of
from randsub.checkpoint.archive import read_archive, write_archive
from randsub.checkpoint.fingerprint import changes, describe_parameters
from randsub.exceptions import CheckpointError, CheckpointWarning
from randsub.solver import Settings, TrainingState
from randsub.solver.schedule import learns_shares, revival_epoch

Outcome = TypeVar("Outcome")

# Libraries on which the last bits of a result may depend.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


@dataclass(eq=False)
class Logbook:
    """Writes the checkpoints of a fit, and holds the one it is resumed from.

    Parameters
    ----------
    model : estimator
        The model that is being fitted.
    describe_data : callable
        Returns the descriptions of the data by name; called when they are first needed.
    seed : int ndarray of shape (4,)
        Seed of the fit; that of the checkpoint, once it is resumed from one.
    path : Path or None
        The checkpoint that the fit is resumed from.
    progress : tree of values and arrays, or None
        How far that fit had come.
    """

    model: Any
    describe_data: Callable[[], dict[str, str | None]]
    seed: IntArray
    path: Path | None = None
    progress: Any = None

    @cached_property
    def _identity(self) -> dict[str, str | None]:
        """What must be the same for the fit to be resumed, as text."""
        return {
            "randsub": __version__,
            "model": type(self.model).__name__,
            **describe_parameters(self.model),
            **self.describe_data(),
        }

    def write(self, path: Path, finished: list[Any], current: Any) -> None:
        """Write a checkpoint, for a fit of one training run or of several, one after the other.

        Parameters
        ----------
        path : Path
        finished : list of trees of values and arrays
            Outcomes of the finished training runs.
        current : tree of values and arrays
            State of the current one.
        """
        tree = {
            "identity": self._identity,
            "versions": versions_of(*LIBRARIES),
            "seed": np.asarray(self.seed, dtype=np.int64),
            "progress": {"finished": finished, "current": current},
        }
        write_archive(path, tree)

    def recalled(self, number: int, thaw: Callable[[Any], Outcome | None]) -> Outcome | None:
        """Outcome of a training run, if the resumed fit had finished it.

        Parameters
        ----------
        number : int
            Number of training runs before it.
        thaw : callable
            Makes the outcome from its tree, or None if that is not to be used.
        """
        with self.reading():
            known = [] if self.progress is None else self.progress["finished"]
            return thaw(known[number]) if number < len(known) else None

    def begun(self, number: int) -> Any:
        """State of a training run, if the resumed fit was in it; None after the first call.

        ``number`` is the number of training runs before it.
        """
        with self.reading():
            if self.progress is None or number != len(self.progress["finished"]):
                return None
            tree, self.progress["current"] = self.progress["current"], None
            return tree

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors about the content of the checkpoint into a CheckpointError."""
        try:
            yield
        except CheckpointError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise self.refusal(f"its content is invalid: {error!r}") from error

    def refusal(self, reason: str) -> CheckpointError:
        """The error that says why the fit cannot be resumed."""
        return CheckpointError(str(self.path), reason)

    def resume(self, resume_from: "os.PathLike[str] | str", flexible: tuple[str, ...] = ()) -> None:
        """Take up the fit of a checkpoint, if it belongs to this very fit.

        Parameters
        ----------
        resume_from : path-like
        flexible : tuple of str, default=()
            Parameters that may differ; the caller checks them.
        """
        if not isinstance(resume_from, str | os.PathLike):
            raise TypeError(f"resume_from must be the path of a file, got {resume_from!r}.")
        self.path = path = Path(resume_from)
        if not path.is_file():
            raise FileNotFoundError(
                f"resume_from={str(path)!r} is not a file. Without resume_from the fit starts from "
                "the beginning."
            )
        tree = read_archive(path)
        with self.reading():
            self.seed, self.progress = tree["seed"], tree["progress"]
            changed = changes(tree["identity"], self._identity, flexible)
            others = changes(tree["versions"], versions_of(*LIBRARIES))
        if changed:
            raise self.refusal(f"it was made in another fit: {'; '.join(changed)}")
        if others:
            warnings.warn(
                f"The checkpoint {path} was made with other library versions: "
                f"{'; '.join(others)}. The fit goes on, but its result may differ in the last "
                "bits.",
                CheckpointWarning,
                stacklevel=3,
            )


def check_course(logbook: Logbook, state: TrainingState, then: Settings, now: Settings) -> None:
    """Raise if a run with another ``max_iter`` would not have reached this state.

    Parameters
    ----------
    logbook : Logbook
        Whose checkpoint it is.
    state : TrainingState
        From the checkpoint.
    then : Settings
        Of the checkpoint.
    now : Settings
        They differ in nothing but ``max_iter``.
    """
    if then.max_iter == now.max_iter:
        return
    change = f"max_iter was {then.max_iter} and is {now.max_iter}"
    if state.epoch > now.max_iter:
        raise logbook.refusal(f"{change}, but {state.epoch} epochs are done already")
    for revivals in state.revivals:
        for number in range(len(revivals) + 1):
            old, new = revival_epoch(then, number), revival_epoch(now, number)
            if old is None or new is None or old == new:
                continue
            happened = revivals[number] if number < len(revivals) else None
            # A revival that a plateau brought forward, or that is still to come, is not affected.
            same = new >= state.epoch if happened is None else happened < old and happened <= new
            if not same:
                raise logbook.refusal(
                    f"{change}, with which revival {number + 1} would have been after epoch {new} "
                    f"and not {old}; keep max_iter, or use Solver(n_revivals=0) if it is to be "
                    "raised later"
                )
    if state.shares.shape[1] > 1 and not _learns_alike(state, then, now):
        raise logbook.refusal(
            f"{change}, with which the shares of the base models would have been learned from "
            "another epoch on; keep max_iter"
        )


def _learns_alike(state: TrainingState, then: Settings, now: Settings) -> bool:
    """Whether, in all epochs so far, shares were learned with both or with none of the settings."""
    for epoch in range(state.epoch):
        done = tuple(tuple(e for e in epochs if e <= epoch) for epochs in state.revivals)
        former = replace(state, epoch=epoch, revivals=done)
        if (learns_shares(then, former) != learns_shares(now, former)).any():
            return False
    return True

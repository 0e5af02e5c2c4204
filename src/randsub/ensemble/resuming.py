"""To which fit a checkpoint belongs, and whether it may go on."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from randsub._typing import IntArray
from randsub._version import __version__
from randsub.ensemble.fingerprint import (
    changed_data,
    changed_parameters,
    describe_parameters,
    versions,
)
from randsub.exceptions import CheckpointError, CheckpointWarning
from randsub.training import Settings, TrainingState
from randsub.training.archive import read_archive, write_archive


class Logbook:
    """Writes the checkpoints of a fit, and knows the one that it goes on from.

    Parameters
    ----------
    model : estimator
        That is being fitted.
    describe_data : callable
        Makes the descriptions of the data by their names, when they are needed for the first time.
    seed : int ndarray of shape (4,)
        What a fit from the start would draw from.
    resume_from : path-like or None
        A checkpoint to go on from.
    flexible : tuple of str, default=()
        Parameters that may differ; whoever resumes looks after them.
    """

    def __init__(
        self,
        model: Any,
        describe_data: Callable[[], dict[str, dict[str, str] | None]],
        seed: IntArray,
        resume_from: "os.PathLike[str] | str | None" = None,
        flexible: tuple[str, ...] = (),
    ) -> None:
        self._model = model
        self._describe_data = describe_data
        self.seed = seed
        self.path: Path | None = None
        self.progress: Any = None
        if resume_from is not None:
            if not isinstance(resume_from, str | os.PathLike):
                raise TypeError(f"resume_from must be the path of a file, got {resume_from!r}.")
            self.path = Path(resume_from)
            self._open(self.path, flexible)

    @cached_property
    def _identity(self) -> dict[str, Any]:
        return {
            "randsub": __version__,
            "model": type(self._model).__name__,
            "parameters": describe_parameters(self._model),
            "data": self._describe_data(),
            "versions": versions(),
        }

    def write(self, path: Path, progress: Any) -> None:
        """Write a checkpoint with this tree of values and arrays."""
        seed = np.asarray(self.seed, dtype=np.int64)
        write_archive(path, {"identity": self._identity, "seed": seed, "progress": progress})

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Whatever does not fit in the checkpoint's content is an error that says so."""
        try:
            yield
        except CheckpointError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise self.refusal(f"its content makes no sense: {error!r}") from error

    def refusal(self, reason: str) -> CheckpointError:
        """The error that says why the checkpoint is not gone on from."""
        assert self.path is not None
        return CheckpointError(self.path, reason)

    def _open(self, path: Path, flexible: tuple[str, ...]) -> None:
        if not path.is_file():
            raise FileNotFoundError(
                f"resume_from={str(path)!r} is no file. Without resume_from the fit starts from "
                "the beginning."
            )
        tree = read_archive(path)
        with self.reading():
            then, self.progress = tree["identity"], tree["progress"]
            self._compare(then, flexible)
            self.seed = tree["seed"]

    def _compare(self, then: Mapping[str, Any], flexible: tuple[str, ...]) -> None:
        """Raise unless the checkpoint is one of this very fit."""
        now = self._identity
        for name, what in (("randsub", "version of randsub"), ("model", "kind of model")):
            if then[name] != now[name]:
                raise self.refusal(
                    f"it was made with another {what}, {then[name]}; this is {now[name]}"
                )
        changed = [
            *changed_parameters(then["parameters"], now["parameters"], flexible),
            *changed_data(then["data"], now["data"]),
        ]
        if changed:
            raise self.refusal(f"it was made in another fit: {'; '.join(changed)}")
        others = [
            f"{name} {then['versions'].get(name)} (now {version})"
            for name, version in now["versions"].items()
            if then["versions"].get(name) != version
        ]
        if others:
            warnings.warn(
                f"The checkpoint {self.path} was made with {', '.join(others)}. The fit goes on, "
                "but may not end bit for bit as it would have.",
                CheckpointWarning,
                stacklevel=2,
            )


def check_course(logbook: Logbook, state: TrainingState, then: Settings, now: Settings) -> None:
    """Raise if a run with another ``max_iter`` would not have come to this state.

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
    # The epoch after which each revival took place.
    revivals = [epoch for epoch, record in enumerate(state.history) if record.revived]
    for number in range(state.n_revived + 1):
        old, new = then.revival_epoch(number), now.revival_epoch(number)
        if old is None or new is None or old == new:
            continue
        happened = revivals[number] if number < len(revivals) else None
        # One that a plateau brought forward, or that is still to come, does not care.
        same = new >= state.epoch if happened is None else happened < old and happened <= new
        if not same:
            raise logbook.refusal(
                f"{change}, with which revival {number + 1} would have been after epoch {new} and "
                f"not {old}; keep max_iter, or use n_revivals=0 where it is to be raised later"
            )

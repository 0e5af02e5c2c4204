"""A fit of a network, as callbacks see it: several trainings, one after the other."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from randsub._typing import FloatArray
from randsub.ensemble.resuming import Logbook
from randsub.training import EpochRecord, Problem, Run, Settings, TrainingState
from randsub.training.callbacks import Callback
from randsub.training.freezing import frozen, frozen_history, thawed, thawed_history


@dataclass(frozen=True)
class Outcome:
    """What one training of some targets has found.

    Parameters
    ----------
    theta : ndarray of shape (P, M)
        The best one.
    mean_theta : ndarray of shape (P, M)
        Mean over the epochs.
    errors : ndarray of shape (P, n_val)
        Prediction error of the ensembles of the best theta on each validation sample.
    history : tuple of EpochRecord
    n_models : int
        Base models trained.
    seconds : float
    stop_reason : str
    """

    theta: FloatArray
    mean_theta: FloatArray
    errors: FloatArray
    history: tuple[EpochRecord, ...]
    n_models: int
    seconds: float
    stop_reason: str


class Mean(Callback):
    """The mean of theta over the epochs."""

    def __init__(self, total: FloatArray | float = 0.0, n_epochs: int = 0) -> None:
        self.total = total
        self._n_epochs = n_epochs

    def on_epoch_end(self, state: TrainingState) -> None:
        """One more."""
        self.total = self.total + state.theta
        self._n_epochs += 1

    def value(self) -> FloatArray:
        """Mean so far, (P, M)."""
        return np.asarray(self.total / self._n_epochs)


class NetworkRun(Run):
    """Knows which trainings are done, and goes on in the one that was not.

    Parameters
    ----------
    model : PRSNetwork
        That is being fitted.
    logbook : Logbook
    """

    can_predict = False
    has_parts = True

    def __init__(self, model: Any, logbook: Logbook) -> None:
        self.estimator = model
        self._logbook = logbook
        self._finished: list[Outcome] = []
        self._part = ""
        progress = logbook.progress
        with logbook.reading():
            self._known = [] if progress is None else list(progress["finished"])
            self._current = None if progress is None else progress["current"]

    @property
    def name(self) -> str:
        """The model, and which of its trainings it is."""
        return f"{type(self.estimator).__name__}{self._part and ', '}{self._part}"

    def begin(self, part: str, share: float) -> None:
        """Another training comes next, after which this share of all the work is done."""
        self._part, self.share = part, share
        self._began = time.perf_counter()
        self.mean = Mean()

    def recalled(self, problem: Problem) -> Outcome | None:
        """The outcome of this training, if the fit that is resumed had finished it."""
        if len(self._finished) >= len(self._known):
            return None
        tree = self._known[len(self._finished)]
        with self._logbook.reading():
            outcome = Outcome(
                theta=tree["theta"],
                mean_theta=tree["mean_theta"],
                errors=tree["errors"],
                history=thawed_history(tree["history"]),
                n_models=int(tree["n_models"]),
                seconds=float(tree["seconds"]),
                stop_reason=str(tree["stop_reason"]),
            )
            shape = (problem.n_tasks, problem.distribution.n_parameters)
            n_judged = len(problem.val_rows) or len(problem.train_rows)
            _check_shapes(outcome, shape, n_judged)
        self._finished.append(outcome)
        return outcome

    def former(self, problem: Problem, settings: Settings) -> TrainingState | None:
        """Where the fit that is resumed was in this training, if it had begun it."""
        tree, self._current = self._current, None
        if tree is None:
            return None
        with self._logbook.reading():
            state = thawed(tree["state"], problem, settings)
            if tree["total"].shape != state.theta.shape:
                raise ValueError(f"a sum of shape {tree['total'].shape}")
            self.mean = Mean(tree["total"], state.epoch)
            self._began -= float(tree["seconds"])
        return state

    def seconds(self) -> float:
        """How long this training has taken."""
        return time.perf_counter() - self._began

    def keep(self, outcome: Outcome) -> None:
        """Remember that this training is finished."""
        self._finished.append(outcome)

    def fitted_estimator(self, state: TrainingState) -> Any:
        """There is none: a network does not predict."""
        raise TypeError(f"{type(self.estimator).__name__} does not predict.")

    def save(self, path: Path, state: TrainingState) -> None:
        """Write a checkpoint."""
        progress = {
            "finished": [
                {**vars(outcome), "history": frozen_history(outcome.history)}
                for outcome in self._finished
            ],
            "current": {
                "state": frozen(state),
                "total": np.asarray(self.mean.total),
                "seconds": self.seconds(),
            },
        }
        self._logbook.write(path, progress)


def _check_shapes(outcome: Outcome, shape: tuple[int, int], n_judged: int) -> None:
    wanted = {"theta": shape, "mean_theta": shape, "errors": (shape[0], n_judged)}
    for name, expected in wanted.items():
        if getattr(outcome, name).shape != expected:
            raise ValueError(f"{name} of shape {getattr(outcome, name).shape}, not {expected}")

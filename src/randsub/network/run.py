"""The fit of a network as callbacks see it: several training runs, one after the other."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from randsub._typing import FloatArray, IntArray
from randsub.checkpoint import Logbook, frozen, frozen_history, thawed, thawed_history
from randsub.solver import EpochRecord, Problem, Run, Settings, TrainingState
from randsub.solver.callback import Callback


@dataclass(frozen=True)
class Outcome:
    """Result of one training run.

    Parameters
    ----------
    theta : ndarray of shape (P B, M)
        The best theta, with a row per target and base model.
    shares : ndarray of shape (P, B)
        Shares of the base models along with it.
    mean_alpha : ndarray of shape (P, M)
        Alpha, the mean of theta over the base models by share, averaged over the epochs.
    errors : ndarray of shape (P, n_val)
        Prediction error of the ensembles of the best theta on each validation sample; NaN where a
        target leaves it out.
    history : tuple of EpochRecord
    n_models : int
        Base models trained.
    seconds : float
    stop_reason : str
    """

    theta: FloatArray
    shares: FloatArray
    mean_alpha: FloatArray
    errors: FloatArray
    history: tuple[EpochRecord, ...]
    n_models: int
    seconds: float
    stop_reason: str


class Mean(Callback):
    """Callback that computes the mean of alpha over the epochs."""

    def __init__(self, total: FloatArray | float = 0.0, n_epochs: int = 0) -> None:
        self.total = total
        self._n_epochs = n_epochs

    def on_epoch_end(self, state: TrainingState) -> None:
        """Add alpha of this epoch."""
        self.total = self.total + state.alpha
        self._n_epochs += 1

    def value(self) -> FloatArray:
        """Mean over the epochs so far, (P, M)."""
        return np.asarray(self.total / self._n_epochs)


class NetworkRun(Run):
    """Record of the finished training runs, from which an interrupted fit is resumed.

    Parameters
    ----------
    model : PRSNetwork
        The network that is being fitted.
    logbook : Logbook
    """

    can_predict = False
    has_parts = True

    def __init__(self, model: Any, logbook: Logbook) -> None:
        self.estimator = model
        self._logbook = logbook
        self._finished: list[Outcome] = []
        self._part = self._whole = ""
        self._number, self._n_trainings = 0, 1
        self._share_done = 0.0

    @property
    def name(self) -> str:
        """Name of the model and of the current training run."""
        return f"{type(self.estimator).__name__}{self._part and ', '}{self._part}"

    def enter(self, name: str, number: int, n_trainings: int, rows: IntArray) -> None:
        """Begin one of several trainings of all targets, which take about the same time.

        Parameters
        ----------
        name : str
            Its name; empty if there is one only.
        number : int
            Number of trainings before it.
        n_trainings : int
            Number of all.
        rows : int ndarray
            Samples on which the errors of any target are computed, sorted.
        """
        self.rows = rows
        self._whole, self._number, self._n_trainings = name, number, n_trainings

    def begin(self, part: str, share: float, models_after: float) -> None:
        """Begin a training run.

        Parameters
        ----------
        part : str
            Its name.
        share : float
            Fraction of the work of this training of all targets that is done after it.
        models_after : float
            Work for its errors, in models of a refresh.
        """
        self._part = f"{self._whole}{self._whole and ', '}{part}"
        self.models_after, share = models_after, (self._number + share) / self._n_trainings
        self.share_before, self.share = self._share_done, share
        self._share_done = share
        self._began = time.perf_counter()
        self.mean = Mean()

    def recalled(self, problem: Problem) -> Outcome | None:
        """Outcome of this training run, if the resumed fit had finished it."""
        number = len(self._finished)
        outcome = self._logbook.recalled(number, lambda tree: self._thawed(tree, problem))
        self._finished += [] if outcome is None else [outcome]
        return outcome

    def _thawed(self, tree: Any, problem: Problem) -> Outcome:
        return _thawed_outcome(tree, problem, len(self.rows))

    def former(self, problem: Problem, settings: Settings) -> TrainingState | None:
        """State of this training run in the resumed fit, if it had begun it."""
        tree = self._logbook.begun(len(self._finished))
        if tree is None:
            return None
        with self._logbook.reading():
            state = thawed(tree["state"], problem, settings)
            if tree["total"].shape != state.alpha.shape:
                raise ValueError(f"a sum of shape {tree['total'].shape}")
            self.mean = Mean(tree["total"], state.epoch)
            self._began -= float(tree["seconds"])
        return state

    def seconds(self) -> float:
        """Duration of this training run so far."""
        return time.perf_counter() - self._began

    def keep(self, outcome: Outcome) -> None:
        """Record that this training run is finished."""
        self._finished.append(outcome)

    def fitted_estimator(self, state: TrainingState) -> Any:
        """Raise an error: a network does not predict."""
        raise TypeError(f"{type(self.estimator).__name__} does not predict.")

    def save(self, path: Path, state: TrainingState) -> None:
        """Write a checkpoint."""
        current = {
            "state": frozen(state),
            "total": np.asarray(self.mean.total),
            "seconds": self.seconds(),
        }
        self._logbook.write(path, [_frozen_outcome(one) for one in self._finished], current)


def _frozen_outcome(outcome: Outcome) -> dict[str, Any]:
    return {**vars(outcome), "history": frozen_history(outcome.history)}


def _thawed_outcome(tree: Any, problem: Problem, n_rows: int) -> Outcome:
    outcome = Outcome(
        theta=tree["theta"],
        shares=tree["shares"],
        mean_alpha=tree["mean_alpha"],
        errors=tree["errors"],
        history=thawed_history(tree["history"], problem.n_bases),
        n_models=int(tree["n_models"]),
        seconds=float(tree["seconds"]),
        stop_reason=str(tree["stop_reason"]),
    )
    _check_shapes(outcome, problem, n_rows)
    return outcome


def judged_rows(problem: Problem) -> IntArray:
    """Samples on which errors are computed, of all targets; some may leave out a few of them."""
    every = [t.val_rows if len(t.val_rows) else t.train_rows for t in problem.targets]
    if all(rows is every[0] for rows in every):
        return every[0]
    return np.unique(np.concatenate(every))


def _check_shapes(outcome: Outcome, problem: Problem, n_rows: int) -> None:
    n_targets, n_regulators = len(problem.targets), problem.distribution.n_parameters
    wanted = {
        "theta": (n_targets * problem.n_bases, n_regulators),
        "shares": (n_targets, problem.n_bases),
        "mean_alpha": (n_targets, n_regulators),
        "errors": (n_targets, n_rows),
    }
    for name, expected in wanted.items():
        if getattr(outcome, name).shape != expected:
            raise ValueError(f"{name} of shape {getattr(outcome, name).shape}, not {expected}")

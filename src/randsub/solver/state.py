"""Everything that changes during training, in one object."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.optim.base import OptimizerState
from randsub.solver.alpha_path import NO_PATH, AlphaPath, joined_paths
from randsub.solver.problem import Problem, Settings
from randsub.solver.rounds import Round, best_score
from randsub.solver.shares import mean_by_share


class Due:
    """What must happen to the rounds of a row of theta before the next epoch.

    Integers and not an ``Enum``: numpy looks up attributes of ``Enum`` members in Python code, and
    with Python 3.11 a Ctrl-C that arrives there is lost.
    """

    NOTHING: Final = 0
    REFRESH: Final = 1
    FRESH: Final = 2


class EpochRecord(NamedTuple):
    """One row of the history.

    ``refreshed``, the share of the tasks whose models were, and ``revived`` refer to the time
    before the steps of the epoch, all other fields to the time after them. ``shares`` are those of
    the base models, averaged over tasks.
    """

    objective: float
    validation_objective: float
    min_ess: float
    expected_size: float
    refreshed: float
    revived: bool
    n_models_trained: int
    shares: tuple[float, ...] = (1.0,)


@dataclass(frozen=True, kw_only=True)
class Result:
    """What is kept of training that has ended; see :class:`TrainingState`.

    Parameters
    ----------
    best_theta : ndarray of shape (R, M)
    best_shares : ndarray of shape (P, B)
    best_objectives, best_epochs : ndarrays of shape (V,)
    best_scores : ndarray of shape (P,)
    generators : tuple of P mappings
    history : tuple of EpochRecord
    n_models_trained : int
    path : AlphaPath
        Alpha along the epochs, if it is recorded.
    stopped : str or None
    """

    best_theta: FloatArray
    best_shares: FloatArray
    best_objectives: FloatArray
    best_epochs: IntArray
    best_scores: FloatArray
    generators: tuple[Mapping[str, Any], ...]
    history: tuple[EpochRecord, ...]
    n_models_trained: int
    path: AlphaPath = NO_PATH
    stopped: str | None = None

    @property
    def best_objective(self) -> float:
        """Validation objective of the best epoch, averaged over tasks if each has its own."""
        return float(self.best_objectives.mean())

    @property
    def name_of_best(self) -> str:
        """What to call that objective: of several tasks, others may have had a lower mean."""
        return "best" if len(self.best_objectives) == 1 else "best epochs"

    @property
    def best_epoch(self) -> int:
        """Latest of the best epochs of all tasks."""
        return int(self.best_epochs.max())

    @property
    def best_alpha(self) -> FloatArray:
        """Best theta of each task, (P, M): the mean over its base models by share."""
        return mean_by_share(self.best_theta, self.best_shares)

    def rng(self, task: int = 0) -> np.random.Generator:
        """Random generator of a task, in its last state."""
        generator = self.generators[task]
        bit_generator = getattr(np.random, generator["bit_generator"])()
        bit_generator.state = generator
        return np.random.Generator(bit_generator)


@dataclass(frozen=True, kw_only=True)
class TrainingState(Result):
    """State of the training loop between two epochs.

    It is immutable: an epoch returns a new state. Training that is resumed from a stored state,
    with the same problem and settings, ends bit for bit as if it had never stopped.

    Parameters
    ----------
    epoch : int
        Number of completed epochs.
    theta : ndarray of shape (R, M)
        One row per task and base model; see :class:`randsub.solver.problem.Problem`.
    shares : ndarray of shape (P, B)
        Shares of the base models in the ensemble of each task.
    optimizer : NamedTuple of arrays
    rounds : tuple of R tuples of Rounds, one per batch
        Those of a base model whose share is 0 may be empty.
    due : int ndarray of shape (R,)
        What must happen to the rounds of each row before the next epoch; see ``Due``.
    generators : tuple of P mappings
        State of the bit generator of each task, which is independent of other tasks.
    history : tuple of EpochRecord
    barred : bool ndarray of shape (R, M)
        Entries that started at 0; neither a revival nor a restart raises them.
    best_theta, best_shares : ndarrays of shape (R, M) and (P, B)
        Theta and shares of the best epoch: the one with the lowest validation objective or, if
        settings say so, with the lowest sum of objective and validation objective.
    best_objectives, best_epochs : ndarrays of shape (V,)
        Its validation objective, and the epoch. V is the number of verdicts: one per task, or a
        single one if a penalty couples the tasks.
    best_scores : ndarray of shape (P,)
        The problem's score of each task at its best epoch; NaN if it has none, infinite while it
        can be computed from the rounds.
    best_criteria : ndarray of shape (V,)
        What was lowest at the best epoch.
    objectives, verdicts : ndarrays of shape (V,)
        Objective on the held-out and on the validation rows after the last epoch.
    ess : ndarray of shape (R,)
        Smallest effective sample size of the rounds of each row after the last epoch; infinite for
        base models without a share.
    mark_objectives, mark_epochs : ndarrays of shape (V,)
        Last improvement by more than ``tol`` since the last (re)start, for ``n_iter_no_change``.
    revivals : tuple of V tuples of int
        Epochs after which revivals took place.
    n_models_trained : int
    path : AlphaPath
        Alpha along the epochs, if it is recorded; the last epoch may be missing.
    stopped : str or None
        Why training has ended; None before that.
    """

    epoch: int
    theta: FloatArray
    shares: FloatArray
    optimizer: OptimizerState
    rounds: tuple[tuple[Round, ...], ...]
    due: IntArray
    barred: BoolArray
    best_criteria: FloatArray
    objectives: FloatArray
    verdicts: FloatArray
    ess: FloatArray
    mark_objectives: FloatArray
    mark_epochs: IntArray
    revivals: tuple[tuple[int, ...], ...]

    def result(self) -> Result:
        """What is kept if training ends with this state."""
        kept = {field.name: getattr(self, field.name) for field in fields(Result)}
        if self.path.epochs:
            kept["path"] = self.path.ended(self.epoch, self.alpha)
        return Result(**kept)

    def recorded(self, most_snapshots: int) -> "TrainingState":
        """The state with its alpha in the path, if it is due."""
        if not most_snapshots:
            return self
        path = self.path.extended(self.epoch, self.alpha, most_snapshots)
        return self if path is self.path else replace(self, path=path)

    @property
    def alpha(self) -> FloatArray:
        """Theta of each task, (P, M): the mean over its base models by share."""
        return mean_by_share(self.theta, self.shares)

    @property
    def n_revived(self) -> IntArray:
        """Number of revivals so far, (V,)."""
        return np.array([len(epochs) for epochs in self.revivals])

    def expected_size(self, problem: Problem) -> float:
        """Expected number of columns of a model: mean over bases, by share, and over tasks."""
        sizes = np.array([*map(problem.distribution.expected_size, self.theta)])
        return float((sizes.reshape(self.shares.shape) * self.shares).sum(axis=1).mean())

    def share_refreshed(self, former: "TrainingState") -> float:
        """Share of the tasks whose models have been trained anew since a former state."""
        pairs = zip(self.rounds, former.rounds, strict=True)
        of_rows = np.array([bool(new) and new is not old for new, old in pairs])
        return float(np.mean(of_rows.reshape(self.shares.shape).any(axis=1)))

    def of_tasks(self, flags: BoolArray) -> BoolArray:
        """Flags of the verdicts (V,) as flags of the tasks (P,)."""
        n_tasks = len(self.shares)
        return flags if len(flags) == n_tasks else np.broadcast_to(flags, n_tasks)

    def of_rows(self, flags: BoolArray) -> BoolArray:
        """Flags of the verdicts or of the tasks as flags of the rows of theta (R,)."""
        return np.repeat(self.of_tasks(flags), self.shares.shape[1])

    def is_trained(self) -> BoolArray:
        """Which rows of theta (R,) belong to a base model that has a share."""
        return (self.shares > 0.0).ravel()

    def part(self, tasks: IntArray, rows: IntArray) -> "TrainingState":
        """What a step of some of the tasks needs: their theta, shares, rounds, optimiser state."""
        if len(tasks) == len(self.shares):
            return self
        return replace(
            self,
            theta=self.theta[rows],
            shares=self.shares[tasks],
            optimizer=type(self.optimizer)(*(array[rows] for array in self.optimizer)),
            rounds=tuple(self.rounds[row] for row in rows),
        )

    def scored(self, problem: Problem, tasks: BoolArray | bool = True) -> "TrainingState":
        """The state with the scores that are still to be computed, for some of the tasks (P,).

        Rounds do not outlive a refresh, and most epochs are the best so far. So a score is computed
        when rounds are about to be replaced, or at the end; until then it is infinite.
        """
        wanted = np.flatnonzero(np.isposinf(self.best_scores) & tasks)
        if not len(wanted):
            return self
        scores, best = self.best_scores.copy(), (self.best_theta, self.best_shares)
        for task in wanted.tolist():
            scores[task] = best_score(problem, self.rounds, *best, task)
        return replace(self, best_scores=scores)

    def improvement(self, epoch: int, settings: Settings) -> dict[str, Any]:
        """Fields to update where theta is the best so far, or better than the last mark."""
        news: dict[str, Any] = {}
        watched = self.verdicts + self.objectives
        criteria = watched if settings.chooses_on_all else self.verdicts
        better = criteria < self.best_criteria
        if better.any():
            news = {
                "best_theta": np.where(
                    self.of_rows(better)[:, np.newaxis], self.theta, self.best_theta
                ),
                "best_shares": np.where(
                    self.of_tasks(better)[:, np.newaxis], self.shares, self.best_shares
                ),
                "best_scores": np.where(self.of_tasks(better), np.inf, self.best_scores),
                "best_criteria": np.where(better, criteria, self.best_criteria),
                "best_objectives": np.where(better, self.verdicts, self.best_objectives),
                "best_epochs": np.where(better, epoch, self.best_epochs),
            }
        # Few validation samples may be lucky early: it is no plateau while the objective improves.
        marked = watched < self.mark_objectives - settings.tol
        marked |= ~np.isfinite(self.mark_objectives)
        if marked.any():
            news["mark_objectives"] = np.where(marked, watched, self.mark_objectives)
            news["mark_epochs"] = np.where(marked, epoch, self.mark_epochs)
        return news


def joined(results: Sequence[Result]) -> Result:
    """One result of all tasks, from blocks of independent tasks that were trained one by one."""
    if len(results) == 1:
        return results[0]
    return Result(
        best_theta=np.concatenate([result.best_theta for result in results]),
        best_shares=np.concatenate([result.best_shares for result in results]),
        best_objectives=np.concatenate([result.best_objectives for result in results]),
        best_epochs=np.concatenate([result.best_epochs for result in results]),
        best_scores=np.concatenate([result.best_scores for result in results]),
        generators=tuple(g for result in results for g in result.generators),
        history=_joined_history(results),
        n_models_trained=sum(result.n_models_trained for result in results),
        path=joined_paths([result.path for result in results]),
        stopped=_joined_reason(results),
    )


# Reasons for which a task ends while others go on. The first one of any task is that of all.
OF_ONE_TASK = ("all epochs done", "no improvement in", "no feature is left")
# Ctrl-C; behind it may stand how many repeats there are.
INTERRUPTED = "interrupted"


def was_interrupted(reason: str | None) -> bool:
    """Whether this reason to stop is Ctrl-C, whatever it says of repeats."""
    return reason is not None and reason.startswith(INTERRUPTED)


def _joined_reason(results: Sequence[Result]) -> str | None:
    """The reason as if the blocks had run in lockstep, or why a callback or Ctrl-C stopped."""
    last = results[-1].stopped
    if last is None or not last.startswith(OF_ONE_TASK):
        return last
    reasons = [reason for result in results if (reason := result.stopped) is not None]
    return next(r for begin in OF_ONE_TASK for r in reasons if r.startswith(begin))


def _joined_history(results: Sequence[Result]) -> tuple[EpochRecord, ...]:
    """The history as if the blocks had run in lockstep; those that have ended keep their values."""
    results = [result for result in results if result.history]
    sizes = np.array([len(result.best_shares) for result in results])
    records = []
    for epoch in range(max((len(result.history) for result in results), default=0)):
        rows = [result.history[min(epoch, len(result.history) - 1)] for result in results]
        running = [row for row, r in zip(rows, results, strict=True) if epoch < len(r.history)]

        def mean(name: str, rows: list[EpochRecord] = rows) -> Any:
            values = [getattr(row, name) for row in rows]
            return np.average(values, weights=sizes, axis=0).tolist()

        # A whole number of tasks, so that the bits are those of tasks in lockstep.
        refreshed = sum(
            round(row.refreshed * size)
            for row, result, size in zip(rows, results, sizes.tolist(), strict=True)
            if epoch < len(result.history)
        )
        records.append(
            EpochRecord(
                objective=mean("objective"),
                validation_objective=mean("validation_objective"),
                min_ess=min(row.min_ess for row in rows),
                expected_size=mean("expected_size"),
                refreshed=refreshed / int(sizes.sum()),
                revived=any(row.revived for row in running),
                n_models_trained=sum(row.n_models_trained for row in rows),
                shares=tuple(mean("shares")),
            )
        )
    return tuple(records)


def generators_of_tasks(
    rng: np.random.Generator | Sequence[np.random.Generator], n_tasks: int
) -> Sequence[np.random.Generator]:
    """One generator per task, derived from a single one if needed."""
    if not isinstance(rng, np.random.Generator):
        return rng
    if n_tasks == 1:
        return [rng]
    # From a copy, so that two starts from the same generator are equal.
    words = deepcopy(rng).integers(2**32, size=(n_tasks, 4), dtype=np.uint32)
    return [np.random.default_rng(seed) for seed in words]

"""Training the targets: apart, together, and along a path of penalties.

Apart
    Without a penalty no target knows of another. They are trained in blocks, so that memory does
    not grow with their number, and each keeps the alpha of its own best epoch.
Together
    A penalty on whole rows of alpha couples the targets: one loop, one objective, one best epoch.
Along a path
    The penalties in ascending order. Alpha at 0 is absorbing, so the path goes from many links to
    few: a link that a strong penalty has removed could not come back under a weaker one. Each value
    starts from the best alpha of the one before it as a revival does, with low entries raised once
    more, and with as many epochs as follow a revival.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from randsub._compile import when_compiling
from randsub._typing import BoolArray, FloatArray
from randsub.engines import one_thread
from randsub.exceptions import NoFeatureLeftWarning
from randsub.penalties import RowGroups
from randsub.training import Problem, ProgressBar, Settings, TrainingState, start, train
from randsub.training.batches import Batch, thin
from randsub.training.callbacks import Bar, Callback, tell_of_compiling
from randsub.training.refresh import fresh
from randsub.training.rounds import Plan, Proposal, carry_out


@dataclass(frozen=True)
class Case:
    """All targets, ready to be trained.

    Parameters
    ----------
    problem : Problem
        Without a penalty; one task for each target.
    settings : Settings
    theta : ndarray of shape (P, M)
        Where alpha starts; 0 bars a link for good.
    generators : callable
        Makes the targets' generators, one for each, anew.
    verbose : bool
    """

    problem: Problem
    settings: Settings
    theta: FloatArray
    generators: Callable[[], Sequence[np.random.Generator]]
    verbose: bool = False


@dataclass(frozen=True)
class Solution:
    """What training has found for one penalty.

    Parameters
    ----------
    lam : float
    theta : ndarray of shape (P, M)
        The best one.
    mean_theta : ndarray of shape (P, M)
        Mean over the epochs.
    errors : ndarray of shape (n_val,)
        Prediction error of the ensembles of the best theta on each validation sample, averaged over
        targets; without a penalty.
    history : pandas.DataFrame
        One row an epoch; blocks of targets have epochs of their own.
    n_models : int
        Base models trained.
    seconds : float
    stop_reason : str
    """

    lam: float
    theta: FloatArray
    mean_theta: FloatArray
    errors: FloatArray
    history: pd.DataFrame
    n_models: int
    seconds: float
    stop_reason: str

    @property
    def error(self) -> float:
        """Mean prediction error."""
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        """How far the mean may be off, by the spread over samples; 0 for a single one."""
        n = len(self.errors)
        return float(self.errors.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0


class _Mean(Callback):
    """The mean of theta over the epochs."""

    def __init__(self) -> None:
        self._sum: FloatArray | float = 0.0
        self._n_epochs = 0

    def on_epoch_end(self, state: TrainingState) -> None:
        """One more."""
        self._sum = self._sum + state.theta
        self._n_epochs += 1

    def value(self) -> FloatArray:
        """Mean so far, (P, M)."""
        return np.asarray(self._sum / self._n_epochs)


class _TargetBar(Callback):
    """Moves a bar over targets while blocks of them are trained together."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._moved = 0

    def begin(self, n_targets: int) -> None:
        """A block of targets comes next."""
        self._n_targets, self._moved = n_targets, 0

    def on_compile(self) -> None:
        """Say why nothing moves."""
        self._bar.say_compiling()

    def on_prepare(self, settings: Settings) -> None:
        """Remember how far there is to go."""
        self._max_iter = settings.max_iter

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Call the bar by its name."""
        self._bar.say_name()

    def on_epoch_end(self, state: TrainingState) -> None:
        """Move the bar by the share of the epochs that is done."""
        done = self._n_targets * state.epoch // self._max_iter
        self._bar.tell(validation=f"{state.best_objective:.4f}", models=str(state.n_models_trained))
        self._bar.advance(done - self._moved)
        self._moved = done


def solve_apart(case: Case, block_size: int) -> Solution:
    """Every target for itself, in blocks."""
    began = time.perf_counter()
    theta, mean_theta = case.theta.copy(), np.empty_like(case.theta)
    errors: list[FloatArray] = []
    histories, n_models, reason = [], 0, ""
    rngs = case.generators()
    with closing(Bar("PRSNetwork", len(theta), "target", shown=case.verbose)) as bar:
        watcher = _TargetBar(bar)
        for begin in range(0, len(theta), block_size):
            block = slice(begin, min(begin + block_size, len(theta)))
            watcher.begin(block.stop - begin)
            problem = replace(case.problem, targets=case.problem.targets[block])
            mean = _Mean()
            state = _trained(problem, case.settings, theta[block], rngs[block], [watcher, mean])
            reason = state.stopped or ""
            if reason == "interrupted" and block.stop < len(theta):
                # Targets that were never looked at must not pass for targets without regulators.
                raise KeyboardInterrupt
            theta[block] = state.best_theta
            errors.append(_errors(problem, case.settings, state))
            mean_theta[block] = mean.value()
            histories.append(_history(state))
            n_models += state.n_models_trained + _n_judged(problem, case.settings)
    keys = range(len(histories))
    history = pd.concat(histories, keys=keys, names=["block"])
    seconds = time.perf_counter() - began
    return Solution(
        lam=0.0,
        theta=theta,
        mean_theta=mean_theta,
        errors=np.concatenate(errors).mean(axis=0),
        history=history,
        n_models=n_models,
        seconds=seconds,
        stop_reason=reason,
    )


def solve_together(case: Case, lam: float, description: str = "PRSNetwork") -> Solution:
    """All targets in one loop, under a penalty that they share."""
    began = time.perf_counter()
    penalty = RowGroups(lam)
    mean = _Mean()
    callbacks: list[Callback] = [mean, *([ProgressBar(description)] if case.verbose else [])]
    problem = replace(case.problem, penalty=penalty)
    state = _trained(problem, case.settings, case.theta, case.generators(), callbacks)
    return Solution(
        lam=lam,
        theta=state.best_theta,
        mean_theta=mean.value(),
        errors=_errors(problem, case.settings, state).mean(axis=0),
        history=pd.concat([_history(state)], keys=[0], names=["block"]),
        n_models=state.n_models_trained + _n_judged(problem, case.settings),
        seconds=time.perf_counter() - began,
        stop_reason=state.stopped or "",
    )


def follow_path(case: Case, lams: Sequence[float]) -> list[Solution]:
    """A solution for each value, in ascending order; fewer of them after Ctrl-C.

    All of them are trained together, the value 0 too: a best epoch for each target would flatter
    its error beside those of one epoch for all.
    """
    solutions: list[Solution] = []
    barred = case.theta == 0.0
    for lam in sorted(lams):
        if solutions:
            case = _warm(case, solutions[-1].theta, barred)
        solutions.append(solve_together(case, lam, f"PRSNetwork, lam={lam:g}"))
        if solutions[-1].stop_reason == "interrupted":
            break
    return solutions


def path_table(solutions: Sequence[Solution]) -> pd.DataFrame:
    """One row for each coefficient; the columns are those of ``PRSNetwork.path_``."""
    return pd.DataFrame(
        {
            "lam": [s.lam for s in solutions],
            "validation_error": [s.error for s in solutions],
            "standard_error": [s.standard_error for s in solutions],
            "mean_size": [float(s.theta.sum(axis=1).mean()) for s in solutions],
            "seconds": [s.seconds for s in solutions],
            "n_models": [s.n_models for s in solutions],
        }
    )


def choose(path: pd.DataFrame, rule: str) -> int:
    """The row of a path with the lowest error, or the sparsest one that is not clearly worse.

    Parameters
    ----------
    path : DataFrame
        With ``lam``, ``validation_error`` and ``standard_error``.
    rule : {"lowest", "one_se"}
        With "one_se" it is the row with the largest coefficient whose error is within one standard
        error of the lowest.

    Returns
    -------
    row : int
        Position in the path; the first among equals.
    """
    error = path["validation_error"].to_numpy(dtype=float)
    best = int(np.argmin(error))
    if rule == "lowest":
        return best
    limit = error[best] + float(path["standard_error"].iloc[best])
    return int(np.argmax(np.where(error <= limit, path["lam"].to_numpy(dtype=float), -np.inf)))


def _warm(case: Case, theta: FloatArray, barred: BoolArray) -> Case:
    """The same from where a neighbour ended."""
    settings = case.settings
    raised = np.where(barred, 0.0, np.maximum(theta, settings.revival_level))
    max_iter = max(1, settings.max_iter // (settings.n_revivals + 1))
    return replace(case, theta=raised, settings=replace(settings, max_iter=max_iter, n_revivals=0))


def _trained(
    problem: Problem,
    settings: Settings,
    theta: FloatArray,
    rngs: Sequence[np.random.Generator],
    callbacks: Sequence[Callback],
) -> TrainingState:
    # Sums in the loop, too, must not depend on a number of threads.
    with (
        one_thread(),
        when_compiling(lambda: tell_of_compiling(callbacks)),
        warnings.catch_warnings(),
    ):
        # Genes that no regulator predicts are what a network is full of.
        warnings.simplefilter("ignore", NoFeatureLeftWarning)
        state = start(problem, settings, theta, rngs, callbacks)
        return train(problem, settings, state, callbacks)


def _errors(problem: Problem, settings: Settings, state: TrainingState) -> FloatArray:
    """Loss of each target's ensemble on each validation sample, (P, n_val).

    Fresh models of the best theta, as a user would train them: on all training rows. Without
    validation rows each batch is judged by models of the others.
    """
    rngs = {task: state.rng(task) for task in range(problem.n_tasks)}
    plans = [
        plan
        for task, rng in rngs.items()
        for plan in _judged(problem, settings, task, state.best_theta[task], rng)
    ]
    with one_thread():
        rounds = carry_out(problem, plans, rngs)
    errors = np.empty((problem.n_tasks, len(problem.val_rows) or len(problem.train_rows)))
    for plan, round_ in zip(plans, rounds, strict=True):
        if len(problem.val_rows):
            target, output = problem.targets[plan.task].validation, round_.validation.mean(axis=0)
            errors[plan.task] = problem.loss.pointwise(target, output)
        else:
            places = np.searchsorted(problem.train_rows, plan.batch.query_rows)
            output = round_.predictions.mean(axis=0)
            errors[plan.task, places] = problem.loss.pointwise(round_.targets, output)
    return errors


def _judged(
    problem: Problem, settings: Settings, task: int, theta: FloatArray, rng: np.random.Generator
) -> list[Plan]:
    """Rounds of one theta, for its error alone."""
    if not len(problem.val_rows):
        unlimited = replace(settings, max_samples=None)
        return fresh(problem, unlimited, task, (), theta, rng)
    rows = np.sort(thin(problem.train_rows, settings.max_samples, None, rng))
    masks = problem.distribution.sample(theta, settings.n_masks, rng)
    proposal = Proposal(theta[np.newaxis], np.zeros(len(masks), dtype=np.intp))
    untrained = np.ones(len(masks), dtype=bool)
    return [Plan(task, Batch(rows, rows[:0]), masks, proposal, untrained)]


def _n_judged(problem: Problem, settings: Settings) -> int:
    rounds = 1 if len(problem.val_rows) else settings.n_batches
    return problem.n_tasks * settings.n_masks * rounds


def _history(state: TrainingState) -> pd.DataFrame:
    index = pd.RangeIndex(1, state.epoch + 1, name="epoch")
    return pd.DataFrame(state.history, index=index)

"""Training of the targets: independently, jointly, and along a path of penalties.

Independently
    Without a penalty, targets are independent. They are trained in blocks, so that memory does not
    grow with their number, and each has its own best epoch.
Jointly
    A penalty on the rows of alpha couples the targets: one loop, one objective, one best epoch.
Along a path
    The penalties in ascending order, from many links to few: alpha at 0 is absorbing, so a link
    that a strong penalty has removed could not return under a weaker one. Each value starts from
    the best alpha of the previous one like a revival, with low entries raised, and with the number
    of epochs that follow a revival.

Targets may mix several base models. Theta then has a row per target and base model, as in
:class:`randsub.solver.Problem`, and alpha of a target is the mean of its rows by share.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.estimators.prs import history_frame
from randsub.exceptions import NoFeatureLeftWarning, UnfinishedFitError
from randsub.network.run import NetworkRun, Outcome
from randsub.parallel import one_thread
from randsub.penalties import RowGroups
from randsub.solver import Problem, Settings, TrainingState, solve
from randsub.solver.callback import Callback
from randsub.solver.forecast import worth
from randsub.solver.refresh import fresh
from randsub.solver.rounds import Batch, Plan, carry_out, deal_batches, thin
from randsub.solver.shares import mean_by_share, trained_rows
from randsub.solver.state import INTERRUPTED


@dataclass(frozen=True)
class Case:
    """The optimisation problem of a network.

    Parameters
    ----------
    problem : Problem
        Without a penalty; one task per target.
    settings : Settings
    theta : ndarray of shape (P B, M)
        Initial alpha, with a row per target and base model; a link with 0 is excluded.
    generators : callable
        Returns new random generators, one per target.
    run : NetworkRun
        The fit that this is part of.
    callbacks : sequence of Callback, default=()
        Callbacks of the training loop.
    shares : ndarray of shape (P, B), default=None
        Shares of the base models for the previous penalty of a path; by default equal ones.
    base_names : sequence of str, default=()
        Names of the base models, if the user gave a list of them.
    keeps_unfinished : bool, default=True
        Whether Ctrl-C ends training and leaves the best alpha so far; otherwise it is raised.
    """

    problem: Problem
    settings: Settings
    theta: FloatArray
    generators: Callable[[], Sequence[np.random.Generator]]
    run: NetworkRun
    callbacks: Sequence[Callback] = ()
    shares: FloatArray | None = None
    base_names: Sequence[str] = ()
    keeps_unfinished: bool = True


class Judged:
    """Mean of ``errors``, one per validation sample, with its standard error."""

    errors: FloatArray

    @property
    def error(self) -> float:
        """Mean prediction error."""
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean over samples; 0 for a single sample."""
        n = len(self.errors)
        return float(self.errors.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0


@dataclass(frozen=True)
class Solution(Judged):
    """Result of training with one penalty.

    Parameters
    ----------
    lam : float
    theta : ndarray of shape (P B, M)
        The best theta, with a row per target and base model.
    shares : ndarray of shape (P, B)
        Shares of the base models along with it.
    mean_alpha : ndarray of shape (P, M)
        Alpha, the mean of theta over the base models by share, averaged over the epochs.
    errors : ndarray of shape (n_val,)
        Prediction error of the ensembles of the best theta on each validation sample, averaged over
        targets, without the penalty.
    history : pandas.DataFrame
        One row per epoch and block of targets.
    n_models : int
        Base models trained.
    seconds : float
    stop_reason : str
    """

    lam: float
    theta: FloatArray
    shares: FloatArray
    mean_alpha: FloatArray
    errors: FloatArray
    history: pd.DataFrame
    n_models: int
    seconds: float
    stop_reason: str

    @property
    def alpha(self) -> FloatArray:
        """Best alpha of each target, (P, M): the mean over its base models by share."""
        return mean_by_share(self.theta, self.shares)


def ascending(lams: Any) -> list[float]:
    """The distinct coefficients in ascending order."""
    try:
        values = np.unique(np.asarray(lams, dtype=float))
    except (TypeError, ValueError):
        raise ValueError(f"lams must hold numbers, got {lams!r}.") from None
    if np.ndim(lams) != 1 or not len(values) or not np.isfinite(values).all() or values[0] < 0:
        raise ValueError(
            f"lams must be a list of at least one number, none of them negative; got {lams!r}."
        )
    return [float(value) for value in values]


def solve_apart(case: Case, block_size: int) -> Solution:
    """Train independent targets, in blocks."""
    n_targets, rngs = len(case.problem.targets), case.generators()
    outcomes: list[Outcome] = []
    for begin in range(0, n_targets, block_size):
        block = slice(begin, min(begin + block_size, n_targets))
        part = replace(
            case,
            problem=replace(case.problem, targets=case.problem.targets[block]),
            theta=case.theta[case.problem.rows(np.arange(n_targets)[block])],
        )
        share = block.stop / n_targets
        case.run.begin(f"targets {begin + 1} to {block.stop}", share, _models_after(part))
        # Targets that were not trained must not count as targets without regulators.
        may_stop = block.stop == n_targets
        outcomes.append(_solved(part, rngs[block], may_stop=may_stop))
    return _joined(0.0, outcomes, case.base_names)


def solve_together(case: Case, lam: float, share: float = 1.0) -> Solution:
    """Train all targets in one loop, with a joint penalty."""
    case.run.begin(f"lam={lam:g}", share, _models_after(case))
    case = replace(case, problem=replace(case.problem, penalty=RowGroups(lam), joint=True))
    return _joined(lam, [_solved(case, case.generators())], case.base_names)


def follow_path(case: Case, lams: Sequence[float]) -> list[Solution]:
    """One solution per value, in ascending order; fewer after Ctrl-C, or if a callback stops.

    Targets are trained jointly also for the value 0: with a best epoch per target its error would
    be too optimistic compared with the others, which have one best epoch for all targets.
    """
    solutions: list[Solution] = []
    barred = case.theta == 0.0
    # Cumulative number of epochs at the end of each.
    epochs = np.cumsum([case.settings.max_iter, *[_warm_epochs(case.settings)] * (len(lams) - 1)])
    for lam, share in zip(sorted(lams), epochs / epochs[-1], strict=True):
        if solutions:
            case = _warm(case, solutions[-1], barred)
        try:
            solutions.append(solve_together(case, lam, float(share)))
        except UnfinishedFitError:
            if not solutions:
                raise
            break
        if solutions[-1].stop_reason == INTERRUPTED:
            break
    return solutions


def mean_error(problem: Problem) -> float:
    """Error of predicting the training mean of each target, on the rows that the path is judged on.

    Averaged over targets, as ``validation_error`` of the path.
    """
    errors = []
    for target in problem.targets:
        train = target.encoded[target.train_rows]
        judged = target.validation if len(target.val_rows) else train
        errors.append(problem.loss.pointwise(judged, train.mean(axis=0)).mean())
    return float(np.mean(errors))


def _warm_epochs(settings: Settings) -> int:
    """Number of epochs that follow a revival."""
    return max(1, settings.max_iter // (settings.n_revivals + 1))


def _warm(case: Case, former: Solution, barred: BoolArray) -> Case:
    """The same problem, starting from theta and shares of the previous penalty."""
    settings = case.settings
    return replace(
        case,
        theta=np.where(barred, 0.0, np.maximum(former.theta, settings.revival_level)),
        shares=former.shares,
        settings=replace(settings, max_iter=_warm_epochs(settings), n_revivals=0),
    )


def _solved(case: Case, rngs: Sequence[np.random.Generator], *, may_stop: bool = True) -> Outcome:
    """One training run, unless the resumed fit had finished it.

    Parameters
    ----------
    case : Case
    rngs : sequence of numpy.random.Generator, one per target
    may_stop : bool, default=True
        Whether there is a result for all targets if it is interrupted; otherwise an interruption
        raises KeyboardInterrupt.
    """
    problem, settings, run = case.problem, case.settings, case.run
    known = run.recalled(problem)
    if known is not None:
        return known
    former = run.former(problem, settings)
    # The mean comes first, so that a checkpoint contains that of this epoch.
    callbacks = [run.mean, *case.callbacks]
    with warnings.catch_warnings():
        # In a network, genes without a predictive regulator are common.
        warnings.simplefilter("ignore", NoFeatureLeftWarning)
        state = solve(
            problem,
            settings,
            case.theta,
            rngs,
            callbacks,
            former,
            shares=case.shares,
            keeps_unfinished=case.keeps_unfinished,
        )
    if state.stopped == INTERRUPTED and not may_stop:
        raise KeyboardInterrupt
    outcome = Outcome(
        theta=state.best_theta,
        shares=state.best_shares,
        mean_alpha=run.mean.value(),
        errors=_errors(problem, settings, state, run.rows),
        history=state.history,
        n_models=state.n_models_trained + _n_judged(problem, settings, state),
        seconds=run.seconds(),
        stop_reason=state.stopped or "",
    )
    run.keep(outcome)
    return outcome


def _errors(
    problem: Problem, settings: Settings, state: TrainingState, rows: IntArray
) -> FloatArray:
    """Loss of each target's ensemble on each sample of ``rows``, (P, n_rows); NaN if left out.

    Computed with new models of the best theta, trained on all training rows; without validation
    rows, by cross-validation over the batches.
    """
    rngs = {task: state.rng(task) for task in range(len(problem.targets))}
    plans = [
        plan for task, rng in rngs.items() for plan in _judged(problem, settings, state, task, rng)
    ]
    with one_thread():
        rounds = carry_out(problem, plans, rngs)
    outputs = np.zeros((len(problem.targets), len(rows), 1))
    for plan, round_ in zip(plans, rounds, strict=True):
        task, base = divmod(plan.row, problem.n_bases)
        target, share = problem.targets[task], state.best_shares[task, base]
        if len(target.val_rows):
            places = np.searchsorted(rows, target.val_rows)
            outputs[task, places] += share * round_.validation.mean(axis=0)
        else:
            places = np.searchsorted(rows, plan.batch.query_rows)
            outputs[task, places] += share * round_.predictions.mean(axis=0)
    errors = np.full(outputs.shape[:2], np.nan)
    for task, target in enumerate(problem.targets):
        own = target.val_rows if len(target.val_rows) else target.train_rows
        truth = target.validation if len(target.val_rows) else target.encoded[own]
        places = np.searchsorted(rows, own)
        errors[task, places] = problem.loss.pointwise(truth, outputs[task, places])
    return errors


def _judged(
    problem: Problem,
    settings: Settings,
    state: TrainingState,
    task: int,
    rng: np.random.Generator,
) -> list[Plan]:
    """Rounds to compute the error of the best theta of a target, on rows common to base models."""
    target = problem.targets[task]
    if len(target.val_rows):
        rows = np.sort(thin(target.train_rows, settings.max_samples, None, rng))
        batches = [Batch(rows, rows[:0])]
    else:
        batches = deal_batches(target.train_rows, settings.n_batches, None, None, rng)
    return [
        plan
        for row, _ in trained_rows(task, state.best_shares[task])
        for plan in fresh(problem, settings, row, (), state.best_theta[row], rng, batches)
    ]


def _models_after(case: Case) -> float:
    """Work of :func:`_errors` at the most, in models of a refresh."""
    problem, settings = case.problem, case.settings
    target, n_batches = problem.targets[0], settings.n_batches
    n_rounds = 1 if len(target.val_rows) else n_batches
    n_models = len(problem.targets) * problem.n_bases * settings.n_masks * n_rounds
    n_train = len(target.train_rows)
    return n_models * worth([n_train], round(n_train * (1.0 - 1.0 / n_batches)))


def _n_judged(problem: Problem, settings: Settings, state: TrainingState) -> int:
    n_rounds = 1 if len(problem.targets[0].val_rows) else settings.n_batches
    return int(np.count_nonzero(state.best_shares)) * settings.n_masks * n_rounds


def _over_targets(errors: FloatArray) -> FloatArray:
    """Mean over the targets (P, n_val) that do not leave a sample out."""
    known = ~np.isnan(errors)
    if known.all():
        return errors.mean(axis=0)
    return np.asarray(np.where(known, errors, 0.0).sum(axis=0) / known.sum(axis=0))


def _joined(lam: float, outcomes: Sequence[Outcome], base_names: Sequence[str]) -> Solution:
    """One solution of all targets, from blocks of them."""
    return Solution(
        lam=lam,
        theta=np.concatenate([outcome.theta for outcome in outcomes]),
        shares=np.concatenate([outcome.shares for outcome in outcomes]),
        mean_alpha=np.concatenate([outcome.mean_alpha for outcome in outcomes]),
        errors=_over_targets(np.concatenate([outcome.errors for outcome in outcomes])),
        history=pd.concat(
            [history_frame(outcome.history, base_names) for outcome in outcomes],
            keys=range(len(outcomes)),
            names=["block"],
        ),
        n_models=sum(outcome.n_models for outcome in outcomes),
        seconds=sum(outcome.seconds for outcome in outcomes),
        stop_reason=outcomes[-1].stop_reason,
    )

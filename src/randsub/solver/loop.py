"""The training loop.

One epoch, in order: revive the tasks that are due; refresh the rounds that are due; take one
optimiser step per batch; compute the objective on held-out and validation rows; keep theta if it is
the best so far; test the effective sample size of every round and mark the tasks that are due for a
refresh. Tasks run in lockstep, and the models of all of them are trained in one dispatch; a task
that is finished is left as it is until the others are.

A task may mix several base models. Each has its own theta, masks and rounds, on the same batches,
and is refreshed when it is worn; they have one loss, and their shares are learned along with theta.
"""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from randsub._compile import when_compiling
from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.exceptions import BaseModelError, InterruptedFitWarning, UnfinishedFitError
from randsub.gradients import OBJECTIVES, importance_weights, score_gradient
from randsub.optim.base import OptimizerState
from randsub.parallel import StopRequest, one_thread
from randsub.solver.callback import Callback, tell_of_compiling, telling, wish
from randsub.solver.interruption import is_interruption
from randsub.solver.problem import Problem, Settings
from randsub.solver.refresh import WAYS, fresh, is_worn, kept_batches
from randsub.solver.rounds import Plan, Round, carry_out, evaluated
from randsub.solver.schedule import is_finished, learns_shares, reason_to_stop, refilled, revived
from randsub.solver.shares import (
    equal_shares,
    moved_shares,
    penalties,
    penalty_gradient,
    penalty_prox,
    trained_rows,
    with_share,
    without_small,
)
from randsub.solver.state import (
    INTERRUPTED,
    Due,
    EpochRecord,
    TrainingState,
    generators_of_tasks,
)


def solve(
    problem: Problem,
    settings: Settings,
    theta: FloatArray,
    rng: np.random.Generator | Sequence[np.random.Generator],
    callbacks: Sequence[Callback] = (),
    former: TrainingState | None = None,
    *,
    shares: FloatArray | None = None,
    keeps_unfinished: bool = True,
) -> TrainingState:
    """Train the first rounds, or resume from a former state, and run the epochs.

    Parameters
    ----------
    problem, settings, theta, rng, callbacks, shares
        As for :func:`start`.
    former : TrainingState, default=None
        State of an earlier run of the same problem and settings.
    keeps_unfinished : bool, default=True
        Whether Ctrl-C ends training and leaves the state after the last epoch; otherwise it is
        raised.

    Returns
    -------
    state : TrainingState
        State after the last complete epoch.
    """
    tell = partial(tell_of_compiling, callbacks)
    # Sums in the loop must not depend on the number of threads either.
    with one_thread(), when_compiling(tell) if callbacks else nullcontext():
        state = former or start(problem, settings, theta, rng, callbacks, shares)
        state = train(problem, settings, state, callbacks, keeps_unfinished=keeps_unfinished)
        return state.scored(problem)


def start(
    problem: Problem,
    settings: Settings,
    theta: FloatArray,
    rng: np.random.Generator | Sequence[np.random.Generator],
    callbacks: Sequence[Callback] = (),
    shares: FloatArray | None = None,
) -> TrainingState:
    """Train the first rounds.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    theta : ndarray of shape (R, M)
    rng : numpy.random.Generator or sequence of P of them
        Random generator of each task; a single one is split if there are several tasks.
    callbacks : sequence of Callback, default=()
    shares : ndarray of shape (P, B), default=None
        Shares of an earlier run that this one continues with another objective. They are learned
        from the first epoch on, as after a revival. By default they are equal.

    Returns
    -------
    state : TrainingState
        State before the first epoch.
    """
    theta = problem.distribution.project(np.array(theta, dtype=float))
    n_tasks = len(problem.targets)
    n_verdicts = 1 if problem.joint else n_tasks
    revivals: tuple[int, ...] = () if shares is None else (0,)
    if shares is None:
        shares = equal_shares(n_tasks, problem.n_bases)
    state = TrainingState(
        epoch=0,
        theta=theta,
        shares=shares,
        best_shares=shares,
        optimizer=problem.optimizer.init(theta),
        rounds=((),) * len(theta),
        due=np.full(len(theta), Due.FRESH),
        generators=tuple(r.bit_generator.state for r in generators_of_tasks(rng, n_tasks)),
        history=(),
        barred=theta == 0.0,
        best_theta=theta,
        best_objectives=np.full(n_verdicts, np.inf),
        best_scores=np.full(n_tasks, np.nan),
        best_criteria=np.full(n_verdicts, np.inf),
        best_epochs=np.zeros(n_verdicts, dtype=np.intp),
        objectives=np.full(n_verdicts, np.inf),
        verdicts=np.full(n_verdicts, np.inf),
        ess=np.full(len(theta), np.inf),
        mark_objectives=np.full(n_verdicts, np.inf),
        mark_epochs=np.zeros(n_verdicts, dtype=np.intp),
        revivals=(revivals,) * n_verdicts,
        n_models_trained=0,
    ).recorded(problem.most_snapshots)
    try:
        for callback in callbacks:
            callback.on_prepare(settings)
        return _renewed(problem, settings, state, np.full(n_tasks, True), 0, callbacks)
    except BaseException as error:
        for callback in callbacks:
            callback.on_end(state)
        if isinstance(error, StopRequest):
            # Without the first models there is nothing to keep.
            raise UnfinishedFitError(*error.args) from None
        raise


def train(
    problem: Problem,
    settings: Settings,
    state: TrainingState,
    callbacks: Sequence[Callback] = (),
    *,
    keeps_unfinished: bool = True,
) -> TrainingState:
    """Run epochs until the last one, a plateau, a stop requested by a callback, or Ctrl-C.

    Returns the state after the last complete epoch. Training can be resumed from a stored state of
    the same problem and settings. For ``keeps_unfinished`` see :func:`solve`.
    """
    state = replace(state, stopped=None)
    try:
        # All callbacks are called before one of them may stop the loop.
        reason = wish([callback.on_start(settings, state) for callback in callbacks])
        while reason is None and (reason := reason_to_stop(problem, settings, state)) is None:
            for callback in callbacks:
                callback.on_epoch_begin(state)
            state = _epoch(problem, settings, state, callbacks)
            reason = wish([callback.on_epoch_end(state) for callback in callbacks])
        state = replace(state, stopped=reason)
    except StopRequest as request:
        # The state is that after the last epoch: the unfinished refresh is dropped.
        state = replace(state, stopped=request.reason)
    except (KeyboardInterrupt, SystemError) as error:
        if state.epoch == 0 or not keeps_unfinished or not is_interruption(error):
            raise
        warnings.warn(
            f"Training was interrupted after epoch {state.epoch} of {settings.max_iter}; the best "
            f"alpha so far, of epoch {state.best_epoch}, is kept.",
            InterruptedFitWarning,
            stacklevel=2,
        )
        state = replace(state, stopped=INTERRUPTED)
    finally:
        for callback in callbacks:
            callback.on_end(state)
    return state


def _epoch(
    problem: Problem, settings: Settings, state: TrainingState, callbacks: Sequence[Callback]
) -> TrainingState:
    former, epoch = state, state.epoch + 1
    running = state.of_tasks(~is_finished(problem, settings, state))
    state = revived(problem, settings, state)
    state = _renewed(problem, settings, state, running, epoch, callbacks)
    state = _advanced(problem, settings, state, running)
    record = EpochRecord(
        objective=float(state.objectives.mean()),
        validation_objective=float(state.verdicts.mean()),
        min_ess=float(state.ess.min()),
        expected_size=state.expected_size(problem),
        refreshed=state.share_refreshed(former),
        revived=state.revivals is not former.revivals,
        n_models_trained=state.n_models_trained,
        shares=tuple(state.shares.mean(axis=0).tolist()),
    )
    if not (np.isfinite(record.objective) and np.isfinite(record.validation_objective)):
        raise ValueError(
            f"The objective at epoch {epoch} is not finite: {record.objective} on the held-out "
            f"batches, {record.validation_objective} on validation. Check {problem.loss!r} and the "
            "penalty against the targets."
        )
    is_due = np.where(is_worn(state.ess, settings), Due.REFRESH, Due.NOTHING)
    news: dict[str, Any] = {
        "epoch": epoch,
        "history": (*state.history, record),
        "due": np.where(state.of_rows(running), is_due, state.due),
        **state.improvement(epoch, settings),
    }
    state = refilled(problem, settings, replace(state, **news))
    return state.recorded(problem.most_snapshots)


def _renewed(
    problem: Problem,
    settings: Settings,
    state: TrainingState,
    running: BoolArray,
    epoch: int,
    callbacks: Sequence[Callback],
) -> TrainingState:
    """Train the rounds of running tasks that are due."""
    is_due = state.of_rows(running) & state.is_trained() & (state.due != Due.NOTHING)
    if not is_due.any():
        return state
    tasks = is_due.reshape(state.shares.shape).any(axis=1)
    state = state.scored(problem, tasks)
    rngs = {task: state.rng(task) for task in np.flatnonzero(tasks).tolist()}
    plans: list[Plan] = []
    for task, rng in rngs.items():
        batches = kept_batches(state, task)
        for row, _ in trained_rows(task, state.shares[task]):
            if is_due[row]:
                way = fresh if state.due[row] == Due.FRESH else WAYS[settings.refresh]
                if way is fresh and batches:
                    way = partial(fresh, batches=batches)
                theta = state.theta[row]
                of_row = way(problem, settings, row, state.rounds[row], theta, rng)
                if problem.n_bases > 1:
                    batches = [plan.batch for plan in of_row]
                plans += of_row
    try:
        new = carry_out(problem, plans, rngs, telling(callbacks) if callbacks else None)
    except BaseModelError as error:
        raise error.located(problem.feature_names, epoch) from error.__cause__
    # Those of base models that have lost their share are not needed any more.
    is_over = is_due | (state.of_rows(tasks) & ~state.is_trained())
    rounds: list[tuple[Round, ...]] = [
        () if over else kept for over, kept in zip(is_over, state.rounds, strict=True)
    ]
    for plan, round_ in zip(plans, new, strict=True):
        rounds[plan.row] += (round_,)
    generators = list(state.generators)
    for task, rng in rngs.items():
        generators[task] = rng.bit_generator.state
    return replace(
        state,
        rounds=tuple(rounds),
        due=np.where(is_over, Due.NOTHING, state.due),
        generators=tuple(generators),
        n_models_trained=state.n_models_trained + sum(int(p.untrained.sum()) for p in plans),
    )


def _advanced(
    problem: Problem, settings: Settings, state: TrainingState, running: BoolArray
) -> TrainingState:
    """Steps and new objectives of the running tasks."""
    tasks: IntArray = np.flatnonzero(running)
    # Without a penalty a step of one task does not depend on the others.
    is_one = problem.joint or problem.penalty is None
    groups = [tasks] if is_one else list(tasks[:, np.newaxis])
    parts, values = [], []
    learned = state.of_tasks(learns_shares(settings, state))
    for group in groups:
        targets = [problem.targets[task] for task in group]
        alone = problem if len(group) == len(problem.targets) else replace(problem, targets=targets)
        part = state.part(group, problem.rows(group))
        part = _stepped(alone, settings, part, learned[group])
        parts.append(part)
        values.append(evaluated(alone, settings, part.rounds, part.theta, part.shares))
    objectives, verdicts, ess = (
        np.concatenate(of_groups) for of_groups in zip(*values, strict=True)
    )
    which = np.zeros(1, dtype=np.intp) if problem.joint else tasks
    rows = problem.rows(tasks)
    memory = zip(*(part.optimizer for part in parts), strict=True)
    return replace(
        state,
        theta=_placed(state.theta, rows, [part.theta for part in parts]),
        shares=_placed(state.shares, tasks, [part.shares for part in parts]),
        optimizer=type(state.optimizer)(
            *(_placed(old, rows, new) for old, new in zip(state.optimizer, memory, strict=True))
        ),
        objectives=_placed(state.objectives, which, [objectives]),
        verdicts=_placed(state.verdicts, which, [verdicts]),
        ess=_placed(state.ess, rows, [ess]),
    )


def _placed(old: Any, tasks: IntArray, new: Sequence[Any]) -> Any:
    """The array with some rows replaced by new ones, which come in consecutive parts."""
    if len(new) == 1 and len(tasks) == len(old):
        return new[0]
    placed = old.copy()
    placed[tasks] = np.concatenate(new)
    return placed


def _stepped(
    problem: Problem, settings: Settings, state: TrainingState, learned: BoolArray
) -> TrainingState:
    """One optimiser step per batch: of theta, and of the shares of some tasks."""
    theta, shares, memory = state.theta, state.shares, state.optimizer
    for batch in range(settings.n_batches):
        rounds = [of_row[batch] if of_row else None for of_row in state.rounds]
        gradient, of_shares = np.empty_like(theta), np.empty_like(shares)
        for task, of_task in enumerate(shares):
            rows = slice(task * len(of_task), (task + 1) * len(of_task))
            gradient[rows], of_shares[task] = _loss_gradients(
                problem, settings, rounds[rows], theta[rows], of_task
            )
        if problem.penalty is not None and len(problem.targets) > 1:
            # The loss is a mean over tasks. Without a penalty tasks are independent, and a step
            # must not depend on their number.
            gradient /= len(problem.targets)
        if problem.penalty is not None and problem.n_bases > 1:
            of_shares += penalties(problem.penalty, with_share(theta, shares), problem.n_bases)
        former = theta
        theta, memory = _moved(problem, rounds, gradient, theta, shares, memory)
        if problem.n_bases > 1:
            # What has lost its share stays as it is, whatever the momentum.
            theta = np.where(shares.reshape(-1, 1) > 0.0, theta, former)
            shares = np.where(learned[:, np.newaxis], moved_shares(shares, of_shares), shares)
    return replace(
        state,
        theta=theta,
        shares=without_small(shares, settings.n_masks),
        optimizer=memory,
    )


def _moved(
    problem: Problem,
    rounds: Sequence[Round | None],
    gradient: FloatArray,
    theta: FloatArray,
    shares: FloatArray,
    memory: OptimizerState,
) -> tuple[FloatArray, OptimizerState]:
    """Theta and optimiser state after a step, from the gradient of the loss (R, M).

    A feature that no mask of the round holds has gradient 0. Under a penalty its theta is fixed for
    this step: neither the penalty nor the momentum may move a feature without evidence. The same
    holds for a feature that every mask holds. If its theta falls, all weights change by the same
    factor, so neither the gradient of the loss nor the effective sample size measures the effect of
    removing it, and the penalty alone would remove it.
    """
    penalty, project = problem.penalty, problem.distribution.project
    if penalty is None:
        return problem.optimizer.update(gradient, memory, theta, project)
    everything = np.ones(theta.shape[1], dtype=bool)
    fixed = np.stack([everything if one is None else one.unknown() for one in rounds])

    def prox(moved: FloatArray, step: FloatArray) -> FloatArray:
        free = np.where(fixed, theta, moved)
        return penalty_prox(penalty, free, step, fixed, project, shares)

    if problem.optimizer.is_proximal:
        return problem.optimizer.proximal_update(gradient, memory, theta, project, prox)
    gradient += np.where(fixed, 0.0, penalty_gradient(penalty, theta, shares))
    moved, memory = problem.optimizer.update(gradient, memory, theta, project)
    return np.where(fixed, theta, moved), memory


def _loss_gradients(
    problem: Problem,
    settings: Settings,
    rounds: Sequence[Round | None],
    theta: FloatArray,
    shares: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Gradients of the loss on the held-out rows of a batch of one task.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    rounds : sequence of B Rounds
        None for base models without a share.
    theta : ndarray of shape (B, M)
    shares : ndarray of shape (B,)

    Returns
    -------
    gradient : ndarray of shape (B, M)
        In theta; 0 for features that no mask holds.
    of_shares : ndarray of shape (B,)
        In the shares; 0 for base models without a share.
    """
    gradient, of_shares = np.zeros_like(theta), np.zeros_like(shares)
    trained = [
        (base, share, round_)
        for base, share in trained_rows(0, shares)
        if (round_ := rounds[base]) is not None
    ]
    objective = OBJECTIVES[settings.objective]
    batch, votes = trained[0][-1], []
    for base, share, round_ in trained:
        log_w = round_.log_weights(problem.distribution, theta[base])
        weights = importance_weights(log_w, self_normalize=settings.self_normalize)
        votes.append(problem.votes(objective, base, share * weights, round_.predictions))
    costs = objective.costs(problem.loss, batch.targets, votes, batch.sample_weight)
    for (base, share, round_), (weights, _), of_models in zip(trained, votes, costs, strict=True):
        masks = round_.masks
        gradient[base, masks.parameters] = score_gradient(
            problem.distribution,
            masks.rows,
            theta[base, masks.parameters],
            weights,
            of_models,
            settings.baseline,
        )
        of_shares[base] = weights @ of_models / share
        if not problem.distribution.is_independent:
            gradient[base, masks.counts == 0] = 0.0
    return gradient, of_shares

"""The training loop.

One epoch, in order: revive the tasks that are due; refresh the rounds that are due; take one
optimiser step per batch; compute the objective on held-out and validation rows; keep theta if it is
the best so far; test the effective sample size of every round and mark the tasks that are due for a
refresh. Tasks run in lockstep, and the models of all of them are trained in one dispatch; a task
that is finished is left as it is until the others are.
"""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from randsub._compile import when_compiling
from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.exceptions import BaseModelError, InterruptedFitWarning
from randsub.gradients import OBJECTIVES, importance_weights, score_gradient
from randsub.optim.base import OptimizerState
from randsub.parallel.blas_threads import one_thread
from randsub.solver.callback import Callback
from randsub.solver.interruption import is_interruption
from randsub.solver.problem import Problem, Settings
from randsub.solver.refresh import WAYS, fresh, is_worn
from randsub.solver.rounds import Plan, Round, carry_out, evaluated
from randsub.solver.schedule import is_finished, reason_to_stop, refilled, revived
from randsub.solver.state import Due, EpochRecord, TrainingState, generators_of_tasks


def solve(
    problem: Problem,
    settings: Settings,
    theta: FloatArray,
    rng: np.random.Generator | Sequence[np.random.Generator],
    callbacks: Sequence[Callback] = (),
    former: TrainingState | None = None,
    *,
    keeps_unfinished: bool = True,
) -> TrainingState:
    """Train the first rounds, or resume from a former state, and run the epochs.

    Parameters
    ----------
    problem, settings, theta, rng, callbacks
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

    def tell_of_compiling() -> None:
        for callback in callbacks:
            callback.on_compile()

    # Sums in the loop must not depend on the number of threads either.
    with one_thread(), when_compiling(tell_of_compiling) if callbacks else nullcontext():
        state = former or start(problem, settings, theta, rng, callbacks)
        return train(problem, settings, state, callbacks, keeps_unfinished=keeps_unfinished)


def start(
    problem: Problem,
    settings: Settings,
    theta: FloatArray,
    rng: np.random.Generator | Sequence[np.random.Generator],
    callbacks: Sequence[Callback] = (),
) -> TrainingState:
    """Train the first rounds.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    theta : ndarray of shape (P, M)
    rng : numpy.random.Generator or sequence of P of them
        Random generator of each task; a single one is split if there are several tasks.
    callbacks : sequence of Callback, default=()

    Returns
    -------
    state : TrainingState
        State before the first epoch.
    """
    theta = problem.distribution.project(np.array(theta, dtype=float))
    n_tasks = len(problem.targets)
    n_verdicts = 1 if problem.joint else n_tasks
    state = TrainingState(
        epoch=0,
        theta=theta,
        optimizer=problem.optimizer.init(theta),
        rounds=((),) * n_tasks,
        due=np.full(n_tasks, Due.FRESH),
        generators=tuple(r.bit_generator.state for r in generators_of_tasks(rng, n_tasks)),
        history=(),
        barred=theta == 0.0,
        best_theta=theta,
        best_objectives=np.full(n_verdicts, np.inf),
        best_criteria=np.full(n_verdicts, np.inf),
        best_epochs=np.zeros(n_verdicts, dtype=np.intp),
        objectives=np.full(n_verdicts, np.inf),
        verdicts=np.full(n_verdicts, np.inf),
        ess=np.full(n_tasks, np.inf),
        mark_objectives=np.full(n_verdicts, np.inf),
        mark_epochs=np.zeros(n_verdicts, dtype=np.intp),
        revivals=((),) * n_verdicts,
        n_models_trained=0,
    )
    try:
        for callback in callbacks:
            callback.on_prepare(settings)
        return _renewed(problem, settings, state, np.full(n_tasks, True), epoch=0)
    except BaseException:
        for callback in callbacks:
            callback.on_end(state)
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

    Training can be resumed from a stored state of the same problem and settings. For
    ``keeps_unfinished`` see :func:`solve`.

    Returns
    -------
    state : TrainingState
        State after the last complete epoch.
    """
    state = replace(state, stopped=None)
    try:
        # All callbacks are called before one of them may stop the loop.
        reason = _wish([callback.on_start(settings, state) for callback in callbacks])
        while reason is None and (reason := reason_to_stop(problem, settings, state)) is None:
            for callback in callbacks:
                callback.on_epoch_begin(state)
            state = _epoch(problem, settings, state)
            reason = _wish([callback.on_epoch_end(state) for callback in callbacks])
        state = replace(state, stopped=reason)
    except (KeyboardInterrupt, SystemError) as error:
        if state.epoch == 0 or not keeps_unfinished or not is_interruption(error):
            raise
        warnings.warn(
            f"Training was interrupted after epoch {state.epoch} of {settings.max_iter}; the best "
            f"alpha so far, of epoch {state.best_epoch}, is kept.",
            InterruptedFitWarning,
            stacklevel=2,
        )
        state = replace(state, stopped="interrupted")
    finally:
        for callback in callbacks:
            callback.on_end(state)
    return state


def _wish(answers: Sequence[bool | str | None]) -> str | None:
    """Reason for which a callback requests to stop; None if there is none."""
    wish = next((answer for answer in answers if answer), None)
    return wish if wish is None or isinstance(wish, str) else "a callback asked to stop"


def _epoch(problem: Problem, settings: Settings, state: TrainingState) -> TrainingState:
    former, epoch = state, state.epoch + 1
    running = state.of_tasks(~is_finished(problem, settings, state))
    state = revived(problem, settings, state)
    state = _renewed(problem, settings, state, running, epoch)
    state = _advanced(problem, settings, state, running)
    record = EpochRecord(
        objective=float(state.objectives.mean()),
        validation_objective=float(state.verdicts.mean()),
        min_ess=float(state.ess.min()),
        expected_size=float(np.mean([*map(problem.distribution.expected_size, state.theta)])),
        refreshed=state.rounds is not former.rounds,
        revived=state.revivals is not former.revivals,
        n_models_trained=state.n_models_trained,
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
        "due": np.where(running, is_due, state.due),
        **state.improvement(epoch, settings),
    }
    return refilled(problem, settings, replace(state, **news))


def _renewed(
    problem: Problem, settings: Settings, state: TrainingState, running: BoolArray, epoch: int
) -> TrainingState:
    """Train the rounds of running tasks that are due."""
    renewed = running & (state.due != Due.NOTHING)
    if not renewed.any():
        return state
    rngs = {task: state.rng(task) for task in np.flatnonzero(renewed).tolist()}
    plans: list[Plan] = []
    for task, rng in rngs.items():
        way = fresh if state.due[task] == Due.FRESH else WAYS[settings.refresh]
        plans += way(problem, settings, task, state.rounds[task], state.theta[task], rng)
    try:
        new = carry_out(problem, plans, rngs)
    except BaseModelError as error:
        raise error.located(problem.feature_names, epoch) from error.__cause__
    rounds: list[tuple[Round, ...]] = [
        () if task in rngs else kept for task, kept in enumerate(state.rounds)
    ]
    for plan, round_ in zip(plans, new, strict=True):
        rounds[plan.task] += (round_,)
    generators = list(state.generators)
    for task, rng in rngs.items():
        generators[task] = rng.bit_generator.state
    return replace(
        state,
        rounds=tuple(rounds),
        due=np.where(renewed, Due.NOTHING, state.due),
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
    for group in groups:
        alone = replace(problem, targets=[problem.targets[task] for task in group])
        part = _stepped(alone, settings, state.part(group))
        parts.append(part)
        values.append(evaluated(alone, settings, part.rounds, part.theta))
    objectives, verdicts, ess = (
        np.concatenate(of_groups) for of_groups in zip(*values, strict=True)
    )
    which = np.zeros(1, dtype=np.intp) if problem.joint else tasks
    memory = zip(*(part.optimizer for part in parts), strict=True)
    return replace(
        state,
        theta=_placed(state.theta, tasks, [part.theta for part in parts]),
        optimizer=type(state.optimizer)(
            *(_placed(old, tasks, new) for old, new in zip(state.optimizer, memory, strict=True))
        ),
        objectives=_placed(state.objectives, which, [objectives]),
        verdicts=_placed(state.verdicts, which, [verdicts]),
        ess=_placed(state.ess, tasks, [ess]),
    )


def _placed(old: Any, tasks: IntArray, new: Sequence[Any]) -> Any:
    """The array with new rows for these tasks, which come in consecutive parts."""
    if len(new) == 1 and len(tasks) == len(old):
        return new[0]
    placed = old.copy()
    placed[tasks] = np.concatenate(new)
    return placed


def _stepped(problem: Problem, settings: Settings, state: TrainingState) -> TrainingState:
    """One optimiser step per batch."""
    theta, memory = state.theta, state.optimizer
    for batch in range(settings.n_batches):
        rounds = [of_task[batch] for of_task in state.rounds]
        gradient = np.empty_like(theta)
        for task, round_ in enumerate(rounds):
            gradient[task] = _round_gradient(problem, settings, round_, theta[task])
        if problem.penalty is not None and len(problem.targets) > 1:
            # The loss is a mean over tasks. Without a penalty tasks are independent, and a step
            # must not depend on their number.
            gradient /= len(problem.targets)
        theta, memory = _moved(problem, rounds, gradient, theta, memory)
    return replace(state, theta=theta, optimizer=memory)


def _moved(
    problem: Problem,
    rounds: Sequence[Round],
    gradient: FloatArray,
    theta: FloatArray,
    memory: OptimizerState,
) -> tuple[FloatArray, OptimizerState]:
    """Theta and optimiser state after a step, from the gradient of the loss (P, M).

    A feature that no mask of the round holds has gradient 0. Under a penalty its theta is fixed for
    this step: neither the penalty nor the momentum may move a feature without evidence. The same
    holds for a feature that every mask holds. If its theta falls, all weights change by the same
    factor, so neither the gradient of the loss nor the effective sample size measures the effect of
    removing it, and the penalty alone would remove it.
    """
    penalty, project = problem.penalty, problem.distribution.project
    if penalty is None:
        return problem.optimizer.update(gradient, memory, theta, project)
    fixed = np.stack([round_.unknown() for round_ in rounds])

    def prox(moved: FloatArray, step: FloatArray) -> FloatArray:
        return penalty.prox(np.where(fixed, theta, moved), step, fixed, project)

    if problem.optimizer.is_proximal:
        return problem.optimizer.proximal_update(gradient, memory, theta, project, prox)
    gradient += np.where(fixed, 0.0, penalty.gradient(theta))
    moved, memory = problem.optimizer.update(gradient, memory, theta, project)
    return np.where(fixed, theta, moved), memory


def _round_gradient(
    problem: Problem, settings: Settings, round_: Round, theta: FloatArray
) -> FloatArray:
    """Gradient in theta, (M,), of the loss on the held-out rows of the round.

    It is 0 for features that no mask holds.
    """
    weights = importance_weights(
        round_.log_weights(problem.distribution, theta), self_normalize=settings.self_normalize
    )
    costs = OBJECTIVES[settings.objective].costs(
        problem.loss, round_.targets, round_.predictions, weights, round_.sample_weight
    )
    masks = round_.masks
    gradient = np.zeros_like(theta)
    gradient[masks.parameters] = score_gradient(
        problem.distribution,
        masks.rows,
        theta[masks.parameters],
        weights,
        costs,
        settings.baseline,
    )
    if not problem.distribution.is_independent:
        gradient[masks.counts == 0] = 0.0
    return gradient

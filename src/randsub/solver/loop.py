"""The training loop: epochs, validation, revival, stopping.

One epoch, in order: refresh the rounds that are due; take one optimiser step per batch; compute the
objective on held-out and validation rows; keep theta if it is the best so far; test the effective
sample size of every round and mark the tasks that are due for a refresh.
"""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from randsub._compile import when_compiling
from randsub._typing import FloatArray
from randsub.exceptions import BaseModelError, InterruptedFitWarning, NoFeatureLeftWarning
from randsub.gradients import (
    OBJECTIVES,
    effective_sample_size,
    importance_weights,
    score_gradient,
    size_of_weights,
)
from randsub.optim.base import OptimizerState
from randsub.parallel.blas_threads import one_thread
from randsub.solver.callback import Callback
from randsub.solver.interruption import is_interruption
from randsub.solver.problem import Problem, Settings
from randsub.solver.refresh import WAYS, fresh, is_worn
from randsub.solver.rounds import Plan, Round, carry_out
from randsub.solver.state import Due, EpochRecord, TrainingState, generators_of_tasks

# From this number of features on, steps are halved until the effective sample size is acceptable.
WIDE = 1000
# Smallest acceptable ESS after a step, as a fraction of the masks (or ``ess_threshold``, if that is
# lower), and largest number of halvings.
LEAST_ESS = 0.5
MOST_HALVINGS = 8


def solve(
    problem: Problem,
    settings: Settings,
    theta: FloatArray,
    rng: np.random.Generator | Sequence[np.random.Generator],
    callbacks: Sequence[Callback] = (),
    former: TrainingState | None = None,
) -> TrainingState:
    """Train the first rounds, or resume from a former state, and run the epochs.

    Parameters
    ----------
    problem, settings, theta, rng, callbacks
        As for :func:`start`.
    former : TrainingState, default=None
        State of an earlier run of the same problem and settings.

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
        return train(problem, settings, state, callbacks)


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
    n_verdicts = len(problem.targets) if problem.penalty is None else 1
    state = TrainingState(
        epoch=0,
        theta=theta,
        optimizer=problem.optimizer.init(theta),
        rounds=((),) * len(problem.targets),
        due=np.full(len(problem.targets), Due.FRESH),
        generators=tuple(
            r.bit_generator.state for r in generators_of_tasks(rng, len(problem.targets))
        ),
        history=(),
        barred=theta == 0.0,
        best_theta=theta,
        best_objectives=np.full(n_verdicts, np.inf),
        best_epochs=np.zeros(n_verdicts, dtype=np.intp),
        mark_objective=np.inf,
        mark_epoch=0,
        n_models_trained=0,
        n_revived=0,
    )
    try:
        for callback in callbacks:
            callback.on_prepare(settings)
        return _renewed(problem, settings, state, epoch=0)
    except BaseException:
        for callback in callbacks:
            callback.on_end(state)
        raise


def train(
    problem: Problem,
    settings: Settings,
    state: TrainingState,
    callbacks: Sequence[Callback] = (),
) -> TrainingState:
    """Run epochs until the last one, a plateau, a stop requested by a callback, or Ctrl-C.

    Training can be resumed from a stored state of the same problem and settings.

    Returns
    -------
    state : TrainingState
        State after the last complete epoch.
    """
    state = replace(state, stopped=None)
    try:
        # All callbacks are called before one of them may stop the loop.
        reason = _wish([callback.on_start(settings, state) for callback in callbacks])
        while reason is None and (reason := _reason_to_stop(problem, settings, state)) is None:
            for callback in callbacks:
                callback.on_epoch_begin(state)
            state = _epoch(problem, settings, state)
            reason = _wish([callback.on_epoch_end(state) for callback in callbacks])
        state = replace(state, stopped=reason)
    except (KeyboardInterrupt, SystemError) as error:
        if state.epoch == 0 or not is_interruption(error):
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


def _reason_to_stop(problem: Problem, settings: Settings, state: TrainingState) -> str | None:
    if state.epoch >= settings.max_iter:
        return "all epochs done"
    if state.n_revived < settings.n_revivals:
        return None
    if _on_plateau(settings, state):
        return f"no improvement in {settings.n_iter_no_change} epochs"
    if not state.theta.any() and (state.due == Due.NOTHING).all():
        # No feature can be drawn again, so alpha cannot change.
        return "no feature is left"
    return None


def _on_plateau(settings: Settings, state: TrainingState) -> bool:
    patience = settings.n_iter_no_change
    return patience is not None and state.epoch - state.mark_epoch >= patience


def _epoch(problem: Problem, settings: Settings, state: TrainingState) -> TrainingState:
    former = state
    if _revival_due(settings, state):
        state = _revived(problem, settings, state)
    state = _renewed(problem, settings, state, epoch=state.epoch + 1)
    state = _stepped(problem, settings, state)
    objective, verdicts, ess = _evaluated(problem, settings, state)
    validation = float(verdicts.mean())
    if not (np.isfinite(objective) and np.isfinite(validation)):
        raise ValueError(
            f"The objective at epoch {state.epoch + 1} is not finite: {objective} on the held-out "
            f"batches, {validation} on validation. Check {problem.loss!r} and the penalty against "
            "the targets."
        )
    record = EpochRecord(
        objective=objective,
        validation_objective=validation,
        min_ess=float(ess.min()),
        expected_size=sum(map(problem.distribution.expected_size, state.theta))
        / len(problem.targets),
        refreshed=state.rounds is not former.rounds,
        revived=state.n_revived > former.n_revived,
        n_models_trained=state.n_models_trained,
    )
    epoch = state.epoch + 1
    news: dict[str, Any] = {
        "epoch": epoch,
        "history": (*state.history, record),
        "due": np.where(is_worn(ess, settings), Due.REFRESH, Due.NOTHING),
        **state.improvement(verdicts, epoch),
    }
    if validation < state.mark_objective - settings.tol or not np.isfinite(state.mark_objective):
        news |= {"mark_objective": validation, "mark_epoch": epoch}
    state = replace(state, **news)
    return _refilled(problem, settings, state)


def revival_epoch(settings: Settings, n_revived: int) -> int | None:
    """Epoch after which the next revival is due at the latest; None if none is left."""
    if n_revived >= settings.n_revivals:
        return None
    # The restart needs a best theta, that is at least one epoch.
    return max(1, round(settings.max_iter * (n_revived + 1) / (settings.n_revivals + 1)))


def _revival_due(settings: Settings, state: TrainingState) -> bool:
    epoch = revival_epoch(settings, state.n_revived)
    return epoch is not None and (state.epoch >= epoch or _on_plateau(settings, state))


def _revived(problem: Problem, settings: Settings, state: TrainingState) -> TrainingState:
    """Restart from the best theta, with every entry below the revival level raised to it."""
    raised = np.where(state.barred, 0.0, np.maximum(state.best_theta, settings.revival_level))
    theta = problem.distribution.project(raised)
    return replace(
        state,
        theta=theta,
        optimizer=problem.optimizer.init(theta),
        due=np.full(len(problem.targets), Due.FRESH),
        n_revived=state.n_revived + 1,
        mark_objective=np.inf,
        mark_epoch=state.epoch,
    )


def _refilled(problem: Problem, settings: Settings, state: TrainingState) -> TrainingState:
    """Restart tasks that have lost all their features, unless there is a penalty."""
    empty = np.all(state.theta == 0.0, axis=1)
    if problem.penalty is not None or not empty.any():
        return state
    level = 1.0 / settings.n_masks
    warnings.warn(
        f"Every selection probability of {int(empty.sum())} task(s) reached 0 at epoch "
        f"{state.epoch}: no feature seems to help. Restarting from alpha = {level:g}.",
        NoFeatureLeftWarning,
        stacklevel=2,
    )
    theta = np.where(empty[:, np.newaxis] & ~state.barred, level, state.theta)
    return replace(
        state,
        theta=theta,
        optimizer=problem.optimizer.restart(state.optimizer, theta, empty),
        due=np.where(empty, Due.FRESH, state.due),
    )


def _renewed(
    problem: Problem, settings: Settings, state: TrainingState, epoch: int
) -> TrainingState:
    """Train the rounds that are due."""
    tasks = np.flatnonzero(state.due != Due.NOTHING)
    if not len(tasks):
        return state
    rngs = {task: state.rng(task) for task in tasks.tolist()}
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
        due=np.full(len(problem.targets), Due.NOTHING),
        generators=tuple(generators),
        n_models_trained=state.n_models_trained + sum(int(p.untrained.sum()) for p in plans),
    )


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
        moved, memory = _moved(problem, rounds, gradient, theta, memory)
        theta = _within_reach(problem, settings, rounds, theta, moved)
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
    for task, round_ in enumerate(rounds):
        gradient[task, round_.absent] = 0.0
    if penalty is None:
        return problem.optimizer.update(gradient, memory, theta, project)
    fixed = np.zeros(theta.shape, dtype=bool)
    for task, round_ in enumerate(rounds):
        fixed[task, round_.absent] = True
        fixed[task, round_.present] = True

    def prox(moved: FloatArray, step: FloatArray) -> FloatArray:
        return penalty.prox(np.where(fixed, theta, moved), step, fixed, project)

    if problem.optimizer.is_proximal:
        return problem.optimizer.proximal_update(gradient, memory, theta, project, prox)
    gradient += np.where(fixed, 0.0, penalty.gradient(theta))
    moved, memory = problem.optimizer.update(gradient, memory, theta, project)
    return np.where(fixed, theta, moved), memory


def _within_reach(
    problem: Problem,
    settings: Settings,
    rounds: Sequence[Round],
    theta: FloatArray,
    moved: FloatArray,
) -> FloatArray:
    """Theta after the step, which is halved until the effective sample size is acceptable.

    With thousands of features, steps that are small per feature can lead to a distribution under
    which all masks of the batch are improbable, and the next gradients would depend on one or two
    models. The bound is never above the threshold of a refresh: otherwise steps would always be
    shortened before a refresh is due.
    """
    if problem.distribution.n_parameters < WIDE:
        return moved
    least = min(LEAST_ESS, settings.ess_threshold) * settings.n_masks
    for task, round_ in enumerate(rounds):
        for _ in range(MOST_HALVINGS):
            if round_.ess(problem.distribution, moved[task]) >= least:
                break
            moved[task] = (theta[task] + moved[task]) / 2.0
    return moved


def _round_gradient(
    problem: Problem, settings: Settings, round_: Round, theta: FloatArray
) -> FloatArray:
    """Gradient in theta, (M,), of the loss on the held-out rows of the round."""
    weights = importance_weights(
        round_.log_weights(problem.distribution, theta), self_normalize=settings.self_normalize
    )
    costs = OBJECTIVES[settings.objective].costs(
        problem.loss, round_.targets, round_.predictions, weights, round_.sample_weight
    )
    return score_gradient(
        problem.distribution, round_.masks, theta, weights, costs, settings.baseline
    )


def _evaluated(
    problem: Problem, settings: Settings, state: TrainingState
) -> tuple[float, FloatArray, FloatArray]:
    """Objective on held-out rows, verdicts on validation rows, and smallest ESS per task.

    A verdict is the objective on the validation rows, or on the held-out rows if there are none:
    one per task or, with a penalty, one for all tasks.
    """
    objective = OBJECTIVES[settings.objective]
    held_out = np.empty((len(problem.targets), settings.n_batches))
    validation = held_out if not len(problem.val_rows) else np.empty_like(held_out)
    ess = np.full(len(problem.targets), np.inf)
    for task, (rounds, theta) in enumerate(zip(state.rounds, state.theta, strict=True)):
        for batch, round_ in enumerate(rounds):
            log_w = round_.log_weights(problem.distribution, theta)
            weights = importance_weights(log_w, self_normalize=settings.self_normalize)
            size = (
                size_of_weights(weights)
                if settings.self_normalize
                else effective_sample_size(log_w)
            )
            ess[task] = min(ess[task], size)
            held_out[task, batch] = objective.value(
                problem.loss,
                round_.targets,
                round_.predictions,
                weights,
                round_.sample_weight,
            )
            if validation is not held_out:
                validation[task, batch] = objective.value(
                    problem.loss,
                    problem.targets[task].validation,
                    round_.validation,
                    weights,
                    problem.val_weight,
                )
    if problem.penalty is None:
        return float(held_out.mean()), validation.mean(axis=1), ess
    penalty = problem.penalty.value(state.theta)
    return float(held_out.mean()) + penalty, validation.mean(keepdims=True)[0] + penalty, ess

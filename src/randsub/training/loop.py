"""Epochs, validation, revival, stopping.

One epoch, in order: renew the rounds that are due; one step of the optimiser for each batch; the
objective on the held-out rows and on validation; keep theta if it is the best so far; test the
effective sample size of every round and note which tasks are due for a refresh.
"""

import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from randsub._typing import FloatArray
from randsub.exceptions import BaseModelError, InterruptedFitWarning, NoFeatureLeftWarning
from randsub.gradients.score import score_gradient
from randsub.gradients.weights import (
    effective_sample_size,
    importance_weights,
    size_of_weights,
)
from randsub.optim.base import OptimizerState
from randsub.training.callbacks import Callback
from randsub.training.interruption import is_interruption
from randsub.training.objective import OBJECTIVES
from randsub.training.problem import Problem, Settings
from randsub.training.refresh import WAYS, fresh
from randsub.training.rounds import Plan, Round, carry_out
from randsub.training.state import Due, EpochRecord, TrainingState

# From so many features on, a step is looked at before it is taken.
WIDE = 1000
# Share of the masks that such a step must leave effective, and how often it is halved for that.
LEAST_ESS = 0.5
MOST_HALVINGS = 8


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
        Who draws, for each task. One generator for several tasks has children for them.
    callbacks : sequence of Callback, default=()

    Returns
    -------
    state : TrainingState
        Before the first epoch.
    """
    theta = problem.distribution.project(np.array(theta, dtype=float))
    n_verdicts = problem.n_tasks if problem.penalty is None else 1
    state = TrainingState(
        epoch=0,
        theta=theta,
        optimizer=problem.optimizer.init(theta),
        rounds=((),) * problem.n_tasks,
        due=np.full(problem.n_tasks, Due.FRESH),
        generators=tuple(r.bit_generator.state for r in _one_for_each(rng, problem.n_tasks)),
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


def _one_for_each(
    rng: np.random.Generator | Sequence[np.random.Generator], n_tasks: int
) -> Sequence[np.random.Generator]:
    if not isinstance(rng, np.random.Generator):
        return rng
    if n_tasks == 1:
        return [rng]
    # Drawn by a copy: starting twice from one generator is the same twice.
    words = deepcopy(rng).integers(2**32, size=(n_tasks, 4), dtype=np.uint32)
    return [np.random.default_rng(seed) for seed in words]


def train(
    problem: Problem,
    settings: Settings,
    state: TrainingState,
    callbacks: Sequence[Callback] = (),
) -> TrainingState:
    """Run epochs until the end, a plateau, a callback's wish, or Ctrl-C.

    A state that has been put away is taken up where it was left, if problem and settings are the
    same.

    Returns
    -------
    state : TrainingState
        After the last whole epoch.
    """
    state = replace(state, stopped=None)
    try:
        # All of them look before any of them may stop the loop.
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
    """Why a callback wants to stop, if one does."""
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
        # Nothing is ever drawn again, so nothing can move.
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
        expected_size=sum(map(problem.distribution.expected_size, state.theta)) / problem.n_tasks,
        refreshed=state.rounds is not former.rounds,
        revived=state.n_revived > former.n_revived,
        n_models_trained=state.n_models_trained,
    )
    epoch = state.epoch + 1
    worn = ess < settings.ess_threshold * settings.n_masks
    news: dict[str, Any] = {
        "epoch": epoch,
        "history": (*state.history, record),
        "due": np.where(worn, Due.REFRESH, Due.NOTHING),
        **_better(state, verdicts, epoch),
    }
    if validation < state.mark_objective - settings.tol or not np.isfinite(state.mark_objective):
        news |= {"mark_objective": validation, "mark_epoch": epoch}
    state = replace(state, **news)
    return _refilled(problem, settings, state)


def _better(state: TrainingState, verdicts: FloatArray, epoch: int) -> dict[str, Any]:
    """Theta as the best one, wherever it is that."""
    better = verdicts < state.best_objectives
    if not better.any():
        return {}
    return {
        "best_theta": np.where(better[:, np.newaxis], state.theta, state.best_theta),
        "best_objectives": np.where(better, verdicts, state.best_objectives),
        "best_epochs": np.where(better, epoch, state.best_epochs),
    }


def _revival_due(settings: Settings, state: TrainingState) -> bool:
    epoch = settings.revival_epoch(state.n_revived)
    return epoch is not None and (state.epoch >= epoch or _on_plateau(settings, state))


def _revived(problem: Problem, settings: Settings, state: TrainingState) -> TrainingState:
    """Start again from the best theta, with every entry that fell below a level raised to it."""
    raised = np.where(state.barred, 0.0, np.maximum(state.best_theta, settings.revival_level))
    theta = problem.distribution.project(raised)
    return replace(
        state,
        theta=theta,
        optimizer=problem.optimizer.init(theta),
        due=np.full(problem.n_tasks, Due.FRESH),
        n_revived=state.n_revived + 1,
        mark_objective=np.inf,
        mark_epoch=state.epoch,
    )


def _refilled(problem: Problem, settings: Settings, state: TrainingState) -> TrainingState:
    """Restart tasks that have lost all their features where no penalty asked for that."""
    empty = np.all(state.theta == 0.0, axis=1)
    if problem.penalty is not None or not empty.any():
        return state
    level = 1.0 / settings.n_masks
    warnings.warn(
        f"Every selection probability of {int(empty.sum())} task(s) reached 0 at epoch "
        f"{state.epoch}: no feature seems to help. Starting again from alpha = {level:g}.",
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
        due=np.full(problem.n_tasks, Due.NOTHING),
        generators=tuple(generators),
        n_models_trained=state.n_models_trained + sum(int(p.untrained.sum()) for p in plans),
    )


def _stepped(problem: Problem, settings: Settings, state: TrainingState) -> TrainingState:
    """One step of the optimiser for each batch."""
    theta, memory = state.theta, state.optimizer
    for batch in range(settings.n_batches):
        rounds = [of_task[batch] for of_task in state.rounds]
        gradient = np.empty_like(theta)
        for task, round_ in enumerate(rounds):
            gradient[task] = _round_gradient(problem, settings, round_, theta[task])
        if problem.penalty is not None and problem.n_tasks > 1:
            # The loss is a mean over tasks. Without a penalty each task has a loss of its own, and
            # must not go another way because of how many there are.
            gradient /= problem.n_tasks
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
    """Theta and memory after a step along the loss, its gradient (P, M), and the penalty.

    A feature that no mask of the round holds is not touched by data it has not met.
    """
    penalty, project = problem.penalty, problem.distribution.project
    proximal = penalty is not None and problem.optimizer.is_proximal
    if penalty is not None and not proximal:
        gradient += penalty.gradient(theta)
    for task, round_ in enumerate(rounds):
        gradient[task, round_.absent] = 0.0
    if penalty is None or not proximal:
        return problem.optimizer.update(gradient, memory, theta, project)
    absent = np.zeros(theta.shape, dtype=bool)
    for task, round_ in enumerate(rounds):
        absent[task, round_.absent] = True

    def prox(moved: FloatArray, step: FloatArray) -> FloatArray:
        return penalty.prox(np.where(absent, theta, moved), step, absent, project)

    return problem.optimizer.proximal_update(gradient, memory, theta, project, prox)


def _within_reach(
    problem: Problem,
    settings: Settings,
    rounds: Sequence[Round],
    theta: FloatArray,
    moved: FloatArray,
) -> FloatArray:
    """The step, shortened where the models that it came from would not bear it.

    With thousands of features, steps that are small for each of them lead to a law under which none
    of the batch's masks is likely, and the next gradients would rest on a model or two.
    """
    if problem.distribution.n_parameters < WIDE:
        return moved
    least = LEAST_ESS * settings.n_masks
    for task, round_ in enumerate(rounds):
        for _ in range(MOST_HALVINGS):
            if round_.ess(problem.distribution, moved[task]) >= least:
                break
            moved[task] = (theta[task] + moved[task]) / 2.0
    return moved


def _round_gradient(
    problem: Problem, settings: Settings, round_: Round, theta: FloatArray
) -> FloatArray:
    """Gradient of the loss on the round's held-out rows in theta, (M,)."""
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
    """Objective on held-out rows, verdicts of validation, and each task's least ESS.

    A verdict is the objective on the validation rows (on the held-out ones where there are none):
    of each task or, where a penalty couples them, of all.
    """
    objective = OBJECTIVES[settings.objective]
    held_out = np.empty((problem.n_tasks, settings.n_batches))
    validation = held_out if not len(problem.val_rows) else np.empty_like(held_out)
    ess = np.full(problem.n_tasks, np.inf)
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

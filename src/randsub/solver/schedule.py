"""When tasks are revived, when they are finished, and why training stops.

Tasks that are coupled by a penalty are revived and finished together. Otherwise each has its own
schedule. A finished task keeps its theta, and no models are trained for it any more.
"""

import warnings
from dataclasses import replace

import numpy as np

from randsub._typing import BoolArray
from randsub.exceptions import NoFeatureLeftWarning
from randsub.solver.problem import LARGEST_FIRST_SUBSET, Problem, Settings
from randsub.solver.state import Due, TrainingState


def reason_to_stop(problem: Problem, settings: Settings, state: TrainingState) -> str | None:
    """Why there is no further epoch; None if there is one."""
    if state.epoch >= settings.max_iter:
        return "all epochs done"
    if not is_finished(problem, settings, state).all():
        return None
    if _is_empty(problem, state).all():
        return "no feature is left"
    return f"no improvement in {settings.n_iter_no_change} epochs"


def is_finished(problem: Problem, settings: Settings, state: TrainingState) -> BoolArray:
    """Which verdicts cannot improve any more: a plateau, or no feature, after the last revival."""
    is_last = state.n_revived >= settings.n_revivals
    is_on_plateau = _is_on_plateau(settings, state)
    if problem.n_bases > 1 and settings.n_iter_no_change is not None:
        # By then, shares have been learned for as long as a plateau takes.
        begin = replace(state, epoch=state.epoch - settings.n_iter_no_change)
        is_on_plateau &= learns_shares(settings, begin)
    return is_last & (_is_empty(problem, state) | is_on_plateau)


def _is_empty(problem: Problem, state: TrainingState) -> BoolArray:
    """Which verdicts are of tasks that a penalty has left without features: none is drawn again."""
    holds = state.theta.any(axis=1) & state.is_trained() | (state.due != Due.NOTHING)
    is_empty = ~holds.reshape(state.shares.shape).any(axis=1) & (problem.penalty is not None)
    return is_empty.all(keepdims=True) if problem.joint else is_empty


def _is_on_plateau(settings: Settings, state: TrainingState) -> BoolArray:
    """Which verdicts have not improved for ``n_iter_no_change`` epochs."""
    if settings.n_iter_no_change is None:
        return np.zeros(len(state.mark_epochs), dtype=bool)
    return state.epoch - state.mark_epochs >= settings.n_iter_no_change


def revival_epoch(settings: Settings, n_revived: int) -> int | None:
    """Epoch after which the next revival is due at the latest; None if none is left."""
    if n_revived >= settings.n_revivals:
        return None
    # The restart needs a best theta, that is at least one epoch.
    return max(1, round(settings.max_iter * (n_revived + 1) / (settings.n_revivals + 1)))


def learns_shares(settings: Settings, state: TrainingState) -> BoolArray:
    """Which verdicts are of tasks whose shares are learned by now.

    Base models that learn their features slowly would be dropped before they have. So shares stay
    equal until the first revival, or for a third of the epochs.
    """
    return (state.n_revived > 0) | (state.epoch >= settings.max_iter / 3.0)


def revived(problem: Problem, settings: Settings, state: TrainingState) -> TrainingState:
    """Revive the tasks that are due.

    They restart from their best theta and shares, with every entry of theta below the revival level
    raised to it.
    """
    epochs = [revival_epoch(settings, n) for n in state.n_revived]
    is_time = np.array([epoch is not None and state.epoch >= epoch for epoch in epochs])
    is_left = state.n_revived < settings.n_revivals
    due = is_time | (is_left & _is_on_plateau(settings, state))
    if not due.any():
        return state
    tasks, rows = state.of_tasks(due), state.of_rows(due)
    raised = np.where(state.barred, 0.0, np.maximum(state.best_theta, settings.revival_level))
    theta = np.where(rows[:, np.newaxis], problem.distribution.project(raised), state.theta)
    return replace(
        state,
        theta=theta,
        shares=np.where(tasks[:, np.newaxis], state.best_shares, state.shares),
        optimizer=problem.optimizer.init(theta)
        if rows.all()
        else problem.optimizer.restart(state.optimizer, theta, rows),
        due=np.where(rows, Due.FRESH, state.due),
        revivals=tuple(
            (*of_verdict, state.epoch) if is_due else of_verdict
            for of_verdict, is_due in zip(state.revivals, due, strict=True)
        ),
        mark_objectives=np.where(due, np.inf, state.mark_objectives),
        mark_epochs=np.where(due, state.epoch, state.mark_epochs),
    )


def refilled(problem: Problem, settings: Settings, state: TrainingState) -> TrainingState:
    """Restart rows of theta that have lost all their features, unless there is a penalty."""
    empty = np.all(state.theta == 0.0, axis=1) & state.is_trained()
    if problem.penalty is not None or not empty.any():
        return state
    n_tasks = int(empty.reshape(state.shares.shape).any(axis=1).sum())
    among = ", for one of their base models or more," if problem.n_bases > 1 else ""
    level = min(1.0 / settings.n_masks, LARGEST_FIRST_SUBSET / problem.distribution.n_parameters)
    warnings.warn(
        f"Every selection probability of {n_tasks} task(s){among} reached 0 at epoch "
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

"""Revival: start again from the best theta, with what was dropped raised to a level."""

from dataclasses import replace

import numpy as np
import pytest

from randsub.distributions import Bernoulli
from randsub.optim import ProjectedAdam
from randsub.penalties import ExpectedSize
from randsub.solver import Problem, Settings, TrainingState, train
from randsub.solver.schedule import revival_epoch
from tiny_world import (
    Height,
    Path,
    PathState,
    Recorder,
    assert_same,
    begin,
    first_feature_helps,
    make_problem,
    make_settings,
    noisy,
    nothing,
    zero,
)


def run(problem: Problem, settings: Settings, theta=0.5) -> list[TrainingState]:
    recorder = Recorder()
    final = train(problem, settings, begin(problem, settings, theta), [recorder])
    return [*recorder.states[:-1], final]


def revived_at(state: TrainingState) -> list[int]:
    return [epoch for epoch, record in enumerate(state.history, start=1) if record.revived]


@pytest.mark.parametrize(
    ("max_iter", "n_revivals", "after"),
    [(30, 2, [10, 20]), (20, 1, [10]), (20, 3, [5, 10, 15]), (10, 2, [3, 7]), (12, 0, [])],
)
def test_revivals_cut_the_run_into_equal_parts(max_iter, n_revivals, after) -> None:
    settings = make_settings(max_iter=max_iter, n_revivals=n_revivals)
    scheduled = [revival_epoch(settings, n) for n in range(n_revivals + 1)]
    assert scheduled == [*after, None]
    final = run(make_problem(noisy, optimizer=ProjectedAdam(0.005)), settings)[-1]
    # After so many epochs, hence at the start of the next.
    assert revived_at(final) == [epoch + 1 for epoch in after]
    assert final.n_revived == n_revivals
    assert final.epoch == max_iter


def before_revival(problem: Problem, settings: Settings) -> TrainingState:
    """After epoch 4 of 8, with a best theta in which some entries are low."""
    state = begin(problem, settings)
    state = train(problem, replace(settings, max_iter=4, n_revivals=0), state)
    assert state.history[-1].min_ess == pytest.approx(settings.n_masks)
    return replace(
        state,
        theta=np.array([[0.9, 0.9, 0.9, 0.9], [0.8, 0.8, 0.8, 0.8]]),
        best_theta=np.array([[0.3, 0.0, 0.019, 0.02], [0.001, 0.6, 0.021, 1.0]]),
        best_objectives=np.full(2, -1.0),
        best_criteria=np.full(2, -1.0),
        best_epochs=np.full(2, 2),
    )


@pytest.mark.parametrize("way", ["fresh", "window", "coupled"])
def test_only_entries_below_the_level_are_raised(way) -> None:
    problem = make_problem(noisy, n_tasks=2, optimizer=Path())
    settings = make_settings(max_iter=8, n_revivals=1, refresh=way, n_generations=4)
    state = before_revival(problem, settings)
    recorder = Recorder()
    train(problem, settings, state, [recorder])
    after = recorder.states[1]
    raised = np.array([[0.3, 0.02, 0.02, 0.02], [0.02, 0.6, 0.021, 1.0]])
    np.testing.assert_array_equal(after.theta, raised)
    assert after.history[-1].revived
    assert after.history[-1].refreshed
    # Fresh moments: three steps since.
    assert_same(after.optimizer, PathState(np.array([3, 3])))
    # Fresh rounds, whatever the way: new batches and masks from the raised theta alone.
    assert after.n_models_trained == state.n_models_trained + 2 * 3 * 20
    for task, rounds in enumerate(after.rounds):
        for new, old in zip(rounds, state.rounds[task], strict=True):
            assert not np.array_equal(new.batch.query_rows, old.batch.query_rows)
            assert (new.proposal.thetas == raised[task]).all()
    # The best stays the best until something is better.
    assert after.best_epoch == 2
    np.testing.assert_array_equal(after.best_theta, state.best_theta)


def test_the_level_is_a_setting() -> None:
    problem = make_problem(noisy, n_tasks=2, optimizer=Path())
    settings = make_settings(max_iter=5, n_revivals=1, revival_level=0.4)
    state = before_revival(problem, settings)
    after = train(problem, settings, state)
    raised = [[0.4, 0.4, 0.4, 0.4], [0.4, 0.6, 0.4, 1.0]]
    np.testing.assert_array_equal(after.theta, raised)


def test_revived_entries_stay_in_the_domain() -> None:
    problem = make_problem(noisy, n_tasks=2, optimizer=Path(), distribution=Bernoulli(4, floor=0.1))
    settings = make_settings(max_iter=5, n_revivals=1)
    after = train(problem, settings, before_revival(problem, settings))
    np.testing.assert_array_equal(after.theta, [[0.3, 0.1, 0.1, 0.1], [0.1, 0.6, 0.1, 0.9]])


def test_adam_forgets_at_a_revival() -> None:
    problem = make_problem(noisy)
    settings = make_settings(max_iter=6, n_revivals=1)
    states = run(problem, settings)
    steps = [state.optimizer.steps.tolist() for state in states]
    assert steps == [[0], [3], [6], [9], [3], [6], [9]]


def heights(levels: tuple[float, ...], **changes) -> TrainingState:
    """A run whose objective is exactly the level of the epoch; levels start again on revival."""
    problem = make_problem(nothing, target=zero, penalty=Height(), optimizer=Path(levels))
    return run(problem, make_settings(**changes))[-1]


def test_patience_brings_a_revival_forward() -> None:
    # Improvement ends at epoch 2 of each part, and the patience is 3.
    final = heights((0.5, 0.4, 0.45), max_iter=60, n_revivals=2, n_iter_no_change=3)
    # The first part is over after epoch 5. From then on counting starts anew: the first epoch of a
    # part is its first mark, whatever the best so far.
    assert revived_at(final) == [6, 11]
    assert final.epoch == 15
    assert final.stopped == "no improvement in 3 epochs"
    assert final.best_epoch == 2


def test_the_schedule_holds_where_patience_does_not_run_out() -> None:
    final = heights((0.5, 0.4, 0.45), max_iter=12, n_revivals=2, n_iter_no_change=3)
    assert revived_at(final) == [5, 9]
    # Both: the plateau after epoch 5 brings the first one forward, and the second is on time.
    final = heights((0.5, 0.4, 0.45), max_iter=18, n_revivals=2, n_iter_no_change=3)
    assert revived_at(final) == [6, 11]
    final = heights((0.5, 0.4, *[0.3] * 20), max_iter=18, n_revivals=1, n_iter_no_change=5)
    assert revived_at(final) == [9]


def test_no_stop_while_a_revival_is_left() -> None:
    problem = make_problem(nothing, penalty=ExpectedSize(1.0), optimizer=ProjectedAdam(0.1))
    final = run(problem, make_settings(max_iter=90, n_revivals=1))[-1]
    # Without the revival the loop ends at once when no feature is left.
    assert revived_at(final) == [46]
    assert final.stopped == "no feature is left"
    assert 46 < final.epoch < 60


def halves(masks, rows, task, seeds) -> np.ndarray:
    """Features 0 and 1 give half of the target each; the others do harm."""
    whole = first_feature_helps(masks & (np.arange(4) != 1), rows, task, seeds)
    half = first_feature_helps(np.eye(1, 4, dtype=bool), rows, task, seeds) / 2.0
    share = masks[:, 1].astype(float) - masks[:, 0]
    return whole + share[:, np.newaxis, np.newaxis] * half


def test_a_revival_brings_back_a_feature_that_was_lost() -> None:
    problem = make_problem(halves)
    settings = make_settings(n_masks=50, max_iter=80)
    theta = [1e-12, 0.5, 0.3, 0.3]  # never drawn, but not barred either
    alone = run(problem, settings, theta)[-1]
    assert alone.best_theta[0, 0] < 1e-9
    revived = run(problem, replace(settings, n_revivals=1), theta)[-1]
    assert revived.best_theta[0, 0] > 0.5
    assert revived.best_objective < 0.5 * alone.best_objective

"""Epochs in a world where everything can be foreseen: refresh, selection, stopping, restarts."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from oracle import dense
from randsub._masks import as_sparse
from randsub._typing import FloatArray
from randsub.distributions import GroupedBernoulli
from randsub.exceptions import BaseModelError, NoFeatureLeftWarning
from randsub.gradients import effective_sample_size
from randsub.optim import AdamState, FisherAdam, LogitAdam, ProjectedAdam, ProximalAdam
from randsub.penalties import ExpectedSize, RowGroups
from randsub.solver import Problem, Round, Settings, TrainingState, train
from randsub.solver.problem import LARGEST_FIRST_SUBSET
from randsub.solver.rounds import HeldMasks
from randsub.solver.state import Due, EpochRecord
from tiny_world import (
    FormulaEngine,
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
    signal,
    zero,
)

WAYS = ["fresh", "window", "coupled"]


def engine_of(problem: Problem) -> FormulaEngine:
    engine = problem.dispatcher.engines[0]
    assert isinstance(engine, FormulaEngine)
    return engine


def ess_of(round_: Round, problem: Problem, theta: FloatArray) -> float:
    return effective_sample_size(round_.log_weights(problem.distribution, theta))


def run(
    problem: Problem, settings: Settings, theta=0.5, seed: int = 0
) -> tuple[TrainingState, list[TrainingState]]:
    recorder = Recorder()
    final = train(problem, settings, begin(problem, settings, theta, seed), [recorder])
    return final, recorder.states


# -- learning ------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["ensemble", "members"])
@pytest.mark.parametrize("way", WAYS)
def test_the_loop_finds_what_helps(way, objective) -> None:
    problem = make_problem(first_feature_helps, n_tasks=2)
    settings = make_settings(
        n_masks=40, max_iter=60, refresh=way, n_generations=4, objective=objective
    )
    final, _ = run(problem, settings)
    # Task p needs feature p alone.
    needed = np.eye(2, 4, dtype=bool)
    assert final.theta[needed].min() > 0.95
    assert final.theta[~needed].max() < 0.05
    assert final.history[-1].objective < 0.05 < 0.3 < final.history[0].objective
    assert final.history[-1].validation_objective < 0.3 * final.history[0].validation_objective
    assert final.stopped == "all epochs done"


def test_a_penalty_drops_what_does_not_help_enough() -> None:
    def idle(masks, rows, task, seeds) -> np.ndarray:
        """Like the usual world, but the other features do no harm."""
        only = masks & (np.arange(masks.shape[1]) == 0)
        return first_feature_helps(only, rows, task, seeds)

    settings = make_settings(n_masks=40, max_iter=50)
    free, _ = run(make_problem(idle), settings)
    charged, _ = run(make_problem(idle, penalty=ExpectedSize(0.02)), settings)
    assert free.theta[0, 0] > 0.9
    assert charged.theta[0, 0] > 0.9
    assert charged.theta[0, 1:].max() < 0.02 < 0.2 < free.theta[0, 1:].max()


# -- features that no mask holds -----------------------------------------------------------------


def test_a_feature_that_no_mask_holds_gets_no_gradient() -> None:
    problem = make_problem(penalty=ExpectedSize(0.1) + RowGroups(0.1), n_tasks=2)
    settings = make_settings(max_iter=1)
    theta = np.full((2, 4), 0.5)
    theta[0, 2] = theta[1, 3] = 1e-5
    state = begin(problem, settings, theta)
    absent = theta < 1e-4
    for rounds, nowhere in zip(state.rounds, absent, strict=True):
        for round_ in rounds:
            np.testing.assert_array_equal(round_.unknown(), nowhere)

    after = train(problem, settings, state)
    np.testing.assert_array_equal(after.theta[absent], theta[absent])
    assert (after.theta[~absent] != theta[~absent]).all()
    assert (after.optimizer.first[absent] == 0.0).all()
    assert (after.optimizer.second[absent] == 0.0).all()

    # Zeros do enter a memory that is not empty.
    memory = AdamState(np.full((2, 4), 0.3), np.full((2, 4), 0.2), np.array([5, 5]))
    after = train(problem, settings, replace(state, optimizer=memory))
    np.testing.assert_allclose(after.optimizer.first[absent], 0.3 * 0.9**3, rtol=1e-12)
    np.testing.assert_allclose(after.optimizer.second[absent], 0.2 * 0.999**3, rtol=1e-12)
    np.testing.assert_array_equal(after.optimizer.steps, [8, 8])


EVERY_ADAM = pytest.mark.parametrize(
    "optimizer",
    [ProjectedAdam(0.1), LogitAdam(0.1), ProximalAdam(0.1)],
    ids=["adam", "logit", "prox"],
)


def with_momentum(state: TrainingState) -> TrainingState:
    """As if all entries had been moving down for a while."""
    shape = state.theta.shape
    memory = AdamState(np.full(shape, 0.3), np.full(shape, 0.1), np.full(shape[0], 50))
    return replace(state, optimizer=memory)


@EVERY_ADAM
def test_momentum_does_not_move_a_feature_that_no_mask_holds(optimizer) -> None:
    problem = make_problem(penalty=ExpectedSize(0.1), n_tasks=2, optimizer=optimizer)
    settings = make_settings(max_iter=1)
    theta = np.full((2, 4), 0.5)
    theta[0, 2] = theta[1, 3] = 1e-3
    state = begin(problem, settings, theta, seed=3)
    absent = theta < 0.01
    for rounds, nowhere in zip(state.rounds, absent, strict=True):
        for round_ in rounds:
            np.testing.assert_array_equal(round_.unknown(), nowhere)
    after = train(problem, settings, with_momentum(state))
    np.testing.assert_array_equal(after.theta[absent], theta[absent])
    assert (after.theta[~absent] < theta[~absent]).all()
    np.testing.assert_allclose(after.optimizer.first[absent], 0.3 * 0.9**3, rtol=1e-12)


def test_without_a_penalty_momentum_goes_on() -> None:
    problem = make_problem(optimizer=ProjectedAdam(0.1))
    settings = make_settings(max_iter=1)
    state = begin(problem, settings, [0.5, 0.5, 0.5, 1e-3], seed=3)
    assert all(round_.unknown().tolist() == [False] * 3 + [True] for round_ in state.rounds[0])
    assert train(problem, settings, with_momentum(state)).theta[0, 3] < 1e-3


def test_what_is_held_is_a_matter_of_the_batch() -> None:
    # Only the middle one of three rounds holds feature 3, so only its step moves that feature.
    problem = make_problem(nothing, target=zero, penalty=ExpectedSize(1.0))
    settings = make_settings(max_iter=1)
    theta = [0.5, 0.5, 0.5, 0.0]
    state = begin(problem, settings, theta)
    rounds = list(state.rounds[0])
    masks = dense(rounds[1].masks.whole())
    masks[0, 3] = True
    rounds[1] = replace(rounds[1], masks=HeldMasks.of(as_sparse(masks), is_independent=True))
    state = replace(state, rounds=(tuple(rounds),), theta=np.array([[0.5, 0.5, 0.5, 1e-4]]))
    after = train(problem, settings, state)
    # Gradient 1 entered once, then faded once.
    np.testing.assert_allclose(after.optimizer.first[0, 3], 0.1 * 0.9, rtol=1e-12)
    np.testing.assert_allclose(after.optimizer.first[0, :3], 1 - 0.9**3, rtol=1e-12)


# -- features that every mask holds --------------------------------------------------------------


@EVERY_ADAM
def test_momentum_does_not_move_a_feature_that_every_mask_holds(optimizer) -> None:
    problem = make_problem(nothing, target=zero, penalty=ExpectedSize(1.0), optimizer=optimizer)
    settings = make_settings(max_iter=1)
    state = begin(problem, settings, [0.999, 0.5, 0.5, 0.5])
    assert all(round_.unknown().tolist() == [True] + [False] * 3 for round_ in state.rounds[0])
    after = train(problem, settings, with_momentum(state))
    assert after.theta[0, 0] == 0.999
    assert (after.theta[0, 1:] < 0.5).all()


@pytest.mark.parametrize("optimizer", [ProjectedAdam(0.1), ProximalAdam(0.1)], ids=["adam", "prox"])
def test_a_penalty_does_not_take_what_the_data_cannot_defend(optimizer) -> None:
    # Every mask holds feature 0, so whatever theta it gets, the ensemble looks the same.
    problem = make_problem(nothing, target=zero, penalty=ExpectedSize(1.0), optimizer=optimizer)
    settings = make_settings(max_iter=1)
    theta = np.array([[1.0, 0.5, 0.5, 0.5]])
    state = begin(problem, settings, theta[0])
    for round_ in state.rounds[0]:
        np.testing.assert_array_equal(round_.unknown(), [True, False, False, False])
    after = train(problem, settings, state)
    assert after.theta[0, 0] == 1.0
    assert (after.theta[0, 1:] < theta[0, 1:]).all()


# -- effective sample size -----------------------------------------------------------------------


def wear(state: TrainingState, task: int, batch: int) -> TrainingState:
    """Make the weights of one round very uneven."""
    rounds = [list(of_task) for of_task in state.rounds]
    worn = rounds[task][batch]
    rounds[task][batch] = replace(worn, log_q=worn.log_q + np.linspace(0.0, 5.0, len(worn.log_q)))
    return replace(state, rounds=tuple(map(tuple, rounds)))


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_every_round_is_tested(batch) -> None:
    problem, settings = make_problem(optimizer=Path()), make_settings(max_iter=2)
    state = begin(problem, settings)
    assert train(problem, replace(settings, max_iter=1), state).due.tolist() == [Due.NOTHING]

    worn = wear(state, 0, batch)
    ess = ess_of(worn.rounds[0][batch], problem, worn.theta[0])
    assert ess < 10.0
    after = train(problem, replace(settings, max_iter=1), worn)
    assert after.due.tolist() == [Due.REFRESH]
    assert after.history[0].min_ess == pytest.approx(ess)
    assert not after.history[0].refreshed
    # The whole task is renewed, before the steps of the next epoch.
    final = train(problem, settings, after)
    assert final.history[1].refreshed
    assert final.history[1].min_ess == pytest.approx(settings.n_masks)
    assert all(new is not old for new, old in zip(final.rounds[0], after.rounds[0], strict=True))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stale", [0, 1])
def test_only_the_stale_task_is_refreshed(stale, way) -> None:
    problem = make_problem(noisy, n_tasks=2, optimizer=Path())
    settings = make_settings(max_iter=2, refresh=way, n_generations=4)
    state = wear(begin(problem, settings), stale, 1)
    after = train(problem, replace(settings, max_iter=1), state)
    assert after.due.tolist() == [Due.REFRESH if p == stale else Due.NOTHING for p in (0, 1)]
    final = train(problem, settings, after)
    for new, old in zip(final.rounds[1 - stale], state.rounds[1 - stale], strict=True):
        assert new is old
    for new, old in zip(final.rounds[stale], state.rounds[stale], strict=True):
        assert new is not old
    assert final.history[-1].refreshed
    asked = {call.task for call in engine_of(problem).asked[2 * settings.n_batches :]}
    # Theta did not move, so a coupled refresh has nothing to train.
    assert asked == (set() if way == "coupled" else {stale})


@pytest.mark.parametrize(("threshold", "due"), [(0.49, Due.NOTHING), (0.51, Due.REFRESH)])
def test_the_threshold_is_a_share_of_the_masks(threshold, due) -> None:
    problem = make_problem(optimizer=Path())
    settings = make_settings(max_iter=1, ess_threshold=threshold)
    state = begin(problem, settings)
    round_ = state.rounds[0][0]
    # Half of the models have weight 1, the others none to speak of.
    log_q = round_.log_q + np.where(np.arange(20) < 10, 0.0, 100.0)
    rounds = (replace(round_, log_q=log_q), *state.rounds[0][1:])
    after = train(problem, settings, replace(state, rounds=(rounds,)))
    assert after.history[0].min_ess == pytest.approx(10.0)
    assert after.due.tolist() == [due]


# -- counting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_tasks", [1, 2])
def test_fresh_trains_every_model_anew(n_tasks) -> None:
    problem = make_problem(noisy, n_tasks=n_tasks, optimizer=ProjectedAdam(0.005))
    settings = make_settings(max_iter=5, ess_threshold=1.01)
    final, states = run(problem, settings)
    each = 20 * 3 * n_tasks
    # At the start, and before every epoch but the first.
    assert [state.n_models_trained for state in states] == [each * n for n in (1, 1, 2, 3, 4, 5)]
    assert final.n_models_trained == engine_of(problem).n_models


def test_window_trains_one_generation_a_refresh() -> None:
    problem = make_problem(noisy, optimizer=ProjectedAdam(0.005))
    # Ten masks are generations of 4, 3 and 3.
    settings = make_settings(
        n_masks=10, refresh="window", n_generations=3, max_iter=6, ess_threshold=1.01
    )
    final, states = run(problem, settings)
    trained = np.diff([state.n_models_trained for state in states])
    assert states[0].n_models_trained == 30
    np.testing.assert_array_equal(trained, [0, 12, 9, 9, 12, 9])
    assert final.n_models_trained == engine_of(problem).n_models


def test_coupled_trains_what_changed() -> None:
    problem = make_problem(noisy, optimizer=ProjectedAdam(0.02))
    settings = make_settings(refresh="coupled", max_iter=8, ess_threshold=1.01)
    final, states = run(problem, settings)
    for before, after in pairwise(states[1:]):
        changed = sum(
            int((dense(new.masks.whole()) != dense(old.masks.whole())).any(axis=1).sum())
            for new, old in zip(after.rounds[0], before.rounds[0], strict=True)
        )
        assert after.n_models_trained - before.n_models_trained == changed
        assert 0 < changed < 60
    assert final.n_models_trained == engine_of(problem).n_models


# -- history -------------------------------------------------------------------------------------


def test_one_record_an_epoch() -> None:
    groups = np.array([0, 0, 0, 1])
    problem = make_problem(
        noisy, n_tasks=2, distribution=GroupedBernoulli(groups), optimizer=ProjectedAdam(0.03)
    )
    settings = make_settings(max_iter=12, n_revivals=1)
    final, states = run(problem, settings)
    assert final.epoch == len(final.history) == 12
    for epoch, (before, after) in enumerate(pairwise(states), start=1):
        assert after.epoch == epoch
        assert after.history[:-1] == before.history
        record = after.history[-1]
        assert isinstance(record, EpochRecord)
        # The first group has three columns.
        assert record.expected_size == pytest.approx(np.mean(after.theta @ [3.0, 1.0]))
        assert record.n_models_trained == after.n_models_trained
        # One base model: the rounds of a task are one row.
        anew = [
            any(new is not old for new, old in zip(*pair, strict=True))
            for pair in zip(after.rounds, before.rounds, strict=True)
        ]
        assert record.refreshed == sum(anew) / 2
        assert record.revived == (epoch == 7)
        ess = [
            ess_of(round_, problem, theta)
            for rounds, theta in zip(after.rounds, after.theta, strict=True)
            for round_ in rounds
        ]
        assert record.min_ess == pytest.approx(min(ess))
    refreshed = [record.refreshed for record in final.history]
    assert not refreshed[0]
    assert any(refreshed)
    assert not all(refreshed)


# -- the best theta ------------------------------------------------------------------------------


def judged(masks, rows, task, seeds) -> np.ndarray:
    """On training rows feature 0 is an error, on validation rows its absence is one."""
    held = masks[:, :1].astype(float)
    return np.where(rows < 1000, held, 1.0 - held)[..., np.newaxis]


LEVELS = (0.5, 0.3, 0.7, 0.6, 0.2, 0.65)


def test_the_best_theta_is_chosen_on_validation() -> None:
    problem = make_problem(judged, target=zero, optimizer=Path(LEVELS))
    final, states = run(problem, make_settings(max_iter=6, ess_threshold=0.0))
    validation = [record.validation_objective for record in final.history]
    objective = [record.objective for record in final.history]
    # The two disagree, and the best comes neither first nor last.
    assert (np.argmin(objective), np.argmin(validation)) == (4, 2)
    assert final.best_epoch == 3
    assert final.best_objective == min(validation)
    np.testing.assert_array_equal(final.best_theta, states[3].theta)
    # At all times it is the best so far.
    bests = [state.best_epoch for state in states]
    assert bests == [0, 1, 1, 3, 3, 3, 3]


def test_without_validation_rows_it_is_chosen_on_the_batches() -> None:
    problem = make_problem(judged, target=zero, optimizer=Path(LEVELS), n_val=0)
    # Enough masks to tell one level from the next.
    final, states = run(problem, make_settings(max_iter=6, n_masks=200))
    for record in final.history:
        assert record.validation_objective == record.objective
    assert final.best_epoch == 5
    assert final.best_objective == final.history[4].objective
    np.testing.assert_array_equal(final.best_theta, states[5].theta)


def test_before_the_first_epoch_the_best_theta_is_the_first() -> None:
    state = begin(make_problem(), make_settings(), 0.25)
    np.testing.assert_array_equal(state.best_theta, np.full((1, 4), 0.25))
    assert state.best_objective == np.inf
    assert (state.epoch, state.best_epoch, state.history) == (0, 0, ())


def test_the_first_theta_is_projected() -> None:
    state = begin(make_problem(), make_settings(), [-1.0, 0.5, 2.0, 1.0])
    np.testing.assert_array_equal(state.theta, [[0.0, 0.5, 1.0, 1.0]])


# -- patience ------------------------------------------------------------------------------------


def patient(levels: tuple[float, ...], **changes) -> TrainingState:
    """An objective that is exactly the level of the epoch."""
    problem = make_problem(nothing, target=zero, penalty=Height(), optimizer=Path(levels))
    final, _ = run(problem, make_settings(**{"max_iter": len(levels), **changes}))
    found = [record.validation_objective for record in final.history]
    np.testing.assert_allclose(found, levels[: final.epoch], rtol=1e-12)
    return final


@pytest.mark.parametrize("patience", [1, 3, 5])
def test_patience_counts_epochs_since_the_last_improvement(patience) -> None:
    final = patient((0.5, 0.4, *[0.45] * 20), n_iter_no_change=patience)
    assert final.epoch == 2 + patience
    assert final.best_epoch == 2
    assert final.stopped == f"no improvement in {patience} epochs"


def test_without_patience_all_epochs_are_done() -> None:
    final = patient((0.5, 0.4, *[0.45] * 20))
    assert final.epoch == 22
    assert final.stopped == "all epochs done"


def test_an_improvement_resets_the_count() -> None:
    final = patient((0.5, 0.5, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4), n_iter_no_change=3)
    assert final.epoch == 7


def test_an_improvement_must_exceed_the_tolerance() -> None:
    falling = tuple(0.5 - 0.001 * np.arange(20))
    # Each step is below the tolerance and together they do not exceed it within the patience.
    final = patient(falling, n_iter_no_change=4, tol=0.01)
    assert final.epoch == 5
    # The best theta is the best all the same.
    assert final.best_epoch == 5
    # Steps below the tolerance that exceed it together do count.
    assert patient(falling, n_iter_no_change=4, tol=0.0025).epoch == 20
    assert patient(falling, n_iter_no_change=4, tol=0.0).epoch == 20


def test_a_plateau_does_not_improve_at_tolerance_zero() -> None:
    assert patient((0.5,) * 20, n_iter_no_change=4, tol=0.0).epoch == 5


@pytest.mark.parametrize(
    ("objective", "verdict", "is_marked", "is_best"),
    [
        # Validation was lucky before, but the objective improves.
        (0.3, 0.45, True, False),
        (0.55, 0.3, True, True),
        # A better verdict is the best theta so far, and may still be part of a plateau.
        (0.65, 0.39, False, True),
        # The sum must improve by more than the tolerance.
        (0.495, 0.4, False, False),
        (0.485, 0.4, True, False),
    ],
)
def test_a_plateau_is_one_of_both_objectives_together(
    objective, verdict, is_marked, is_best
) -> None:
    state = replace(
        begin(make_problem(), make_settings()),
        objectives=np.array([objective]),
        verdicts=np.array([verdict]),
        best_objectives=np.array([0.4]),
        best_criteria=np.array([0.4]),
        mark_objectives=np.array([0.9]),
    )
    news = state.improvement(7, make_settings(tol=0.01))
    assert ("best_epochs" in news) == is_best
    assert ("mark_epochs" in news) == is_marked
    if is_marked:
        assert news["mark_epochs"] == [7]
        np.testing.assert_allclose(news["mark_objectives"], [objective + verdict])


@pytest.mark.parametrize(
    ("objective", "verdict", "on_validation", "on_all"),
    [(0.1, 0.5, False, True), (0.9, 0.3, True, False), (0.3, 0.3, True, True)],
)
def test_the_best_epoch_is_chosen_on_validation_or_on_all_rows(
    objective, verdict, on_validation, on_all
) -> None:
    first = replace(
        begin(make_problem(), make_settings()),
        objectives=np.array([0.4]),
        verdicts=np.array([0.4]),
    )
    for chooses_on_all, is_better in ((False, on_validation), (True, on_all)):
        settings = make_settings(chooses_on_all=chooses_on_all)
        state = replace(first, **first.improvement(1, settings))
        state = replace(
            state, objectives=np.array([objective]), verdicts=np.array([verdict]), theta=0.3
        )
        news = state.improvement(2, settings)
        assert ("best_theta" in news) == is_better
        if is_better:
            assert news["best_epochs"] == [2]
            # What users see is the validation objective, whatever was chosen by.
            assert news["best_objectives"] == [verdict]


# -- no feature left -----------------------------------------------------------------------------


def test_a_task_that_lost_all_features_starts_again() -> None:
    problem = make_problem(noisy, n_tasks=2, optimizer=Path())
    settings = make_settings(max_iter=1, ess_threshold=0.0)
    state = replace(begin(problem, settings), theta=np.array([[0.0] * 4, [0.0, 0.5, 0.5, 0.5]]))
    with pytest.warns(NoFeatureLeftWarning, match=r"of 1 task\(s\) reached 0 at epoch 1"):
        after = train(problem, settings, state)
    np.testing.assert_array_equal(after.theta, [[0.05] * 4, [0.0, 0.5, 0.5, 0.5]])
    # Fresh moments and fresh rounds, for that task alone.
    assert_same(after.optimizer, PathState(np.array([0, 3])))
    assert after.due.tolist() == [Due.FRESH, Due.NOTHING]
    final = train(problem, replace(settings, max_iter=2), after)
    assert all(new is old for new, old in zip(final.rounds[1], state.rounds[1], strict=True))
    for new, old in zip(final.rounds[0], state.rounds[0], strict=True):
        np.testing.assert_array_equal(new.proposal.thetas, [[0.05] * 4])
        assert not np.array_equal(new.batch.query_rows, old.batch.query_rows)
    assert final.n_models_trained == state.n_models_trained + 60


@pytest.mark.parametrize("way", ["window", "coupled"])
def test_a_restart_is_fresh_whatever_the_way(way) -> None:
    problem = make_problem(noisy, optimizer=Path((0.0,)))
    settings = make_settings(max_iter=1, refresh=way, n_generations=4)
    state = begin(problem, settings)
    with pytest.warns(NoFeatureLeftWarning):
        after = train(problem, settings, state)
    still = replace(problem, optimizer=Path())
    final = train(still, replace(settings, max_iter=2), after)
    assert final.n_models_trained == 2 * state.n_models_trained
    for round_ in final.rounds[0]:
        assert (round_.proposal.thetas == 0.05).all()


@pytest.mark.parametrize("way", WAYS)
def test_with_a_penalty_no_feature_is_an_answer(way) -> None:
    problem = make_problem(nothing, penalty=ExpectedSize(1.0), optimizer=ProjectedAdam(0.1))
    # Enough masks for some to hold a feature that is nearly gone, which would stay otherwise.
    settings = make_settings(max_iter=200, refresh=way, n_generations=2, n_masks=200)
    final, _ = run(problem, settings)
    assert final.stopped == "no feature is left"
    assert final.epoch < 30
    assert not final.theta.any()
    assert not any(round_.masks.rows.nnz for round_ in final.rounds[0])


def test_one_empty_task_does_not_stop_the_others() -> None:
    problem = make_problem(noisy, n_tasks=2, penalty=ExpectedSize(1e-9), optimizer=Path())
    settings = make_settings(max_iter=4)
    state = replace(begin(problem, settings), theta=np.array([[0.0] * 4, [0.5] * 4]))
    final = train(problem, settings, state)
    assert final.stopped == "all epochs done"
    np.testing.assert_array_equal(final.theta, state.theta)


# -- failures ------------------------------------------------------------------------------------


def test_a_failing_base_model_is_located() -> None:
    problem = make_problem(noisy, feature_names=("age", "size", "colour", "weight"))
    settings = make_settings(max_iter=9, ess_threshold=1.01)
    state = begin(problem, settings)
    cause = ValueError("too bad")

    def fail(n_calls: int) -> None:
        if n_calls > 3 * 3:
            raise BaseModelError("Base()", "no", [1, 3]) from cause

    engine_of(problem).before_answer = fail
    # Calls 1 to 3 were the start, 4 to 6 come before epoch 2 and 7 to 9 before epoch 3.
    with pytest.raises(BaseModelError, match=r"at epoch 4 .*'size', 'weight'") as caught:
        train(problem, settings, state)
    assert caught.value.epoch == 4
    assert caught.value.names == ("size", "weight")
    assert caught.value.__cause__ is cause


def test_a_base_model_that_fails_at_once_fails_at_epoch_0() -> None:
    problem = make_problem(noisy)

    def fail(n_calls: int) -> None:
        raise BaseModelError("Base()", "no", [1, 3])

    engine_of(problem).before_answer = fail
    with pytest.raises(BaseModelError, match=r"at epoch 0 .*\[1, 3\]"):
        begin(problem, make_settings())


# -- many features -------------------------------------------------------------------------------


def one_helps(masks, rows, task, seeds) -> np.ndarray:
    """Feature 0 gives the target, the others do nothing, and every model has its own noise."""
    noise = np.sin(np.outer(seeds % 1013, rows + 1.0))
    return (masks[:, :1] * signal(rows)[:, 0] + noise)[..., np.newaxis]


def refreshes_with(optimizer, n_features) -> int:
    problem = make_problem(one_helps, n_features=n_features, optimizer=optimizer)
    settings = make_settings(n_masks=40, max_iter=60, ess_threshold=0.3)
    final, _ = run(problem, settings, LARGEST_FIRST_SUBSET / n_features)
    return sum(record.refreshed for record in final.history)


def test_irrelevant_features_wear_out_few_models() -> None:
    few = refreshes_with(FisherAdam(1e-3), 2000)
    assert 0 < few < refreshes_with(ProjectedAdam(1e-3), 2000) / 2

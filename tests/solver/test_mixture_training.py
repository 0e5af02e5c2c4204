"""Training of several base models: shares, batches, revivals, tasks, and states."""

import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from randsub._typing import FloatArray
from randsub.checkpoint import frozen, thawed
from randsub.exceptions import NoFeatureLeftWarning
from randsub.losses import r_squared
from randsub.optim import FisherAdam, Optimizer, ProjectedAdam, ProximalAdam
from randsub.optim.base import Projection
from randsub.parallel import Dispatcher
from randsub.penalties import ExpectedSize, RowGroups
from randsub.solver import Problem, Settings, TrainingState, apart, joined, start, train
from randsub.solver import shares as shares_of_bases
from randsub.solver.schedule import is_finished
from randsub.solver.state import Due
from tiny_world import (
    FIRST_VALIDATION_ROW,
    Formula,
    FormulaEngine,
    Path,
    PathState,
    Recorder,
    assert_same,
    begin,
    first_feature_helps,
    learning,
    make_problem,
    make_settings,
    noisy,
    nothing,
    signal,
    zero,
)

WAYS = ["fresh", "window", "coupled"]
RATE = 0.03


@pytest.fixture(autouse=True)
def _slow_shares(monkeypatch) -> None:
    """Shares change over several epochs, whatever the rate that users get."""
    monkeypatch.setattr(shares_of_bases, "RATE", RATE)


def engines_of(problem: Problem) -> list[FormulaEngine]:
    engines = [e for e in problem.dispatcher.engines if isinstance(e, FormulaEngine)]
    assert len(engines) == problem.n_bases
    return engines


def run(problem: Problem, settings: Settings, state: TrainingState) -> list[TrainingState]:
    """The states before the first epoch and after each."""
    recorder = Recorder()
    final = train(problem, settings, state, [recorder])
    return [*recorder.states[:-1], final]


# -- good ones take over, useless ones are dropped -------------------------------------------------


def perfect(masks, rows, task, seeds) -> FloatArray:
    """Every model predicts the target."""
    return np.tile(signal(rows, task), (len(masks), 1, 1))


def useless(masks, rows, task, seeds) -> FloatArray:
    """Far from the target, whatever the mask."""
    return -5.0 * perfect(masks, rows, task, seeds)


@pytest.mark.parametrize(
    ("n_revivals", "n_equal"), [(0, 4), (1, 4), (2, 4), (3, 3), (5, 2)], ids=str
)
def test_shares_are_equal_until_the_first_revival_or_a_third_of_the_run(n_revivals, n_equal):
    settings = make_settings(max_iter=12, n_revivals=n_revivals)
    problem = make_problem([noisy, useless], n_tasks=2)
    states = run(problem, settings, begin(problem, settings))
    for state in states[: n_equal + 1]:
        np.testing.assert_array_equal(state.shares, np.full((2, 2), 0.5))
    assert (states[n_equal + 1].shares[:, 0] > 0.5).all()


def first_epoch_of_drop(states: Sequence[TrainingState], base: int) -> int:
    return next(s.epoch for s in states if s.shares[0, base] == 0.0)


@pytest.mark.parametrize("objective_name", ["ensemble", "members"])
@pytest.mark.parametrize("way", WAYS)
def test_a_perfect_base_model_takes_over_and_a_useless_one_is_dropped(way, objective_name) -> None:
    # Rounds are renewed after every epoch.
    settings = make_settings(
        refresh=way, n_generations=4, ess_threshold=1.01, max_iter=30, objective=objective_name
    )
    problem = make_problem([useless, perfect])
    bad, good = engines_of(problem)
    counts: list[tuple[int, int]] = []

    class Count(Recorder):
        def on_epoch_end(self, state: TrainingState) -> None:
            super().on_epoch_end(state)
            counts.append((bad.n_models, good.n_models))

    recorder = Count()
    final = train(problem, settings, learning(begin(problem, settings)), [recorder])
    states = recorder.states
    dropped = first_epoch_of_drop(states, 0)
    assert 1 < dropped < 20
    shares = np.array([state.shares[0] for state in states])
    # It loses all the time; what is left before it is dropped is half a member at least.
    assert (np.diff(shares[: dropped + 1, 0]) < 0.0).all()
    assert (shares[:dropped, 0] >= 0.5 / settings.n_masks).all()
    np.testing.assert_array_equal(shares[dropped:], [[0.0, 1.0]] * (len(shares) - dropped))
    # From then on nothing is trained for it, while the other goes on.
    n_bad, n_good = np.array(counts).T
    assert (n_bad[dropped - 1 :] == n_bad[dropped - 1]).all()
    if way != "coupled":
        assert (np.diff(n_good) > 0).all()
        assert (np.diff(n_bad[:dropped]) > 0).all()
    assert final.n_models_trained == n_bad[-1] + n_good[-1]
    assert final.rounds[0] == ()
    assert len(final.rounds[1]) == settings.n_batches
    assert final.history[-1].shares == (0.0, 1.0)
    assert final.history[-1].objective == pytest.approx(0.0, abs=1e-20)
    np.testing.assert_array_equal(final.alpha, final.theta[[1]])


def test_its_last_models_are_kept_until_the_next_refresh() -> None:
    settings = make_settings(ess_threshold=0.0, max_iter=30)
    problem = make_problem([useless, perfect])
    states = run(problem, settings, learning(begin(problem, settings)))
    assert states[-1].shares[0, 0] == 0.0
    assert len(states[-1].rounds[0]) == settings.n_batches
    assert [engine.n_models for engine in engines_of(problem)] == [60, 60]
    # They are not looked at any more.
    assert states[-1].history[-1].objective == pytest.approx(0.0, abs=1e-20)


def test_what_each_of_two_can_do_is_shared() -> None:
    def too_high(masks, rows, task, seeds) -> FloatArray:
        return perfect(masks, rows, task, seeds) + 2.0

    def too_low(masks, rows, task, seeds) -> FloatArray:
        return perfect(masks, rows, task, seeds) - 1.0

    settings = make_settings(max_iter=250)
    problem = make_problem([too_high, too_low])
    final = train(problem, settings, learning(begin(problem, settings)))
    # 2 s = 1 - s: their errors cancel.
    np.testing.assert_allclose(final.shares, [[1.0 / 3.0, 2.0 / 3.0]], atol=1e-3)
    assert final.best_objective < 1e-5
    # The same members one by one are best if all are the better of the two.
    settings = make_settings(max_iter=250, objective="members")
    final = train(problem, settings, learning(begin(problem, settings)))
    np.testing.assert_array_equal(final.shares, [[0.0, 1.0]])


def test_each_base_model_finds_its_own_features() -> None:
    def half(place: int) -> Formula:
        def formula(masks, rows, task, seeds) -> FloatArray:
            target = signal(rows, task)[:, 0]
            errors = np.cos(np.outer(np.arange(masks.shape[1]) + 2.0, rows) * 0.9)
            errors[place] = target
            return (masks @ errors)[..., np.newaxis]

        return formula

    problem = make_problem([half(0), half(2)])
    settings = make_settings(n_masks=40, max_iter=80)
    final = train(problem, settings, begin(problem, settings))
    assert (final.theta[[0, 1], [0, 2]] > 0.9).all()
    assert np.sort(final.theta, axis=1)[:, :-1].max() < 0.1


def test_a_dropped_base_model_stays_dropped_through_a_revival_from_shares_without_it() -> None:
    # One revival is behind it.
    settings = make_settings(max_iter=30, n_revivals=2)
    problem = make_problem([useless, perfect])
    states = run(problem, settings, learning(begin(problem, settings)))
    final = states[-1]
    assert first_epoch_of_drop(states, 0) < 20
    assert final.revivals == ((0, 20),)
    np.testing.assert_array_equal(final.best_shares, [[0.0, 1.0]])
    np.testing.assert_array_equal(final.shares, [[0.0, 1.0]])
    # The revival trained the other one alone.
    again = make_problem([useless, perfect])
    train(again, replace(settings, max_iter=20, n_revivals=0), learning(begin(again, settings)))
    assert engines_of(again)[0].n_models == engines_of(problem)[0].n_models
    assert engines_of(again)[1].n_models < engines_of(problem)[1].n_models


@pytest.mark.parametrize("way", WAYS)
def test_a_revival_restarts_from_the_best_shares(way) -> None:
    problem = make_problem([noisy, noisy], n_tasks=2, optimizer=Path())
    settings = make_settings(max_iter=8, n_revivals=1, refresh=way, n_generations=4)
    state = train(problem, replace(settings, max_iter=4, n_revivals=0), begin(problem, settings))
    best = np.array([[0.4, 0.6], [1.0, 0.0]])
    state = replace(
        state,
        # In the first task the second base model is dropped, and its rounds are gone.
        shares=np.array([[1.0, 0.0], [0.5, 0.5]]),
        rounds=(state.rounds[0], (), *state.rounds[2:]),
        best_theta=np.linspace(0.0, 0.9, 16).reshape(4, 4),
        best_shares=best,
        best_objectives=np.full(2, -1.0),
        best_criteria=np.full(2, -1.0),
        best_epochs=np.full(2, 2),
    )
    before = [engine.n_models for engine in engines_of(problem)]
    recorder = Recorder()
    train(problem, settings, state, [recorder])
    after = recorder.states[1]
    assert after.history[-1].revived
    # Three rounds of 20 for each that has a share in the best.
    n_models = [e.n_models - b for e, b in zip(engines_of(problem), before, strict=True)]
    if way != "coupled":
        assert after.n_models_trained == state.n_models_trained + 3 * 3 * 20
        assert n_models[0] >= 2 * 60
    assert [len(of_row) for of_row in after.rounds] == [3, 3, 3, 0]
    raised = np.maximum(state.best_theta, settings.revival_level)
    np.testing.assert_array_equal(after.theta, raised)
    assert_same(after.optimizer, PathState(np.full(4, 3)))
    np.testing.assert_array_equal(after.shares[1], [1.0, 0.0])
    # Three steps from the best.
    np.testing.assert_allclose(after.shares[0], best[0], atol=0.1)
    for row in range(3):
        for round_ in after.rounds[row]:
            assert (round_.proposal.thetas == raised[row]).all()


def test_shares_of_the_best_epoch_are_kept() -> None:
    # The objective falls, then rises again, while the shares go on.
    def turning(masks, rows, task, seeds) -> FloatArray:
        is_validation = rows >= FIRST_VALIDATION_ROW
        good = perfect(masks, rows, task, seeds)
        return np.where(is_validation[:, np.newaxis], 3.0 * good, good)

    def other(masks, rows, task, seeds) -> FloatArray:
        is_validation = rows >= FIRST_VALIDATION_ROW
        good = perfect(masks, rows, task, seeds)
        return np.where(is_validation[:, np.newaxis], -2.0 * good, -0.5 * good)

    problem = make_problem([turning, other], optimizer=Path())
    settings = make_settings(max_iter=20)
    states = run(problem, settings, learning(begin(problem, settings)))
    final = states[-1]
    validation = [record.validation_objective for record in final.history]
    assert 1 < final.best_epoch == 1 + int(np.argmin(validation)) < 20
    np.testing.assert_array_equal(final.best_shares, states[final.best_epoch].shares)
    assert (final.best_shares != final.shares).all()


def test_a_penalty_makes_a_base_model_of_large_subsets_lose() -> None:
    problem = make_problem(
        [nothing, nothing], target=zero, penalty=ExpectedSize(0.5), optimizer=Path()
    )
    settings = make_settings(max_iter=4)
    theta = np.array([[0.2] * 4, [0.8] * 4])
    final = train(problem, settings, learning(begin(problem, settings, theta)))
    # The loss is 0, so it is the penalty alone: 0.4 and 1.6, in twelve steps.
    odds = np.exp(12 * RATE * 1.2)
    np.testing.assert_allclose(final.shares, [[odds / (1.0 + odds), 1.0 / (1.0 + odds)]])
    assert final.history[-1].objective == pytest.approx(final.shares[0] @ [0.4, 1.6])


def test_the_end_without_features_is_that_of_base_models_with_a_share() -> None:
    problem = make_problem([nothing, nothing], target=zero, penalty=ExpectedSize(0.1))
    settings = make_settings(max_iter=5)
    state = begin(problem, settings)
    empty = replace(
        train(problem, replace(settings, max_iter=1), state),
        theta=np.array([[0.0] * 4, [0.5] * 4]),
        due=np.full(2, Due.NOTHING),
    )
    assert not is_finished(problem, settings, empty).any()
    assert is_finished(problem, settings, replace(empty, shares=np.array([[1.0, 0.0]]))).all()


# -- batches ---------------------------------------------------------------------------------------


def assert_same_batches(problem: Problem, state: TrainingState) -> None:
    for task in range(len(problem.targets)):
        of_task = state.rounds[task * problem.n_bases : (task + 1) * problem.n_bases]
        first, *others = [rounds for rounds in of_task if rounds]
        for rounds in others:
            assert len(rounds) == len(first)
            for one, two in zip(first, rounds, strict=True):
                assert_same(one.batch, two.batch)
                assert_same(one.targets, two.targets)
                assert_same(one.sample_weight, two.sample_weight)


@pytest.mark.parametrize("max_samples", [None, 5])
@pytest.mark.parametrize("way", WAYS)
def test_all_base_models_of_a_task_have_the_same_batches(way, max_samples) -> None:
    settings = make_settings(
        refresh=way, n_generations=4, n_revivals=1, ess_threshold=0.9, max_samples=max_samples
    )
    problem = make_problem([noisy, first_feature_helps, noisy], n_tasks=2)
    states = run(problem, settings, begin(problem, settings))
    for state in states:
        assert_same_batches(problem, state)
        assert not np.array_equal(
            state.rounds[0][0].batch.query_rows, state.rounds[3][0].batch.query_rows
        )
    # New ones at the revival, for all of them, and only there.
    firsts = [state.rounds[1][0].batch for state in states]
    changes = [
        n for n in range(20) if not np.array_equal(*(b.query_rows for b in firsts[n : n + 2]))
    ]
    assert changes == [10]
    assert sum(record.refreshed for record in states[-1].history) > 4
    # The models were really asked about these rows.
    for base, engine in enumerate(engines_of(problem)):
        asked = [
            (*call.train_rows, *call.rows[: -problem.targets[0].val_rows.size])
            for call in engine.asked
        ]
        for round_ in states[-1].rounds[base]:
            assert (*round_.batch.train_rows, *round_.batch.query_rows) in asked
    # Same batches, but not the same masks or seeds.
    masks = [states[0].rounds[row][0].masks.whole().toarray() for row in range(3)]
    assert (masks[0] != masks[1]).any()
    assert (masks[1] != masks[2]).any()
    seeds = [engine.asked[0].seeds for engine in engines_of(problem)]
    assert len({tuple(of_base) for of_base in seeds}) == 3


def epochs_of_new_batches(states: Sequence[TrainingState], row: int) -> list[int]:
    firsts = [state.rounds[row][0].batch.query_rows for state in states]
    return [n for n in range(1, len(firsts)) if not np.array_equal(firsts[n - 1], firsts[n])]


def test_a_base_model_that_is_left_alone_gets_new_batches_at_a_refresh() -> None:
    # Rounds are renewed after every epoch.
    settings = make_settings(ess_threshold=1.01, max_iter=24)
    alone = make_problem([useless, perfect])
    states = run(alone, settings, learning(begin(alone, settings)))
    dropped = first_epoch_of_drop(states, 0)
    assert 1 < dropped < 20
    assert epochs_of_new_batches(states, 1) == [*range(dropped + 1, 25)]
    # Two that are left need the same ones, so they go on with theirs.
    two = make_problem([useless, perfect, perfect])
    states = run(two, settings, learning(begin(two, settings)))
    assert first_epoch_of_drop(states, 0) < 20
    assert (states[-1].shares[0, 1:] == 0.5).all()
    assert epochs_of_new_batches(states, 1) == epochs_of_new_batches(states, 2) == []


class MoveOneRow(Optimizer):
    """Moves one row of theta far away, and no other."""

    def __init__(self, row: int = 0) -> None:
        self.row = row

    def init(self, theta: FloatArray) -> PathState:
        return PathState(np.arange(len(theta)))

    def update(
        self, gradient: FloatArray, state: PathState, theta: FloatArray, project: Projection
    ) -> tuple[FloatArray, PathState]:
        # The memory is the number of the row.
        far = np.where(theta > 0.5, 0.3, 0.7)
        return np.where((state.steps == self.row)[:, np.newaxis], far, theta), state


@pytest.mark.parametrize("row", range(4))
@pytest.mark.parametrize("way", WAYS)
def test_a_worn_base_model_is_refreshed_alone_and_on_the_same_batches(way, row) -> None:
    problem = make_problem([noisy, noisy], n_tasks=2, optimizer=MoveOneRow(row))
    settings = make_settings(refresh=way, n_generations=4, max_iter=2)
    before, after = run(problem, settings, begin(problem, settings))[1:]
    is_worn = np.arange(4) == row
    np.testing.assert_array_equal(before.due, np.where(is_worn, Due.REFRESH, Due.NOTHING))
    assert before.ess[row] < 0.9 * settings.n_masks
    np.testing.assert_allclose(before.ess[~is_worn], settings.n_masks)
    for same in np.flatnonzero(~is_worn):
        assert after.rounds[same] is before.rounds[same]
    for new, old in zip(after.rounds[row], before.rounds[row], strict=True):
        assert new is not old
        assert_same(new.batch, old.batch)
        np.testing.assert_array_equal(new.proposal.thetas[-1], before.theta[row])
    assert_same_batches(problem, after)
    n_models = after.n_models_trained - before.n_models_trained
    if way == "coupled":
        assert 0 < n_models <= 3 * 20
    else:
        assert n_models == {"fresh": 3 * 20, "window": 3 * 5}[way]
    # Only its task has drawn anything.
    for task in range(2):
        is_same = before.generators[task] == after.generators[task]
        assert is_same is (task != row // 2)


def test_the_ess_is_that_of_base_models_with_a_share() -> None:
    problem = make_problem([noisy, noisy], optimizer=MoveOneRow(1))
    settings = make_settings(max_iter=1)
    state = begin(problem, settings)
    worn = train(problem, settings, state)
    assert worn.history[-1].min_ess == worn.ess.min() < 0.9 * settings.n_masks
    alone = train(problem, settings, replace(state, shares=np.array([[1.0, 0.0]])))
    assert alone.history[-1].min_ess == pytest.approx(settings.n_masks)
    assert alone.ess[1] == np.inf
    np.testing.assert_array_equal(alone.due, [Due.NOTHING, Due.NOTHING])


def test_a_base_model_that_lost_its_features_starts_again_on_the_batches_of_the_others() -> None:
    problem = make_problem([noisy, noisy], n_tasks=2)
    settings = make_settings(max_iter=2, ess_threshold=0.0)
    state = train(problem, replace(settings, max_iter=1), begin(problem, settings))
    lost = replace(state, theta=np.where((np.arange(4) == 2)[:, np.newaxis], 1e-9, state.theta))

    class Drop(MoveOneRow):
        def update(self, gradient, state, theta, project) -> tuple[FloatArray, PathState]:
            return np.where(theta == 1e-9, 0.0, theta), state

    problem = replace(problem, optimizer=Drop())
    lost = replace(lost, optimizer=problem.optimizer.init(lost.theta))
    with pytest.warns(
        NoFeatureLeftWarning, match=r"of 1 task\(s\), for one of .* reached 0 at epoch 2"
    ):
        empty = train(problem, settings, lost)
    np.testing.assert_array_equal(empty.due, [Due.NOTHING, Due.NOTHING, Due.FRESH, Due.NOTHING])
    again = train(problem, replace(settings, max_iter=3), empty)
    assert_same_batches(problem, again)
    for row in (0, 1, 3):
        assert again.rounds[row] is state.rounds[row]
    assert again.n_models_trained == empty.n_models_trained + 3 * 20
    assert (again.rounds[2][0].proposal.thetas == 0.05).all()


# -- several tasks ---------------------------------------------------------------------------------

THETA = np.random.default_rng(0).uniform(0.2, 0.8, size=(3, 2, 4))


def shy(masks, rows, task, seeds) -> FloatArray:
    """Far off in the second task, so that it is dropped there."""
    answers = noisy(masks, rows, task, seeds)
    return answers - 15.0 * signal(rows, task) if task == 1 else 0.5 * answers


def generators() -> list[np.random.Generator]:
    return [np.random.default_rng([18, task]) for task in range(3)]


def all_and_each(problem: Problem, settings: Settings) -> tuple[TrainingState, list[TrainingState]]:
    """The state of three tasks in one loop, and of each of them in a loop of its own."""
    whole = THETA.reshape(6, 4)
    together = train(problem, settings, start(problem, settings, whole, generators()))
    alone = []
    for task in range(3):
        one = replace(problem, targets=[problem.targets[task]])
        rng = generators()[task]
        alone.append(train(one, settings, start(one, settings, THETA[task], rng)))
    return together, alone


TOGETHER = {
    "none": (None, ProjectedAdam(0.05)),
    "fisher": (None, FisherAdam(0.05)),
    "size": (ExpectedSize(0.05), ProjectedAdam(0.05)),
    "proximal": (ExpectedSize(0.05), ProximalAdam(0.05)),
    "rows": (RowGroups(0.05), ProximalAdam(0.05)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TOGETHER)
def test_tasks_of_several_base_models_train_as_if_they_were_alone(name, way) -> None:
    penalty, optimizer = TOGETHER[name]
    settings = make_settings(
        max_iter=40, n_revivals=1, n_iter_no_change=6, tol=1e-3, refresh=way, n_generations=4
    )
    problem = make_problem(
        [noisy, shy], n_tasks=3, penalty=penalty, optimizer=optimizer, joint=False
    )
    together, alone = all_and_each(problem, settings)
    for task, state in enumerate(alone):
        rows = slice(2 * task, 2 * task + 2)
        np.testing.assert_array_equal(together.theta[rows], state.theta)
        np.testing.assert_array_equal(together.best_theta[rows], state.best_theta)
        np.testing.assert_array_equal(together.shares[[task]], state.shares)
        np.testing.assert_array_equal(together.best_shares[[task]], state.best_shares)
        np.testing.assert_array_equal(together.best_alpha[[task]], state.best_alpha)
        assert together.best_objectives[task] == state.best_objective
        assert together.best_epochs[task] == state.best_epoch
        assert together.verdicts[task] == state.verdicts[0]
        assert together.revivals[task] == state.revivals[0]
        np.testing.assert_array_equal(together.ess[rows], state.ess)
        np.testing.assert_array_equal(together.due[rows], state.due)
        assert_same(together.rounds[rows], state.rounds)
        assert_same(together.generators[task], state.generators[0])
        for whole, part in zip(together.optimizer, state.optimizer, strict=True):
            np.testing.assert_array_equal(whole[rows], part)
    assert together.n_models_trained == sum(state.n_models_trained for state in alone)
    # So it matters whose is whose.
    assert len({state.shares[0, 0] for state in alone}) == 3
    assert {s.shares[0, 1] == 0.0 for s in alone} == {True, False}

    results = [state.result() for state in alone]
    whole = joined(results)
    for field in ("best_theta", "best_shares", "best_objectives", "best_epochs", "generators"):
        assert_same(getattr(whole, field), getattr(together, field))
    assert whole.n_models_trained == together.n_models_trained
    assert whole.stopped == together.stopped
    for one, two in zip(whole.history, together.history, strict=True):
        assert [*one[:-1], *one.shares] == pytest.approx([*two[:-1], *two.shares])
    np.testing.assert_array_equal(whole.best_alpha, together.best_alpha)


@pytest.mark.parametrize("is_far", [False, True])
def test_each_task_on_its_own_worker_is_the_same(is_far, monkeypatch) -> None:
    def spread(self, work, arguments, on_answer) -> None:
        for letter in arguments:
            answer = work(Dispatcher(self.engines, self.data, n_jobs=1), letter)
            # What cannot be done there would be done again here.
            assert answer
            n_spread.append(len(answer))
            on_answer(answer)

    n_spread: list[int] = []
    monkeypatch.setattr(Dispatcher, "spread", spread)
    monkeypatch.setattr(apart, "SECONDS_WORTH_SPREADING", 0.0 if is_far else np.inf)
    settings = make_settings(max_iter=12, n_revivals=1)
    problem = replace(make_problem([noisy, shy], n_tasks=3), score=r_squared)
    _, alone = all_and_each(problem, settings)
    found = apart.solve_each(problem, settings, THETA.reshape(6, 4), generators())
    expected = [
        state.scored(replace(problem, targets=[target])).result()
        for state, target in zip(alone, problem.targets, strict=True)
    ]
    assert np.isfinite([result.best_scores for result in expected]).all()
    assert_same(found, expected)
    assert len(n_spread) == (2 if is_far else 0)


def test_with_a_penalty_that_couples_them_tasks_have_one_best_epoch() -> None:
    settings = make_settings(max_iter=12, n_revivals=1)
    problem = make_problem([noisy, shy], n_tasks=3, penalty=RowGroups(0.05))
    states = run(problem, settings, begin(problem, settings, THETA.reshape(6, 4)))
    final = states[-1]
    assert final.best_epochs.shape == final.best_objectives.shape == final.verdicts.shape == (1,)
    best = states[final.best_epoch]
    np.testing.assert_array_equal(final.best_theta, best.theta)
    np.testing.assert_array_equal(final.best_shares, best.shares)
    # Each task has shares of its own all the same.
    assert len(np.unique(final.shares[:, 0])) == 3


# -- states ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("penalty", [None, RowGroups(0.01)], ids=["apart", "together"])
def test_a_resumed_run_ends_bit_for_bit_like_an_uninterrupted_one(way, penalty) -> None:
    settings = make_settings(refresh=way, n_generations=4, max_iter=18, n_revivals=2)

    def world() -> Problem:
        return make_problem([noisy, shy], n_tasks=2, penalty=penalty)

    recorder = Recorder()
    final = train(world(), settings, begin(world(), settings), [recorder])
    shares = np.array([state.shares for state in recorder.states])
    assert len(np.unique(shares[:, 0, 0])) > 10
    # In the second task, one is dropped, and has no rounds after a while.
    assert shares[0, 1, 1] > 0.0
    assert final.shares[1, 1] == 0.0
    lengths = [len(state.rounds[3]) for state in recorder.states]
    assert lengths[0] == 3
    assert lengths[-1] == 0
    for epoch in (0, 1, 5, 6, 7, 11, 12, 13, 17, 18):
        state = recorder.states[epoch]
        assert_same(pickle.loads(pickle.dumps(state)), state)
        back = thawed(frozen(state), world(), settings)
        assert_same(back, state)
        assert_same(train(world(), settings, back), final)


def test_an_epoch_leaves_the_former_state_as_it_was() -> None:
    settings = make_settings(max_iter=12, n_revivals=1)
    problem = make_problem([noisy, shy], n_tasks=2, penalty=RowGroups(0.01))
    kept = run(problem, settings, begin(problem, settings))[5]
    before = pickle.loads(pickle.dumps(kept))
    first = train(problem, settings, kept)
    assert_same(kept, before)
    assert_same(train(problem, settings, kept), first)


@pytest.mark.parametrize("n_bases", [1, 2, 3])
def test_rows_of_a_task_are_consecutive(n_bases) -> None:
    problem = make_problem([noisy] * n_bases, n_tasks=4)
    by_hand = [task * n_bases + base for task in (0, 2, 3) for base in range(n_bases)]
    np.testing.assert_array_equal(problem.rows(np.array([0, 2, 3])), by_hand)
    for row in range(4 * n_bases):
        assert problem.target(row) is problem.targets[row // n_bases]
    state = begin(problem, make_settings())
    flags = np.array([True, False, False, True])
    expected = np.flatnonzero(np.repeat(flags, n_bases))
    np.testing.assert_array_equal(np.flatnonzero(state.of_rows(flags)), expected)
    # A verdict of all tasks.
    assert state.of_rows(np.array([True])).all()
    assert state.of_rows(np.array([True])).shape == (4 * n_bases,)

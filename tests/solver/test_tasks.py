"""Several tasks in one loop: independent of each other, or with one objective for all."""

from dataclasses import replace

import numpy as np
import pytest

from oracle import dense
from randsub.checkpoint import frozen, thawed
from randsub.optim import ProjectedAdam
from randsub.optim.proximal import ProximalAdam
from randsub.penalties import ExpectedSize, RowGroups
from randsub.solver import joined, start, train
from randsub.solver.schedule import is_finished
from tiny_world import Height, Recorder, assert_same, begin, make_problem, make_settings, noisy

THETA = np.random.default_rng(0).uniform(0.2, 0.8, size=(3, 4))
SETTINGS = {"max_iter": 12, "n_revivals": 1, "ess_threshold": 0.8, "n_generations": 4}


def generators():
    return [np.random.default_rng([18, task]) for task in range(3)]


def all_and_each(problem, settings):
    """The state of three tasks in one loop, and of each of them in a loop of its own."""
    together = train(problem, settings, start(problem, settings, THETA, generators()))
    alone = []
    for task in range(3):
        one = replace(problem, targets=[problem.targets[task]])
        rng = generators()[task]
        alone.append(train(one, settings, start(one, settings, THETA[[task]], rng)))
    return together, alone


@pytest.mark.parametrize("way", ["fresh", "window", "coupled"])
def test_without_a_penalty_a_task_trains_as_if_it_were_alone(way):
    settings = make_settings(refresh=way, **SETTINGS)
    # Steps so large that the best epochs of the tasks differ.
    problem = make_problem(noisy, n_tasks=3, optimizer=ProjectedAdam(0.05))
    together, alone = all_and_each(problem, settings)
    for task, state in enumerate(alone):
        np.testing.assert_array_equal(together.theta[task], state.theta[0])
        np.testing.assert_array_equal(together.best_theta[task], state.best_theta[0])
        assert together.best_objectives[task] == state.best_objective
        assert together.best_epochs[task] == state.best_epoch
        assert_same(together.rounds[task], state.rounds[0])
        assert_same(together.generators[task], state.generators[0])
    assert together.n_models_trained == sum(state.n_models_trained for state in alone)
    assert together.best_objective == pytest.approx(np.mean([s.best_objective for s in alone]))
    assert together.best_epoch == max(state.best_epoch for state in alone)
    assert (together.name_of_best, alone[0].name_of_best) == ("best epochs", "best")
    # So it matters whose is whose.
    assert len({state.best_epoch for state in alone}) > 1


# A penalty of kinks, one of rows, and one without a proximal step.
PENALTIES = {
    "none": (None, ProjectedAdam(0.05)),
    "size": (ExpectedSize(0.05), ProjectedAdam(0.05)),
    "proximal": (ExpectedSize(0.05), ProximalAdam(0.05)),
    "rows": (RowGroups(0.05), ProximalAdam(0.05)),
    "height": (Height(), ProjectedAdam(0.05)),
    "strong": (ExpectedSize(5.0), ProximalAdam(0.1)),
}


@pytest.mark.parametrize("name", PENALTIES)
def test_independent_tasks_train_and_end_as_if_they_were_alone(name):
    penalty, optimizer = PENALTIES[name]
    settings = make_settings(max_iter=60, n_revivals=1, n_iter_no_change=4, tol=1e-3)
    problem = make_problem(noisy, n_tasks=3, penalty=penalty, optimizer=optimizer, joint=False)
    together, alone = all_and_each(problem, settings)
    for task, state in enumerate(alone):
        np.testing.assert_array_equal(together.theta[task], state.theta[0])
        np.testing.assert_array_equal(together.best_theta[task], state.best_theta[0])
        assert together.best_objectives[task] == state.best_objective
        assert together.verdicts[task] == state.verdicts[0]
        assert together.revivals[task] == state.revivals[0]
        assert_same(together.rounds[task], state.rounds[0])
        assert_same(together.generators[task], state.generators[0])
    assert together.epoch == max(state.epoch for state in alone)
    assert together.n_models_trained == sum(state.n_models_trained for state in alone)
    # They end and are revived at different epochs, so that it matters whose is whose.
    if name != "strong":
        assert len({state.epoch for state in alone}) > 1
        assert len({state.revivals[0] for state in alone}) > 1
    assert together.stopped == alone[int(np.argmax([s.epoch for s in alone]))].stopped
    assert joined([state.result() for state in alone]).stopped == together.stopped


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        (["all epochs done", "no improvement in 3 epochs"], "all epochs done"),
        (["no feature is left", "no improvement in 3 epochs"], "no improvement in 3 epochs"),
        (["no feature is left", "no feature is left"], "no feature is left"),
        # These stop all blocks.
        (["all epochs done", "TimeLimit: 2 seconds are over"], "TimeLimit: 2 seconds are over"),
        (["all epochs done", "interrupted"], "interrupted"),
        (["all epochs done", None], None),
    ],
)
def test_the_reason_to_stop_is_that_of_blocks_in_lockstep(reasons, expected):
    settings = make_settings(max_iter=2)
    problem = make_problem()
    short = train(problem, replace(settings, max_iter=1), begin(problem, settings)).result()
    long = train(problem, settings, begin(problem, settings)).result()
    blocks = [replace(r, stopped=why) for r, why in zip((long, short), reasons, strict=True)]
    assert joined(blocks).stopped == expected


def test_the_history_has_the_last_values_of_tasks_that_have_ended():
    settings = make_settings(max_iter=60, n_iter_no_change=4, tol=1e-3)
    problem = make_problem(noisy, n_tasks=3, optimizer=ProjectedAdam(0.05))
    together, alone = all_and_each(problem, settings)
    for epoch, record in enumerate(together.history):
        rows = [state.history[min(epoch, state.epoch - 1)] for state in alone]
        for name in ("objective", "validation_objective", "expected_size"):
            assert getattr(record, name) == pytest.approx(np.mean([getattr(r, name) for r in rows]))
        assert record.min_ess == min(row.min_ess for row in rows)
        assert record.n_models_trained == sum(row.n_models_trained for row in rows)
    # The same history is put together from blocks that ran one after the other.
    for one, two in zip(
        joined([state.result() for state in alone]).history, together.history, strict=True
    ):
        assert [*one[:-1], *one.shares] == pytest.approx([*two[:-1], *two.shares])


@pytest.mark.parametrize("penalty", [None, ExpectedSize(0.05)], ids=["none", "size"])
def test_training_is_resumed_with_some_tasks_at_their_end(penalty):
    settings = make_settings(max_iter=60, n_revivals=1, n_iter_no_change=4, tol=1e-3)
    problem = make_problem(
        noisy, n_tasks=3, penalty=penalty, optimizer=ProjectedAdam(0.05), joint=False
    )
    recorder = Recorder()
    final = train(problem, settings, start(problem, settings, THETA, generators()), [recorder])
    ended = [is_finished(problem, settings, state).sum() for state in recorder.states]
    assert {1, 2} & set(ended)
    for state in recorder.states:
        back = thawed(frozen(state), problem, settings)
        assert_same(train(problem, settings, back), final)


def test_with_a_penalty_all_tasks_have_one_best_epoch():
    settings = make_settings(**SETTINGS)
    problem = make_problem(noisy, n_tasks=3, penalty=RowGroups(0.05))
    state = begin(problem, settings, THETA)
    thetas = [state.theta]
    while state.epoch < settings.max_iter:
        state = train(problem, replace(settings, max_iter=state.epoch + 1, n_revivals=0), state)
        thetas.append(state.theta)
    validation = [record.validation_objective for record in state.history]
    assert state.best_epochs.shape == state.best_objectives.shape == (1,)
    assert state.best_epoch == 1 + int(np.argmin(validation))
    assert state.best_objective == min(validation)
    np.testing.assert_array_equal(state.best_theta, thetas[state.best_epoch])


def test_one_generator_for_all_gives_each_task_draws_of_its_own():
    settings = make_settings()
    problem = make_problem(noisy, n_tasks=3)
    state = begin(problem, settings)
    draws = [dense(rounds[0].masks.whole()) for rounds in state.rounds]
    assert (draws[0] != draws[1]).any()
    assert (draws[1] != draws[2]).any()
    assert_same(state, begin(problem, settings))

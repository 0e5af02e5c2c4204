"""The state of the loop is a value: it can be put away, taken up again, and used twice."""

import copy
import pickle

import numpy as np
import pytest

from randsub._typing import FloatArray
from randsub.distributions import Bernoulli
from randsub.exceptions import InterruptedFitWarning
from randsub.optim import ProjectedAdam
from randsub.penalties import RowGroups
from randsub.solver import Callback, Problem, Settings, TrainingState, start, train
from tiny_world import (
    FormulaEngine,
    Recorder,
    assert_same,
    begin,
    make_problem,
    make_settings,
    noisy,
)

WAYS = ["fresh", "window", "coupled"]
MAX_ITER = 24


def world() -> Problem:
    return make_problem(noisy, n_tasks=2, penalty=RowGroups(0.01), optimizer=ProjectedAdam(0.03))


def settings_for(way: str) -> Settings:
    return make_settings(refresh=way, n_generations=4, max_iter=MAX_ITER, n_revivals=2)


@pytest.mark.parametrize("way", WAYS)
def test_a_resumed_run_ends_bit_for_bit_like_an_uninterrupted_one(way) -> None:
    settings = settings_for(way)
    recorder = Recorder()
    final = train(world(), settings, begin(world(), settings), [recorder])
    refreshed = np.flatnonzero([record.refreshed for record in final.history])
    assert len(refreshed) >= 6
    assert final.n_revived == 2
    # Before the first epoch, in the middle, around a revival, before the last epoch, at the end.
    for epoch in (0, 1, 5, 7, 8, 9, 15, 16, 17, 23, 24):
        put_away = pickle.dumps(recorder.states[epoch])
        resumed = train(world(), settings, pickle.loads(put_away))
        assert resumed.epoch == MAX_ITER
        assert_same(resumed, final)


@pytest.mark.parametrize("way", WAYS)
def test_an_epoch_leaves_the_former_state_as_it_was(way) -> None:
    settings = settings_for(way)
    problem = world()
    recorder = Recorder()
    train(problem, settings, begin(problem, settings), [recorder])
    kept = recorder.states[6]
    before = copy.deepcopy(kept)
    first = train(problem, settings, kept)
    assert_same(kept, before)
    second = train(problem, settings, kept)
    assert_same(first, second)
    assert_same(kept, before)


def test_resuming_forgets_why_it_stopped() -> None:
    problem, settings = world(), make_settings(max_iter=3)
    state = train(problem, settings, begin(problem, settings))
    assert state.stopped == "all epochs done"
    recorder = Recorder()
    final = train(problem, make_settings(max_iter=5), state, [recorder])
    assert recorder.states[0].stopped is None
    assert final.epoch == 5
    assert final.stopped == "all epochs done"


class Unbounded(Bernoulli):
    """Projects onto everything, and so hands back what it was given."""

    def project(self, theta: FloatArray) -> FloatArray:
        return theta


def test_start_leaves_its_arguments_alone() -> None:
    problem = make_problem(noisy, n_tasks=2, distribution=Unbounded(4))
    settings = make_settings()
    rng, theta = np.random.default_rng(3), np.full((2, 4), 0.5)
    one = start(problem, settings, theta, rng)
    two = start(problem, settings, theta, rng)
    assert_same(one, two)
    assert rng.random() == np.random.default_rng(3).random()
    theta[:] = 0.1
    np.testing.assert_array_equal(one.theta, np.full((2, 4), 0.5))


def test_the_seed_decides_over_everything() -> None:
    settings = settings_for("fresh")
    one, two, other = (
        train(world(), settings, begin(world(), settings, seed=seed)) for seed in (0, 0, 1)
    )
    assert_same(one, two)
    assert (one.theta != other.theta).any()


# -- Ctrl-C --------------------------------------------------------------------------------------


class InterruptAt(Callback):
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.ended: list[TrainingState] = []

    def on_epoch_end(self, state: TrainingState) -> None:
        if state.epoch == self.epoch:
            raise KeyboardInterrupt

    def on_end(self, state: TrainingState) -> None:
        self.ended.append(state)


def test_an_interrupt_in_a_callback_keeps_the_epoch() -> None:
    settings = settings_for("fresh")
    interrupt = InterruptAt(7)
    with pytest.warns(InterruptedFitWarning, match="after epoch 7 of 24; the best alpha so far"):
        state = train(world(), settings, begin(world(), settings), [interrupt])
    assert state.epoch == len(state.history) == 7
    assert state.stopped == "interrupted"
    assert interrupt.ended == [state]
    validation = [record.validation_objective for record in state.history]
    assert state.best_epoch == 1 + int(np.argmin(validation))
    assert state.best_objective == min(validation)


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_amid_an_epoch_keeps_the_epochs_before(way) -> None:
    settings = make_settings(
        refresh=way, n_generations=4, max_iter=12, ess_threshold=1.01, n_revivals=1
    )
    recorder = Recorder()
    final = train(world(), settings, begin(world(), settings), [recorder])

    problem = world()
    engine = problem.dispatcher.engines[0]
    assert isinstance(engine, FormulaEngine)
    # Six calls a refresh, two tasks of three batches; before epoch 7 comes the revival.
    models_before = recorder.states[7].n_models_trained

    def interrupt(n_calls: int) -> None:
        if engine.n_models > models_before - 40:
            raise KeyboardInterrupt

    engine.before_answer = interrupt
    with pytest.warns(InterruptedFitWarning, match="after epoch 6 of 12"):
        state = train(problem, settings, begin(problem, settings))
    assert state.epoch == 6
    # What was begun has left no trace, and the run can go on.
    resumed = train(world(), settings, state)
    assert_same(resumed, final)


def test_an_interrupt_before_the_first_epoch_is_done_is_passed_on() -> None:
    problem, settings = world(), make_settings()
    engine = problem.dispatcher.engines[0]
    assert isinstance(engine, FormulaEngine)

    def interrupt(n_calls: int) -> None:
        raise KeyboardInterrupt

    state = begin(problem, settings)
    engine.before_answer = interrupt
    with pytest.raises(KeyboardInterrupt):
        begin(problem, settings)

    class InterruptOnStart(InterruptAt):
        def on_start(self, settings: Settings, state: TrainingState) -> None:
            raise KeyboardInterrupt

    callback = InterruptOnStart(0)
    with pytest.raises(KeyboardInterrupt):
        train(problem, settings, state, [callback])
    # Whoever watches is told all the same.
    assert len(callback.ended) == 1


def test_an_interrupt_within_the_first_epoch_is_passed_on(monkeypatch) -> None:
    problem, settings = world(), make_settings()

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    state = begin(problem, settings)
    monkeypatch.setattr(problem.optimizer, "update", interrupt)
    with pytest.raises(KeyboardInterrupt):
        train(problem, settings, state)

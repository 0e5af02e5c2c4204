"""Training ends when nothing gets better, or when time is up."""

from dataclasses import replace

import numpy as np
import pytest

from randsub import PRSRegressor
from randsub.callbacks import EarlyStopping, TimeLimit
from randsub.callbacks.stopping import _Clock
from randsub.exceptions import UnfinishedFitError
from randsub.optim import ProjectedAdam
from randsub.solver import Callback, EpochRecord, solve, train
from tiny_world import (
    Height,
    Part,
    Path,
    assert_same,
    begin,
    make_problem,
    make_settings,
    noisy,
    nothing,
    zero,
)

LEVELS = (0.9, 0.8, 0.8, 0.8, 0.7, 0.7, 0.7, 0.7, 0.7, 0.6)


def on_a_path(callback, **changes):
    """A run whose objective is known: the level of theta."""
    problem = make_problem(nothing, target=zero, penalty=Height(), optimizer=Path(LEVELS))
    settings = make_settings(max_iter=len(LEVELS), **changes)
    return train(problem, settings, begin(problem, settings), [callback.for_run(Part())])


@pytest.mark.parametrize(
    ("patience", "tol", "epoch"),
    [(1, 1e-4, 3), (2, 1e-4, 4), (3, 1e-4, 8), (4, 1e-4, 9), (5, 1e-4, 10), (3, 0.15, 4)],
)
@pytest.mark.parametrize("monitor", ["objective", "validation_objective"])
def test_patience_is_counted_from_the_last_improvement(patience, tol, epoch, monitor) -> None:
    state = on_a_path(EarlyStopping(patience, tol=tol, monitor=monitor))
    assert state.epoch == epoch
    words = f"EarlyStopping: no improvement of {monitor} in {patience} epochs"
    assert state.stopped == (words if epoch < 10 else "all epochs done")


def test_a_revival_starts_the_count_anew() -> None:
    problem = make_problem(noisy, optimizer=ProjectedAdam(0.03))
    settings = make_settings(max_iter=1)
    state = train(problem, settings, begin(problem, settings))
    record = EpochRecord(1.0, 1.0, 20.0, 2.0, False, False, 0)
    # The best of all, two that are worse, a revival, and two that are no better than it.
    figures = [(1.0, False), (2.0, False), (2.0, False), (3.0, True), (3.0, False), (3.0, False)]
    history = [record._replace(validation_objective=v, revived=r) for v, r in figures]
    callback = EarlyStopping(3).for_run(Part())
    assert callback.on_start(settings, replace(state, history=tuple(history))) is None
    history.append(history[-1])
    assert callback.on_epoch_end(replace(state, history=tuple(history))) is not None


def test_a_run_that_is_taken_up_again_stops_where_it_would_have() -> None:
    problem = make_problem(noisy, optimizer=ProjectedAdam(0.03))
    settings = make_settings(max_iter=60)
    whole = train(problem, settings, begin(problem, settings), [EarlyStopping(4).for_run(Part())])
    assert 5 < whole.epoch < 60
    for epoch in (1, whole.epoch - 1, whole.epoch):
        part = train(problem, make_settings(max_iter=epoch), begin(problem, settings))
        resumed = train(problem, settings, part, [EarlyStopping(4).for_run(Part())])
        assert (resumed.epoch, resumed.stopped) == (whole.epoch, whole.stopped)


def test_one_callback_counts_for_each_fit_apart() -> None:
    shared = EarlyStopping(2)
    one, two = shared.for_run(Part()), shared.for_run(Part())
    assert one is not two
    assert vars(shared) == {"patience": 2, "tol": 1e-4, "monitor": "validation_objective"}


class Time(Callback):
    """A clock that goes on by so much per epoch, and per task of models."""

    def __init__(self, per_epoch=0.0, per_task=0.0):
        self.now, self.per_epoch, self.per_task = 0.0, per_epoch, per_task
        self.n_done = []

    def on_models_trained(self, n_done, n_all):
        self.now += self.per_task
        self.n_done.append((n_done, n_all))

    def on_epoch_end(self, state):
        self.now += self.per_epoch

    def __call__(self):
        return self.now


def timed(seconds, time, run=None, **changes):
    """A run of twenty epochs under a time limit; models are trained one by one."""
    problem = make_problem(noisy, optimizer=ProjectedAdam(0.05))
    problem.dispatcher.time_limit = 1000.0
    settings = make_settings(max_iter=20, **changes)
    theta = np.full((1, problem.distribution.n_parameters), 0.5)
    clock = _Clock(run or Part(), seconds, time)
    return solve(problem, settings, theta, np.random.default_rng(0), [time, clock])


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_the_clock_runs_out_after_its_share(share) -> None:
    state = timed(8.0, Time(per_epoch=1.0), Part(share))
    assert state.epoch == 8 * share
    assert state.stopped == "TimeLimit: 8 seconds are over"


def test_a_refresh_that_does_not_end_in_time_is_dropped() -> None:
    time = Time(per_epoch=1.0, per_task=0.05)
    state = timed(8.0, time, ess_threshold=0.9)
    assert state.stopped == "TimeLimit: 8 seconds are over"
    n_done, n_all = time.n_done[-1]
    assert n_done < n_all, "the limit is to end in the middle of a refresh"
    # As if it had never begun: the state is that of a run with so many epochs.
    problem = make_problem(noisy, optimizer=ProjectedAdam(0.05))
    settings = make_settings(max_iter=state.epoch, ess_threshold=0.9)
    theta = np.full((1, problem.distribution.n_parameters), 0.5)
    assert_same(
        replace(state, stopped="all epochs done"),
        solve(problem, settings, theta, np.random.default_rng(0)),
    )


def test_time_is_left_for_the_final_models() -> None:
    run = Part(models_after=20.0)
    state = timed(20.0, Time(per_epoch=1.0, per_task=0.125), run, ess_threshold=0.0)
    assert state.n_models_trained == 60
    # The first models take 7.5 s, and 2.5 s are set aside.
    assert state.epoch == 10
    assert state.stopped == "TimeLimit: of 20 seconds, the rest is for the final models"


def test_members_may_take_longer_than_models() -> None:
    class SlowMembers(Part):
        def seconds_of_members(self, state):
            return 8.0

    run = SlowMembers(models_after=20.0, time_limit=20.0)
    state = timed(20.0, Time(per_epoch=1.0, per_task=0.125), run, ess_threshold=0.0)
    # The first models take 7.5 s, and 8 s are set aside.
    assert state.epoch == 5
    with pytest.raises(UnfinishedFitError, match="8 seconds are too short"):
        timed(8.0, Time(per_epoch=1.0, per_task=0.125), SlowMembers(time_limit=8.0))


def test_there_is_no_model_if_the_first_are_not_trained_in_time() -> None:
    with pytest.raises(UnfinishedFitError, match=r"TimeLimit: 5 seconds are over") as caught:
        timed(5.0, Time(per_task=0.125))
    assert (caught.value.n_done, caught.value.n_all) == (40, 60)
    with pytest.raises(UnfinishedFitError, match="40 of the first 60 base models were trained"):
        raise caught.value


def test_it_is_said_early_that_the_time_is_much_too_short() -> None:
    time = Time(per_task=1.0)
    with pytest.raises(UnfinishedFitError, match="TimeLimit: 20 seconds are too short"):
        timed(20.0, time)
    # A tenth of the time since the first task, which may have loaded something.
    assert time.now == 3.0


def test_the_first_models_may_take_long_if_the_next_do_not() -> None:
    class Slow(Time):
        """Something is loaded before the first model, and the second one is slow."""

        def on_models_trained(self, n_done, n_all):
            self.now += {1: 3.0, 2: 0.5}.get(n_done, 0.0)
            super().on_models_trained(n_done, n_all)

    # At the second model, 58 others and as many final ones seem to need a minute.
    state = timed(8.0, Slow(per_epoch=1.0, per_task=0.01), Part(models_after=60.0))
    assert state.epoch >= 1


def test_the_time_of_compiling_does_not_count() -> None:
    class Slow(Time):
        """The first task takes a minute, since something is compiled."""

        def on_models_trained(self, n_done, n_all):
            if n_done == 1:
                clock.on_compile()
                self.now += 60.0
            super().on_models_trained(n_done, n_all)

    time = Slow(per_epoch=1.0)
    clock = _Clock(Part(), 8.0, time)
    problem = make_problem(noisy)
    problem.dispatcher.time_limit = 1000.0
    settings = make_settings(max_iter=20)
    theta = np.full((1, problem.distribution.n_parameters), 0.5)
    state = solve(problem, settings, theta, np.random.default_rng(0), [time, clock])
    assert state.epoch == 8


def test_a_time_limit_ends_a_fit_and_leaves_a_model() -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = PRSRegressor(n_estimators=5, max_iter=1, random_state=0).fit(X, X[:, 0])
    model.set_params(max_iter=10**6, n_iter_no_change=10**6).set_callbacks(TimeLimit(2.0)).fit(
        X, X[:, 0]
    )
    assert 1 <= model.n_iter_ < 10**6
    assert model.stop_reason_.startswith("TimeLimit: ")
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("callback", "message"),
    [
        (EarlyStopping(0), "patience >= 1, got 0"),
        (EarlyStopping(3, tol=-1.0), "tol >= 0, got -1.0"),
        (EarlyStopping(3, monitor="loss"), "monitor of EarlyStopping must be one of"),
        (TimeLimit(0), "seconds > 0, got 0"),
        (TimeLimit("1 h"), "seconds > 0, got '1 h'"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_bad_parameters_are_refused_before_anything_is_trained(callback, message) -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(ValueError, match=message):
        PRSRegressor().set_callbacks(callback).fit(X, X[:, 0])

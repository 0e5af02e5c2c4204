"""Training ends when nothing gets better, or when time is up."""

from dataclasses import replace

import numpy as np
import pytest

from randsub import PRSRegressor
from randsub.callbacks import EarlyStopping, TimeLimit
from randsub.callbacks.stopping import _Clock
from randsub.optim import ProjectedAdam
from randsub.solver import EpochRecord, Run, train
from tiny_world import Height, Path, begin, make_problem, make_settings, noisy, nothing, zero

LEVELS = (0.9, 0.8, 0.8, 0.8, 0.7, 0.7, 0.7, 0.7, 0.7, 0.6)


class Part(Run):
    """A part of a fit."""

    can_predict = False

    def __init__(self, share: float = 1.0) -> None:
        self.estimator, self.share = PRSRegressor(), share

    def fitted_estimator(self, state):
        raise NotImplementedError

    def save(self, path, state):
        raise NotImplementedError


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


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_the_clock_runs_out_after_its_share(share) -> None:
    times = iter(range(100))
    clock = _Clock(Part(share), 8.0, lambda: float(next(times)))
    problem, settings = make_problem(noisy), make_settings(max_iter=20)
    state = train(problem, settings, begin(problem, settings), [clock])
    assert state.epoch == 8 * share
    assert state.stopped == "TimeLimit: 8 seconds are over"


def test_a_time_limit_ends_a_fit_and_leaves_a_model() -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = PRSRegressor(n_estimators=5, max_iter=10**6, random_state=0)
    model.set_callbacks(TimeLimit(0.05)).fit(X, X[:, 0])
    assert 1 <= model.n_iter_ < 10**6
    assert model.stop_reason_ == "TimeLimit: 0.05 seconds are over"
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

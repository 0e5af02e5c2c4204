"""A fit that takes long says so, once, with what would be faster."""

import warnings

import numpy as np
import pytest
from sklearn.svm import SVR

from randsub import PRSRegressor
from randsub.callbacks import Callback, TimeLimit
from randsub.engines import SVMEngine
from randsub.exceptions import LongFitWarning, SlowEngineWarning, UnfinishedFitError, duration
from randsub.parallel import Dispatcher
from randsub.solver import long_fit, solve
from randsub.solver.long_fit import LongFitWatch
from tiny_world import Part, make_problem, make_settings, noisy


class Slow(Callback):
    """Stops a fit after some models, each of which takes ten seconds of a false clock."""

    def __init__(self, seconds=10.0):
        self.now, self.seconds, self.advice = 0.0, seconds, []

    def on_models_trained(self, n_done, n_all):
        self.now += self.seconds
        return "seen enough" if n_done > 20 else None

    def on_long_fit(self, advice):
        self.advice.append(advice)
        return True


def stopped(slow, run=None, callbacks=()):
    problem = make_problem(noisy)
    problem.dispatcher.time_limit = 1000.0
    theta = np.full((1, problem.distribution.n_parameters), 0.5)
    watch = LongFitWatch(run or Part(n_parameters=4), problem, theta, callbacks, lambda: slow.now)
    with pytest.raises(UnfinishedFitError, match="seen enough"):
        solve(problem, make_settings(), theta, np.random.default_rng(0), [slow, watch])


def test_there_is_one_warning():
    with pytest.warns(LongFitWarning, match="at 10 s per base model. A faster base") as caught:
        stopped(Slow())
    assert len(caught) == 1


def test_a_callback_that_has_told_it_takes_the_place_of_the_warning():
    slow = Slow()
    stopped(slow, callbacks=[slow])
    assert len(slow.advice) == 1
    assert slow.advice[0].seconds > 600.0
    # Twelve rows cannot become fewer.
    assert slow.advice[0].max_samples is None


@pytest.mark.parametrize("run", [Part(n_parameters=4, time_limit=30.0), None])
def test_a_time_limit_or_fast_models_are_no_reason(run):
    stopped(Slow(10.0 if run else 0.01), run)


def test_models_that_waited_for_a_process_to_start_are_no_reason():
    class Starting(Slow):
        def on_models_trained(self, n_done, n_all):
            wish = super().on_models_trained(n_done, n_all)
            self.seconds = 4.0 if n_done < 4 else 0.001
            return wish

    stopped(Starting(4.0))


def test_a_single_pause_is_no_reason():
    """Processes start in the middle, if others of the base models are trained by threads."""

    class Pausing(Slow):
        def on_models_trained(self, n_done, n_all):
            self.seconds = 100.0 if n_done == 12 else 0.01
            return super().on_models_trained(n_done, n_all)

    stopped(Pausing())


def test_fewer_samples_are_tried_out(monkeypatch):
    """With a low limit any fit is long, and the advice has a number that it was measured with."""
    monkeypatch.setattr(long_fit, "LONG", 1e-9)
    monkeypatch.setattr(long_fit, "SECONDS_BETWEEN_LOOKS", 0.0)
    monkeypatch.setattr(long_fit, "FEWER_SAMPLES", (500, 20))
    advice = []

    class Listener(Callback):
        def on_long_fit(self, one):
            advice.append(one)
            return True

    X = np.random.default_rng(0).normal(size=(3000, 3))
    model = PRSRegressor(n_estimators=4, max_iter=3, n_repeats=2, random_state=0)
    model.set_callbacks(Listener()).fit(X, X[:, 0])
    assert len(advice) == 1
    assert advice[0].max_samples in (500, 20, None)
    assert advice[0].n_repeats == 2
    assert advice[0].seconds_with <= advice[0].seconds
    plain = PRSRegressor(n_estimators=4, max_iter=3, n_repeats=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LongFitWarning)
        plain.fit(X, X[:, 0])
    np.testing.assert_array_equal(plain.alpha_, model.alpha_)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongFitWarning)
        plain.set_callbacks(TimeLimit(1000.0)).fit(X, X[:, 0])


def test_fewer_samples_are_tried_out_with_the_engine_that_takes_them(monkeypatch):
    monkeypatch.setattr(long_fit, "LONG", 1e-9)
    monkeypatch.setattr(long_fit, "SECONDS_BETWEEN_LOOKS", 0.0)
    monkeypatch.setattr(long_fit, "FEWER_SAMPLES", (20,))
    monkeypatch.setattr(SVMEngine, "most_rows", 50)
    tried, really = [], Dispatcher.trial

    def trial(self, assignment, engine):
        tried.append((len(assignment.train_rows), type(engine)))
        return really(self, assignment, engine)

    monkeypatch.setattr(Dispatcher, "trial", trial)
    X = np.random.default_rng(0).normal(size=(90, 3))
    model = PRSRegressor(SVR(), n_estimators=4, max_iter=1, random_state=0)
    with pytest.warns(SlowEngineWarning), pytest.warns(LongFitWarning):
        assert model.fit(X, X[:, 0]).engine_ == "generic"
    assert tried == [(20, SVMEngine)]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0312, "0.031 s"),
        (9.94, "9.9 s"),
        (61.0, "1 min 1 s"),
        (59.7, "1 min 0 s"),
        (7500.0, "2 h 5 min"),
    ],
)
def test_durations_are_for_people(seconds, words):
    assert duration(seconds) == words

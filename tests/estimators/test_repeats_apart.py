"""Repeats on several workers: the same model, whoever trains them and whatever happens there."""

import os
import pickle
import signal
import threading
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.neighbors import KNeighborsClassifier

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.callbacks import Callback, Checkpoint
from randsub.datasets import make_friedman, make_hypercube
from randsub.estimators import run as ensemble_run
from randsub.exceptions import InterruptedFitWarning, NoFeatureLeftWarning, WorkerLostWarning
from randsub.losses import SquaredError
from randsub.parallel import Dispatcher
from randsub.penalties import ExpectedSize
from randsub.solver import apart

SETTINGS = {"n_estimators": 12, "max_iter": 16, "n_batches": 3, "learning_rate": 0.02}
X, Y, _ = make_friedman(n_samples=90, n_irrelevant=6, random_state=3)
XC, YC, _ = make_hypercube(n_samples=90, n_irrelevant=6, random_state=3)


def regressor(base=None, **changes):
    base = LinearRegression() if base is None else base
    changes = {"random_state": 0, "n_repeats": 4, **SETTINGS, **changes}
    return PRSRegressor(base, **flat(**changes))


def classifier(**changes):
    changes = {"random_state": 0, "n_repeats": 4, **SETTINGS, **changes}
    return PRSClassifier(KNeighborsClassifier(), **flat(**changes))


MODELS = {
    "regression": (regressor, (X, Y)),
    "classification": (classifier, (XC, YC)),
    "window": (lambda **c: classifier(refresh="window", n_generations=4, **c), (XC, YC)),
    "penalty": (lambda **c: regressor(penalty=ExpectedSize(0.01), n_iter_no_change=3, **c), (X, Y)),
    "groups": (lambda **c: regressor(feature_groups=[[0, 1], [2, 3, 4]], **c), (X, Y)),
    "wide": (lambda **c: regressor(**c), (np.tile(X, (1, 160)), Y)),
}


@pytest.fixture
def spread(monkeypatch):
    """Everything after the first repeat counts as long; the numbers of repeats that were spread."""
    monkeypatch.setattr(apart, "SECONDS_WORTH_SPREADING", 0.0)
    numbers, really = [], Dispatcher.spread

    def watched(self, work, arguments, on_answer):
        numbers.append(len(arguments))
        really(self, work, arguments, on_answer)

    monkeypatch.setattr(Dispatcher, "spread", watched)
    return numbers


def assert_same_model(one, two):
    np.testing.assert_array_equal(one.alphas_, two.alphas_)
    np.testing.assert_array_equal(one.validation_scores_, two.validation_scores_)
    for a, b in zip(one.estimators_features_, two.estimators_features_, strict=True):
        np.testing.assert_array_equal(a, b)
    for name in ("n_iter_", "best_iter_", "stop_reason_", "n_models_trained_", "validation_loss_"):
        assert getattr(one, name) == getattr(two, name)
    pd.testing.assert_frame_equal(one.history_, two.history_, check_exact=True)
    np.testing.assert_array_equal(one.alpha_path_, two.alpha_path_)
    np.testing.assert_array_equal(one.alpha_path_epochs_, two.alpha_path_epochs_)


@pytest.mark.parametrize("name", MODELS)
def test_processes_threads_and_callbacks_change_nothing(name, spread):
    make, data = MODELS[name]
    alone = make(n_jobs=1).fit(*data)
    assert_same_model(make(n_jobs=2).set_callbacks(Callback()).fit(*data), alone)
    with joblib.parallel_config(backend="threading"):
        assert_same_model(make(n_jobs=2).fit(*data), alone)
    assert spread == []
    assert_same_model(make(n_jobs=2).fit(*data), alone)
    assert spread == [3]


def test_the_history_is_that_of_many_repeats_in_lockstep(spread, monkeypatch):
    """Sums of more than eight numbers have another order if they are made in blocks."""
    many = {"n_repeats": 11, "max_iter": 6}
    for budget in (ensemble_run.REPEAT_BYTES, 4 * ensemble_run.THETA_COPIES * 8 * X.shape[1]):
        monkeypatch.setattr(ensemble_run, "REPEAT_BYTES", budget)
        together = regressor(**many).fit(X, Y)
        assert_same_model(regressor(n_jobs=2, **many).fit(X, Y), together)
    assert spread == [10, 10]


def test_what_stays_here(spread, monkeypatch, tmp_path):
    regressor(n_repeats=1, n_jobs=2).fit(X, Y)
    # What is overdue could not be named.
    regressor(n_jobs=2, task_timeout=100.0).fit(X, Y)
    # Base models without a compiled engine use all processes in any case.
    regressor(Lasso(), n_jobs=2, max_iter=2).fit(X, Y)
    # Somebody watches, and continues.
    path = tmp_path / "run.ckpt"
    regressor(n_jobs=2).set_callbacks(Checkpoint(path)).fit(X, Y)
    regressor(n_jobs=2).fit(X, Y, resume_from=path)
    # Nothing to gain.
    monkeypatch.setattr(apart, "SECONDS_WORTH_SPREADING", 1000.0)
    regressor(n_jobs=2).fit(X, Y)
    assert spread == []


class LockedSquaredError(SquaredError):
    """A loss that cannot be sent anywhere."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class MoodySquaredError(SquaredError):
    """A loss that does something else outside the process that made it."""

    def __init__(self, mood, omen=""):
        super().__init__()
        self.home, self.mood, self.omen = os.getpid(), mood, str(omen)

    def value(self, *args):
        if os.getpid() != self.home:
            if self.mood == "fails":
                raise OddError("no", "way")
            if self.mood == "warns":
                warnings.warn(OddWarning("no", "way"), stacklevel=1)
            if self.mood == "dies" and os.path.exists(self.omen):
                os.remove(self.omen)
                os.kill(os.getpid(), signal.SIGKILL)
        return super().value(*args)

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.mood == "is not read" and os.getpid() != self.home:
            raise ImportError("no such module")


class OddError(Exception):
    """Pickle cannot make it again."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


class OddWarning(UserWarning):
    """Pickle cannot make it again."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def test_what_cannot_be_sent_is_trained_here(spread):
    model = regressor(loss=LockedSquaredError(), n_jobs=2).fit(X, Y)
    assert spread == []
    np.testing.assert_array_equal(model.alphas_, regressor(n_jobs=1).fit(X, Y).alphas_)


@pytest.mark.parametrize("mood", ["is not read", "fails"])
def test_what_fails_elsewhere_is_trained_here(spread, mood):
    model = regressor(loss=MoodySquaredError(mood), n_jobs=2).fit(X, Y)
    assert spread == [3]
    np.testing.assert_array_equal(model.alphas_, regressor(n_jobs=1).fit(X, Y).alphas_)


class FailingSquaredError(SquaredError):
    """Fails when an optimisation has come this far, wherever it is."""

    def value(self, y, output, weight):
        if len(y) == 18 and self.calls > 2000:
            raise OddError("too", "many")
        self.calls += 1
        return super().value(y, output, weight)

    calls = 0


def test_an_error_is_raised_as_it_is(spread):
    """Not as one that other processes could send."""
    model = regressor(loss=FailingSquaredError(), n_jobs=2, max_iter=400)
    with pytest.raises(OddError, match="too many"):
        model.fit(X, Y)
    assert not hasattr(model, "alpha_")


def test_repeats_of_a_dead_worker_are_trained_again(spread, tmp_path):
    omen = tmp_path / "omen"
    omen.touch()
    with pytest.warns(WorkerLostWarning, match="run again"):
        model = regressor(loss=MoodySquaredError("dies", omen), max_iter=3, n_jobs=2).fit(X, Y)
    assert not omen.exists()
    assert spread == [3]
    assert_same_model(model, regressor(max_iter=3, n_jobs=1).fit(X, Y))


def test_warnings_of_other_processes_are_heard(spread):
    """Nothing helps to predict noise, so that every repeat loses its features and starts again."""
    rng = np.random.default_rng(1)
    noise, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    heard = {}
    for jobs in (1, 2):
        model = regressor(n_jobs=jobs, learning_rate=0.4, n_revivals=0, max_iter=40)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(noise, y)
        texts = [str(w.message) for w in caught if w.category is NoFeatureLeftWarning]
        # In lockstep, one warning may be for several repeats.
        heard[jobs] = {text.split("at epoch ")[1] for text in texts}
    assert spread == [3]
    assert len(heard[1]) > 4
    assert heard[2] == heard[1]


def test_warnings_that_cannot_be_sent_are_heard_as_words(spread):
    with pytest.warns(UserWarning, match="no way") as caught:
        regressor(loss=MoodySquaredError("warns"), n_jobs=2).fit(X, Y)
    assert spread == [3]
    assert not any(isinstance(warning.message, OddWarning) for warning in caught)


SOLVE = apart.solve


def interrupt_at(monkeypatch, repeat, epoch):
    """Ctrl-C in an epoch of a repeat that is trained here; before the first epoch if that is 0."""
    begun = []

    class Signal(Callback):
        def on_start(self, settings, state):
            if epoch == 0:
                raise KeyboardInterrupt

        def on_epoch_end(self, state):
            if state.epoch == epoch:
                raise KeyboardInterrupt

    def interrupted(problem, settings, theta, rngs, callbacks, **options):
        begun.append(1)
        more = [Signal()] if len(begun) == repeat else []
        return SOLVE(problem, settings, theta, rngs, [*callbacks, *more], **options)

    monkeypatch.setattr(apart, "solve", interrupted)


@pytest.mark.parametrize("epoch", [0, 5])
@pytest.mark.parametrize("repeat", [2, 4])
def test_ctrl_c_keeps_the_repeats_that_are_finished(monkeypatch, repeat, epoch):
    interrupt_at(monkeypatch, repeat, epoch)
    model = regressor(n_jobs=2)
    with pytest.warns(InterruptedFitWarning, match=rf"{repeat - 1} of 4 repeats were"):
        model.fit(X, Y)
    monkeypatch.undo()
    assert model.n_repeats_ == repeat - 1
    assert model.stop_reason_ == f"interrupted; {repeat - 1} of 4 repeats"
    np.testing.assert_array_equal(model.alphas_, regressor().fit(X, Y).alphas_[: repeat - 1])


def test_ctrl_c_in_the_first_repeat(monkeypatch):
    interrupt_at(monkeypatch, 1, 5)
    model = regressor(n_jobs=2)
    with pytest.warns(InterruptedFitWarning, match="after epoch 5 of 16"):
        model.fit(X, Y)
    assert model.n_repeats_ == 1
    assert model.stop_reason_ == "interrupted; 1 of 4 repeats"
    interrupt_at(monkeypatch, 1, 0)
    model = regressor(n_jobs=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "alpha_")


def test_ctrl_c_while_others_work_keeps_what_they_have_sent(spread, monkeypatch):
    really, heard = apart._heard, []

    def interrupted(answer):
        if heard:
            raise KeyboardInterrupt
        heard.append(1)
        return really(answer)

    monkeypatch.setattr(apart, "_heard", interrupted)
    model = regressor(n_jobs=2)
    with pytest.warns(InterruptedFitWarning, match="2 of 4 repeats were"):
        model.fit(X, Y)
    assert spread == [3]
    np.testing.assert_array_equal(model.alphas_, regressor().fit(X, Y).alphas_[:2])


def test_ctrl_c_leaves_no_gap_between_repeats(spread, monkeypatch):
    """Splits belong to the places of repeats: one behind a gap would be judged on others' rows."""
    really, heard = apart._heard, []

    def lost(answer):
        heard.append(1)
        return None if len(heard) == 1 else really(answer)

    monkeypatch.setattr(apart, "_heard", lost)
    # The second repeat is lost and trained here, while the others are there.
    interrupt_at(monkeypatch, 2, 5)
    model = regressor(n_jobs=2)
    with pytest.warns(InterruptedFitWarning, match="1 of 4 repeats were"):
        model.fit(X, Y)
    assert (spread, len(heard)) == ([3], 3)
    np.testing.assert_array_equal(model.alphas_, regressor().fit(X, Y).alphas_[:1])


def test_a_signal_to_a_worker_alone_is_no_finished_repeat(monkeypatch):
    """A terminal sends Ctrl-C to all processes, and the calling one may have a handler."""
    interrupt_at(monkeypatch, 1, 5)
    letters = []
    monkeypatch.setattr(apart, "SECONDS_WORTH_SPREADING", 0.0)
    monkeypatch.setattr(
        Dispatcher, "spread", lambda self, work, arguments, keep: letters.append((self, arguments))
    )
    with monkeypatch.context() as patch:
        patch.setattr(apart, "solve", SOLVE)
        regressor(n_jobs=2).fit(X, Y)
    [(dispatcher, [letter, *_])] = letters
    with pytest.raises(KeyboardInterrupt):
        apart._answer(dispatcher, letter)
    result, messages = pickle.loads(apart._answer(dispatcher, letter))
    assert result.stopped == "all epochs done"
    assert messages == []

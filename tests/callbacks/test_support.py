"""set_callbacks as scikit-learn has it, whatever its version."""

import pickle
from threading import Barrier

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

from flat_parameters import flat
from randsub import PRSRegressor
from randsub.callbacks import (
    Callback,
    Checkpoint,
    EarlyStopping,
    ProgressBar,
    ScoringMonitor,
    TimeLimit,
)
from randsub.callbacks.support import ThinSupport
from randsub.network import PRSNetwork

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = X[:, 0] + 0.1 * RNG.normal(size=40)
OURS = [
    ProgressBar(),
    EarlyStopping(),
    TimeLimit(1.0),
    Checkpoint("run.ckpt"),
    ScoringMonitor(X, Y),
]


def make(**changes):
    return PRSRegressor(
        LinearRegression(),
        **flat(**{"n_estimators": 5, "max_iter": 6, "random_state": 0, **changes}),
    )


class StopAt(Callback):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, state):
        return state.epoch == self.epoch


# -- ours ----------------------------------------------------------------------------------------


def test_callbacks_are_no_parameters_and_are_shared_by_clones():
    model = make()
    before = model.get_params()
    stop = StopAt(2)
    assert model.set_callbacks(stop) is model
    assert model.get_params() == before
    twin = clone(model)
    assert twin.fit(X, Y).n_iter_ == model.fit(X, Y).n_iter_ == 2
    assert twin.stop_reason_ == "a callback asked to stop"
    # They outlive a fit; setting others replaces them, and setting none removes them.
    assert model.fit(X, Y).n_iter_ == 2
    assert model.set_callbacks(StopAt(3), StopAt(4)).fit(X, Y).n_iter_ == 3
    assert model.set_callbacks().fit(X, Y).n_iter_ == 6
    assert "_skl_callbacks" not in vars(model)


@pytest.mark.parametrize(
    "unusable", [StopAt, "bar", None, object()], ids=["class", "text", "None", "object"]
)
def test_what_is_no_callback_is_refused(unusable):
    with pytest.raises(TypeError, match="callbacks must be instances"):
        make().set_callbacks(unusable)


@pytest.mark.parametrize("callback", OURS, ids=lambda c: type(c).__name__)
def test_ours_can_be_sent_to_workers(callback):
    sent = pickle.loads(pickle.dumps(callback))
    assert type(sent) is type(callback)
    assert vars(sent).keys() == vars(callback).keys()


def test_a_search_over_workers_stops_each_of_its_fits(tmp_path):
    model = make(max_iter=200, learning_rate=0.05).set_callbacks(EarlyStopping(3))
    for backend in ("threading", "loky"):
        search = GridSearchCV(model, {"solver__n_batches": [2, 3]}, cv=2)
        with parallel_config(backend=backend, n_jobs=2):
            search.fit(X, Y)
        assert search.best_estimator_.stop_reason_.startswith("EarlyStopping")
        alone = clone(model).set_params(**search.best_params_).fit(X, Y)
        assert search.best_estimator_.n_iter_ == alone.n_iter_


def test_fits_at_once_have_callbacks_of_their_own():
    barrier = Barrier(2, timeout=60)

    class Together(Callback):
        """Has both fits look at their first epochs at the same time."""

        def on_epoch_end(self, state):
            if state.epoch < 3:
                barrier.wait()

    model = make(max_iter=100, learning_rate=0.05).set_callbacks(Together(), EarlyStopping(3))
    search = GridSearchCV(
        model, {"solver__learning_rate": [0.01, 0.05]}, cv=[(range(40), range(40))]
    )
    with parallel_config(backend="threading", n_jobs=2):
        search.set_params(refit=False).fit(X, Y)
    alone = [make(max_iter=100, learning_rate=rate) for rate in (0.01, 0.05)]
    scores = [m.set_callbacks(EarlyStopping(3)).fit(X, Y).score(X, Y) for m in alone]
    np.testing.assert_array_equal(search.cv_results_["split0_test_score"], scores)


def test_a_broken_fit_leaves_nothing_behind():
    class Broken(Callback):
        def on_epoch_end(self, state):
            raise RuntimeError("broken")

    model = make().fit(X, Y)
    before = vars(model).copy()
    with pytest.raises(RuntimeError, match="broken"):
        model.set_callbacks(Broken()).fit(X, Y)
    after = vars(model).copy()
    assert after.pop("_skl_callbacks")
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_verbose_is_a_progress_bar(capsys):
    make(verbose=1).fit(X, Y)
    one = capsys.readouterr().err
    make().set_callbacks(ProgressBar()).fit(X, Y)
    other = capsys.readouterr().err
    for shown in (one, other):
        assert "PRSRegressor: 100%" in shown
        assert "6/6" in shown
    make().set_callbacks(ProgressBar("mine")).fit(X, Y)
    assert "mine: 100%" in capsys.readouterr().err


def test_a_network_shows_where_it_is(capsys):
    names = []

    class Names(Callback):
        def for_run(self, run):
            self.run = run
            return self

        def on_start(self, settings, state):
            names.append((self.run.name, self.run.share))

    network = PRSNetwork(LinearRegression(), n_estimators=5, max_iter=6, random_state=0)
    network.set_callbacks(Names(), ProgressBar())
    network.set_params(lams=(0.0, 0.01), solver__n_revivals=1).fit(X)
    shown = capsys.readouterr().err
    assert names == [("PRSNetwork, lam=0", 6 / 9), ("PRSNetwork, lam=0.01", 1.0)]
    # One bar over the epochs of both.
    assert "PRSNetwork, lam=0.01:  67%" in shown
    assert "6/9" in shown
    assert "PRSNetwork, lam=0.01: 100%" in shown
    names.clear()
    network.set_params(lam=0.0, block_size=3).fit(X)
    assert names == [("PRSNetwork, targets 1 to 3", 0.75), ("PRSNetwork, targets 4 to 4", 1.0)]
    with pytest.raises(TypeError, match="needs a model that predicts, which PRSNetwork does not"):
        network.set_callbacks(ScoringMonitor(X, Y)).fit(X)


# -- where scikit-learn has no callbacks ---------------------------------------------------------


class Thin(ThinSupport, BaseEstimator):
    def __init__(self, number=1):
        self.number = number


def test_our_own_protocol_does_the_same():
    stop = StopAt(1)
    model = Thin(2)
    assert model.set_callbacks(stop) is model
    twin = clone(model)
    assert twin.number == 2
    assert twin._skl_callbacks == [stop]
    assert "_skl_callbacks" not in vars(model.set_callbacks())
    assert "_skl_callbacks" not in vars(clone(model))
    with pytest.raises(TypeError, match=r"must be instances of randsub\.callbacks\.Callback"):
        model.set_callbacks(object())

"""set_callbacks as scikit-learn has it, with its callbacks and with ours."""

import pickle
from threading import Barrier

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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
        LinearRegression(), **{"n_estimators": 5, "max_iter": 6, "random_state": 0, **changes}
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


@pytest.mark.parametrize("unusable", [StopAt, "bar", None, object()], ids=repr)
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
        search = GridSearchCV(model, {"n_batches": [2, 3]}, cv=2)
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
    search = GridSearchCV(model, {"learning_rate": [0.01, 0.05]}, cv=[(range(40), range(40))])
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
    network.set_params(lams=(0.0, 0.01), n_revivals=1).fit(X)
    shown = capsys.readouterr().err
    assert names == [("PRSNetwork, lam=0", 6 / 9), ("PRSNetwork, lam=0.01", 1.0)]
    assert all(f"{name}: 100%" in shown for name, _ in names)
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


# -- scikit-learn's ------------------------------------------------------------------------------

sklearn_callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks")


@pytest.mark.parametrize("callback", OURS, ids=lambda c: type(c).__name__)
def test_ours_follow_the_protocol(callback):
    assert isinstance(callback, sklearn_callback.FitCallback)
    assert not isinstance(callback, sklearn_callback.AutoPropagatedCallback)


@pytest.mark.parametrize(
    "outer",
    [
        GridSearchCV(make(), {"n_batches": [2]}, cv=2),
        make_pipeline(StandardScaler(), make()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_ours_are_refused_where_they_would_see_nothing(outer):
    with pytest.raises(TypeError, match=f"would see nothing of {type(outer).__name__}"):
        outer.set_callbacks(EarlyStopping()).fit(X, Y)


def test_its_scoring_monitor_scores_every_epoch():
    monitor = sklearn_callback.ScoringMonitor(scoring=["r2"])
    model = make(n_revivals=0).set_callbacks(monitor).fit(X, Y)
    scores = monitor.get_logs().data_as_pandas
    assert scores["task_name"].tolist() == ["fit", *["epoch"] * 6]
    assert scores["r2"].iloc[0] == model.score(X, Y)
    for epoch in range(1, 7):
        alone = make(n_revivals=0, max_iter=epoch).fit(X, Y)
        assert scores["r2"].iloc[epoch] == alone.score(X, Y)
    np.testing.assert_array_equal(model.alpha_, alone.alpha_)


def test_its_scoring_monitor_gets_the_weights():
    weight = np.arange(40.0)
    monitor = sklearn_callback.ScoringMonitor(scoring=["r2"])
    model = make().set_callbacks(monitor).fit(X, Y, sample_weight=weight)
    assert monitor.get_logs().data[0]["r2"] == model.score(X, Y, sample_weight=weight)


def test_its_progress_bar_shows_the_epochs(capsys):
    pytest.importorskip("rich")
    make().set_callbacks(sklearn_callback.ProgressBar()).fit(X, Y)
    assert "PRSRegressor - fit" in capsys.readouterr().out
    GridSearchCV(make(), {"n_batches": [2]}, cv=2).set_callbacks(
        sklearn_callback.ProgressBar()
    ).fit(X, Y)
    assert "PRSRegressor - fit" in capsys.readouterr().out


class Witness:
    """Follows scikit-learn's protocol and knows nothing of ours."""

    def __init__(self, stop_at=None):
        self.events, self.stop_at = [], stop_at

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.events.append(("begin", context.task_name, context.task_id, np.shape(X)))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name, context.task_id))
        return context.task_name == "epoch" and context.task_id == self.stop_at


def test_tasks_are_told_in_order_and_may_stop():
    witness = Witness(stop_at=1)
    model = make().set_callbacks(witness, StopAt(5)).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.stop_reason_ == "a callback asked to stop"
    epochs = [[("begin", "epoch", i, (40, 4)), ("end", "epoch", i)] for i in range(2)]
    assert witness.events == [
        ("setup", "fit"),
        ("begin", "fit", 0, (40, 4)),
        *epochs[0],
        *epochs[1],
        ("end", "fit", 0),
        ("teardown", "fit"),
    ]


def test_a_network_has_a_task_for_each_of_its_trainings():
    witness = Witness()
    network = PRSNetwork(LinearRegression(), n_estimators=5, max_iter=2, random_state=0)
    network.set_params(lams=(0.0, 0.01), n_revivals=1).set_callbacks(witness).fit(X)
    ended = [event[1] for event in witness.events if event[0] == "end"]
    lams = ["PRSNetwork, lam=0", "PRSNetwork, lam=0.01"]
    assert ended == ["epoch", "epoch", lams[0], "epoch", lams[1], "fit"]


def test_whatever_breaks_the_end_is_told():
    class Broken(Callback):
        def on_epoch_end(self, state):
            raise RuntimeError("broken")

    witness = Witness()
    model = make().set_callbacks(witness, Broken())
    with pytest.raises(RuntimeError, match="broken"):
        model.fit(X, Y)
    assert witness.events[-1] == ("teardown", "fit")
    assert witness.events.count(("setup", "fit")) == 1
    assert vars(model).keys() == {*make().get_params(deep=False), "_skl_callbacks"}

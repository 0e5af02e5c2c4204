"""scikit-learn's own callbacks watch our models, and ours follow its protocol."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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
from randsub.network import PRSNetwork

sklearn_callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks")

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


@pytest.mark.parametrize("callback", OURS, ids=lambda c: type(c).__name__)
def test_ours_follow_the_protocol(callback):
    assert isinstance(callback, sklearn_callback.FitCallback)
    assert not isinstance(callback, sklearn_callback.AutoPropagatedCallback)


@pytest.mark.parametrize(
    "outer",
    [
        GridSearchCV(make(), {"solver__n_batches": [2]}, cv=2),
        make_pipeline(StandardScaler(), make()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_ours_are_refused_where_they_would_see_nothing(outer):
    with pytest.raises(TypeError, match=f"not with {type(outer).__name__}: call set_callbacks"):
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
    GridSearchCV(make(), {"solver__n_batches": [2]}, cv=2).set_callbacks(
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
    network.set_params(lams=(0.0, 0.01), solver__n_revivals=1).set_callbacks(witness).fit(X)
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

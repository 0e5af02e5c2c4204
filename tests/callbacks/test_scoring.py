"""Scores of the model that fit would return if it stopped now."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.callbacks import Callback, ScoringMonitor
from randsub.datasets import make_friedman, make_hypercube

SETTINGS = {"n_estimators": 10, "max_iter": 9, "n_batches": 3, "learning_rate": 0.02}
SETTINGS |= {"random_state": 0, "n_revivals": 0}


@pytest.fixture(scope="module")
def friedman():
    X, y, _ = make_friedman(n_samples=90, n_irrelevant=5, random_state=0)
    return X[:60], y[:60], X[60:], y[60:]


def test_a_score_is_that_of_a_fit_that_stops_there(friedman):
    X, y, X_test, y_test = friedman
    monitor = ScoringMonitor(X_test, y_test, every=4)
    watched = PRSRegressor(LinearRegression(), **flat(**SETTINGS)).set_callbacks(monitor).fit(X, y)
    scores = monitor.scores_
    assert scores["epoch"].tolist() == [4, 8, 9]
    assert set(scores["estimator"]) == {"PRSRegressor"}
    for epoch, score in zip(scores["epoch"], scores["score"], strict=True):
        alone = PRSRegressor(LinearRegression(), **flat(**{**SETTINGS, "max_iter": epoch})).fit(
            X, y
        )
        assert score == alone.score(X_test, y_test)
    # Watching has changed nothing.
    np.testing.assert_array_equal(watched.alpha_, alone.alpha_)
    np.testing.assert_array_equal(watched.predict(X_test), alone.predict(X_test))
    assert watched.history_.equals(alone.history_)


def test_several_scores_weights_and_fits():
    X, y, _ = make_hypercube(n_samples=90, n_irrelevant=5, random_state=0)
    weight = np.arange(30.0)
    names = ["accuracy", "neg_log_loss"]
    monitor = ScoringMonitor(X[60:], y[60:], sample_weight=weight, scoring=names, every=100)
    model = PRSClassifier(KNeighborsClassifier(), **flat(**SETTINGS)).set_callbacks(monitor)
    assert monitor.scores_.empty
    model.fit(X[:60], y[:60]).fit(X[:60], y[:60])
    assert list(monitor.scores_) == ["run", "estimator", "epoch", *names]
    assert monitor.scores_["run"].tolist() == [1, 2]
    expected = model.score(X[60:], y[60:], sample_weight=weight)
    assert monitor.scores_["accuracy"].tolist() == [expected, expected]


def test_members_are_trained_once_as_long_as_nothing_has_changed(friedman):
    X, y, _, _ = friedman

    class Asks(Callback):
        def for_run(self, run):
            self.run = run
            return self

        def on_end(self, state):
            self.models = [self.run.fitted_estimator(state) for _ in range(2)]

    asks = Asks()
    model = PRSRegressor(LinearRegression(), **flat(**SETTINGS)).set_callbacks(asks).fit(X, y)
    for other in asks.models:
        assert other is not model
        assert all(a is b for a, b in zip(other.estimators_, model.estimators_, strict=True))
        assert other.n_models_trained_ == model.n_models_trained_
        assert not hasattr(other, "_skl_callbacks")


def test_a_fit_that_fails_is_not_scored(friedman):
    X, y, X_test, y_test = friedman

    class Broken(Callback):
        def on_epoch_end(self, state):
            raise RuntimeError("broken")

    monitor = ScoringMonitor(X_test, y_test, every=100)
    with pytest.raises(RuntimeError, match="broken"):
        PRSRegressor(LinearRegression()).set_callbacks(Broken(), monitor).fit(X, y)
    assert monitor.scores_.empty


def test_unusable_parameters_are_refused(friedman):
    X, y, X_test, y_test = friedman
    with pytest.raises(ValueError, match="every >= 1, got 0"):
        PRSRegressor().set_callbacks(ScoringMonitor(X_test, y_test, every=0)).fit(X, y)
    monitor = ScoringMonitor(X_test, y_test, scoring="no_such_score")
    with pytest.raises(ValueError, match="no_such_score"):
        PRSRegressor().set_callbacks(monitor).fit(X, y)

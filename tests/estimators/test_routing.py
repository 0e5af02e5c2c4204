"""Metadata routing, as scikit-learn documents it."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from flat_parameters import flat
from randsub import PRSRegressor

QUICK = {"n_estimators": 6, "max_iter": 3, "n_batches": 3, "random_state": 0}


def data(n=30):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, X[:, 0], np.arange(1.0, n + 1)


class Recorder(RegressorMixin, BaseEstimator):
    """Writes down the metadata of each fit; the first column of X says which row it was."""

    calls: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None, price=None, name=None):
        Recorder.calls.append((np.array(y), sample_weight, price, name))
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.fixture(autouse=True)
def _fresh_recorder():
    Recorder.calls = []


def test_without_routing_weights_go_to_base_models_that_accept_them():
    X, _, weight = data()
    PRSRegressor(Recorder(), **flat(**QUICK)).fit(X, weight, weight)
    assert Recorder.calls
    for seen_y, seen_weight, price, _ in Recorder.calls:
        np.testing.assert_array_equal(seen_y, seen_weight)  # cut to the same rows
        assert price is None


def test_without_routing_other_metadata_is_refused():
    X, y, weight = data()
    with pytest.raises(ValueError, match="price"):
        PRSRegressor(Recorder(), **flat(**QUICK)).fit(X, y, price=weight)


def test_with_routing_requests_decide():
    X, y, weight = data()
    with config_context(enable_metadata_routing=True):
        asks = Recorder().set_fit_request(sample_weight=True, price=True, name=True)
        PRSRegressor(asks, **flat(**QUICK)).fit(X, weight, weight, price=2 * weight, name="all")
        assert Recorder.calls
        for seen_y, seen_weight, price, name in Recorder.calls:
            np.testing.assert_array_equal(seen_y, seen_weight)
            np.testing.assert_array_equal(2 * seen_y, price)
            assert name == "all"
        Recorder.calls = []
        declines = Recorder().set_fit_request(sample_weight=False)
        PRSRegressor(declines, **flat(**QUICK)).fit(X, y, weight)
        assert all(call[1] is None for call in Recorder.calls)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            PRSRegressor(Recorder(), **flat(**QUICK)).fit(X, y, weight)


def test_with_routing_weights_reach_a_step_of_a_pipeline():
    X, _, weight = data()
    with config_context(enable_metadata_routing=True):
        base = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True),
            Recorder().set_fit_request(sample_weight=True),
        )
        PRSRegressor(base, **flat(**QUICK)).fit(X, weight, weight)
    for seen_y, seen_weight, *_ in Recorder.calls:
        np.testing.assert_array_equal(seen_y, seen_weight)


def test_with_routing_weights_pass_through_cross_validation():
    X, y, weight = data()
    with config_context(enable_metadata_routing=True):
        model = PRSRegressor(Ridge().set_fit_request(sample_weight=True), **flat(**QUICK))
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        scores = cross_validate(model, X, y, params={"sample_weight": weight}, cv=3)
    assert np.isfinite(scores["test_score"]).all()


def test_validation_data_through_a_pipeline():
    """The pipeline transforms X_val on its way, as ``transform_input`` is for."""
    X, y, _ = data()
    with config_context(enable_metadata_routing=True):
        model = PRSRegressor(Ridge(), **flat(**QUICK)).set_fit_request(X_val=True, y_val=True)
        pipe = make_pipeline(StandardScaler(), model, transform_input=["X_val"])
        pipe.fit(X, y, X_val=X[:8], y_val=y[:8])
        direct = PRSRegressor(Ridge(), **flat(**QUICK)).fit(
            pipe[0].transform(X), y, X_val=pipe[0].transform(X[:8]), y_val=y[:8]
        )
    np.testing.assert_array_equal(pipe[-1].alpha_, direct.alpha_)


def test_without_routing_weights_go_to_those_of_several_base_models_that_accept_them():
    X, _, weight = data()
    bases = [("takes", Recorder()), ("knn", KNeighborsRegressor())]
    model = PRSRegressor(bases, **flat(**QUICK)).fit(X, weight, weight)
    assert np.isfinite(model.predict(X)).all()
    for seen_y, seen_weight, *_ in Recorder.calls:
        np.testing.assert_array_equal(seen_y, seen_weight)


def test_each_of_several_base_models_gets_what_it_requests():
    X, y, weight = data()
    with config_context(enable_metadata_routing=True):
        priced = Recorder().set_fit_request(price=True, sample_weight=False)
        weighted = Recorder().set_fit_request(price=False, sample_weight=True)
        bases = [("priced", priced), ("weighted", weighted), ("knn", KNeighborsRegressor())]
        PRSRegressor(bases, **flat(**QUICK)).fit(X, weight, weight, price=2 * weight)
        got = [(seen_weight is None, price is None) for _, seen_weight, price, _ in Recorder.calls]
        assert set(got) == {(True, False), (False, True)}
        for seen_y, seen_weight, price, _ in Recorder.calls:
            np.testing.assert_array_equal(seen_y, price / 2 if seen_weight is None else seen_weight)
        bases[2] = ("silent", Recorder())
        with pytest.raises(UnsetMetadataPassedError, match=r"price.*Recorder"):
            PRSRegressor(bases, **flat(**QUICK)).fit(X, y, price=weight)

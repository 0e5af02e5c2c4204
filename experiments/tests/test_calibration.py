"""Measures of class probabilities, against values computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.linear_model import LinearRegression, LogisticRegression

from randsub_experiments.calibration import calibration_error, log_loss, probability_measures

CLASSES = ["a", "b"]


def test_calibration_error_by_hand():
    first = np.array([0.95, 0.97, 0.62, 0.68, 0.38, 1.0])
    probabilities = np.column_stack([first, 1.0 - first])
    y = ["a", "b", "a", "a", "a", "a"]
    # Confidences 0.95, 0.97 and 1 in the last bin, two of three right; 0.62, 0.68 and 0.62 (for b,
    # wrong) in the bin from 0.6.
    last = abs(2 - (0.95 + 0.97 + 1.0))
    middle = abs(2 - (0.62 + 0.68 + 0.62))
    assert calibration_error(y, probabilities, CLASSES) == pytest.approx((last + middle) / 6)
    # In one bin, gaps of both signs cancel.
    assert calibration_error(y, probabilities, CLASSES, n_bins=1) == pytest.approx(
        abs(4 - (2.92 + 1.92)) / 6
    )


def test_ends_of_the_scale():
    sure = np.eye(2)[[0, 0, 1, 1]]
    assert calibration_error(["a", "a", "b", "b"], sure, CLASSES) == 0.0
    assert calibration_error(["b", "b", "a", "a"], sure, CLASSES) == 1.0
    assert calibration_error(["a", "b", "b", "a"], sure, CLASSES) == 0.5


def test_log_loss_by_hand():
    probabilities = np.array([[0.5, 0.5], [0.25, 0.75]])
    assert log_loss(["a", "b"], probabilities, CLASSES) == pytest.approx(
        -(np.log(0.5) + np.log(0.75)) / 2
    )
    # Impossible, or never seen in training: finite.
    least = -np.log(np.finfo(float).eps)
    assert log_loss(["b"], np.array([[1.0, 0.0]]), CLASSES) == pytest.approx(least)
    assert log_loss(["c"], np.array([[1.0, 0.0]]), CLASSES) == pytest.approx(least)


@given(seed=st.integers(0, 1000), n_classes=st.integers(2, 5))
def test_log_loss_is_that_of_scikit_learn(seed, n_classes):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(n_classes, 0.3), size=20)
    y = rng.integers(n_classes, size=20)
    expected = metrics.log_loss(y, probabilities, labels=np.arange(n_classes))
    assert log_loss(y, probabilities, np.arange(n_classes)) == pytest.approx(expected)


def test_models_with_and_without_probabilities():
    X = np.linspace(-1.0, 1.0, 20)[:, np.newaxis]
    y = np.where(X[:, 0] > 0, "b", "a")
    model = LogisticRegression().fit(X, y)
    found = probability_measures(model, X, y)
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, model.predict_proba(X)))
    assert 0.0 < found["calibration"] < 0.5
    none = {"log_loss": None, "calibration": None}
    assert probability_measures(LinearRegression().fit(X, X[:, 0]), X, X[:, 0]) == none

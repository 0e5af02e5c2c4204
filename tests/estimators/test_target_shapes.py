"""Targets of any shape that users have, generated: a result of that shape, or an error at once."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor

# Some base models are left to scikit-learn here, which a fit says.
pytestmark = pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")

SMALL = {"n_estimators": 3, "max_iter": 1, "n_batches": 2, "n_revivals": 0, "random_state": 0}
N = 20
X = np.random.default_rng(0).normal(size=(N, 3))
NAMES = [f"output {k}" for k in range(5)]
CONTAINERS = {
    "array": lambda y: y,
    "list": lambda y: y.tolist(),
    "pandas": lambda y: pd.DataFrame(y, columns=NAMES[: y.shape[1]]),
    "polars": lambda y: pl.DataFrame(y, schema=NAMES[: y.shape[1]]),
    "fortran": np.asfortranarray,
}
containers = st.sampled_from(sorted(CONTAINERS))
moderate = st.floats(-1e6, 1e6, allow_subnormal=False)
numbers = st.integers(2, 5).flatmap(lambda k: arrays(float, (N, k), elements=moderate))
labels = st.integers(2, 5).flatmap(lambda k: arrays(int, (N, k), elements=st.integers(0, 1)))
some = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def regressor(base=None):
    return PRSRegressor(KNeighborsRegressor(2) if base is None else base, **flat(**SMALL))


def classifier():
    return PRSClassifier(KNeighborsClassifier(2), **flat(**SMALL))


@some
@given(numbers, containers, st.booleans())
def test_regression_has_the_shape_of_the_targets(y, container, linear):
    """Constant columns, and columns that differ by a rounding, among them."""
    model = regressor(Ridge() if linear else None).fit(X, CONTAINERS[container](y))
    predicted = model.predict(X)
    assert predicted.shape == y.shape
    assert np.isfinite(predicted).all()
    assert np.isfinite(model.validation_loss_)
    if not linear:
        # Means of neighbours.
        slack = 1e-9 * (1.0 + np.abs(y).max())
        assert (predicted >= y.min(axis=0) - slack).all()
        assert (predicted <= y.max(axis=0) + slack).all()


@some
@given(labels, containers)
def test_labels_have_the_shape_of_the_targets(y, container):
    if (y == y[0]).all():
        with pytest.raises(ValueError, match="all samples have the labels"):
            classifier().fit(X, CONTAINERS[container](y))
        return
    model = classifier().fit(X, CONTAINERS[container](y))
    predicted = model.predict(X)
    assert predicted.shape == y.shape
    assert np.isin(predicted, (0, 1)).all()
    assert len(model.predict_proba(X)) == y.shape[1]
    constant = (y == y[0]).all(axis=0)
    np.testing.assert_array_equal(predicted[:, constant], y[:, constant])


@some
@given(arrays(float, (N, 1), elements=moderate), containers)
def test_one_column_is_one_output(y, container):
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        column = regressor().fit(X, CONTAINERS[container](y))
    plain = regressor().fit(X, y[:, 0])
    assert column.n_outputs_ == plain.n_outputs_ == 1
    np.testing.assert_array_equal(column.predict(X), plain.predict(X))
    np.testing.assert_array_equal(column.alpha_, plain.alpha_)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros((N, 2, 2)), "dim"),
        (np.zeros((N, 0)), "1d array|0 feature"),
        (np.full((N, 2), np.nan), "NaN"),
        (np.full((N, 2), np.inf), "infinity"),
        (np.full((N, 2), 1e200), "too large to compute with"),
        (np.full((N, 2), "a"), "convert|numbers"),
        (np.zeros((N - 1, 2)), "inconsistent numbers of samples"),
        ([[1.0, 2.0]] * (N - 1) + [[1.0]], "inhomogeneous|setting an array element"),
    ],
)
def test_targets_that_are_refused(y, message):
    for model in (regressor(), classifier()):
        if isinstance(model, PRSClassifier) and "too large" in message:
            message = "y holds"
        if isinstance(model, PRSClassifier) and "convert" in message:
            message = "y holds 'a'"
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)


def test_a_series_is_one_output():
    y = pd.Series(X[:, 0], name="price")
    assert regressor().fit(X, y).predict(X).shape == (N,)

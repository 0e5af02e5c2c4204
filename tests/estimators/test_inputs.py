"""What is refused before anything is trained, and what is read as it was meant."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge

from flat_parameters import flat
from randsub import PRSRegressor
from randsub.network import PRSNetwork

X = np.random.default_rng(0).normal(size=(20, 3))
Y = X[:, 0]
SMALL = {"n_estimators": 3, "max_iter": 2, "n_revivals": 0, "random_state": 0}


@pytest.mark.parametrize(
    ("y", "told"),
    [
        (["red"] * 20, r"y must hold finite numbers in regression, .* as 'red'"),
        (["inf"] * 20, r"y must hold finite numbers in regression, .* as 'inf'"),
        (np.arange(20).astype("datetime64[s]"), r"type datetime64\[s\]"),
    ],
    ids=["text", "infinite", "dates"],
)
def test_targets_of_a_regression_are_numbers(y, told):
    with pytest.raises(ValueError, match=told):
        PRSRegressor(Ridge(), **flat(**SMALL)).fit(X, y)


@pytest.mark.parametrize("kind", [str, bytes])
def test_numbers_that_are_spelled_out(kind):
    spelled = Y.astype(str) if kind is str else Y.astype(str).astype(bytes)
    model, plain = (PRSRegressor(Ridge(), **flat(**SMALL)).fit(X, y) for y in (spelled, Y))
    assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("made", [np.asarray, np.float32, pd.DataFrame], ids=["64", "32", "frame"])
def test_infinite_values_of_both_signs_are_refused_without_a_warning(made):
    infinite = X.copy()
    infinite[0, 0], infinite[1, 0] = np.inf, -np.inf
    with pytest.raises(ValueError, match="contains infinity"):
        PRSRegressor(Ridge(), **flat(**SMALL)).fit(made(infinite), Y)
    with pytest.raises(ValueError, match="contains infinity"):
        PRSRegressor(Ridge(), **flat(**SMALL)).fit(X, infinite[:, 0])


@pytest.mark.parametrize("model", [PRSRegressor, PRSNetwork])
def test_no_workers_at_all(model):
    with pytest.raises(ValueError, match=r"'n_jobs' parameter .* Got 0 instead"):
        model(Ridge(), n_jobs=0).fit(X, Y)

"""Numbers that are finite, but too large to compute with."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from flat_parameters import flat
from randsub import PRSRegressor, RandomSubspaceRegressor
from randsub.estimators.validation import LARGEST, check_magnitude
from randsub.network import PRSNetwork

# Some base models are left to scikit-learn here, which a fit says.
pytestmark = pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")

X = np.random.default_rng(0).normal(size=(20, 3))
Y = X[:, 0]
SMALL = {"n_estimators": 3, "random_state": 0}


def with_one(values, number):
    values = values.copy()
    values.flat[4] = number
    return values


@pytest.mark.parametrize("number", [1e300, -1e300, np.nextafter(LARGEST, np.inf)])
@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array], ids=["array", "sparse"])
def test_what_is_too_large_is_named(made, number):
    with pytest.raises(ValueError, match=r"X holds -?1e\+\d+, whose square is too large"):
        check_magnitude(made(with_one(X, number)), "X")


@pytest.mark.parametrize(
    "values",
    [
        *(np.array([LARGEST, -LARGEST]), np.array([np.nan, 1.0]), np.array([np.nan])),
        *(np.array([-1.7e38], dtype=np.float32), np.array([2**62]), np.empty((0, 2))),
        *(np.array(["1e300"]), np.array([True]), sparse.csr_array((2, 2))),
    ],
    ids=range(9),
)
def test_what_is_not_too_large_passes(values):
    check_magnitude(values, "X")


@pytest.mark.parametrize(
    ("dtype", "most", "too_large"), [("float32", 1.7e38, 1.8e38), ("float16", 32700.0, -33000.0)]
)
def test_narrow_types_hold_the_differences_of_what_passes(tmp_path, dtype, most, too_large):
    narrow = np.where(X > 0.0, most, -most).astype(dtype)
    np.save(tmp_path / "X.npy", narrow)
    tables = [narrow, np.load(tmp_path / "X.npy", mmap_mode="r")]
    if dtype == "float32":
        tables.append(pd.DataFrame(narrow))
    for table in tables:
        for base in (Ridge(), KNeighborsRegressor(3)):
            model = PRSRegressor(base, **flat(max_iter=3, **SMALL)).fit(table, Y)
            assert np.isfinite(model.alpha_).all()
            assert np.isfinite(model.predict(table)).all()
    with pytest.raises(ValueError, match=f"too large to compute with in {dtype}; .* Use float64"):
        PRSRegressor(Ridge(), **flat(max_iter=3, **SMALL)).fit(with_one(narrow, too_large), Y)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", with_one(X, 1e300)),
        ("X", pd.DataFrame(with_one(X, -1e300))),
        ("X", with_one(X, 1e300).astype(object)),
        ("y", with_one(Y, 1e300)),
        ("sample_weight", with_one(np.ones(20), 1e300)),
        ("X_val", with_one(X, 1e300)),
        ("y_val", with_one(Y, 1e300)),
        ("sample_weight_val", with_one(np.ones(20), 1e300)),
    ],
    ids=range(8),
)
@pytest.mark.parametrize("model", [PRSRegressor, RandomSubspaceRegressor])
def test_nothing_is_trained_on_them(model, name, value):
    given = {"X": X, "y": Y, "X_val": X, "y_val": Y, name: value}
    told = "X" if name == "X_val" else name
    with pytest.raises(ValueError, match=rf"{told} holds .*e\+300") as error:
        model(Ridge(), **SMALL).fit(**given)
    assert ("In the validation data" in str(error.value)) == name.endswith("_val")


def test_nothing_is_predicted_from_them():
    model = RandomSubspaceRegressor(Ridge(), **SMALL).fit(X, Y)
    with pytest.raises(ValueError, match=r"X holds 1e\+300"):
        model.predict(with_one(X, 1e300))


def test_no_network_is_inferred_from_them():
    with pytest.raises(ValueError, match=r"expression holds 1e\+300"):
        PRSNetwork(Ridge()).fit(with_one(X, 1e300))


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 0.9e-300])
def test_weights_that_are_next_to_nothing(weight):
    model = RandomSubspaceRegressor(Ridge(), **SMALL)
    with pytest.raises(ValueError, match=r"sample_weight holds .*Use 0 to leave a sample out"):
        model.fit(X, Y, with_one(np.ones(20), weight))
    model.fit(X, Y, with_one(np.ones(20), 1e-300))
    model.fit(X, Y, with_one(np.ones(20), 0.0))

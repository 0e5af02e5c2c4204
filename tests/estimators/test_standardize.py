"""Scaling: the numbers of scikit-learn's, whether a table is read at once or in portions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from randsub import _tables
from randsub._tables import ScaledArray, take_cells
from randsub.estimators.standardize import Standardizer

LEARNED = ("mean_", "var_", "scale_", "n_samples_seen_")


@pytest.fixture
def small_portions(monkeypatch):
    """With weights or a single column from 100 numbers on, else from 40."""
    monkeypatch.setattr(_tables, "WHOLE", 100)
    monkeypatch.setattr(_tables, "PORTION", 40)


def table(dtype, *, with_gaps=False, n=300):
    rng = np.random.default_rng(0)
    values = rng.normal(5.0, 3.0, (n, 6)).astype(dtype)
    values[:, 3] = 2.0
    if with_gaps:
        values[: n // 3, 1] = np.nan  # not a single value in some portions
        values[::3, 2] = np.nan
        values[:, 4] = np.nan
    return values, np.sort(rng.permutation(n)[: 2 * n // 3])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "dtype, with_gaps",
    [
        ("float64", False),
        ("float64", True),
        ("float32", False),
        ("float32", True),
        ("int32", False),
    ],
)
@pytest.mark.usefixtures("small_portions")
def test_portions_give_the_same_bits(dtype, with_gaps, order):
    values, rows = table(dtype, with_gaps=with_gaps)
    ours = Standardizer().fit(np.asarray(values, order=order), None, rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        theirs = StandardScaler().fit(values[rows])
    for name in LEARNED:
        np.testing.assert_array_equal(getattr(ours._scaler, name), getattr(theirs, name), name)
    np.testing.assert_array_equal(ours.transform(values), theirs.transform(values))


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_gaps", [False, True])
@pytest.mark.usefixtures("small_portions")
def test_weights_and_frames_in_portions(kind, weighted, with_gaps, monkeypatch):
    values, rows = table("float64", with_gaps=with_gaps)
    weight = np.random.default_rng(1).random(len(values)) if weighted else None
    # A single read of all rows would be no portion.
    monkeypatch.setattr(StandardScaler, "fit", None)
    ours = Standardizer().fit(kind(values), weight, rows)._scaler
    monkeypatch.undo()
    with np.errstate(invalid="ignore", divide="ignore"):
        of_rows = None if weight is None else weight[rows]
        theirs = StandardScaler().fit(values[rows], sample_weight=of_rows)
    for name in LEARNED:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)


@pytest.mark.usefixtures("small_portions")
@given(
    base=st.sampled_from([0.0, 1e8, -1e-8]),
    spread=st.sampled_from([0.0, 1e-12, 1.0, 1e6]),
    n=st.integers(60, 150),
)
def test_nearly_constant_columns_in_portions(base, spread, n):
    values = base + spread * np.random.default_rng(n).normal(size=(n, 2))
    ours, theirs = Standardizer().fit(values, None)._scaler, StandardScaler().fit(values)
    np.testing.assert_array_equal(ours.scale_, theirs.scale_)


def test_only_the_rows_that_are_named_count():
    values, rows = table("float64")
    frame = pd.DataFrame(values).assign(text="a")
    expected = StandardScaler().fit_transform(values[rows])
    for X in (values, frame):
        scaled = Standardizer().fit(X, None, rows).transform(X)
        numbers = np.asarray(scaled)[rows][:, :6].astype(float)
        np.testing.assert_allclose(numbers, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_frame_is_scaled_to_the_bits_of_an_array(make, weighted):
    rng = np.random.default_rng(0)
    values = 7.0 + 3.0 * rng.normal(size=(103, 400))
    rows, weight = np.arange(3, 103), rng.random(103) if weighted else None
    frame = make(
        values, **({} if make is pd.DataFrame else {"schema": [f"x{j}" for j in range(400)]})
    )
    ours, theirs = (Standardizer().fit(X, weight, rows)._scaler for X in (frame, values))
    for name in LEARNED:
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_files_are_scaled_as_they_are_read(dtype, tmp_path):
    values, rows = table(dtype)
    np.save(tmp_path / "X.npy", values)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    scaler = Standardizer().fit(mapped, None, rows)
    lazy = scaler.applied_to(mapped)
    assert isinstance(lazy, ScaledArray)
    assert lazy.values is mapped
    everything = take_cells(lazy, np.arange(len(values)), np.arange(6))
    expected = scaler.applied_to(values)
    assert isinstance(expected, np.ndarray)
    assert everything.dtype == expected.dtype
    np.testing.assert_array_equal(everything, expected)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array])
def test_single_precision_has_no_number_for_some_squares(make):
    # Columns of numbers up to 1e25 have a variance of 1e50.
    sizes = 10.0 ** np.arange(-25, 26, 10)
    values = (np.random.default_rng(0).normal(size=(50, 6)) * sizes).astype("float32")
    scaled = Standardizer().fit(make(values), None).transform(make(values))
    assert scaled.dtype == np.float32
    expected = values / values.astype(float).std(axis=0)
    np.testing.assert_allclose(scaled.toarray(), expected, rtol=1e-5)

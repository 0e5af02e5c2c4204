"""Shuffled copies of the columns, and models that take them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from flat_parameters import flat
from randsub import PRSRegressor
from randsub.distributions import Bernoulli
from randsub.penalties import ExpectedSize, FusedLasso
from randsub.selection.shadows import column_groups, enlarged, shared_orders
from randsub.selection.shadows import with_shadows as with_orders


def rng():
    return np.random.RandomState(0)


def with_shadows(X, n_shadows, rng):
    return with_orders(X, shared_orders(X.shape[0], n_shadows, rng))


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_orders_by_column(make):
    X = np.arange(20.0).reshape(5, 4)
    orders = np.argsort(rng().rand(2, 5, 4), axis=1)
    table = np.asarray(with_orders(make(X), orders))
    expected = [X, *(np.take_along_axis(X, order, axis=0) for order in orders)]
    np.testing.assert_array_equal(table, np.hstack(expected))


def test_every_copy_has_all_rows_in_an_order_of_its_own():
    X = np.arange(60.0).reshape(20, 3)
    table = with_shadows(X, 4, rng())
    assert table.shape == (20, 15)
    copies = [table[:, 3 * c : 3 * c + 3] for c in range(5)]
    np.testing.assert_array_equal(copies[0], X)
    for copy in copies[1:]:
        # Whole rows move: columns of a copy keep what they have in common.
        np.testing.assert_array_equal(copy[np.argsort(copy[:, 0])], X)
    assert len({copy[:, 0].tobytes() for copy in copies}) == 5


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse(make):
    X = np.arange(1.0, 13.0).reshape(6, 2) * (np.arange(12).reshape(6, 2) % 3 > 0)
    table = with_shadows(make(X).tocsr(), 2, rng())
    assert sparse.issparse(table)
    np.testing.assert_array_equal(table.toarray(), with_shadows(X, 2, rng()))


def test_frames_keep_their_types():
    frame = pd.DataFrame(
        {
            "size": [1.5, 2.5, 3.5, 4.5],
            "kind": pd.Categorical(["a", "b", "a", "c"]),
            "count": pd.array([1, None, 3, 4], dtype="Int64"),
        },
        index=[3, 3, 1, 0],
    )
    table = with_shadows(frame, 2, rng())
    assert list(table.columns[:4]) == ["size", "kind", "count", "size (shadow 1)"]
    assert table.columns.is_unique
    assert list(table.dtypes) == list(frame.dtypes) * 3
    order = np.random.RandomState(0).permutation(4)
    pd.testing.assert_series_equal(
        table["kind (shadow 1)"],
        frame["kind"].iloc[order].reset_index(drop=True),
        check_names=False,
    )


def test_polars():
    values = {"size": [1.5, 2.5, 3.5, 4.5], "kind": ["a", "b", "a", "c"]}
    expected = with_shadows(pd.DataFrame(values), 2, rng())
    found = with_shadows(pl.DataFrame(values), 2, rng())
    assert found.dtypes == [pl.Float64, pl.String] * 3
    assert found.to_dict(as_series=False) == expected.to_dict(orient="list")


def test_names_never_clash_and_never_mix():
    frame = pd.DataFrame(np.eye(3), columns=["a", "a (shadow 1)", "shadow_"])
    assert with_shadows(frame, 2, rng()).columns.is_unique
    numbered = pd.DataFrame(np.eye(3), columns=[7, 5, "a"])
    assert list(with_shadows(numbered, 1, rng()).columns) == [0, 1, 2, 3, 4, 5]


def model(**params):
    return PRSRegressor(Ridge(), **flat(**params))


def test_parameters_about_columns_are_about_shadows_too():
    X = pd.DataFrame(np.zeros((4, 3)), columns=["a", "b", "c"])
    names = list(X.columns)
    given = model(
        feature_groups=[["a", "c"]], categorical_features=["b"], alpha_init=[0.1, 0.4], n_batches=2
    )
    groups = column_groups(given, 3, names)
    np.testing.assert_array_equal(groups, [0, 1, 0])
    larger = enlarged(given, X, groups, names, 2)
    np.testing.assert_array_equal(larger.feature_groups, [0, 1, 0, 2, 3, 2, 4, 5, 4])
    np.testing.assert_array_equal(larger.categorical_features, [1, 4, 7])
    np.testing.assert_array_equal(larger.alpha_init, [0.1, 0.4] * 3)
    assert larger.solver.n_batches == 2
    assert given.alpha_init == [0.1, 0.4]


def test_other_parameters_stay():
    X = np.zeros((4, 3))
    for given in (model(penalty=ExpectedSize(0.1), alpha_init=0.2), Ridge(alpha=2.0)):
        groups = column_groups(given, 3, [])
        np.testing.assert_array_equal(groups, [0, 1, 2])
        larger = enlarged(given, X, groups, [], 2)
        assert larger is not given
        assert repr(larger) == repr(given)


@pytest.mark.parametrize(
    "params, message",
    [
        ({"alpha_init": [0.1, 0.2]}, "alpha_init has 2 entries, but X has 3 columns"),
        ({"distribution": Bernoulli(3)}, "cannot take shadows; use distribution='auto'"),
        ({"penalty": FusedLasso.grid(0.1, 1, 3)}, "cannot take shadows.*it tells columns apart"),
        (
            {"penalty": ExpectedSize(0.1) + FusedLasso.grid(0.1, 1, 3)},
            "9 columns or groups: it tells columns apart. Use a penalty that treats all columns ",
        ),
        ({"penalty": ExpectedSize(-1.0)}, "cannot take shadows.*needs a finite lam"),
    ],
)
def test_parts_that_are_made_for_so_many_columns(params, message):
    X = np.zeros((4, 3))
    with pytest.raises(ValueError, match=message):
        enlarged(model(**params), X, np.arange(3), [], 2)

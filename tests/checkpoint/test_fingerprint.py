"""The same things have the same fingerprint, and different things another one."""

import re
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csc_array, csr_array, csr_matrix
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from randsub import PRSRegressor
from randsub.checkpoint.fingerprint import (
    changes,
    describe,
    describe_data,
    describe_parameters,
)
from randsub.distributions import GroupedBernoulli
from randsub.penalties import ExpectedSize, FusedLasso
from randsub.solver import Solver, Window

FRAME = {"a": [1.0, 2.0], "b": ["x", None], "c": [True, False]}


def identity(x):
    return x


def adds(number):
    return lambda x: x + number


VALUES = [
    lambda: None,
    lambda: 1,
    lambda: 1.0,
    lambda: "1",
    lambda: np.float64(2.0),
    lambda: np.arange(3),
    lambda: np.arange(3.0),
    lambda: {"a": [1, 2]},
    lambda: {"a": (1, 3)},
    lambda: {1, 2},
    lambda: KNeighborsRegressor(3),
    lambda: KNeighborsRegressor(4),
    lambda: make_pipeline(StandardScaler(), Ridge(0.5)),
    lambda: make_pipeline(StandardScaler(), Ridge(0.6)),
    lambda: ExpectedSize(0.1),
    lambda: ExpectedSize(0.1) + FusedLasso.grid(0.1, 2, 2),
    lambda: ExpectedSize(0.1) + FusedLasso.grid(0.1, 4, 1),
    lambda: GroupedBernoulli([0, 0, 1]),
    lambda: GroupedBernoulli([0, 1, 1]),
    lambda: Ridge,
    lambda: identity,
    lambda: lambda x: x + 1,
    lambda: lambda x: x + 2,
    lambda: lambda x: x.sum,
    lambda: lambda x: x.mean,
    lambda: lambda x: (lambda: 1)(),
    lambda: lambda x: (lambda: 2)(),
    lambda: lambda x=1: x,
    lambda: lambda x=2: x,
    lambda: lambda *, x=2: x,
    lambda: adds(1),
    lambda: adds(2),
    lambda: adds(np),
    lambda: partial(identity, 1),
]


def test_values_that_mean_the_same_are_described_alike_and_others_are_not():
    texts = [describe(make()) for make in VALUES]
    assert texts == [describe(make()) for make in VALUES]
    assert len(set(texts)) == len(texts)
    assert not any(" at 0x" in text for text in texts)


def test_how_fast_and_how_loud_is_no_part_of_it():
    model = PRSRegressor(LogisticRegression())
    quick = PRSRegressor(LogisticRegression(verbose=1), n_jobs=2, verbose=1)
    assert describe_parameters(model) == describe_parameters(quick)
    assert not {"n_jobs", "task_timeout", "verbose"} & describe_parameters(model).keys()


def test_long_parameters_are_told_apart():
    one, two = list(range(1000)), [*range(999), 0]
    texts = [
        describe_parameters(PRSRegressor(feature_groups=g))["feature_groups"] for g in (one, two)
    ]
    assert texts[0] != texts[1]
    assert max(map(len, texts)) < 200


def test_what_holds_itself_is_described_nevertheless():
    class Around:
        def __init__(self):
            self.other = self

    one, two = (describe_parameters(PRSRegressor(distribution=Around())) for _ in range(2))
    assert one == two


TABLES = {
    "floats": lambda: np.arange(6.0).reshape(3, 2),
    "others": lambda: np.arange(1.0, 7.0).reshape(3, 2),
    "float32": lambda: np.arange(6.0, dtype=np.float32).reshape(3, 2),
    "wide": lambda: np.arange(6.0).reshape(2, 3),
    "flat": lambda: np.arange(6.0),
    "texts": lambda: np.array(["a", "b"]),
    "objects": lambda: np.array(["a", 1, None], dtype=object),
    "texts of numbers": lambda: np.array(["a", "1", "None"], dtype=object),
    "sparse": lambda: csr_array(np.eye(3)),
    "pandas": lambda: pd.DataFrame(FRAME),
    "named": lambda: pd.DataFrame(FRAME).rename(columns={"a": "z"}),
    "changed": lambda: pd.DataFrame({**FRAME, "b": ["x", "y"]}),
    "category": lambda: pd.DataFrame({**FRAME, "b": pd.Categorical(["x", None])}),
    "polars": lambda: pl.DataFrame(FRAME),
    "nothing": lambda: np.empty((0, 3)),
}


def test_tables_that_hold_the_same_are_described_alike_and_others_are_not():
    described = [describe_data(make()) for make in TABLES.values()]
    assert described == [describe_data(make()) for make in TABLES.values()]
    texts = {name: str(d) for name, d in zip(TABLES, described, strict=True)}
    assert len(set(texts.values())) == len(texts)


def test_how_a_table_lies_in_memory_does_not_matter(tmp_path):
    values = np.random.default_rng(0).normal(size=(70_000, 3))
    np.save(tmp_path / "values.npy", values)
    expected = describe_data(values)
    for same in (
        np.asfortranarray(values),
        np.repeat(values, 2, axis=0)[::2],
        np.load(tmp_path / "values.npy", mmap_mode="r"),
    ):
        assert describe_data(same) == expected
    changed = values.copy()
    changed[-1, -1] = np.nextafter(changed[-1, -1], np.inf)
    assert describe_data(changed) != expected
    sparse = csr_array(np.eye(4))
    assert describe_data(sparse) == describe_data(csr_matrix(np.eye(4)))
    assert describe_data(sparse) == describe_data(csc_array(np.eye(4)))


@given(values=hnp.arrays("<f8", (4, 3)), row=st.integers(0, 3), column=st.integers(0, 2))
@settings(max_examples=50, deadline=None)
def test_every_bit_counts(values, row, column):
    changed = values.copy()
    changed.view(np.uint64)[row, column] ^= np.uint64(1)
    then, now = describe_data(values), describe_data(changed)
    assert changes({"X": then}, {"X": describe_data(values.copy())}) == []
    assert changes({"X": then}, {"X": now}) == [f"X was {then} and is {now}"]


@pytest.mark.parametrize(
    ("then", "now", "clause"),
    [
        (np.zeros((3, 2)), np.zeros((3, 3)), r"X was .* \(3, 2\) .* and is .* \(3, 3\) "),
        (np.zeros(3), np.zeros(3, dtype=int), "X was float64 of .* and is int64 of "),
        (None, np.zeros(3), r"X was not given and is float64 of shape \(3,\) with digest"),
        (np.zeros(3), None, "X was float64 of .* and is not given"),
    ],
    ids=["shape", "dtype", "new", "gone"],
)
def test_what_differs_is_said(then, now, clause):
    sides = [{"X": None if table is None else describe_data(table)} for table in (then, now)]
    (said,) = changes(*sides)
    assert re.match(clause, said)


def test_what_differs_in_parameters_is_said():
    one = describe_parameters(PRSRegressor(max_iter=5, solver=Solver(learning_rate=0.2, tol=0.1)))
    two = describe_parameters(PRSRegressor(max_iter=6, solver=Solver(learning_rate=0.1, tol=0.1)))
    assert changes(one, two, flexible=["max_iter"]) == ["solver__learning_rate was 0.2 and is 0.1"]
    del two["solver__tol"]
    assert changes(one, two)[-1] == "solver__tol was 0.1 and is not given"


def test_the_default_solver_is_the_same_whoever_names_it():
    described = describe_parameters(PRSRegressor())
    for model in (
        PRSRegressor(solver=Solver()),
        PRSRegressor(solver=Solver(max_iter=5), max_iter=Solver().max_iter),
    ):
        assert describe_parameters(model) == described
    assert described["max_iter"] == str(Solver().max_iter)
    assert describe_parameters(PRSRegressor(solver=Solver(max_iter=5)))["max_iter"] == "5"


def test_another_kind_of_solver_is_another_fit():
    class Steep(Solver):
        pass

    one, two = (describe_parameters(PRSRegressor(solver=kind())) for kind in (Solver, Steep))
    assert [change.split(" ")[0] for change in changes(one, two)] == ["solver"]
    windows = (Solver(refresh="window"), Solver(refresh=Window()))
    one, two = (describe_parameters(PRSRegressor(solver=solver)) for solver in windows)
    assert one == two

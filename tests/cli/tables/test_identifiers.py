"""Columns that number or name the rows are told from features."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from randsub.cli.tables.identifiers import find_row_labels, rows_look_like_features

N = 40
RNG = np.random.default_rng(0)
SHUFFLED = RNG.permutation(N) * 7
LABELS = {
    "Unnamed: 0": range(N),
    "anything": range(1, N + 1),
    "step of ten": range(0, 10 * N, 10),
    "downwards": range(N, 0, -1),
    "whole floats": np.arange(float(N)),
    "digits": [f"{j:04}" for j in range(N)],
    "nullable": pd.array(range(N), dtype="Int64"),
    "id": SHUFFLED,
    "patient_id": SHUFFLED,
    "customerID": SHUFFLED,
    "ID number": SHUFFLED,
    "name": [f"S{j}" for j in range(N)],
    "when": [f"2020-01-{j}" for j in range(N)],
}
FEATURES = {
    "real": RNG.normal(size=N),
    "index of real": np.linspace(0, 1, N),
    "id": RNG.normal(size=N),
    "count": SHUFFLED,
    "rank": RNG.permutation(N) + 1,
    "humid": SHUFFLED,
    "ID1": SHUFFLED,
    "row": [1, 2] * (N // 2),
    "patient_id ": [3, 4] * (N // 2),
    "constant": [5] * N,
    "with gaps": [None, *range(1, N)],
    "colour": ["red", "blue"] * (N // 2),
    "truth": [True, False] * (N // 2),
    "with commas": [f"{j},5" for j in range(N)],
    "nearly regular": [*range(N - 1), 77],
    "real in steps": np.arange(N) * 0.5,
    "infinite": [*range(N - 1), np.inf],
    "all infinite": [np.inf] * N,
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_left_out(name):
    found = find_row_labels(pd.DataFrame({"a": RNG.normal(size=N), name: LABELS[name]}))
    assert list(found.left_out) == [name]
    assert found.times == []
    assert name in found.told(Path("d.csv"))[0]


@pytest.mark.parametrize("name", FEATURES)
def test_features_stay(name):
    found = find_row_labels(pd.DataFrame({name: FEATURES[name]}))
    assert found.left_out == {}
    assert found.told(Path("d.csv")) == []


@pytest.mark.parametrize("name", ["year", "Day", "t", "sales_week", "time (s)", "Date of visit"])
def test_times_stay_and_are_told(name):
    found = find_row_labels(pd.DataFrame({name: range(1980, 1980 + N)}))
    assert (found.left_out, found.times) == ({}, [name])
    told = f"d.csv: {name!r} numbers the rows in constant steps and is kept as a time; ignore it"
    assert found.told(Path("d.csv"))[0].startswith(told)


def test_what_the_user_keeps_stays():
    frame = pd.DataFrame({"id": range(N), "name": LABELS["name"]})
    assert list(find_row_labels(frame, ["id"]).left_out) == ["name"]
    assert find_row_labels(frame, ["id", "name"]).told(Path("d.csv")) == []


def test_few_rows_are_not_judged():
    assert find_row_labels(pd.DataFrame({"dose": range(10)})).left_out == {}
    assert find_row_labels(pd.DataFrame({"dose": range(11)})).left_out != {}


def test_what_is_told():
    frame = pd.DataFrame({"id": range(5, 5 + N), "b": 1.5}).set_axis([f"r{j}" for j in range(N)])
    assert find_row_labels(frame).told(Path("d.csv")) == [
        "d.csv: the rows have names (r0, r1, r2, ...), which are not features.",
        "d.csv: left out 'id' (integers in constant steps: 5, 6, 7, ...); to use a column as a "
        "feature, name it with --keep.",
    ]
    many = pd.DataFrame({f"c{j}": range(N) for j in range(8)})
    assert (
        "'c4' (integers in constant steps: 0, 1, 2, ...) and 3 more;"
        in find_row_labels(many).told(Path("d.csv"))[0]
    )


@given(
    st.integers(-(2**40), 2**40),
    st.integers(-(2**20), 2**20).filter(bool),
    st.integers(11, 60),
    st.integers(3, 59),
)
def test_any_constant_step_is_found_and_any_break_of_it(start, step, n, at):
    values = start + step * np.arange(n)
    assert find_row_labels(pd.DataFrame({"c": values})).left_out
    if at < n:
        values[at] += 1
        assert not find_row_labels(pd.DataFrame({"c": values})).left_out


def test_rows_that_look_like_genes():
    genes = pd.DataFrame(RNG.normal(size=(N, 5)), columns=[f"s{j}" for j in range(5)])
    path = Path("e.csv")
    assert rows_look_like_features(path, genes) == []
    named = genes.set_axis([f"G{j}" for j in range(N)])
    (told,) = rows_look_like_features(path, named)
    assert told == (
        "e.csv: transposed? It has 40 rows with names, such as 'G0', and 5 columns of values. If "
        "genes are in rows, use --transpose."
    )
    assert rows_look_like_features(path, named.reset_index(names="gene")) == [told]
    assert rows_look_like_features(path, named.T) == []

"""Whether columns can be learned from, and what is said where they cannot."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from randsub.cli.tables import TableError
from randsub.cli.tables.column_checks import (
    check_features,
    check_target,
    find_column,
    guess_task,
    same_labels,
)

PATH = Path("t.csv")


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b", "a"], "classification"),
        ([True, False, True], "classification"),
        ([0, 1, 1], "classification"),
        ([0.0, 1.0, 1.0], "classification"),
        (list(range(10)), "classification"),
        (list(range(11)), "regression"),
        ([0.5, 1.0, 2.0], "regression"),
        (["0.5", "1", "2"], "regression"),
        (["0", "1", "1"], "classification"),
        (["1st", "2nd", "3rd"] * 4, "classification"),
    ],
    ids=range(10),
)
def test_task_is_guessed(values, task):
    guessed, reason = guess_task(PATH, pd.Series(values))
    assert guessed == task
    assert reason.startswith("it")


@given(st.lists(st.integers(-5, 4) | st.floats(-10, 10), min_size=1))
def test_every_target_of_numbers_has_a_task(values):
    task, _ = guess_task(PATH, pd.Series(values, dtype=float))
    whole = all(float(value).is_integer() for value in values)
    assert task == ("classification" if whole and len(set(values)) <= 10 else "regression")


@pytest.mark.parametrize(
    ("values", "task", "told"),
    [
        ([1.0, None, 2.0], "regression", "is missing in 1 of 3 rows, first in row 2"),
        ([3, 3, 3], "regression", "is 3 in every row"),
        ([1, 1], "classification", "only one class, 1, in all 2 rows"),
        (["a", "a"], "classification", "only one class, 'a'"),
        ([0.5, 1.5], "classification", "has numbers with fractions, such as 0.5"),
        (["1", "x"], "regression", "should hold numbers, but has 'x' in row 2"),
        ([1.0, np.inf], "regression", "has inf in row 2"),
        ([1.0, 1e300], "classification", "cannot represent such large integers exactly"),
        ([f"2020-01-{d}" for d in range(10, 30)], "classification", "a different text in each row"),
    ],
    ids=range(9),
)
def test_targets_that_cannot_be_learned(values, task, told):
    with pytest.raises(TableError) as error:
        check_target(PATH, pd.Series(values, name="y"), task)
    assert told in str(error.value)


def test_targets_as_arrays():
    assert_array_equal(check_target(PATH, pd.Series([1.0, 2.0]), "classification"), [1, 2])
    assert check_target(PATH, pd.Series(["b", "a"]), "classification").tolist() == ["b", "a"]
    assert check_target(PATH, pd.Series([1, 2]), "regression").dtype == float
    assert check_target(PATH, pd.Series([True, False]), "classification").dtype == bool


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ([None] * 12, "column 'c' has no value in any row; ignore it with --drop c"),
        ([1.0, np.inf] * 6, "column 'c' has inf in row 2"),
        (
            [1.0, None] * 6,
            "missing values (first in row 2), which the base model knn does not",
        ),
        (["1", "2", "?"] * 4, "column 'c' holds numbers, but has '?' in row 3"),
        (
            [f"{j},5" for j in range(12)],
            "column 'c' holds numbers, but has '0,5' in row 1; use --decimal , if the comma is a "
            "decimal mark, or treat the column as categories with --categorical c",
        ),
        ([f"{j} kg" for j in range(12)], "has '0 kg' in row 1; remove 'kg' from its values, or"),
    ],
    ids=["empty", "infinite", "gaps", "text among numbers", "commas", "units"],
)
def test_features_that_cannot_be_learned_from(column, told):
    X = pd.DataFrame({"b": np.arange(12.0), "c": pd.Series(column)})
    with pytest.raises(TableError) as error:
        check_features(PATH, X, (), ["knn"])
    assert told in str(error.value)


def test_features_as_they_are_learned_from():
    X = pd.DataFrame(
        {
            "whole": [1, 2, 3, 4],
            "truth": [True, False, True, True],
            "text": ["a", "b", None, "a"],
            "digits": ["1", "2.5", "3", "4"],
            "code": [7, 8, 7, 8],
        }
    )
    checked = check_features(PATH, X, ["code"], ["knn"])
    assert list(checked.columns) == list(X.columns)
    assert [dtype.kind for dtype in checked.dtypes] == ["f", "f", "O", "f", "O"]
    assert checked["digits"].tolist() == [1.0, 2.5, 3.0, 4.0]
    assert checked["code"].tolist() == ["7", "8", "7", "8"]
    assert checked["text"].isna().tolist() == [False, False, True, False]


def test_gaps_pass_where_the_base_model_takes_them():
    X = pd.DataFrame({"a": [1.0, None, 2.0]})
    checked = check_features(PATH, X, (), ())
    assert_array_equal(checked["a"], [1.0, np.nan, 2.0])


def test_names_of_rows_that_should_be_columns():
    wide = pd.DataFrame({"gene": ["g1", "y"], "s1": [1.0, 2.0]})
    for frame in (wide, wide.set_index("gene")):
        with pytest.raises(TableError) as error:
            find_column(PATH, frame, "y", "--target")
        assert str(error.value) == (
            "t.csv: there is no column 'y', which --target asks for; transposed? 'y' is the name "
            "of a row; add or remove --transpose."
        )


def test_unknown_columns_are_answered_with_known_ones():
    frame = pd.DataFrame({"price": [1], "size": [2]})
    assert find_column(PATH, frame, "size", "--target") == "size"
    with pytest.raises(TableError) as error:
        find_column(PATH, frame, "prize", "--target")
    assert str(error.value).endswith("which --target asks for; did you mean 'price'?")
    with pytest.raises(TableError, match="it has 'price', 'size'"):
        find_column(PATH, frame, "zzz", "--drop")


def test_labels_as_a_model_has_them():
    assert same_labels(PATH, pd.Series(["1", "0"]), np.array([0, 1])).tolist() == [1, 0]
    assert same_labels(PATH, pd.Series([1, 0]), np.array(["0", "1"])).tolist() == ["1", "0"]


@pytest.mark.parametrize("start", [2**53, 2**63])
def test_labels_too_large_for_floats_stay_apart(start):
    y = pd.Series([start, start + 1, start + 2])
    labels = check_target(PATH, y, "classification")
    assert labels.tolist() == y.tolist()
    assert same_labels(PATH, y, labels).tolist() == y.tolist()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0.0, 1.5], "has 1.5 in row 2, which is not a class like those of the model, such as 0"),
        ([0, "red"], "has 'red' in row 2"),
        ([0, None], "has no value in row 2"),
    ],
    ids=range(3),
)
def test_labels_that_are_none_of_a_model(values, told):
    with pytest.raises(TableError) as error:
        same_labels(PATH, pd.Series(values, name="y"), np.array([0, 1]))
    assert told in str(error.value)


def test_the_task_of_an_infinite_target_is_guessed_in_silence():
    assert guess_task(PATH, pd.Series([1.0, np.inf]))[0] == "regression"

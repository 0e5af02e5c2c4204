"""Text that is nearly numbers is told from classes and categories."""

import numpy as np
import pandas as pd
import pytest

from randsub.cli.tables.near_numbers import find_oddity, remedy_for

N = 30


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("0,25", "use --decimal , if the comma is a decimal mark"),
        ("-1,5e3", "use --decimal ,"),
        ("1,234", "is a decimal mark, or remove the thousands separators"),
        ("1,234,567", "remove the thousands separators"),
        ("1.234,5", "remove the thousands separators"),
        ("1 234", "remove the thousands separators"),
        ("20%", "remove '%' from its values"),
        ("3,5 kg", "remove 'kg' from its values"),
        ("$ 12.50", "remove '$' from its values"),
    ],
)
def test_what_to_do_about_a_value(value, told):
    assert told in remedy_for(value)


@pytest.mark.parametrize(
    "value", ["", "red", "2020-01-10", "10:30", "A12", "1_2", "1.2.3.4", "x,5", "12 34"]
)
def test_values_that_are_not_nearly_numbers(value):
    assert remedy_for(value) == ""


@pytest.mark.parametrize(
    ("values", "position"),
    [
        ([f"{j},5" for j in range(N)], 0),
        ([f"{j}%" for j in range(N)], 0),
        (["1.5", "2.5", "?"] + [f"{j}.5" for j in range(N)], 2),
        ([None, "1"] * N + ["n/a?"], 2 * N),
        ([str(j) for j in range(N)] + ["1,234"], N),
    ],
    ids=["commas", "units", "a bad cell", "after gaps", "thousands"],
)
@pytest.mark.parametrize("may_be_classes", [True, False])
def test_the_first_value_that_is_not_a_number(values, position, may_be_classes):
    odd = find_oddity(pd.Series(values), may_be_classes=may_be_classes)
    assert odd is not None
    assert (odd.position, odd.value) == (position, values[position])


@pytest.mark.parametrize(
    "values",
    [
        ["cat", "dog"] * N,
        [f"{dose} mg" for dose in (5, 10, 20)] * N,
        ["1", "2", "3", "unknown"] * N,
        [f"{j}" for j in range(N)],
        [f"{j}{letter}" for j, letter in enumerate("abcdefghijklmnopqrstuvwxyz")],
        [f"S{j}" for j in range(N)],
        [f"2020-01-{j:02}" for j in range(1, N)],
        [],
        [None] * N,
    ],
    ids=["words", "doses", "codes", "numbers", "flats", "samples", "dates", "empty", "missing"],
)
def test_classes_and_labels_are_not_odd(values):
    assert find_oddity(pd.Series(values, dtype=object), may_be_classes=True) is None


def test_few_distinct_numbers_with_a_bad_cell_are_odd():
    values = np.array(["0", "1"] * N, dtype=object)
    values[7] = "?"
    odd = find_oddity(pd.Series(values), may_be_classes=True)
    assert odd == (7, "?", "correct it")

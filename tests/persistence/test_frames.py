"""Frames, series and indexes come back as they were."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from randsub.persistence.frames import pack, unpack

COLUMNS = {
    "f": np.array([1.5, np.nan, -0.0]),
    "g": np.array([1, 2, 3], dtype=np.float32),
    "i": np.array([1, 2, 3], dtype=np.int8),
    "b": np.array([True, False, True]),
    "when": np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="datetime64[s]"),
    "words": pd.Series(["a", None, "c"], dtype="str"),
    "string": pd.Series(["a", None, "c"], dtype="string"),
    "objects": pd.Series(["a", 1, None], dtype=object),
    "whole": pd.Series([1, None, 3], dtype="Int64"),
    "maybe": pd.Series([True, None, False], dtype="boolean"),
    "level": pd.Categorical(["x", None, "y"], categories=["y", "x"], ordered=True),
    "numbers": pd.Categorical([3, 1, 3]),
}
INDEXES = [
    pd.RangeIndex(1, 4, name="epoch"),
    pd.Index([0.1, 0.2, 0.2], name="lam"),
    pd.Index(["a", "b", "c"]),
    pd.CategoricalIndex(["a", "b", "a"], name="kind"),
    pd.MultiIndex.from_arrays([[0.1, 0.1, 0.2], [1, 2, 1]], names=["lam", "epoch"]),
]


@given(
    names=st.lists(st.sampled_from(sorted(COLUMNS)), max_size=5),
    labels=st.lists(st.sampled_from(["a", "b", "a b"]), min_size=5, max_size=5),
    index=st.sampled_from(INDEXES),
)
@settings(max_examples=40, deadline=None)
def test_a_frame_survives(names, labels, index):
    """Labels may come more than once."""
    columns = [pd.Series(COLUMNS[name]).set_axis(index) for name in names]
    frame = pd.DataFrame(dict(enumerate(columns)), index=index)
    frame.columns = pd.Index(labels[: len(names)], dtype=object)
    pd.testing.assert_frame_equal(unpack(pack(frame)), frame, check_exact=True)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_series_and_an_index_survive(name):
    series = pd.Series(COLUMNS[name], name=name)
    pd.testing.assert_series_equal(unpack(pack(series)), series, check_exact=True)
    index = pd.Index(series)
    pd.testing.assert_index_equal(unpack(pack(index)), index, exact=True)


def test_what_is_packed_holds_nothing_of_pandas():
    seen = []

    def look(value):
        seen.append(type(value).__module__.partition(".")[0])
        if isinstance(value, list):
            for entry in value:
                look(entry)
        elif hasattr(value, "__dataclass_fields__"):
            look(list(vars(value).values()))

    frame = pd.DataFrame({name: pd.Series(values) for name, values in COLUMNS.items()})
    look(pack(frame.set_axis(INDEXES[-1])))
    assert "pandas" not in seen


def test_values_that_have_no_plain_form_are_named():
    with pytest.raises(TypeError, match="period"):
        pack(pd.Series(pd.period_range("2020", periods=3)))

"""Frames, series and indexes come back as they were."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from randsub.io.object_graph import ObjectGraph
from randsub.io.safe_forms import SafeForm, safe_form

skops_io = pytest.importorskip("skops.io")


def written(obj):
    """What a model file holds of an object."""
    return ObjectGraph(obj, safe_form).copy()


def survived(obj):
    content = skops_io.dumps(written(obj))
    trusted = [SafeForm, "numpy.dtype"]
    assert set(skops_io.get_untrusted_types(data=content)) <= {"randsub.io.safe_forms.SafeForm"}
    return skops_io.loads(content, trusted=trusted)


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
    pd.testing.assert_frame_equal(survived(frame), frame, check_exact=True)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_series_and_an_index_survive(name):
    series = pd.Series(COLUMNS[name], name=name)
    pd.testing.assert_series_equal(survived(series), series, check_exact=True)
    index = pd.Index(series)
    pd.testing.assert_index_equal(survived(index), index, exact=True)


def test_what_is_written_holds_nothing_of_pandas():
    frame = pd.DataFrame({name: pd.Series(values) for name, values in COLUMNS.items()})
    form = written(frame.set_axis(INDEXES[-1]))
    modules = {
        type(part).__module__.partition(".")[0] for part in ObjectGraph(form, unchanged).parts
    }
    assert modules == {"randsub", "builtins", "numpy", "pickle"}
    assert type(form) is SafeForm


def unchanged(obj):
    """Keeps every object."""


def test_values_that_have_no_plain_form_are_named():
    with pytest.raises(TypeError, match="period"):
        written(pd.Series(pd.period_range("2020", periods=3)))

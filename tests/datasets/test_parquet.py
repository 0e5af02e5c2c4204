"""Parquet folders as arrays on disk."""

import json
import os
import re
import sys
from decimal import Decimal
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import InvalidParameterError

from randsub import PRSClassifier
from randsub.datasets import open_parquet, parquet
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'randsub[parquet]'")

FRAME = pd.DataFrame(
    {
        "age": [41, 17, 66, 30, 52],
        "dose": [0.5, np.nan, 2.25, 1e-3, 1.0],
        "smoker": [True, False, False, True, True],
        "outcome": ["ill", "well", "well", "ill", "ill"],
    }
)
X = FRAME[["age", "dose", "smoker"]].to_numpy(dtype=float)


@pytest.fixture
def folder(tmp_path):
    """The frame in two files, one of them in a subfolder, among files that are none of it."""
    home = tmp_path / "cells"
    (home / "later").mkdir(parents=True)
    FRAME[:2].to_parquet(home / "a.parquet", row_group_size=1)
    FRAME[2:].to_parquet(home / "later" / "b.parquet")
    (home / "_SUCCESS").touch()
    (home / "_temporary.parquet").write_text("not yet")
    (home / "notes.txt").write_text("nothing")
    return home


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_folder_is_one_table(folder, tmp_path, dtype):
    table = open_parquet(folder, "outcome", cache=tmp_path / "cache", dtype=dtype)
    assert isinstance(table.X, np.memmap)
    assert table.X.dtype == dtype
    assert table.X.flags.c_contiguous
    np.testing.assert_array_equal(table.X, X.astype(dtype))
    assert table.y.tolist() == FRAME["outcome"].tolist()
    assert table.feature_names == ("age", "dose", "smoker")
    with pytest.raises(ValueError, match="read-only"):
        table.X[0, 0] = 1.0


def test_columns_in_the_order_that_was_asked_for(folder, tmp_path):
    table = open_parquet(folder, cache=tmp_path / "cache", columns=["smoker", "age"])
    np.testing.assert_array_equal(table.X, X[:, [2, 0]])
    assert table.y is None


def test_a_single_file(folder, tmp_path):
    table = open_parquet(str(folder / "a.parquet"), "age", cache=tmp_path / "c", columns=["dose"])
    np.testing.assert_array_equal(table.X, X[:2, [1]].astype(np.float32))
    assert table.y.tolist() == [41, 17]
    assert table.y.dtype == np.int64


def test_the_index_of_a_frame_is_no_feature(tmp_path):
    FRAME.set_index(pd.Index(range(10, 15), name="patient")).to_parquet(tmp_path / "f.parquet")
    table = open_parquet(tmp_path, "outcome", cache=tmp_path / "cache")
    assert table.feature_names == ("age", "dose", "smoker")


def test_types_of_columns(tmp_path):
    frame = pd.DataFrame(
        {
            "small": np.array([1, 2], dtype=np.int8),
            "half": np.array([0.5, 1.5], dtype=np.float16),
            "money": [Decimal("1.25"), Decimal("2.50")],
            "gap": pd.array([3, None], dtype="Int64"),
            "y": pd.Categorical(["b", "a"]),
        }
    )
    frame.to_parquet(tmp_path / "f.parquet")
    table = open_parquet(tmp_path, "y", cache=tmp_path / "cache")
    np.testing.assert_array_equal(table.X, [[1.0, 0.5, 1.25, 3.0], [2.0, 1.5, 2.5, np.nan]])
    assert table.y.tolist() == ["b", "a"]


@settings(max_examples=25, deadline=None)
@given(
    values=st.lists(
        st.tuples(
            st.floats(width=32, allow_infinity=False), st.integers(-(2**24), 2**24), st.booleans()
        ),
        min_size=1,
        max_size=40,
    ),
    group_size=st.integers(1, 10),
    portion=st.integers(1, 50),
    cut=st.integers(0, 40),
)
def test_any_numbers_in_any_portions(tmp_path_factory, values, group_size, portion, cut):
    home = tmp_path_factory.mktemp("any")
    frame = pd.DataFrame(values, columns=["f", "i", "b"])
    for number, part in enumerate((frame[:cut], frame[cut:])):
        part.to_parquet(home / f"{number}.parquet", row_group_size=group_size, index=False)
    with mock.patch.object(parquet, "PORTION", portion):
        table = open_parquet(home, "i", cache=home / "cache")
    np.testing.assert_array_equal(table.X, frame[["f", "b"]].to_numpy(dtype=np.float32))
    np.testing.assert_array_equal(table.y, frame["i"])


# -- the cache -----------------------------------------------------------------------------------


@pytest.fixture
def unpacked(monkeypatch):
    """Columns that were unpacked, call by call."""
    calls, unpack = [], parquet._unpack

    def counting(files, folder, names, *rest):
        calls.append(list(names))
        return unpack(files, folder, names, *rest)

    monkeypatch.setattr(parquet, "_unpack", counting)
    return calls


def kinds_in(cache):
    """What is in a cache, without what tells its arrays from those of other tables."""
    return sorted(re.sub(r"-[0-9a-f]{16}\.npy$", "", name) for name in os.listdir(cache))


def test_files_are_unpacked_once(folder, tmp_path, unpacked):
    cache = tmp_path / "cache"
    first = open_parquet(folder, "outcome", cache=cache)
    again = open_parquet(folder, "outcome", cache=cache)
    assert len(unpacked) == 1
    np.testing.assert_array_equal(again.X, first.X)
    assert again.y.tolist() == first.y.tolist()
    assert again.feature_names == first.feature_names
    assert kinds_in(cache) == ["X", "table.json", "y"]


def test_what_changes_is_unpacked_again(folder, tmp_path, unpacked):
    cache = tmp_path / "cache"
    kept = open_parquet(folder, "outcome", cache=cache)
    open_parquet(folder, "outcome", cache=cache, dtype="float64")
    open_parquet(folder, "outcome", cache=cache, columns=["age"])
    open_parquet(folder, "age", cache=cache, columns=["dose"])
    FRAME[2:].assign(dose=7.0).to_parquet(folder / "later" / "b.parquet")
    changed = open_parquet(folder, "age", cache=cache, columns=["dose"])
    FRAME[:1].to_parquet(folder / "c.parquet")
    longer = open_parquet(folder, "age", cache=cache, columns=["dose"])
    assert len(unpacked) == 6
    assert changed.X[2:, 0].tolist() == [7.0] * 3
    assert len(longer.X) == 6
    assert kinds_in(cache) == ["X", "table.json", "y"]
    # What was opened before is what it was.
    np.testing.assert_array_equal(kept.X, X.astype(np.float32))


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"null", b'{"format": 0}', b"\xff\xfe", None], ids=repr
)
def test_a_damaged_cache_is_written_anew(folder, tmp_path, unpacked, damage):
    cache = tmp_path / "cache"
    open_parquet(folder, "outcome", cache=cache)
    if damage is None:
        (cache / "table.json").unlink()
    else:
        (cache / "table.json").write_bytes(damage)
    table = open_parquet(folder, "outcome", cache=cache)
    assert len(unpacked) == 2
    np.testing.assert_array_equal(table.X, X.astype(np.float32))
    assert json.loads((cache / "table.json").read_text())["columns"] == ["age", "dose", "smoker"]


@pytest.mark.parametrize("letter", ["X", "y"])
@pytest.mark.parametrize("keep", [0, 50, -1], ids=["nothing", "a bit", "gone"])
def test_arrays_that_were_cut_are_written_anew(folder, tmp_path, unpacked, letter, keep):
    cache = tmp_path / "cache"
    open_parquet(folder, "outcome", cache=cache)
    [path] = cache.glob(f"{letter}-*.npy")
    if keep < 0:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:keep])
    table = open_parquet(folder, "outcome", cache=cache)
    assert len(unpacked) == 2
    np.testing.assert_array_equal(table.X, X.astype(np.float32))
    assert table.y.tolist() == FRAME["outcome"].tolist()


def test_a_failure_on_the_way_leaves_no_table(folder, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    open_parquet(folder, "outcome", cache=cache)

    def fails(*args):
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(parquet, "_fill", fails)
        with pytest.raises(OSError, match="No space"):
            open_parquet(folder, "outcome", cache=cache, columns=["age"])
    assert kinds_in(cache) == ["X", "table.json", "y"]
    table = open_parquet(folder, "outcome", cache=cache)
    np.testing.assert_array_equal(table.X, X.astype(np.float32))


def test_targets_of_another_length_are_written_anew(folder, tmp_path, unpacked):
    cache = tmp_path / "cache"
    open_parquet(folder, "age", cache=cache, columns=["dose"])
    [path] = cache.glob("y-*.npy")
    np.save(path, np.arange(2))
    assert len(open_parquet(folder, "age", cache=cache, columns=["dose"]).y) == len(FRAME)
    assert len(unpacked) == 2


def test_tables_that_are_unpacked_at_once_are_not_mixed_up(folder, tmp_path, monkeypatch):
    """Another one is written in the middle: between the arrays of the first and its table.json."""
    cache, unpack = tmp_path / "cache", parquet._unpack
    others = []

    def interrupted(*args):
        arrays = unpack(*args)
        monkeypatch.setattr(parquet, "_unpack", unpack)
        others.append(open_parquet(folder, "age", cache=cache, columns=["smoker"]))
        return arrays

    monkeypatch.setattr(parquet, "_unpack", interrupted)
    table = open_parquet(folder, "smoker", cache=cache, columns=["age"])
    for found in (table, open_parquet(folder, "smoker", cache=cache, columns=["age"])):
        np.testing.assert_array_equal(found.X[:, 0], FRAME["age"].astype(np.float32))
        np.testing.assert_array_equal(found.y, FRAME["smoker"])
    np.testing.assert_array_equal(others[0].X[:, 0], FRAME["smoker"].astype(np.float32))
    np.testing.assert_array_equal(others[0].y, FRAME["age"])


def test_nothing_but_arrays_is_deleted(folder, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    (tmp_path / "mine").touch()
    (cache / "table.json").write_text('{"arrays": ["../mine", "table.json", 3]}')
    open_parquet(folder, "outcome", cache=cache)
    assert (tmp_path / "mine").exists()
    assert kinds_in(cache) == ["X", "table.json", "y"]


# -- what cannot be opened -----------------------------------------------------------------------


def test_nothing_there(tmp_path):
    with pytest.raises(DatasetNotFoundError, match="neither a file nor a folder"):
        open_parquet(tmp_path / "no", cache=tmp_path / "cache")
    with pytest.raises(DatasetNotFoundError, match=r"no files that end in \.parquet"):
        open_parquet(tmp_path, cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_file_that_is_no_parquet(folder, tmp_path):
    (folder / "b.parquet").write_bytes((folder / "a.parquet").read_bytes()[:-20])
    with pytest.raises(DatasetFormatError, match=r"b\.parquet.*cannot be read as parquet"):
        open_parquet(folder, "outcome", cache=tmp_path / "cache")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"target": "result"}, "0 columns named 'result'"),
        ({"columns": ["age", "weight"]}, "0 columns named 'weight'"),
        ({}, r"are not numbers: \{'outcome': '(large_)?string'\}"),
        ({"columns": ["age", "age"]}, "each column once"),
        ({"columns": ["age"], "target": "age"}, "not the target 'age'"),
        ({"columns": []}, "at least one"),
        ({"columns": [1]}, "names of columns"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_columns_that_cannot_be_had(folder, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        open_parquet(folder, cache=tmp_path / "cache", **options)


def test_a_file_without_one_of_the_columns(folder, tmp_path):
    FRAME[["age", "dose", "outcome"]].to_parquet(folder / "z.parquet")
    with pytest.raises(ValueError, match=r"z\.parquet has 0 columns named 'smoker'"):
        open_parquet(folder, "outcome", cache=tmp_path / "cache")


def test_a_file_with_one_column_more(folder, tmp_path):
    FRAME.assign(height=1.0).to_parquet(folder / "z.parquet")
    with pytest.raises(ValueError, match=r"z\.parquet has columns that .* not have: \['height'\]"):
        open_parquet(folder, "outcome", cache=tmp_path / "cache")
    table = open_parquet(folder, "outcome", cache=tmp_path / "cache", columns=["age"])
    assert len(table.X) == 2 * len(FRAME)


def test_targets_of_text_and_of_numbers(folder, tmp_path):
    FRAME.assign(outcome=1).to_parquet(folder / "z.parquet")
    with pytest.raises(ValueError, match="text in some of the files and numbers in others"):
        open_parquet(folder, "outcome", cache=tmp_path / "cache")


def test_columns_in_the_names_of_folders_are_not_lost_in_silence(folder, tmp_path):
    (folder / "year=2024").mkdir()
    FRAME.to_parquet(folder / "year=2024" / "f.parquet")
    with pytest.raises(ValueError, match=r"'year=2024'; these are not read"):
        open_parquet(folder, "outcome", cache=tmp_path / "cache")
    table = open_parquet(folder, "outcome", cache=tmp_path / "cache", columns=["age"])
    assert len(table.X) == 2 * len(FRAME)


def test_values_beyond_single_precision(tmp_path):
    pd.DataFrame({"a": [1.0, -1e300]}).to_parquet(tmp_path / "f.parquet")
    with pytest.raises(ValueError, match=r"'a' .* has the value -1e\+300.*dtype='float64'"):
        open_parquet(tmp_path, cache=tmp_path / "cache")
    table = open_parquet(tmp_path, cache=tmp_path / "cache", dtype="float64")
    assert table.X[1, 0] == -1e300


def test_targets_that_are_none(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "gap": ["x", None], "day": pd.to_datetime([0, 1])})
    frame.to_parquet(tmp_path / "f.parquet")
    with pytest.raises(ValueError, match=r"1 missing value"):
        open_parquet(tmp_path, "gap", cache=tmp_path / "cache", columns=["a"])
    with pytest.raises(ValueError, match="should hold numbers or text"):
        open_parquet(tmp_path, "day", cache=tmp_path / "cache", columns=["a"])


def test_no_rows_and_no_columns(tmp_path):
    FRAME[:0].to_parquet(tmp_path / "f.parquet")
    with pytest.raises(ValueError, match="no rows"):
        open_parquet(tmp_path, cache=tmp_path / "cache", columns=["age"])
    FRAME[["age"]].to_parquet(tmp_path / "f.parquet")
    with pytest.raises(ValueError, match="no columns beside the target 'age'"):
        open_parquet(tmp_path, "age", cache=tmp_path / "cache")


def test_parameters(folder, tmp_path):
    with pytest.raises(InvalidParameterError, match="dtype"):
        open_parquet(folder, "outcome", cache=tmp_path / "cache", dtype="int8")
    with pytest.raises(NotADirectoryError, match="is a file; name a folder"):
        open_parquet(folder, "outcome", cache=folder / "a.parquet")


def test_without_pyarrow(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install 'randsub\[parquet\]'"):
        open_parquet(folder, "outcome", cache=tmp_path / "cache")


def test_a_model_is_fitted_to_it(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((200, 4), dtype=np.float32), columns=list("abcd"))
    frame["y"] = np.where(frame["a"] > 0.5, "high", "low")
    frame.to_parquet(tmp_path / "f.parquet")
    table = open_parquet(tmp_path, "y", cache=tmp_path / "cache")
    model = PRSClassifier(DecisionTreeClassifier(), max_iter=5, n_estimators=10, random_state=0)
    from_disk = model.fit(table.X, table.y).alpha_
    in_memory = model.fit(frame[list("abcd")].to_numpy(), frame["y"]).alpha_
    np.testing.assert_array_equal(from_disk, in_memory)

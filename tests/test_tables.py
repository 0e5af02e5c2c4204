"""Arrays, sparse matrices and frames: the same operations, the same answers."""

import mmap
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from randsub import _tables
from randsub._tables import (
    ScaledArray,
    by_column,
    frame_kind,
    is_mapped,
    n_rows,
    numeric_columns,
    replace_columns,
    row_portions,
    stack_rows,
    take_cells,
    take_columns,
    take_rows,
    to_array,
    value_range,
)
from randsub.estimators.standardize import Standardizer

VALUES = np.arange(20.0).reshape(5, 4) * np.array([1.0, 0.0, 1.0, -1.0])


def pandas_with_repeated_names(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=["a", "b", "a", "c"], index=[7, 7, 8, 9, 7][: len(values)])


KINDS = {
    "numpy": np.array,
    "fortran": np.asfortranarray,
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "pandas": pandas_with_repeated_names,
    "polars": lambda values: pl.DataFrame(values, schema=["a", "b", "c", "d"]),
}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def dense(table: Any) -> np.ndarray:
    return table.toarray() if sparse.issparse(table) else np.asarray(table)


# -- kinds ---------------------------------------------------------------------------------------


def test_frames_are_told_apart() -> None:
    assert frame_kind(pd.DataFrame({"a": [1]})) == "pandas"
    assert frame_kind(pl.DataFrame({"a": [1]})) == "polars"
    for other in (VALUES, sparse.csr_array(VALUES), pd.Series([1]), pl.Series([1]), [[1]]):
        assert frame_kind(other) is None


def test_no_frame_library_is_imported_for_arrays(monkeypatch) -> None:
    for library in ("pandas", "polars"):
        monkeypatch.delitem(sys.modules, library)
    for table in (VALUES, sparse.csr_array(VALUES)):
        assert frame_kind(table) is None
        take_columns(stack_rows(take_rows(table, np.arange(2)), table), np.arange(2))
    assert not {"pandas", "polars"} & set(sys.modules)


# -- selecting -----------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [3, 1], [2], [1, 1, 4], []], ids=str)
def test_take_rows(make, rows) -> None:
    table = make(VALUES)
    rows = np.array(rows, dtype=int)
    part = take_rows(table, rows)
    assert type(part) is type(table)
    assert n_rows(part) == len(rows)
    np.testing.assert_array_equal(dense(part), VALUES[rows])


@every_kind
@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [0, 2], [3, 0], [1]], ids=str)
def test_take_columns(make, columns) -> None:
    table = make(VALUES)
    columns = np.array(columns)
    part = take_columns(table, columns)
    assert type(part) is type(table)
    np.testing.assert_array_equal(dense(part), VALUES[:, columns])
    if frame_kind(table) is not None:
        assert list(part.columns) == [table.columns[j] for j in columns]


@every_kind
def test_no_columns_give_an_array_without_columns(make) -> None:
    part = take_columns(make(VALUES), np.array([], dtype=int))
    assert isinstance(part, np.ndarray)
    assert part.shape == (5, 0)


@pytest.mark.parametrize(
    "make", [KINDS[k] for k in ("numpy", "fortran", "csr_matrix", "csr_array")]
)
@pytest.mark.parametrize("take", [take_columns, take_rows])
def test_selecting_everything_copies(make, take) -> None:
    table = make(VALUES)
    everything = np.arange(4 if take is take_columns else 5)
    part = take(table, everything)
    if sparse.issparse(part):
        part.data[:] = -5.0
    else:
        part[:] = -5.0
    np.testing.assert_array_equal(dense(table), VALUES)


@pytest.mark.parametrize("take", [take_columns, take_rows])
@pytest.mark.parametrize("everything", [True, False])
def test_writing_into_a_part_of_a_pandas_frame_leaves_the_frame(take, everything) -> None:
    table = pd.DataFrame(VALUES, columns=list("abcd"))
    whole = np.arange(4 if take is take_columns else 5)
    part = take(table, whole if everything else whole[1:3])
    part.iloc[0, 0] = -5.0
    part["b"] = -6.0
    np.testing.assert_array_equal(table, VALUES)
    # The values beneath are either a copy or cannot be written to.
    fresh = take(table, whole)
    beneath = fresh.to_numpy()
    assert not (beneath.flags.writeable and np.shares_memory(beneath, table.to_numpy()))


@pytest.mark.parametrize("take", [take_columns, take_rows])
def test_writing_into_a_part_of_a_polars_frame_leaves_the_frame(take) -> None:
    table = KINDS["polars"](VALUES)
    part = take(table, np.arange(4 if take is take_columns else 5))
    part[0, "a"] = -5.0
    np.testing.assert_array_equal(table.to_numpy(), VALUES)


@every_kind
@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [3, 1], [1, 1, 4], []], ids=str)
@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [3, 0], [1]], ids=str)
def test_take_cells(make, rows, columns) -> None:
    table = make(VALUES)
    rows, columns = np.array(rows, dtype=int), np.array(columns)
    part = take_cells(table, rows, columns)
    assert type(part) is type(table)
    np.testing.assert_array_equal(dense(part), VALUES[np.ix_(rows, columns)])
    # The same as one after the other.
    assert dense(part).dtype == dense(take_columns(take_rows(table, rows), columns)).dtype
    if frame_kind(table) is not None:
        assert list(part.columns) == [table.columns[j] for j in columns]


@every_kind
@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [3, 1], []], ids=str)
def test_no_cells_give_an_array_without_columns(make, rows) -> None:
    none = np.array([], dtype=int)
    part = take_cells(make(VALUES), np.array(rows, dtype=int), none)
    assert isinstance(part, np.ndarray)
    assert part.shape == (len(rows), 0)


@every_kind
def test_cells_are_a_copy(make) -> None:
    table = make(VALUES)
    part = take_cells(table, np.arange(5), np.arange(4))
    match frame_kind(table):
        case "pandas":
            part.iloc[:, :] = -5.0
            part.iloc[0, 0] = -6.0
        case "polars":
            part[0, "a"] = -5.0
        case _:
            (part.data if sparse.issparse(part) else part)[:] = -5.0
    np.testing.assert_array_equal(dense(table), VALUES)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, bool, object])
def test_cells_of_an_array_keep_their_dtype(dtype) -> None:
    assert take_cells(VALUES.astype(dtype), np.arange(2), np.arange(3)).dtype == dtype


def rich_pandas() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "whole": np.array([1, 2, 3], dtype=np.int16),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "kind": pd.Categorical(["x", "y", "x"], categories=["z", "y", "x"], ordered=True),
            "truth": [True, False, True],
            "word": ["p", "q", "r"],
            "single": np.array([0.5, np.nan, 2.0], dtype=np.float32),
            "day": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"]),
        }
    )


def rich_polars() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "whole": pl.Series([1, 2, 3], dtype=pl.Int16),
            "nullable": pl.Series([1, None, 3], dtype=pl.Int64),
            "maybe": pl.Series([True, None, False]),
            "kind": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
            "truth": [True, False, True],
            "word": ["p", "q", "r"],
            "single": pl.Series([0.5, None, 2.0], dtype=pl.Float32),
            "day": pl.Series(["2020-01-01", "2021-01-01", "2022-01-01"]).str.to_date(),
        }
    )


RICH = pytest.mark.parametrize("make", [rich_pandas, rich_polars], ids=["pandas", "polars"])


@RICH
def test_slices_of_frames_keep_names_and_dtypes(make) -> None:
    table = make()
    some = take_columns(table, np.array([3, 1, 6]))
    assert list(some.columns) == ["kind", "nullable", "single"]
    assert list(some.dtypes) == [table[name].dtype for name in some.columns]
    corner = take_cells(table, np.array([2, 0]), np.array([3, 1, 6]))
    assert list(corner.columns) == list(some.columns)
    assert list(corner.dtypes) == list(some.dtypes)
    assert list(corner["single"]) == [2.0, 0.5]
    below = take_rows(table, np.array([2, 0]))
    assert list(below.columns) == list(table.columns)
    assert list(below.dtypes) == list(table.dtypes)
    assert list(below["word"]) == ["r", "p"]


# -- the order of cells in memory ----------------------------------------------------------------


def test_columns_of_an_array_are_made_contiguous() -> None:
    table = by_column(VALUES)
    assert table.flags.f_contiguous
    np.testing.assert_array_equal(table, VALUES)
    assert by_column(table) is table
    # Parts of it, and rows below it, are in the same order.
    part = take_cells(table, np.array([3, 1, 1]), np.array([2, 0]))
    assert part.flags.f_contiguous
    assert stack_rows(part, take_cells(table, np.arange(5), np.array([2, 0]))).flags.f_contiguous


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("numpy", "fortran")])
def test_other_tables_stay_as_they_are(kind) -> None:
    table = KINDS[kind](VALUES)
    assert by_column(table) is table


def test_large_arrays_and_files_are_not_copied(tmp_path, monkeypatch) -> None:
    np.save(tmp_path / "table.npy", VALUES)
    from_file = np.load(tmp_path / "table.npy", mmap_mode="r")
    assert by_column(from_file) is from_file
    monkeypatch.setattr(_tables, "WHOLE", VALUES.size - 1)
    assert by_column(VALUES) is VALUES


# -- stacking ------------------------------------------------------------------------------------


@every_kind
def test_stack_rows(make) -> None:
    above, below = make(VALUES), make(VALUES[:2] + 100.0)
    both = stack_rows(above, below)
    assert type(both) is type(above)
    assert n_rows(both) == 7
    np.testing.assert_array_equal(dense(both), np.concatenate([VALUES, VALUES[:2] + 100.0]))
    if sparse.issparse(both):
        assert both.format == "csr"
    if frame_kind(both) is not None:
        assert list(both.columns) == list(above.columns)


@RICH
def test_stacked_frames_keep_dtypes(make) -> None:
    table = make()
    both = stack_rows(table, take_rows(table, np.array([1])))
    assert list(both.dtypes) == list(table.dtypes)
    assert list(both["word"]) == ["p", "q", "r", "q"]


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_whole_numbers_and_fractions_can_be_stacked(library) -> None:
    # Training rows that happen to be whole numbers, validation rows that are not.
    both = stack_rows(library.DataFrame({"a": [1, 2]}), library.DataFrame({"a": [0.5]}))
    assert list(both["a"]) == [1.0, 2.0, 0.5]


# -- numbers -------------------------------------------------------------------------------------


@RICH
def test_numeric_columns(make) -> None:
    table = make()
    found = numeric_columns(table)
    assert found.dtype == bool
    assert [name for name, yes in zip(table.columns, found, strict=True) if yes] == [
        "whole",
        "nullable",
        "single",
    ]
    assert numeric_columns(table[["word", "kind"]]).tolist() == [False, False]


def test_repeated_names_are_told_apart_by_place() -> None:
    table = pd.DataFrame([[1, "x", 2.5]], columns=["a", "a", "a"])
    assert numeric_columns(table).tolist() == [True, False, True]
    np.testing.assert_array_equal(to_array(table, np.array([0, 2])), [[1.0, 2.5]])


@RICH
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([0], [[1], [2], [3]]),
        ([1], [[1], [np.nan], [3]]),
        ([2], [[1], [np.nan], [0]]),
        ([4], [[1], [0], [1]]),
        ([6], [[0.5], [np.nan], [2.0]]),
        ([0, 4], [[1, 1], [2, 0], [3, 1]]),
        ([6, 4], [[0.5, 1], [np.nan, 0], [2.0, 1]]),
        ([2, 0, 6, 1], [[1, 1, 0.5, 1], [np.nan, 2, np.nan, np.nan], [0, 3, 2.0, 3]]),
    ],
    ids=str,
)
def test_to_array(make, columns, expected) -> None:
    found = to_array(make(), np.array(columns))
    assert isinstance(found, np.ndarray)
    assert found.dtype.kind in "fib"
    np.testing.assert_array_equal(found.astype(float), expected)


@RICH
def test_to_array_keeps_single_precision(make) -> None:
    assert to_array(make(), np.array([6])).dtype == np.float32
    assert to_array(make(), np.array([0])).dtype == np.int16


@RICH
def test_to_array_of_no_columns(make) -> None:
    assert to_array(make(), np.array([], dtype=int)).shape == (3, 0)


# -- replacing -----------------------------------------------------------------------------------


@RICH
def test_replace_columns(make) -> None:
    table = make()
    before = make()
    columns = np.array([6, 0, 1])
    values = np.array([[60.5, 10.5, 20.5], [61.5, 11.5, 21.5], [62.5, 12.5, 22.5]])
    found = replace_columns(table, columns, values)
    assert type(found) is type(table)
    assert list(found.columns) == list(table.columns)
    for k, j in enumerate(columns):
        column = found[table.columns[j]]
        assert list(column) == list(values[:, k])
        # Single precision stays what it was.
        assert ("loat32" if j == 6 else "loat64") in str(column.dtype)
    for j in np.setdiff1d(np.arange(8), columns):
        name = table.columns[j]
        assert found[name].dtype == table[name].dtype
        assert found[name].to_list()[::2] == table[name].to_list()[::2]
    # The frame that was given is as it was.
    assert table.equals(before)


@RICH
def test_replace_all_columns(make) -> None:
    table = make()[["whole", "single"]]
    found = replace_columns(table, np.array([1, 0]), np.array([[1.0, 2.0]] * 3))
    assert list(found.columns) == ["whole", "single"]
    np.testing.assert_array_equal(found.to_numpy(), [[2.0, 1.0]] * 3)


def test_replace_keeps_single_precision() -> None:
    values = np.ones((3, 1), dtype=np.float32)
    assert replace_columns(rich_pandas(), np.array([0]), values)["whole"].dtype == np.float32
    assert replace_columns(rich_polars(), np.array([0]), values)["whole"].dtype == pl.Float32


@pytest.mark.parametrize(("kind", "name"), [(pl, "columns"), (pl, "dtypes"), (pd, "dtypes")])
def test_names_and_dtypes_are_listed_a_few_times_whatever_the_width(
    kind, name, monkeypatch
) -> None:
    # A frame makes a new list of all of them each time.
    frame_type = kind.DataFrame
    plain, calls = getattr(frame_type, name).fget, []
    counted = property(lambda frame: calls.append(frame) or plain(frame))
    table = frame_type({f"c{j}": [float(j), 1.0] for j in range(50)})
    monkeypatch.setattr(frame_type, name, counted)
    replace_columns(table, np.arange(40), np.ones((2, 40)))
    assert len(calls) < 10


def test_replace_columns_with_repeated_names_and_index() -> None:
    table = pd.DataFrame(
        [[1, "x", 2, 3.0], [4, "y", 5, 6.0]],
        columns=pd.Index(["a", "a", "b", "a"], name="what"),
        index=pd.Index([9, 9], name="who"),
    )
    found = replace_columns(table, np.array([3, 0]), np.array([[30.0, 10.0], [60.0, 40.0]]))
    expected = pd.DataFrame(
        [[10.0, "x", 2, 30.0], [40.0, "y", 5, 60.0]], columns=table.columns, index=table.index
    )
    pd.testing.assert_frame_equal(found, expected)


# -- files, and what is larger than memory -------------------------------------------------------


def test_what_lies_in_a_file_is_known(tmp_path) -> None:
    path = tmp_path / "X.npy"
    np.save(path, VALUES)
    mapped = np.load(path, mmap_mode="r")
    for view in (mapped, np.asarray(mapped), mapped[1:, ::2], mapped.T, np.asarray(mapped)[:, 1:]):
        assert is_mapped(view)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages:
        bare = np.frombuffer(pages, dtype=np.uint8)
        assert is_mapped(bare)
        del bare
    for other in (VALUES, np.load(path), mapped.copy() + 0, mapped[[0, 1]], pd.DataFrame(VALUES)):
        assert not is_mapped(np.asarray(other) if isinstance(other, np.memmap) else other)


@given(n=st.integers(0, 500), n_columns=st.integers(1, 30), portion=st.integers(1, 400))
def test_portions_are_all_rows_in_turn(n: int, n_columns: int, portion: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tables, "PORTION", portion)
        parts = list(row_portions(n, n_columns))
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(n))
    assert all((p.stop - p.start) * n_columns <= max(portion, n_columns) for p in parts)


@pytest.mark.parametrize(
    "dtype, with_gap",
    [
        ("float64", False),
        ("float64", True),
        ("float32", False),
        ("float32", True),
        ("float16", False),
        ("int32", False),
        ("uint8", False),
    ],
)
def test_cells_are_scaled_as_the_whole_table_is(dtype: str, with_gap: bool, monkeypatch) -> None:
    monkeypatch.setattr(_tables, "PORTION", 9)
    values = np.random.default_rng(0).uniform(0, 200, (30, 4)).astype(dtype)
    if with_gap:
        values[17, 2] = np.nan
    scaler = StandardScaler().fit(values)
    whole = scaler.transform(values)
    lazy = ScaledArray(values, Standardizer().fit(values, None), whole.dtype)
    assert (lazy.shape, lazy.dtype) == (whole.shape, whole.dtype)
    rows, columns = np.array([3, 3, 29, 17]), np.array([2, 0])
    before = values.copy()
    for picked in (columns, columns[:0]):
        cells = take_cells(lazy, rows, picked)
        np.testing.assert_array_equal(cells, whole[rows][:, picked])
        assert cells.dtype == whole.dtype
    np.testing.assert_array_equal(value_range(lazy), (whole.min(), whole.max()))
    np.testing.assert_array_equal(values, before)


def test_range_of_values() -> None:
    for table in (VALUES, pd.DataFrame(VALUES), pl.DataFrame(VALUES)):
        assert value_range(table) == (-19.0, 18.0)
    assert value_range(VALUES + 100.0) == (0.0, 118.0)
    assert np.isnan(value_range(np.array([[1.0, np.nan]]))).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_cells_lie_in_the_order_of_the_array(order: Any) -> None:
    values = np.asarray(np.arange(60).reshape(10, 6), order=order)
    rows, columns = np.array([7, 2, 2]), np.array([5, 0])
    for X in (values, values[::2], values[:, ::-1]):
        cells = take_cells(X, rows % len(X), columns)
        assert cells.flags[f"{order}_CONTIGUOUS"]
        np.testing.assert_array_equal(cells, X[rows % len(X)][:, columns])

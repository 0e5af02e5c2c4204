"""Tables from files: what is read is what was written, and what cannot be read is named."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

import tiny_files
from randsub.cli.tables import TableError, read_table, write_table

KINDS = [".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".npz"]


def needs(suffix):
    if suffix in (".parquet", ".feather"):
        pytest.importorskip("pyarrow", reason="columnar files need pyarrow")


def text_file(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", KINDS)
def test_numbers_survive_to_the_last_bit(tmp_path, suffix):
    needs(suffix)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(7, 3)) * 10.0 ** rng.integers(-300, 300, (7, 3))
    values[2, 1] = np.nan
    frame = pd.DataFrame(values, columns=["a", "b c", "d,é"])
    path = tmp_path / f"t{suffix}"
    write_table(path, frame)
    assert_frame_equal(read_table(path), frame, check_exact=True)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", KINDS)
def test_target_and_names_of_rows(tmp_path, suffix):
    needs(suffix)
    frame = pd.DataFrame(
        {"a": [1.5, 2.0], "kind": ["no", "yes"]}, index=pd.Index(["first", "second"])
    )
    path = tmp_path / f"t{suffix}"
    write_table(path, frame, target="kind")
    read = read_table(path)
    if suffix == ".feather":
        read = read.set_index("row")
    assert list(read.index) == ["first", "second"]
    assert list(read.columns) == ["a", "kind"]
    assert read["kind"].tolist() == ["no", "yes"]
    assert_array_equal(read["a"], [1.5, 2.0])


@given(
    st.lists(
        st.lists(
            st.one_of(st.floats(allow_nan=False), st.integers(-(2**53), 2**53)),
            min_size=3,
            max_size=3,
        ),
        min_size=1,
        max_size=5,
    ),
    st.lists(
        st.text(st.characters(codec="utf-8", categories=["L", "P", "S"]), min_size=1, max_size=8),
        min_size=3,
        max_size=3,
        unique=True,
    ),
)
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_names_and_numbers_survive(tmp_path, rows, names):
    frame = pd.DataFrame(np.array(rows, dtype=float), columns=pd.Index(["x", *names[1:]]))
    if not frame.columns.is_unique:
        return
    path = tmp_path / "t.csv"
    write_table(path, frame)
    assert_array_equal(read_table(path).to_numpy(dtype=float), frame.to_numpy())
    assert list(read_table(path).columns) == list(frame.columns)


@pytest.mark.parametrize("row_names", [False, True])
def test_wide_tables_survive(tmp_path, row_names):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(4, 2500)))
    frame.columns = [f"c{j}" for j in range(2500)]
    frame["text"] = ["u", "v", "w", "u"]
    frame.loc[1, "c7"] = np.nan
    if row_names:
        frame.index = pd.Index(["r1", "r2", "r3", "r4"])
    path = tmp_path / "t.csv"
    write_table(path, frame)
    assert_frame_equal(read_table(path), frame, check_exact=True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is empty"),
        ("\n\n", "it is empty"),
        ("a,b\n", "it has a header and no rows"),
        ("a,b\n1,2\n3\n", "line 3 has 1 value(s), but the header has 2 column(s)"),
        ("a,b\n1,2\n\n3,4,5\n", "line 4 has 3 value(s)"),
        ("a,b\n1,2,3\n4,5,6\n", "line 2 has 3 value(s)"),
        ('a,b\n"1,2",3\n"x\ny",4\n5\n', "line 5 has 1 value(s)"),
        ("a,b,a\n1,2,3\n", "several columns named 'a'"),
        ("a, a\n1,2\n", "several columns named 'a'"),
        ("a,,b\n1,2,3\n", "column 2 has no name"),
        ("1,2\n3,4\n", "its first line holds numbers (1, 2)"),
        ("a;b\n1;2\n", "separated by ';' and not by ','; use --separator ';'"),
    ],
    ids=range(12),
)
def test_what_is_wrong_with_text_is_named(tmp_path, text, told):
    path = text_file(tmp_path, text)
    with pytest.raises(TableError) as error:
        read_table(path)
    assert told in str(error.value)
    assert str(error.value).startswith(f"{path}: ")


def test_separators(tmp_path):
    expected = pd.DataFrame({"a": [1], "b": [2]})
    assert_frame_equal(read_table(text_file(tmp_path, "a;b\n1;2\n"), ";"), expected)
    assert_frame_equal(read_table(text_file(tmp_path, "\ufeffa,b\r\n1,2\r\n")), expected)
    assert_frame_equal(read_table(text_file(tmp_path, "\na,b\n1,2\n")), expected)
    with pytest.raises(ValueError, match="single character"):
        read_table(text_file(tmp_path, "a;b\n1;2\n"), ";;")


def test_a_name_less_first_column_holds_names_of_rows(tmp_path):
    frame = read_table(text_file(tmp_path, ",a\nu,1\nv,2\n"))
    assert list(frame.index) == ["u", "v"]
    assert list(frame.columns) == ["a"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("t.csv", b"PAR1xxxxPAR1", "named as csv, but its content is parquet"),
        ("t.csv", b"PK\x03\x04xxxx", "named as csv, but its content is a zip archive"),
        ("t.csv", gzip.compress(b"a,b\n1,2\n"), "named as csv, but its content is a gzip archive"),
        ("t.csv", b"a,b\n\x00\x01,2\n", "something other than text"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16"), "text in UTF-16"),
        ("t.csv", b"a,b\n1,2\n\xe9,3\n", "line 3 is not text in UTF-8"),
        ("t.csv.gz", b"a,b\n1,2\n", "named as csv (gzip), but its content is text"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 100)[:-10], "it cannot be read"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n")[:10] + b"\xff" * 20, "it cannot be read"),
        ("t.parquet", b"a,b\n1,2\n", "named as parquet, but its content is text"),
        ("t.feather", b"a,b\n1,2\n", "named as feather, but its content is text"),
        ("t.npz", b"a,b\n1,2\n", "named as npz, but its content is text"),
        ("t.npz", b"PK\x03\x04" + b"x" * 50, "cannot be read as .npz"),
        ("t.xlsx", b"PK\x03\x04", "its name does not tell its format"),
        ("t", b"a,b\n1,2\n", "its name does not tell its format"),
        ("t.parquet.gz", b"", "its name does not tell its format"),
        ("t.npz", b"", "it is empty"),
    ],
    ids=range(17),
)
def test_files_that_are_not_what_their_names_say(tmp_path, name, content, told):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TableError) as error:
        read_table(path)
    assert told in str(error.value)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("keep", [10, -20])
def test_cut_columnar_files(tmp_path, suffix, keep):
    needs(suffix)
    path = tmp_path / f"t{suffix}"
    write_table(path, pd.DataFrame({"a": range(100)}))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(TableError, match=f"cannot be read as {suffix[1:]}"):
        read_table(path)


def test_a_columnar_file_with_damaged_notes_for_pandas(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="columnar files need pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"a": [1, 2]}).replace_schema_metadata({"pandas": "{no json"})
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(TableError, match="cannot be read as parquet"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_pyarrow_is_asked_for(tmp_path, monkeypatch, suffix):
    magic = {".parquet": b"PAR1", ".feather": b"ARROW1"}[suffix]
    path = tmp_path / f"t{suffix}"
    path.write_bytes(magic + b"\0" * 50)
    for module in ("pyarrow", "pyarrow.feather", "pyarrow.parquet"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ImportError, match=r"pip install randsub\[parquet\]"):
        read_table(path)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path / "t.csv")


def test_archives_of_the_loaders(tmp_path):
    arrays = tiny_files.tabular()
    frame = read_table(tiny_files.save(tmp_path / "t.npz", arrays))
    assert list(frame.columns) == ["size", "colour", "weight", "kind", "price"]
    levels = json.loads(str(arrays["category_levels_json"]))["colour"]
    assert frame["colour"].tolist() == [levels[int(code)] for code in arrays["X"][:, 1]]
    assert_array_equal(frame["size"], arrays["X"][:, 0])
    assert_array_equal(frame["price"], arrays["y"])

    frame = read_table(tiny_files.save(tmp_path / "g.npz", tiny_files.genomic({1: 3, 2: 4})))
    assert list(frame.columns) == [*(f"x{j}" for j in range(7)), "y"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"X": np.zeros(3)}, "X should be a matrix of numbers"),
        ({"X": np.array([["a"]])}, "X should be a matrix of numbers"),
        ({"y": np.zeros(3)}, "y should have 40 entries"),
        ({"feature_names": np.array(["a", "a", "b", "c"])}, "several columns named 'a'"),
        ({"category_levels_json": np.array("{}")}, "category_levels_json does not list"),
    ],
    ids=range(5),
)
def test_archives_that_do_not_fit_together(tmp_path, changes, told):
    path = tiny_files.save(tmp_path / "t.npz", tiny_files.tabular() | changes)
    with pytest.raises(TableError) as error:
        read_table(path)
    assert told in str(error.value)


def test_archive_without_features(tmp_path):
    path = tiny_files.save(tmp_path / "t.npz", {"XLS": np.zeros((2, 2))})
    with pytest.raises(TableError, match="it has no array X, only XLS; an"):
        read_table(path)


@pytest.mark.parametrize("n_columns", [3, 2500])
def test_large_whole_numbers_are_read_to_the_last_digit(tmp_path, n_columns):
    labels = [2**53, 2**53 + 1, 2**60 + 1]
    names = ",".join(["id", *(f"c{j}" for j in range(n_columns - 1))])
    rows = [",".join([str(label), *["0.5"] * (n_columns - 1)]) for label in labels]
    (tmp_path / "t.csv").write_text("\n".join([names, *rows]) + "\n")
    assert read_table(tmp_path / "t.csv")["id"].tolist() == labels


@pytest.mark.parametrize(
    "text",
    ["a,b\r1,2\r3,4\r", 'a,b\n1,"' + "2" * 200_000 + '"\n'],
    ids=["lines of old Macs", "a field without end"],
)
def test_text_that_the_csv_reader_refuses(tmp_path, text):
    (tmp_path / "t.csv").write_bytes(text.encode())
    with pytest.raises(TableError, match="cannot be read as a table"):
        read_table(tmp_path / "t.csv")

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
from randsub.cli.tables import Layout, TableError, read_table, write_table

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
    assert_frame_equal(read_table(text_file(tmp_path, "a;b\n1;2\n"), Layout(";")), expected)
    assert_frame_equal(read_table(text_file(tmp_path, "\ufeffa,b\r\n1,2\r\n")), expected)
    assert_frame_equal(read_table(text_file(tmp_path, "\na,b\n1,2\n")), expected)
    with pytest.raises(ValueError, match="single character"):
        read_table(text_file(tmp_path, "a;b\n1;2\n"), Layout(";;"))


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
        ("t.csv", "a,b\n1,2\n".encode("utf-16") + b"x", "line 3 is not text in UTF-16-LE"),
        ("t.csv", b"a,b\n1,2\n\xe9,3\n", "line 3 is not text in UTF-8"),
        ("t.csv.gz", b"a,b\n1,2\n", "named as csv (gzip), but its content is text"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 100)[:-10], "it cannot be read"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n")[:10] + b"\xff" * 20, "it cannot be read"),
        ("t.parquet", b"a,b\n1,2\n", "named as parquet, but its content is text"),
        ("t.feather", b"a,b\n1,2\n", "named as feather, but its content is text"),
        ("t.npz", b"a,b\n1,2\n", "named as npz, but its content is text"),
        ("t.npz", b"PK\x03\x04" + b"x" * 50, "cannot be read as .npz"),
        ("t.xlsx", b"PK\x03\x04", "save the sheet as csv (in UTF-8), and use that file"),
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
    ("text", "told"),
    [
        ("a,b\r1,2\r3,4\r", "cannot be read as a table"),
        ('a,b\n1,"' + "2" * 200_000 + '"\n', "line 2 has a value of more than 131,072 characters"),
    ],
    ids=["lines of old Macs", "a field without end"],
)
def test_text_that_the_csv_reader_refuses(tmp_path, text, told):
    (tmp_path / "t.csv").write_bytes(text.encode())
    with pytest.raises(TableError, match=told):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_byte_order_marks(tmp_path, encoding, suffix):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    data = f"{mark}é,b\r\n1,2\r\n".encode(encoding)
    path = tmp_path / f"t{suffix}"
    path.write_bytes(gzip.compress(data) if suffix == ".csv.gz" else data)
    assert_frame_equal(read_table(path), pd.DataFrame({"é": [1], "b": [2]}))


# -- decimal commas ------------------------------------------------------------------------------


@pytest.mark.parametrize("decimal", [None, ","])
@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_decimal_commas_are_read_to_the_last_bit(tmp_path, decimal, separator):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20, 3)) * 10.0 ** rng.integers(-300, 300, (20, 3))
    values[3, 1] = np.nan
    frame = pd.DataFrame(values, columns=["a", "b", "c"]).assign(n=range(20), text="x,y")
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False, sep=separator, decimal=",")
    told = []
    read = read_table(path, Layout(separator, decimal), told.append)
    assert_frame_equal(read, frame, check_exact=True, check_dtype=False)
    assert len(told) == (decimal is None)
    if told:
        assert told[0].startswith(f"{path}: read with decimal commas, as in ")
        assert told[0].endswith("in column 'a'; override with --decimal .")
    assert read_table(path, Layout(separator, "."))["a"].iloc[0] != frame["a"].iloc[0]


@pytest.mark.parametrize(
    ("column", "other", "is_decimal"),
    [
        (["1,5", "2", "-3,25e4"], ["1", "2", "3"], True),
        (["0,123", "1,123", "2,123"], ["1", "2", "3"], True),
        (["1,234", "5,678", "9,012"], ["1", "2", "3"], False),
        (["1,5", "2,5", "3,5"], ["0.5", "1.5", "2.5"], False),
        (["1,5", "red", "blue"], ["1", "2", "3"], False),
        (["1,5,2", "1,5,3", "1,5,4"], ["1", "2", "3"], False),
        (["x,1", "x,2", "x,3"], ["1", "2", "3"], False),
    ],
    ids=["decimals", "a zero before", "thousands", "points, too", "words", "lists", "codes"],
)
def test_when_commas_are_decimal(tmp_path, column, other, is_decimal):
    path = tmp_path / "t.csv"
    pd.DataFrame({"c": column, "other": other}).to_csv(path, index=False, sep=";")
    told = []
    frame = read_table(path, Layout(";"), told.append)
    assert bool(told) == is_decimal
    if is_decimal:
        expected = [float(text.replace(",", ".")) for text in column]
        assert_array_equal(frame["c"], expected)
    else:
        assert frame["c"].tolist() == column


def test_a_cell_among_decimal_commas_that_is_not_a_number(tmp_path):
    values = [f"{j},5" for j in range(30)]
    values[20] = "?"
    path = tmp_path / "t.csv"
    pd.DataFrame({"c": values}).to_csv(path, index=False, sep=";")
    for layout in (Layout(";"), Layout(";", ",")):
        column = read_table(path, layout)["c"]
        assert column.tolist() == [text.replace(",", ".") for text in values]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30))
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_number_survives_decimal_commas(tmp_path, values):
    frame = pd.DataFrame({"a": values, "b": 0.5})
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",")
    for layout in (Layout(";"), Layout(";", ",")):
        assert_array_equal(read_table(path, layout).to_numpy(dtype=float), frame.to_numpy())


# -- samples in columns --------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", KINDS)
def test_a_transposed_table(tmp_path, suffix):
    needs(suffix)
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(4, 3)), columns=["g1", "g2", "g3"]
    ).set_axis(["s1", "s2", "s3", "s4"])
    path = tmp_path / f"t{suffix}"
    write_table(path, frame.T)
    read = read_table(path, Layout(transpose=True))
    assert_frame_equal(read, frame, check_exact=True, check_names=False)


def test_a_transposed_table_of_numbers_and_text(tmp_path):
    text = "gene;s1;s2;s3\ng1;0,5;1,5;2\nkind;cat;dog;cat\n"
    frame = read_table(text_file(tmp_path, text), Layout(";", transpose=True))
    assert list(frame.index) == ["s1", "s2", "s3"]
    assert_array_equal(frame["g1"], [0.5, 1.5, 2.0])
    assert frame["kind"].tolist() == ["cat", "dog", "cat"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gene,s1,s2\na,1,2\na,3,4\n", "several columns named 'a'"),
        ("gene,s1,s2\na,1\n", "line 2 has 2 value(s)"),
        ("a,0.5,1.5\nb,3,4\n", "its first line holds values (a, 0.5, 1.5) instead of names of"),
        ("", "it is empty"),
    ],
    ids=range(4),
)
def test_what_is_wrong_with_a_transposed_table(tmp_path, text, told):
    with pytest.raises(TableError) as error:
        read_table(text_file(tmp_path, text), Layout(transpose=True))
    assert told in str(error.value)


def test_a_header_of_numbers_may_be_transposed(tmp_path):
    with pytest.raises(TableError, match=r"transposed\? If samples are in columns"):
        read_table(text_file(tmp_path, ",0,1\na,1,2\nb,3,4\n"))

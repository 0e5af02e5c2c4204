"""Files as users have them: what is said, the exit code, and that nothing is done in silence.

The page docs/howto/command_line.md has the same cases in a table.
"""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from cli_words import TINY
from randsub.cli import main
from randsub.cli.main import Exit
from randsub.estimators.prs import BasePRS
from randsub.io import ModelFolder

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "command_line.md"
ROWS = 40
FIT = ["--target", "y", *TINY]


def table(rows=ROWS):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)).round(4), columns=["a", "b", "c"])
    return frame.assign(y=(2.0 * frame["a"] + frame["b"]).round(4))


def workbook(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")


def text(frame, **how):
    return frame.to_csv(index=False, **how)


# A file by name and how to write it, further words, and what is said about it.
REFUSED = {
    "semicolons": (
        lambda: text(table(), sep=";", decimal=","),
        [],
        "its columns seem to be separated by ';' and not by ','; use --separator ';'",
    ),
    "decimal commas between commas": (
        lambda: "a,y\n0,5,1,5\n",
        [],
        "line 2 has 4 value(s), but the header has 2 column(s); every row needs one value per "
        "column; if these are decimal commas, separate the columns by another character",
    ),
    "decimal commas, with --decimal .": (
        lambda: text(table(), sep=";", decimal=","),
        ["--separator", ";", "--decimal", "."],
        "the target 'y' holds numbers, but has '0,1193' in row 1; use --decimal , if the comma is "
        "a decimal mark, or use --task classification if these are classes",
    ),
    "thousands separators": (
        lambda: text(table().assign(y=[f"{j},5{j:02}" for j in range(1, ROWS + 1)]), sep=";"),
        ["--separator", ";"],
        "the target 'y' holds numbers, but has '1,501' in row 1; use --decimal , if the comma is a "
        "decimal mark, or remove the thousands separators, or use --task classification",
    ),
    "units": (
        lambda: text(table().assign(y=lambda f: f["y"].map("{} kg".format))),
        [],
        "the target 'y' holds numbers, but has '0.1193 kg' in row 1; remove 'kg' from its values",
    ),
    "a mark for missing values": (
        lambda: text(table().assign(y=lambda f: [*f["y"].astype(str)[:-1], "?"])),
        [],
        "the target 'y' holds numbers, but has '?' in row 40; correct it, or use --task "
        "classification if these are classes",
    ),
    "transposed": (
        lambda: table().T.rename_axis("feature").add_prefix("s").to_csv(),
        [],
        "there is no column 'y', which --target asks for; transposed? 'y' is the name of a row; "
        "add or remove --transpose",
    ),
    "transposed, with numbers as names": (
        lambda: table().T.to_csv(),
        [],
        "its first line holds numbers (, 0, 1, 2, 3) instead of column names; add a line with "
        "names; transposed? If samples are in columns and features in rows, use --transpose",
    ),
    "index columns alone": (
        lambda: text(table()[["y"]].assign(id=range(ROWS))),
        [],
        "all columns besides the target 'y' number or name the rows; use --keep if they are",
    ),
    "mixed types": (
        lambda: text(table().assign(c=lambda f: [*f["c"].astype(str)[:-1], "n.a.?"])),
        [],
        "column 'c' holds numbers, but has 'n.a.?' in row 40; correct it, or treat the column as "
        "categories with --categorical c",
    ),
    "duplicated names": (
        lambda: "a,a,y\n1,2,3\n",
        [],
        "it has several columns named 'a'; rename or remove them",
    ),
    "a million characters": (
        lambda: text(table()) + f'1,2,"{"x" * 1_000_000}",4\n',
        [],
        "line 42 has a value of more than 131,072 characters; close its quotation marks, or remove",
    ),
    "an empty file": (lambda: "", [], "it is empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_are_refused(case, tmp_path, monkeypatch, capsys):
    make, words, told = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(BasePRS, "fit", lambda *_, **__: pytest.fail("training began"))
    Path("d.csv").write_text(make())
    assert main(["fit", "d.csv", *FIT, "-o", "m", *words, "--json", "-q"]) == Exit.ERROR == 1
    out, err = capsys.readouterr()
    assert err.startswith("randsub: error: d.csv: ")
    assert err.count("\n") == 1
    assert told in err
    assert not err.rstrip("\n").endswith("?.")
    document = json.loads(out)
    assert document["exit_code"] == 1
    assert f"randsub: error: {document['error']}\n" == err
    assert not Path("m").exists()


def test_spreadsheets_are_refused_by_name_and_by_content(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, told in (
        ("d.xlsx", "a spreadsheet is not a table file; open it in its program, save the sheet as"),
        ("d.csv", "but its content is a zip archive (npz, xlsx); rename it or, if it is a spread"),
    ):
        workbook(name)
        assert main(["fit", name, *FIT, "-o", "m"]) == Exit.ERROR
        assert told in capsys.readouterr().err


# How to write the same data, further words, and what is said; the model is that of the plain table.
TAKEN = {
    "decimal commas": (
        lambda: text(table(), sep=";", decimal=",").encode(),
        ["--separator", ";"],
        "d.csv: read with decimal commas, as in '0,1257' in column 'a'; override with --decimal .",
    ),
    "transposed": (
        lambda: table().T.rename_axis("feature").add_prefix("s").to_csv().encode(),
        ["--transpose"],
        "d.csv: the rows have names (s0, s1, s2, ...), which are not features.",
    ),
    "Unnamed: 0": (
        lambda: text(table().reset_index(names="Unnamed: 0")).encode(),
        [],
        "d.csv: left out 'Unnamed: 0' (integers in constant steps: 0, 1, 2, ...); to use a column "
        "as a feature, name it with --keep.",
    ),
    "identifiers": (
        lambda: text(table().assign(who=[f"P{j}" for j in range(ROWS)])).encode(),
        [],
        "d.csv: left out 'who' (a different value in each row: P0, P1, P2, ...); to use a column "
        "as a feature, name it with --keep.",
    ),
    "byte order mark": (lambda: text(table()).encode("utf-8-sig"), [], ""),
    "UTF-16": (lambda: text(table()).encode("utf-16"), [], ""),
    "Windows line ends": (lambda: text(table(), lineterminator="\r\n").encode(), [], ""),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    (folder / "d.csv").write_text(text(table()))
    assert main(["fit", str(folder / "d.csv"), *FIT, "-o", str(folder / "m"), "-q"]) == Exit.DONE
    return ModelFolder.read(folder / "m").model


@pytest.mark.parametrize("case", TAKEN)
def test_files_that_are_taken_give_the_model_of_the_plain_table(
    case, plain, tmp_path, monkeypatch, capsys
):
    make, words, told = TAKEN[case]
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_bytes(make())
    assert main(["fit", "d.csv", *FIT, "-o", "m", *words, "--json"]) == Exit.DONE == 0
    out, err = capsys.readouterr()
    lines = err.splitlines()
    if told:
        assert lines.pop(0) == told
    assert lines[0] == "d.csv: 40 rows, 3 features, target 'y'."
    assert json.loads(out)["features"] == 3
    model = ModelFolder.read("m").model
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert_array_equal(model.alpha_, plain.alpha_)
    # The folder remembers how the table was laid out.
    assert main(["predict", "m", "d.csv", "-o", "p.csv"]) == Exit.DONE
    expected = plain.predict(table().drop(columns="y"))
    assert_array_equal(pd.read_csv("p.csv")["prediction"], expected)
    assert main(["report", "m", "--no-compare", "-q"]) == Exit.DONE
    assert main(["select", "m", "d.csv", "--threshold", "0", "-o", "s.csv", "-q"]) == Exit.DONE
    selected = pd.read_csv("s.csv").filter(["a", "b", "c", "y"])
    pd.testing.assert_frame_equal(selected[list(table().columns)], table(), check_exact=True)


def test_index_columns_are_remembered_and_kept_on_request(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = table().assign(id=range(ROWS), year=range(1980, 1980 + ROWS))
    frame.to_csv("d.csv", index=False)
    assert main(["fit", "d.csv", *FIT, "-o", "m", "--json"]) == Exit.DONE
    out, err = capsys.readouterr()
    assert json.loads(out)["left_out"] == {"id": "integers in constant steps: 0, 1, 2, ..."}
    assert "d.csv: 'year' numbers the rows in constant steps and is kept as a time" in err
    assert ModelFolder.read("m").facts["extra"]["left_out"] == json.loads(out)["left_out"]
    # A new table without the column, and one where it is not regular.
    frame.drop(columns="id").to_csv("without.csv", index=False)
    frame.assign(id=7).to_csv("other.csv", index=False)
    for name in ("without", "other"):
        assert main(["predict", "m", f"{name}.csv", "-o", f"p_{name}.csv", "-q"]) == Exit.DONE
    assert Path("p_without.csv").read_text() == Path("p_other.csv").read_text()
    words = ["fit", "d.csv", *FIT, "-o", "kept", "-q", "--keep", "id", "--drop", "year"]
    assert main(words) == Exit.DONE
    model = ModelFolder.read("kept").model
    assert_array_equal(model.feature_names_in_, ["a", "b", "c", "id"])
    assert main([*words[:-4], "--force", "--keep", "ids"]) == Exit.ERROR
    assert "no column 'ids', which --keep asks for; did you mean 'id'?\n" in capsys.readouterr().err


def test_an_index_is_not_selected(tmp_path, monkeypatch, capsys):
    """The target follows the row number, which the selection would find if it were a feature."""
    monkeypatch.chdir(tmp_path)
    frame = table()
    (frame.assign(id=range(ROWS), y=frame["a"] + 0.1 * np.arange(ROWS))).to_csv(
        "d.csv", index=False
    )
    words = ["--epochs", "20", "--param", "learning_rate=0.05", "--param", "n_batches=2"]
    assert main(["fit", "d.csv", *FIT, *words, "-o", "m", "-q"]) == Exit.DONE
    words = ["select", "m", "d.csv", "--fdr", "0.9", "-o", "s.csv", "--json", "-q"]
    main(words)
    assert "id" not in json.loads(capsys.readouterr().out).get("selected", [])


def test_validation_tables_are_read_in_the_same_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().assign(id=range(ROWS)).to_csv("d.csv", index=False, sep=";", decimal=",")
    table(20).to_csv("v.csv", index=False, sep=";", decimal=",")
    words = ["--separator", ";", "--validation", "v.csv", "-q"]
    assert main(["fit", "d.csv", *FIT, "-o", "m", *words]) == Exit.DONE


def test_genes_in_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(8, 12)), columns=[f"G{j}" for j in range(12)])
    frame.index = pd.Index([f"s{j}" for j in range(8)])
    frame.to_csv("samples.csv")
    frame.T.rename_axis("gene").to_csv("genes.csv")
    words = ["--lam", "0", "--epochs", "1", "--base", "ridge", "--param", "n_estimators=5"]
    words += ["--param", "engine=generic"]
    assert main(["network", "samples.csv", "-o", "one.csv", *words, "-q"]) == Exit.DONE
    assert main(["network", "genes.csv", "--transpose", "-o", "two.csv", *words, "-q"]) == Exit.DONE
    assert Path("one.csv").read_text() == Path("two.csv").read_text()
    capsys.readouterr()
    assert main(["network", "genes.csv", "-o", "three.csv", *words]) == Exit.DONE
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == (
        "genes.csv: transposed? It has 12 rows with names, such as 'G0', and 8 columns of values. "
        "If genes are in rows, use --transpose."
    )
    assert lines[1].startswith("genes.csv: left out 'gene' (a different value in each row: G0, G1")
    words += ["--regulators", "G1"]
    assert main(["network", "genes.csv", "-o", "four.csv", *words]) == Exit.ERROR
    assert "--regulators asks for; transposed? 'G1' is the name" in capsys.readouterr().err


def test_a_decimal_mark_is_a_point_or_a_comma(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["fit", "d.csv", *FIT, "-o", "m", "--decimal", ";"])
    assert stop.value.code == Exit.USAGE
    assert "';' is not a decimal mark; write . or ," in capsys.readouterr().err


def test_a_number_out_of_range_is_told_in_plain_words(capsys):
    with pytest.raises(SystemExit):
        main(["select", "m", "d.csv", "-o", "s.csv", "--threshold", "2"])
    assert "'2' is not a number between 0 and 1\n" in capsys.readouterr().err


def test_through_a_pipe(tmp_path):
    """What is guessed is told beside the predictions, not among them."""
    (tmp_path / "d.csv").write_text(text(table(), sep=";", decimal=","))
    command = [sys.executable, "-m", "randsub"]
    words = ["fit", "d.csv", *FIT, "-o", "m", "-q", "--separator", ";"]
    subprocess.run([*command, *words], cwd=tmp_path, check=True)
    answer = subprocess.run(
        [*command, "predict", "m", "d.csv"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert len(answer.stdout.splitlines()) == ROWS + 1
    assert "read with decimal commas" in answer.stderr


SPREADSHEET = (None, [], "a spreadsheet is not a table file; open it in its program, save the")
CASES = {f"{name} (1)": case for name, case in (REFUSED | {"xlsx": SPREADSHEET}).items()}
CASES |= {f"{name} (0)": case for name, case in TAKEN.items()}


def test_the_page_has_these_cases_and_no_others():
    lines = [line for line in PAGE.read_text().splitlines() if " | `fit" in line]
    listed = {}
    for file, options, said, code in (line.strip("| ").split(" | ") for line in lines):
        listed[f"{file} ({code})"] = options, said
    assert listed.keys() == CASES.keys()
    for name, (options, said) in listed.items():
        _, words, told = CASES[name]
        assert options == "`" + " ".join(["fit", *words]).replace(";", "';'") + "`"
        assert said in told or (not told and said == "nothing")

"""Files that were cut, changed or made up: what was written, or an error that names the file."""

import functools
import io
import json
import shutil
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from flat_parameters import flat
from hardening.tally import Tally, tries
from hardening.verdict import Hang, strictly, watchdog
from randsub import PRSClassifier, PRSRegressor
from randsub.callbacks import Checkpoint
from randsub.cli import main
from randsub.cli.main import Exit
from randsub.cli.tables import TableError, read_table, write_table
from randsub.exceptions import CheckpointError, ModelFormatError, UntrustedTypesError
from randsub.io import ModelFolder, load, save

X = np.random.default_rng(0).normal(size=(24, 3))
Y = X[:, 0]
SMALL: dict[str, Any] = {"n_estimators": 3, "max_iter": 4, "n_revivals": 0, "random_state": 0}
FRAME = pd.DataFrame({"a": [1.5, -2.0, np.nan], "b": [1, 2, 3], "c": ["x", "y", "x"]})


@st.composite
def damaged(draw: Any, whole: bytes) -> bytes:
    """The content of a file after something has gone wrong with it."""
    place = draw(st.integers(0, len(whole) - 1))
    length = draw(st.integers(1, 64))
    match draw(st.sampled_from(["cut", "flip", "overwrite", "drop", "insert", "zeros", "append"])):
        case "cut":
            return whole[:place]
        case "flip":
            bit = 1 << draw(st.integers(0, 7))
            return whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :]
        case "overwrite":
            piece = draw(st.binary(min_size=1, max_size=64))
            return whole[:place] + piece + whole[place + len(piece) :]
        case "drop":
            return whole[:place] + whole[place + length :]
        case "insert":
            return whole[:place] + draw(st.binary(min_size=1, max_size=64)) + whole[place:]
        case "zeros":
            return whole[:place] + bytes(length) + whole[place + length :]
        case _:
            return whole + draw(st.binary(min_size=1, max_size=64))


def refused(refusal: Exception, named: str) -> str:
    """The outcome of a refusal, which must name the file."""
    assert named in str(refusal)
    return "refused"


# -- tables of the command line ------------------------------------------------------------------

ODD = ["", "NA", "nan", "inf", "1e999", "9" * 30, '"', '"a,b"', "'", " ", "0x1", "\t", ";", "\\"]
ODD += ["é", "\u2028", "\x0b", "\x00", "1_000", "True", "None", "=1+1", "#", "\r"]
NUMBERS = st.floats(-9, 9, width=16).map(str)
CELLS = NUMBERS | NUMBERS | st.sampled_from(["1", "red", *ODD])
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])
BYTES = st.binary(max_size=60)


@st.composite
def texts(draw: Any) -> bytes:
    """A table of text, most of it numbers; sometimes with rows of other lengths, or no table."""
    how = draw(st.sampled_from(["right", "odd cells", "odd rows", "bytes"]))
    if how == "bytes":
        return draw(BYTES | st.text(max_size=60).map(lambda t: t.encode("utf-8", "surrogatepass")))
    row = {
        "right": st.lists(NUMBERS, min_size=3, max_size=3),
        "odd cells": st.lists(CELLS, min_size=3, max_size=3),
        "odd rows": st.lists(CELLS, min_size=1, max_size=4),
    }[how]
    rows = [",".join(cells) for cells in draw(st.lists(row, min_size=3, max_size=6))]
    end = draw(ENDS)
    return (end.join(["a,b,c", *rows]) + end).encode()


def read_or_refuse(path: Path) -> str:
    """Read a table; it is whole, or the error names the file."""
    with watchdog(), strictly():
        try:
            frame = read_table(path)
        except TableError as refusal:
            return refused(refusal, f"{path}: ")
    assert frame.shape[0] >= 1
    assert frame.shape[1] >= 1
    assert frame.columns.is_unique
    assert all(isinstance(name, str) for name in frame.columns)
    return "read"


def told_in_one_line(path: Path, capsys: Any) -> str:
    """Fit to a table at the command line: a model, or an error of one line without a traceback."""
    words = ["fit", str(path), "--target", "a", "--base", "ridge", "--epochs", "1"]
    words += ["--members", "2", "-q", "-o", str(path.parent / "model")]
    with watchdog():
        code = main(words)
    out, err = capsys.readouterr()
    assert out == ""
    if code == Exit.DONE:
        shutil.rmtree(path.parent / "model")
        return "fitted"
    assert code == Exit.ERROR
    lines = err.splitlines()
    assert lines[-1].startswith("randsub: error: ")
    # What is our own says so itself; anything else is shown with its name, and --debug.
    assert "--debug" not in err, err
    return "refused"


@pytest.mark.subject("tables of text")
@given(content=texts(), name=st.sampled_from(["t.csv", "t.csv", "t.tsv"]))
@tries("tables of text")
def test_tables_of_text(tmp_path: Path, capsys: Any, tally: Tally, content: bytes, name: str):
    path = tmp_path / name
    path.write_bytes(content)
    outcome = read_or_refuse(path)
    if outcome == "read" and told_in_one_line(path, capsys) == "fitted":
        outcome = "fitted"
    tally.add(outcome)


@functools.cache
def table(suffix: str) -> bytes:
    """A table in a file of some kind."""
    path = Path(f"t{suffix}")
    frame = FRAME.drop(columns="c") if suffix == ".npz" else FRAME
    write_table(path, frame, target="b" if suffix == ".npz" else None)
    content = path.read_bytes()
    path.unlink()
    return content


@pytest.mark.subject("tables in binary files")
@given(data=st.data(), suffix=st.sampled_from([".npz", ".csv.gz", ".parquet", ".feather"]))
@tries("tables in binary files")
def test_tables_in_binary_files(tmp_path, monkeypatch, tally: Tally, data: Any, suffix: str):
    if suffix in (".parquet", ".feather"):
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"t{suffix}"
    path.write_bytes(data.draw(damaged(table(suffix)), label="content"))
    tally.add(read_or_refuse(path))


# -- checkpoints ---------------------------------------------------------------------------------


@functools.cache
def checkpoint(folder: Path) -> tuple[bytes, Any]:
    """A checkpoint of a fit that was not finished, and the model that the whole fit gives."""
    path = folder / "whole"
    half = PRSRegressor(Ridge(), **flat(**{**SMALL, "max_iter": 2}))
    half.set_callbacks(Checkpoint(path, every=1)).fit(X, Y)
    return path.read_bytes(), PRSRegressor(Ridge(), **flat(**SMALL)).fit(X, Y)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hardening")


@pytest.mark.subject("checkpoints")
@given(data=st.data())
@tries("checkpoints")
def test_checkpoints(folder: Path, tmp_path: Path, tally: Tally, data: Any):
    content, whole = checkpoint(folder)
    path = tmp_path / "run.ckpt"
    intact = data.draw(st.integers(0, 9), label="0: intact") == 0
    path.write_bytes(content if intact else data.draw(damaged(content), label="content"))
    model = PRSRegressor(Ridge(), **flat(**SMALL))
    with watchdog(), strictly():
        try:
            model.fit(X, Y, resume_from=path)
        except CheckpointError as refusal:
            assert not intact
            assert not hasattr(model, "alpha_")
            tally.add(refused(refusal, str(path)))
            return
    # What is taken is what was written: the fit ends as if nothing had happened.
    np.testing.assert_array_equal(model.alpha_, whole.alpha_)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    tally.add("resumed")


@pytest.mark.parametrize("version", [0, 1, 2**32 - 1])
def test_checkpoints_of_other_versions(folder: Path, tmp_path: Path, version: int):
    content, _ = checkpoint(folder)
    path = tmp_path / "run.ckpt"
    path.write_bytes(content[:16] + struct.pack("<I", version) + content[20:])
    with pytest.raises(CheckpointError, match=f"it has format version {version},"):
        PRSRegressor(Ridge(), **flat(**SMALL)).fit(X, Y, resume_from=path)


# -- models --------------------------------------------------------------------------------------


@functools.cache
def fitted() -> Any:
    return PRSClassifier(DecisionTreeClassifier(), **flat(**SMALL)).fit(X, Y > 0)


@functools.cache
def model_file(folder: Path) -> bytes:
    save(fitted(), folder / "model.skops")
    return (folder / "model.skops").read_bytes()


@st.composite
def rewritten(draw: Any, whole: bytes) -> bytes:
    """A model file one member of which was damaged before the archive was made, with right sums."""
    archive = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(archive, "w") as new:
        names = sorted(old.namelist())
        changed = draw(st.sampled_from(names))
        for name in names:
            member = old.read(name)
            if name == changed:
                match draw(st.sampled_from(["damage", "leave out", "numbers"])):
                    case "leave out":
                        continue
                    case "numbers" if name.endswith(".json"):
                        member = json.dumps(_renumbered(draw, json.loads(member))).encode()
                    case _ if member:
                        member = draw(damaged(member))
            new.writestr(name, member)
    return archive.getvalue()


def _renumbered(draw: Any, document: Any) -> Any:
    """Some entry of a json document replaced by something else."""
    where = document
    while isinstance(where, dict | list) and len(where):
        keys = sorted(where) if isinstance(where, dict) else list(range(len(where)))
        key = draw(st.sampled_from(keys))
        if not isinstance(where[key], dict | list) or not where[key] or draw(st.booleans()):
            where[key] = draw(st.sampled_from([None, -1, 10**18, 0.5, "other", [], {}, True]))
            return document
        where = where[key]
    return document


@pytest.mark.subject("model files")
@given(data=st.data())
@tries("model files")
def test_model_files(folder: Path, tmp_path: Path, tally: Tally, data: Any):
    whole = model_file(folder)
    content = data.draw(damaged(whole) | rewritten(whole), label="content")
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    with watchdog(), strictly():
        try:
            loaded = load(path)
        except (ModelFormatError, UntrustedTypesError) as refusal:
            tally.add(refused(refusal, str(path)))
            return
    # A file that was changed by hand, with right sums, may hold other numbers; it is a model still.
    assert type(loaded) is PRSClassifier or hasattr(loaded, "get_params")
    tally.add("loaded")


@functools.cache
def model_folder(folder: Path) -> Path:
    ModelFolder.write(folder / "model", fitted())
    return folder / "model"


@pytest.mark.subject("model folders")
@given(data=st.data())
@tries("model folders")
def test_model_folders(folder: Path, tmp_path: Path, tally: Tally, data: Any):
    whole, place = model_folder(folder), tmp_path / "model"
    shutil.copytree(whole, place, dirs_exist_ok=True)
    name = data.draw(st.sampled_from(sorted(p.name for p in whole.iterdir())), label="file")
    content = (whole / name).read_bytes()
    if data.draw(st.booleans(), label="gone"):
        (place / name).unlink()
    else:
        (place / name).write_bytes(data.draw(damaged(content), label="content"))
    with watchdog(), strictly():
        try:
            read = ModelFolder.read(place)
            _ = read.model, read.importances, read.history
        except (ModelFormatError, UntrustedTypesError) as refusal:
            tally.add(refused(refusal, str(place)))
            return
    np.testing.assert_array_equal(read.model.predict(X), fitted().predict(X))
    tally.add("loaded")


def test_a_hang_is_no_error_that_could_be_caught():
    assert not issubclass(Hang, Exception)

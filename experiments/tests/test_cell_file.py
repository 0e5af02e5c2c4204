"""Finished cells in a csv file: a run that is continued elsewhere."""

from dataclasses import replace

import pandas as pd
import pytest

import randsub
from randsub_experiments.cell_file import CellFile
from randsub_experiments.cell_store import Record, Store
from randsub_experiments.cells import Cell

CELL = Cell("tabular", "a, b", 0, "prs", "knn", "defaults", {"n": 3}, {"alpha": 0.1, "data": "x"})
CELLS = [replace(CELL, replicate=i) for i in range(3)]
ROW = {"score": 0.1 + 0.2, "aupr": None, "models": 3, "seconds": 1.5, "alpha": [0.25, 1e-9]}
PARTS = {"seconds": 1.0, "parts": [{"lam": 0.1, "aupr": 0.5}, {"lam": 0.2, "aupr": None}]}


@pytest.fixture
def file(tmp_path):
    return CellFile(tmp_path / "cells.csv")


def test_what_is_added_is_read_exactly(file):
    assert file.rows() == {}
    file.add([(CELLS[1], ROW), (CELLS[0], PARTS)])
    assert file.rows() == {CELLS[0].key: PARTS, CELLS[1].key: ROW}
    # Whole numbers stay whole.
    assert isinstance(file.rows()[CELLS[1].key]["models"], int)
    frame = pd.read_csv(file.path)
    assert list(frame["key"]) == sorted(frame["key"])
    assert list(frame["problem"]) == ["a, b"] * 2
    assert frame.loc[frame["replicate"] == 1, "score"].item() == ROW["score"]


def test_lines_that_are_there_are_left_as_they_are(file):
    file.add([(CELLS[0], ROW)])
    before = file.path.read_text()
    file.add([(CELLS[0], {"score": 0.9})])
    assert file.path.read_text() == before
    # A new line, and nothing else, though it has a column more.
    file.add([(CELLS[2], {"score": 0.9, "log_loss": 0.3})])
    assert file.rows() == {CELLS[0].key: ROW, CELLS[2].key: {"score": 0.9, "log_loss": 0.3}}


def test_a_store_goes_on_where_another_stopped(file, tmp_path):
    here, there = Store(tmp_path / "here", file), Store(tmp_path / "there", file)
    # Finished before there was a file, and after.
    Store(here.folder).write(Record(CELLS[0], ROW))
    assert here.exchange(CELLS) == 0
    here.write(Record(CELLS[1], ROW))
    here.write(Record(CELLS[2], {}, "ValueError: no"))
    assert set(file.rows()) == {CELLS[0].key, CELLS[1].key}
    there.write(Record(CELLS[1], {}, "ValueError: no"))
    assert there.exchange(CELLS) == 2
    assert [there.read(cell) for cell in CELLS] == [*(Record(c, ROW) for c in CELLS[:2]), None]
    assert there.exchange(CELLS) == 0


def test_cells_of_other_parameters_and_versions_are_not_taken(file, tmp_path, monkeypatch):
    file.add([(CELL, ROW)])
    store = Store(tmp_path / "cells", file)
    assert store.exchange([replace(CELL, params={"alpha": 0.2, "data": "x"})]) == 0
    monkeypatch.setattr(randsub, "__version__", "0.0.0")
    assert store.exchange([CELL]) == 0


@pytest.mark.parametrize(
    "content",
    ["a,b\n1,2\n", "key,score\nx,many\n", "key,score\nx,1,2\n", "key,score\nx\n", b"\xff,"],
)
def test_another_file_is_not_overwritten(file, content):
    file.path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = file.path.read_bytes()
    with pytest.raises(ValueError, match="is not a file of finished cells"):
        file.check()
    assert file.path.read_bytes() == before

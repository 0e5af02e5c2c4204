"""Cells on disk: whole or not there."""

import json
from dataclasses import replace

import pytest

import randsub
from randsub_experiments.cell_store import Record, Store
from randsub_experiments.cells import Cell

CELL = Cell("simulated", "friedman", 0, "prs", "knn", "paper", {"n": 3}, {"alpha": 0.1, "p": None})
ROW = {"score": 0.1 + 0.2, "aupr": None, "models": 3, "seconds": 1.5}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


def test_what_is_written_is_read(store):
    assert store.read(CELL) is None
    store.write(Record(CELL, ROW))
    assert store.read(CELL) == Record(CELL, ROW)
    assert store.read(replace(CELL, replicate=1)) is None
    failed = Record(CELL, {}, "ValueError: no", "Traceback ...")
    store.write(failed)
    assert store.read(CELL) == failed
    assert [path.suffix for path in store.folder.iterdir()] == [".json"]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"cell": {}, "row": {}}', "\x00\x00"])
def test_what_cannot_be_read_is_not_there(store, content):
    store.write(Record(CELL, ROW))
    store.path(CELL).write_text(content)
    assert store.read(CELL) is None


def test_another_cell_in_its_place_is_not_taken_for_it(store):
    store.write(Record(CELL, ROW))
    content = json.loads(store.path(CELL).read_text())
    content["cell"]["params"]["alpha"] = 0.2
    store.path(CELL).write_text(json.dumps(content))
    assert store.read(CELL) is None


def test_all_cells_of_an_experiment(store, monkeypatch):
    cells = [replace(CELL, replicate=i) for i in range(3)]
    for cell in [*cells, replace(CELL, experiment="timing")]:
        store.write(Record(cell, ROW))
    (store.folder / "notes.json").write_text("{}")
    # A copy under another name is not a second cell.
    (store.folder / "copy.json").write_text(store.path(CELL).read_text())
    assert {r.cell.replicate: r.row for r in store.records("simulated")} == dict.fromkeys(
        range(3), ROW
    )
    assert [record.cell.key for record in store.records("simulated")] == sorted(
        cell.key for cell in cells
    )
    monkeypatch.setattr(randsub, "__version__", "0.0.0")
    assert list(store.records("simulated")) == []

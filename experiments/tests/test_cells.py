"""Cells are known by all that decides over their result."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import randsub
from randsub_experiments import cells
from randsub_experiments.cells import Cell, label

CELL = Cell("simulated", "friedman", 3, "prs", "knn", "paper", {"n_train": 300}, {"max_iter": 10})


def test_key_is_readable_and_stable():
    assert CELL.key == replace(CELL).key
    assert CELL.key.startswith("friedman-prs-knn-paper-003-")
    assert CELL.seed == 1003


@pytest.mark.parametrize(
    "change",
    [
        {"experiment": "timing"},
        {"problem": "linear"},
        {"replicate": 4},
        {"method": "rs"},
        {"base": "svm"},
        {"setting": "defaults"},
        {"conditions": {"n_train": 301}},
        {"params": {"max_iter": 11}},
        {"params": {}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_decides_over_the_result_changes_the_key(change):
    assert replace(CELL, **change).key != CELL.key


def test_so_does_the_version(monkeypatch):
    before = CELL.key
    monkeypatch.setattr(randsub, "__version__", "0.0.0")
    assert CELL.key != before


def test_and_the_version_of_results(monkeypatch):
    """Cells of before a change of the method no longer count."""
    before = CELL.key
    monkeypatch.setattr(cells, "RESULTS_VERSION", cells.RESULTS_VERSION + 1)
    assert CELL.key != before


def test_order_of_parameters_does_not():
    one = replace(CELL, params={"a": 1, "b": 2})
    assert one.key == replace(CELL, params={"b": 2, "a": 1}).key


@given(problem=st.text(max_size=200))
def test_any_name_gives_a_file_name(problem):
    key = replace(CELL, problem=problem).key
    assert len(key) < 150
    assert "/" not in key
    assert "." not in key


def test_labels():
    assert label("prs", "knn", "paper") == "PRS kNN, paper"
    assert label("rf") == "RF"
    assert str(CELL) == "friedman #3 (train 300), PRS kNN, paper"
    plain = replace(CELL, conditions={"n_irrelevant": 20, "n_test": 10, "benchmark": "tabular"})
    assert str(plain) == "friedman #3 (irrelevant 20, tabular), PRS kNN, paper"
    assert str(replace(CELL, conditions={})) == "friedman #3, PRS kNN, paper"

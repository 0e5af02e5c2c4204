"""Cells are run once, kept at once, and never half."""

import io
import warnings

import pytest
from joblib import parallel_config
from joblib.parallel import SequentialBackend

from randsub.exceptions import InterruptedFitWarning
from randsub_experiments.cell_store import Record, Store
from randsub_experiments.cells import Cell
from randsub_experiments.experiments.simulated import Simulated
from randsub_experiments.runner import attempt, run_cells


class Counting(Simulated):
    """Does what it is told instead of fitting models, and remembers whom it ran."""

    def __init__(self, behaviour=None):
        self.ran = []
        self.behaviour = behaviour or {}

    def run(self, cell, data):
        self.ran.append(cell.replicate)
        if act := self.behaviour.get(cell.replicate):
            act()
        return {"score": float(cell.replicate), "seconds": 1.0}


CELLS = [Cell("simulated", "friedman", replicate, "rf") for replicate in range(4)]


def interrupt():
    raise KeyboardInterrupt


def cut_short():
    warnings.warn("stopped by Ctrl-C", InterruptedFitWarning, stacklevel=1)


def interrupt_inside_compiled_code():
    raise SystemError("returned a result with an exception set") from KeyboardInterrupt()


def fail():
    raise ArithmeticError("no\nnumbers")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def run(experiment, store):
    return run_cells(experiment, CELLS, store, stream=io.StringIO())


@pytest.mark.parametrize("stop", [interrupt, interrupt_inside_compiled_code, cut_short])
def test_an_interrupted_cell_is_not_kept_and_those_before_it_are(store, stop):
    with pytest.raises(KeyboardInterrupt):
        run(Counting({2: stop}), store)
    assert [store.read(cell) is not None for cell in CELLS] == [True, True, False, False]
    again = Counting()
    records = run(again, store)
    assert again.ran == [2, 3]
    assert [record.row["score"] for record in records] == [0.0, 1.0, 2.0, 3.0]


def test_failed_cells_are_kept_and_tried_again(store):
    records = run(Counting({1: fail}), store)
    assert [record.failed for record in records] == [False, True, False, False]
    assert records[1].error == "ArithmeticError: no numbers"
    assert "in fail" in store.read(CELLS[1]).trace
    again = Counting()
    assert not any(record.failed for record in run(again, store))
    assert again.ran == [1]


def test_attempt_turns_an_error_into_a_record():
    record = attempt(Counting({0: fail}), CELLS[0], None)
    assert record == Record(CELLS[0], {}, "ArithmeticError: no numbers", record.trace)
    assert record.seconds is None


class AllAtOnce(SequentialBackend):
    """Gives its results all together, as Ray does."""

    supports_return_generator = False


def test_cells_are_kept_soon_where_results_come_all_at_once(store):
    with parallel_config(backend=AllAtOnce()), pytest.raises(KeyboardInterrupt):
        run(Counting({2: interrupt}), store)
    assert [store.read(cell) is not None for cell in CELLS] == [True, True, False, False]
    with parallel_config(backend=AllAtOnce()):
        assert [record.cell for record in run(Counting(), store)] == CELLS

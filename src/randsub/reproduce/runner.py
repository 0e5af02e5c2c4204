"""Runs the cells that are not on disk yet, several at a time, and keeps each as it ends."""

import traceback
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TextIO

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from randsub.engines import lost_a_worker, on_one_worker, one_thread
from randsub.exceptions import InterruptedFitWarning
from randsub.reproduce.cells import Cell
from randsub.reproduce.experiment import Experiment
from randsub.reproduce.progress import Costs, Progress
from randsub.reproduce.store import Record, Store


def attempt(experiment: Experiment, cell: Cell, data: Path | None) -> Record:
    """Run one cell on one thread; an error becomes part of the record.

    Ctrl-C is no result: a fit that was cut short by it must not be taken for a whole one.
    """
    try:
        with warnings.catch_warnings(), one_thread(), on_one_worker():
            warnings.simplefilter("error", InterruptedFitWarning)
            return Record(cell, experiment.run(cell, data))
    except InterruptedFitWarning:
        raise KeyboardInterrupt from None
    except Exception as error:
        text = " ".join(str(error).split()) or "no message"
        return Record(cell, {}, f"{type(error).__name__}: {text}", traceback.format_exc())


def run_cells(
    experiment: Experiment,
    cells: Sequence[Cell],
    store: Store,
    *,
    data: Path | None = None,
    n_jobs: int | None = 1,
    stream: TextIO | None = None,
) -> list[Record]:
    """Run what is not there yet, and return what became of each cell, in the order of the cells.

    Parameters
    ----------
    experiment : Experiment
    cells : sequence of Cell
    store : Store
        Where finished cells are, and go. Cells that failed are run again.
    data : Path, default=None
        Folder of the data sets.
    n_jobs : int or None, default=1
        Cells that run at the same time, each in a process of its own and on one thread. The
        results are the same for any number and any joblib backend. None for as many as joblib's
        configuration says: all workers of a cluster.
    stream : text file, default=None
        Where progress is told; standard error by default.

    Returns
    -------
    records : list of Record
    """
    records = {cell.key: store.read(cell) for cell in cells}
    costs, todo = Costs(), []
    for cell in cells:
        record = records[cell.key]
        if record is None or record.failed:
            todo.append(cell)
        elif record.seconds is not None:
            costs.add(cell, record.seconds)
    workers = effective_n_jobs(n_jobs)
    progress = Progress(todo, len(cells) - len(todo), n_jobs=workers, costs=costs, stream=stream)

    def tasks() -> Iterator[object]:
        for cell in todo:
            progress.started(cell)
            yield delayed(attempt)(experiment, cell, data)

    try:
        for record in _records(tasks(), n_jobs, workers):
            store.write(record)
            records[record.cell.key] = record
            progress.finished(record.cell, record.seconds, error=record.error)
    except Exception as error:
        if not lost_a_worker(error):
            raise
        raise RuntimeError(
            f"A worker that ran a cell was lost ({type(error).__name__}), probably killed for want "
            "of memory: finished cells are kept, start the same command again with a smaller "
            "--jobs or larger workers."
        ) from error
    finally:
        progress.close()
    return [record for cell in cells if (record := records[cell.key]) is not None]


def _records(tasks: Iterator[object], n_jobs: int | None, workers: int) -> Iterator[Record]:
    """What the tasks return, as soon as the backend gives it."""
    backend, _ = get_active_backend()
    # Handed out one by one, so that the line of progress names what really runs.
    options = {"n_jobs": n_jobs, "batch_size": 1, "pre_dispatch": "n_jobs"}
    if backend.supports_return_generator:
        yield from Parallel(**options, return_as="generator_unordered")(tasks)
        return
    # Ray gives all results at once: a few cells at a time, so that finished ones are soon kept.
    with Parallel(**options) as pool:
        while some := list(islice(tasks, workers)):
            yield from pool(some)

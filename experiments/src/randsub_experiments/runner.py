"""Runs the cells that are not on disk yet, several at a time, and stores each as it ends."""

import traceback
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TextIO

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from randsub.exceptions import InterruptedFitWarning
from randsub.parallel import lost_a_worker, on_one_worker, one_thread
from randsub_experiments.cell_store import Record, Store
from randsub_experiments.cells import Cell
from randsub_experiments.experiments.base import Experiment
from randsub_experiments.run_progress import Costs, Progress


def attempt(experiment: Experiment, cell: Cell, data: Path | None) -> Record:
    """Run one cell on one thread; an error becomes part of the record.

    Ctrl-C is not a result: a fit that it cut short must not be taken for a complete one.
    """
    try:
        with warnings.catch_warnings(), one_thread(), on_one_worker():
            warnings.simplefilter("error", InterruptedFitWarning)
            return Record(cell, experiment.run(cell, data))
    except InterruptedFitWarning:
        raise KeyboardInterrupt from None
    except Exception as error:
        if (interruption := _interruption_behind(error)) is not None:
            raise interruption from None
        text = " ".join(str(error).split()) or "no message"
        return Record(cell, {}, f"{type(error).__name__}: {text}", traceback.format_exc())


def _interruption_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """The Ctrl-C behind an error, if any; a compiled function wraps it into another error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


def run_cells(
    experiment: Experiment,
    cells: Sequence[Cell],
    store: Store,
    *,
    data: Path | None = None,
    n_jobs: int | None = 1,
    stream: TextIO | None = None,
) -> list[Record]:
    """Run the cells that are not stored yet; return the records of all, in the order of the cells.

    Parameters
    ----------
    experiment : Experiment
    cells : sequence of Cell
    store : Store
        Where finished cells are read from and written to. Cells that failed are run again.
    data : Path, default=None
        Folder of the data sets.
    n_jobs : int or None, default=1
        Number of cells that run at the same time, each in its own process and on one thread. The
        results are the same for any number and any joblib backend. None leaves it to joblib's
        configuration: all workers of a cluster.
    stream : text file, default=None
        Where progress is shown; standard error by default.

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
            f"A worker that ran a cell was lost ({type(error).__name__}), probably killed for lack "
            "of memory: finished cells are stored, run the same command again with a smaller "
            "--jobs or larger workers."
        ) from error
    finally:
        progress.close()
    return [record for cell in cells if (record := records[cell.key]) is not None]


def _records(tasks: Iterator[object], n_jobs: int | None, workers: int) -> Iterator[Record]:
    """Results of the tasks, as soon as the backend returns them."""
    backend, _ = get_active_backend()
    # Handed out one by one, so that the line of progress names what really runs.
    options = {"n_jobs": n_jobs, "batch_size": 1, "pre_dispatch": "n_jobs"}
    if backend.supports_return_generator:
        yield from Parallel(**options, return_as="generator_unordered")(tasks)
        return
    # Ray returns all results at once: a few cells at a time, so that finished ones are soon stored.
    with Parallel(**options) as pool:
        while some := list(islice(tasks, workers)):
            yield from pool(some)

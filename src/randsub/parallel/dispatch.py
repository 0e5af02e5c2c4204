"""How the work of an engine is spread over workers.

Masks and seeds are drawn before an engine is asked, and an engine's answer for a mask depends on
nothing but the mask and its seed. So how the masks are cut into tasks, and where the tasks run, can
change the time but not the result. To keep that true to the last bit, BLAS and OpenMP run on one
thread inside a task, wherever it runs: sums over several threads depend on their number.
"""

import math
import os
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.utils.parallel import delayed

from randsub._joblib import cloudpickle
from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.engines.base import Engine, short_name
from randsub.exceptions import BaseModelError, BaseModelTimeoutError
from randsub.parallel.assignment import Assignment, Data, Piece, Rows
from randsub.parallel.blas_threads import one_thread
from randsub.parallel.cluster_transport import Cargo, bundled, deliver, split, unbundled
from randsub.parallel.threads import TaskOverdueError, on_threads
from randsub.parallel.worker_pool import (
    MakeCall,
    Preference,
    WorkerPool,
    on_one_worker,
    work_for,
)

# What becomes of the models of a task. Those that come from another machine are pickled there.
Wanted: TypeAlias = Literal["predictions", "models", "pickled models"]

# A task should last long enough for the cost of sending it not to matter.
SECONDS_PER_TASK = 0.05
# Work that is done before another thread can start on it.
SECONDS_WORTH_SHARING = 0.001
# Largest number of tasks for a cluster, so that bytes and messages do not grow with the work.
BUNDLES_PER_WORKER = 4


class Dispatcher:
    """Runs assignments on the workers that joblib's configuration allows.

    Used as a context, it keeps its workers, and they the data, from call to call.

    Parameters
    ----------
    engines : Engine or sequence of Engine
        One for each base model; assignments name theirs by its place.
    data : Data
    n_jobs : int or None
    origin : int ndarray of shape (M,) or None
        Where one column of a mask stands for several of the data: which one each belongs to.
    time_limit : float or None
        Seconds per task. Base models are then given out one by one, except to compiled engines, so
        that the error can name the one that is overdue.
    """

    def __init__(
        self,
        engines: Engine | Sequence[Engine],
        data: Data,
        n_jobs: int | None = None,
        origin: IntArray | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.engines: Sequence[Engine] = [engines] if isinstance(engines, Engine) else engines
        self.data = data
        self.n_jobs = n_jobs
        self.origin = origin
        self.time_limit = time_limit
        # By what they prefer; with one job there are no workers to keep.
        self._pools = {
            engine.prefers: None if n_jobs == 1 else WorkerPool(n_jobs, engine.prefers, time_limit)
            for engine in self.engines
        }
        self._cargo: Cargo | None = None
        # By base model.
        self._seconds_per_model = [0.0] * len(self.engines)

    def __enter__(self) -> Self:
        for pool in filter(None, self._pools.values()):
            pool.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        for pool in filter(None, self._pools.values()):
            pool.__exit__(*details)

    def predict(self, assignments: Sequence[Assignment]) -> list[FloatArray]:
        """Predictions (T, n_query + n_val, C) of the models of each assignment."""
        n_outputs = self.engines[0].learner.n_outputs
        return [
            # An assignment without masks has no pieces, but still a shape.
            np.concatenate([np.empty((0, whole.n_queries, n_outputs)), *pieces])
            for whole, pieces in zip(
                assignments, self._run("predictions", assignments), strict=True
            )
        ]

    def fit(self, assignments: Sequence[Assignment]) -> list[list[Any]]:
        """Fitted models of each assignment."""
        return [
            [
                pickle.loads(model) if isinstance(model, bytes) else model
                for piece in pieces
                for model in piece
            ]
            for pieces in self._run("models", assignments)
        ]

    def _run(self, wanted: Wanted, assignments: Sequence[Assignment]) -> list[list[Any]]:
        """For each assignment the results of its pieces."""
        if self.origin is not None:
            assignments = [replace(one, masks=one.masks[:, self.origin]) for one in assignments]
        results: list[list[Any]] = [[] for _ in assignments]
        rows = [one.rows for one in assignments]
        # Engines of one kind work side by side, one kind after the other.
        for prefers, pool in self._pools.items():
            workers = 1 if pool is None else pool.size()
            pieces = [
                piece
                for base, engine in enumerate(self.engines)
                if engine.prefers == prefers
                for piece in self._pieces(base, assignments, pool, workers)
            ]
            try:
                with one_thread():
                    answers = self._answers(wanted, rows, pieces, pool, workers)
            except BaseModelError as error:
                if self.origin is None:
                    raise
                raise error.among(self.origin.tolist()).once() from error.__cause__
            for piece, (result, _) in zip(pieces, answers, strict=True):
                results[piece.number].append(result)
            self._note_seconds(rows, pieces, answers)
        return results

    def _pieces(
        self, base: int, assignments: Sequence[Assignment], pool: WorkerPool | None, workers: int
    ) -> list[Piece]:
        """What is to be done for one base model, cut for the workers."""
        mine = {n: whole for n, whole in enumerate(assignments) if whole.base == base}
        size = self._models_per_task(base, [*mine.values()], pool, workers)
        return [piece for number, whole in mine.items() for piece in whole.pieces(number, size)]

    def _note_seconds(
        self,
        rows: Sequence[Rows],
        pieces: Sequence[Piece],
        answers: Sequence[tuple[Any, float]],
    ) -> None:
        for base in {rows[piece.number].base for piece in pieces}:
            spent, n_models = 0.0, 0
            for piece, (_, seconds) in zip(pieces, answers, strict=True):
                if rows[piece.number].base == base:
                    spent += seconds
                    n_models += len(piece.masks)
            self._seconds_per_model[base] = spent / n_models

    def _models_per_task(
        self, base: int, assignments: Sequence[Assignment], pool: WorkerPool | None, workers: int
    ) -> int:
        largest = max((whole.masks.shape[0] for whole in assignments), default=1)
        prefers, seconds = self.engines[base].prefers, self._seconds_per_model[base]
        if self.time_limit is not None and prefers == "processes":
            return 1
        if workers == 1:
            return max(largest, 1)
        if seconds == 0.0:
            return max(largest // workers, 1)
        size = int(np.clip(SECONDS_PER_TASK / seconds, 1, max(largest, 1)))
        if size == largest and self._takes_threads(prefers, pool):
            # Whole assignments are short. Threads start on work at next to no cost, so it is cut
            # until all workers get the same share, where pieces stay worth that cost.
            even = -(-largest // (workers // math.gcd(len(assignments), workers)))
            if even * seconds >= SECONDS_WORTH_SHARING:
                return even
        return size

    def _takes_threads(self, prefers: Preference, pool: WorkerPool | None) -> bool:
        """Whether work goes to threads of our own, where joblib would use threads."""
        # joblib would wait for ever for a thread that hangs.
        ours = prefers == "threads" or self.time_limit is not None
        return ours and (pool is None or pool.is_threads())

    def _answers(
        self,
        wanted: Wanted,
        rows: Sequence[Rows],
        pieces: Sequence[Piece],
        pool: WorkerPool | None,
        workers: int,
    ) -> Sequence[tuple[Any, float]]:
        """Result of each piece, and the seconds that it took; all go to the same pool."""
        if not pieces:
            return []
        expected = sum(
            self._seconds_per_model[rows[piece.number].base] * len(piece.masks) for piece in pieces
        )
        n_useful = min(workers, len(pieces))
        alone = n_useful <= 1 or 0.0 < expected < SECONDS_WORTH_SHARING
        n_bytes = sum(part.nbytes for part in rows) + sum(piece.masks.nbytes for piece in pieces)
        tasks = [
            partial(run_piece, wanted, self.engines, self.data, rows[number], columns, masks, seeds)
            for number, columns, masks, seeds in pieces
        ]
        prefers = self.engines[rows[pieces[0].number].base].prefers
        try:
            if alone and self.time_limit is None:
                return [task() for task in tasks]
            if alone or pool is None or self._takes_threads(prefers, pool):
                return on_threads(tasks, n_useful, self.time_limit)
            if pool.is_remote():
                return self._on_cluster(wanted, rows, pieces, pool, workers, n_bytes)
            # joblib lets processes of this machine share large arrays.
            return pool.run(
                lambda n, again: delayed(work_for)(os.getpid(), tasks[n]), len(tasks), n_bytes
            )
        except TaskOverdueError as late:
            overdue = pieces[late.number : late.number + late.n_suspects]
            raise self._overdue(rows, overdue) from None

    def _on_cluster(
        self,
        wanted: Wanted,
        rows: Sequence[Rows],
        pieces: Sequence[Piece],
        pool: WorkerPool,
        workers: int,
        n_bytes: int,
    ) -> list[tuple[Any, float]]:
        """The same from workers of other machines."""
        # Under a time limit, what is overdue must be known.
        bundles: Sequence[Sequence[Piece]] = [[piece] for piece in pieces]
        if self.time_limit is None:
            bundles = split(pieces, workers * BUNDLES_PER_WORKER)
        task = partial(run_piece, "pickled models" if wanted == "models" else wanted)
        deliveries = self._deliveries(partial(unbundled, task), lambda n: bundled(rows, bundles[n]))
        answers = pool.run(deliveries, len(bundles), n_bytes)
        return [answer for bundle in answers for answer in bundle]

    def _deliveries(
        self, work: Callable[..., Any], argument: Callable[[int], Any], *, is_long: bool = False
    ) -> MakeCall:
        """Calls for workers of a cluster: ``work(engines, data, argument(n))``."""
        # The data goes along the first time, and where it is not known; else its name is enough. A
        # worker may forget the data during a long task, and would have to wait for it after that.
        first = self._cargo is None or is_long
        cargo = self._cargo = self._cargo or Cargo(self.engines, self.data)

        def make_call(n: int, again: bool) -> Any:
            sent = cargo if first or again else None
            return delayed(deliver)(work, cargo.name, sent, argument(n))

        return make_call

    # -- whole optimisations on other workers ------------------------------------------------------

    def has_others(self) -> bool:
        """Whether it may pay to give whole optimisations to workers outside this process.

        It does where base models would be trained by threads of this process. Others use all
        workers in any case.
        """
        # What is overdue elsewhere could not be named here.
        if "processes" in self._pools or self.time_limit is not None or self.n_jobs == 1:
            return False
        pool = WorkerPool(self.n_jobs, "processes")
        return pool.size() > 1 and not pool.is_threads()

    def spread(
        self,
        work: Callable[["Dispatcher", Any], Any],
        arguments: Sequence[Any],
        on_answer: Callable[[Any], object],
    ) -> None:
        """Do the same work for several arguments, each on a worker outside this process.

        Parameters
        ----------
        work : callable
            Takes a dispatcher of one job for the same engines and data, and an argument. What it
            returns is not None.
        arguments : sequence
        on_answer : callable
            Called with each answer, in their order.
        """
        pool = WorkerPool(self.n_jobs, "processes")
        alone = partial(_work_alone, self.origin, work)
        if pool.is_remote():
            make_call = self._deliveries(alone, lambda n: arguments[n], is_long=True)
        else:
            pool = WorkerPool(min(pool.size(), len(arguments)), "processes")

            def make_call(n: int, again: bool) -> Any:
                task = partial(alone, self.engines, self.data, arguments[n])
                return delayed(work_for)(os.getpid(), task)

        pool.run(make_call, len(arguments), on_answer=on_answer)

    def _overdue(self, rows: Sequence[Rows], suspects: Sequence[Piece]) -> BaseModelTimeoutError:
        """The error that names the subset on which a base model takes too long."""
        n_models = sum(len(piece.masks) for piece in suspects)
        what = "it" if n_models == 1 else f"one of {n_models} models, of which it is the first,"
        reason = (
            f"{what} had not ended after {self.time_limit:g} s, the task_timeout. Where it cannot "
            "be stopped from outside, in a thread or on a Dask cluster, it goes on in the "
            "background"
        )
        columns = suspects[0].columns[suspects[0].masks[0]].tolist()
        learner = self.engines[rows[suspects[0].number].base].learner
        return BaseModelTimeoutError(short_name(learner), reason, columns)


def _work_alone(
    origin: IntArray | None,
    work: Callable[..., Any],
    engines: Sequence[Engine],
    data: Data,
    argument: Any,
) -> Any:
    """What is spread, on its worker."""
    # joblib hands large arrays over as files, whose type makes every access slower.
    X, X_val = (np.asarray(X) if isinstance(X, np.memmap) else X for X in (data.X, data.X_val))
    data = replace(data, X=X, X_val=X if data.X_val is data.X else X_val)
    with on_one_worker():
        return work(Dispatcher(engines, data, n_jobs=1, origin=origin), argument)


def run_piece(
    wanted: Wanted,
    engines: Sequence[Engine],
    data: Data,
    rows: Rows,
    columns: IntArray,
    masks: BoolArray,
    seeds: IntArray,
) -> tuple[Any, float]:
    """Train the models of a piece, wherever that is; the result, and the seconds that it took."""
    result: Any
    engine = engines[rows.base]
    with one_thread():
        start = time.perf_counter()
        X, weight, params = data.part(rows.train, columns, rows.base)
        unit, y = engine.learner.unit, rows.targets
        if unit is not None:
            y = unit.of_targets(y)
        try:
            if wanted == "predictions":
                X_query = data.query(rows.query, rows.val, columns)
                result = engine.predict_many(X, y, masks, X_query, seeds, weight, params)
                if unit is not None:
                    result = unit.of_predictions(result)
            else:
                result = engine.fit_many(X, y, masks, seeds, weight, params)
                if unit is not None:
                    for model in result:
                        unit.turn_back(model)
        except BaseModelError as error:
            raise error.among(columns.tolist()) from error.__cause__
        seconds = time.perf_counter() - start
    if wanted == "pickled models":
        result = [
            _pickled(engine, model, columns[mask])
            for model, mask in zip(result, masks, strict=True)
        ]
    return result, seconds


def _pickled(engine: Engine, model: Any, columns: IntArray) -> bytes:
    """A fitted model, ready to be sent back.

    Where that fails inside the task, it is an error like any other. A backend that pickles the
    model might wait for ever for an answer that it has failed to send.
    """
    try:
        return bytes(cloudpickle.dumps(model))
    except Exception as failure:
        reason = (
            f"once fitted it cannot be sent back from its worker ({type(failure).__name__}: "
            f"{failure}). n_jobs=1 fits it here"
        )
        raise BaseModelError(short_name(engine.learner), reason, columns.tolist()) from failure

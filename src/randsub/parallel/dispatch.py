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
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs, parallel_config
from sklearn.utils.parallel import Parallel, delayed

from randsub._joblib import cloudpickle
from randsub._tables import take_columns
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.base import Engine, predict_one, short_name
from randsub.exceptions import BaseModelError, BaseModelTimeoutError
from randsub.parallel.assignment import Assignment, Data, Piece, Rows
from randsub.parallel.blas_threads import one_thread
from randsub.parallel.cluster_transport import Cargo, bundled, deliver, split, unbundled
from randsub.parallel.threads import TaskOverdueError, on_threads
from randsub.parallel.worker_pool import (
    MakeCall,
    WorkerPool,
    is_on_cluster,
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


MODELS_PER_SUM = 10


class Dispatcher:
    """Runs assignments on the workers that joblib's configuration allows.

    Used as a context, it keeps its workers, and they the data, from call to call.

    Parameters
    ----------
    engine : Engine
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
        engine: Engine,
        data: Data,
        n_jobs: int | None = None,
        origin: IntArray | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.engine = engine
        self.data = data
        self.n_jobs = n_jobs
        self.origin = origin
        self.time_limit = time_limit
        # With one job there are no workers to keep.
        self._pool = None if n_jobs == 1 else WorkerPool(n_jobs, engine.prefers, time_limit)
        self._cargo: Cargo | None = None
        self._seconds_per_model = 0.0

    def __enter__(self) -> Self:
        if self._pool is not None:
            self._pool.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        if self._pool is not None:
            self._pool.__exit__(*details)

    def predict(self, assignments: Sequence[Assignment]) -> list[FloatArray]:
        """Predictions (T, n_query + n_val, C) of the models of each assignment."""
        n_outputs = self.engine.learner.n_outputs
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
        workers = 1 if self._pool is None else self._pool.size()
        size = self._models_per_task(assignments, workers)
        pieces = [
            piece
            for number, whole in enumerate(assignments)
            for piece in whole.pieces(number, size)
        ]
        try:
            with one_thread():
                answers = self._answers(wanted, [one.rows for one in assignments], pieces, workers)
        except BaseModelError as error:
            if self.origin is None:
                raise
            raise error.among(self.origin.tolist()).once() from error.__cause__
        results: list[list[Any]] = [[] for _ in assignments]
        for piece, (result, _) in zip(pieces, answers, strict=True):
            results[piece.number].append(result)
        if pieces:
            seconds = sum(spent for _, spent in answers)
            self._seconds_per_model = seconds / sum(len(piece.masks) for piece in pieces)
        return results

    def _models_per_task(self, assignments: Sequence[Assignment], workers: int) -> int:
        largest = max((whole.masks.shape[0] for whole in assignments), default=1)
        if self.time_limit is not None and self.engine.prefers == "processes":
            return 1
        if workers == 1:
            return max(largest, 1)
        if self._seconds_per_model == 0.0:
            return max(largest // workers, 1)
        size = int(np.clip(SECONDS_PER_TASK / self._seconds_per_model, 1, max(largest, 1)))
        if size == largest and self._takes_threads():
            # Whole assignments are short. Threads start on work at next to no cost, so it is cut
            # until all workers get the same share, where pieces stay worth that cost.
            even = -(-largest // (workers // math.gcd(len(assignments), workers)))
            if even * self._seconds_per_model >= SECONDS_WORTH_SHARING:
                return even
        return size

    def _takes_threads(self) -> bool:
        """Whether work goes to threads of our own, where joblib would use threads."""
        # joblib would wait for ever for a thread that hangs.
        ours = self.engine.prefers == "threads" or self.time_limit is not None
        return ours and (self._pool is None or self._pool.is_threads())

    def _answers(
        self, wanted: Wanted, rows: Sequence[Rows], pieces: Sequence[Piece], workers: int
    ) -> Sequence[tuple[Any, float]]:
        """Result of each piece, and the seconds that it took."""
        expected = self._seconds_per_model * sum(len(piece.masks) for piece in pieces)
        n_useful = min(workers, len(pieces))
        alone = n_useful <= 1 or 0.0 < expected < SECONDS_WORTH_SHARING
        n_bytes = sum(part.nbytes for part in rows) + sum(piece.masks.nbytes for piece in pieces)
        tasks = [
            partial(run_piece, wanted, self.engine, self.data, rows[number], columns, masks, seeds)
            for number, columns, masks, seeds in pieces
        ]
        try:
            if alone and (self.time_limit is None or not tasks):
                return [task() for task in tasks]
            if alone or self._pool is None or self._takes_threads():
                return on_threads(tasks, n_useful, self.time_limit)
            if self._pool.is_remote():
                return self._on_cluster(wanted, rows, pieces, workers, n_bytes)
            # joblib lets processes of this machine share large arrays.
            return self._pool.run(
                lambda n, again: delayed(work_for)(os.getpid(), tasks[n]), len(tasks), n_bytes
            )
        except TaskOverdueError as late:
            raise self._overdue(pieces[late.number : late.number + late.n_suspects]) from None

    def _on_cluster(
        self,
        wanted: Wanted,
        rows: Sequence[Rows],
        pieces: Sequence[Piece],
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
        assert self._pool is not None
        answers = self._pool.run(deliveries, len(bundles), n_bytes)
        return [answer for bundle in answers for answer in bundle]

    def _deliveries(
        self, work: Callable[..., Any], argument: Callable[[int], Any], *, is_long: bool = False
    ) -> MakeCall:
        """Calls for workers of a cluster: ``work(engine, data, argument(n))``."""
        # The data goes along the first time, and where it is not known; else its name is enough. A
        # worker may forget the data during a long task, and would have to wait for it after that.
        first = self._cargo is None or is_long
        cargo = self._cargo = self._cargo or Cargo(self.engine, self.data)

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
        if self.engine.prefers == "processes" or self.time_limit is not None or self.n_jobs == 1:
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
            Takes a dispatcher of one job for the same engine and data, and an argument. What it
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
                task = partial(alone, self.engine, self.data, arguments[n])
                return delayed(work_for)(os.getpid(), task)

        pool.run(make_call, len(arguments), on_answer=on_answer)

    def _overdue(self, suspects: Sequence[Piece]) -> BaseModelTimeoutError:
        """The error that names the subset on which a base model takes too long."""
        n_models = sum(len(piece.masks) for piece in suspects)
        what = "it" if n_models == 1 else f"one of {n_models} models, of which it is the first,"
        reason = (
            f"{what} had not ended after {self.time_limit:g} s, the task_timeout. Where it cannot "
            "be stopped from outside, in a thread or on a Dask cluster, it goes on in the "
            "background"
        )
        columns = suspects[0].columns[suspects[0].masks[0]].tolist()
        return BaseModelTimeoutError(short_name(self.engine.learner), reason, columns)


def _work_alone(
    origin: IntArray | None, work: Callable[..., Any], engine: Engine, data: Data, argument: Any
) -> Any:
    """What is spread, on its worker."""
    # joblib hands large arrays over as files, whose type makes every access slower.
    X, X_val = (np.asarray(X) if isinstance(X, np.memmap) else X for X in (data.X, data.X_val))
    data = replace(data, X=X, X_val=X if data.X_val is data.X else X_val)
    with on_one_worker():
        return work(Dispatcher(engine, data, n_jobs=1, origin=origin), argument)


def run_piece(
    wanted: Wanted,
    engine: Engine,
    data: Data,
    rows: Rows,
    columns: IntArray,
    masks: BoolArray,
    seeds: IntArray,
) -> tuple[Any, float]:
    """Train the models of a piece, wherever that is; the result, and the seconds that it took."""
    result: Any
    with one_thread():
        start = time.perf_counter()
        X, weight, params = data.part(rows.train, columns)
        try:
            if wanted == "predictions":
                X_query = data.query(rows.query, rows.val, columns)
                result = engine.predict_many(X, rows.targets, masks, X_query, seeds, weight, params)
            else:
                result = engine.fit_many(X, rows.targets, masks, seeds, weight, params)
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


def average_prediction(
    engine: Engine,
    models: Sequence[Any],
    features: Sequence[IntArray],
    X: Table,
    n_jobs: int | None,
) -> FloatArray:
    """Mean prediction of fitted models, shape (n, C).

    Members are added up in portions of fixed size, so that the order of the additions, and with it
    the last bit, is the same for any number of workers.
    """
    tasks = [
        partial(_sum, engine, models[a : a + MODELS_PER_SUM], features[a : a + MODELS_PER_SUM], X)
        for a in range(0, len(models), MODELS_PER_SUM)
    ]
    # The models are here: sending them would take longer than their predictions.
    remote = n_jobs != 1 and is_on_cluster()
    here = parallel_config(backend="threading", n_jobs=n_jobs or 1) if remote else nullcontext()
    with here, one_thread():
        if n_jobs == 1 or min(effective_n_jobs(n_jobs), len(tasks)) <= 1:
            sums = [task() for task in tasks]
        else:
            sums = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(task)() for task in tasks)
    return np.add.reduce(sums) / len(models)


def _sum(
    engine: Engine, models: Sequence[Any], features: Sequence[IntArray], X: Table
) -> FloatArray:
    total = np.zeros((X.shape[0], engine.learner.n_outputs))
    with one_thread():
        for model, columns in zip(models, features, strict=True):
            answer = None
            # Users may put other models among ours; those for other columns say so.
            if len(columns) and getattr(model, "n_features_in_", None) == len(columns):
                answer = engine.predict_fitted(model, take_columns(X, columns))
            if answer is None or not np.isfinite(answer).all():
                answer = predict_one(engine.learner, model, X, columns)
            total += answer
    return total

"""How the work of an engine is spread over workers.

Masks and seeds are drawn before anything arrives here, and an engine's answer for a mask depends on
nothing but the mask and its seed. So how the masks are cut into tasks, and where the tasks run, can
change the time but not the result. To keep that true to the last bit, BLAS and OpenMP run on one
thread inside a task, wherever it runs: sums over several threads depend on their number.
"""

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import threadpoolctl
from joblib import effective_n_jobs
from joblib.parallel import ThreadingBackend, get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params
from threadpoolctl import ThreadpoolController

from randsub._tables import stack_rows, take_cells, take_columns
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.base import Engine
from randsub.engines.members import predict_one
from randsub.exceptions import BaseModelError

# A task should last long enough for the cost of sending it not to matter.
SECONDS_PER_TASK = 0.05
# Work that is done sooner than another thread is told of it.
SECONDS_WORTH_SHARING = 0.001
# A table of up to this many columns is shown to the engine as it is.
NARROW = 50
MODELS_PER_SUM = 10


@dataclass(frozen=True)
class Data:
    """All rows that models are trained on or asked about.

    Parameters
    ----------
    X : (n, M)
        Training rows.
    X_val : (n_val, M)
        Where validation rows are found; may be X itself.
    sample_weight : ndarray of shape (n,) or None
    fit_params : mapping
        Metadata for the base model's ``fit``; anything as long as X is sliced along with it.
    """

    X: Table
    X_val: Table
    sample_weight: FloatArray | None
    fit_params: Mapping[str, Any]

    def part(
        self, rows: IntArray, columns: IntArray
    ) -> tuple[Table, FloatArray | None, dict[str, Any]]:
        """Some columns of X, weights and metadata of some training rows."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        params = _check_method_params(self.X, dict(self.fit_params), indices=rows)
        return take_cells(self.X, rows, columns), weight, params

    def query(self, rows: IntArray, val_rows: IntArray, columns: IntArray) -> Table:
        """Some columns of held-out rows, then of validation rows."""
        held_out = take_cells(self.X, rows, columns)
        if len(val_rows) == 0:
            return held_out
        return stack_rows(held_out, take_cells(self.X_val, val_rows, columns))


@dataclass(frozen=True)
class Assignment:
    """Models to train on the same rows and to ask about the same rows.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Targets of all training rows.
    train_rows, query_rows, val_rows : int ndarrays
    masks : bool ndarray of shape (T, n_columns)
    seeds : int ndarray of shape (T,)
    """

    y: Any
    train_rows: IntArray
    query_rows: IntArray
    val_rows: IntArray
    masks: BoolArray
    seeds: IntArray

    @property
    def n_queries(self) -> int:
        """Number of rows that each model is asked about."""
        return len(self.query_rows) + len(self.val_rows)

    def pieces(self, size: int) -> Iterator["Assignment"]:
        """The same in portions of at most ``size`` models."""
        for start in range(0, len(self.masks), size):
            stop = start + size
            yield replace(self, masks=self.masks[start:stop], seeds=self.seeds[start:stop])


class Dispatcher:
    """Runs assignments on as many workers as joblib's configuration allows.

    Parameters
    ----------
    engine : Engine
    data : Data
    n_jobs : int or None
    origin : int ndarray of shape (M,) or None
        Where one column of a mask stands for several of the data: which one each belongs to.
    """

    def __init__(
        self,
        engine: Engine,
        data: Data,
        n_jobs: int | None = None,
        origin: IntArray | None = None,
    ) -> None:
        self.engine = engine
        self.data = data
        self.n_jobs = n_jobs
        self.origin = origin
        self._seconds_per_model = 0.0

    def predict(self, assignments: Sequence[Assignment]) -> list[FloatArray]:
        """Predictions (T, n_query + n_val, C) of the models of each assignment."""
        n_outputs = self.engine.learner.n_outputs
        return [
            # An assignment without masks has no pieces, but still a shape.
            np.concatenate([np.empty((0, work.n_queries, n_outputs)), *pieces])
            for work, pieces in zip(assignments, self._run(_predict_task, assignments), strict=True)
        ]

    def fit(self, assignments: Sequence[Assignment]) -> list[list[Any]]:
        """Fitted models of each assignment."""
        return [
            [model for piece in pieces for model in piece]
            for pieces in self._run(_fit_task, assignments)
        ]

    def _run(self, task: Callable[..., Any], assignments: Sequence[Assignment]) -> list[list[Any]]:
        if self.origin is None:
            return self._carry_out(task, assignments)
        wide = [replace(work, masks=work.masks[:, self.origin]) for work in assignments]
        try:
            return self._carry_out(task, wide)
        except BaseModelError as error:
            raise error.among(self.origin.tolist()).once() from error.__cause__

    def _carry_out(
        self, task: Callable[..., Any], assignments: Sequence[Assignment]
    ) -> list[list[Any]]:
        size = self._models_per_task(assignments)
        tasks = [(a, piece) for a, whole in enumerate(assignments) for piece in whole.pieces(size)]
        work = [(task, self.engine, self.data, piece) for _, piece in tasks]
        with one_thread():
            answers = self._answers(work)
        results: list[list[Any]] = [[] for _ in assignments]
        seconds = 0.0
        for (a, _), (result, spent) in zip(tasks, answers, strict=True):
            results[a].append(result)
            seconds += spent
        n_models = sum(len(piece.masks) for _, piece in tasks)
        if n_models:
            self._seconds_per_model = seconds / n_models
        return results

    def _answers(self, work: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, float]]:
        workers = min(effective_n_jobs(self.n_jobs), len(work))
        expected = self._seconds_per_model * sum(len(piece.masks) for *_, piece in work)
        if workers <= 1 or 0.0 < expected < SECONDS_WORTH_SHARING:
            return [task(*rest) for task, *rest in work]
        if self._takes_threads():
            return _on_threads(work, workers)
        return Parallel(n_jobs=self.n_jobs, prefer=self.engine.prefers)(
            delayed(task)(*rest) for task, *rest in work
        )

    def _takes_threads(self) -> bool:
        """Whether joblib would run the work of a compiled engine on threads."""
        prefers: Any = self.engine.prefers
        backend, _ = get_active_backend(prefer=prefers)
        return prefers == "threads" and isinstance(backend, ThreadingBackend)

    def _models_per_task(self, assignments: Sequence[Assignment]) -> int:
        largest = max((len(whole.masks) for whole in assignments), default=1)
        workers = effective_n_jobs(self.n_jobs)
        if workers == 1:
            return max(largest, 1)
        if self._seconds_per_model == 0.0:
            return max(largest // workers, 1)
        size = int(np.clip(SECONDS_PER_TASK / self._seconds_per_model, 1, max(largest, 1)))
        if size == largest and self._takes_threads():
            # Whole assignments are short. Threads are told of work at next to no cost, so it is
            # cut until every worker gets as much, where pieces stay worth the telling.
            even = -(-largest // (workers // math.gcd(len(assignments), workers)))
            if even * self._seconds_per_model >= SECONDS_WORTH_SHARING:
                return even
        return size


def _on_threads(work: Sequence[tuple[Any, ...]], workers: int) -> list[tuple[Any, float]]:
    """What joblib's threads would do, without its look at the results every 10 milliseconds.

    With compiled engines all the work of a refresh may take less than that. The calling thread
    takes its share, since new ones may have to wait for a core of their own.
    """
    config = get_config()
    waiting = deque(enumerate(work))
    answers: dict[int, tuple[Any, float]] = {}
    errors: dict[int, Exception] = {}

    def take_turns() -> None:
        with config_context(**config):
            while True:
                try:
                    n, (task, *rest) = waiting.popleft()
                except IndexError:
                    return
                try:
                    answers[n] = task(*rest)
                except Exception as error:
                    errors[n] = error
                    waiting.clear()

    with ThreadPoolExecutor(workers - 1) as pool:
        others = [pool.submit(take_turns) for _ in range(workers - 1)]
        try:
            take_turns()
        finally:
            # Where Ctrl-C has ended this thread's turn, the others' ends with the present task.
            waiting.clear()
        for other in others:
            other.result()
    if errors:
        # All work before the first that failed was begun: no chance decides which error is shown.
        raise errors[min(errors)]
    return [answers[n] for n in range(len(work))]


def _predict_task(engine: Engine, data: Data, work: Assignment) -> tuple[FloatArray, float]:
    with one_thread(), _shown_columns(work) as columns:
        start = time.perf_counter()
        X, weight, params = data.part(work.train_rows, columns)
        X_query = data.query(work.query_rows, work.val_rows, columns)
        y, masks = work.y[work.train_rows], np.take(work.masks, columns, axis=1)
        predictions = engine.predict_many(X, y, masks, X_query, work.seeds, weight, params)
        return predictions, time.perf_counter() - start


def _fit_task(engine: Engine, data: Data, work: Assignment) -> tuple[list[Any], float]:
    with one_thread(), _shown_columns(work) as columns:
        start = time.perf_counter()
        X, weight, params = data.part(work.train_rows, columns)
        y, masks = work.y[work.train_rows], np.take(work.masks, columns, axis=1)
        models = engine.fit_many(X, y, masks, work.seeds, weight, params)
        return models, time.perf_counter() - start


@contextmanager
def _shown_columns(work: Assignment) -> Iterator[IntArray]:
    """Columns that some mask holds: of 20,000, a refresh may look at a hundred."""
    columns = np.arange(work.masks.shape[1])
    if len(columns) > NARROW:
        columns = np.flatnonzero(work.masks.any(axis=0))
    try:
        yield columns
    except BaseModelError as error:
        raise error.among(columns.tolist()) from error.__cause__


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
    work = [
        (_sum_task, engine, models[a : a + MODELS_PER_SUM], features[a : a + MODELS_PER_SUM], X)
        for a in range(0, len(models), MODELS_PER_SUM)
    ]
    workers = min(effective_n_jobs(n_jobs), len(work))
    with one_thread():
        if workers <= 1:
            sums = [task(*rest) for task, *rest in work]
        else:
            sums = Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(task)(*rest) for task, *rest in work
            )
    return np.add.reduce(sums) / len(models)


def _sum_task(
    engine: Engine, models: Sequence[Any], features: Sequence[IntArray], X: Table
) -> FloatArray:
    total = np.zeros((X.shape[0], engine.learner.n_outputs))
    with one_thread():
        for model, columns in zip(models, features, strict=True):
            answer = None
            # Users may put members of their own among ours; those for other columns say so.
            if len(columns) and getattr(model, "n_features_in_", None) == len(columns):
                answer = engine.ask(model, take_columns(X, columns))
            if answer is None or not np.isfinite(answer).all():
                answer = predict_one(engine.learner, model, X, columns)
            total += answer
    return total


# Libraries whose limit belongs to the process; that of OpenMP belongs to the calling thread.
SHARED_POOLS = ["openblas", "mkl", "blis", "flexiblas"]
OWN_POOLS = ["openmp"]


class _ThreadLimit:
    """Keeps native thread pools at one thread while anybody in the process needs that.

    The limit of most BLAS libraries belongs to the process: without counting, the first of two
    concurrent tasks to end would lift the limit under the other. That of OpenMP belongs to the
    calling thread, so every task sets it again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limiter: Any = None
        self._controller: Any = None
        self._n_modules = 0

    @contextmanager
    def hold(self) -> Iterator[None]:
        with self._lock:
            if self._users == 0:
                # A module that was imported since may have brought a thread pool of its own.
                if self._controller is None or self._n_modules != len(sys.modules):
                    self._controller = ThreadpoolController()
                    self._n_modules = len(sys.modules)
                _open_to_all_threads()
                self._limiter = self._controller.select(internal_api=SHARED_POOLS).limit(limits=1)
            self._users += 1
            own = self._controller.select(internal_api=OWN_POOLS).limit(limits=1)
        try:
            yield
        finally:
            with self._lock:
                own.restore_original_limits()
                self._users -= 1
                if self._users == 0:
                    _open_to_all_threads()
                    self._limiter.restore_original_limits()
                    _open_to_all_threads()


def _open_to_all_threads() -> None:
    """Let whoever comes first set the limit of BLAS, and whoever goes last restore it.

    Recent threadpoolctl reserves OpenBLAS for the thread that has set its limit first.
    """
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(openblas, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


one_thread = _ThreadLimit().hold

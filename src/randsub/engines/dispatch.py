"""How the work of an engine is spread over workers.

Masks and seeds are drawn before anything arrives here, and an engine's answer for a mask depends on
nothing but the mask and its seed. So how the masks are cut into tasks, and where the tasks run, can
change the time but not the result. To keep that true to the last bit, BLAS and OpenMP run on one
thread inside a task, wherever it runs: sums over several threads depend on their number.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs, parallel_config
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from randsub._tables import stack_rows, take_cells, take_columns
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.base import Engine
from randsub.engines.crew import Crew, GiveOut, is_on_cluster
from randsub.engines.delivery import Cargo, Parcel, Piece, Rows, bundled, deliver, split
from randsub.engines.members import overdue_on, predict_one, unsendable_on
from randsub.engines.native import one_thread
from randsub.engines.threads import TaskOverdueError, on_threads, on_watched_threads
from randsub.exceptions import BaseModelError

# A task should last long enough for the cost of sending it not to matter.
SECONDS_PER_TASK = 0.05
# Work that is done sooner than another thread is told of it.
SECONDS_WORTH_SHARING = 0.001
# A table of up to this many columns is shown to the engine as it is.
NARROW = 50
MODELS_PER_SUM = 10
# Tasks for a cluster are no more than that, so that bytes and messages do not grow with the work.
BUNDLES_PER_WORKER = 4


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

    @property
    def rows(self) -> Rows:
        """The rows, with the targets of those that train."""
        return Rows(self.y[self.train_rows], self.train_rows, self.query_rows, self.val_rows)

    def pieces(self, size: int) -> Iterator["Assignment"]:
        """The same in portions of at most ``size`` models."""
        for start in range(0, len(self.masks), size):
            stop = start + size
            yield replace(self, masks=self.masks[start:stop], seeds=self.seeds[start:stop])


class Dispatcher:
    """Runs assignments on as many workers as joblib's configuration allows.

    Used as a context, it keeps its workers, and they the data, from call to call.

    Parameters
    ----------
    engine : Engine
    data : Data
    n_jobs : int or None
    origin : int ndarray of shape (M,) or None
        Where one column of a mask stands for several of the data: which one each belongs to.
    time_limit : float or None
        Seconds that a task may take. Base models are then given out one by one, except to compiled
        engines, so that the error can name the one that is overdue.
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
        self._crew = Crew(n_jobs, engine.prefers, time_limit)
        self._cargo: Cargo | None = None
        self._seconds_per_model = 0.0

    def __enter__(self) -> Self:
        self._crew.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._crew.__exit__(*details)

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
            [
                model.unpacked() if isinstance(model, Parcel) else model
                for piece in pieces
                for model in piece
            ]
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
        workers = self._crew.size()
        size = self._models_per_task(assignments, workers)
        rows = [whole.rows for whole in assignments]
        pieces = [
            Piece(number, piece.masks, piece.seeds)
            for number, whole in enumerate(assignments)
            for piece in whole.pieces(size)
        ]
        with one_thread():
            answers = self._answers(task, rows, pieces, workers)
        results: list[list[Any]] = [[] for _ in assignments]
        seconds = 0.0
        for piece, (result, spent) in zip(pieces, answers, strict=True):
            results[piece.number].append(result)
            seconds += spent
        n_models = sum(len(piece.masks) for piece in pieces)
        if n_models:
            self._seconds_per_model = seconds / n_models
        return results

    def _answers(
        self,
        task: Callable[..., Any],
        rows: Sequence[Rows],
        pieces: Sequence[Piece],
        workers: int,
    ) -> Sequence[tuple[Any, float]]:
        expected = self._seconds_per_model * sum(len(piece.masks) for piece in pieces)
        n_useful = min(workers, len(pieces))
        alone = n_useful <= 1 or 0.0 < expected < SECONDS_WORTH_SHARING
        if not alone and not self._takes_threads():
            return self._away(task, rows, pieces, workers)
        work = [
            (task, self.engine, self.data, rows[number], masks, seeds)
            for number, masks, seeds in pieces
        ]
        if self.time_limit is not None and pieces:
            try:
                return on_watched_threads(work, n_useful, self.time_limit)
            except TaskOverdueError as late:
                raise self._overdue(pieces, late) from None
        if alone:
            return [task(*rest) for task, *rest in work]
        return on_threads(work, n_useful)

    def _takes_threads(self) -> bool:
        """Whether work goes to threads of our own, where joblib would use threads."""
        # joblib would wait for ever for a thread that hangs.
        ours = self.engine.prefers == "threads" or self.time_limit is not None
        return ours and self._crew.is_threads()

    def _overdue(self, pieces: Sequence[Piece], late: TaskOverdueError) -> BaseModelError:
        assert self.time_limit is not None
        suspects = pieces[late.number : late.number + late.n_suspects]
        n_models = sum(len(piece.masks) for piece in suspects)
        columns = np.flatnonzero(suspects[0].masks[0])
        return overdue_on(self.engine.learner, self.time_limit, n_models, columns)

    def _models_per_task(self, assignments: Sequence[Assignment], workers: int) -> int:
        largest = max((len(whole.masks) for whole in assignments), default=1)
        if self.time_limit is not None and self.engine.prefers == "processes":
            return 1
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

    def _away(
        self,
        task: Callable[..., Any],
        rows: Sequence[Rows],
        pieces: Sequence[Piece],
        workers: int,
    ) -> list[tuple[Any, float]]:
        """Answers of joblib's workers."""
        sent = sum(part.nbytes for part in rows) + sum(piece.masks.nbytes for piece in pieces)
        if not self._crew.is_remote():
            return self._ask(self._to_processes(task, rows, pieces), pieces, sent)
        n_bundles = workers * BUNDLES_PER_WORKER if self.time_limit is None else len(pieces)
        bundles = split(pieces, n_bundles)
        first = [bundle[0] for bundle in bundles]
        answers = self._ask(self._to_cluster(task, rows, bundles), first, sent)
        return [answer for bundle in answers for answer in bundle]

    def _ask(self, give_out: GiveOut, pieces: Sequence[Piece], n_bytes: int) -> list[Any]:
        try:
            return self._crew.ask(give_out, len(pieces), n_bytes)
        except TaskOverdueError as late:
            raise self._overdue(pieces, late) from None

    def _to_processes(
        self, task: Callable[..., Any], rows: Sequence[Rows], pieces: Sequence[Piece]
    ) -> GiveOut:
        """Tasks with all that they need; joblib lets workers of this machine share large arrays."""

        def give_out(n: int, again: bool) -> Any:
            number, masks, seeds = pieces[n]
            return delayed(task)(self.engine, self.data, rows[number], masks, seeds)

        return give_out

    def _to_cluster(
        self, task: Callable[..., Any], rows: Sequence[Rows], bundles: Sequence[Sequence[Piece]]
    ) -> GiveOut:
        """Tasks that name the data; it goes along the first time, and where it is not known."""
        task = _pack_task if task is _fit_task else task
        first = self._cargo is None
        cargo = self._cargo = self._cargo or Cargo(self.engine, self.data)

        def give_out(n: int, again: bool) -> Any:
            sent = cargo if first or again else None
            return delayed(deliver)(task, cargo.name, sent, bundled(rows, bundles[n]))

        return give_out


def _predict_task(
    engine: Engine, data: Data, rows: Rows, masks: BoolArray, seeds: IntArray
) -> tuple[FloatArray, float]:
    with one_thread(), _shown_columns(masks) as columns:
        start = time.perf_counter()
        X, weight, params = data.part(rows.train, columns)
        X_query = data.query(rows.query, rows.val, columns)
        shown = np.take(masks, columns, axis=1)
        predictions = engine.predict_many(X, rows.targets, shown, X_query, seeds, weight, params)
        return predictions, time.perf_counter() - start


def _fit_task(
    engine: Engine, data: Data, rows: Rows, masks: BoolArray, seeds: IntArray
) -> tuple[list[Any], float]:
    with one_thread(), _shown_columns(masks) as columns:
        start = time.perf_counter()
        X, weight, params = data.part(rows.train, columns)
        shown = np.take(masks, columns, axis=1)
        models = engine.fit_many(X, rows.targets, shown, seeds, weight, params)
        return models, time.perf_counter() - start


def _pack_task(
    engine: Engine, data: Data, rows: Rows, masks: BoolArray, seeds: IntArray
) -> tuple[list[Parcel], float]:
    """Fitted models in a form in which they can be sent back."""
    models, seconds = _fit_task(engine, data, rows, masks, seeds)
    parcels = []
    for model, mask in zip(models, masks, strict=True):
        try:
            parcels.append(Parcel(model))
        except Exception as failure:
            raise unsendable_on(engine.learner, failure, np.flatnonzero(mask)) from failure
    return parcels, seconds


@contextmanager
def _shown_columns(masks: BoolArray) -> Iterator[IntArray]:
    """Columns that some mask holds: of 20,000, a refresh may look at a hundred."""
    columns = np.arange(masks.shape[1])
    if len(columns) > NARROW:
        columns = np.flatnonzero(masks.any(axis=0))
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
    # The models are here: sending them would take longer than asking them.
    here = parallel_config(backend="threading", n_jobs=n_jobs or 1) if is_on_cluster() else None
    with here or nullcontext(), one_thread():
        workers = min(effective_n_jobs(n_jobs), len(work))
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

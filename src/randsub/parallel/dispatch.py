"""How the work of an engine is spread over workers.

Masks and seeds are drawn before an engine is asked, and an engine's answer for a mask depends on
nothing but the mask and its seed. So how the masks are cut into tasks, and where the tasks run, can
change the time but not the result. To keep that true to the last bit, BLAS and OpenMP run on one
thread inside a task, wherever it runs: sums over several threads depend on their number.
"""

import math
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.utils.parallel import delayed

from randsub._typing import FloatArray, HeldPredictions
from randsub.engines.base import Engine, short_name
from randsub.exceptions import BaseModelError, BaseModelTimeoutError
from randsub.parallel.assignment import Assignment, Data, Piece, Rows
from randsub.parallel.blas_threads import one_thread
from randsub.parallel.cluster_transport import Cargo, bundled, deliver, split, unbundled
from randsub.parallel.piece import Wanted, run_piece
from randsub.parallel.threads import TaskOverdueError, on_threads
from randsub.parallel.worker_pool import (
    MakeCall,
    Preference,
    WorkerPool,
    on_one_worker,
    work_for,
)

# Called with the number of models that are trained so far, and of all; it may raise StopRequest.
Watch: TypeAlias = Callable[[int, int], object]

# A task should last long enough for the cost of sending it not to matter.
SECONDS_PER_TASK = 0.05
# Work that is done before another thread can start on it.
SECONDS_WORTH_SHARING = 0.001
# The same where there is one worker and somebody watches, who is told after each task. Cutting
# costs time: some engines sort the columns of a task before they train its models.
SECONDS_PER_LOOK = 0.25
# Models of each worker whose time decides how the first dispatch that is watched is cut: single
# masks may be empty, and their models much faster than others.
MODELS_TRIED = 5
# Number of tasks for each worker of a cluster, so that bytes and messages do not grow with the
# number of models; of slow models there may be more tasks, of about so many seconds.
BUNDLES_PER_WORKER = 4
SECONDS_PER_BUNDLE = 1.0


class Dispatcher:
    """Runs assignments on the workers that joblib's configuration allows.

    Used as a context, it keeps its workers, and they the data, from call to call.

    Parameters
    ----------
    engines : Engine or sequence of Engine
        One for each base model; assignments name theirs by its place.
    data : Data
    n_jobs : int or None
    time_limit : float or None
        Seconds per task. Base models are then given out one by one, except to compiled engines, so
        that the error can name the one that is overdue.
    """

    def __init__(
        self,
        engines: Engine | Sequence[Engine],
        data: Data,
        n_jobs: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.engines: Sequence[Engine] = [engines] if isinstance(engines, Engine) else engines
        self.data = data
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        # By what they prefer; with one job there are no workers to keep.
        self._pools = {
            engine.prefers: None if n_jobs == 1 else WorkerPool(n_jobs, engine.prefers, time_limit)
            for engine in self.engines
        }
        self._cargo: Cargo | None = None
        # By base model.
        self._seconds_per_model = [0.0] * len(self.engines)
        # On a device the last bit may depend on what is trained together: not on times, then.
        self._is_known = [engine.on_device for engine in self.engines]

    def __enter__(self) -> Self:
        for pool in filter(None, self._pools.values()):
            pool.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        for pool in filter(None, self._pools.values()):
            pool.__exit__(*details)
        for engine in self.engines:
            engine.release()

    def predict(
        self, assignments: Sequence[Assignment], watch: Watch | None = None
    ) -> list[FloatArray]:
        """Predictions (T, n_query + n_val, C) of the models of each assignment.

        Parameters
        ----------
        assignments : sequence of Assignment
        watch : callable, default=None
            Called in this thread after each task, with the number of models that are trained and
            the number of all. It may raise :class:`StopRequest`, which ends the work. With it,
            tasks are short also where there is one worker. None of this changes the predictions.
        """
        n_outputs = self.engines[0].learner.n_outputs
        return [
            # An assignment without masks has no pieces, but still a shape.
            pieces[0]
            if len(pieces) == 1
            else np.concatenate([np.empty((0, whole.n_queries, n_outputs)), *pieces])
            for whole, pieces in zip(
                assignments, self._run("predictions", assignments, watch), strict=True
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

    def held(self, base: int, predictions: FloatArray) -> FloatArray | HeldPredictions:
        """Predictions of a base model, where its engine adds them up."""
        return self.engines[base].held(predictions)

    def seconds_per_model(self) -> list[float]:
        """Last time of a model of each base model, on one worker; 0 if unknown."""
        return self._seconds_per_model

    def trial(self, assignment: Assignment, engine: Engine) -> float:
        """Carry out an assignment here, model by model, with an engine of its base model.

        Returns the mean seconds of the models but the first, which may have the engine compiled.
        """
        assignment, engines = self.data.expanded(assignment), [*self.engines]
        engines[assignment.base] = engine
        task = partial(run_piece, "predictions", engines, self.data, assignment.rows)
        _, *seconds = [task(*piece[1:])[1] for piece in assignment.pieces(0, 1)]
        return sum(seconds) / len(seconds)

    def _run(
        self, wanted: Wanted, assignments: Sequence[Assignment], watch: Watch | None = None
    ) -> list[list[Any]]:
        """For each assignment the results of its pieces."""
        assignments = [self.data.expanded(one) for one in assignments]
        results: list[list[Any]] = [[] for _ in assignments]
        rows = [one.rows for one in assignments]
        n_all, n_done = sum(one.masks.shape[0] for one in assignments), 0

        def tell(n_models: int) -> None:
            nonlocal n_done
            n_done += n_models
            if watch is not None:
                watch(n_done, n_all)

        # Engines of one kind work side by side, one kind after the other.
        for prefers, pool in self._pools.items():
            workers = 1 if pool is None else pool.size()
            for pieces in self._waves(prefers, assignments, pool, workers, watch is not None):
                with one_thread():
                    answers = self._answers(wanted, rows, pieces, pool, workers, tell)
                for piece, (result, _) in zip(pieces, answers, strict=True):
                    results[piece.number].append(result)
                self._note_seconds(rows, pieces, answers)
        return results

    def _waves(
        self,
        prefers: Preference,
        assignments: Sequence[Assignment],
        pool: WorkerPool | None,
        workers: int,
        is_watched: bool,
    ) -> Iterator[list[Piece]]:
        """The work of engines of one kind, cut for the workers.

        If somebody watches, and nothing is known of a base model yet, a few models come first:
        by their time the others are cut into tasks. The first model of a compiled engine shows how
        long it takes to compile or to load it, and is not measured with others.
        """
        begun = [0] * len(assignments)
        bases = [base for base, engine in enumerate(self.engines) if engine.prefers == prefers]
        single = [(1, 1)] * 2 if prefers == "threads" else [(1, workers)]
        for most, n_models in (*single, (MODELS_TRIED, MODELS_TRIED * workers)):
            wave: list[Piece] = []
            for base in bases:
                first = next((one for one in enumerate(assignments) if one[1].base == base), None)
                if is_watched and not self._is_known[base] and first is not None:
                    n, whole = first
                    size = min(most, self._models_per_task(base, [whole], pool, workers, True))
                    wave += whole.pieces(n, size, begun[n], begun[n] + n_models)
                    begun[n] += n_models
            if wave:
                yield wave
        for base in bases:
            self._is_known[base] = True
        yield [
            piece
            for base in bases
            for piece in self._pieces(base, assignments, begun, pool, workers, is_watched)
        ]

    def _pieces(
        self,
        base: int,
        assignments: Sequence[Assignment],
        begun: Sequence[int],
        pool: WorkerPool | None,
        workers: int,
        is_watched: bool,
    ) -> list[Piece]:
        """What is left to be done for one base model, cut for the workers."""
        mine = {n: whole for n, whole in enumerate(assignments) if whole.base == base}
        size = self._models_per_task(base, [*mine.values()], pool, workers, is_watched)
        sizes = dict.fromkeys(mine, size)
        n_left = len(mine) % workers
        engine = self.engines[base]
        if n_left and not engine.on_device and self._takes_threads(engine.prefers, pool):
            # Threads start on work at next to no cost. Where whole assignments are given out, so
            # many of the largest are cut that all workers get the same share, if what they are cut
            # into is worth that cost.
            by_size = sorted(mine, key=lambda number: mine[number].masks.shape[0])
            largest = mine[by_size[-1]].masks.shape[0]
            even = -(-largest // (workers // math.gcd(n_left, workers)))
            if size == largest and even * self._seconds_per_model[base] >= SECONDS_WORTH_SHARING:
                sizes.update(dict.fromkeys(by_size[-n_left:], even))
        return [
            piece
            for number, whole in mine.items()
            for piece in whole.pieces(number, sizes[number], begun[number])
        ]

    def _note_seconds(
        self, rows: Sequence[Rows], pieces: Sequence[Piece], answers: Sequence[tuple[Any, float]]
    ) -> None:
        totals = np.zeros((len(self.engines), 2))
        for piece, (_, seconds) in zip(pieces, answers, strict=True):
            base = rows[piece.number].base
            totals[base] += seconds, len(piece.masks)
            self._seconds_per_model[base] = float(totals[base, 0] / totals[base, 1])

    def _models_per_task(
        self,
        base: int,
        assignments: Sequence[Assignment],
        pool: WorkerPool | None,
        workers: int,
        is_watched: bool,
    ) -> int:
        largest = max([1, *(whole.masks.shape[0] for whole in assignments)])
        prefers, seconds = self.engines[base].prefers, self._seconds_per_model[base]
        if self.time_limit is not None and prefers == "processes":
            return 1
        if self.engines[base].on_device:
            return largest
        if workers == 1:
            fitting = SECONDS_PER_LOOK / seconds if is_watched and seconds else largest
            return int(np.clip(fitting, 1, largest))
        if seconds == 0.0:
            return max(largest // workers, 1)
        return int(np.clip(SECONDS_PER_TASK / seconds, 1, largest))

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
        tell: Callable[[int], object],
    ) -> Sequence[tuple[Any, float]]:
        """Result of each piece, and the seconds that it took; all go to the same pool.

        ``tell`` is called with the numbers of models of the pieces, as they are done.
        """
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
        sizes = [len(piece.masks) for piece in pieces]
        try:
            if alone and self.time_limit is None:
                answers = []
                for task, size in zip(tasks, sizes, strict=True):
                    answers.append(task())
                    tell(size)
                return answers
            if alone or pool is None or self._takes_threads(prefers, pool):
                return on_threads(tasks, n_useful, self.time_limit, lambda n: tell(sizes[n]))
            if pool.is_remote():
                n_tasks = max(workers * BUNDLES_PER_WORKER, int(expected / SECONDS_PER_BUNDLE))
                return self._on_cluster(wanted, rows, pieces, pool, n_tasks, n_bytes, tell)
            # joblib lets processes of this machine share large arrays. Answers come in order.
            left = iter(sizes)
            return pool.run(
                lambda n, again: delayed(work_for)(os.getpid(), tasks[n]),
                len(tasks),
                n_bytes,
                lambda answer: tell(next(left)),
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
        n_tasks: int,
        n_bytes: int,
        tell: Callable[[int], object],
    ) -> list[tuple[Any, float]]:
        """The same from workers of other machines."""
        # Under a time limit, what is overdue must be known.
        bundles: Sequence[Sequence[Piece]] = [[piece] for piece in pieces]
        if self.time_limit is None:
            bundles = split(pieces, n_tasks)
        task = partial(run_piece, "pickled models" if wanted == "models" else wanted)
        deliveries = self._deliveries(partial(unbundled, task), lambda n: bundled(rows, bundles[n]))
        left = iter([sum(len(piece.masks) for piece in bundle) for bundle in bundles])
        answers = pool.run(deliveries, len(bundles), n_bytes, lambda answer: tell(next(left)))
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
        elsewhere = "processes" in self._pools or any(one.on_device for one in self.engines)
        if elsewhere or self.time_limit is not None or self.n_jobs == 1:
            return False
        return self.n_others() > 1 and not WorkerPool(self.n_jobs, "processes").is_threads()

    def n_others(self) -> int:
        """Number of workers outside this process."""
        return WorkerPool(self.n_jobs, "processes").size()

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
        alone = partial(_work_alone, work)
        if pool.is_remote():
            make_call = self._deliveries(alone, lambda n: arguments[n], is_long=True)
        else:
            pool = WorkerPool(min(pool.size(), len(arguments)), "processes")

            def make_call(n: int, again: bool) -> Any:
                task = partial(alone, self.engines, self.data, arguments[n])
                return delayed(work_for)(os.getpid(), task)

        pool.run(make_call, len(arguments), on_answer=on_answer)

    def _overdue(self, rows: Sequence[Rows], suspects: Sequence[Piece]) -> BaseModelError:
        """The error that names the subset on which a base model takes too long."""
        n_models = sum(len(piece.masks) for piece in suspects)
        what = "it" if n_models == 1 else f"one of {n_models} models, of which it is the first,"
        reason = (
            f"{what} had not ended after {self.time_limit:g} s, the task_timeout. Where it cannot "
            "be stopped from outside, in a thread or on a Dask cluster, it goes on in the "
            "background"
        )
        columns = suspects[0].columns[suspects[0].masks[0]].tolist()
        base = rows[suspects[0].number].base
        name = short_name(self.engines[base].learner)
        return self.data.located(BaseModelTimeoutError(name, reason, columns), base)


def _work_alone(
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
        return work(Dispatcher(engines, data, n_jobs=1), argument)

"""The workers that joblib's configuration names: kept during a fit, replaced when they die."""

import copy
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, Self, TypeAlias

from joblib import effective_n_jobs, parallel_config
from joblib.externals.loky import reusable_executor
from joblib.parallel import (
    LokyBackend,
    MultiprocessingBackend,
    SequentialBackend,
    ThreadingBackend,
    get_active_backend,
)
from sklearn.utils.parallel import Parallel

from randsub.engines.threads import TaskOverdueError
from randsub.engines.watch import StalledError, Watch, dask_client
from randsub.exceptions import WorkerLostError, WorkerLostWarning

Preference: TypeAlias = Literal["threads", "processes"]
GiveOut: TypeAlias = Callable[[int, bool], Any]

# Workers may die as often during one call before it is given up.
MOST_LOSSES = 3
# Backends may keep what they have sent for as long as they have the same workers: these are let go
# after so many bytes, and engaged again.
BYTES_BEFORE_RENEWAL = 2**28
# A Dask cluster counts as at least so many workers. With one that is left joblib would do the work
# in the calling process: what has just been the end of a worker would be the end of the fit.
LEAST_FAR = 2
# The backends of this machine. Others extend these classes, so types are compared as they are.
_LOCAL: Final = (SequentialBackend, ThreadingBackend, LokyBackend, MultiprocessingBackend)
# What backends raise when a worker, or the data that it held, is gone. Libraries that are not
# there cannot have raised anything, so names are enough.
_LOST: Final = frozenset(
    {
        "BrokenExecutor",  # processes of this machine
        "ShutdownExecutorError",  # the same, ended by somebody else in this program
        "CancelledError",  # Dask: data that only a dead worker had, or no connection any more
        "CommClosedError",
        "KilledWorker",
        "RayActorError",
        "WorkerCrashedError",
        "ObjectLostError",
        "StalledError",
    }
)
# The backend itself has tried again, and the same task was the end of several workers.
_HOPELESS: Final = frozenset({"KilledWorker"})


class _Processes:
    """Turns of threads at the processes of this machine, which joblib keeps for all of them.

    A thread that wants another number of processes keeps the others from giving them work, and
    waits until they have none: where one has more to give out, both wait for ever. And a task that
    fails, or is overdue, is the end of all processes, whoever has work there.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._of_parent: Any = None

    def begin_anew(self) -> None:
        """In a forked process: whoever had its turn is not there, and the processes are another's.

        joblib would take the parent's for its own, and fail. What it has of them is kept, since to
        give it up would disturb the parent.
        """
        self._lock = threading.RLock()
        if getattr(reusable_executor, "_executor", None) is not None:
            self._of_parent = reusable_executor._executor
            reusable_executor._executor = None

    @contextmanager
    def turn(self, backend: Any) -> Iterator[None]:
        """Wait for a turn, where the backend is the one that shares its processes."""
        if not isinstance(backend, LokyBackend):
            yield
            return
        with self._lock:
            yield


_PROCESSES = _Processes()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PROCESSES.begin_anew)


class Crew:
    """Workers of one dispatcher.

    Used as a context, it keeps its workers from call to call: Ray would start new processes for
    each, and processes of this machine would be given large arrays anew.

    Parameters
    ----------
    n_jobs : int or None
    prefers : {"threads", "processes"}
    time_limit : float or None
        Seconds that a task may take.
    """

    def __init__(
        self, n_jobs: int | None, prefers: Preference, time_limit: float | None = None
    ) -> None:
        self.n_jobs = n_jobs
        self.prefers = prefers
        self.time_limit = time_limit
        self._depth = 0
        self._parallel: Any = None
        self._bytes_sent = 0

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(self, *details: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.dismiss()

    def dismiss(self) -> None:
        """Let the workers go; the next call engages others."""
        parallel, self._parallel = self._parallel, None
        self._bytes_sent = 0
        if parallel is not None:
            parallel.__exit__(None, None, None)

    def size(self) -> int:
        """Number of workers; 1 is the calling process, and no worker of a Dask cluster."""
        if self.n_jobs == 1:
            # On a cluster, joblib's backends count all of its workers even so.
            return 1
        try:
            n_workers = effective_n_jobs(self.n_jobs)
            return max(n_workers, LEAST_FAR) if self._keeps_away() else n_workers
        except Exception as error:
            if self.is_remote():
                raise WorkerLostError.out_of_reach(error) from error
            raise

    def is_remote(self) -> bool:
        """Whether the workers may be on other machines."""
        return is_on_cluster(self.prefers)

    def is_threads(self) -> bool:
        """Whether the workers are threads of this process."""
        return isinstance(_active_backend(self.prefers), ThreadingBackend | SequentialBackend)

    def _keeps_away(self) -> bool:
        """Whether work stays away from the calling process, however few workers there are."""
        return dask_client(_active_backend(self.prefers)) is not None

    def ask(
        self,
        give_out: GiveOut,
        n_tasks: int,
        n_bytes: int = 0,
        on_answer: Callable[[], object] | None = None,
    ) -> list[Any]:
        """Answers to all tasks, in their order; those of a worker that dies are given out again.

        Everything random was drawn before, so whoever answers, the answer is the same.

        Parameters
        ----------
        give_out : callable
            Makes task ``n`` ready to be sent. Its second argument says whether it is sent again.
            An answer None stands for a worker that cannot do the task before that.
        n_tasks : int
        n_bytes : int, default=0
            Size of what the tasks bring along.
        on_answer : callable, default=None
            Called as often as there are answers, at each of them.

        Raises
        ------
        TaskOverdueError
            Where a task takes longer than the time limit.
        WorkerLostError
            Where workers die again and again, or none is left.
        """
        answers: dict[int, Any] = {}
        losses = 0
        again = False
        with self, _PROCESSES.turn(_active_backend(self.prefers)):
            self._renew_before(n_bytes)
            while left := [n for n in range(n_tasks) if n not in answers]:
                try:
                    calls = (give_out(n, again) for n in left)
                    # One by one, so that what is there is kept when the next one never comes.
                    for n, answer in self._results(calls, left):
                        if answer is not None:
                            answers[n] = answer
                            if on_answer is not None:
                                on_answer()
                except Exception as error:
                    if self.time_limit is not None and _is_time_limit(error):
                        late = [n for n in left if n not in answers]
                        streams = _active_backend(self.prefers).supports_return_generator
                        raise TaskOverdueError(late[0], 1 if streams else len(late)) from None
                    losses += 1
                    self._replace(error, losses)
                again = True
        return [answers[n] for n in range(n_tasks)]

    def _renew_before(self, n_bytes: int) -> None:
        if self._bytes_sent + n_bytes > BYTES_BEFORE_RENEWAL:
            self.dismiss()
        self._bytes_sent += n_bytes

    def _results(self, calls: Iterable[Any], names: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """What the calls return, in their order, each with its name."""
        parallel, backend = self._engaged(), _active_backend(self.prefers)
        if not self.is_remote():
            # Results come first, so that they are taken to their end.
            for answer, name in zip(parallel(calls), names, strict=True):
                yield name, answer
            return
        with Watch(parallel, backend) as watch:
            try:
                for answer, name in zip(parallel(calls), names, strict=True):
                    watch.note()
                    yield name, answer
            except Exception:
                # A wait that was ended from outside ends in all kinds of errors.
                if not watch.stalled:
                    raise
        if watch.error is not None:
            raise WorkerLostError.out_of_reach(watch.error) from watch.error
        if watch.stalled:
            raise StalledError("the cluster has nothing to do, but has not answered")

    def _engaged(self) -> Any:
        """Workers that give their results one by one, where the backend can do that."""
        if self._parallel is None:
            backend = _active_backend(self.prefers)
            away = self._keeps_away()
            self._parallel = Parallel(
                n_jobs=self.n_jobs if away else self.size(),
                prefer=self.prefers,
                # One of our own: whoever else uses the one of the configuration, as a base model
                # that works here meanwhile may, lets its workers go afterwards.
                backend=_never_here(backend) if away else copy.copy(backend),
                timeout=self.time_limit,
                # Tasks for a cluster are cut to size already, and what is overdue must be known.
                batch_size=1 if self.time_limit is not None or self.is_remote() else "auto",
                return_as="generator" if backend.supports_return_generator else "list",
            ).__enter__()
        return self._parallel

    def _replace(self, error: Exception, losses: int) -> None:
        """Engage others for workers that were lost, or raise what cannot be helped."""
        if not lost_a_worker(error):
            raise error
        self.dismiss()
        if _is_hopeless(error) or losses > MOST_LOSSES:
            raise WorkerLostError.too_often(error) from error
        # Raises where there is no cluster any more.
        self.size()
        warnings.warn(
            f"A worker died ({type(error).__name__}). What it had to do is done again, which does "
            "not change the result. If that happens often, workers have too little memory.",
            WorkerLostWarning,
            stacklevel=2,
        )


def ask_all(
    crew: Crew, calls: Sequence[Any], on_answer: Callable[[], object] | None = None
) -> list[Any]:
    """What calls return, in their order, whoever dies meanwhile.

    Parameters
    ----------
    crew : Crew
    calls : sequence
        Made by scikit-learn's ``delayed``; none of them may return None.
    on_answer : callable, default=None
        Called at each answer.
    """
    if crew.size() == 1:
        # Here, also where joblib's configuration names a cluster.
        answers = []
        for answer in Parallel(n_jobs=1, backend="sequential", return_as="generator")(calls):
            answers.append(answer)
            if on_answer is not None:
                on_answer()
        return answers
    return crew.ask(lambda n, again: calls[n], len(calls), on_answer=on_answer)


def is_on_cluster(prefers: Preference = "threads") -> bool:
    """Whether joblib's configuration names a backend whose workers may be on other machines."""
    return type(_active_backend(prefers)) not in _LOCAL


def on_one_worker() -> Any:
    """Context inside which work of models is not shared out again, unless they ask for it.

    Whatever runs on a worker of a cluster would otherwise send all that it might do in parallel,
    the trees of a forest, say, through the cluster.
    """
    return parallel_config(backend="threading", n_jobs=1)


def _active_backend(prefers: Any) -> Any:
    backend, _ = get_active_backend(prefer=prefers)
    return backend


def _never_here(backend: Any) -> Any:
    """The same backend, for which joblib sends tasks even to a single worker."""
    # It is shared with whoever else uses joblib, so it is left as it is.
    away = copy.copy(backend)
    away.effective_n_jobs = lambda n_jobs: max(backend.effective_n_jobs(n_jobs), LEAST_FAR)
    return away


def _is_time_limit(error: Exception) -> bool:
    """Whether joblib has waited for a task as long as it may; other timeouts say what they are."""
    # Which of Python's errors of this name it is differs between versions of joblib.
    return type(error).__name__ == "TimeoutError" and not error.args


def lost_a_worker(error: Exception) -> bool:
    """Whether an error says that a worker is gone, rather than that a task has failed."""
    kinds = type(error).__mro__
    if type(error) is RuntimeError and error.__context__ is not None:
        # Of processes that somebody else has ended joblib tells in words of its own.
        kinds += type(error.__context__).__mro__
    return any(kind.__name__ in _LOST for kind in kinds)


def _is_hopeless(error: Exception) -> bool:
    return any(kind.__name__ in _HOPELESS for kind in type(error).__mro__)

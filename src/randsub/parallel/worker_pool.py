"""The workers that joblib's configuration asks for: kept during a fit, replaced when they die.

joblib does the work; what it lacks is here. It fails for good when a process dies, or when a Dask
or Ray worker does; we give the tasks out again. It shares one set of loky processes between all
threads, which must take turns, and hands it on to forked processes, which cannot use it. It does
the work of a cluster with one worker in the calling process.
"""

import copy
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from multiprocessing import TimeoutError as PoolTimeoutError
from typing import Any, Final, Literal, Self, TypeAlias

from joblib import effective_n_jobs, parallel_config
from sklearn.utils.parallel import Parallel

from randsub._joblib import (
    LokyBackend,
    MultiprocessingBackend,
    SequentialBackend,
    ThreadingBackend,
    get_active_backend,
    get_reusable_executor,
)
from randsub.exceptions import WorkerLostError, WorkerLostWarning
from randsub.parallel.stall_detector import StallDetector, dask_client
from randsub.parallel.stop_request import StopRequest
from randsub.parallel.threads import TaskOverdueError

Preference: TypeAlias = Literal["threads", "processes"]
MakeCall: TypeAlias = Callable[[int, bool], Any]

# Number of times that workers may die during one call before it is given up.
MOST_LOSSES = 3
# Backends may keep what they have sent for as long as they have the same workers: these are let go
# after this many bytes, and engaged again.
BYTES_BEFORE_RENEWAL = 2**28
# How often a process looks whether the one that started it is still there.
SECONDS_BETWEEN_LOOKS_AT_PARENT = 5.0
_WATCHED: set[int] = set()
# A Dask cluster counts as at least this many workers. With one that is left joblib would do the
# work in the calling process: what has just killed a worker would be the end of the fit.
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


class _LokyTurns:
    """Turns of threads at loky's processes, which joblib shares between all of them.

    A thread that wants another number of processes keeps the others from giving them work, and
    waits until they have none: where one has more to give out, both wait for ever. And a task that
    fails, or is overdue, is the end of all processes, whoever has work there.
    """

    def __init__(self) -> None:
        self.begin(is_forked=False)

    def begin(self, is_forked: bool = True) -> None:
        """Nobody has a turn: in a forked process, whoever had one is not there."""
        self.lock = threading.RLock()
        self._holds_parents = is_forked

    @contextmanager
    def turn(self, backend: Any) -> Iterator[None]:
        """Wait for a turn, where the backend is the one that shares its processes."""
        if not isinstance(backend, LokyBackend):
            yield
            return
        with self.lock:
            if self._holds_parents:
                self._holds_parents = False
                # A forked process has a copy of the parent's pool, which it would wait for in vain.
                # Shut down, it is replaced at the next use; the parent does not notice.
                get_reusable_executor(reuse=True).shutdown(wait=False)
            yield


_LOKY_TURNS = _LokyTurns()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOKY_TURNS.begin)


class _DroppedError(Exception):
    """Nobody waits for the remaining answers."""


class WorkerPool:
    """Workers of one dispatcher.

    Used as a context, it keeps its workers from call to call: Ray would start new processes for
    each, and processes of this machine would be given large arrays anew.

    Parameters
    ----------
    n_jobs : int or None
    prefers : {"threads", "processes"}
    time_limit : float or None
        Seconds per task.
    """

    def __init__(
        self, n_jobs: int | None, prefers: Preference, time_limit: float | None = None
    ) -> None:
        self.n_jobs = n_jobs
        self.prefers = prefers
        self.time_limit = time_limit
        self._depth = 0
        self._parallel: Any = None
        self._detector: StallDetector | None = None
        self._bytes_sent = 0

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(self, *details: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.close()

    def close(self) -> None:
        """Let the workers go; the next call engages others."""
        parallel, self._parallel, self._detector = self._parallel, None, None
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
            on_dask = dask_client(active_backend(self.prefers)) is not None
            return max(n_workers, LEAST_FAR) if on_dask else n_workers
        except Exception as error:
            if self.is_remote():
                raise WorkerLostError.out_of_reach(error) from error
            raise

    def is_remote(self) -> bool:
        """Whether the workers may be on other machines."""
        return is_on_cluster(self.prefers)

    def is_threads(self) -> bool:
        """Whether the workers are threads of this process."""
        return isinstance(active_backend(self.prefers), ThreadingBackend | SequentialBackend)

    def run_all(
        self, calls: Sequence[Any], on_answer: Callable[[Any], object] | None = None
    ) -> list[Any]:
        """What calls return, in their order, whoever dies meanwhile.

        Parameters
        ----------
        calls : sequence
            Made by scikit-learn's ``delayed``. None of them may return None.
        on_answer : callable, default=None
            Called with each answer, in their order.
        """
        if self.size() > 1:
            return self.run(lambda n, again: calls[n], len(calls), on_answer=on_answer)
        answers = []
        # Here, also where joblib's configuration asks for a cluster.
        for answer in Parallel(n_jobs=1, backend="sequential", return_as="generator")(calls):
            answers.append(answer)
            if on_answer is not None:
                on_answer(answer)
        return answers

    def run(
        self,
        make_call: MakeCall,
        n_calls: int,
        n_bytes: int = 0,
        on_answer: Callable[[Any], object] | None = None,
    ) -> list[Any]:
        """Answers to all calls, in their order; those of a worker that dies are made again.

        Everything random was drawn before, so whoever answers, the answer is the same.

        Parameters
        ----------
        make_call : callable
            Makes call ``n`` ready to be sent. Its second argument says whether it is sent again.
            An answer None stands for a worker that cannot do the task before that.
        n_calls : int
        n_bytes : int, default=0
            Size of what the calls bring along.
        on_answer : callable, default=None
            Called with each answer, in their order. What it raises is the end of all work: tasks
            that have not begun are left out, and processes that are at work are ended.

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
        with self, _LOKY_TURNS.turn(active_backend(self.prefers)):
            if self._bytes_sent + n_bytes > BYTES_BEFORE_RENEWAL:
                self.close()
            self._bytes_sent += n_bytes
            while left := [n for n in range(n_calls) if n not in answers]:
                try:
                    calls = (make_call(n, again) for n in left)
                    # One by one, so that what is there is kept when the next one never comes.
                    with closing(self._answers(calls, left)) as arriving:
                        for answer, n in arriving:
                            if answer is not None:
                                answers[n] = answer
                                if on_answer is not None:
                                    on_answer(answer)
                except StopRequest:
                    # joblib may have replaced the workers that it has ended by others.
                    self.close()
                    raise
                except Exception as error:
                    if self.time_limit is not None and _is_time_limit(error):
                        late = [n for n in left if n not in answers]
                        streams = active_backend(self.prefers).supports_return_generator
                        raise TaskOverdueError(late[0], 1 if streams else len(late)) from None
                    losses += 1
                    self._replace(error, losses)
                again = True
        return [answers[n] for n in range(n_calls)]

    def _answers(
        self, calls: Iterable[Any], numbers: Iterable[int]
    ) -> Generator[tuple[Any, int], None, None]:
        """What the calls return, in their order, each with its number."""
        if self._parallel is None:
            self._engage()
        with self._detector or nullcontext():
            answers = self._parallel(calls)
            try:
                # Answers come first, so that they are taken to their end.
                yield from zip(answers, numbers, strict=True)
            except GeneratorExit:
                if isinstance(answers, Generator):
                    # An error ends joblib's work at once. If its generator is closed instead, it
                    # warns that work is dropped, which is what was asked for.
                    with suppress(_DroppedError):
                        answers.throw(_DroppedError())
                raise

    def _engage(self) -> None:
        """Workers that give their results one by one, where the backend can do that."""
        backend, is_remote = own_backend(active_backend(self.prefers)), self.is_remote()
        if is_remote and backend.supports_retrieve_callback:
            self._detector = StallDetector(backend)
        self._parallel = Parallel(
            n_jobs=self.size(),
            prefer=self.prefers,
            backend=backend,
            timeout=self.time_limit,
            # Tasks for a cluster are cut to size already, and what is overdue must be known.
            batch_size=1 if self.time_limit is not None or is_remote else "auto",
            return_as="generator" if backend.supports_return_generator else "list",
        ).__enter__()

    def _replace(self, error: Exception, losses: int) -> None:
        """Let go of workers that were lost, or raise what cannot be helped."""
        if not lost_a_worker(error):
            raise error
        self.close()
        if _is_one_of(error, _HOPELESS) or losses > MOST_LOSSES:
            raise WorkerLostError.too_often(error) from error
        # Raises where there is no cluster any more.
        self.size()
        warnings.warn(
            f"A worker died ({type(error).__name__}). Its tasks are run again, which does not "
            "change the result. If that happens often, workers have too little memory.",
            WorkerLostWarning,
            stacklevel=2,
        )


def work_for(parent: int, work: Callable[[], Any]) -> Any:
    """Do some work in a process that was started by ``parent``, and end soon after that has died.

    A process whose answer does not fit into a pipe would wait for ever for someone to read it, and
    others for their turn after it.
    """
    if os.getppid() == parent and parent not in _WATCHED:
        _WATCHED.add(parent)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    return work()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS_AT_PARENT)
    os._exit(1)


def is_on_cluster(prefers: Preference = "threads") -> bool:
    """Whether joblib's configuration asks for workers that may be on other machines."""
    return type(active_backend(prefers)) not in _LOCAL


def on_one_worker() -> Any:
    """Context inside which work of models is not shared out again, unless they ask for it.

    Whatever runs on a worker of a cluster would otherwise send all that it might do in parallel,
    the trees of a forest, say, through the cluster.
    """
    return parallel_config(backend="threading", n_jobs=1)


def active_backend(prefers: Preference) -> Any:
    """The backend that joblib would use now."""
    backend, _ = get_active_backend(prefer=prefers)
    return backend


def own_backend(backend: Any) -> Any:
    """The same backend for one pool alone.

    Whoever else uses the one of the configuration, as a base model in this process may, lets its
    workers go afterwards. One for Dask counts as several workers, so that joblib sends tasks even
    to a single one.
    """
    client = dask_client(backend)
    if client is None:
        return copy.copy(backend)
    timeout = backend.wait_for_workers_timeout
    own = type(backend)(client=client, wait_for_workers_timeout=timeout, **backend.submit_kwargs)
    own.effective_n_jobs = lambda n_jobs: max(backend.effective_n_jobs(n_jobs), LEAST_FAR)
    return own


def lost_a_worker(error: Exception) -> bool:
    """Whether an error says that a worker is gone, rather than that a task has failed."""
    # Of processes that somebody else has ended joblib tells in words of its own.
    cause = error.__context__ if type(error) is RuntimeError else None
    return _is_one_of(error, _LOST) or _is_one_of(cause, _LOST)


def _is_one_of(error: BaseException | None, names: frozenset[str]) -> bool:
    return any(kind.__name__ in names for kind in type(error).__mro__)


def _is_time_limit(error: Exception) -> bool:
    """Whether joblib has waited for a task for as long as it may; other timeouts have a message."""
    return isinstance(error, TimeoutError | PoolTimeoutError) and not error.args

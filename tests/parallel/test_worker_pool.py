"""Workers that die, hang or are nowhere to be found."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import LokyBackend
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.parallel import delayed as sklearns_delayed

from randsub.engines import GenericEngine, KNNEngine, Learner
from randsub.exceptions import BaseModelTimeoutError, WorkerLostError, WorkerLostWarning
from randsub.parallel import (
    Assignment,
    Data,
    Dispatcher,
    blas_threads,
    dispatch,
    lost_a_worker,
    worker_pool,
)
from randsub.parallel.threads import TaskOverdueError, on_threads
from randsub.parallel.worker_pool import WorkerPool

N, M = 30, 4
X = np.random.default_rng(0).normal(size=(N, M))


class Faithless(LinearRegression):
    """Ends its process, as often as there are files to delete, wherever feature 3 is."""

    def __init__(self, folder: str = "") -> None:
        super().__init__()
        self.folder = folder

    def fit(self, X: Any, y: Any) -> Any:
        orders = sorted(Path(self.folder).iterdir())
        if X.shape[1] == 3 and orders:
            orders[0].unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


ENOUGH = "ENOUGH_OF_HANGING"


class Hanging(LinearRegression):
    """Never ends on three columns; one that is left behind does after a while, or when told."""

    def fit(self, X: Any, y: Any) -> Any:
        end = time.monotonic() + 20.0
        while X.shape[1] == 3 and time.monotonic() < end and ENOUGH not in os.environ:
            time.sleep(0.02)
        return super().fit(X, y)


def work() -> list[Assignment]:
    rng = np.random.default_rng(1)
    masks = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 1], [0, 1, 0, 1]], dtype=bool)
    y = X @ np.arange(M) + rng.normal(size=N)
    return [
        Assignment(y, np.arange(20), np.arange(20, N), np.arange(0), masks, np.arange(4)),
        Assignment(-y, np.arange(9, N), np.arange(9), np.arange(3), masks[:2], np.arange(2)),
    ]


def dispatcher(base: Any, **options: Any) -> Dispatcher:
    return Dispatcher(GenericEngine(Learner(base)), Data(X, X, None, {}), **options)


# -- workers that die ------------------------------------------------------------------------------


def test_what_a_dead_process_had_to_do_is_done_again(tmp_path) -> None:
    expected = dispatcher(LinearRegression()).predict(work())
    for name in "ab":
        (tmp_path / name).touch()
    with dispatcher(Faithless(str(tmp_path)), n_jobs=2) as trained:
        with pytest.warns(WorkerLostWarning, match="TerminatedWorkerError.*run again"):
            found = trained.predict(work())
        # Others are there now.
        again = trained.predict(work())
    assert not list(tmp_path.iterdir())
    for one, two, three in zip(expected, found, again, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, three)


def answered_or_dead(number: int, omen: str) -> int:
    if Path(omen).exists():
        Path(omen).unlink()
        os._exit(1)
    return number**2


def test_calls_of_a_dead_process_are_made_again(tmp_path) -> None:
    omen = tmp_path / "omen"
    omen.touch()
    calls = [sklearns_delayed(answered_or_dead)(n, str(omen)) for n in range(6)]
    seen: list[int] = []
    with pytest.warns(WorkerLostWarning, match="run again"):
        found = WorkerPool(2, "processes").run_all(calls, seen.append)
    assert found == seen == [0, 1, 4, 9, 16, 25]
    assert not omen.exists()


def test_calls_of_one_worker_are_made_here_one_by_one(tmp_path) -> None:
    made: list[str] = []
    calls = [sklearns_delayed(made.append)(name) for name in "ab"]
    pool = WorkerPool(1, "processes")
    assert pool.run_all(calls, lambda answer: made.append("answer")) == [None, None]
    assert made == ["a", "answer", "b", "answer"]


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_others_may_use_the_backend_meanwhile(backend) -> None:
    def give_out(n: int, again: bool) -> Any:
        return sklearns_delayed(abs)(-n)

    with parallel_config(backend=backend, n_jobs=2), WorkerPool(None, "processes") as workers:
        assert workers.run(give_out, 3) == [0, 1, 2]
        # Such as a base model that is asked in this process.
        assert Parallel()(delayed(abs)(-n) for n in range(3)) == [0, 1, 2]
        assert workers.run(give_out, 3) == [0, 1, 2]


def napped(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def beside_a_call_of_two(other: Any) -> list[Any]:
    """Answers to calls of two processes, in the midst of which another thread does its own."""
    begun = threading.Event()
    aside = threading.Thread(target=lambda: begun.wait(60.0) and other(), daemon=True)
    aside.start()
    answers: list[Any] = []

    def call() -> None:
        calls = [sklearns_delayed(napped)(0.01 + n / 1000) for n in range(30)]
        answers.extend(WorkerPool(2, "processes").run_all(calls, lambda answer: begun.set()))

    main = threading.Thread(target=call, daemon=True)
    main.start()
    for thread in (main, aside):
        thread.join(60.0)
        assert not thread.is_alive(), "They wait for each other."
    return answers


def test_threads_with_different_numbers_of_processes_do_not_wait_for_ever() -> None:
    found: list[float] = []

    def other() -> None:
        found.extend(WorkerPool(3, "processes").run_all([sklearns_delayed(napped)(0.02)] * 30))

    assert beside_a_call_of_two(other) == [0.01 + n / 1000 for n in range(30)]
    assert found == [0.02] * 30


def test_a_failure_in_one_thread_leaves_the_processes_to_others() -> None:
    failures: list[ZeroDivisionError] = []

    def other() -> None:
        try:
            WorkerPool(2, "processes").run_all([sklearns_delayed(divmod)(1, 0)] * 4)
        except ZeroDivisionError as failure:
            failures.append(failure)

    assert beside_a_call_of_two(other) == [0.01 + n / 1000 for n in range(30)]
    assert len(failures) == 1


@pytest.mark.parametrize("kept", [True, False], ids=["between calls", "during a call"])
def test_processes_that_others_have_ended_are_replaced(kept) -> None:
    def give_out(n: int, again: bool) -> Any:
        return sklearns_delayed(napped)(0.1)

    def end_all() -> None:
        get_reusable_executor(reuse=True).shutdown(kill_workers=True)

    with WorkerPool(2, "processes") as workers:
        assert workers.run(give_out, 2) == [0.1, 0.1]
        orders = [] if kept else [end_all]
        if kept:
            end_all()
        with pytest.warns(WorkerLostWarning, match="run again"):
            found = workers.run(give_out, 8, on_answer=lambda answer: orders and orders.pop()())
    assert found == [0.1] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_wait_for_the_turn_of_a_thread_that_it_lacks() -> None:
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with worker_pool._LOKY_TURNS.turn(LokyBackend()):
            held.set()
            over.wait(60.0)

    other = threading.Thread(target=hold, daemon=True)
    other.start()
    assert held.wait(60.0)
    child = os.fork()
    if child == 0:
        os._exit(0 if worker_pool._LOKY_TURNS.lock.acquire(blocking=False) else 1)
    _, status = os.waitpid(child, 0)
    over.set()
    other.join()
    assert os.waitstatus_to_exitcode(status) == 0


def failing(errors: list[Exception]) -> Any:
    """A Parallel that fails in these ways, one after the other, before it does its work."""

    class Failing:
        engaged: ClassVar[list[Any]] = []

        def __init__(self, **options: Any) -> None:
            self.engaged.append(self)

        def __enter__(self) -> "Failing":
            return self

        def __exit__(self, *details: object) -> None:
            self.engaged.remove(self)

        def __call__(self, calls: Any) -> Any:
            for n, (function, args, kwargs) in enumerate(calls):
                if n == 2 and errors:
                    raise errors.pop(0)
                yield function(*args, **kwargs)

    return Failing


def ask(monkeypatch: Any, errors: list[Exception], workers: WorkerPool | None = None) -> Any:
    kind = failing(errors)
    monkeypatch.setattr(worker_pool, "Parallel", kind)
    asked: list[tuple[int, bool]] = []

    def give_out(n: int, again: bool) -> Any:
        asked.append((n, again))
        return delayed(abs)(-n)

    try:
        with parallel_config(backend="loky", n_jobs=2):
            answers = (workers or WorkerPool(2, "processes")).run(give_out, 4)
    finally:
        # Whoever was engaged was let go.
        assert kind.engaged == []
    return answers, asked


def test_only_what_is_missing_is_given_out_again(monkeypatch) -> None:
    with pytest.warns(WorkerLostWarning):
        answers, asked = ask(monkeypatch, [CancelledError("gone")])
    assert answers == [0, 1, 2, 3]
    assert asked == [(0, False), (1, False), (2, False), (2, True), (3, True)]


@pytest.mark.filterwarnings("ignore::randsub.exceptions.WorkerLostWarning")
def test_workers_that_always_die_are_given_up(monkeypatch) -> None:
    monkeypatch.setattr(worker_pool, "MOST_LOSSES", 0)
    with pytest.raises(WorkerLostError, match=r"died each time .*TerminatedWorkerError: so\)\. "):
        ask(monkeypatch, [TerminatedWorkerError("so.")])


def test_what_a_cluster_has_tried_often_is_not_tried_again(monkeypatch) -> None:
    class KilledWorker(Exception):  # noqa: N818
        """As Dask has it."""

    with pytest.raises(WorkerLostError, match=r"KilledWorker.*resume_from"):
        ask(monkeypatch, [KilledWorker("four times")])


@pytest.mark.parametrize("error", [ValueError("no"), OSError("disk"), TimeoutError("no worker")])
def test_other_errors_are_not_taken_for_the_death_of_a_worker(monkeypatch, error) -> None:
    assert not lost_a_worker(error)
    with pytest.raises(type(error), match=str(error)):
        ask(monkeypatch, [error])


class FarAway(LokyBackend):
    """A backend that is none of joblib's own, so that its workers may be anywhere."""

    gone: ClassVar[bool] = False

    def effective_n_jobs(self, n_jobs: int) -> int:
        if self.gone:
            raise OSError("Timed out trying to connect to tcp://there:8786")
        return super().effective_n_jobs(n_jobs)


def test_a_cluster_that_is_gone_is_a_clear_error(monkeypatch) -> None:
    monkeypatch.setattr(FarAway, "gone", True)
    with (
        parallel_config(backend=FarAway(), n_jobs=2),
        pytest.raises(WorkerLostError, match=r"cannot be reached \(OSError: Timed.*resume_from"),
    ):
        dispatcher(LinearRegression()).predict(work())
    with parallel_config(backend=FarAway(), n_jobs=2):
        # Who wants no workers needs no cluster.
        dispatcher(LinearRegression(), n_jobs=1).predict(work())


def test_a_cluster_gets_the_same_result_with_the_data_sent_where_it_is_not_known(
    monkeypatch,
) -> None:
    expected = dispatcher(LinearRegression()).predict(work())
    sent: list[bool] = []

    def noting(function: Any) -> Any:
        def call(task: Any, name: str, cargo: Any, *rest: Any) -> Any:
            sent.append(cargo is not None)
            return sklearns_delayed(function)(task, name, cargo, *rest)

        return call

    monkeypatch.setattr(dispatch, "delayed", noting)
    monkeypatch.setattr(dispatch, "SECONDS_WORTH_SHARING", 0.0)
    with parallel_config(backend=FarAway(), n_jobs=2), dispatcher(LinearRegression()) as trained:
        for _ in range(3):
            sent.clear()
            found = trained.predict(work())
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(one, other)
            # By name first, but for the first time; again with the data where that was not enough.
            assert sent == sorted(sent)
        assert False in sent
        # These workers are new, and know nothing.
        trained._pools["processes"].close()
        get_reusable_executor().shutdown(kill_workers=True)
        sent.clear()
        models = trained.fit(work())
        assert sent == sorted(sent)
        assert sent.count(False) == sent.count(True) > 0
    assert [len(part) for part in models] == [4, 2]


def test_workers_are_kept_during_a_context_and_renewed_after_many_bytes(monkeypatch) -> None:
    kind = failing([])
    monkeypatch.setattr(worker_pool, "Parallel", kind)
    monkeypatch.setattr(worker_pool, "BYTES_BEFORE_RENEWAL", 100)
    workers = WorkerPool(2, "processes")
    seen = []
    with workers:
        for n_bytes in (60, 30, 60, 60):
            workers.run(lambda n, again: delayed(abs)(n), 1, n_bytes)
            seen.append(kind.engaged[0])
    assert kind.engaged == []
    assert seen[0] is seen[1]
    assert seen[1] is not seen[2]
    assert seen[2] is not seen[3]


# -- models that hang ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backend", "n_jobs"), [("loky", 1), ("threading", 2), ("loky", 2)], ids=str
)
def test_a_model_that_hangs_is_named(backend, n_jobs, monkeypatch) -> None:
    start = time.monotonic()
    limit = 1.0 if n_jobs == 1 or backend == "threading" else 6.0
    with (
        parallel_config(backend=backend),
        pytest.raises(BaseModelTimeoutError, match=rf"not ended after {limit:g} s") as caught,
    ):
        dispatcher(Hanging(), n_jobs=n_jobs, time_limit=limit).predict(work())
    assert caught.value.features == (1, 2, 3)
    assert caught.value.located(list("abcd"), 3).names == ("b", "c", "d")
    assert isinstance(caught.value.located(list("abcd"), 3), BaseModelTimeoutError)
    assert time.monotonic() - start < 18.0
    # A thread that is left behind would keep libraries at one thread under the tests after this.
    monkeypatch.setenv(ENOUGH, "1")
    while blas_threads._LIMIT._users and time.monotonic() - start < 30.0:
        time.sleep(0.02)
    assert blas_threads._LIMIT._users == 0


@pytest.mark.parametrize(("backend", "n_jobs"), [("loky", 1), ("threading", 2), ("loky", 2)])
def test_a_limit_that_is_kept_changes_nothing(backend, n_jobs) -> None:
    expected = dispatcher(LinearRegression()).predict(work())
    with parallel_config(backend=backend):
        found = dispatcher(LinearRegression(), n_jobs=n_jobs, time_limit=60.0).predict(work())
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert dispatcher(LinearRegression(), n_jobs=n_jobs, time_limit=60.0).predict([]) == []


def test_models_of_a_compiled_engine_stay_together_under_a_limit() -> None:
    sizes = []

    class Counting(KNNEngine):
        def predict_many(self, X_train: Any, y_train: Any, masks: Any, *rest: Any) -> Any:
            sizes.append(len(masks))
            return super().predict_many(X_train, y_train, masks, *rest)

    engine = Counting(Learner(KNeighborsRegressor(2)))
    Dispatcher(engine, Data(X, X, None, {}), 1, time_limit=60.0).predict(work())
    assert sizes == [4, 2]


def test_the_first_piece_that_is_overdue_is_named_and_nothing_else_begun() -> None:
    leave, begun = threading.Event(), []

    def task(n: int) -> tuple[int, float]:
        begun.append(n)
        if n in (1, 2):
            leave.wait(30.0)
        return n, 0.0

    try:
        with pytest.raises(TaskOverdueError) as caught:
            on_threads([partial(task, n) for n in range(9)], 2, 0.3)
        assert caught.value.number == 1
        assert sorted(begun) == [0, 1, 2]
    finally:
        leave.set()


def test_whatever_a_watched_thread_raises_is_raised() -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        on_threads([leave], 1, 30.0)
    with pytest.raises(ZeroDivisionError):
        on_threads([partial(divmod, *pair) for pair in ((1, 1), (1, 0), (2, 1))], 2, 30.0)
    assert on_threads([partial(divmod, n, 2) for n in range(5)], 2, 30.0) == [
        divmod(n, 2) for n in range(5)
    ]


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_pool_on_dask_uses_the_client_and_the_options_of_the_configuration() -> None:
    distributed = pytest.importorskip("distributed", reason="pip install randsub[dask]")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        # Not the one that Dask takes by default.
        distributed.Client(cluster, set_as_default=False) as client,
        parallel_config(backend="dask", client=client, priority=3),
    ):
        shared = worker_pool.active_backend("processes")
        own = worker_pool.own_backend(shared)
        assert own is not shared
        assert own.client is client
        assert own.submit_kwargs == {"priority": 3}
        assert WorkerPool(None, "processes").run_all([sklearns_delayed(abs)(-3)] * 3) == [3, 3, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_worker_ends_with_the_process_that_has_started_it(tmp_path) -> None:
    """Also while it waits for somebody to read a long answer."""
    script = f"""
import os, time
from pathlib import Path
from randsub.parallel.worker_pool import WorkerPool, work_for
from sklearn.utils.parallel import delayed
from functools import partial

def long_answer(n):
    (Path({str(tmp_path)!r}) / str(os.getpid())).touch()
    time.sleep(2.0)
    return bytes(10**6)

calls = [delayed(work_for)(os.getpid(), partial(long_answer, n)) for n in range(4)]
WorkerPool(2, "processes").run_all(calls, lambda answer: None)
"""
    parent = subprocess.Popen([sys.executable, "-c", script])
    try:
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    finally:
        parent.kill()
        parent.wait()
    pids = [int(path.name) for path in tmp_path.iterdir()]
    wait_until(lambda: not any(is_running(pid) for pid in pids))


def wait_until(is_true: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Whether a process is there, other than as an entry that nobody has asked for."""
    status = Path(f"/proc/{pid}/stat")
    if Path("/proc/self").exists():
        return status.exists() and status.read_text().split(") ")[1][0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

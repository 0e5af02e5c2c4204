"""Who waits for a cluster that is gone does not wait for ever."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from joblib import Parallel, delayed

from randsub._joblib import ParallelBackendBase
from randsub.exceptions import WorkerLostError
from randsub.parallel import stall_detector
from randsub.parallel.stall_detector import StallDetector, StalledError

WAIT = 30.0


class Cluster(ParallelBackendBase):
    """A backend with a client, as Dask's is, that answers when it is told to."""

    supports_retrieve_callback = True

    def __init__(self, busy: bool = True, error: Exception | None = None) -> None:
        super().__init__(nesting_level=0)
        self.client: Any = self
        self.busy, self.error, self.n_looks = busy, error, 0
        self.waiting: list[Any] = []

    def effective_n_jobs(self, n_jobs: int) -> int:
        # joblib asks before it gives out work.
        if self.waiting:
            self.n_looks += 1
            if self.error is not None:
                raise self.error
        return 2

    def processing(self) -> dict[str, tuple[str, ...]]:
        return {"here": (), "there": ("task",) if self.busy else ()}

    def submit(self, func: Any, callback: Any = None) -> None:
        self.waiting.append((func, callback))

    apply_async = submit  # joblib before 1.5

    def retrieve_result_callback(self, out: Any) -> Any:
        return out

    def answer(self) -> None:
        func, callback = self.waiting.pop(0)
        callback(func())


@pytest.fixture(autouse=True)
def _short(monkeypatch: Any) -> None:
    monkeypatch.setattr(stall_detector, "SECONDS_BETWEEN_LOOKS", 0.02)
    monkeypatch.setattr(stall_detector, "IDLE_LOOKS", 3)


def wait_for(what: Any) -> None:
    deadline = time.monotonic() + WAIT
    while not what() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert what()


@contextmanager
def calls(cluster: Cluster, n_calls: int = 3, return_as: str = "list") -> Iterator[list[Any]]:
    """What comes of calls of the cluster, made by another thread: answers, then an error if any."""
    outcome: list[Any] = []

    def call() -> None:
        try:
            parallel = Parallel(n_jobs=2, backend=cluster, batch_size=1, return_as=return_as)
            with StallDetector(cluster):
                outcome.extend(parallel(delayed(abs)(-n) for n in range(n_calls)))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    wait_for(lambda: cluster.waiting)
    yield outcome
    thread.join(WAIT)
    assert not thread.is_alive()


@pytest.mark.parametrize("return_as", ["list", "generator"])
def test_a_cluster_out_of_reach_ends_the_wait(return_as) -> None:
    error = OSError("nobody there")
    with calls(Cluster(error=error), return_as=return_as) as outcome:
        pass
    [failure] = outcome
    assert isinstance(failure, WorkerLostError)
    assert "cannot be reached (OSError: nobody there)" in str(failure)
    assert failure.__cause__ is error


def test_a_cluster_without_work_ends_the_wait_after_a_while() -> None:
    cluster = Cluster(busy=False)
    with calls(cluster) as outcome:
        pass
    [failure] = outcome
    assert isinstance(failure, StalledError)
    assert cluster.n_looks == 3


@pytest.mark.parametrize("known", [True, False], ids=["Dask at work", "another backend"])
def test_others_are_waited_for(known) -> None:
    # Of other backends nothing is known but whether they are there.
    cluster = Cluster(busy=known)
    cluster.client = cluster if known else None
    with calls(cluster) as outcome:
        wait_for(lambda: cluster.n_looks >= 8)
        for _ in range(3):
            wait_for(lambda: cluster.waiting)
            cluster.answer()
    assert outcome == [0, 1, 2]


def test_nobody_looks_while_answers_come_and_afterwards() -> None:
    cluster = Cluster(busy=False)
    with calls(cluster, 100) as outcome:
        for _ in range(100):
            wait_for(lambda: cluster.waiting)
            cluster.answer()
            time.sleep(0.002)
    assert outcome == list(range(100))
    assert cluster.n_looks <= 3
    cluster.waiting.append(None)
    looked = cluster.n_looks
    time.sleep(0.1)
    assert cluster.n_looks <= looked + 1

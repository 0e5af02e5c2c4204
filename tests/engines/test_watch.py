"""Who waits for a cluster that is gone does not wait for ever."""

import threading
import time
from typing import Any

import pytest

from randsub.engines import watch
from randsub.engines.watch import Watch

WAIT = 30.0


class Waiting:
    """A Parallel that waits until it is told to give up."""

    def __init__(self) -> None:
        self.given_up = threading.Event()

    def _abort(self) -> None:
        self.given_up.set()


class Cluster:
    """A backend with a client, as Dask's is."""

    def __init__(self, busy: bool = True, error: Exception | None = None) -> None:
        self.client, self.busy, self.error, self.n_looks = self, busy, error, 0

    def effective_n_jobs(self, n_jobs: int) -> int:
        self.n_looks += 1
        if self.error is not None:
            raise self.error
        return 2

    def processing(self) -> dict[str, tuple[str, ...]]:
        return {"here": (), "there": ("task",) if self.busy else ()}


@pytest.fixture(autouse=True)
def _short(monkeypatch: Any) -> None:
    monkeypatch.setattr(watch, "SECONDS_BETWEEN_LOOKS", 0.02)
    monkeypatch.setattr(watch, "IDLE_LOOKS", 3)


def wait_for_looks(cluster: Cluster, n_looks: int) -> None:
    deadline = time.monotonic() + WAIT
    while cluster.n_looks < n_looks and time.monotonic() < deadline:
        time.sleep(0.01)
    assert cluster.n_looks >= n_looks


def test_a_cluster_out_of_reach_ends_the_wait() -> None:
    waiting, error = Waiting(), OSError("nobody there")
    with Watch(waiting, Cluster(error=error)) as watching:
        assert waiting.given_up.wait(WAIT)
    assert watching.stalled
    assert watching.error is error


def test_a_cluster_without_work_ends_the_wait_after_a_while() -> None:
    waiting, cluster = Waiting(), Cluster(busy=False)
    with Watch(waiting, cluster) as watching:
        assert waiting.given_up.wait(WAIT)
    assert watching.stalled
    assert watching.error is None
    assert cluster.n_looks == 3


def test_a_cluster_at_work_is_waited_for() -> None:
    waiting, cluster = Waiting(), Cluster()
    with Watch(waiting, cluster) as watching:
        wait_for_looks(cluster, 8)
    assert not watching.stalled
    assert not waiting.given_up.is_set()


def test_nothing_is_known_of_other_backends_but_whether_they_are_there() -> None:
    waiting, cluster = Waiting(), Cluster(busy=False)
    cluster.client = None
    with Watch(waiting, cluster):
        wait_for_looks(cluster, 8)
    assert not waiting.given_up.is_set()


def test_nobody_looks_while_answers_come() -> None:
    waiting, cluster = Waiting(), Cluster(busy=False)
    with Watch(waiting, cluster) as watching:
        for _ in range(100):
            watching.note()
            time.sleep(0.002)
    assert not waiting.given_up.is_set()
    assert cluster.n_looks <= 3
    looked = cluster.n_looks
    time.sleep(0.1)
    # It is over.
    assert cluster.n_looks <= looked + 1

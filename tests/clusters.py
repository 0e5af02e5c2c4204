"""Clusters on this machine, for tests, and base models that their workers can import."""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="distributed is not installed: pip install randsub[dask]",
)
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: pip install randsub[ray]"
)
# Libraries of clusters leave sockets and event loops to the garbage collector.
cluster_warnings = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


class Sluggish(Ridge):
    """Takes long enough for a worker to be killed meanwhile."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        time.sleep(0.02)
        return super().fit(X, y, sample_weight)


class Moody(LinearRegression):
    """Fails in one of several ways where it sees feature 4, which has mean 7 and no others do."""

    def __init__(self, mood: str = "raises") -> None:
        super().__init__()
        self.mood = mood

    def fit(self, X: Any, y: Any) -> Any:
        self.angry_ = bool((np.abs(X.mean(axis=0) - 7.0) < 0.5).any())
        if self.angry_ and self.mood == "raises":
            raise ValueError("not with that one")
        if self.angry_ and self.mood == "hangs":
            time.sleep(10.0)
        return super().fit(X, y)

    def predict(self, X: Any) -> Any:
        answer = super().predict(X)
        return np.full_like(answer, np.nan) if self.angry_ and self.mood == "NaN" else answer


class Clingy(LinearRegression):
    """Holds, once it is fitted, something that cannot leave its process."""

    def fit(self, X: Any, y: Any) -> Any:
        self.lock_ = threading.Lock()
        return super().fit(X, y)


class Homebody(LinearRegression):
    """Is not to be fitted in the process that is named."""

    def __init__(self, home: int = 0) -> None:
        super().__init__()
        self.home = home

    def fit(self, X: Any, y: Any) -> Any:
        if os.getpid() == self.home:
            raise ValueError("fitted at home")
        return super().fit(X, y)


# Runs until it is killed. Killing it is the end of the scheduler, and by itself of the workers.
_SCHEDULER = """
import time
from distributed import LocalCluster

if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""


@contextmanager
def dask_cluster(n_workers: int = 2) -> Iterator[Any]:
    """A client of worker processes of one thread, which are replaced when they die."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def dask_scheduler() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A scheduler with two workers outside this process, and its address."""
    # Workers import the base models from here.
    places = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [sys.executable, "-c", _SCHEDULER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def worker_pids(client: Any) -> list[int]:
    """Processes of the workers that are there."""
    return sorted(client.run(os.getpid).values())


def kill_a_worker(client: Any) -> None:
    """The end of one worker, without a warning."""
    with suppress(ProcessLookupError):
        os.kill(worker_pids(client)[0], signal.SIGKILL)


@contextmanager
def ray_cluster() -> Iterator[None]:
    """Ray with two workers, known to joblib as "ray"."""
    import ray
    from ray.util.joblib import register_ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=100_000_000,
    )
    register_ray()
    try:
        yield
    finally:
        ray.shutdown()

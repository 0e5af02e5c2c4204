"""Fits on a cluster: equality of results, amount of data sent, and cost of lost workers.

Uses two worker processes on this machine. Compares fits on Dask (and on Ray, if it is installed)
with fits in this process; counts the bytes of a refresh for different numbers of tasks; kills a
worker twice during a fit; kills the scheduler, and resumes from the checkpoint.

    python benchmarks/cluster.py [--skip ray]

The exit code is 1 if a result differs, if a worker was not killed twice, or if the loss of the
scheduler did not raise a clear error within a minute.
"""

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from randsub import PRSRegressor
from randsub.callbacks import Checkpoint
from randsub.datasets import make_friedman
from randsub.engines import GenericEngine, Learner
from randsub.exceptions import WorkerLostError, WorkerLostWarning
from randsub.parallel import Assignment, Data, Dispatcher
from randsub.solver import Solver

SETTINGS: dict[str, Any] = {
    "n_estimators": 20,
    "max_iter": 40,
    "solver": Solver(n_batches=3, learning_rate=0.02),
    "random_state": 0,
}
BASES = {
    "kNN (compiled)": KNeighborsRegressor(),
    "pipeline (generic)": make_pipeline(StandardScaler(), BayesianRidge()),
}
SCHEDULER = """
import time
from distributed import LocalCluster

if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    print(cluster.scheduler_address, flush=True)
    time.sleep(3600)
"""


class Slow(Ridge):
    """Takes long enough for somebody to die meanwhile."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Sleep, then fit."""
        time.sleep(0.01)
        return super().fit(X, y, sample_weight)


def timed(base: Any, X: Any, y: Any, **options: Any) -> tuple[Any, float]:
    begin = time.perf_counter()
    model = PRSRegressor(base, **{**SETTINGS, **options}).fit(X, y)
    return model, time.perf_counter() - begin


def is_same(found: Any, expected: Any, X: Any) -> bool:
    same = np.array_equal(found.alpha_, expected.alpha_)
    return same and np.array_equal(found.predict(X), expected.predict(X))


def told(same: bool) -> str:
    return "bit-identical" if same else "DIFFERENT"


def compare(where: str, X: Any, y: Any) -> bool:
    good = True
    for name, base in BASES.items():
        far, seconds = timed(base, X, y)
        near, alone = timed(base, X, y, n_jobs=1)
        same = is_same(far, near, X)
        good = good and same
        refreshes = int(near.history_["refreshed"].sum())
        print(
            f"{where}, {name}: alpha and predictions {told(same)}; {refreshes} "
            f"refreshes, {seconds:.1f} s ({alone:.1f} s in one process)",
            flush=True,
        )
    return good


@contextmanager
def counted(client: Any) -> Iterator[list[int]]:
    """Bytes sent by client and scheduler, both in this process, and between workers."""
    from distributed.comm.tcp import TCP

    original, sent = TCP.write, [0]

    async def counting(self: Any, *args: Any, **kwargs: Any) -> Any:
        n_bytes = await original(self, *args, **kwargs)
        sent[0] += n_bytes
        return n_bytes

    def outgoing(dask_worker: Any) -> int:
        return dask_worker.transfer_outgoing_bytes_total

    before = sum(client.run(outgoing).values())
    TCP.write = counting
    try:
        yield sent
    finally:
        TCP.write = original
        sent[0] += sum(client.run(outgoing).values()) - before


def count_bytes(client: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 50))
    n_masks = 120
    work = [
        Assignment(
            X[:, 0],
            rng.permutation(20_000)[:2000],
            np.arange(100),
            np.arange(0),
            rng.random((n_masks, 50)) < 0.1,
            np.arange(n_masks),
        )
    ]
    print(f"X has {X.nbytes / 1e6:.1f} MB; a refresh of {n_masks} models:")
    for n_tasks in (8, 30, 120):
        with Dispatcher(GenericEngine(Learner(Ridge())), Data(X, X, None, {})) as trained:
            trained._models_per_task = lambda *args, n=n_tasks: n_masks // n  # type: ignore
            with counted(client) as first:
                trained.predict(work)
            # A worker that slept through the first one gets the data now.
            trained.predict(work)
            with counted(client) as later:
                trained.predict(work)
        print(
            f"  split into {n_tasks:3d} tasks: the first {first[0] / 1e6:5.2f} MB, later ones "
            f"{later[0] / 1e3:5.0f} kB",
            flush=True,
        )


def kill_workers(client: Any, X: Any, y: Any) -> bool:
    near, alone = timed(Slow(), X, y, n_jobs=1)
    over, killed = threading.Event(), []

    def kill() -> None:
        for _ in range(2):
            if not over.wait(2.0):
                pid = sorted(client.run(os.getpid).values())[0]
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkerLostWarning)
        far, seconds = timed(Slow(), X, y)
    over.set()
    killer.join()
    same = is_same(far, near, X)
    print(
        f"Dask, {len(killed)} workers killed during the fit: {told(same)}; "
        f"{seconds:.1f} s ({alone:.1f} s in one process)",
        flush=True,
    )
    return same and len(killed) == 2


def kill_scheduler(X: Any, y: Any, folder: Path) -> bool:
    from distributed import Client

    path = folder / "run.ckpt"
    near, _ = timed(Slow(), X, y, n_jobs=1)
    process = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    killed = []

    def kill() -> None:
        while not path.exists():
            time.sleep(0.01)
        process.kill()
        killed.append(time.perf_counter())

    seconds = np.inf
    model = PRSRegressor(Slow(), **SETTINGS).set_callbacks(Checkpoint(path, every=1))
    with Client(process.stdout.readline().strip()) as client:
        threading.Thread(target=kill).start()
        try:
            with parallel_config(backend="dask", client=client):
                model.fit(X, y)
        except WorkerLostError as error:
            seconds = time.perf_counter() - killed[0]
            print(f"Dask, scheduler killed: after {seconds:.0f} s {error}", flush=True)
    process.wait()
    resumed = PRSRegressor(Slow(), **SETTINGS, n_jobs=1).fit(X, y, resume_from=path)
    same = is_same(resumed, near, X)
    print(f"  resumed without a cluster: {told(same)}", flush=True)
    return same and seconds < 60.0


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--skip", nargs="*", default=[], choices=["dask", "ray"])
    skipped = arguments.parse_args().skip
    X, y, _ = make_friedman(n_samples=200, n_irrelevant=15, random_state=0)
    good = []
    if "dask" not in skipped:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
            parallel_config(backend="dask"),
        ):
            good.append(compare("Dask", X, y))
            count_bytes(client)
            good.append(kill_workers(client, X, y))
        with tempfile.TemporaryDirectory() as folder:
            good.append(kill_scheduler(X, y, Path(folder)))
    if "ray" not in skipped and importlib.util.find_spec("ray") is not None:
        import ray
        from ray.util.joblib import register_ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        register_ray()
        with parallel_config(backend="ray", n_jobs=-1):
            good.append(compare("Ray", X, y))
        ray.shutdown()
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

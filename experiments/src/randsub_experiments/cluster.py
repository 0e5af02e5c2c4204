"""``--backend`` and ``--scheduler-address``: run the cells on a Dask or Ray cluster."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from joblib import parallel_config

BACKENDS: Final = ("dask", "ray")


def add_cluster_flags(parser: Any) -> None:
    """Add the flags that choose a cluster."""
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        help="send the work to a cluster; needs randsub[dask] or randsub[ray]",
    )
    parser.add_argument(
        "--scheduler-address",
        metavar="ADDRESS",
        help="where the cluster is: tcp://host:8786 of a Dask scheduler, or host:6379 of a Ray "
        "head (default: one that is started on this machine)",
    )


@contextmanager
def workers_of(args: argparse.Namespace) -> Iterator[None]:
    """Let joblib use the requested cluster, if any."""
    if args.backend is None:
        if args.scheduler_address is not None:
            raise ValueError(
                f"--scheduler-address {args.scheduler_address} needs --backend: choose one of "
                f"{', '.join(BACKENDS)}."
            )
        yield
        return
    cluster = _dask if args.backend == "dask" else _ray
    with cluster(args.scheduler_address, args.jobs):
        yield


@contextmanager
def _dask(address: str | None, jobs: int | None) -> Iterator[None]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise _missing("dask") from error
    if address is None:
        with (
            LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
            parallel_config("dask", client=client),
        ):
            yield
        return
    if jobs is not None:
        raise ValueError(
            f"--jobs {jobs} has no effect with --scheduler-address: Dask uses all workers of a "
            "cluster. Leave --jobs out, or start the number of workers you want."
        )
    with Client(address) as client, parallel_config("dask", client=client):
        yield


@contextmanager
def _ray(address: str | None, jobs: int | None) -> Iterator[None]:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise _missing("ray") from error
    ray.init(address=address, num_cpus=jobs if address is None else None, log_to_driver=False)
    try:
        register_ray()
        with parallel_config("ray", n_jobs=-1 if jobs is None else jobs):
            yield
    finally:
        ray.shutdown()


def _missing(name: str) -> ImportError:
    return ImportError(
        f"--backend {name} needs a package that is not installed: pip install randsub[{name}]"
    )

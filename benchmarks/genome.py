"""A network of a whole genome: 20,000 targets, 1,500 regulators among them, 2,000 cells.

Each part runs in a fresh process; memory is beyond that of the table and the libraries.

time    The first 2 percent of the targets, with the settings of ``infer_network`` for many targets.
        Targets are independent: the time of all of them is that time by their share.
memory  All targets to the end, with one epoch of two models each, and the file of the 100,000 best
        links: the peak does not depend on the number of epochs.
kill    12 targets with a checkpoint, killed by SIGKILL half-way, and resumed: the same bits as
        those of an undisturbed fit.
dask    The same targets on a Dask cluster of two worker processes: the same bits.

    python benchmarks/genome.py [--parts time memory kill dask] [--max-samples 300] [--share 0.02]

The exit code is 1 if a result differs.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from cells import Meter, run_cell

from randsub.callbacks import Checkpoint
from randsub.network import PRSNetwork
from randsub.network.infer import recommended

N_GENES, N_REGULATORS, N_CELLS = 20_000, 1_500, 2_000
N_BEST, N_FEW = 100_000, 12
PARTS = ("time", "memory", "kill", "dask")
LIMIT = 36_000.0


def expression(seed: int) -> tuple[np.ndarray, list[str]]:
    """Cells x genes; each gene that is no regulator follows three regulators."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(N_CELLS, N_GENES)).astype(np.float32)
    for gene in range(N_REGULATORS, N_GENES):
        table[:, gene] += table[:, rng.choice(N_REGULATORS, 3, replace=False)].sum(axis=1)
    return table, [f"G{j:05}" for j in range(N_GENES)]


def measure(cell: dict[str, Any]) -> dict[str, Any]:
    """One part, or one fit of the part kill, in this process."""
    table, names = expression(cell["seed"])
    part, targets = cell["part"], names
    chosen = recommended(n_targets=N_GENES, knows_regulators=True)
    chosen |= {"max_samples": cell["max_samples"], "n_jobs": cell["jobs"], "random_state": 0}
    if part == "time":
        targets = names[-round(cell["share"] * N_GENES) :]
    elif part == "memory":
        chosen |= {"max_iter": 1, "n_estimators": 2}
    else:
        targets = names[-N_FEW:]
        chosen |= {"block_size": 4, "n_repeats": 2}
    model = PRSNetwork(**chosen)
    path = Path(cell["checkpoint"]) if "checkpoint" in cell else None
    if path is not None:
        model.set_callbacks(Checkpoint(path, every=10, seconds=None))
    resumed = path is not None and path.exists()
    with Meter() as meter:
        model.fit(
            table,
            names[:N_REGULATORS],
            gene_names=names,
            targets=targets,
            resume_from=path if resumed else None,
        )
        if part == "memory":
            with tempfile.TemporaryDirectory() as folder:
                model.to_csv(Path(folder) / "links.csv", N_BEST)
    found = {"seconds": round(meter.seconds, 1), "megabytes": round(meter.megabytes)}
    found |= {"targets": len(targets), "models": model.n_models_trained_, "resumed": resumed}
    if part == "time":
        found["hours for all"] = round(meter.seconds / cell["share"] / 3600, 2)
    return {**found, "bits": hashlib.sha256(model.link_weights_.tobytes()).hexdigest()[:12]}


def killed(cell: dict[str, Any], seconds: float) -> None:
    """Begin a fit in another process, and kill it after so many seconds of its own."""
    command = [sys.executable, __file__, "--cell", json.dumps(cell)]
    child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    began = time.perf_counter()
    while not Path(cell["checkpoint"]).exists() or time.perf_counter() - began < seconds:
        if child.poll() is not None:
            raise RuntimeError("The fit ended before it was to be killed.")
        time.sleep(0.1)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def on_dask(cell: dict[str, Any]) -> dict[str, Any]:
    from distributed import Client, LocalCluster
    from joblib import parallel_config

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
        parallel_config("dask"),
    ):
        return measure({**cell, "jobs": None})


def run_part(cell: dict[str, Any], undisturbed: dict[str, Any]) -> bool:
    """Print what a part measures; whether the bits are those of the undisturbed fit, if it has."""
    part = cell["part"]
    if part == "kill":
        with tempfile.TemporaryDirectory() as folder:
            watched = {**cell, "checkpoint": str(Path(folder) / "network.ckpt")}
            killed(watched, undisturbed["seconds"] / 2)
            found = run_cell(__file__, watched, LIMIT)
    else:
        found = run_cell(__file__, cell, LIMIT)
    assert found is not None
    same = part in ("time", "memory") or found["bits"] == undisturbed["bits"]
    print(f"{part:12}", found, "" if same else "DIFFERENT", flush=True)
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--max-samples", type=int, default=300)
    parser.add_argument("--share", type=float, default=0.02)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cell", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell is not None:
        found = on_dask(args.cell) if args.cell["part"] == "dask" else measure(args.cell)
        print(json.dumps(found))
        return 0
    common = {"max_samples": args.max_samples, "share": args.share}
    common |= {"jobs": args.jobs, "seed": args.seed}
    undisturbed: dict[str, Any] = {}
    if {"kill", "dask"} & {*args.parts}:
        undisturbed = run_cell(__file__, {"part": "undisturbed", **common}, LIMIT) or {}
        print(f"{'undisturbed':12}", undisturbed, flush=True)
    same = [run_part({"part": part, **common}, undisturbed) for part in args.parts]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())

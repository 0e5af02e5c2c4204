"""Kill fits at random moments; resumed fits must give the result of an uninterrupted one.

A child process fits a model, with a checkpoint after every epoch, and is killed by SIGKILL at a
random moment between its start and the end of the fit. Its checkpoint must be readable. A new
process that resumes from it (every other one is killed, too, and resumed by a third) must end with
the alpha and the predictions of an uninterrupted fit, to the last bit. Base models and one or two
threads alternate. The benchmark ends when ``--kills`` kills have left a checkpoint; kills before
the first checkpoint are counted separately.

    python benchmarks/kill.py [--kills 50] [--epochs 200] [--seed 0]

Exits with 1 if a checkpoint was unreadable or an answer differed.
"""

import argparse
import hashlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from randsub import PRSRegressor
from randsub.callbacks import Checkpoint
from randsub.checkpoint.archive import read_archive
from randsub.datasets import make_friedman
from randsub.exceptions import CheckpointError
from randsub.solver import Solver

# Compiled engines, and one that the generic engine trains.
BASES: dict[str, Any] = {
    "kNN": KNeighborsRegressor(),
    "tree": DecisionTreeRegressor(random_state=0),
    "pipeline": make_pipeline(StandardScaler(), KNeighborsRegressor()),
}
# The parent trains nothing itself: a child begins with no threads but its own.
CHILDREN = multiprocessing.get_context("fork")


def fit(base: str, epochs: int, n_jobs: int, path: Path, answer: Connection) -> None:
    """Fit, from the checkpoint if there is one, and tell when it begins and how it ends."""
    # With the processes that it may engage, so that these can be found when it is gone.
    os.setsid()
    X, y, _ = make_friedman(120, 20, random_state=0)
    model = PRSRegressor(
        BASES[base],
        n_estimators=20,
        max_iter=epochs,
        solver=Solver(learning_rate=0.01),
        n_jobs=n_jobs,
        random_state=0,
    )
    model.set_callbacks(Checkpoint(path, every=1, seconds=None))
    answer.send("begun")
    model.fit(X, y, resume_from=path if path.exists() else None)
    bits = model.alpha_.tobytes() + model.predict(X).tobytes()
    answer.send((hashlib.sha256(bits).hexdigest(), model.n_iter_))


def run(
    base: str, epochs: int, n_jobs: int, path: Path, kill_after: float | None
) -> tuple[Any, float]:
    """Fit in a child; what it answered (None: it was killed), and the seconds that it ran."""
    ours, theirs = CHILDREN.Pipe()
    child = CHILDREN.Process(target=fit, args=(base, epochs, n_jobs, path, theirs))
    child.start()
    theirs.close()
    ours.recv()
    began = time.perf_counter()
    try:
        if kill_after is None or ours.poll(kill_after):
            return ours.recv(), time.perf_counter() - began
        os.kill(child.pid or 0, signal.SIGKILL)
        return None, time.perf_counter() - began
    finally:
        # Workers of a process that was killed would notice after minutes.
        with suppress(ProcessLookupError):
            os.killpg(child.pid or 0, signal.SIGKILL)
        child.join()
        ours.close()


def legs(
    base: str, epochs: int, path: Path, moments: list[float], n_jobs: int
) -> Iterator[tuple[str, Any]]:
    """One run through its kills: what each left behind, then the answer of the last process."""
    for moment in moments:
        ended, _ = run(base, epochs, n_jobs, path, moment)
        if ended is not None:
            yield "ended before the kill", ended
            return
        if any(path.parent.glob(f".{path.name}.*")):
            yield "killed while writing", None
        if not path.exists():
            yield "no checkpoint yet", None
            continue
        try:
            epoch = read_archive(path)["progress"]["state"]["epoch"]
        except CheckpointError as error:
            yield "unreadable", str(error)
        else:
            yield "readable", epoch
    yield "resumed to the end", run(base, epochs, n_jobs, path, None)[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50, help="kills that leave a checkpoint")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    counts: Counter[str] = Counter()
    epochs: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        truth, duration = {}, {}
        for base in BASES:
            # The first one compiles, if nothing did yet.
            run(base, args.epochs, 1, home / f"first-{base}.ckpt", None)
            truth[base], duration[base] = run(base, args.epochs, 1, home / f"{base}.ckpt", None)
            print(f"{base:9} {duration[base]:.2f} s undisturbed, {truth[base][1]} epochs")
        n_runs = 0
        while counts["readable"] + counts["unreadable"] < args.kills:
            i, n_runs = n_runs, n_runs + 1
            base = list(BASES)[i % len(BASES)]
            moments = list(rng.uniform(0.0, duration[base], size=1 + i % 2))
            path = home / f"run-{i}.ckpt"
            for what, detail in legs(base, args.epochs, path, moments, 1 + i // len(BASES) % 2):
                counts[what] += 1
                if what == "readable":
                    epochs.append(detail)
                elif what == "unreadable":
                    print(f"run {i}, {base}: {detail}")
                elif detail is not None:
                    counts["identical" if detail == truth[base] else "different"] += 1
    kills = counts["readable"] + counts["unreadable"] + counts["no checkpoint yet"]
    print(f"{kills} kills in {n_runs} runs; checkpoints of epochs {sorted(epochs)}")
    for what, count in sorted(counts.items()):
        print(f"  {what}: {count}")
    good = counts["identical"] == n_runs and not counts["unreadable"]
    print("every run ended identical" if good else "NOT all runs ended identical")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

"""Many fits in one process, to detect leaks of memory, files, threads and processes.

Fits small problems with ten base models in turn, in threads and (a generic one) in processes, and
measures the process after each fit: resident memory, open files, threads, child processes. During
the first ten fits libraries are loaded, kernels compiled and joblib's workers started, which remain
by design. From then on memory may grow by at most five percent, and the other numbers not at all.
After joblib's workers are shut down at the end, only two processes may be left, which manage shared
memory for joblib and for Python.

    python benchmarks/soak.py [--fits 200] [--slack 0.05]

The exit code is 1 if something grows. The numbers come from psutil if it is installed, otherwise
from /proc.
"""

import argparse
import gc
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from joblib.externals.loky import get_reusable_executor
from sklearn.base import BaseEstimator, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_friedman, make_hypercube
from randsub.solver import Solver

BASES = (
    KNeighborsRegressor(),
    KNeighborsClassifier(),
    DecisionTreeClassifier(),
    SVC(),
    SVR(kernel="linear"),
    Ridge(),
    LinearRegression(),
    GaussianNB(),
    LinearDiscriminantAnalysis(),
    make_pipeline(MinMaxScaler(), LogisticRegression()),
)
# Fits after which everything that is loaded once has been loaded.
WARM = len(BASES)
# joblib and Python have a process each that looks after shared resources (the "resource trackers")
# as long as the interpreter lives.
WATCHMEN = 2


class Resources(NamedTuple):
    """What a process holds."""

    megabytes: float
    files: int
    threads: int
    processes: int


def resources() -> Resources:
    """What this process holds now."""
    gc.collect()
    try:
        import psutil
    except ImportError:
        return _from_proc()
    process = psutil.Process()
    with process.oneshot():
        return Resources(
            process.memory_info().rss / 1e6,
            process.num_fds(),
            process.num_threads(),
            len(process.children()),
        )


def _from_proc() -> Resources:
    status = Path("/proc/self/status").read_text()
    tasks = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
    return Resources(
        int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1e3,
        # The listing itself takes one.
        len(os.listdir("/proc/self/fd")) - 1,
        int(re.search(r"Threads:\s+(\d+)", status)[1]),
        sum(len(children.split()) for children in tasks),
    )


def fit_once(base: BaseEstimator, seed: int) -> None:
    """Fit a small problem and predict."""
    make, ensemble = make_friedman, PRSRegressor
    if is_classifier(base):
        make, ensemble = make_hypercube, PRSClassifier
    X, y, _ = make(n_samples=120, n_irrelevant=10, random_state=seed)
    model = ensemble(
        base,
        n_estimators=10,
        max_iter=10,
        solver=Solver(n_batches=2, learning_rate=0.02),
        n_jobs=2,
        random_state=seed,
    )
    model.fit(X[:100], y[:100]).predict(X[100:])


def soak(n_fits: int) -> Iterator[Resources]:
    """What the process holds after each fit."""
    for number in range(n_fits):
        fit_once(BASES[number % len(BASES)], seed=number)
        yield resources()


def grown(warm: Resources, later: Resources) -> list[str]:
    """The things, memory apart, of which a process holds more than when it was warm."""
    return [
        f"{name}: {getattr(warm, name)} -> {getattr(later, name)}"
        for name in ("files", "threads", "processes")
        if getattr(later, name) > getattr(warm, name)
    ]


def send_workers_home() -> None:
    """End joblib's worker processes."""
    get_reusable_executor().shutdown(wait=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--slack", type=float, default=0.05, help="growth of memory; default: 0.05")
    args = parser.parse_args()
    if args.fits <= WARM:
        parser.error(f"--fits must be more than {WARM}, after which growth is looked for")
    begin = time.perf_counter()
    held = []
    print("fit  MB (resident)  files  threads  processes")
    for number, now in enumerate(soak(args.fits), start=1):
        held.append(now)
        if number == WARM or number % (2 * WARM) == 0:
            print(
                f"{number:>3}  {now.megabytes:>13.1f}  {now.files:>5}  {now.threads:>7}  "
                f"{now.processes:>9}",
                flush=True,
            )
    warm, later = held[WARM - 1], held[WARM:]
    growth = max(now.megabytes for now in later) / warm.megabytes - 1.0
    worst = Resources(*(max(values) for values in zip(*later, strict=True)))
    leaks = grown(warm, worst)
    send_workers_home()
    left = resources().processes
    if left > WATCHMEN:
        leaks.append(f"processes after the end: {left}")
    print(
        f"{args.fits} fits in {time.perf_counter() - begin:.0f} s: memory at most "
        f"{100 * growth:+.1f} % compared with fit {WARM}; "
        f"{'; '.join(leaks) or 'no files, threads or processes left behind'}"
    )
    sys.exit(bool(leaks) or growth > args.slack)


if __name__ == "__main__":
    main()

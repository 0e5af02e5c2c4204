"""Many features, few samples: a complete fit of 20,000 columns with the default settings.

Prints the time, the peak memory of a separate process (private memory, and including the libraries
mapped from files), and the quality of the ranking. Classification with ten relevant features (see
randsub.datasets.make_linear); kNN as base model.

    python benchmarks/wide.py [--features 20000] [--samples 200] [--jobs 2]
"""

import argparse
import re
import resource
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier

from randsub import PRSClassifier
from randsub.datasets import make_linear


def peak_megabytes() -> float:
    """Largest resident size of this process so far."""
    status = Path("/proc/self/status")
    if status.is_file():
        # Not ru_maxrss, which on Linux begins with the size of the parent process.
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    n_test = 500
    X, y, relevant = make_linear(args.samples + n_test, args.features - 10, random_state=args.seed)
    before = peak_megabytes()
    model = PRSClassifier(KNeighborsClassifier(), n_jobs=args.jobs, random_state=args.seed)
    begin = time.perf_counter()
    model.fit(X[: args.samples], y[: args.samples])
    seconds = time.perf_counter() - begin
    truth = np.isin(np.arange(args.features), relevant)
    print(
        f"{args.samples} samples, {args.features} features, default settings, kNN, "
        f"{args.jobs} threads, seed {args.seed}: {seconds:.0f} s, "
        f"{model.n_models_trained_} models, {model.n_iter_} epochs, stopped: {model.stop_reason_}\n"
        f"peak memory {peak_megabytes():.0f} MB (data and libraries alone: {before:.0f} MB)\n"
        f"accuracy {model.score(X[args.samples :], y[args.samples :]):.3f}, AUPR "
        f"{average_precision_score(truth, model.alpha_):.3f}, expected size "
        f"{model.expected_size_:.1f}"
    )


if __name__ == "__main__":
    main()

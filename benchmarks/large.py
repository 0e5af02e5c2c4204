"""Large data from memory-mapped files: many samples, or many features.

Each problem is written to a file in portions, so that the data are never in memory as a whole, and
fitted in a separate process, which opens the file with ``np.load(mmap_mode="r")``. Prints the
wall-clock and processor seconds of the fit, the seconds of a prediction, and the peak memory of
that process, including pages of the file that are in memory. With ``--trace``, which takes longer,
also prints the memory that it allocated, according to Python's tracemalloc.

    python benchmarks/large.py [--problem samples features] [--repeats 1 auto] [--limit 4000]

``samples`` is 1,000,000 samples of 100 features with ``max_samples=2000``; ``features`` is 200
samples of 50,000 features. Base model: a decision tree, default settings. ``--repeats 1 auto``
fits twice: with a single optimisation, and with the default number of them. The exit code is 1 if
a peak is above ``--limit`` megabytes.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from cells import resident_megabytes
from sklearn.metrics import average_precision_score
from sklearn.tree import DecisionTreeRegressor

from randsub import PRSRegressor

SHAPES = {"samples": (1_000_000, 100), "features": (200, 50_000)}
MAX_SAMPLES = {"samples": 2000, "features": None}
N_RELEVANT = 5
PORTION = 2**22


def write_problem(folder: Path, n: int, n_features: int, dtype: str, seed: int) -> None:
    """X.npy and y.npy: five features matter, as in Friedman's problem, and come first."""
    rng = np.random.default_rng(seed)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", dtype, (n, n_features))
    y = np.empty(n)
    size = max(1, PORTION // n_features)
    for start in range(0, n, size):
        part = rng.random((min(size, n - start), n_features))
        waves = 10 * np.sin(np.pi * part[:, 0] * part[:, 1]) + 20 * (part[:, 2] - 0.5) ** 2
        noise = rng.normal(size=len(part))
        y[start : start + size] = waves + 10 * part[:, 3] + 5 * part[:, 4] + noise
        X[start : start + size] = part
    X.flush()
    np.save(folder / "y.npy", y)


def fit(args: argparse.Namespace) -> None:
    """Fit, predict and print, in this process."""
    folder = Path(args.folder)
    X, y = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy", mmap_mode="r")
    # Compiles; the result is of no use.
    PRSRegressor(DecisionTreeRegressor(), n_estimators=4, max_iter=2).fit(X[:40, :20], y[:40])
    before = resident_megabytes()
    model = PRSRegressor(
        DecisionTreeRegressor(),
        max_samples=args.max_samples,
        max_iter=args.epochs,
        n_repeats=args.repeats,
        n_jobs=args.jobs,
        random_state=args.seed,
    )
    if args.trace:
        tracemalloc.start()
    begin, busy = time.perf_counter(), time.process_time()
    model.fit(X, y)
    fitted, busy = time.perf_counter(), time.process_time() - busy
    model.predict(X)
    asked = time.perf_counter()
    traced = f", allocated at most {tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB"
    tracemalloc.stop()
    relevant = np.arange(X.shape[1]) < N_RELEVANT
    print(
        f"{X.shape[0]} samples, {X.shape[1]} features of {X.dtype} "
        f"({X.nbytes / 1e6:.0f} MB), max_samples={args.max_samples}, n_repeats={args.repeats}, "
        f"{args.jobs} thread(s), seed {args.seed}: fit {fitted - begin:.0f} s ({busy:.0f} s of "
        f"processor time, {model.n_iter_} epochs, {model.n_models_trained_} models), prediction of "
        f"all samples {asked - fitted:.0f} s\n"
        f"peak memory {resident_megabytes():.0f} MB (libraries alone: {before:.0f} MB)"
        f"{traced if args.trace else ''}\n"
        f"AUPR {average_precision_score(relevant, model.alpha_):.3f}, expected size "
        f"{model.expected_size_:.1f}"
    )
    if resident_megabytes() > args.limit:
        sys.exit(f"The peak is above the limit of {args.limit:g} MB.")


def number_of_repeats(text: str) -> int | str:
    return text if text == "auto" else int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problem", nargs="*", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--samples", type=int, help="in place of the problem's own number")
    parser.add_argument("--features", type=int, help="in place of the problem's own number")
    parser.add_argument("--max-samples", type=int, help="in place of the problem's own number")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--repeats", nargs="+", type=number_of_repeats, default=["auto"])
    parser.add_argument("--epochs", type=int, help="in place of the default number")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=4000, help="megabytes; default: 4000")
    parser.add_argument("--trace", action="store_true", help="count what is allocated, too")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.folder is not None:
        args.repeats = args.repeats[0]
        fit(args)
        return
    status = 0
    for problem in args.problem:
        n, n_features = SHAPES[problem]
        n, n_features = args.samples or n, args.features or n_features
        with tempfile.TemporaryDirectory() as folder:
            write_problem(Path(folder), n, n_features, args.dtype, args.seed)
            given = {
                "folder": folder,
                "max-samples": args.max_samples or MAX_SAMPLES[problem],
                **{name: getattr(args, name) for name in ("epochs", "jobs", "seed", "limit")},
            }
            command = [sys.executable, __file__, *(["--trace"] if args.trace else [])]
            for name, value in given.items():
                command += [] if value is None else [f"--{name}", str(value)]
            for repeats in args.repeats:
                again = [*command, "--repeats", str(repeats)]
                status |= subprocess.run(again, check=False).returncode
    sys.exit(status)


if __name__ == "__main__":
    main()

"""A million genotypes from a column-major file: time, memory, and what is found.

Simulates genotypes (0, 1 or 2 copies of an allele, int8) in blocks of correlated columns, and a
trait with 20 causal columns in different blocks. Two of these act only together: neither has a
marginal effect. The genotypes are written to a memory-mapped file, and PRS is fitted in a separate
process, which opens the file with ``np.load(mmap_mode="r")``.

    python benchmarks/genotypes.py [--samples 1000] [--features 1000000] [--base knn] [--jobs 2]
        [--start auto] [--seed 0 1 2]

Prints the seconds of the fit, the peak memory of that process (pages of the file included, and what
the fit added), the columns that were read, and the number of models; then the ranking by
alpha beside the univariate test, and scores on new samples beside ridge regression on the columns
with the smallest p-values. Blocks are ranked by the best of their columns: AUPR is that of blocks,
a causal column is found at k if its block is among the first k, and of the pair the places of both
blocks are printed (by chance, the middle). Several values of ``--features`` show at which width a
method begins to fail.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from cells import Meter, resident_megabytes
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge, RidgeClassifierCV, RidgeCV
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub import PRSClassifier, PRSRegressor
from randsub._tables import ScaledArray, is_column_file

N_CAUSAL = 20
N_NEW = 500
# Haplotypes that all others are copied from, and the correlation of neighbouring alleles.
N_FOUNDERS = 20
CORRELATION = 0.9
# Shares of the variance of the trait.
ADDITIVE, INTERACTION = 0.45, 0.1
RANKS = (20, 100)
# Columns of ridge regression.
N_COLUMNS = (20, 100, 1000)
PENALTIES = np.logspace(-1, 5, 13)


# -- simulation ------------------------------------------------------------------------------------


def block_bounds(n_features: int, rng: np.random.Generator) -> Any:
    """Where blocks of 20 to 100 columns begin, and the end of the last."""
    sizes = rng.integers(20, 101, size=n_features // 20 + 1)
    ends = np.cumsum(sizes)
    # What is left over belongs to the last block.
    return np.append(np.append(0, ends[ends <= n_features - 20]), n_features)


def draw_block(n: int, width: int, rng: np.random.Generator) -> Any:
    """Genotypes of a block, (width, n).

    Alleles of the founders follow a Markov process along the columns, with a frequency of 0.05 to
    0.5 in each. Half of the haplotypes are copies of one founder, the others of two, which meet at
    a random column.
    """
    latent = rng.normal(size=(width, N_FOUNDERS))
    for column in range(1, width):
        latent[column] *= np.sqrt(1.0 - CORRELATION**2)
        latent[column] += CORRELATION * latent[column - 1]
    ranks = latent.argsort(axis=1).argsort(axis=1)
    founders = (ranks < rng.integers(1, N_FOUNDERS // 2 + 1, (width, 1))).astype(np.int8)
    left, right = rng.integers(N_FOUNDERS, size=(2, 2 * n))
    meet = rng.integers(-width, width, size=2 * n)
    copies = np.where(np.arange(width)[:, np.newaxis] < meet, founders[:, left], founders[:, right])
    return copies[:, :n] + copies[:, n:]


def write_problem(folder: Path, n: int, n_features: int, binary: bool, seed: int) -> None:
    """X.npy and X_new.npy, column-major, block by block; targets and truth in problem.npz."""
    rng = np.random.default_rng(seed)
    bounds = block_bounds(n_features, rng)
    n_blocks = len(bounds) - 1
    if n_blocks < N_CAUSAL:
        raise SystemExit(f"{n_features} features have {n_blocks} blocks; {N_CAUSAL} are needed.")
    causal_blocks = rng.permutation(n_blocks)[:N_CAUSAL]
    causal, genes = np.empty(N_CAUSAL, dtype=int), np.empty((N_CAUSAL, n + N_NEW))
    with open(folder / "X.npy", "wb") as old, open(folder / "X_new.npy", "wb") as new:
        for file, rows in ((old, n), (new, N_NEW)):
            head = {"descr": "|i1", "fortran_order": True, "shape": (rows, n_features)}
            np.lib.format.write_array_header_1_0(file, head)
        for number, (start, stop) in enumerate(pairwise(bounds)):
            block = draw_block(n + N_NEW, stop - start, rng)
            old.write(np.ascontiguousarray(block[:, :n]).data)
            new.write(np.ascontiguousarray(block[:, n:]).data)
            for place in np.flatnonzero(causal_blocks == number):
                # The most common allele of the block.
                column = int(np.abs(block.mean(axis=1) - 1.0).argmin())
                causal[place], genes[place] = start + column, block[column]
    genes -= genes.mean(axis=1, keepdims=True)
    genes /= genes.std(axis=1, keepdims=True)
    signs = rng.choice([-1.0, 1.0], size=N_CAUSAL - 2)
    trait = np.sqrt(ADDITIVE / (N_CAUSAL - 2)) * signs @ genes[2:]
    # The first two are independent: the mean of their product is 0 for each value of either.
    trait += np.sqrt(INTERACTION) * genes[0] * genes[1]
    trait += np.sqrt(1.0 - ADDITIVE - INTERACTION) * rng.normal(size=n + N_NEW)
    y = (trait > np.median(trait)).astype(int) if binary else trait
    blocks = np.repeat(np.arange(n_blocks), np.diff(bounds))
    np.savez(folder / "problem.npz", y=y[:n], y_new=y[n:], blocks=blocks, causal=causal)


# -- the fit, in a process of its own --------------------------------------------------------------


def count_columns(X: Any) -> Any:
    """Note from now on which columns are read: bool ndarray of shape (n_features,)."""
    # A small file is read as a whole, for means and deviations.
    is_read, take = np.full(X.shape[1], not is_column_file(X)), ScaledArray.take

    def noted(self: ScaledArray, rows: Any, columns: Any) -> Any:
        is_read[columns] = True
        return take(self, rows, columns)

    # Other reads would end tests/estimators/test_column_files.py with a segmentation fault.
    ScaledArray.take = noted
    return is_read


def base_models() -> dict[tuple[str, bool], Any]:
    return {
        ("knn", False): KNeighborsRegressor(),
        ("knn", True): KNeighborsClassifier(),
        ("ridge", False): Ridge(),
        ("ridge", True): LinearDiscriminantAnalysis(),
    }


def fit(args: argparse.Namespace) -> None:
    """Fit and predict in this process; figures and alpha go to files."""
    folder = Path(args.folder)
    X, X_new = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("X", "X_new"))
    problem = np.load(folder / "problem.npz")
    estimator = PRSClassifier if args.binary else PRSRegressor
    model = estimator(base_models()[args.base, args.binary], n_jobs=args.jobs)
    model.set_params(random_state=args.seed[0], max_iter=args.epochs, n_repeats=args.repeats)
    model.set_params(alpha_init=args.start)
    # Compiles; the result is of no use.
    clone(model).set_params(max_iter=1).fit(np.array(X[:, :20]), problem["y"])
    is_read = count_columns(X)
    with Meter() as meter:
        model.fit(X, problem["y"])
    figures = {
        "seconds": meter.seconds,
        "peak": resident_megabytes(),
        "beyond": meter.megabytes,
        "columns": int(is_read.sum()),
        "models": int(model.n_models_trained_),
        "epochs": int(model.n_iter_),
        "size": float(model.expected_size_),
        "score": float(model.score(X_new, problem["y_new"])),
    }
    np.save(folder / "alpha.npy", model.alpha_)
    (folder / "figures.json").write_text(json.dumps(figures))


# -- what is found ---------------------------------------------------------------------------------


def univariate_scores(X: Any, y: Any) -> Any:
    """Squared correlation of each column with y, which ranks as the F test does."""
    target = (y - y.mean()) / y.std()
    scores = np.empty(X.shape[1])
    for start in range(0, X.shape[1], 2000):
        part = X[:, start : start + 2000].astype(float)
        part -= part.mean(axis=0)
        spread = np.maximum(part.std(axis=0), 1e-12)
        scores[start : start + 2000] = (target @ part / len(y) / spread) ** 2
    return scores


def ranking(scores: Any, blocks: Any, causal: Any) -> tuple[dict[str, float], list[int]]:
    """AUPR of blocks and the share of causal ones found at each rank; places of the pair's blocks.

    Blocks that are equally good have the last of their places: those of no score are not found.
    """
    best = np.zeros(blocks[-1] + 1)
    np.maximum.at(best, blocks, scores)
    truth = np.isin(np.arange(len(best)), blocks[causal])
    places = rankdata(-best, method="max")[blocks[causal]]
    found = {"AUPR": float(average_precision_score(truth, best))}
    found |= {f"at {k}": float((places <= k).mean()) for k in RANKS}
    return found, sorted(places[:2].astype(int).tolist())


def ridge_scores(X: Any, y: Any, X_new: Any, y_new: Any, order: Any, binary: bool) -> Any:
    """Score on new samples of ridge regression on the first columns, by their number."""
    model = RidgeClassifierCV(PENALTIES) if binary else RidgeCV(PENALTIES)
    scores = {}
    for k in N_COLUMNS:
        columns = np.sort(order[:k])
        fitted = model.fit(X[:, columns].astype(float), y)
        scores[k] = float(fitted.score(X_new[:, columns].astype(float), y_new))
    return scores


def report(args: argparse.Namespace, n_features: int, seed: int) -> None:
    """Write a problem, fit it in another process, and print what came out."""
    with tempfile.TemporaryDirectory(dir=args.where) as name:
        folder = Path(name)
        write_problem(folder, args.samples, n_features, args.binary, seed)
        command = [sys.executable, __file__, *sys.argv[1:], "--folder", name, "--seed", str(seed)]
        subprocess.run(command, check=True)
        figures = json.loads((folder / "figures.json").read_text())
        X, X_new = (np.load(folder / f"{part}.npy", mmap_mode="r") for part in ("X", "X_new"))
        problem = np.load(folder / "problem.npz")
        y, y_new = problem["y"], problem["y_new"]
        tested = univariate_scores(X, y)
        methods = {"PRS": np.load(folder / "alpha.npy"), "univariate test": tested}
        kind = "accuracy" if args.binary else "R2"
        print(
            f"{args.samples} samples, {n_features} features ({X.nbytes / 1e6:.0f} MB), "
            f"{args.base}, {args.jobs} job(s), seed {seed}: {figures['seconds']:.0f} s, peak "
            f"memory {figures['peak']:.0f} MB ({figures['beyond']:.0f} MB in the fit), "
            f"{figures['columns']} columns read ({figures['columns'] / n_features:.1%}), "
            f"{figures['models']} models, {figures['epochs']} epochs, expected size "
            f"{figures['size']:.1f}"
        )
        for method, scores in methods.items():
            blocks = problem["blocks"]
            found, (first, second) = ranking(scores, blocks, problem["causal"])
            shown = ", ".join(f"{key} {value:.2f}" for key, value in found.items())
            print(f"  {method}: {shown}, the pair at {first} and {second} of {blocks[-1] + 1}")
        order = np.argsort(-tested, kind="stable")
        others = ridge_scores(X, y, X_new, y_new, order, args.binary)
        shown = ", ".join(f"{value:.3f} (first {k})" for k, value in others.items())
        print(f"  {kind} on {N_NEW} new samples: PRS {figures['score']:.3f}, ridge {shown}")
        sys.stdout.flush()


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--features", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--base", choices=["knn", "ridge"], default="knn")
    parser.add_argument("--binary", action="store_true", help="a trait of two classes")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--start", choices=["auto", "marginal"], default="auto", help="alpha_init")
    parser.add_argument("--epochs", type=int, default=None)
    parser.add_argument("--where", help="folder for the files; by default that of the system")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    options = parse()
    if options.folder is not None:
        fit(options)
    else:
        for width in options.features:
            for seed in options.seed:
                report(options, width, seed)

"""A gene network from 100,000 cells in a sparse AnnData file: time and peak memory.

Writes an .h5ad file of log-normalised counts (2,000 genes, of which 100 regulators and 50 targets
belong to a simulated network; most entries are 0), opens it without loading it, and infers the
links of the targets from the regulators in a fresh process. Base models are trained on
``--max-samples`` cells. Of the file only the genes that are used are read. Needs randsub[anndata].

    python benchmarks/cells_in_file.py [--cells 100000] [--genes 2000] [--max-samples 200]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from cells import Meter
from scipy.sparse import csr_matrix, hstack, vstack

from randsub.datasets import make_network
from randsub.network import PRSNetwork, score_network

N_REGULATORS, N_TARGETS = 100, 50
# Share of the entries that are not 0, of genes of the network and of others.
SEEN, SEEN_OF_OTHERS = 0.4, 0.1


def write_cells(path: Path, n_cells: int, n_genes: int, seed: int) -> np.ndarray:
    """The file; returns the true links, (n_genes, n_genes)."""
    import anndata
    import pandas as pd

    truth = make_network(
        n_cells, N_REGULATORS, N_TARGETS, n_modules=10, noise=0.3, random_state=seed
    )
    rng = np.random.default_rng(seed)
    n_known = N_REGULATORS + N_TARGETS
    parts = []
    for rows in np.array_split(np.arange(n_cells), max(n_cells // 5000, 1)):
        counts = rng.poisson(np.exp(truth.expression[rows]))
        counts[rng.random(counts.shape) > SEEN] = 0
        n_others = int(SEEN_OF_OTHERS * len(rows) * (n_genes - n_known))
        places = (
            rng.integers(len(rows), size=n_others),
            rng.integers(n_genes - n_known, size=n_others),
        )
        others = csr_matrix((np.ones(n_others), places), (len(rows), n_genes - n_known))
        parts.append(hstack([csr_matrix(counts), others]).log1p().astype(np.float32).tocsr())
    names = [*truth.gene_names, *(f"X{j}" for j in range(n_genes - n_known))]
    table = anndata.AnnData(X=vstack(parts).tocsr(), var=pd.DataFrame(index=names))
    table.write_h5ad(path)
    return truth.gold


def measure(path: Path, max_samples: int, epochs: int, jobs: int, seed: int) -> dict[str, Any]:
    """Infer the network, in this process."""
    import anndata

    regulators = [f"R{j + 1}" for j in range(N_REGULATORS)]
    targets = [f"T{j + 1}" for j in range(N_TARGETS)]
    model = PRSNetwork(
        lam=0, max_samples=max_samples, max_iter=epochs, n_jobs=jobs, random_state=seed
    )
    with Meter() as meter:
        table = anndata.read_h5ad(path, backed="r")
        model.fit(table, regulators, targets=targets)
    gold = np.load(path.with_suffix(".npy"))
    names = [*regulators, *targets]
    scores = score_network(model, gold, gene_names=names)
    return {
        "seconds": round(meter.seconds, 1),
        "megabytes": round(meter.megabytes),
        "models": model.n_models_trained_,
        "AUPR": round(scores.aupr, 3),
        "random AUPR": round(scores.n_edges / scores.n_pairs, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=100_000)
    parser.add_argument("--genes", type=int, default=2_000)
    parser.add_argument("--max-samples", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.file is not None:
        found = measure(args.file, args.max_samples, args.epochs, args.jobs, args.seed)
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.h5ad"
        np.save(path.with_suffix(".npy"), write_cells(path, args.cells, args.genes, args.seed))
        dense = args.cells * args.genes * 8 / 1e6
        print(
            f"{args.cells:,} cells of {args.genes:,} genes, {path.stat().st_size / 1e6:,.0f} MB on "
            f"disk, {dense:,.0f} MB as an array; {N_REGULATORS} regulators, {N_TARGETS} targets",
            flush=True,
        )
        command = [sys.executable, __file__, *sys.argv[1:], "--file", str(path)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()

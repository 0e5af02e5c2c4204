"""Gene networks at scale: independent targets in blocks, compared with GENIE3.

A simulated network of 1,000 targets and 100 regulators with 200 samples, without a coupling
penalty. Prints per method the time, the peak memory of the process so far, the number of models
trained, and the agreement of the links with the network. PRS runs first, so that the peak memory is
not that of GENIE3.

    python benchmarks/network.py [--targets 1000] [--jobs 2] [--base knn] [--skip-genie3]
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable

from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from randsub.datasets import make_network
from randsub.network import PRSNetwork, genie3, score_network
from randsub.network.links import LinkOutputs

BASES = {"knn": KNeighborsRegressor, "svm": SVR, "tree": DecisionTreeRegressor}


def peak_megabytes() -> float:
    """Largest resident memory of this process; Linux counts kilobytes, macOS bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--regulators", type=int, default=100)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--base", choices=BASES, default="knn")
    parser.add_argument("--epochs", type=int, default=PRSNetwork().max_iter)
    parser.add_argument("--block", type=int, default=PRSNetwork().block_size)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip-genie3", action="store_true")
    args = parser.parse_args()
    truth = make_network(args.samples, args.regulators, args.targets, random_state=args.seed)
    names = list(truth.gene_names)
    regulators, targets = names[: args.regulators], names[args.regulators :]
    print(f"{args.targets} targets, {args.regulators} regulators, {args.samples} samples")

    def report(name: str, infer: Callable[[], tuple[LinkOutputs, int]]) -> None:
        began = time.perf_counter()
        network, n_models = infer()
        seconds = time.perf_counter() - began
        scores = score_network(network, truth.gold, gene_names=names)
        print(
            f"{name:8} {seconds:8.1f} s  peak {peak_megabytes():6.0f} MB  {n_models:10,} models  "
            f"AUPR {scores.aupr:.3f}  AUROC {scores.auroc:.3f}  early precision "
            f"{scores.early_precision:.3f}  (random AUPR {scores.n_edges / scores.n_pairs:.3f})",
            flush=True,
        )

    def prs() -> tuple[LinkOutputs, int]:
        model = PRSNetwork(
            BASES[args.base](),
            lam=0,
            max_iter=args.epochs,
            block_size=args.block,
            n_jobs=args.jobs,
            random_state=args.seed,
            verbose=1,
        )
        model.fit(truth.expression, regulators, gene_names=names, targets=targets)
        return model, model.n_models_trained_

    def forests() -> tuple[LinkOutputs, int]:
        network = genie3(
            truth.expression,
            regulators,
            gene_names=names,
            targets=targets,
            n_jobs=args.jobs,
            random_state=args.seed,
        )
        return network, network.n_models_trained

    report(f"PRS {args.base}", prs)
    if not args.skip_genie3:
        report("GENIE3", forests)


if __name__ == "__main__":
    main()

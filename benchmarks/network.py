"""Gene networks at scale: independent targets in blocks, compared with GENIE3 and GRNBoost2.

A simulated network of 1,000 targets and 100 regulators with 200 samples, with the settings of
``infer_network`` for so many targets. Prints per method the time, the peak memory of the process so
far, the number of models trained, and the agreement of the links with the network. PRS runs first,
so that the peak memory is not that of others. With ``--part`` only the first targets are inferred,
by all methods: targets are independent, so that the time of all of them is that time by the share
of the targets. ``--former`` are the settings of ``infer_network`` for few targets, which it once
had for many, too.

    python benchmarks/network.py [--targets 1000] [--jobs 2] [--methods knn svm genie3 grnboost]
    python benchmarks/network.py --targets 5000 --regulators 300 --samples 500 --part 16 \
        --noise 0.8 --response sigmoid --methods knn genie3 grnboost
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from randsub.datasets import make_network
from randsub.network import PRSNetwork, genie3, grnboost, score_network
from randsub.network.infer import N_REPEATS, SHORT, recommended
from randsub.network.links import LinkOutputs

BASES = {"knn": KNeighborsRegressor, "svm": SVR, "tree": DecisionTreeRegressor}
OTHERS = {"genie3": genie3, "grnboost": grnboost}
METHODS = (*BASES, *OTHERS)


def peak_megabytes() -> float:
    """Largest resident memory of this process; Linux counts kilobytes, macOS bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--regulators", type=int, default=100)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["knn", "genie3"])
    parser.add_argument("--part", type=int, help="infer so many targets; default: all")
    parser.add_argument("--former", action="store_true", help="three short fits per target")
    parser.add_argument("--block", type=int, default=PRSNetwork().block_size)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.2)
    parser.add_argument("--response", default="sigmoid")
    args = parser.parse_args()
    sizes = args.samples, args.regulators, args.targets
    truth = make_network(*sizes, noise=args.noise, response=args.response, random_state=args.seed)
    names = list(truth.gene_names)
    part = args.targets if args.part is None else args.part
    regulators, targets = names[: args.regulators], names[args.regulators :][:part]
    print(
        f"{args.targets} targets, {args.regulators} regulators, {args.samples} samples, "
        f"{args.response}, noise {args.noise}; {part} targets inferred, {args.jobs} worker(s)"
    )

    def report(name: str, infer: Callable[[], tuple[LinkOutputs, int]]) -> None:
        began = time.perf_counter()
        network, n_models = infer()
        seconds = time.perf_counter() - began
        found = np.isin(names, targets)
        gold = np.where(found, truth.gold, 0)
        scores = score_network(network, gold, gene_names=names)
        print(
            f"{name:8} {seconds:8.1f} s ({seconds * args.targets / part / 60:.1f} min for all)  "
            f"peak {peak_megabytes():6.0f} MB  {n_models:10,} models  "
            f"AUPR {scores.aupr:.3f}  AUROC {scores.auroc:.3f}  early precision "
            f"{scores.early_precision:.3f}  (random AUPR {scores.n_edges / scores.n_pairs:.3f})",
            flush=True,
        )

    def prs(base: str) -> tuple[LinkOutputs, int]:
        chosen = recommended(n_targets=args.targets, knows_regulators=True, lam=0.0)
        if args.former:
            chosen |= {"solver": None, "n_repeats": N_REPEATS, **SHORT}
        chosen |= {"estimator": BASES[base](), "block_size": args.block}
        model = PRSNetwork(**chosen, n_jobs=args.jobs, random_state=args.seed)
        model.fit(truth.expression, regulators, gene_names=names, targets=targets)
        return model, model.n_models_trained_

    def other(method: str) -> tuple[LinkOutputs, int]:
        network = OTHERS[method](
            truth.expression,
            regulators,
            gene_names=names,
            targets=targets,
            n_jobs=args.jobs,
            random_state=args.seed,
        )
        return network, network.n_models_trained

    for method in METHODS:
        if method in args.methods:
            report(method, partial(prs if method in BASES else other, method))


if __name__ == "__main__":
    main()

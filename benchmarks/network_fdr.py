"""How well the false discovery rate of ``links(fdr=0.1)`` holds, on simulated networks.

For each network and coefficient: the number of links in the list, the fraction of them that are no
direct links (false, direct), the fraction that are not even indirect, from an ancestor to a
descendant or between genes with a common ancestor (false, any), and the fraction of all true links
that are in the list. Shadows stand for genes without any dependence, so the last but one is what
the rate is about; ten networks by default, with the repeats and epochs of ``infer_network``.

    python benchmarks/network_fdr.py [--networks 10] [--fdr 0.1] [--lams 0 0.003]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from randsub.datasets import make_network
from randsub.network import PRSNetwork
from randsub.network.infer import N_REPEATS, SHORT

KINDS = (
    {},
    {"noise": 0.5},
    {"regulated_fraction": 0.8},
    {"hubs": 1.5, "n_modules": 1},
    {"response": "bell"},
)


def dependent(gold: np.ndarray) -> np.ndarray:
    """Whether two genes have a common ancestor, each gene being one of its own: (n, n)."""
    reach = np.eye(len(gold), dtype=bool)
    for _ in range(len(gold)):
        wider = reach | (reach @ gold > 0)
        if (wider == reach).all():
            break
        reach = wider
    return (reach.T.astype(int) @ reach) > 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=int, default=10)
    parser.add_argument("--fdr", type=float, default=0.1)
    parser.add_argument("--lams", type=float, nargs="+", default=[0.0, 0.003])
    parser.add_argument("--repeats", type=int, default=N_REPEATS)
    parser.add_argument("--epochs", type=int, default=SHORT["max_iter"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("lam, network, links, false (direct), false (any), found, CPU seconds")
    for lam in args.lams:
        rows = []
        for number in range(args.networks):
            kind = KINDS[number % len(KINDS)]
            size = {"n_regulators": 15, "n_targets": 25, "n_modules": 3, **kind}
            truth = make_network(100, random_state=200 + number, **size)
            begin = time.process_time()
            model = PRSNetwork(
                KNeighborsRegressor(),
                lam=lam,
                shadows=True,
                n_repeats=args.repeats,
                max_iter=args.epochs,
                n_estimators=SHORT["n_estimators"],
                n_jobs=1,
                random_state=number,
            ).fit(truth.expression, truth.regulators, gene_names=truth.gene_names)
            place = {name: gene for gene, name in enumerate(truth.gene_names)}
            links = model.links(fdr=args.fdr)
            ends = [[place[name] for name in links[end]] for end in ("regulator", "target")]
            n = max(1, len(links))
            direct = np.count_nonzero(~truth.gold[tuple(ends)]) / n
            related = np.count_nonzero(~dependent(truth.gold)[tuple(ends)]) / n
            found = np.count_nonzero(truth.gold[tuple(ends)]) / len(truth.edges)
            rows.append((len(links), direct, related, found))
            shown = f"{len(links)}, {direct:.3f}, {related:.3f}, {found:.3f}"
            print(f"{lam:g}, {number}, {shown}, {time.process_time() - begin:.0f}", flush=True)
        means = np.mean(rows, axis=0)
        print(f"{lam:g}, mean, {', '.join(f'{value:.3f}' for value in means)}", flush=True)


if __name__ == "__main__":
    main()

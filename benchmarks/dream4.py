"""The defaults of ``infer_network`` on networks of DREAM4 or BEELINE, beside their parts.

For each network (an .npz file with X_LS and X_VS, or X, with gold or gold_signed, and gene_names)
and seed: AUPR and early precision of the defaults on all samples, of each of their base models
alone (three repeats, ranked by the same rules), of GENIE3 and of GRNBoost2. The defaults were
chosen on simulated networks alone (benchmarks/networks_study.py); these networks are for this
table. A network of BEELINE, cells of a simulated Boolean model, has the same form.

    python benchmarks/dream4.py FILE.npz ... [--seeds 0 1 2] [--jobs 2]
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from networks_study import N_REPEATS, THREE, parts_of

from randsub.network import PRSNetwork, genie3, grnboost, score_network
from randsub.network.infer import recommended
from randsub.network.links import InferredNetwork

OTHERS = {"genie3": genie3, "grnboost": grnboost}


def shown(scores: Sequence[tuple[float, float]]) -> str:
    """AUPR and early precision of each method."""
    return ", ".join(f"{aupr:.3f} / {early:.3f}" for aupr, early in scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    bases = [name for name, _ in THREE]
    methods = ("default", *bases, *OTHERS)
    print("AUPR / early precision; network, seed, " + ", ".join(methods) + ", lam, CPU seconds")
    for path in args.files:
        data = np.load(path)
        tables = [data["X"]] if "X" in data else [data["X_LS"], data["X_VS"]]
        X = np.vstack(tables).astype(float)
        gold = np.abs(data["gold_signed"] if "gold_signed" in data else data["gold"])
        names = [str(name) for name in data["gene_names"]]
        rows = []
        for seed in args.seeds:
            begin = time.process_time()
            chosen = recommended(n_targets=X.shape[1], knows_regulators=False)
            model = PRSNetwork(**chosen, n_jobs=args.jobs, random_state=seed)
            model.fit(X, gene_names=names)
            seconds = time.process_time() - begin
            networks = {"default": model}
            genes = tuple(model.regulator_names_), tuple(model.target_names_)
            place = int(np.flatnonzero(model.path_["lam"] == model.lam_)[0])
            for base in bases:
                parts = parts_of(model, [base], N_REPEATS)
                weights = model.ranking.weights(parts, place, *map(list, genes))
                networks[base] = InferredNetwork(weights, *genes, None, 0)
            for name, method in OTHERS.items():
                networks[name] = method(X, gene_names=names, n_jobs=args.jobs, random_state=seed)
            scores = [score_network(networks[name], gold, gene_names=names) for name in methods]
            rows.append([(one.aupr, one.early_precision) for one in scores])
            words = f"{shown(rows[-1])}, {model.lam_:g}, {seconds:.0f}"
            print(f"{path.stem}, {seed}, {words}", flush=True)
        for name, values in (("mean", np.mean(rows, axis=0)), ("sd", np.std(rows, axis=0, ddof=1))):
            print(f"{path.stem}, {name}, {shown(values)}", flush=True)


if __name__ == "__main__":
    main()

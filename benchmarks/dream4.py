"""The defaults of ``infer_network`` on networks of the DREAM4 challenge, beside their parts.

For each network (an .npz file with X_LS, X_VS, gold and gene_names, as those of 100 genes) and
seed: AUPR of the defaults on all samples, of each of their base models alone (three repeats, ranked
by the same rules), and of GENIE3. The defaults were chosen on simulated networks alone
(benchmarks/networks_study.py); these networks are for this table.

    python benchmarks/dream4.py FILE.npz ... [--seeds 0 1 2] [--jobs 2]
"""

import argparse
import time
from pathlib import Path

import numpy as np
from networks_study import BASES, N_REPEATS, parts_of

from randsub.network import PRSNetwork, genie3, score_network
from randsub.network.infer import recommended
from randsub.network.links import InferredNetwork


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    methods = ("default", *BASES, "genie3")
    print("network, seed, " + ", ".join(methods) + ", lam, CPU seconds of the default")
    for path in args.files:
        data = np.load(path)
        X = np.vstack([data["X_LS"], data["X_VS"]]).astype(float)
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
            for base in BASES:
                parts = parts_of(model, [base], N_REPEATS)
                weights = model.ranking.weights(parts, place, *map(list, genes))
                networks[base] = InferredNetwork(weights, *genes, None, 0)
            networks["genie3"] = genie3(X, gene_names=names, n_jobs=args.jobs, random_state=seed)
            found = [
                score_network(networks[name], data["gold"], gene_names=names).aupr
                for name in methods
            ]
            rows.append(found)
            shown = ", ".join(f"{value:.3f}" for value in found)
            print(f"{path.stem}, {seed}, {shown}, {model.lam_:g}, {seconds:.0f}", flush=True)
        for name, values in (("mean", np.mean(rows, axis=0)), ("sd", np.std(rows, axis=0, ddof=1))):
            shown = ", ".join(f"{value:.3f}" for value in values)
            print(f"{path.stem}, {name}, {shown}", flush=True)


if __name__ == "__main__":
    main()

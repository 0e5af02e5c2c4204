"""The authors' own simulated files: the paper's settings, or the default ones.

The files contain training, validation and test sets. Prints the test score, the ranking
quality (area under the precision-recall curve), the number of models trained and the time, beside
the paper's means over ten datasets.

    python benchmarks/simulated.py --data FOLDER [--settings defaults] [--bases knn tree svm]
        [--files friedman_1 hypercube_1] [--jobs 2]

FOLDER holds .npz files with XLS, yLS, XVS, yVS, XTS, yTS and idx_relevant. The loader is in
`randsub_experiments`, which `make paper` installs (`pip install -e experiments`).
"""

import argparse
import time
from pathlib import Path

import numpy as np
from defaults.settings import BASES
from paper_scale import model_for
from sklearn.metrics import average_precision_score

from randsub.exceptions import DatasetNotFoundError
from randsub.solver import Solver
from randsub_experiments.datasets import list_simulated, load_simulated

# Mean score and mean AUPR (comparison with RF and GBDT on the simulated problems).
PUBLISHED = {
    ("checkerboard", "tree"): (0.29, 0.60),
    ("checkerboard", "knn"): (0.60, 0.92),
    ("checkerboard", "svm"): (0.62, 0.98),
    ("friedman", "tree"): (0.83, 0.95),
    ("friedman", "knn"): (0.88, 1.00),
    ("friedman", "svm"): (0.90, 0.98),
    ("hypercube", "tree"): (0.88, 0.97),
    ("hypercube", "knn"): (0.90, 0.94),
    ("hypercube", "svm"): (0.88, 0.90),
    ("linear", "tree"): (0.78, 0.67),
    ("linear", "knn"): (0.88, 0.73),
    ("linear", "svm"): (0.92, 0.80),
}
SETTINGS = {"paper": Solver.paper(), "defaults": Solver()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the .npz files")
    parser.add_argument("--files", nargs="+", help="names without .npz; default: all in the folder")
    parser.add_argument("--settings", choices=SETTINGS, default="paper")
    parser.add_argument("--bases", nargs="+", choices=BASES, default=["knn"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    try:
        there = {
            f"{problem}_{number}": (problem, number)
            for problem, number in list_simulated(args.data)
        }
    except DatasetNotFoundError as error:
        parser.error(str(error))
    files = args.files or list(there)
    if missing := [name for name in files if name not in there]:
        parser.error(f"{', '.join(missing)}: not in {args.data}, which has {', '.join(there)}.")
    if not files:
        parser.error(f"There are no files of the authors in {args.data}.")
    print(f"{args.settings} settings, seed {args.seed}, {args.jobs} thread(s)")
    print(
        f"{'file':<16}{'base':<6}{'score':>8}{'paper':>8}{'AUPR':>8}{'paper':>8}{'models':>10}"
        f"{'seconds':>9}"
    )
    for base in args.bases:
        for name in files:
            data = load_simulated(*there[name], args.data)
            solver = SETTINGS[args.settings]
            model = model_for(base, data.y_train, args.seed, args.jobs, solver, args.settings)
            begin = time.perf_counter()
            model.fit(data.X_train, data.y_train, X_val=data.X_val, y_val=data.y_val)
            seconds = time.perf_counter() - begin
            relevant = np.isin(np.arange(data.X_train.shape[1]), data.relevant)
            score = model.score(data.X_test, data.y_test)
            aupr = average_precision_score(relevant, model.alpha_)
            paper_score, paper_aupr = PUBLISHED[data.problem, base]
            print(
                f"{name:<16}{base:<6}{score:>8.3f}{paper_score:>8.2f}{aupr:>8.3f}{paper_aupr:>8.2f}"
                f"{model.n_models_trained_:>10}{seconds:>9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

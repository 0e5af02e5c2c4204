"""The paper's settings on the authors' own simulated files.

Fresh refreshes, hard votes, 100 models, 3,000 epochs, no patience; the files bring their own
training, validation and test sets. Prints the test score, the ranking quality (area under the
precision-recall curve), the number of models trained and the time, beside the paper's means over
ten datasets.

    python benchmarks/paper_settings.py --data FOLDER [--files friedman_1 hypercube_1] [--jobs 2]

FOLDER holds .npz files with XLS, yLS, XVS, yVS, XTS, yTS and idx_relevant.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub import PRSClassifier, PRSRegressor

# Mean score and mean AUPR with kNN (comparison with RF and GBDT on the simulated problems).
PAPER = {
    "checkerboard": (0.60, 0.92),
    "friedman": (0.88, 1.00),
    "hypercube": (0.90, 0.94),
    "linear": (0.88, 0.73),
}


def paper_model(y: Any, seed: int, epochs: int, jobs: int) -> PRSClassifier | PRSRegressor:
    settings: dict[str, Any] = {
        "n_estimators": 100,
        "max_iter": epochs,
        "learning_rate": 1e-3,
        "n_batches": 10,
        "ess_threshold": 0.9,
        "refresh": "fresh",
        "n_revivals": 0,
        "n_iter_no_change": None,
        "n_jobs": jobs,
        "random_state": seed,
        "verbose": 1,
    }
    if np.issubdtype(y.dtype, np.integer):
        return PRSClassifier(KNeighborsClassifier(), voting="hard", **settings)
    return PRSRegressor(KNeighborsRegressor(), **settings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the .npz files")
    parser.add_argument("--files", nargs="+", default=["friedman_1", "hypercube_1"])
    parser.add_argument("--epochs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    for name in args.files:
        if not (args.data / f"{name}.npz").is_file():
            parser.error(f"{args.data / name}.npz is not there; --data names the folder.")
    print(
        f"{'file':<16}{'score':>8}{'paper':>8}{'AUPR':>8}{'paper':>8}{'models':>10}{'seconds':>9}"
    )
    for name in args.files:
        data = np.load(args.data / f"{name}.npz", allow_pickle=False)
        model = paper_model(data["yLS"], args.seed, args.epochs, args.jobs)
        begin = time.perf_counter()
        model.fit(data["XLS"], data["yLS"], X_val=data["XVS"], y_val=data["yVS"])
        seconds = time.perf_counter() - begin
        relevant = np.isin(np.arange(data["XLS"].shape[1]), data["idx_relevant"])
        score = model.score(data["XTS"], data["yTS"])
        aupr = average_precision_score(relevant, model.alpha_)
        paper_score, paper_aupr = PAPER[name.split("_")[0]]
        print(
            f"{name:<16}{score:>8.3f}{paper_score:>8.2f}{aupr:>8.3f}{paper_aupr:>8.2f}"
            f"{model.n_models_trained_:>10}{seconds:>9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

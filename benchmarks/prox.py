"""Subgradient or proximal step for the penalty, on images with noise.

scikit-learn's digits, 8 x 8 pixels, 5 against 6, with noise. Prints test accuracy, sparsity
(fraction of zeros) and smoothness (total variation, and the fraction of pairs of neighbouring
pixels, both with nonzero alpha, that have exactly the same alpha) for each optimiser and penalty;
means over seeds.

    python benchmarks/prox.py [--epochs 300] [--seeds 2] [--noise 4] [--jobs 1]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from randsub import PRSClassifier
from randsub.exceptions import NoFeatureLeftWarning
from randsub.images import alpha_image
from randsub.penalties import ExpectedSize, FusedLasso
from randsub.solver import Solver

SHAPE = (8, 8)
PENALTIES = [(0.0, 1e-3), (0.0, 1e-2), (1e-3, 1e-3), (1e-3, 1e-2), (1e-2, 1e-2)]
# Plain descent has no scale of its own; this rate moves alpha about as far as Adam does.
OPTIMIZERS = {
    "adam": 1e-3,
    "prox_adam": 1e-3,
    "gradient_descent": 3e-2,
    "prox_gradient": 3e-2,
}


def make_split(noise: float, seed: int) -> list[np.ndarray]:
    digits = load_digits()
    kept = np.isin(digits.target, (5, 6))
    rng = np.random.default_rng(seed)
    X = digits.data[kept] + noise * rng.normal(size=(kept.sum(), 64))
    y = digits.target[kept]
    return train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)


def measure(optimizer: str, penalty: tuple[float, float], args: argparse.Namespace) -> np.ndarray:
    rows = []
    for seed in range(args.seeds):
        X, X_test, y, y_test = make_split(args.noise, seed)
        model = PRSClassifier(
            KNeighborsClassifier(),
            penalty=ExpectedSize(penalty[0]) + FusedLasso.grid(penalty[1], *SHAPE),
            solver=Solver(optimizer=optimizer, learning_rate=OPTIMIZERS[optimizer], n_batches=2),
            max_iter=args.epochs,
            n_jobs=args.jobs,
            random_state=seed,
        )
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoFeatureLeftWarning)
            model.fit(X, y)
        seconds = time.perf_counter() - begin
        alpha = alpha_image(model, SHAPE)
        a, b = FusedLasso.grid(1.0, *SHAPE).edges.T
        left, right = alpha.ravel()[a], alpha.ravel()[b]
        used = (left > 0.0) & (right > 0.0)
        rows.append(
            [
                model.score(X_test, y_test),
                model.validation_loss_,
                model.history_["validation_objective"].min(),
                model.expected_size_,
                np.mean(alpha == 0.0),
                np.abs(left - right).sum(),
                np.mean((left == right)[used]) if used.any() else np.nan,
                model.n_models_trained_,
                seconds,
            ]
        )
    return np.mean(rows, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--noise", type=float, default=4.0, help="ink is 16")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    print(
        f"{'size':>7}{'fused':>7} {'optimizer':<18}{'accuracy':>9}{'loss':>8}{'objective':>11}"
        f"{'features':>10}{'zeros':>7}{'TV':>7}{'equal':>7}{'models':>9}{'seconds':>9}"
    )
    for penalty in PENALTIES:
        for optimizer in OPTIMIZERS:
            row = measure(optimizer, penalty, args)
            print(
                f"{penalty[0]:>7g}{penalty[1]:>7g} {optimizer:<18}{row[0]:>9.3f}{row[1]:>8.3f}"
                f"{row[2]:>11.3f}{row[3]:>10.1f}{row[4]:>7.2f}{row[5]:>7.2f}{row[6]:>7.2f}"
                f"{row[7]:>9.0f}{row[8]:>9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

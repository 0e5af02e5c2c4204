"""Cost of the training loop without the base models, for growing samples, features and masks.

Each of N, M and T is varied over a factor of 16, with the others fixed. The engine returns made-up
predictions, and its time is subtracted. Models are refreshed after every epoch, so that all sizes
do the same work. Prints milliseconds per epoch and the exponent of a fitted power law, and plots
both.

    python benchmarks/scaling.py [--output bench-output]
"""

import argparse
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.tree import DecisionTreeRegressor

from randsub import PRSRegressor
from randsub.engines import Engine
from randsub.solver import Solver

SIZES = {
    "N": [500, 1000, 2000, 4000, 8000],
    "M": [1000, 2000, 4000, 8000, 16000],
    "T": [50, 100, 200, 400, 800],
}
FIXED = {"N": 300, "M": 300, "T": 100}
NAMES = {"N": "training samples", "M": "features", "T": "masks per batch"}


class MadeUp(Engine):
    """Predicts noise that depends on the mask, in no time that counts."""

    prefers: ClassVar[Any] = "threads"
    seconds = 0.0

    @classmethod
    def is_usable_for(cls, estimator: Any, X: Any, y: Any, sample_weight: Any) -> bool:
        """Anything goes."""
        return True

    def predict_many(
        self,
        X_train: Any,
        y_train: Any,
        masks: Any,
        X_query: Any,
        seeds: Any,
        sample_weight: Any = None,
        fit_params: Any = None,
    ) -> Any:
        """Noise."""
        begin = time.perf_counter()
        rng = np.random.default_rng(int(seeds.sum()))
        noise = rng.normal(size=(len(masks), len(X_query), 1))
        MadeUp.seconds += time.perf_counter() - begin
        return noise

    def fit_many(
        self,
        X: Any,
        y: Any,
        masks: Any,
        seeds: Any,
        sample_weight: Any = None,
        fit_params: Any = None,
    ) -> Any:
        """One model for all."""
        begin = time.perf_counter()
        # It must answer for any columns.
        model = DummyRegressor().fit(X, y)
        MadeUp.seconds += time.perf_counter() - begin
        return [model] * len(masks)


def seconds_per_epoch(N: int, M: int, T: int, n_epochs: int) -> float:
    """The loop's time for one epoch, refreshes included, base models not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, M)), rng.normal(size=N)

    def fit(n: int) -> float:
        model = PRSRegressor(
            DecisionTreeRegressor(),
            engine=MadeUp,
            n_estimators=T,
            alpha_init=min(0.5, 15 / M),
            max_iter=n,
            solver=Solver(ess_threshold=1.0, n_revivals=0, n_iter_no_change=None),
            n_jobs=1,
            random_state=0,
        )
        MadeUp.seconds = 0.0
        begin = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - begin - MadeUp.seconds

    fit(1)
    # What happens once (checking X, the final ensemble) is in both.
    return (min(fit(n_epochs) for _ in range(3)) - min(fit(1) for _ in range(3))) / (n_epochs - 1)


def draw(results: dict[str, list[float]], exponents: dict[str, float], path: Path) -> None:
    """Three panels, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for ax, name in zip(axes, results, strict=True):
        sizes = np.array(SIZES[name])
        times = 1e3 * np.array(results[name])
        ax.loglog(sizes, times, "o", color="#1f5a8a")
        ax.loglog(
            sizes,
            np.exp(np.log(times).mean())
            * (sizes / np.exp(np.log(sizes).mean())) ** exponents[name],
            color="#1f5a8a",
            label=f"exponent {exponents[name]:.2f}",
        )
        ax.loglog(sizes, times[-1] * sizes / sizes[-1], ":", color="grey", label="linear")
        ax.set_xlabel(f"{name}, {NAMES[name]}")
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.set_xticks([], minor=True)
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("milliseconds per epoch,\nwithout base models")
    fig.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("bench-output"))
    parser.add_argument("--epochs", type=int, default=60)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    results, exponents = {}, {}
    print(f"Milliseconds per epoch without base models; fixed: {FIXED}; seed 0.")
    for name, sizes in SIZES.items():
        results[name] = [
            seconds_per_epoch(**{**FIXED, name: size}, n_epochs=args.epochs) for size in sizes
        ]
        slope = np.polyfit(np.log(sizes), np.log(results[name]), 1)[0]
        exponents[name] = float(slope)
        row = "  ".join(f"{s}: {1e3 * t:.2f}" for s, t in zip(sizes, results[name], strict=True))
        print(f"{name}  {row}  exponent {slope:.2f}", flush=True)
    draw(results, exponents, args.output / "scaling.png")
    print(f"Drawn in {args.output / 'scaling.png'}.")


if __name__ == "__main__":
    main()

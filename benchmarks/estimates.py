"""How good the estimate of the time left is, after a twentieth, a tenth and a half of the time.

    python benchmarks/estimates.py [--only knn ...] [--seeds 0 1]

Prints the estimate of the whole time relative to the truth: 1 is perfect. After a tenth of the time
it should be between 0.67 and 1.5. The machine should have nothing else to do.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_friedman, make_hypercube, make_network
from randsub.network import PRSNetwork
from randsub.solver import Run, TrainingState
from randsub.solver.callback import TimedCallback
from randsub.solver.forecast import Forecast

SHARES = (0.05, 0.1, 0.5)


class Notes(TimedCallback):
    """Notes the estimates of a fit."""

    def for_run(self, run: Run) -> "Notes":
        """Begin to measure."""
        self._forecast = Forecast(run)
        self.begin = time.perf_counter()
        self.estimates: list[tuple[float, float]] = []
        return self

    def on_models_trained(self, n_done: int, n_all: int) -> None:
        """Note the estimate."""
        super().on_models_trained(n_done, n_all)
        self._note()

    def on_epoch_end(self, state: TrainingState) -> None:
        """Note the estimate."""
        super().on_epoch_end(state)
        self._note()

    def _note(self) -> None:
        now = time.perf_counter() - self.begin
        if not self.estimates or now - self.estimates[-1][0] > 0.1:
            left = self.forecast.seconds_left()
            if left is not None:
                self.estimates.append((now, now + left))


def of(kind: Any, base: Any, make: Callable[..., Any], **sizes: int) -> Callable[[int], Any]:
    def prepare(seed: int) -> Any:
        X, y = make(random_state=seed, **sizes)[:2]
        return kind(base, random_state=seed), (X, y)

    return prepare


def path(seed: int) -> Any:
    data = make_network(n_samples=100, n_regulators=15, n_targets=15, random_state=seed)
    return PRSNetwork(random_state=seed), (data.expression,)


CASES: dict[str, Callable[[int], Any]] = {
    "knn": of(PRSRegressor, KNeighborsRegressor(), make_friedman, n_samples=1000),
    "tree": of(PRSRegressor, DecisionTreeRegressor(), make_friedman, n_samples=400),
    "svm": of(PRSClassifier, SVC(), make_hypercube, n_samples=400),
    "wide": of(
        PRSClassifier,
        KNeighborsClassifier(),
        make_classification,
        n_samples=72,
        n_features=7129,
        n_informative=20,
    ),
    "network": path,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("case     seed  seconds  " + "  ".join(f"after {share:.0%}" for share in SHARES))
    for name in args.only:
        for seed in args.seeds:
            model, data = CASES[name](seed)
            notes = Notes()
            model.set_callbacks(notes).fit(*data)
            total = time.perf_counter() - notes.begin
            ratios = [
                next((e / total for at, e in notes.estimates if at >= share * total), float("nan"))
                for share in SHARES
            ]
            print(
                f"{name:8} {seed:4}  {total:7.1f}  " + "  ".join(f"{r:8.2f}" for r in ratios),
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Time series: the links that `infer_network` finds with and without the times of the samples.

Simulated networks of 15 genes, each with two regulators: production is a sigmoid of the regulators,
genes decay, noise is added in every short step and to what is measured. A series starts at random
levels and is measured 21 times, equally far apart or at times of which most are close together
(lognormal steps, with sigma 1.5). With files of the DREAM4 challenge of size 10 (knockouts,
knockdowns, multifactorial, timeseries, ts_time, gold), these too, with and without the samples that
are no time series. AUPR over seeds; `still` takes the samples for independent ones.

    python benchmarks/time_series.py [FILE ...] [--seeds 5] [--series 5] [--jobs 2]
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from randsub.network import infer_network, score_network

N_TIMES, N_INNER = 21, 50


def simulated(
    seed: int, n_series: int, distance: float, spread: float
) -> tuple[np.ndarray, Any, Any, np.ndarray]:
    """Expression, times, series and links of a network whose samples are so far apart on average.

    ``spread`` is the standard deviation of the logarithm of the distance.
    """
    rng, n_genes = np.random.default_rng(seed), 15
    gold = np.zeros((n_genes, n_genes), dtype=int)
    for gene in range(n_genes):
        gold[rng.choice(np.delete(np.arange(n_genes), gene), 2, replace=False), gene] = 1
    effects = gold * rng.choice([-6.0, 6.0], size=gold.shape)
    tables, times = [], []
    for _ in range(n_series):
        x = rng.uniform(size=n_genes)
        steps = np.full(N_TIMES, distance)
        if spread:
            steps *= np.exp(spread * rng.normal(size=N_TIMES) - spread**2 / 2.0)
        times.append(np.cumsum(steps) - steps)
        for place in range((N_TIMES - 1) * N_INNER + 1):
            if place % N_INNER == 0:
                tables.append(x + 0.03 * rng.normal(size=n_genes))
            step = steps[place // N_INNER] / N_INNER
            production = 1.0 / (1.0 + np.exp(-(x - 0.5) @ effects))
            x = x + step * (production - x) + 0.05 * np.sqrt(step) * rng.normal(size=n_genes)
    return np.array(tables), np.concatenate(times), np.repeat(np.arange(n_series), N_TIMES), gold


def dream4(path: Path) -> Iterator[tuple[str, dict[str, Any], np.ndarray]]:
    """Time series of a file, as they are and in time; then with the steady states."""
    with np.load(path) as file:
        data = dict(file)
    names = data["gene_names"].tolist()
    time, gold = data["ts_time"], data["gold"]
    series = np.cumsum(np.r_[0, np.diff(time) < 0])
    given = {"gene_names": names, "expression": data["timeseries"]}
    yield "series, still", given, gold
    yield "series, in time", {**given, "time": time, "series": series}, gold
    steady = ["knockouts", "knockdowns", "multifactorial", "wildtype"]
    n_steady = sum(len(data[kind]) for kind in steady)
    nothing = [None] * (n_steady - 2 * len(names))
    given |= {
        "expression": np.vstack([data["timeseries"], *(data[kind] for kind in steady)]),
        "perturbed": [*[None] * len(time), *names, *names, *nothing],
    }
    yield "all samples, still", given, gold
    times = np.r_[time, np.full(n_steady, np.nan)]
    labels = [*series, *[None] * n_steady]
    yield "all samples, in time", {**given, "time": times, "series": labels}, gold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--series", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()

    def aupr(given: dict[str, Any], gold: np.ndarray, seed: int) -> float:
        links = infer_network(**given, n_jobs=args.jobs, random_state=seed)
        return score_network(links, gold, gene_names=given["gene_names"]).aupr

    def report(name: str, scores: list[float]) -> None:
        print(f"{name:44} {np.mean(scores):.3f} +- {np.std(scores, ddof=1):.3f}", flush=True)

    for distance, spread in ((0.2, 0.0), (1.0, 0.0), (3.0, 0.0), (0.5, 1.5)):
        found: dict[str, list[float]] = {"still": [], "in time": []}
        for seed in range(args.seeds):
            expression, time, series, gold = simulated(seed, args.series, distance, spread)
            given = {"expression": expression, "gene_names": [f"G{j}" for j in range(len(gold))]}
            found["still"].append(aupr(given, gold, seed))
            found["in time"].append(aupr({**given, "time": time, "series": series}, gold, seed))
        for how, scores in found.items():
            apart = f"{distance:g} lifetimes apart" + (", unequally" if spread else "")
            report(f"simulated, {apart}, {how}", scores)
    for path in args.files:
        for how, given, gold in dream4(path):
            scores = [aupr(given, gold, seed) for seed in range(args.seeds)]
            report(f"{path.stem}, {how}", scores)


if __name__ == "__main__":
    main()

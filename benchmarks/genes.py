"""Figures of docs/howto/wide_data.md: PRS on one gene-expression dataset, and what to trust.

``ranking``: the ten best genes of a fit to all samples, with the spread of their alpha over the
repeats, and their ranks in a second fit with another seed and by the F test. ``validation``: fits
to three quarters of the samples that differ in their seed alone, and so in which of these samples
are for validation, tested on the last quarter.

    python benchmarks/genes.py --data FOLDER [--file Prostate_GE] [--fits 5]

FOLDER holds files of scikit-feature (see randsub_experiments.datasets). Writes into the page.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.feature_selection import f_classif
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from tables import DOCS, place, table
from width import best_features, load_file

from randsub import PRSClassifier


def fit(X: np.ndarray, y: np.ndarray, seed: int, jobs: int, **params: Any) -> PRSClassifier:
    model = PRSClassifier(KNeighborsClassifier(), n_jobs=jobs, random_state=seed, **params)
    return model.fit(X, y)


def ranks(values: np.ndarray) -> np.ndarray:
    """1 for the largest; equal values share the worst of their places."""
    return rankdata(-values, method="max").astype(int)


def ranking_table(model: PRSClassifier, second: PRSClassifier, F: np.ndarray) -> list[str]:
    again, alone = ranks(second.alpha_), ranks(F)
    rows = [
        [
            str(rank),
            str(gene),
            f"{model.alpha_[gene]:.2f} ± {model.alpha_std_[gene]:.2f}",
            str(again[gene]),
            str(alone[gene]),
        ]
        for rank, gene in enumerate(best_features(model.alpha_)[:10], 1)
    ]
    header = ["rank", "column", "alpha, ± spread", "rank with another seed", "rank by the F test"]
    return table(header, rows)


def validation_row(
    name: str, model: PRSClassifier, X: np.ndarray, y: np.ndarray, first: PRSClassifier
) -> list[str]:
    best = [set(best_features(one.alpha_)) for one in (first, model)]
    return [
        name,
        f"{model.expected_size_:.1f}",
        "" if model is first else str(len(best[0] & best[1])),
        f"{model.score(X, y):.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the file")
    parser.add_argument("--file", default="Prostate_GE")
    parser.add_argument("--fits", type=int, default=5, help="fits to the same samples; default: 5")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", type=Path, default=DOCS / "howto" / "wide_data.md")
    args = parser.parse_args()
    X, y = load_file(args.file, args.data)
    model, second = (fit(X, y, seed, args.jobs) for seed in (0, 1))
    # Constant genes have no F.
    F = np.nan_to_num(f_classif(X, y)[0])
    place(args.page, "ranking", ranking_table(model, second, F))
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    rows = []
    for name, params in (("one run", {"n_repeats": 1}), ("default repeats", {})):
        models = [fit(X, y, seed, args.jobs, **params) for seed in range(args.fits)]
        rows += [
            validation_row(f"{name}, seed {seed}", one, X_test, y_test, models[0])
            for seed, one in enumerate(models)
        ]
    header = ["fit", "features per model", "of the 20 best, shared with seed 0", "test accuracy"]
    place(args.page, "validation", table(header, rows))


if __name__ == "__main__":
    main()

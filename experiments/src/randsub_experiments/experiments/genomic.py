"""Gene-expression data, few samples of thousands of features: cross-validated accuracies."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

from randsub_experiments import datasets
from randsub_experiments.cells import FIRST_SEED, Cell, Row
from randsub_experiments.datasets.genomic import SOURCE
from randsub_experiments.experiments.base import COMMON_FLAGS, METHODS, RASE_FLAGS, Options
from randsub_experiments.experiments.cell_grid import method_cells
from randsub_experiments.experiments.real_data import (
    BenchmarkExperiment,
    choose,
    data_folder,
    fingerprint,
    origin_of,
)
from randsub_experiments.methods import Problem, measure

N_FOLDS: Final = 5
# Coefficients of the expected size; the best on validation is taken.
PENALTIES: Final = (1e-4, 1e-3, 1e-2, 1e-1)
ORIGIN: Final = origin_of(SOURCE)


class Genomic(BenchmarkExperiment):
    """The scikit-feature benchmark.

    Replicate i is fold i mod 5 of the cross-validation with the random state 1000 + i // 5.
    """

    name: ClassVar[str] = "genomic"
    summary: ClassVar[str] = "gene-expression datasets of a data folder, with every method"
    flags: ClassVar[tuple[str, ...]] = (*COMMON_FLAGS, *RASE_FLAGS, "data")
    full: ClassVar[Options] = Options(
        methods=METHODS, settings=("paper", "defaults"), replicates=N_FOLDS
    )
    quick: ClassVar[Options] = replace(
        full,
        bases=("tree", "knn"),
        methods=("single", "rs", "prs", "rf"),
        settings=("defaults",),
        replicates=2,
        epochs=200,
    )

    def cells(self, options: Options) -> list[Cell]:
        """Fold by fold."""
        home = data_folder(options.data, self.name, ORIGIN)
        prints = {}
        for name in choose(options.problems, datasets.list_genomic(home), home, ORIGIN):
            dataset = datasets.load_genomic(name, home)
            prints[name] = fingerprint(dataset.X, dataset.y)
        return [
            cell
            for replicate in range(options.replicates)
            for name, data in prints.items()
            for cell in method_cells(
                self.name,
                name,
                replicate,
                options,
                {"benchmark": "scikit-feature"},
                data=data,
                penalties=PENALTIES,
            )
        ]

    def run(self, cell: Cell, data: Path | None) -> Row:
        """Take the samples of one fold, train, test."""
        dataset = datasets.load_genomic(cell.problem, data_folder(data, self.name, ORIGIN))
        repetition, fold = divmod(cell.replicate, N_FOLDS)
        folds = list(datasets.genomic_folds(dataset, random_state=FIRST_SEED + repetition))
        X, y = dataset.X, dataset.y
        train, val, test = folds[fold]
        problem = Problem("classification", X[train], y[train], X[val], y[val], X[test], y[test])
        return measure(cell, problem)

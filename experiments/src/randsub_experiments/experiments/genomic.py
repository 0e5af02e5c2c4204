"""Gene-expression data, few samples of thousands of features: cross-validated accuracies."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

import pandas as pd

from randsub_experiments import datasets
from randsub_experiments.cells import FIRST_SEED, Cell, Row
from randsub_experiments.datasets.genomic import SOURCE
from randsub_experiments.experiments.base import (
    CHOICES,
    COMMON_FLAGS,
    METHODS,
    RASE_FLAGS,
    Options,
)
from randsub_experiments.experiments.cell_grid import method_cells
from randsub_experiments.experiments.method_tables import beside_best, sides
from randsub_experiments.experiments.real_data import (
    BenchmarkExperiment,
    choose,
    data_folder,
    fingerprint,
    origin_of,
)
from randsub_experiments.methods import measure
from randsub_experiments.problem import Problem
from randsub_experiments.result_table import Table

N_FOLDS: Final = 5
N_REPETITIONS: Final = 2
# The paper's limit is 30, without which colon, with 22 normal samples, would be left out.
SMALLEST_CLASS: Final = 20
# With all of thousands of features at every split, boosting takes minutes per fold.
BOOSTING: Final = {"max_features": "sqrt"}
ORIGIN: Final = origin_of(SOURCE)
# With a base model, and with several.
PRS: Final = ("prs", "auto")


class Genomic(BenchmarkExperiment):
    """The scikit-feature benchmark.

    Replicate i is fold i mod 5 of the cross-validation with the random state 1000 + i // 5.
    """

    name: ClassVar[str] = "genomic"
    summary: ClassVar[str] = "gene-expression datasets of a data folder, with every method"
    flags: ClassVar[tuple[str, ...]] = (*COMMON_FLAGS, *RASE_FLAGS, "coefficients", "data")
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **CHOICES,
        "methods": (*METHODS, "auto", "l1"),
    }
    full: ClassVar[Options] = Options(
        methods=(*METHODS, "l1"),
        settings=("paper", "defaults"),
        replicates=N_REPETITIONS * N_FOLDS,
        # The one with the lowest loss on validation is taken.
        coefficients=(0.0, 1e-4, 1e-3, 1e-2, 1e-1),
    )
    quick: ClassVar[Options] = replace(
        full,
        bases=("tree", "knn"),
        methods=("single", "rs", "prs", "rf", "l1"),
        settings=("defaults",),
        replicates=2,
        epochs=200,
        coefficients=(0.0, 1e-2),
    )

    def cells(self, options: Options) -> list[Cell]:
        """Fold by fold."""
        home = data_folder(options.data, self.name, ORIGIN)
        prints = {}
        available = datasets.list_genomic(home, min_class_size=SMALLEST_CLASS)
        for name in choose(options.problems, available, home, ORIGIN):
            dataset = datasets.load_genomic(name, home, min_class_size=SMALLEST_CLASS)
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
                more={
                    **{name: {"penalties": list(options.coefficients)} for name in PRS},
                    "gbdt": BOOSTING,
                },
            )
        ]

    def run(self, cell: Cell, data: Path | None) -> Row:
        """Take the samples of one fold, train, test."""
        home = data_folder(data, self.name, ORIGIN)
        dataset = datasets.load_genomic(cell.problem, home, min_class_size=SMALLEST_CLASS)
        repetition, fold = divmod(cell.replicate, N_FOLDS)
        folds = list(datasets.genomic_folds(dataset, random_state=FIRST_SEED + repetition))
        X, y = dataset.X, dataset.y
        train, val, test = folds[fold]
        parts = (X[train], y[train], X[val], y[val], X[test], y[test])
        # With so few samples no method can do without those for validation in the end.
        return measure(cell, Problem("classification", *parts, refit=True))

    def tables(self, results: pd.DataFrame) -> list[Table]:
        """Those of all benchmarks, and PRS beside the best of the other methods."""
        best = best_table(results)
        return [*([best] if len(best.frame) else []), *super().tables(results)]


def best_table(results: pd.DataFrame) -> Table:
    """For each dataset PRS with its best base model, and the best of the other methods.

    The difference is over folds that both have, with its standard error.
    """
    others = [method for method in results["method"].unique() if method not in PRS]
    frame = beside_best(results, PRS, others, ["problem"])
    columns = {"dataset": lambda row: row.problem, **sides("PRS", "best of the others")}
    note = (
        "Mean accuracies over the n folds that all methods have finished, of the base model or "
        "method with the highest one; the difference ± its standard error, folds taken as "
        "independent."
    )
    return Table("best", "PRS and the best of the other methods", frame, columns, note)

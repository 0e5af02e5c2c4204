"""Gene-expression data, few samples of thousands of features: cross-validated accuracies."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import pandas as pd

from randsub.reproduce.cells import BASE_LABELS, FIRST_SEED, Cell, Row
from randsub.reproduce.comparison import normalised_tables, real_tables
from randsub.reproduce.experiment import Experiment, Options
from randsub.reproduce.grid import METHODS, method_cells
from randsub.reproduce.settings import SETTINGS
from randsub.reproduce.sources import choose, data_folder, fingerprint
from randsub.reproduce.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_FOLDS: Final = 5
# Coefficients of the expected size; the best on validation is taken.
PENALTIES: Final = (1e-4, 1e-3, 1e-2, 1e-1)


class Genomic(Experiment):
    """The scikit-feature benchmark.

    Replicate i is fold i mod 5 of the cross-validation with the random state 1000 + i // 5.
    """

    name: ClassVar[str] = "genomic"
    summary: ClassVar[str] = "gene-expression datasets of a data folder, with every method"
    flags: ClassVar[tuple[str, ...]] = (
        "problems",
        "bases",
        "methods",
        "settings",
        "replicates",
        "epochs",
        "rase_candidates",
        "rase_iterations",
        "data",
    )
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "bases": tuple(BASE_LABELS),
        "methods": METHODS,
        "settings": tuple(SETTINGS),
    }
    full: ClassVar[Options] = Options(
        methods=("single", "rs", "rase", "prs", "rf", "gbdt"),
        settings=("paper", "defaults"),
        replicates=N_FOLDS,
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
        from randsub import datasets

        origin = _origin()
        home = data_folder(options.data, self.name, origin)
        prints = {
            name: fingerprint(datasets.load_genomic(name, home))
            for name in choose(options.problems, datasets.list_genomic(home), home, origin)
        }
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
        from randsub import datasets
        from randsub.reproduce.methods import Problem, measure

        home = data_folder(data, self.name, _origin())
        dataset = datasets.load_genomic(cell.problem, home)
        repetition, fold = divmod(cell.replicate, N_FOLDS)
        folds = list(datasets.genomic_folds(dataset, random_state=FIRST_SEED + repetition))
        X, y = dataset.X, dataset.y
        train, val, test = folds[fold]
        problem = Problem("classification", X[train], y[train], X[val], y[val], X[test], y[test])
        return measure(cell, problem)

    def tables(self, results: pd.DataFrame) -> list[Table]:
        """Normalised scores beside the paper's, then each dataset."""
        return real_tables(results, self.name)

    def figures(self, results: pd.DataFrame) -> dict[str, "Figure"]:
        """Normalised scores."""
        from randsub.reproduce.figures import normalised_bars

        tables = normalised_tables(results, self.name)
        return {table.name: normalised_bars(table.frame) for table in tables}


def _origin() -> str:
    from randsub.datasets.genomic import SOURCE

    return f"They belong in a folder {SOURCE.folders[0]!r} in it. {SOURCE.origin}"

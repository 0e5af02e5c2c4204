"""Computing time of PRS with more samples and with more features."""

from dataclasses import replace
from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure

from randsub_experiments.cells import Cell
from randsub_experiments.experiments.base import COMMON_FLAGS, RASE_FLAGS, Options
from randsub_experiments.experiments.cell_grid import method_cells
from randsub_experiments.experiments.simulated_data import (
    N_IRRELEVANT,
    N_TRAIN,
    PROBLEMS,
    SimulatedExperiment,
    sizes,
)
from randsub_experiments.figures.scores import curves
from randsub_experiments.paper_tables import plain_table
from randsub_experiments.result_table import Table


class Timing(SimulatedExperiment):
    """Computing time along the number of training samples N, and along that of features M."""

    name: ClassVar[str] = "timing"
    summary: ClassVar[str] = "computing time against the numbers of samples and of features"
    flags: ClassVar[tuple[str, ...]] = (
        *COMMON_FLAGS,
        "irrelevant",
        "samples",
        "test_samples",
        *RASE_FLAGS,
    )
    full: ClassVar[Options] = Options(
        problems=PROBLEMS,
        methods=("prs",),
        settings=("paper", "defaults"),
        irrelevant=(50, 100, 300, 500, 1000),
        samples=(100, 200, 300, 500, 1000),
        test_samples=100,
    )
    quick: ClassVar[Options] = replace(
        full,
        bases=("tree", "knn"),
        settings=("defaults",),
        replicates=2,
        epochs=200,
        irrelevant=(100, 300, 1000),
        samples=(100, 300, 1000),
    )

    def cells(self, options: Options) -> list[Cell]:
        """One of the two numbers at a time; the other is the paper's 300."""
        conditions = [
            *(sizes(options, N_IRRELEVANT, n_train) for n_train in options.samples),
            *(sizes(options, n_irrelevant) for n_irrelevant in options.irrelevant),
        ]
        # Where the two lines cross, there is one cell.
        distinct = [one for i, one in enumerate(conditions) if one not in conditions[:i]]
        return [
            cell
            for replicate in range(options.replicates)
            for problem in options.problems
            for condition in distinct
            for cell in method_cells(self.name, problem, replicate, options, condition)
        ]

    def tables(self, results: pd.DataFrame) -> list[Table]:
        """Models trained, and times, along both numbers."""
        by = ["n_train", "n_irrelevant"]
        title = "Seconds for training and testing, on one thread"
        return [
            plain_table("models", "Base models trained", results, ["models"], by),
            plain_table("time", title, results, ["seconds"], by),
        ]

    def figures(self, results: pd.DataFrame) -> dict[str, Figure]:
        """One curve along each number."""
        names = {
            "seconds": "seconds, one thread",
            "n_train": "training samples N",
            "n_irrelevant": "irrelevant features",
        }
        lines = {
            "time-samples": ("n_train", results["n_irrelevant"] == N_IRRELEVANT),
            "time-features": ("n_irrelevant", results["n_train"] == N_TRAIN),
        }
        by_base = set(results["method"]) == {"prs"}
        return {
            name: curves(results[rows], "seconds", across, names, by_base=by_base, logarithmic=True)
            for name, (across, rows) in lines.items()
            if results.loc[rows, across].nunique() > 1
        }

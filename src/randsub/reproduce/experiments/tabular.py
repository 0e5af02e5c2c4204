"""Tabular datasets, 1,000 samples each for training, validation and test: normalised scores."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from randsub.reproduce.cells import BASE_LABELS, METHOD_LABELS, Cell, Row
from randsub.reproduce.comparison import normalised_table, real_tables
from randsub.reproduce.experiment import Experiment, Options
from randsub.reproduce.grid import method_cells
from randsub.reproduce.settings import SETTINGS
from randsub.reproduce.sources import choose, data_folder, fingerprint
from randsub.reproduce.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Tabular(Experiment):
    """The tabular benchmark."""

    name: ClassVar[str] = "tabular"
    summary: ClassVar[str] = "tabular datasets of a data folder, with every method"
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
        "methods": tuple(METHOD_LABELS),
        "settings": tuple(SETTINGS),
    }
    full: ClassVar[Options] = Options(
        methods=("single", "rs", "rase", "prs", "rf", "gbdt"), settings=("paper", "defaults")
    )
    quick: ClassVar[Options] = replace(
        full,
        bases=("tree", "knn"),
        methods=("single", "rs", "prs", "rf", "gbdt"),
        settings=("defaults",),
        replicates=1,
        epochs=300,
    )

    def cells(self, options: Options) -> list[Cell]:
        """Resampling by resampling."""
        from randsub import datasets

        home = data_folder(options.data, self.name)
        tasks = dict(datasets.list_tabular(home))
        about = {
            name: (
                {"benchmark": f"tabular {tasks[name]}"},
                fingerprint(datasets.load_tabular(name, home, task=tasks[name])),
            )
            for name in choose(options.problems, list(tasks), home)
        }
        return [
            cell
            for replicate in range(options.replicates)
            for name, (conditions, data) in about.items()
            for cell in method_cells(self.name, name, replicate, options, conditions, data=data)
        ]

    def run(self, cell: Cell, data: Path | None) -> Row:
        """Draw the samples of one resampling, train, test."""
        from randsub import datasets
        from randsub.reproduce.methods import Problem, measure

        task = cell.conditions["benchmark"].removeprefix("tabular ")
        dataset = datasets.load_tabular(cell.problem, data_folder(data, self.name), task=task)
        drawn = datasets.sample_tabular(dataset, random_state=cell.seed)
        parts = [
            getattr(drawn, f"{kind}_{part}") for part in ("train", "val", "test") for kind in "Xy"
        ]
        return measure(cell, Problem(task, *parts))

    def tables(self, results: pd.DataFrame) -> list[Table]:
        """Normalised scores beside the paper's, then each dataset."""
        return real_tables(results, self.name)

    def figures(self, results: pd.DataFrame) -> dict[str, "Figure"]:
        """Normalised scores."""
        from randsub.reproduce.figures import normalised_bars

        frame = normalised_table(results, self.name).frame
        return {"normalised": normalised_bars(frame)} if len(frame) else {}

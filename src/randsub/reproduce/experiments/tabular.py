"""Tabular datasets, 1,000 samples each for training, validation and test: normalised scores."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pandas as pd

from randsub.reproduce.cells import BASE_LABELS, Cell, Row
from randsub.reproduce.comparison import normalised_tables, real_tables
from randsub.reproduce.experiment import Experiment, Options
from randsub.reproduce.grid import METHODS, method_cells
from randsub.reproduce.settings import SETTINGS
from randsub.reproduce.sources import choose, data_folder, fingerprint
from randsub.reproduce.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BENCHMARK: Final = "tabular "
# How the fingerprint of downloaded data begins.
FETCHED: Final = "openml "


class Tabular(Experiment):
    """The tabular benchmark. A name may be that of a regression and of a classification."""

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
        "fetch",
    )
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "bases": tuple(BASE_LABELS),
        "methods": METHODS,
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

        if options.fetch:
            found = [(entry.name, entry.task) for entry in datasets.TABULAR_BENCHMARK]
            place: Path | str = "the benchmark on OpenML"
        else:
            place = data_folder(options.data, self.name, _origin())
            found = [(name, task) for name, task in datasets.list_tabular(place)]
        chosen = choose(options.problems, [name for name, _ in found], place, _origin())
        wanted = [(name, task) for one in chosen for name, task in found if name == one]
        prints = {
            (name, task): (FETCHED if options.fetch else "")
            + fingerprint(_dataset(name, task, options.data, fetch=options.fetch))
            for name, task in wanted
        }
        return [
            cell
            for replicate in range(options.replicates)
            for (name, task), data in prints.items()
            for cell in method_cells(
                self.name,
                name,
                replicate,
                options,
                {"benchmark": f"{BENCHMARK}{task}"},
                data=data,
            )
        ]

    def run(self, cell: Cell, data: Path | None) -> Row:
        """Draw the samples of one resampling, train, test."""
        from randsub import datasets
        from randsub.reproduce.methods import Problem, measure

        task = cell.conditions["benchmark"].removeprefix(BENCHMARK)
        fetch = cell.params["data"].startswith(FETCHED)
        dataset = _dataset(cell.problem, task, data, fetch=fetch)
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

        tables = normalised_tables(results, self.name)
        return {table.name: normalised_bars(table.frame) for table in tables}


def _origin() -> str:
    from randsub.datasets.tabular.files import SOURCE

    return f"{SOURCE.origin} --fetch does the former."


def _dataset(name: str, task: str, data: Path | None, *, fetch: bool) -> Any:
    from randsub import datasets

    if fetch:
        return datasets.fetch_tabular(name, task=task, data_home=data)
    return datasets.load_tabular(name, data_folder(data, Tabular.name, _origin()), task=task)

"""Tabular datasets, 1,000 samples each for training, validation and test: normalised scores."""

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

from randsub_experiments import datasets
from randsub_experiments.cells import Cell, Row
from randsub_experiments.datasets.tabular import SOURCE
from randsub_experiments.experiments.base import COMMON_FLAGS, METHODS, RASE_FLAGS, Options
from randsub_experiments.experiments.cell_grid import method_cells
from randsub_experiments.experiments.real_data import (
    BenchmarkExperiment,
    choose,
    data_folder,
    fingerprint,
)
from randsub_experiments.methods import Problem, measure

BENCHMARK: Final = "tabular "
# How the fingerprint of downloaded data begins.
FETCHED: Final = "openml "
ORIGIN: Final = f"{SOURCE.origin} --fetch does the former."


class Tabular(BenchmarkExperiment):
    """The tabular benchmark. A name may be that of a regression and of a classification."""

    name: ClassVar[str] = "tabular"
    summary: ClassVar[str] = "tabular datasets of a data folder, with every method"
    flags: ClassVar[tuple[str, ...]] = (*COMMON_FLAGS, *RASE_FLAGS, "data", "fetch")
    full: ClassVar[Options] = Options(methods=METHODS, settings=("paper", "defaults"))
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
        if options.fetch:
            found = [(entry.name, entry.task) for entry in datasets.TABULAR_BENCHMARK]
            place: Path | str = "the benchmark on OpenML"
        else:
            place = data_folder(options.data, self.name, ORIGIN)
            found = [(name, task) for name, task in datasets.list_tabular(place)]
        chosen = choose(options.problems, [name for name, _ in found], place, ORIGIN)
        prints = {}
        for name, task in [(name, task) for one in chosen for name, task in found if name == one]:
            dataset = _dataset(name, task, options.data, fetch=options.fetch)
            origin = FETCHED if options.fetch else ""
            prints[name, task] = origin + fingerprint(dataset.X, dataset.y)
        return [
            cell
            for replicate in range(options.replicates)
            for (name, task), data in prints.items()
            for cell in method_cells(
                self.name, name, replicate, options, {"benchmark": f"{BENCHMARK}{task}"}, data=data
            )
        ]

    def run(self, cell: Cell, data: Path | None) -> Row:
        """Draw the samples of one resampling, train, test."""
        task = cell.conditions["benchmark"].removeprefix(BENCHMARK)
        fetch = cell.params["data"].startswith(FETCHED)
        dataset = _dataset(cell.problem, task, data, fetch=fetch)
        drawn = datasets.sample_tabular(dataset, random_state=cell.seed)
        parts = [
            getattr(drawn, f"{kind}_{part}") for part in ("train", "val", "test") for kind in "Xy"
        ]
        return measure(cell, Problem(task, *parts))


def _dataset(name: str, task: str, data: Path | None, *, fetch: bool) -> Any:
    if fetch:
        return datasets.fetch_tabular(name, task=task, data_home=data)
    return datasets.load_tabular(name, data_folder(data, Tabular.name, ORIGIN), task=task)

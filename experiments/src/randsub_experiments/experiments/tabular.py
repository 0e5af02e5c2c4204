"""Tabular datasets, 1,000 samples each for training, validation and test: normalised scores."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

import pandas as pd

from randsub_experiments import datasets
from randsub_experiments.cells import Cell, Row
from randsub_experiments.datasets.tabular import SOURCE
from randsub_experiments.experiments.base import (
    CHOICES,
    COMMON_FLAGS,
    METHODS,
    RASE_FLAGS,
    Options,
)
from randsub_experiments.experiments.cell_grid import method_cells
from randsub_experiments.experiments.method_tables import (
    PROBABILITIES,
    scores_by_dataset,
    seconds_by_method,
    summary_tables,
    wins_table,
    with_probabilities,
)
from randsub_experiments.experiments.real_data import (
    BenchmarkExperiment,
    choose,
    data_folder,
    fingerprint,
)
from randsub_experiments.methods import measure
from randsub_experiments.paper_tables import plain_table
from randsub_experiments.problem import Problem
from randsub_experiments.result_table import Table

BENCHMARK: Final = "tabular "
# How the fingerprint of downloaded data begins.
FETCHED: Final = "openml "
# Those of the paper, and peers that it does not have.
EVERY_METHOD: Final = (*METHODS, "auto", "hgb", "stack", "tuned")
ORIGIN: Final = f"{SOURCE.origin} --fetch does the former."


class Tabular(BenchmarkExperiment):
    """The tabular benchmark. A name may be that of a regression and of a classification."""

    name: ClassVar[str] = "tabular"
    summary: ClassVar[str] = "tabular datasets of a data folder, with every method"
    flags: ClassVar[tuple[str, ...]] = (*COMMON_FLAGS, *RASE_FLAGS, "data", "fetch")
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {**CHOICES, "methods": EVERY_METHOD}
    full: ClassVar[Options] = Options(methods=EVERY_METHOD, settings=("paper", "defaults"))
    quick: ClassVar[Options] = replace(
        full,
        bases=("tree", "knn"),
        methods=("single", "rs", "prs", "auto", "rf", "gbdt", "hgb"),
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

    def tables(self, results: pd.DataFrame) -> list[Table]:
        """Methods side by side, then those of all benchmarks, then probabilities and times."""
        title = "Probabilities of test samples"
        known = with_probabilities(results)
        every = [
            *summary_tables(results),
            wins_table(results),
            scores_by_dataset(results),
            *super().tables(results),
            plain_table("probabilities", title, known, PROBABILITIES, ["benchmark"]),
            seconds_by_method(results),
        ]
        return [table for table in every if len(table.frame)]


def _dataset(name: str, task: str, data: Path | None, *, fetch: bool) -> Any:
    if fetch:
        return datasets.fetch_tabular(name, task=task, data_home=data)
    return datasets.load_tabular(name, data_folder(data, Tabular.name, ORIGIN), task=task)

"""Real datasets: where they are, whether they have changed, and what is made of their results."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from randsub._hashing import data_digest
from randsub_experiments.datasets.data_folder import Source
from randsub_experiments.experiments.base import Experiment
from randsub_experiments.figures.scores import normalised_bars
from randsub_experiments.paper_tables import normalised_tables, plain_table
from randsub_experiments.result_table import Table


class BenchmarkExperiment(Experiment):
    """An experiment on the datasets of benchmarks, with normalised scores."""

    def tables(self, results: pd.DataFrame) -> list[Table]:
        """Normalised scores beside the paper's, then each dataset."""
        # Two benchmarks may have datasets of one name.
        by = ["benchmark"]
        ensembles = results[results["method"].isin(["rs", "rase", "prs", "auto"])]
        every = [
            *normalised_tables(results, self.name),
            plain_table("scores", "Scores (R2 or accuracy)", results, ["score"], by),
            plain_table("sizes", "Features a model sees", ensembles, ["size"], by),
            plain_table("models", "Base models trained", results, ["models"], by),
            plain_table("time", "Seconds for training and testing", results, ["seconds"], by),
        ]
        return [table for table in every if len(table.frame)]

    def figures(self, results: pd.DataFrame) -> dict[str, Figure]:
        """Normalised scores."""
        tables = normalised_tables(results, self.name)
        return {table.name: normalised_bars(table.frame) for table in tables}


def origin_of(source: Source) -> str:
    """Where the files of a source belong, and where they can be downloaded."""
    return f"They belong in a folder {source.folders[0]!r} in it. {source.origin}"


def data_folder(data: Path | None, experiment: str, origin: str) -> Path:
    """The folder of the data sets, if it exists.

    ``origin`` tells where the data can be downloaded, for the error.
    """
    if data is None:
        raise ValueError(
            f"The experiment {experiment!r} reads data sets: name their folder with --data. "
            f"{origin}"
        )
    if not data.is_dir():
        raise FileNotFoundError(
            f"--data={data} is not a folder; name one that holds the data sets. {origin}"
        )
    return data


def choose(
    wanted: Sequence[str], available: Sequence[str], home: Path | str, origin: str
) -> list[str]:
    """The wanted names, or all of them; an error if one is not available."""
    names = list(dict.fromkeys(available))
    if not names:
        raise ValueError(f"Found no dataset at all in {home}. {origin}")
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ValueError(
            f"Found no dataset {', '.join(unknown)} in {home}; there are: {', '.join(names)}."
        )
    return list(wanted or names)


def fingerprint(*arrays: Any) -> str:
    """A hash of the data: cells of a dataset that has changed are not those of today."""
    return data_digest(*arrays)[:16]

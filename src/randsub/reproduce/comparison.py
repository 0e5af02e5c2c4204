"""The columns that tables of several experiments share, and the tables made of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from randsub.reproduce.cells import label
from randsub.reproduce.summaries import beside_paper, normalise, summarise
from randsub.reproduce.tables import Column, Table, plain, spread

WHO: Final = ("method", "base", "setting")
MEASURES: Final = {
    "score": "score",
    "aupr": "AUPR",
    "size": "size",
    "models": "models trained",
    "epochs": "epochs",
    "seconds": "seconds",
    "normalised score": "normalised score",
}
# Digits after the point.
DIGITS: Final = {"size": 2, "models": 0, "epochs": 0, "seconds": 1}


def _digits(row: Any) -> int:
    return DIGITS.get(row.measure, 3)


PROBLEM: Final[Mapping[str, Column]] = {"problem": lambda row: row.problem}
METHOD: Final[Mapping[str, Column]] = {
    "method": lambda row: label(row.method, row.base, row.setting)
}
MEASURE: Final[Mapping[str, Column]] = {"measure": lambda row: MEASURES[row.measure]}
OURS: Final[Mapping[str, Column]] = {
    "ours": lambda row: spread(row.mean, row.sd, _digits(row)),
    "n": lambda row: str(row.n),
}
PAPER: Final[Mapping[str, Column]] = {
    "paper": lambda row: spread(row.paper_mean, row.paper_sd, 2),
    "difference": lambda row: plain(row.difference, _digits(row), "+"),
}
ERRORS: Final[Mapping[str, Column]] = {
    "in standard errors": lambda row: plain(row.standard_errors, 1, "+"),
    "verdict": lambda row: row.verdict,
}
SPREAD_NOTE: Final = "Mean ± standard deviation over n datasets or resamplings."
PAPER_NOTE: Final = (
    f"{SPREAD_NOTE} An empty column: the paper, or our copy of it, has no such figure. Agreement "
    "is a difference of at most two standard errors of it, or within the rounding of what was "
    "published."
)


def table_beside_paper(
    name: str, title: str, results: pd.DataFrame, measures: Sequence[str], experiment: str
) -> Table:
    """Measures of every problem and method with the paper's figures and the difference."""
    summary = summarise(results, ["problem", *WHO], measures)
    frame = beside_paper(summary, experiment)
    columns = {**PROBLEM, **MEASURE, **METHOD, **OURS, **PAPER, **ERRORS}
    return Table(name, title, frame, columns, PAPER_NOTE)


def plain_table(
    name: str, title: str, results: pd.DataFrame, measures: Sequence[str], by: Sequence[str] = ()
) -> Table:
    """Measures of every problem and method, for which the paper has no figures."""
    frame = summarise(results, ["problem", *by, *WHO], measures)
    extra = {name.replace("n_", ""): _shown(name) for name in by}
    columns = {**PROBLEM, **extra, **MEASURE, **METHOD, **OURS}
    return Table(name, title, frame, columns, SPREAD_NOTE)


def _shown(column: str) -> Column:
    return lambda row: str(getattr(row, column))


def normalised_table(results: pd.DataFrame, experiment: str) -> Table:
    """Normalised scores over the datasets of each benchmark, beside the paper's."""
    parts = []
    for benchmark, rows in results.groupby("benchmark", sort=False):
        scores = normalise(rows, ["problem", "replicate"], WHO)
        part = summarise(scores, WHO, ["normalised score"])
        part.insert(0, "problem", str(benchmark))
        part["datasets"] = scores["problem"].nunique()
        parts.append(part)
    frame = beside_paper(pd.concat(parts, ignore_index=True), experiment)
    columns: dict[str, Column] = {
        "benchmark": lambda row: row.problem,
        **METHOD,
        "datasets": lambda row: str(row.datasets),
        **OURS,
        **PAPER,
    }
    note = (
        "For each dataset and resampling, 0 is the worst of these methods and 1 the best; mean ± "
        "standard deviation over datasets and resamplings that have them all (n). The paper's are "
        "over its own datasets, so they differ in more than chance."
    )
    frame = frame.drop(columns=["standard_errors", "verdict", "paper_n"])
    return Table("normalised", "Normalised scores", frame, columns, note)


def real_tables(results: pd.DataFrame, experiment: str) -> list[Table]:
    """The tables of an experiment with real datasets."""
    # Two benchmarks may have datasets of one name.
    by = ["benchmark"]
    scores = plain_table("scores", "Scores (R2 or accuracy)", results, ["score"], by)
    sizes = plain_table(
        "sizes",
        "Features a model sees",
        results[results["method"].isin(["rs", "rase", "prs"])],
        ["size"],
        by,
    )
    models = plain_table("models", "Base models trained", results, ["models"], by)
    seconds = plain_table("time", "Seconds for training and testing", results, ["seconds"], by)
    every = [normalised_table(results, experiment), scores, sizes, models, seconds]
    return [table for table in every if len(table.frame)]

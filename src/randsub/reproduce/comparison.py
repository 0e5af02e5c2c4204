"""The columns that tables of several experiments share, and the tables made of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from randsub.reproduce.cells import label
from randsub.reproduce.summaries import FEWEST, beside_paper, normalise, summarise
from randsub.reproduce.tables import Column, Table, plain, spread

WHO: Final = ("method", "base", "setting")
MEASURES: Final = {
    "score": "score",
    "aupr": "AUPR",
    "size": "size",
    "models": "models trained",
    "epochs": "epochs",
    "seconds": "seconds",
    "seconds_each": "seconds a coefficient",
    "auroc": "AUROC",
    "early_precision": "early precision",
    "validation_loss": "validation loss",
    "validation_score": "validation score",
    "standard_error": "standard error",
    "normalised score": "normalised score",
}
# Digits after the point.
DIGITS: Final = {"size": 2, "models": 0, "epochs": 0, "seconds": 1, "seconds_each": 1}


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
    f"published; fewer than {FEWEST} values are not judged."
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
    name: str,
    title: str,
    results: pd.DataFrame,
    measures: Sequence[str],
    by: Sequence[str] = (),
    remark: str = "",
) -> Table:
    """Measures of every problem and method, for which the paper has no figures."""
    frame = summarise(results, ["problem", *by, *WHO], measures)
    columns = {**PROBLEM, **condition_columns(by), **MEASURE, **METHOD, **OURS}
    return Table(name, title, frame, columns, " ".join(filter(None, [SPREAD_NOTE, remark])))


def wide_table(
    name: str, title: str, results: pd.DataFrame, by: Sequence[str], measures: Sequence[str]
) -> Table:
    """Means of several measures side by side, a row for each group; without deviations."""
    groups = results.groupby(list(by), sort=False)
    means = groups[list(measures)].mean().astype(float)
    frame = means.assign(n=groups.size()).reset_index()
    columns: dict[str, Column] = {**condition_columns([one for one in by if one not in WHO])}
    if "method" in by:
        columns |= METHOD
    columns |= {MEASURES[measure]: _mean_of(measure) for measure in measures}
    columns["n"] = lambda row: str(row.n)
    return Table(name, title, frame, columns, "Means over n datasets or resamplings.")


def _mean_of(measure: str) -> Column:
    return lambda row: plain(getattr(row, measure), DIGITS.get(measure, 3))


def condition_columns(names: Sequence[str]) -> dict[str, Column]:
    """Conditions as readers see them: the column n_irrelevant is called "irrelevant"."""
    return {name.removeprefix("n_"): _shown(name) for name in names}


def _shown(column: str) -> Column:
    def shown(row: Any) -> str:
        value = getattr(row, column)
        return f"{value:g}" if isinstance(value, float) else str(value)

    return shown


def normalised_tables(results: pd.DataFrame, experiment: str) -> list[Table]:
    """Normalised scores beside the paper's, a table for each setting of PRS.

    A second setting among the methods would move the worst and the best of the others, so each
    table has PRS under one of them, as the paper's.
    """
    prs = results["method"] == "prs"
    tables = [
        normalised_table(results[~prs | (results["setting"] == setting)], experiment, str(setting))
        for setting in results.loc[prs, "setting"].unique()
    ] or [normalised_table(results, experiment)]
    return [table for table in tables if len(table.frame)]


def normalised_table(results: pd.DataFrame, experiment: str, setting: str = "") -> Table:
    """Normalised scores over the datasets of each benchmark, beside the paper's.

    Parameters
    ----------
    results : DataFrame
        One row a cell, with one setting of PRS.
    experiment : str
        Whose figures of the paper are meant.
    setting : str, default=""
        The setting, for name and title.
    """
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
    methods = [label(*who) for who in results[list(WHO)].drop_duplicates().itertuples(index=False)]
    note = (
        f"For each dataset and resampling, 0 is the worst of {len(methods)} methods and 1 the best "
        f"({'; '.join(methods)}); mean ± standard deviation over datasets and resamplings that "
        "have them all (n). The paper's are over its own datasets and its 14 methods, so they "
        "differ in more than chance."
    )
    frame = frame.drop(columns=["standard_errors", "verdict", "paper_n"])
    name = "-".join(filter(None, ["normalised", setting]))
    title = (
        f"Normalised scores, PRS with the setting {setting!r}" if setting else "Normalised scores"
    )
    return Table(name, title, frame, columns, note)


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
    every = [*normalised_tables(results, experiment), scores, sizes, models, seconds]
    return [table for table in every if len(table.frame)]

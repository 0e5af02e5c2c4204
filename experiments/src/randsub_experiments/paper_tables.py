"""Columns and tables that several experiments share, most of them beside the paper's numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from randsub_experiments.cells import label
from randsub_experiments.result_table import Column, Table, plain, spread
from randsub_experiments.summaries import FEWEST, beside_paper, normalise, summarise

METHOD_COLUMNS: Final = ("method", "base", "setting")
MEASURES: Final = {
    "score": "score",
    "aupr": "AUPR",
    "size": "size",
    "models": "models trained",
    "epochs": "epochs",
    "seconds": "seconds",
    "seconds_each": "seconds per coefficient",
    "auroc": "AUROC",
    "early_precision": "early precision",
    "validation_loss": "validation loss",
    "validation_score": "validation score",
    "standard_error": "standard error",
    "normalised score": "normalised score",
    "rank": "mean rank",
    "log_loss": "log loss",
    "calibration": "calibration error",
}
# Digits after the point.
DIGITS: Final = {"size": 2, "models": 0, "epochs": 0, "seconds": 1, "seconds_each": 1, "rank": 2}


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
    f"{SPREAD_NOTE} Empty: the paper, or our copy of it, has no such number. Agreement "
    "is a difference of at most two standard errors of it, or within the rounding of what was "
    f"published; fewer than {FEWEST} values get no verdict."
)


def table_beside_paper(
    name: str, title: str, results: pd.DataFrame, measures: Sequence[str], experiment: str
) -> Table:
    """Measures of every problem and method with the paper's numbers and the difference."""
    summary = summarise(results, ["problem", *METHOD_COLUMNS], measures)
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
    """Measures of every problem and method, without the paper's numbers."""
    frame = summarise(results, ["problem", *by, *METHOD_COLUMNS], measures)
    columns = {**PROBLEM, **condition_columns(by), **MEASURE, **METHOD, **OURS}
    return Table(name, title, frame, columns, " ".join(filter(None, [SPREAD_NOTE, remark])))


def wide_table(
    name: str, title: str, results: pd.DataFrame, by: Sequence[str], measures: Sequence[str]
) -> Table:
    """Means of several measures side by side, a row for each group; without deviations."""
    groups = results.groupby(list(by), sort=False)
    means = groups[list(measures)].mean().astype(float)
    frame = means.assign(n=groups.size()).reset_index()
    columns: dict[str, Column] = {
        **condition_columns([one for one in by if one not in METHOD_COLUMNS])
    }
    if "method" in by:
        columns |= METHOD
    # By place, since a measure such as "normalised score" cannot be the name of a field.
    places = {str(name): place for place, name in enumerate(frame)}
    columns |= {MEASURES[one]: _mean_at(places[one], DIGITS.get(one, 3)) for one in measures}
    columns["n"] = lambda row: str(row.n)
    return Table(name, title, frame, columns, "Means over n datasets or resamplings.")


def _mean_at(place: int, digits: int) -> Column:
    return lambda row: plain(row[place], digits)


def condition_columns(names: Sequence[str]) -> dict[str, Column]:
    """Conditions as shown in tables: the column n_irrelevant is called "irrelevant"."""
    return {name.removeprefix("n_"): _shown(name) for name in names}


def _shown(column: str) -> Column:
    def shown(row: Any) -> str:
        value = getattr(row, column)
        return f"{value:g}" if isinstance(value, float) else str(value)

    return shown


def normalised_tables(results: pd.DataFrame, experiment: str) -> list[Table]:
    """Normalised scores beside the paper's, a table for each setting of PRS."""
    tables = [
        normalised_table(rows, experiment, setting)
        for setting, rows in settings_of_prs(results).items()
    ]
    return [table for table in tables if len(table.frame)]


def settings_of_prs(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """All results for each setting of PRS, without PRS under the other settings.

    A second setting among the methods would change the worst and the best of the others, so each
    table has PRS under one of them, as in the paper. Without PRS the only setting is "".
    """
    prs = results["method"] == "prs"
    return {
        str(setting): results[~prs | (results["setting"] == setting)]
        for setting in results.loc[prs, "setting"].unique()
    } or {"": results}


def normalised_table(results: pd.DataFrame, experiment: str, setting: str = "") -> Table:
    """Normalised scores over the datasets of each benchmark, beside the paper's.

    Parameters
    ----------
    results : DataFrame
        One row per cell, with one setting of PRS.
    experiment : str
        Experiment whose published numbers are compared with.
    setting : str, default=""
        The setting, for name and title.
    """
    parts = []
    for benchmark, rows in results.groupby("benchmark", sort=False):
        scores = normalise(rows, ["problem", "replicate"], METHOD_COLUMNS)
        part = summarise(scores, METHOD_COLUMNS, ["normalised score"])
        ranks = scores.groupby(list(METHOD_COLUMNS), as_index=False)["rank"].mean()
        part = part.merge(ranks, how="left", on=list(METHOD_COLUMNS), validate="one_to_one")
        part.insert(0, "problem", str(benchmark))
        part["datasets"] = scores["problem"].nunique()
        parts.append(part)
    frame = beside_paper(pd.concat(parts, ignore_index=True), experiment)
    columns: dict[str, Column] = {
        "benchmark": lambda row: row.problem,
        **METHOD,
        "datasets": lambda row: str(row.datasets),
        **OURS,
        "mean rank": lambda row: plain(row.rank, DIGITS["rank"]),
        **PAPER,
    }
    methods = [
        label(*who)
        for who in results[list(METHOD_COLUMNS)].drop_duplicates().itertuples(index=False)
    ]
    note = (
        f"For each dataset and resampling, 0 is the worst of {len(methods)} methods and 1 the best "
        f"({'; '.join(methods)}); mean ± standard deviation over datasets and resamplings that "
        "have them all (n). The best has the rank 1. The paper's scores are over its own datasets "
        "and its 14 methods, so they differ by more than chance."
    )
    frame = frame.drop(columns=["standard_errors", "verdict", "paper_n"])
    name = "-".join(filter(None, ["normalised", setting]))
    title = (
        f"Normalised scores, PRS with the setting {setting!r}" if setting else "Normalised scores"
    )
    return Table(name, title, frame, columns, note)


def several(rows: pd.DataFrame, *columns: str) -> list[str]:
    """Those of the columns that have more than one value, empty ones aside."""
    return [name for name in columns if rows[name].replace("", None).nunique() > 1]

"""Tables that set methods side by side: over all datasets, on each, one against the best.

None of them has published numbers beside it; those are in :mod:`randsub_experiments.paper_tables`.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from randsub_experiments.cells import METHOD_LABELS, label
from randsub_experiments.paper_tables import (
    METHOD_COLUMNS,
    condition_columns,
    settings_of_prs,
    wide_table,
)
from randsub_experiments.result_table import Column, Table, plain
from randsub_experiments.summaries import normalise

DATASET: Final = ("benchmark", "problem")
PROBABILITIES: Final = ("log_loss", "calibration")
# Whom PRS with a portfolio is compared with.
TREE_ENSEMBLES: Final = ("rf", "gbdt", "hgb")


def with_probabilities(results: pd.DataFrame) -> pd.DataFrame:
    """Results with the measures of probabilities; earlier cells do not have them: NaN."""
    missing = [name for name in PROBABILITIES if name not in results]
    return results.assign(**dict.fromkeys(missing, np.nan))


def summary_tables(results: pd.DataFrame) -> list[Table]:
    """One line per method over all datasets, a table for each setting of PRS."""
    tables = []
    for setting, rows in settings_of_prs(results).items():
        every = normalise(with_probabilities(rows), [*DATASET, "replicate"], METHOD_COLUMNS)
        name = "-".join(filter(None, ["summary", setting]))
        measures = ["normalised score", "rank", *PROBABILITIES]
        table = wide_table(name, "Methods over all datasets", every, METHOD_COLUMNS, measures)
        note = (
            "Means over the n datasets and resamplings that all these methods have finished. In "
            "each, the normalised score is 0 for the worst method and 1 for the best, and the rank "
            "1 for the best; equal methods share their mean rank. Log loss and calibration error: "
            "classification only, of methods that predict probabilities."
        )
        tables.append(Table(table.name, table.title, table.frame, table.columns, note))
    return tables


def scores_by_dataset(results: pd.DataFrame) -> Table:
    """Mean scores: a row for each dataset, a column for each method."""
    named = with_labels(results)
    means = named.pivot_table(index=list(DATASET), columns="who", values="score", sort=False)
    # Not every dataset has every method, so columns are in the order of all rows.
    frame = means.reindex(columns=_in_order(results)).reset_index()
    columns: dict[str, Column] = condition_columns(DATASET)
    columns |= {
        str(name): _number_at(place)
        for place, name in enumerate(frame.columns)
        if name not in DATASET
    }
    note = "Means over resamplings (R2 or accuracy)."
    return Table("scores-by-dataset", "Score of every method", frame, columns, note)


def _in_order(results: pd.DataFrame) -> list[str]:
    """Labels of the methods, in the order of ``METHOD_LABELS``."""
    who = results[list(METHOD_COLUMNS)].drop_duplicates()
    places = {method: place for place, method in enumerate(METHOD_LABELS)}
    return [label(*row) for row in sorted(who.itertuples(index=False), key=lambda r: places[r[0]])]


def _number_at(place: int) -> Column:
    return lambda row: plain(row[place], 3)


def with_labels(results: pd.DataFrame) -> pd.DataFrame:
    """Results with a column ``who``, the methods as readers know them."""
    return results.assign(who=[label(*row) for row in results[list(METHOD_COLUMNS)].to_numpy()])


def beside_best(
    results: pd.DataFrame, ours: Sequence[str], others: Sequence[str], by: Sequence[str]
) -> pd.DataFrame:
    """The best of some methods and the best of others, for each dataset.

    Parameters
    ----------
    results : DataFrame
        One row per cell.
    ours, others : sequence of str
        Names of methods; of each side, the one with the highest mean test score is taken.
    by : sequence of str
        Columns that make a dataset.

    Returns
    -------
    frame : DataFrame
        The columns of ``by``, ``one`` and ``other`` (labels), ``one_mean`` and ``other_mean``,
        ``difference`` (one minus other), its standard error ``error``, and ``n``, the number of
        resamplings, those that all methods have finished. Datasets that lack a side are left out.
    """
    named = with_labels(results[results["method"].isin([*ours, *others])])
    is_ours = set(named.loc[named["method"].isin(ours), "who"])
    rows: list[tuple[Any, ...]] = []
    for dataset, part in named.groupby(list(by), sort=False):
        scores = part.pivot(index="replicate", columns="who", values="score").dropna()
        means = scores.mean()
        mine, theirs = means[means.index.isin(is_ours)], means[~means.index.isin(is_ours)]
        if scores.empty or mine.empty or theirs.empty:
            continue
        one, other = str(mine.idxmax()), str(theirs.idxmax())
        gaps = scores[one] - scores[other]
        numbers = (mine.max(), other, theirs.max(), gaps.mean(), gaps.sem(), len(gaps))
        rows.append((*dataset, one, *numbers))
    names = ["one", "one_mean", "other", "other_mean", "difference", "error", "n"]
    return pd.DataFrame(rows, columns=[*by, *names])


def sides(ours: str, others: str) -> dict[str, Column]:
    """What readers see of :func:`beside_best`, under these headings."""
    return {
        ours: lambda row: f"{row.one}: {plain(row.one_mean, 3)}",
        others: lambda row: f"{row.other}: {plain(row.other_mean, 3)}",
        "difference": lambda row: " ± ".join(
            filter(None, [plain(row.difference, 3, "+"), plain(row.error, 3)])
        ),
        "n": lambda row: str(row.n),
    }


def wins_table(results: pd.DataFrame) -> Table:
    """PRS with a portfolio against the best of forests and boosting, dataset by dataset."""
    frame = beside_best(results, ["auto"], TREE_ENSEMBLES, DATASET)
    there = [name for name in TREE_ENSEMBLES if name in set(results["method"])]
    counts = [
        f"{int((rows['difference'] > 0).sum())} of {len(rows)} ({benchmark})"
        for benchmark, rows in frame.groupby("benchmark", sort=False)
    ]
    n_wins = int((frame["difference"] > 0).sum())
    note = (
        f"{METHOD_LABELS['auto']} is above the best of "
        f"{', '.join(METHOD_LABELS[name] for name in there)} on {n_wins} of {len(frame)} datasets: "
        f"{', '.join(counts)}. Means over the n resamplings that these methods have finished; the "
        "best is the one with the highest test score on the dataset, and the difference has its "
        "standard error, resamplings taken as independent."
    )
    columns = {**condition_columns(DATASET), **sides("PRS auto", "best of the others")}
    return Table("wins", "PRS auto and the best of forests and boosting", frame, columns, note)


def seconds_by_method(results: pd.DataFrame) -> Table:
    """Mean time of each method."""
    title = "Seconds for training (tuning included) and testing, on one thread"
    by = ["benchmark", *METHOD_COLUMNS]
    return wide_table("time-methods", title, results, by, ["seconds"])

"""The arithmetic of the tables: means, comparison with the paper, normalised scores.

Deviations are those of the values themselves (divided by n), as in the paper; a mean of n values
with deviation sd thus has the standard error sd / sqrt(n - 1).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from randsub_experiments import published
from randsub_experiments.result_table import rows_of

HIGHER_IS_BETTER: Final = {"score": True, "aupr": True, "normalised score": True}
# Published means have two digits.
ROUNDING: Final = 0.005
# With fewer values there is no verdict: their deviation is too uncertain.
FEWEST: Final = 5


def summarise(results: pd.DataFrame, by: Sequence[str], measures: Sequence[str]) -> pd.DataFrame:
    """Mean, deviation and number of each measure over the rows of each group.

    Parameters
    ----------
    results : DataFrame
        One row per cell.
    by : sequence of str
        Columns that make a group.
    measures : sequence of str
        Columns to summarise; groups in which one has no values are left out for that one.

    Returns
    -------
    summary : DataFrame
        The columns of ``by``, ``measure``, ``mean``, ``sd`` and ``n``, in the order of the groups'
        first rows and of the measures.
    """
    parts = []
    for measure in measures:
        # Integer columns with gaps have another missing value than floats.
        values = results.assign(**{measure: results[measure].astype(float)})
        groups = values.groupby(list(by), sort=False, observed=True)[measure]
        n = groups.count()
        # One value has no spread to speak of.
        columns = {"mean": groups.mean(), "sd": groups.std(ddof=0).where(n > 1), "n": n}
        part = pd.DataFrame(columns).reset_index()
        part.insert(len(by), "measure", measure)
        parts.append(part.assign(_group=range(len(part))))
    summary = pd.concat(parts, ignore_index=True)
    summary = summary.sort_values("_group", kind="stable").drop(columns="_group")
    return summary[summary["n"] > 0].reset_index(drop=True)


def beside_paper(summary: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Add the paper's numbers and the difference of ours from them.

    Parameters
    ----------
    summary : DataFrame
        As :func:`summarise` gives it, by ``problem``, ``method``, ``base`` and ``setting`` at
        least.
    experiment : str
        Experiment whose published numbers are added.

    Returns
    -------
    compared : DataFrame
        With ``paper_mean``, ``paper_sd``, ``paper_n``, ``difference`` (ours minus theirs),
        ``standard_errors`` (the difference in units of its standard error) and ``verdict``; empty
        where the paper, or our copy of it, has no number, and the verdict also where there are
        fewer than ``FEWEST`` values of ours.
    """
    paper = published.numbers(experiment).rename(
        columns={"mean": "paper_mean", "sd": "paper_sd", "n": "paper_n"}
    )
    paper = paper.drop(columns=["table", "experiment"])
    keys = ["problem", "method", "base", "measure"]
    # A number without a setting is for the method in general, beside each of our settings.
    as_such = paper[paper["setting"] == ""].drop(columns="setting")
    compared = summary.merge(as_such, how="left", on=keys, validate="many_to_one")
    under_it = paper[paper["setting"] != ""]
    exact = summary.merge(under_it, how="left", on=[*keys, "setting"], validate="many_to_one")
    found = ["paper_mean", "paper_sd", "paper_n"]
    compared[found] = exact[found].astype(float).combine_first(compared[found].astype(float))
    compared["difference"] = compared["mean"] - compared["paper_mean"]
    compared["standard_errors"] = [
        in_standard_errors(row.mean, row.sd, row.n, row.paper_mean, row.paper_sd, row.paper_n)
        for row in rows_of(compared)
    ]
    compared["verdict"] = [
        verdict(row.measure, row.difference, row.standard_errors) if row.n >= FEWEST else ""
        for row in rows_of(compared)
    ]
    return compared


def in_standard_errors(
    mean: float, sd: float, n: float, other_mean: float, other_sd: float, other_n: float
) -> float:
    """Difference of two means in units of its standard error.

    NaN where one side has fewer than two values or is unknown; 0 between equal means without
    spread, and infinite between different ones.
    """
    if not (n > 1 and other_n > 1 and np.isfinite([mean, sd, other_mean, other_sd]).all()):
        return np.nan
    error = np.sqrt(sd**2 / (n - 1) + other_sd**2 / (other_n - 1))
    difference = mean - other_mean
    if error == 0.0:
        return 0.0 if difference == 0.0 else float(np.copysign(np.inf, difference))
    return float(difference / error)


def verdict(measure: str, difference: float, standard_errors: float) -> str:
    """Whether we agree with the paper: "agrees", "better", "worse" or "differs"; or nothing.

    Within two standard errors, or within the rounding of what was published, is agreement. Beyond
    that, higher scores are better; of sizes neither is better.
    """
    if np.isnan(standard_errors):
        return ""
    if abs(standard_errors) <= 2.0 or abs(difference) <= ROUNDING:
        return "agrees"
    if not HIGHER_IS_BETTER.get(measure, False):
        return "differs"
    return "better" if difference > 0 else "worse"


def normalise(results: pd.DataFrame, within: Sequence[str], among: Sequence[str]) -> pd.DataFrame:
    """Scores between 0, the worst method, and 1, the best, and ranks, for each resampling.

    Parameters
    ----------
    results : DataFrame
        One row per cell, with ``score``.
    within : sequence of str
        Columns that make one comparison: dataset and resampling.
    among : sequence of str
        Columns that make one method. Comparisons that lack one of the methods are left out: their
        worst and best would not be those of the others.

    Returns
    -------
    normalised : DataFrame
        The rows of complete comparisons, with ``normalised score`` and ``rank``. Where all methods
        are equal, all are the best: 1. The best has the rank 1, and equal ones their mean rank.
    """
    n_methods = len(results[list(among)].drop_duplicates())
    sizes = results.groupby(list(within))["score"].transform("size")
    complete = results[sizes == n_methods].copy()
    groups = complete.groupby(list(within))["score"]
    worst, best = groups.transform("min"), groups.transform("max")
    width = best - worst
    scaled = (complete["score"] - worst) / width.where(width > 0.0)
    ranks = groups.rank(ascending=False)
    return complete.assign(**{"normalised score": scaled.fillna(1.0), "rank": ranks})


def paired(
    results: pd.DataFrame, by: Sequence[str], measure: str, one: str, other: str
) -> pd.DataFrame:
    """Difference between two settings of PRS on the same datasets.

    Parameters
    ----------
    results : DataFrame
        One row per cell.
    by : sequence of str
        Columns that make a group.
    measure : str
        The column compared.
    one, other : str
        The settings; the difference is ``one`` minus ``other``.

    Returns
    -------
    differences : DataFrame
        The columns of ``by``, ``measure``, ``mean``, ``error`` (standard error of the mean) and
        ``n``.
    """
    prs = results[results["method"] == "prs"]
    wide = prs.pivot_table(index=[*by, "replicate"], columns="setting", values=measure, sort=False)
    if not {one, other} <= set(wide.columns):
        return pd.DataFrame(columns=[*by, "measure", "mean", "error", "n"])
    gaps = (wide[one] - wide[other]).dropna().groupby(level=list(by), sort=False)
    frame = gaps.agg(["mean", "sem", "count"]).reset_index()
    frame.columns = pd.Index([*by, "mean", "error", "n"])
    frame.insert(len(by), "measure", measure)
    return frame

"""Scores, times and AUPR: box plots, curves, error bars and bars."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, StrMethodFormatter

from randsub_experiments.cells import BASE_LABELS, label
from randsub_experiments.figures.style import BASE_COLORS, COLORS, legend, new_figure, tidy
from randsub_experiments.result_table import rows_of

_MARKERS: Final = ("o", "s", "^", "D")


def boxes(results: pd.DataFrame, methods: Sequence[str], measure: str, name: str) -> Figure:
    """Box plots of methods, a panel for each problem (across) and base model (down)."""
    shown = results[results["method"].isin(methods)]
    problems, bases = list(shown["problem"].unique()), list(shown["base"].unique())
    ordered = sorted(
        rows_of(shown[["method", "setting"]].drop_duplicates()),
        key=lambda who: (methods.index(who.method), who.setting != "paper"),
    )
    figure = new_figure(1.2 + 2.6 * len(problems), 0.8 + 2.1 * len(bases))
    axes = figure.subplots(len(bases), len(problems), squeeze=False, sharey="col", sharex=True)
    for row, base in zip(axes, bases, strict=True):
        for ax, problem in zip(row, problems, strict=True):
            part = shown[(shown["base"] == base) & (shown["problem"] == problem)]
            for place, who in enumerate(ordered):
                rows = (part["method"] == who.method) & (part["setting"] == who.setting)
                _box(ax, place, part.loc[rows, measure].dropna(), COLORS[who.method])
            ticks = [label(who.method, "", who.setting).replace(", ", "\n") for who in ordered]
            ax.set_xticks(range(len(ordered)), ticks)
            ax.tick_params(axis="x", labelsize=8)
            tidy(ax)
        row[0].set_ylabel(f"{BASE_LABELS.get(base, base)}\n{name}")
    for ax, problem in zip(axes[0], problems, strict=True):
        ax.set_title(problem.capitalize(), fontsize=11)
    return figure


def _box(ax: Any, place: int, values: Any, color: str) -> None:
    if not len(values):
        return
    ax.boxplot(
        [values],
        positions=[place],
        widths=0.6,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": color, "alpha": 0.55, "edgecolor": color},
        medianprops={"color": "black"},
        whiskerprops={"color": color},
        capprops={"color": color},
        flierprops={"marker": ".", "markersize": 4, "markeredgecolor": color},
    )


def curves(
    results: pd.DataFrame,
    measure: str,
    across: str,
    names: Mapping[str, str],
    *,
    by_base: bool = False,
    logarithmic: bool = False,
) -> Figure:
    """Mean and deviation of a measure along a condition, panels for each problem (across).

    Parameters
    ----------
    results : DataFrame
        One row per cell.
    measure, across : str
        Columns for the two axes.
    names : mapping of str to str
        What the two columns are called on the axes.
    by_base : bool, default=False
        Colour by base model; otherwise by method, with a row of panels for each base model.
    logarithmic : bool, default=False
        Whether the axis of the measure is, too.
    """
    shown = results.dropna(subset=[measure])
    problems = list(shown["problem"].unique())
    bases = [base for base in shown["base"].unique() if base]
    # Methods without a base model stand in every row, for comparison.
    rows = [shown] if by_base else [shown[shown["base"].isin([base, ""])] for base in bases]
    rows = rows or [shown]
    figure = new_figure(1.0 + 2.9 * len(problems), 1.0 + 2.4 * len(rows))
    axes = figure.subplots(len(rows), len(problems), squeeze=False, sharex=True)
    colors = BASE_COLORS if by_base else COLORS
    for line, part in zip(axes, rows, strict=True):
        for ax, problem in zip(line, problems, strict=True):
            _draw_lines(ax, part[part["problem"] == problem], measure, across, colors)
            _set_ticks(ax, sorted(shown[across].unique()), logarithmic=logarithmic)
            tidy(ax)
        line[0].set_ylabel(names[measure])
    if not by_base:
        for line, base in zip(axes, bases, strict=False):
            line[0].set_ylabel(f"{BASE_LABELS[base]}\n{names[measure]}")
    for ax, problem in zip(axes[0], problems, strict=True):
        ax.set_title(problem.capitalize(), fontsize=11)
    for ax in axes[-1]:
        ax.set_xlabel(names[across])
    legend(figure, axes[0][0])
    return figure


def _draw_lines(
    ax: Any, part: pd.DataFrame, measure: str, across: str, colors: Mapping[str, str]
) -> None:
    """A line for each method in the frame, with its deviation around it."""
    by_base = colors is BASE_COLORS
    for who in rows_of(part[["method", "base", "setting"]].drop_duplicates()):
        rows = part["method"] == who.method
        for column in ("base", "setting"):
            rows &= part[column] == getattr(who, column)
        groups = part[rows].groupby(across)[measure]
        mean, sd = groups.mean(), groups.std(ddof=0)
        color = colors[who.base if by_base else who.method]
        dashes = "--" if who.setting == "defaults" else "-"
        text = label(who.method, who.base if by_base else "", who.setting)
        ax.plot(mean.index, mean, dashes, color=color, marker="o", markersize=4, label=text)
        ax.fill_between(mean.index, mean - sd, mean + sd, color=color, alpha=0.12, linewidth=0)


def _set_ticks(ax: Any, ticks: Sequence[int], *, logarithmic: bool) -> None:
    # Sizes are chosen by factors: close together at one end, they would write over each other.
    if min(ticks) > 0:
        ax.set_xscale("log")
    if logarithmic:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.minorticks_off()
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.tick_params(labelsize=8)


def variants(
    results: pd.DataFrame, settings: Mapping[str, str], measures: Mapping[str, str]
) -> Figure:
    """Means and deviations under settings, a panel for each problem (across) and measure (down).

    Parameters
    ----------
    results : DataFrame
        One row per cell.
    settings : mapping of str to str
        Settings in their order, and their names on the axis.
    measures : mapping of str to str
        Columns, and their names.
    """
    shown = results[results["setting"].isin(settings)]
    problems, bases = list(shown["problem"].unique()), list(shown["base"].unique())
    figure = new_figure(
        1.2 + max(2.4, 0.55 * len(settings)) * len(problems), 0.9 + 2.0 * len(measures)
    )
    axes = figure.subplots(len(measures), len(problems), squeeze=False, sharex=True)
    places = np.arange(len(settings))
    for row, (measure, name) in zip(axes, measures.items(), strict=True):
        for ax, problem in zip(row, problems, strict=True):
            for number, base in enumerate(bases):
                rows = (shown["problem"] == problem) & (shown["base"] == base)
                groups = shown[rows].groupby("setting")[measure]
                mean, sd = (
                    part.reindex(list(settings)) for part in (groups.mean(), groups.std(ddof=0))
                )
                offset = 0.16 * (number - (len(bases) - 1) / 2)
                ax.errorbar(
                    places + offset,
                    mean,
                    sd,
                    fmt=_MARKERS[number % 4],
                    markersize=5,
                    color=BASE_COLORS.get(base, "black"),
                    elinewidth=1,
                    label=BASE_LABELS.get(base, base),
                )
            ax.set_xticks(places, list(settings.values()), rotation=30 * (len(settings) > 2))
            ax.tick_params(labelsize=8)
            ax.margins(x=0.15)
            if measure == "models":
                ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            tidy(ax)
        row[0].set_ylabel(name)
    for ax, problem in zip(axes[0], problems, strict=True):
        ax.set_title(problem.capitalize(), fontsize=11)
    legend(figure, axes[0][0])
    return figure


def normalised_bars(frame: pd.DataFrame) -> Figure:
    """Normalised scores of a table, a panel for each benchmark, with the paper's beside them."""
    benchmarks = list(frame["problem"].unique())
    tallest = max(int((frame["problem"] == one).sum()) for one in benchmarks)
    figure = new_figure(1.5 + 4.2 * len(benchmarks), 1.2 + 0.27 * tallest)
    axes = figure.subplots(1, len(benchmarks), squeeze=False)[0]
    for ax, benchmark in zip(axes, benchmarks, strict=True):
        rows = frame[frame["problem"] == benchmark].iloc[::-1]
        places = np.arange(len(rows))
        colors = [COLORS[method] for method in rows["method"]]
        ax.barh(places, rows["mean"], color=colors, alpha=0.6, height=0.7)
        ax.plot(
            rows["paper_mean"], places, "kD", markersize=4, label="the paper, on its own datasets"
        )
        names = [label(row.method, row.base, row.setting) for row in rows_of(rows)]
        ax.set_yticks(places, names)
        ax.set(xlim=(0, 1.05), title=benchmark, xlabel="normalised score")
        ax.tick_params(labelsize=8)
        tidy(ax)
    legend(figure, axes[0])
    return figure

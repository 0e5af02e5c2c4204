"""Figures of inferred networks."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from randsub_experiments.cells import BASE_LABELS, label
from randsub_experiments.figures.style import BASE_COLORS, COLORS, legend, new_figure, tidy
from randsub_experiments.result_table import rows_of


def aupr_along_path(results: pd.DataFrame) -> Figure:
    """AUPR against the coefficient, a panel for each network, with GENIE3 for comparison.

    Parameters
    ----------
    results : DataFrame
        One row for each coefficient ``lam`` of each path, and one for each cell of other methods.
    """
    problems = list(results["problem"].unique())
    figure = new_figure(1.0 + 3.4 * len(problems), 3.6)
    axes = figure.subplots(1, len(problems), squeeze=False, sharey=True)[0]
    for ax, problem in zip(axes, problems, strict=True):
        part = results[results["problem"] == problem]
        path = part[part["lam"].notna()]
        for who in rows_of(path[["base", "setting"]].drop_duplicates()):
            rows = (path["base"] == who.base) & (path["setting"] == who.setting)
            _line(ax, path[rows], who.base, who.setting)
        for who in rows_of(part.loc[part["method"] == "genie3", ["setting"]].drop_duplicates()):
            rows = (part["method"] == "genie3") & (part["setting"] == who.setting)
            dashes = ":" if who.setting.startswith("training") else "-."
            mean = part.loc[rows, "aupr"].mean()
            ax.axhline(mean, color="0.4", linestyle=dashes, label=label("genie3", "", who.setting))
        ax.set(title=problem, xlabel="coefficient of the penalty")
        tidy(ax)
    axes[0].set_ylabel("AUPR of the links")
    # Two panels have room for three names.
    legend(figure, axes[0], most=max(1, 3 * len(problems) // 2))
    return figure


def _line(ax: Any, path: pd.DataFrame, base: str, setting: str) -> None:
    mean = path.groupby("lam")["aupr"].mean()
    dashes = "-" if setting == "defaults" else "--"
    color = BASE_COLORS.get(base, COLORS["prs"])
    text = label("prs", base, setting)
    ax.plot(mean.index, mean, dashes, color=color, marker="o", markersize=4, label=text)


def sizes_along_path(results: pd.DataFrame) -> Figure:
    """Expected regulators of the targets under each coefficient, as box plots.

    A panel for each network (across) and base model (down), as the paper's figure; of several
    settings or replicates all targets are in one box.
    """
    path = results[results["lam"].notna()]
    problems, bases = list(path["problem"].unique()), list(path["base"].unique())
    figure = new_figure(1.0 + 3.4 * len(problems), 0.8 + 2.0 * len(bases))
    axes = figure.subplots(len(bases), len(problems), squeeze=False, sharex=True, sharey="row")
    for row, base in zip(axes, bases, strict=True):
        for ax, problem in zip(row, problems, strict=True):
            part = path[(path["base"] == base) & (path["problem"] == problem)]
            groups = part.groupby("lam")["sizes"].agg(lambda some: [x for one in some for x in one])
            color = BASE_COLORS.get(base, COLORS["prs"])
            if len(groups):
                ax.boxplot(
                    groups.tolist(),
                    widths=0.6,
                    manage_ticks=False,
                    medianprops={"color": color},
                    flierprops={"marker": ".", "markersize": 3, "markeredgecolor": color},
                )
                ax.set_xticks(range(1, len(groups) + 1), [f"{lam:g}" for lam in groups.index])
            ax.tick_params(axis="x", labelsize=7, rotation=45)
            tidy(ax)
        row[0].set_ylabel(f"{BASE_LABELS.get(base, base)}\nregulators of a target")
    for ax, problem in zip(axes[0], problems, strict=True):
        ax.set_title(problem, fontsize=11)
    for ax in axes[-1]:
        ax.set_xlabel("coefficient of the penalty")
    return figure

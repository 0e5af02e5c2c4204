"""Figures of alpha on images."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from randsub._typing import FloatArray
from randsub.inspection import AlphaMapDisplay
from randsub_experiments.cells import label
from randsub_experiments.figures.style import new_figure
from randsub_experiments.result_table import rows_of


def alpha_maps(rows: pd.DataFrame, shape: tuple[int, int]) -> Figure:
    """Alpha under every pair of coefficients: sparsity down, smoothness across.

    Parameters
    ----------
    rows : DataFrame
        One row for each pair, with ``sparsity``, ``smoothness``, ``score`` and ``alpha``.
    shape : tuple of int
        (height, width) of the images.
    """
    ordered = rows.sort_values(["sparsity", "smoothness"], kind="stable")
    names = [
        f"sparsity {row.sparsity:g}, smoothness {row.smoothness:g}\naccuracy {row.score:.3f}"
        for row in rows_of(ordered)
    ]
    return _drawn(ordered, shape, names, ordered["smoothness"].nunique())


def chosen_maps(rows: pd.DataFrame, shape: tuple[int, int]) -> Figure:
    """Alpha without a penalty (above) and with the chosen one (below), base models across."""
    prs = rows[rows["method"] == "prs"]
    names = [
        f"{label('prs', row.base)}\n{row.setting}\naccuracy {row.score:.3f}" for row in rows_of(prs)
    ]
    n_columns = max(1, len(prs[["base", "settings"]].drop_duplicates()))
    return _drawn(prs, shape, names, n_columns)


def _drawn(rows: pd.DataFrame, shape: tuple[int, int], names: list[str], width: int) -> Figure:
    alphas: list[FloatArray] = [np.reshape(one, shape) for one in rows["alpha"]]
    height = -(-len(alphas) // width)
    figure = new_figure(2.4 * width + 1.0, 2.8 * height)
    axes = figure.subplots(height, width, squeeze=False).ravel()
    for spare in axes[len(alphas) :]:
        spare.remove()
    display = AlphaMapDisplay(alphas, names).plot(list(axes[: len(alphas)]))
    for ax, name in zip(display.axes_, names, strict=True):
        # The display shortens names to one line; these have several, which fit.
        ax.set_title(name, fontsize=8)
    return figure

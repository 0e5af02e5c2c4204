"""Where pictures are drawn, and in which colours: what all displays share."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

# Colours that people with colour-blindness can tell apart (Okabe and Ito), without those that are
# lost on white or on black paper.
COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Seen on white and on black.
NEUTRAL: Final = "0.5"
# Share of an Axes that is left free between two panels inside it.
_GAP: Final = 0.06


class Panels(NamedTuple):
    """Where to draw.

    Parameters
    ----------
    ax : matplotlib Axes
        What the user gave; otherwise the first panel.
    axes : ndarray of matplotlib Axes of shape (n_panels,)
    are_new : bool
        Whether the panels were made here, and so may be arranged.
    """

    ax: Any
    axes: Any
    are_new: bool

    @property
    def figure(self) -> Any:
        """The figure that they are in."""
        return self.axes[0].figure


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that names the extra."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib: install it with pip install 'randsub[plot]'."
        ) from error
    return plt


def make_panels(
    ax: Any,
    n_panels: int,
    *,
    size: tuple[float, float],
    n_columns: int = 1,
    heights: Sequence[float] | None = None,
    share: str = "",
    what: str = "panels",
) -> Panels:
    """Axes for each panel: a new figure, those that are given, or parts of a given one.

    Parameters
    ----------
    ax : Axes, sequence of Axes or None
    n_panels : int
    size : (width, height)
        Of a new figure, in inches.
    n_columns : int, default=1
        Panels side by side.
    heights : sequence of float, default=None
        Of the rows, relative to each other; equal by default.
    share : {"", "x", "y"}, default=""
        Which axis new panels have in common.
    what : str, default="panels"
        What the panels show, for messages.
    """
    plt = pyplot()
    if ax is not None and (n_panels == 1 or not isinstance(ax, plt.Axes)):
        axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(axes) != n_panels:
            raise ValueError(
                f"There are {n_panels} {what}, but {len(axes)} axes. Give one Axes for each, or a "
                "single one, which is divided."
            )
        return Panels(axes[0] if isinstance(ax, Sequence | np.ndarray) else ax, axes, False)
    n_columns = max(1, min(n_columns, n_panels))
    n_rows = -(-n_panels // n_columns)
    relative = np.ones(n_rows) if heights is None else np.asarray(heights, dtype=float)
    if ax is None:
        _, grid = plt.subplots(
            n_rows,
            n_columns,
            squeeze=False,
            figsize=size,
            layout="constrained",
            height_ratios=relative,
            sharex=share == "x",
            sharey=share == "y",
        )
        for spare in grid.ravel()[n_panels:]:
            spare.remove()
        axes = grid.ravel()[:n_panels]
        return Panels(axes[0], axes, True)
    return Panels(ax, _divided(ax, n_panels, n_columns, relative, share), True)


def _divided(ax: Any, n_panels: int, n_columns: int, heights: Any, share: str) -> Any:
    """Panels inside an Axes, of which nothing else is to be seen any more."""
    ax.set_axis_off()
    n_rows = len(heights)
    width = (1.0 - _GAP * (n_columns - 1)) / n_columns
    heights = heights / heights.sum() * (1.0 - _GAP * (n_rows - 1))
    axes: list[Any] = []
    for place in range(n_panels):
        row, column = divmod(place, n_columns)
        bottom = 1.0 - heights[: row + 1].sum() - _GAP * row
        shared = {f"share{share}": axes[0]} if share and axes else {}
        bounds = [column * (width + _GAP), bottom, width, heights[row]]
        panel = ax.inset_axes(bounds, **shared)
        # As in new figures, only the outer panels say what the shared axis means.
        if share == "x" and place < n_panels - n_columns:
            panel.tick_params(labelbottom=False)
        if share == "y" and column:
            panel.tick_params(labelleft=False)
        axes.append(panel)
    return np.array(axes, dtype=object)


def styled(
    artist: Any, defaults: Mapping[str, Any], given: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Our style of an artist with the user's on top of it, whichever alias the user has chosen.

    Parameters
    ----------
    artist : class of matplotlib
        What is drawn; it knows that ``lw`` is ``linewidth``.
    defaults : mapping of str to object
    given : mapping of str to object, or None
    """
    from matplotlib.cbook import normalize_kwargs

    return {
        **normalize_kwargs(dict(defaults), artist),
        **normalize_kwargs(dict(given or {}), artist),
    }


def show_span(ax: Any, first: float, last: float) -> None:
    """Show the epochs from the first to the last, and both in full.

    Parameters
    ----------
    ax : Axes
    first, last : float
    """
    ax.set_xlim(first, last + max(1.0, 0.01 * (last - first)))


def explain(ax: Any, entries: Sequence[tuple[Any, str]], n_columns: int = 3) -> None:
    """A legend above the picture, where it hides nothing.

    Parameters
    ----------
    ax : Axes
    entries : sequence of (artist, str)
        What each artist means; no legend without any.
    n_columns : int, default=3
    """
    if not entries:
        return
    handles, labels = zip(*entries, strict=True)
    ax.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2,
        ncols=n_columns,
        frameon=False,
        fontsize="small",
    )


def tidy(ax: Any, grid: str = "") -> None:
    """Take away what does not help to read the picture.

    Parameters
    ----------
    ax : Axes
    grid : {"", "x", "y"}, default=""
        Along which axis values are read.
    """
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, color=NEUTRAL, alpha=0.2, linewidth=0.8)
    ax.set_axisbelow(True)

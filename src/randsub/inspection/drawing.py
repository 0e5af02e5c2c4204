"""Axes, colours and legends that all displays share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import normalize_kwargs
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from randsub.inspection.feature_names import shortened

# Okabe and Ito's colours, which people with colour blindness can tell apart, without those that
# are invisible on a white or a black background.
COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Visible on white and on black.
NEUTRAL: Final = "0.5"
DASHES: Final = ("-", "--", ":", "-.")
# The user's options for an artist.
Style = Mapping[str, Any] | None
# Width of a legend entry, in units of the font size.
_ENTRY: Final = 10.0


class Display:
    """Base class of the displays: the axes that they are drawn on.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
        The given one, or the first panel.
    axes_ : ndarray of matplotlib Axes of shape (n_panels,)
    """

    def _make_panels(
        self,
        ax: Any,
        n_panels: int = 1,
        *,
        size: tuple[float, float],
        n_columns: int = 1,
        heights: Sequence[float] | None = None,
        share: str = "",
        grid: str | None = None,
    ) -> None:
        """Set the axes: a new figure, those given by the user, or parts of a given Axes.

        Parameters
        ----------
        ax : Axes, sequence of Axes or None
        n_panels : int, default=1
        size : (width, height)
            Size of a new figure in inches.
        n_columns : int, default=1
            Number of panels side by side.
        heights : sequence of float, default=None
            Relative heights of the rows; equal by default.
        share : {"", "x", "y"}, default=""
            Axis that new panels share.
        grid : {"", "x", "y"} or None, default=None
            Axis along which values are read, for grid lines. None leaves all spines visible.
        """
        if ax is None or (n_panels > 1 and isinstance(ax, Axes)):
            n_columns = max(1, min(n_columns, n_panels))
            panels = _area(ax, size).subgridspec(
                -(-n_panels // n_columns), n_columns, height_ratios=heights
            )
            shared = {"sharex": share == "x", "sharey": share == "y"}
            axes, spare = np.split(panels.subplots(squeeze=False, **shared).ravel(), [n_panels])
            for panel in spare:
                panel.remove()
        else:
            axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
            if len(axes) != n_panels:
                raise ValueError(
                    f"There are {n_panels} panels to draw, but {len(axes)} axes. Give one Axes "
                    "for each, or a single one, which is divided."
                )
        self.axes_: Any = axes
        self.ax_: Any = ax if isinstance(ax, Axes) else axes[0]
        self.figure_: Any = axes[0].figure
        for panel in axes if grid is not None else ():
            panel.spines[["top", "right"]].set_visible(False)
            panel.set_axisbelow(True)
            if grid:
                panel.grid(axis=grid, color=NEUTRAL, alpha=0.2, linewidth=0.8)

    @staticmethod
    def _mark_epochs(
        ax: Any, epochs: Iterable[float], label: str, linestyle: str, given: Style
    ) -> list[Any]:
        """Vertical lines at some epochs."""
        style = {"color": NEUTRAL, "linewidth": 1.2, "linestyle": linestyle, "label": label}
        return [ax.axvline(epoch, **styled(Line2D, given, **style)) for epoch in epochs]

    @staticmethod
    def _show_span(ax: Any, first: float, last: float) -> None:
        """Limit the x axis to the epochs from the first to the last, with ticks at integers."""
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        ax.set_xlim(first, last + (0.01 * (last - first) or 1.0))

    @staticmethod
    def _add_legend(ax: Any, max_columns: int = 3) -> None:
        """A legend above the axes, where it covers nothing, with one entry per label.

        Parameters
        ----------
        ax : Axes
        max_columns : int, default=3
            Narrow axes get fewer columns.
        """
        artists, labels = ax.get_legend_handles_labels()
        entries = dict(zip(labels, artists, strict=True))
        if entries:
            width = ax.get_window_extent().width / ax.figure.dpi * 72.0 / plt.rcParams["font.size"]
            ax.legend(
                entries.values(),
                entries.keys(),
                loc="lower right",
                bbox_to_anchor=(1.0, 1.0),
                borderaxespad=0.2,
                ncols=max(1, min(max_columns, int(width / _ENTRY))),
                frameon=False,
                fontsize="small",
            )

    @staticmethod
    def _name_rows(
        ax: Any, labels: Sequence[str], rest: str | None, rest_height: float, **text_kw: Any
    ) -> None:
        """Label rows from top to bottom, with one taller row for all remaining features.

        Parameters
        ----------
        ax : Axes
        labels : sequence of str
            One label per row.
        rest : str or None
            Label of the taller row below them; None without one.
        rest_height : float
            Height of that row, in rows.
        **text_kw : object
            Style of the labels.
        """
        n_rows = len(labels)
        places = [*map(float, range(n_rows)), n_rows + (rest_height - 1.0) / 2.0]
        labels = [*labels, *([] if rest is None else [rest])]
        ax.set_yticks(places[: len(labels)], labels, parse_math=False, **text_kw)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(n_rows + (0.0 if rest is None else rest_height) - 0.4, -0.6)

    @staticmethod
    def _set_title(ax: Any, name: str, **options: Any) -> None:
        """A title of one line, in which no character has a special meaning."""
        ax.set_title(shortened(str(name)), parse_math=False, **options)

    @staticmethod
    def _write(ax: Any, text: str, place: Any, offset: Any, given: Style, **style: Any) -> Any:
        """A text at some distance, in points, from a place."""
        style = styled(Text, given, **{"fontsize": "small", **style})
        return ax.annotate(
            text, place, xytext=offset, textcoords="offset points", parse_math=False, **style
        )


def _area(ax: Any, size: tuple[float, float]) -> Any:
    """The area of a new figure, or that of a given Axes, which is hidden."""
    if ax is None:
        return plt.figure(figsize=size, layout="constrained").add_gridspec(1, 1)[0]
    ax.set_axis_off()
    box = ax.get_position()
    return (
        ax.get_subplotspec()
        or ax.figure.add_gridspec(1, 1, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)[0]
    )


def line_style(place: int) -> dict[str, Any]:
    """Colour and dashes of one of many lines, as different from the others as possible."""
    n_colors, n_dashes = len(COLORS), len(DASHES)
    return {"color": COLORS[place % n_colors], "linestyle": DASHES[place // n_colors % n_dashes]}


def styled(artist: Any, given: Style, **defaults: Any) -> dict[str, Any]:
    """Default style of an artist, updated with the user's options under any of their aliases.

    Parameters
    ----------
    artist : class of matplotlib
        The kind of artist, which knows that ``lw`` is ``linewidth``.
    given : mapping of str to object, or None
        The user's options.
    **defaults : object
    """
    return {**normalize_kwargs(defaults, artist), **normalize_kwargs(dict(given or {}), artist)}

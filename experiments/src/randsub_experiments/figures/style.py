"""What all figures share: colours, an empty figure, its frame, its legend, its file."""

import io
from typing import Any, Final

from matplotlib.figure import Figure

# Colours that people with colour-blindness can tell apart (Okabe and Ito); relatives are darker.
COLORS: Final = {
    "single": "#999999",
    "tuned": "#555555",
    "rs": "#56B4E9",
    "rase": "#CC79A7",
    "prs": "#D55E00",
    "auto": "#7F2A00",
    "rf": "#009E73",
    "gbdt": "#0072B2",
    "hgb": "#003B5C",
    "stack": "#F0E442",
    "l1": "#E69F00",
}
BASE_COLORS: Final = {"tree": "#009E73", "knn": "#D55E00", "svm": "#0072B2"}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, without a window and without global state."""
    return Figure(figsize=(width, height), layout="constrained")


def png(figure: Figure) -> bytes:
    """The figure as a png file, the same bytes for the same figure."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120, metadata={"Software": None})
    return buffer.getvalue()


def tidy(ax: Any) -> None:
    """No box, and a faint grid behind."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def legend(figure: Figure, ax: Any, most: int = 5) -> None:
    """One for the whole figure, of what one of its panels shows."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(most, len(labels)), frameon=False
    )

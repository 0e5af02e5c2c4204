"""Charts: what matplotlib draws, as inline SVG.

Texts stay texts and colours become variables of the style sheet, so that a chart follows the theme.
The script of the page only adds the values under the pointer or under the arrow keys.
"""

import re
from collections.abc import Callable
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.style import context

from randsub.estimators.assembly import has_repeats
from randsub.estimators.base import SubspaceEnsemble
from randsub.inspection import ConvergenceDisplay
from randsub.inspection.convergence_display import PANELS
from randsub.inspection.drawing import COLORS
from randsub.report.markup import Markup, fill, tag
from randsub.report.text_format import counted, number, rounded

# Width and height in inches: on a phone, letters have the size of small print.
SIZE = (3.4, 2.1)
# Maximum number of points per curve whose values travel with the page.
MAX_POINTS = 600
# Maximum number of bars.
MAX_BARS = 24
INK = "#404040"
# Colours of the drawings, and the variables of the style sheet that replace them.
THEME = ("first", "second", "third")
VARIABLES = {INK: "muted", "#808080": "muted"} | dict(zip(COLORS, THEME, strict=False))
_INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
_STYLE = {"svg.fonttype": "none", "font.size": 9.0, **dict.fromkeys(_INKED, INK)}


class Chart(NamedTuple):
    """A drawing and the values it shows.

    Parameters
    ----------
    markup : Markup
        The chart as an element of the page.
    summary : str
        Alternative text: what the drawing shows.
    data : dict
        Values for the script of the page.
    """

    markup: Markup
    summary: str
    data: dict[str, Any]


def training_charts(model: SubspaceEnsemble) -> dict[str, Chart]:
    """One chart per panel of the training history; none for a single epoch or without a history."""
    history = getattr(model, "history_", None)
    if history is None or len(history) < 2:
        return {}
    name, charts = str(history.index.name or "epoch"), {}
    kept = np.unique(np.linspace(0, len(history) - 1, MAX_POINTS).astype(int))
    for key, panel in PANELS.items():
        found = panel.curves_in(history)
        curves = {name: history[c].to_numpy(float) for c, name in found.items()}
        if not curves:
            continue
        said = [
            f"{curve} from {number(values[0])} to {number(values[-1])}, between "
            f"{number(np.nanmin(values))} and {number(np.nanmax(values))}"
            for curve, values in curves.items()
        ]
        summary = f"{'; '.join(said)}."
        if has_repeats(model):
            summary += f" Means over {model.n_repeats_} repeats."
        else:
            summary += f" Best {name}: {model.best_iter_:,} of {len(history):,}."
        if "refreshed" in history:
            each = " per repeat" if has_repeats(model) else ""
            summary += f" Models were renewed {history['refreshed'].sum():,.0f} times{each}."

        def draw(ax: Any, key: str = key) -> None:
            ConvergenceDisplay.from_estimator(model, panels=[key], ax=ax)
            ax.set_ylabel("")

        title = panel.label.replace("\n", " ")
        charts[key] = _chart(
            key,
            title[0].upper() + title[1:],
            summary,
            draw,
            xName=name.capitalize(),
            x=history.index.to_numpy()[kept].tolist(),
            lines={curve: rounded(values[kept]) for curve, values in curves.items()},
        )
    return charts


def members_chart(model: SubspaceEnsemble) -> Chart:
    """A histogram of the number of features per member."""
    sizes = np.array([len(features) for features in model.estimators_features_])
    low, high = int(sizes.min()), int(sizes.max())
    summary = (
        f"{counted(len(sizes), 'member')} see {number(float(sizes.mean()))} features on average, "
        f"from {low:,} to {high:,}."
    )
    width = -(-(high - low + 1) // MAX_BARS)
    counts = np.bincount((sizes - low) // width)
    first = low + width * np.arange(len(counts))
    middle, last = first + (width - 1) / 2.0, np.minimum(first + width - 1, high)
    names = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in zip(first, last, strict=True)]

    def draw(ax: Any) -> None:
        ax.bar(middle, counts, width=0.9 * width, color=COLORS[0])
        ax.locator_params(integer=True)
        ax.set_xlabel("features")
        ax.spines[["top", "right"]].set_visible(False)

    data = {"xName": "Features", "x": middle.tolist(), "lines": {"members": rounded(counts)}}
    title = "Number of features per member"
    return _chart("members", title, summary, draw, xLabels=names, **data)


def _chart(key: str, title: str, summary: str, draw: Callable[[Any], None], **data: Any) -> Chart:
    with context(["default", {**_STYLE, "svg.hashsalt": key}]):
        figure = Figure(figsize=SIZE, layout="constrained")
        ax = figure.subplots()
        draw(ax)
        written = StringIO()
        figure.savefig(written, format="svg", transparent=True)
    drawing = _themed(written.getvalue(), summary)
    # What the horizontal axis shows, and where it is, as shares of the width.
    data |= {"xRange": ax.get_xlim(), "area": [ax.get_position().x0, ax.get_position().x1]}
    return Chart(fill("chart.html", key=key, title=title, drawing=drawing), summary, data)


def _themed(svg: str, summary: str) -> Markup:
    """A drawing of matplotlib as an element of the page, without what the page does not need."""
    found = re.search(r'<svg[^>]*viewBox="([^"]*)"[^>]*>(.*)</svg>', svg, flags=re.DOTALL)
    assert found is not None
    box, inside = found.groups()
    inside = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", inside, flags=re.DOTALL)
    # Names of groups, which are the same in each drawing; those that are referred to are hashes.
    inside = re.sub(r' id="[\w.]+_\d+"', "", inside)
    for color, variable in VARIABLES.items():
        inside = inside.replace(color.lower(), f"var(--{variable})")
    return tag("svg", Markup(inside), viewBox=box, role="img", aria_label=summary)

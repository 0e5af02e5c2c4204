"""Charts as markup that any browser draws, with or without the page's script.

Lines are drawn in a square that stretches to the width of the page; everything that must not
stretch (words, numbers) is HTML that stands around it. Colours are variables of the style sheet, so
that a chart follows the theme. The script only adds what the pointer or the arrow keys ask for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from randsub._typing import FloatArray, IntArray
from randsub.report.markup import Markup, join, tag
from randsub.report.wording import number

# Size of the square in its own units.
SIDE = 1000.0
# Points of a line: about one a pixel of the widest page.
MOST_POINTS = 600


@dataclass(frozen=True, eq=False)
class Line:
    """One line of a chart.

    Parameters
    ----------
    name : str
        For the legend.
    values : ndarray of shape (n,)
    style : {"first", "second"}
        Its colour.
    """

    name: str
    values: FloatArray
    style: str = "first"


@dataclass(frozen=True, eq=False)
class LineChart:
    """Lines over the epochs.

    Parameters
    ----------
    key : str
        Identifies it on the page.
    title : str
    summary : str
        What is to be seen, for those who do not see it.
    x : ndarray of shape (n,)
        Epochs.
    x_name : str
        What they are called.
    lines : sequence of Line
    level : (str, float) or None
        A horizontal line and its name.
    marks : sequence of (str, float)
        Vertical lines and their names.
    ticks : ndarray
        Epochs with a small tick at the bottom.
    from_zero : bool
        Whether the vertical axis begins at 0.
    """

    key: str
    title: str
    summary: str
    x: FloatArray
    x_name: str
    lines: Sequence[Line]
    level: tuple[str, float] | None = None
    marks: Sequence[tuple[str, float]] = ()
    ticks: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    from_zero: bool = False

    def data(self) -> dict[str, Any]:
        """Numbers for the script: what the lines show, at the points that are drawn."""
        kept = self._kept()
        return {
            "xName": self.x_name,
            "x": self.x[kept].tolist(),
            "lines": [
                {"name": line.name, "values": [_short(value) for value in line.values[kept]]}
                for line in self.lines
            ],
            "xRange": [float(self.x[0]), float(self.x[-1])],
            "yRange": list(self._range()),
        }

    def draw(self) -> Markup:
        """The chart with its title, legend and axes."""
        low, high = self._range()
        ticks = nice_ticks(low, high)
        inside = join(
            [
                *(_grid_line(self._y(value)) for value in ticks),
                *self._ticks(),
                *(self._mark(x) for _, x in self.marks),
                self._level(),
                *(self._path(line) for line in self.lines),
            ]
        )
        drawing = tag(
            "svg",
            inside,
            viewBox=f"0 0 {SIDE:.0f} {SIDE:.0f}",
            preserveAspectRatio="none",
            role="img",
            aria_label=self.summary,
        )
        area = tag("div", drawing, tag("div", class_="cursor", hidden=True), class_="area")
        y_labels = (
            tag("span", number(value), style=f"top:{self._y(value) / SIDE:.2%}") for value in ticks
        )
        x_labels = (
            tag("span", f"{value:,.0f}", style=f"left:{self._x(value) / SIDE:.2%}")
            for value in self._x_ticks()
        )
        plot = tag(
            "div",
            tag("div", *y_labels, class_="y-labels", aria_hidden="true"),
            area,
            tag("div", *x_labels, class_="x-labels", aria_hidden="true"),
            class_="plot",
        )
        return tag(
            "figure",
            tag("figcaption", tag("strong", self.title), self._legend()),
            plot,
            tag("div", class_="readout", role="status", aria_live="polite"),
            class_="chart",
            data_chart=self.key,
            tabindex="0",
            aria_label=f"{self.title}. Left and right arrow keys read the values.",
        )

    def _range(self) -> tuple[float, float]:
        values = np.concatenate([line.values for line in self.lines])
        values = values[np.isfinite(values)]
        named = [] if self.level is None else [self.level[1]]
        low = 0.0 if self.from_zero else float(min([values.min(), *named]))
        high = float(max([values.max(), *named]))
        room = 0.05 * (high - low) or max(abs(high), 1.0) * 0.05
        return (low if self.from_zero else low - room), high + room

    def _kept(self) -> IntArray:
        kept = [thinned(line.values, MOST_POINTS // len(self.lines)) for line in self.lines]
        return np.unique(np.concatenate(kept))

    def _x(self, value: float) -> float:
        span = float(self.x[-1] - self.x[0]) or 1.0
        return SIDE * (float(value) - float(self.x[0])) / span

    def _y(self, value: float) -> float:
        low, high = self._range()
        return SIDE * (high - float(value)) / (high - low)

    def _x_ticks(self) -> list[float]:
        first, last = float(self.x[0]), float(self.x[-1])
        between = [t for t in nice_ticks(first, last, 4) if first < t < last]
        # One that stands too near the end would be written into it.
        return [first, *(t for t in between if 0.12 < self._x(t) / SIDE < 0.8), last]

    def _path(self, line: Line) -> Markup:
        kept = self._kept()
        points = " ".join(
            f"{self._x(x):.1f},{self._y(y):.1f}"
            for x, y in zip(self.x[kept], line.values[kept], strict=True)
            if np.isfinite(y)
        )
        return tag("polyline", points=points, class_=f"line {line.style}")

    def _ticks(self) -> list[Markup]:
        # Beyond so many they would be a block of one colour.
        shown = self.ticks[thinned_places(len(self.ticks), 200)]
        return [
            tag(
                "line", x1=f"{self._x(x):.1f}", x2=f"{self._x(x):.1f}", y1="960", y2="1000",
                class_="tick",
            )
            for x in shown
        ]  # fmt: skip

    def _mark(self, x: float) -> Markup:
        place = f"{self._x(x):.1f}"
        return tag("line", x1=place, x2=place, y1="0", y2="1000", class_="mark")

    def _level(self) -> Markup | None:
        if self.level is None:
            return None
        place = f"{self._y(self.level[1]):.1f}"
        return tag("line", x1="0", x2="1000", y1=place, y2=place, class_="level")

    def _legend(self) -> Markup:
        entries = [(line.name, line.style) for line in self.lines]
        if self.level is not None:
            entries.append((self.level[0], "level"))
        entries += [(name, "mark") for name in dict.fromkeys(name for name, _ in self.marks)]
        if len(self.ticks):
            entries.append(("models renewed", "tick"))
        return tag(
            "ul",
            *(
                tag("li", tag("i", class_=style, aria_hidden="true"), name)
                for name, style in entries
            ),
            class_="legend",
        )


def _short(value: float) -> float | None:
    return float(f"{value:.5g}") if np.isfinite(value) else None


def _grid_line(y: float) -> Markup:
    return tag("line", x1="0", x2="1000", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")


def thinned(values: FloatArray, most: int) -> IntArray:
    """Places of at most about so many values that keep every peak and every dip.

    Examples
    --------
    >>> import numpy as np
    >>> thinned(np.array([0.0, 9.0, 1.0, 2.0, -9.0, 3.0, 4.0, 5.0]), 4).tolist()
    [0, 1, 4, 7]
    """
    n = len(values)
    if n <= most:
        return np.arange(n)
    ends = np.linspace(0, n, max(most // 2, 1) + 1).astype(int)
    kept = {0, n - 1}
    for begin, end in pairwise(ends.tolist()):
        part = values[begin:end]
        kept |= {begin + int(np.argmin(part)), begin + int(np.argmax(part))}
    return np.array(sorted(kept))


def thinned_places(n: int, most: int) -> IntArray:
    """At most so many places, evenly spread over n."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int)) if n else np.arange(0)


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers within a range, some five of them.

    Examples
    --------
    >>> nice_ticks(0.0, 1.0), nice_ticks(3.0, 47.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [10.0, 20.0, 30.0, 40.0])
    """
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * s for s in (1.0, 2.0, 5.0, 10.0) if power * s >= 0.99 * rough)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def histogram(
    title: str, summary: str, sizes: IntArray, x_name: str, most_bars: int = 24
) -> Markup:
    """How often each size occurs, as upright bars."""
    low, high = int(sizes.min()), int(sizes.max())
    width = -(-(high - low + 1) // most_bars)
    counts = np.bincount((sizes - low) // width)
    bars = []
    for place, count in enumerate(counts.tolist()):
        first = low + place * width
        label = f"{first:,}" if width == 1 else f"{first:,} to {min(first + width - 1, high):,}"
        height = f"height:{count / counts.max():.1%}"
        bars.append(
            tag(
                "div",
                tag("i", style=height),
                class_="column",
                title=f"{x_name} {label}: {count:,}",
            )
        )
    ends = [f"{low:,}", f"{high:,}"] if high > low else [f"{low:,}"]
    return tag(
        "figure",
        tag("figcaption", tag("strong", title)),
        tag(
            "div",
            tag("div", *bars, class_="columns", role="img", aria_label=summary),
            tag("div", *(tag("span", end) for end in ends), class_="ends", aria_hidden="true"),
            # Few bars are not drawn out to the width of the page.
            style=f"max-width:{3.2 * len(counts):.1f}rem",
        ),
        class_="chart histogram",
    )

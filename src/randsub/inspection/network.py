"""Networks, as graphs and as maps of their weights."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.inspection.canvas import COLORS, NEUTRAL, make_panels, styled
from randsub.inspection.features import check_count, shortened
from randsub.inspection.layout import place_nodes
from randsub.network.links import LinkOutputs

# Names along an axis of a map, and cells that it is drawn with; of more, the largest one counts.
_NAMES = 40
_CELLS = (400, 600)
_COLUMNS = ("regulator", "target", "weight")


class NetworkDisplay:
    """The strongest links of a network as a graph, or all its weights as a map.

    It is best made by :meth:`from_estimator` or :meth:`from_links`.

    Parameters
    ----------
    links : pandas.DataFrame
        Columns ``regulator``, ``target`` and ``weight``, the largest weight first.
    weights : pandas.DataFrame of shape (n_regulators, n_targets), default=None
        Weight of each link, for the map; those of ``links`` by default.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    links_ : pandas.DataFrame
        The links that are drawn; of a graph.
    positions_ : dict of str to (float, float)
        Where each gene is; of a graph.
    nodes_ : matplotlib PathCollection
        Of a graph. The larger, the more weight its links have; those of genes that regulate others
        have another colour.
    arrows_ : list of matplotlib FancyArrowPatch
        One for each link of a graph, the broader the larger its weight.
    texts_ : list of matplotlib Text
        Names of the genes of a graph.
    image_ : matplotlib AxesImage
        Of a map.
    colorbar_ : matplotlib Colorbar or None
        Of a map.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import pandas as pd
    >>> from randsub.inspection import NetworkDisplay
    >>> links = pd.DataFrame(
    ...     {"regulator": ["a", "a", "b"], "target": ["b", "c", "d"], "weight": [0.9, 0.4, 0.1]}
    ... )
    >>> display = NetworkDisplay.from_links(links, n_links=2)
    >>> sorted(display.positions_)
    ['a', 'b', 'c']
    """

    def __init__(self, links: pd.DataFrame, weights: pd.DataFrame | None = None) -> None:
        self.links = links
        self.weights = weights

    @classmethod
    def from_estimator(
        cls,
        network: LinkOutputs,
        *,
        kind: Literal["graph", "map"] = "graph",
        n_links: int | None = 50,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a network that was inferred.

        Parameters
        ----------
        network : fitted PRSNetwork, or InferredNetwork
        kind : {"graph", "map"}, default="graph"
            Whether to draw the strongest links, or all weights.
        n_links : int, default=50
            Links of the graph; None for all. Links of weight 0 are left out.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            Further arguments of :meth:`plot_graph` or :meth:`plot_map`.

        Returns
        -------
        display : NetworkDisplay
        """
        if not isinstance(network, LinkOutputs):
            raise ValueError(
                f"{type(network).__name__} is no network. Give a fitted PRSNetwork or what another "
                "method of randsub.network has inferred; for a frame of links there is from_links."
            )
        if kind == "map":
            return cls(network.links(0), network.to_frame()).plot(ax, kind=kind, **options)
        return cls(network.links(n_links)).plot(ax, kind=kind, n_links=n_links, **options)

    @classmethod
    def from_links(
        cls,
        links: pd.DataFrame,
        *,
        kind: Literal["graph", "map"] = "graph",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a frame of links, as :func:`randsub.network.infer_network` gives it.

        Parameters
        ----------
        links : pandas.DataFrame
            Columns ``regulator``, ``target`` and ``weight``.
        kind : {"graph", "map"}, default="graph"
            Whether to draw the strongest links, or all weights.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            Further arguments of :meth:`plot_graph` or :meth:`plot_map`.

        Returns
        -------
        display : NetworkDisplay
        """
        return cls(links).plot(ax, kind=kind, **options)

    def plot(
        self, ax: Any = None, *, kind: Literal["graph", "map"] = "graph", **options: Any
    ) -> Self:
        """Draw the network, as a graph or as a map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        kind : {"graph", "map"}, default="graph"
        **options : dict
            Further arguments of :meth:`plot_graph` or :meth:`plot_map`.

        Returns
        -------
        display : NetworkDisplay
        """
        if kind == "graph":
            return self.plot_graph(ax, **options)
        if kind == "map":
            return self.plot_map(ax, **options)
        raise ValueError(f"kind must be 'graph' or 'map', got {kind!r}.")

    def plot_graph(
        self,
        ax: Any = None,
        *,
        n_links: int | None = 50,
        n_names: int | None = 60,
        node_kw: Mapping[str, Any] | None = None,
        arrow_kw: Mapping[str, Any] | None = None,
        text_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the strongest links as arrows from regulators to targets.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        n_links : int, default=50
            How many of them; None for all. Links of weight 0 are left out.
        n_names : int, default=60
            Genes that are named, those whose links have the most weight; None for all.
        node_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.scatter`.
        arrow_kw : dict, default=None
            Arguments of :class:`matplotlib.patches.FancyArrowPatch`.
        text_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.annotate`.

        Returns
        -------
        display : NetworkDisplay
        """
        links = _checked(self.links)
        links = links[links["weight"] > 0.0].sort_values("weight", ascending=False, kind="stable")
        self.links_ = links.head(check_count("n_links", n_links, max(len(links), 1)))
        panels = make_panels(ax, 1, size=(8.0, 6.0))
        self.ax_, self.figure_ = panels.ax, panels.figure
        self.ax_.set_axis_off()
        genes, ends = _genes(self.links_)
        self.positions_, self.arrows_, self.texts_, self.nodes_ = {}, [], [], None
        if not genes:
            self.ax_.text(0.5, 0.5, "no link has a positive weight", ha="center", va="center")
            return self
        box = self.ax_.get_window_extent()
        places = place_nodes(ends[0], ends[1], len(genes), box.width / box.height)
        weight = self.links_["weight"].to_numpy(dtype=float)
        regulates = np.bincount(ends[0], weights=weight, minlength=len(genes))
        strength = regulates + np.bincount(ends[1], weights=weight, minlength=len(genes))
        # Many genes leave less room for each.
        scale = min(1.0, 50.0 / len(genes))
        sizes = scale * (40.0 + 260.0 * strength / strength.max())
        self.arrows_ = _arrows(self.ax_, places, ends, weight, sizes, arrow_kw)
        self.nodes_ = _nodes(self.ax_, places, sizes, regulates > 0.0, node_kw)
        self.positions_ = {g: (float(x), float(y)) for g, (x, y) in zip(genes, places, strict=True)}
        named = np.argsort(-strength, kind="stable")[: check_count("n_names", n_names, len(genes))]
        self.texts_ = [
            _name(self.ax_, places[k], shortened(genes[k], 16), sizes[k], text_kw) for k in named
        ]
        self.ax_.set_aspect("equal", adjustable="datalim")
        self.ax_.margins(0.08)
        return self

    def plot_map(
        self,
        ax: Any = None,
        *,
        colorbar: bool = True,
        image_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw all weights, regulators against targets, those with the most weight first.

        Of a network too large to be seen in full, a cell of the picture shows the largest weight of
        several links, and some of the names are left out.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        colorbar : bool, default=True
        image_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.imshow`.

        Returns
        -------
        display : NetworkDisplay
        """
        from matplotlib.image import AxesImage

        weights = _pivoted(self.links) if self.weights is None else self.weights
        values = np.asarray(weights, dtype=float)
        if values.ndim != 2 or not values.size:
            raise ValueError(f"weights must be a frame of links, got one of shape {values.shape}.")
        rows = np.argsort(-values.sum(axis=1), kind="stable")
        columns = np.argsort(-values.sum(axis=0), kind="stable")
        values = values[np.ix_(rows, columns)]
        panels = make_panels(ax, 1, size=(8.0, 1.6 + min(4.4, 0.22 * len(rows))))
        self.ax_, self.figure_ = panels.ax, panels.figure
        defaults = {
            "cmap": "viridis",
            "vmin": 0.0,
            "vmax": float(values.max()) or 1.0,
            "aspect": "auto",
            "interpolation": "nearest",
            "extent": (-0.5, len(columns) - 0.5, len(rows) - 0.5, -0.5),
        }
        self.image_ = self.ax_.imshow(
            coarse(values, *_CELLS), **styled(AxesImage, defaults, image_kw)
        )
        _name_axis(self.ax_.yaxis, [str(weights.index[j]) for j in rows])
        _name_axis(self.ax_.xaxis, [str(weights.columns[g]) for g in columns], rotation=90)
        self.ax_.set(xlabel=f"{len(columns):,} targets", ylabel=f"{len(rows):,} regulators")
        self.colorbar_ = None
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(self.image_, ax=self.ax_, label="weight")
        return self


def coarse(values: FloatArray, n_rows: int, n_columns: int) -> FloatArray:
    """The largest value of each block, with at most so many blocks each way.

    An average would hide a strong link among many weak ones.

    Parameters
    ----------
    values : ndarray of shape (m, n)
    n_rows, n_columns : int
    """
    for axis, most in enumerate((n_rows, n_columns)):
        n = values.shape[axis]
        if n > most:
            starts = np.arange(most) * n // most
            values = np.maximum.reduceat(values, starts, axis=axis)
    return values


def _checked(links: Any) -> pd.DataFrame:
    missing = [name for name in _COLUMNS if name not in getattr(links, "columns", ())]
    if missing:
        raise ValueError(
            "links must be a data frame with the columns regulator, target and weight; "
            f"{', '.join(missing)} missing."
        )
    if not np.isfinite(links["weight"].to_numpy(dtype=float)).all():
        raise ValueError("The weight of some links is not finite; leave these out.")
    return links


def _pivoted(links: Any) -> pd.DataFrame:
    links = _checked(links)
    return links.pivot_table(
        index="regulator", columns="target", values="weight", aggfunc="max", fill_value=0.0
    )


def _genes(links: pd.DataFrame) -> tuple[list[str], tuple[IntArray, IntArray]]:
    """Names of the genes of the links, sorted, and the two ends of each link among them."""
    regulators, targets = links["regulator"].astype(str), links["target"].astype(str)
    genes = sorted({*regulators, *targets})
    place = {gene: k for k, gene in enumerate(genes)}
    sources = np.array([place[gene] for gene in regulators], dtype=int)
    return genes, (sources, np.array([place[gene] for gene in targets], dtype=int))


def _nodes(ax: Any, places: FloatArray, sizes: FloatArray, regulates: BoolArray, given: Any) -> Any:
    from matplotlib.collections import PathCollection

    defaults = {
        "facecolor": [COLORS[1] if k else COLORS[0] for k in regulates],
        "edgecolor": ax.get_facecolor(),
        "linewidth": 1.0,
        "zorder": 2,
    }
    return ax.scatter(*places.T, s=sizes, **styled(PathCollection, defaults, given))


def _arrows(
    ax: Any,
    places: FloatArray,
    ends: tuple[IntArray, IntArray],
    weight: FloatArray,
    sizes: FloatArray,
    given: Any,
) -> list[Any]:
    from matplotlib.patches import FancyArrowPatch

    arrows = []
    # Radii of the nodes in points, so that arrows end where nodes begin.
    radii = np.sqrt(sizes) / 2.0 + 1.0
    head = min(1.0, float(np.median(radii)) / 4.0)
    for source, target, share in zip(*ends, weight / weight.max(), strict=True):
        defaults = {
            "arrowstyle": "-|>",
            "mutation_scale": head * (7.0 + 4.0 * share),
            "linewidth": 0.5 + 1.8 * share,
            "color": NEUTRAL,
            "alpha": 0.35 + 0.5 * share,
            # Bent, so that a link and the one back are two lines.
            "connectionstyle": "arc3,rad=0.12",
            "zorder": 1,
        }
        arrow = FancyArrowPatch(
            tuple(places[source]),
            tuple(places[target]),
            shrinkA=radii[source],
            shrinkB=radii[target],
            **styled(FancyArrowPatch, defaults, given),
        )
        arrows.append(ax.add_patch(arrow))
    return arrows


def _name(ax: Any, place: FloatArray, name: str, size: float, given: Any) -> Any:
    from matplotlib.text import Text

    defaults = {
        "fontsize": "small" if size > 20.0 else "x-small",
        "ha": "center",
        "va": "bottom",
        "zorder": 3,
    }
    return ax.annotate(
        name,
        tuple(place),
        xytext=(0.0, float(np.sqrt(size)) / 2.0 + 1.0),
        textcoords="offset points",
        parse_math=False,
        **styled(Text, defaults, given),
    )


def _name_axis(axis: Any, names: list[str], rotation: float = 0.0) -> None:
    """As many names as can be read, at equal distances."""
    places = np.arange(0, len(names), -(-len(names) // _NAMES))
    labels = [shortened(names[k], 16) for k in places]
    axis.set_ticks(places, labels, parse_math=False, rotation=rotation, fontsize="x-small")

"""Networks, as graphs and as maps of their weights."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from matplotlib.collections import PathCollection
from matplotlib.image import AxesImage
from matplotlib.patches import FancyArrowPatch

from randsub._typing import FloatArray, IntArray
from randsub.inspection.drawing import COLORS, NEUTRAL, Display, Style, styled
from randsub.inspection.feature_names import check_count, shortened
from randsub.inspection.graph_layout import legible, place_nodes
from randsub.network.links import LinkOutputs

# Maximum number of names along an axis of a map, and of cells of a map.
_NAMES = 40
_CELLS = (400, 600)
# Length of the longest name that is not shortened.
_LETTERS = 16
_COLUMNS = ("regulator", "target", "weight")


@dataclass(eq=False, repr=False)
class NetworkDisplay(Display):
    """The strongest links of a network as a graph, or all its weights as a map.

    Use :meth:`from_estimator` or :meth:`from_links` to create one.

    Parameters
    ----------
    links : pandas.DataFrame
        Columns ``regulator``, ``target`` and ``weight``, the largest weight first.
    weights : pandas.DataFrame of shape (n_regulators, n_targets), default=None
        Weight of each link, for the map; the weights of ``links`` by default.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    links_ : pandas.DataFrame
        The links that are drawn, for a graph.
    positions_ : dict of str to (float, float)
        Position of each gene, for a graph.
    nodes_ : matplotlib PathCollection
        For a graph. The size is the total weight of the links of a gene; genes that regulate
        others have another colour.
    arrows_ : list of matplotlib FancyArrowPatch
        One per link of a graph; the larger the weight, the broader.
    texts_ : list of matplotlib Text
        Names of the genes of a graph.
    image_ : matplotlib AxesImage
        For a map.
    colorbar_ : matplotlib Colorbar or None
        For a map.

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

    links: pd.DataFrame
    weights: pd.DataFrame | None = None

    @classmethod
    def from_estimator(
        cls,
        network: LinkOutputs,
        *,
        kind: Literal["graph", "map"] = "graph",
        n_links: int | None = 50,
        gene: str | None = None,
        fdr: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw an inferred network, or the neighbourhood of a gene.

        Parameters
        ----------
        network : fitted PRSNetwork, or InferredNetwork
        kind : {"graph", "map"}, default="graph"
            Whether to draw the strongest links, or all weights.
        n_links : int, default=50
            Number of links of the graph; None for all. Links of weight 0 are left out.
        gene : str, default=None
            Draw the neighbourhood of this gene alone; see :meth:`plot_graph`.
        fdr : float, default=None
            Draw links of a list with this false discovery rate alone, as
            :meth:`randsub.network.PRSNetwork.links` has them.
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
                f"{type(network).__name__} is not a network. Give a fitted PRSNetwork or an "
                "InferredNetwork; use from_links to draw a data frame of links."
            )
        if kind == "map":
            if gene is not None or fdr is not None:
                raise ValueError("A map has all links; use kind='graph' with gene or fdr.")
            return cls(network.links(0), network.to_frame()).plot(ax, kind=kind, **options)
        links = network.links(n_links if gene is None else None, fdr=fdr)
        return cls(links).plot(ax, kind=kind, n_links=n_links, gene=gene, **options)

    @classmethod
    def from_links(cls, links: pd.DataFrame, **options: Any) -> Self:
        """Draw a data frame of links, as :func:`randsub.network.infer_network` returns it.

        Parameters
        ----------
        links : pandas.DataFrame
            Columns ``regulator``, ``target`` and ``weight``.
        **options : dict
            Arguments of :meth:`plot`.

        Returns
        -------
        display : NetworkDisplay
        """
        return cls(links).plot(**options)

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
        gene: str | None = None,
        n_names: int | None = 60,
        node_kw: Style = None,
        arrow_kw: Style = None,
        text_kw: Style = None,
    ) -> Self:
        """Draw the strongest links as arrows from regulators to targets.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        n_links : int, default=50
            Number of links; None for all. Links of weight 0 are left out.
        gene : str, default=None
            Draw its neighbourhood alone: its ``n_links`` strongest links, to its regulators and
            its targets, and those among these genes that are at least as strong as the weakest of
            them. The gene has a colour of its own.
        n_names : int, default=60
            Maximum number of genes with a name: those whose links have the most weight, unless
            names would overlap. None for all.
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
        n_shown = check_count("n_links", n_links, max(len(links), 1))
        self.links_ = links.head(n_shown) if gene is None else around(links, gene, n_shown)
        self._make_panels(ax, size=(8.0, 6.0))
        self.ax_.set_axis_off()
        genes, ends = _genes(self.links_)
        self.positions_, self.arrows_, self.texts_, self.nodes_ = {}, [], [], None
        if not genes:
            self.ax_.text(0.5, 0.5, "no link has a positive weight", ha="center", va="center")
            return self
        box = self.ax_.get_window_extent()
        places = place_nodes(ends, len(genes), box.width / box.height)
        weight = self.links_["weight"].to_numpy(dtype=float)
        regulates, regulated = (np.bincount(end, weight, len(genes)) for end in ends)
        strength = regulates + regulated
        # Many genes leave less room for each.
        scale = min(1.0, 50.0 / len(genes))
        sizes = scale * (40.0 + 260.0 * strength / strength.max())
        self.arrows_ = _arrows(self.ax_, places, ends, weight, sizes, arrow_kw)
        style = {
            "facecolor": [
                COLORS[2] if name == gene else COLORS[1] if total > 0.0 else COLORS[0]
                for name, total in zip(genes, regulates, strict=True)
            ],
            "edgecolor": self.ax_.get_facecolor(),
            "linewidth": 1.0,
            "zorder": 2,
        }
        self.nodes_ = self.ax_.scatter(
            *places.T, s=sizes, **styled(PathCollection, node_kw, **style)
        )
        self.positions_ = {g: (float(x), float(y)) for g, (x, y) in zip(genes, places, strict=True)}
        names = [shortened(gene, _LETTERS) for gene in genes]
        named = np.argsort(-strength, kind="stable")[: check_count("n_names", n_names, len(genes))]
        if n_names is not None:
            lengths = [len(names[k]) for k in named]
            named = named[legible(places[named], lengths, _letter(self.ax_, places))]
        for k in named:
            above = (0.0, float(np.sqrt(sizes[k])) / 2.0 + 1.0)
            style = {"ha": "center", "va": "bottom", "zorder": 3}
            style["fontsize"] = "small" if sizes[k] > 20.0 else "x-small"
            text = self._write(self.ax_, names[k], tuple(places[k]), above, text_kw, **style)
            self.texts_.append(text)
        self.ax_.set_aspect("equal", adjustable="datalim")
        self.ax_.margins(0.08)
        return self

    def plot_map(self, ax: Any = None, *, colorbar: bool = True, image_kw: Style = None) -> Self:
        """Draw all weights, regulators against targets, the largest total weight first.

        In large networks a cell of the map shows the largest weight of several links, and some of
        the names are left out.

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
        weights = self.weights
        if weights is None:
            weights = _checked(self.links).pivot_table(
                "weight", "regulator", "target", aggfunc="max", fill_value=0.0
            )
        values = np.asarray(weights, dtype=float)
        if values.ndim != 2 or not values.size:
            raise ValueError(f"weights must be a data frame with links, got shape {values.shape}.")
        rows = np.argsort(-values.sum(axis=1), kind="stable")
        columns = np.argsort(-values.sum(axis=0), kind="stable")
        values = values[np.ix_(rows, columns)]
        self._make_panels(ax, size=(8.0, 1.6 + min(4.4, 0.22 * len(rows))))
        style = {
            "cmap": "viridis",
            "vmin": 0.0,
            "vmax": float(values.max()) or 1.0,
            "aspect": "auto",
            "interpolation": "nearest",
            "extent": (-0.5, len(columns) - 0.5, len(rows) - 0.5, -0.5),
        }
        cells = coarse(values, *_CELLS)
        self.image_ = self.ax_.imshow(cells, **styled(AxesImage, image_kw, **style))
        _name_axis(self.ax_.yaxis, [str(weights.index[j]) for j in rows])
        _name_axis(self.ax_.xaxis, [str(weights.columns[g]) for g in columns], rotation=90)
        self.ax_.set(xlabel=f"{len(columns):,} targets", ylabel=f"{len(rows):,} regulators")
        self.colorbar_ = None
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(self.image_, ax=self.ax_, label="weight")
        return self


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


def around(links: pd.DataFrame, gene: str, n_links: int) -> pd.DataFrame:
    """The neighbourhood of a gene in links that are sorted by weight.

    Its first links, and those among the genes at their ends that are as strong.
    """
    ends = links[["regulator", "target"]].astype(str)
    own = (ends == gene).any(axis=1)
    if not own.any():
        raise ValueError(f"No link of positive weight starts or ends at the gene {gene!r}.")
    first = links[own].head(n_links)
    near = {*first["regulator"].astype(str), *first["target"].astype(str)}
    is_near = ends["regulator"].isin(near) & ends["target"].isin(near)
    return links[is_near & (links["weight"] >= first["weight"].min())]


def _genes(links: pd.DataFrame) -> tuple[list[str], IntArray]:
    """Sorted names of the genes, and the two ends of each link among them, (2, n_links)."""
    names = links[["regulator", "target"]].astype(str).to_numpy(dtype=object)
    codes, genes = pd.factorize(names.T.ravel(), sort=True)
    return genes.tolist(), codes.reshape(2, -1)


def coarse(values: FloatArray, n_rows: int, n_columns: int) -> FloatArray:
    """The largest value of each block of a matrix.

    A mean would hide a large value among many small ones.

    Parameters
    ----------
    values : ndarray of shape (m, n)
    n_rows, n_columns : int
        Maximum number of blocks along each axis.
    """
    for axis, most in enumerate((n_rows, n_columns)):
        n = values.shape[axis]
        if n > most:
            starts = np.arange(most) * n // most
            values = np.maximum.reduceat(values, starts, axis=axis)
    return values


def _arrows(
    ax: Any, places: FloatArray, ends: IntArray, weight: FloatArray, sizes: FloatArray, given: Any
) -> list[Any]:
    # Radii of the nodes in points, so that arrows end where nodes begin.
    radii = np.sqrt(sizes) / 2.0 + 1.0
    head = min(1.0, float(np.median(radii)) / 4.0)
    arrows = []
    for source, target, share in zip(*ends, weight / weight.max(), strict=True):
        style = {
            "arrowstyle": "-|>",
            "mutation_scale": head * (7.0 + 4.0 * share),
            "linewidth": 0.5 + 1.8 * share,
            "color": NEUTRAL,
            "alpha": 0.35 + 0.5 * share,
            # Bent, so that a link and its reverse are two lines.
            "connectionstyle": "arc3,rad=0.12",
            "zorder": 1,
            "shrinkA": radii[source],
            "shrinkB": radii[target],
        }
        arrow = FancyArrowPatch(
            tuple(places[source]), tuple(places[target]), **styled(FancyArrowPatch, given, **style)
        )
        arrows.append(ax.add_patch(arrow))
    return arrows


def _letter(ax: Any, places: FloatArray) -> tuple[float, float]:
    """Approximate width and height of a letter of a name, in the units of the places."""
    box, extent = ax.get_window_extent(), np.ptp(places, axis=0) + 1.0
    pixels = min(box.width / extent[0], box.height / extent[1])
    # A small font has about 8 points, 72 to the inch; letters are narrower than high.
    height = 8.0 / 72.0 * ax.figure.dpi / pixels
    return 0.62 * height, 1.2 * height


def _name_axis(axis: Any, names: list[str], rotation: float = 0.0) -> None:
    """Label an axis with at most 40 names, evenly spaced."""
    places = np.arange(0, len(names), -(-len(names) // _NAMES))
    labels = [shortened(names[k], _LETTERS) for k in places]
    axis.set_ticks(places, labels, parse_math=False, rotation=rotation, fontsize="x-small")

"""Weighted links between genes: lists, tables, files and graphs."""

import json
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from randsub._significance import pooled_p_values, q_values
from randsub._typing import BoolArray, FloatArray
from randsub.exceptions import DoubtfulNetworkWarning

# Formats of lists with the columns TF, target and importance.
ADJACENCIES = ("arboreto", "pyscenic")
# Five links above all shadows are a chance of 1 in 32.
NOT_BY_CHANCE = 5
GRAPHML = "http://graphml.graphdrawing.org/xmlns"
# Characters that XML 1.0 cannot hold, not even escaped.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_n_links(n: Any) -> None:
    """Raise unless n is a number of links, or None."""
    if n is not None and (isinstance(n, bool) or not isinstance(n, Integral) or n < 0):
        raise ValueError(
            f"The number of links must be a whole number from 0, or None for all, got {n!r}."
        )


def allowed_pairs(regulators: Sequence[str], targets: Sequence[str]) -> BoolArray:
    """Which pairs are two different genes, (n_regulators, n_targets)."""
    place = {name: g for g, name in enumerate(targets)}
    allowed = np.ones((len(regulators), len(targets)), dtype=bool)
    for j, name in enumerate(regulators):
        if name in place:
            allowed[j, place[name]] = False
    return allowed


def check_fdr(fdr: Any) -> None:
    """Raise unless fdr is a rate, or None."""
    if fdr is not None and (not isinstance(fdr, Real) or not 0.0 < float(fdr) < 1.0):
        raise ValueError(f"fdr must be a number above 0 and below 1, or None, got {fdr!r}.")


class LinkOutputs(ABC):
    """Outputs of a network, from the weights of its links."""

    @abstractmethod
    def _network(self) -> "InferredNetwork":
        """The weights, with the names of regulators and targets."""

    def links(self, n: int | None = None, *, fdr: float | None = None) -> pd.DataFrame:
        """The links in descending order of weight, in the format of GENIE3.

        Parameters
        ----------
        n : int, default=None
            Number of links. None means all pairs of a regulator and another gene, including those
            of weight 0.
        fdr : float, default=None
            Only links of a list in which at most this fraction, about, has no evidence in the data;
            see :meth:`q_values`. The list has at least about ``1 / fdr`` links, or none: one link
            may always be there by chance.

        Returns
        -------
        links : pandas.DataFrame
            Columns ``regulator``, ``target`` and ``weight``, and with ``fdr`` also ``q_value``;
            sorted by descending weight, then by the names.
        """
        check_n_links(n)
        check_fdr(fdr)
        network = self._network()
        rates = None if fdr is None else network.q_values().to_numpy()
        regulators, targets = (
            np.array(names, dtype=object) for names in (network.regulators, network.targets)
        )
        rows, columns = np.nonzero(network.allowed())
        by_regulator, by_target = (
            np.argsort(np.argsort(regulators)),
            np.argsort(np.argsort(targets)),
        )
        weight = network.alpha[rows, columns]
        order = np.lexsort((by_target[columns], by_regulator[rows], -weight))
        if rates is not None and fdr is not None:
            order = order[rates[rows, columns][order] <= fdr]
            if not len(order):
                network._warn_of_few(fdr)
        order = order[:n]
        links = pd.DataFrame(
            {
                "regulator": regulators[rows[order]],
                "target": targets[columns[order]],
                "weight": weight[order],
            }
        )
        if rates is not None:
            links["q_value"] = rates[rows, columns][order]
        return links

    def q_values(self) -> pd.DataFrame:
        """Smallest false discovery rate at which each link is in the list.

        The p-value of a link is its rank among the links of all shadows, which are the regulators
        with their samples in another order: they competed in the same fit, and no target depends
        on them. From the p-values follows the rate, as by Benjamini and Hochberg. It is the rate of
        links that nothing in the data speaks for; an indirect link, such as that to the target of
        a target, is none of these.

        Returns
        -------
        q_values : pandas.DataFrame of shape (n_regulators, n_targets)
            1 from a gene to itself.
        """
        network = self._network()
        if network.shadows is None:
            raise ValueError(
                "A false discovery rate needs shadows of the regulators, which compete in the fit: "
                "fit PRSNetwork(shadows=True)."
            )
        allowed = network.allowed()
        values = np.ones(allowed.shape)
        p_values = pooled_p_values(network.alpha[allowed], network.shadows[allowed])
        values[allowed] = q_values(p_values)
        return pd.DataFrame(
            values,
            index=pd.Index(network.regulators, name="regulator"),
            columns=pd.Index(network.targets, name="target"),
        )

    def to_frame(self) -> pd.DataFrame:
        """The weights of all pairs as a table.

        Returns
        -------
        weights : pandas.DataFrame of shape (n_regulators, n_targets)
            Names of the regulators as index, names of the targets as columns; 0 from a gene to
            itself.
        """
        network = self._network()
        return pd.DataFrame(
            network.alpha,
            index=pd.Index(network.regulators, name="regulator"),
            columns=pd.Index(network.targets, name="target"),
        )

    def to_csv(
        self,
        path: "PathLike[str] | str",
        n: int | None = None,
        *,
        sep: str | None = None,
        header: bool = True,
        format: Literal["links", "arboreto", "pyscenic"] = "links",
        fdr: float | None = None,
    ) -> None:
        """Write :meth:`links` to a file.

        Parameters
        ----------
        path : path-like
        n : int, default=None
            Number of links; None for all.
        sep : str, default=None
            Column separator; by default a tab if the name of the file ends in ".tsv", as programs
            of the field expect it, else a comma.
        header : bool, default=True
            Whether the first line holds the column names; DREAM's files have none.
        format : {"links", "arboreto", "pyscenic"}, default="links"
            "links": columns ``regulator``, ``target`` and ``weight``. "arboreto", and "pyscenic"
            for its adjacencies: columns ``TF``, ``target`` and ``importance``, without links of
            weight 0.
        fdr : float, default=None
            As in :meth:`links`.
        """
        links = self.links(n, fdr=fdr)
        if format in ADJACENCIES:
            links = links.loc[links["weight"] > 0.0, ["regulator", "target", "weight"]]
            links.columns = pd.Index(["TF", "target", "importance"])
        elif format != "links":
            raise ValueError(
                f"format must be 'links' or one of {ADJACENCIES}, got {format!r}; to_graphml and "
                "to_cytoscape write graphs."
            )
        if sep is None:
            sep = "\t" if str(path).lower().endswith(".tsv") else ","
        links.to_csv(path, sep=sep, header=header, index=False)

    def to_cytoscape(
        self, path: "PathLike[str] | str", n: int | None = None, *, fdr: float | None = None
    ) -> None:
        """Write a directed graph as Cytoscape's JSON (.cyjs), which cytoscape.js reads, too.

        Parameters
        ----------
        path : path-like
        n : int, default=None
            Number of links; None for all. Links of weight 0 are left out, genes are not.
        fdr : float, default=None
            As in :meth:`links`.
        """
        regulators = {*self._network().regulators}
        nodes = [
            {"data": {"id": gene, "name": gene, "value": gene, "is_regulator": gene in regulators}}
            for gene in self._genes()
        ]
        edges = [
            {"data": {"source": regulator, "target": target, **numbers}}
            for regulator, target, numbers in self._edges(n, fdr)
        ]
        graph = {
            "data": [],
            "directed": True,
            "multigraph": False,
            "elements": {"nodes": nodes, "edges": edges},
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(graph, file)

    def to_graphml(
        self, path: "PathLike[str] | str", n: int | None = None, *, fdr: float | None = None
    ) -> None:
        """Write a directed graph in GraphML, for Cytoscape, Gephi, igraph and others.

        Parameters
        ----------
        path : path-like
        n : int, default=None
            Number of links; None for all. Links of weight 0 are left out, genes are not.
        fdr : float, default=None
            As in :meth:`links`.
        """
        for gene in self._genes():
            if (found := NOT_IN_XML.search(gene)) is not None:
                raise ValueError(
                    f"Gene {gene!r} has the character {found.group()!r}, which GraphML cannot "
                    "hold; rename the gene, or write the links with to_csv."
                )
        root = ElementTree.Element("graphml", xmlns=GRAPHML)
        for name in ("weight",) if fdr is None else ("weight", "q_value"):
            key = {"id": name, "for": "edge", "attr.name": name, "attr.type": "double"}
            ElementTree.SubElement(root, "key", key)
        graph = ElementTree.SubElement(root, "graph", id="network", edgedefault="directed")
        for gene in self._genes():
            ElementTree.SubElement(graph, "node", id=gene)
        for regulator, target, numbers in self._edges(n, fdr):
            edge = ElementTree.SubElement(graph, "edge", source=regulator, target=target)
            for name, number in numbers.items():
                ElementTree.SubElement(edge, "data", key=name).text = repr(number)
        ElementTree.indent(root)
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)

    def to_networkx(self, n: int | None = None, *, fdr: float | None = None) -> Any:
        """A directed graph whose edges have a ``weight``; needs ``pip install randsub[graph]``.

        Parameters
        ----------
        n : int, default=None
            Number of links; None for all. Links of weight 0 are left out, genes are not.
        fdr : float, default=None
            As in :meth:`links`; edges then have a ``q_value``, too.

        Returns
        -------
        graph : networkx.DiGraph
        """
        try:
            import networkx
        except ImportError as error:
            raise ImportError(
                "to_networkx needs networkx: pip install randsub[graph]. Without it, to_graphml "
                "writes the same graph to a file."
            ) from error
        graph = networkx.DiGraph()
        graph.add_nodes_from(self._genes())
        graph.add_edges_from(self._edges(n, fdr))
        return graph

    def _genes(self) -> list[str]:
        network = self._network()
        return sorted({*network.regulators, *network.targets})

    def _edges(
        self, n: int | None, fdr: float | None
    ) -> Iterator[tuple[str, str, dict[str, float]]]:
        """Regulator, target and numbers of each link that has a weight."""
        links = self.links(n, fdr=fdr)
        links = links[links["weight"] > 0.0]
        numbers = links.drop(columns=["regulator", "target"]).to_dict("records")
        yield from zip(links["regulator"], links["target"], numbers, strict=True)


@dataclass(frozen=True, eq=False)
class InferredNetwork(LinkOutputs):
    """The links that a method has inferred.

    Attributes
    ----------
    alpha : ndarray of shape (n_regulators, n_targets)
        Weight of the link from each regulator (row) to each target (column); 0 from a gene to
        itself.
    regulators : tuple of str
        Names of the rows.
    targets : tuple of str
        Names of the columns.
    expected_sizes : ndarray of shape (n_targets,) or None
        Mean number of regulators per base model of each target, if the method defines it.
    n_models_trained : int
        Number of base models trained.
    shadows : ndarray of shape (n_regulators, n_targets) or None
        Weights of the links of shadows, if there were any; see :meth:`q_values`.
    """

    alpha: FloatArray
    regulators: tuple[str, ...]
    targets: tuple[str, ...]
    expected_sizes: FloatArray | None
    n_models_trained: int
    shadows: FloatArray | None = None

    def _network(self) -> "InferredNetwork":
        return self

    def allowed(self) -> BoolArray:
        """Which pairs are two different genes, (n_regulators, n_targets)."""
        return allowed_pairs(self.regulators, self.targets)

    def _warn_of_few(self, fdr: float) -> None:
        """Warn if a list is empty only because it would be too short."""
        assert self.shadows is not None
        allowed = self.allowed()
        n_above = int((self.alpha[allowed] > self.shadows[allowed].max(initial=0.0)).sum())
        # Of links that are like shadows, half of the strongest ones are shadows.
        if n_above >= NOT_BY_CHANCE:
            warnings.warn(
                f"The {n_above} strongest links are above all links of shadows, but a list with a "
                f"false discovery rate of {fdr:g} needs at least about {1.0 / fdr:.0f} of them: "
                "one may always be there by chance. Use a larger fdr, or links() without it.",
                DoubtfulNetworkWarning,
                stacklevel=3,
            )

    def __repr__(self) -> str:
        n_regulators, n_targets = self.alpha.shape
        return f"InferredNetwork(n_regulators={n_regulators}, n_targets={n_targets})"

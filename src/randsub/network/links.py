"""Weighted links between genes, and what can be made of them."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from randsub._typing import BoolArray, FloatArray, IntArray

GRAPHML = "http://graphml.graphdrawing.org/xmlns"
# Control characters and others that no document of XML 1.0 can have, not even escaped.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_n_links(n: Any) -> None:
    """Raise where this is not a number of links."""
    if n is not None and (isinstance(n, bool) or not isinstance(n, Integral) or n < 0):
        raise ValueError(
            f"A number of links must be a whole number from 0, or None for all, got {n!r}."
        )


@dataclass(frozen=True)
class Weights:
    """A weight for each pair of a regulator and a target.

    Parameters
    ----------
    alpha : ndarray of shape (n_regulators, n_targets)
    regulators, targets : tuples of str
        Names of its rows and of its columns.
    """

    alpha: FloatArray
    regulators: tuple[str, ...]
    targets: tuple[str, ...]

    def allowed(self) -> BoolArray:
        """Which pairs are two different genes, (n_regulators, n_targets)."""
        place = {name: g for g, name in enumerate(self.targets)}
        allowed = np.ones(self.alpha.shape, dtype=bool)
        for j, name in enumerate(self.regulators):
            if name in place:
                allowed[j, place[name]] = False
        return allowed

    def ranked(self, n: int | None = None) -> tuple[IntArray, IntArray]:
        """Rows and columns of the pairs, the largest weight first; equal ones in order of names."""
        check_n_links(n)
        rows, columns = np.nonzero(self.allowed())
        by_regulator = np.argsort(np.argsort(np.array(self.regulators, dtype=object)))
        by_target = np.argsort(np.argsort(np.array(self.targets, dtype=object)))
        weight = self.alpha[rows, columns]
        order = np.lexsort((by_target[columns], by_regulator[rows], -weight))[:n]
        return rows[order], columns[order]


class LinkOutputs(ABC):
    """What a network offers to the outside, from its weights alone."""

    @abstractmethod
    def _weights(self) -> Weights:
        """The weights."""

    def links(self, n: int | None = None) -> pd.DataFrame:
        """The links, best first, as GENIE3 lists them.

        Parameters
        ----------
        n : int, default=None
            How many of them; None for all pairs of a regulator and another gene, those of weight 0
            included.

        Returns
        -------
        links : pandas.DataFrame
            Columns ``regulator``, ``target`` and ``weight``, sorted by weight, descending; links of
            equal weight in the order of the names.
        """
        weights = self._weights()
        rows, columns = weights.ranked(n)
        return pd.DataFrame(
            {
                "regulator": np.array(weights.regulators, dtype=object)[rows],
                "target": np.array(weights.targets, dtype=object)[columns],
                "weight": weights.alpha[rows, columns],
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """The weights of all pairs, as a table.

        Returns
        -------
        weights : pandas.DataFrame of shape (n_regulators, n_targets)
            Names of the regulators as index, of the targets as columns; 0 from a gene to itself.
        """
        weights = self._weights()
        return pd.DataFrame(
            weights.alpha,
            index=pd.Index(weights.regulators, name="regulator"),
            columns=pd.Index(weights.targets, name="target"),
        )

    def to_csv(
        self,
        path: "PathLike[str] | str",
        n: int | None = None,
        *,
        sep: str = ",",
        header: bool = True,
    ) -> None:
        """Write :meth:`links` to a file.

        Parameters
        ----------
        path : path-like
        n : int, default=None
            How many links; None for all.
        sep : str, default=","
            Between the columns; GENIE3 writes tabs.
        header : bool, default=True
            Whether the first line names the columns; DREAM's files have no such line.
        """
        self.links(n).to_csv(path, sep=sep, header=header, index=False)

    def to_graphml(self, path: "PathLike[str] | str", n: int | None = None) -> None:
        """Write a directed graph in GraphML, as Cytoscape, Gephi, igraph and others read it.

        Parameters
        ----------
        path : path-like
        n : int, default=None
            How many links; None for all. Links of weight 0 are left out either way, genes are not.
        """
        for gene in self._genes():
            if (found := NOT_IN_XML.search(gene)) is not None:
                raise ValueError(
                    f"Gene {gene!r} has the character {found.group()!r}, which GraphML cannot "
                    "hold; rename the gene, or write the links with to_csv."
                )
        root = ElementTree.Element("graphml", xmlns=GRAPHML)
        key = {"id": "weight", "for": "edge", "attr.name": "weight", "attr.type": "double"}
        ElementTree.SubElement(root, "key", key)
        graph = ElementTree.SubElement(root, "graph", id="network", edgedefault="directed")
        for gene in self._genes():
            ElementTree.SubElement(graph, "node", id=gene)
        for regulator, target, weight in self._positive(n):
            edge = ElementTree.SubElement(graph, "edge", source=regulator, target=target)
            ElementTree.SubElement(edge, "data", key="weight").text = repr(weight)
        ElementTree.indent(root)
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)

    def to_networkx(self, n: int | None = None) -> Any:
        """A directed graph whose edges have a ``weight``; needs ``pip install randsub[graph]``.

        Parameters
        ----------
        n : int, default=None
            How many links; None for all. Links of weight 0 are left out either way, genes are not.

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
        graph.add_weighted_edges_from(self._positive(n))
        return graph

    def _genes(self) -> list[str]:
        weights = self._weights()
        return sorted({*weights.regulators, *weights.targets})

    def _positive(self, n: int | None) -> list[tuple[str, str, float]]:
        weights = self._weights()
        return [
            (weights.regulators[j], weights.targets[g], float(weights.alpha[j, g]))
            for j, g in zip(*weights.ranked(n), strict=True)
            if weights.alpha[j, g] > 0.0
        ]


@dataclass(frozen=True, eq=False)
class InferredNetwork(LinkOutputs):
    """Links that a method has found.

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
        Regulators that a base model of each target sees on average, where that has a meaning.
    n_models_trained : int
    """

    alpha: FloatArray
    regulators: tuple[str, ...]
    targets: tuple[str, ...]
    expected_sizes: FloatArray | None
    n_models_trained: int

    def _weights(self) -> Weights:
        return Weights(self.alpha, self.regulators, self.targets)

    def __repr__(self) -> str:
        n_regulators, n_targets = self.alpha.shape
        return f"InferredNetwork(n_regulators={n_regulators}, n_targets={n_targets})"

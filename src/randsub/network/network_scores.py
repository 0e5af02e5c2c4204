"""Scores of a network against a known one, by the rules of the DREAM challenges.

Pairs of a candidate regulator and another gene are ranked by weight. Pairs that were not predicted
have weight 0. With ties, scores are the mean over all orders of the tied pairs.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.metrics import roc_auc_score

from randsub._tables import frame_kind
from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.network.gene_names import default_names, gene_positions, listed
from randsub.network.links import LinkOutputs


class NetworkScores(NamedTuple):
    """Agreement with a known network.

    Attributes
    ----------
    aupr : float
        Area under the precision-recall curve (average precision): the mean, over the true links,
        of the precision among the pairs ranked at least as high. A random ranking has
        ``n_edges / n_pairs``.
    auroc : float
        Area under the ROC curve; a random ranking has 0.5.
    early_precision : float
        Share of true links among the first ``n_edges`` pairs.
    n_edges : int
        Number of true links among the pairs.
    n_pairs : int
        Number of pairs ranked.
    """

    aupr: float
    auroc: float
    early_precision: float
    n_edges: int
    n_pairs: int


def score_network(
    predicted: Any, gold: Any, *, gene_names: Sequence[str] | None = None, regulators: Any = None
) -> NetworkScores:
    """Score links against a gold standard.

    Parameters
    ----------
    predicted : pandas or polars frame, PRSNetwork, InferredNetwork, array-like or sparse matrix
        A list of links (regulator, target and weight in the first three columns), a network, or
        weights of shape (n_genes, n_genes) with one row per regulator. Pairs that are not in a
        list have weight 0, or its lowest weight if that is negative. A network is scored on pairs
        of its own regulators and targets; a list is scored on all pairs of ``gold``, including
        those that were not candidates.
    gold : pandas or polars frame, array-like or sparse matrix of shape (n_genes, n_genes)
        The known network. In a matrix, row i and column j tell whether gene i regulates gene j. A
        frame lists pairs (regulator, target) in its first two columns. With a third column of 0
        and 1, as in DREAM's files, only the listed pairs count; otherwise the listed pairs are the
        links, and all other pairs of the genes are not.
    gene_names : sequence of str, default=None
        Names of the rows and columns of matrices; by default ``"G1"``, ``"G2"``, ...
    regulators : sequence of str or int, or bool array, default=None
        Candidate regulators, from which links count: names, rows of the matrices, or a mask over
        the rows. By default those of a network, else all genes of a gold matrix; with a list of
        true links, the genes that regulate in it or in ``predicted``.

    Returns
    -------
    scores : NetworkScores
        ``aupr``, ``auroc``, ``early_precision``, ``n_edges`` and ``n_pairs``.

    Examples
    --------
    >>> import numpy as np
    >>> from randsub.network import score_network
    >>> gold = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    >>> weights = np.array([[0, 0.9, 0.2], [0.1, 0, 0.5], [0, 0, 0]])
    >>> scores = score_network(weights, gold)
    >>> round(scores.aupr, 3), scores.early_precision
    (0.833, 0.5)
    """
    predicted, gold = (t.toarray() if issparse(t) else t for t in (predicted, gold))
    links = _links(predicted, gene_names)
    truth = _truth(gold, gene_names, regulators, links)
    if isinstance(predicted, LinkOutputs):
        network = predicted._network()
        truth = truth[truth["target"].isin(network.targets)]
        if regulators is None:
            truth = truth[truth["regulator"].isin(network.regulators)]
    elif not any(frame_kind(t) for t in (predicted, gold)) and np.shape(gold) != np.shape(
        predicted
    ):
        raise ValueError(
            f"predicted has shape {np.shape(predicted)}, but gold {np.shape(gold)}; both matrices "
            "must have one row and one column per gene."
        )
    # With negative weights, pairs that were not predicted rank no higher than the lowest weight.
    lowest = min(0.0, float(links["weight"].min())) if len(links) else 0.0
    weight = links.set_index(["regulator", "target"])["weight"]
    weights = weight.reindex(pd.MultiIndex.from_frame(truth[["regulator", "target"]]))
    return score_pairs(weights.fillna(lowest).to_numpy(), truth["is_link"].to_numpy())


def score_pairs(weights: FloatArray, is_link: BoolArray) -> NetworkScores:
    """Scores of the weights (n_pairs,) of some pairs against the truth (n_pairs,)."""
    n_edges, n_pairs = int(is_link.sum()), len(is_link)
    if not 0 < n_edges < n_pairs:
        raise ValueError(
            f"The gold standard has {n_edges} links among {n_pairs} candidate pairs; scores need "
            "some pairs that are links and some that are not. Check regulators and gene names."
        )
    sizes, hits = _tied(weights, is_link)
    return NetworkScores(
        aupr=_mean_average_precision(sizes, hits),
        auroc=float(roc_auc_score(is_link, weights)),
        early_precision=_mean_precision_at(n_edges, sizes, hits),
        n_edges=n_edges,
        n_pairs=n_pairs,
    )


def _tied(weights: FloatArray, is_link: BoolArray) -> tuple[IntArray, IntArray]:
    """Number of pairs, and of links among them, at each weight, in descending order."""
    _, level = np.unique(-weights, return_inverse=True)
    return np.bincount(level), np.bincount(level, weights=is_link).astype(np.intp)


def _mean_average_precision(sizes: IntArray, hits: IntArray) -> float:
    """Average precision, averaged over the orders of tied pairs.

    Given that the i-th of m tied pairs, h of them links, is a link, each of those before it is one
    with probability (h - 1) / (m - 1).
    """
    before, hits_before = np.cumsum(sizes) - sizes, np.cumsum(hits) - hits
    total = 0.0
    for m, h, n, found in zip(sizes, hits, before, hits_before, strict=True):
        if h:
            i = np.arange(1, m + 1)
            among = (i - 1) * (h - 1) / max(m - 1, 1)
            total += float(h / m * np.sum((found + 1 + among) / (n + i)))
    return total / int(hits.sum())


def _mean_precision_at(k: int, sizes: IntArray, hits: IntArray) -> float:
    """Precision among the first k pairs, averaged over the orders of tied pairs."""
    before = np.cumsum(sizes) - sizes
    taken = np.clip(k - before, 0, sizes)
    return float(np.sum(hits * taken / sizes)) / k


# -- pairs with names ----------------------------------------------------------------------------


def _links(predicted: Any, gene_names: Sequence[str] | None) -> pd.DataFrame:
    """Columns regulator, target and weight; each pair once, without self-links."""
    if isinstance(predicted, LinkOutputs):
        return predicted.links()
    if frame_kind(predicted) is not None:
        links = _pairs(predicted, ["regulator", "target", "weight"], "predicted")
        weights = pd.to_numeric(links["weight"], errors="coerce").astype(float)
        links = links.assign(weight=weights)
    else:
        weights = _square(np.asarray(predicted, dtype=float), "predicted")
        links = _flat(weights, _names(gene_names, len(weights)), "weight")
    if not np.isfinite(weights).all():
        raise ValueError("predicted has weights that are not finite numbers.")
    return links


def _truth(
    gold: Any, gene_names: Sequence[str] | None, regulators: Any, links: pd.DataFrame
) -> pd.DataFrame:
    """Columns regulator, target and is_link of the pairs that count."""
    names = None if gene_names is None else [str(name) for name in gene_names]
    if frame_kind(gold) is None:
        matrix = _square(np.asarray(gold), "gold")
        names = _names(gene_names, len(matrix))
        if not np.isin(matrix, (0, 1)).all():
            raise ValueError("gold must hold only 0 and 1, or truth values.")
        truth, genes = _flat(matrix.astype(bool), names, "is_link"), names
    else:
        columns = ["regulator", "target", "is_link"]
        truth = _pairs(gold, columns[: max(2, gold.shape[1])], "gold")
        genes = _genes(truth)
        if "is_link" in truth and not truth["is_link"].isin([0, 1]).all():
            raise ValueError("The third column of gold must be 0 or 1 for each pair.")
    _check_common_genes(links, genes)
    candidates = _candidate_names(regulators, names)
    if "is_link" not in truth:
        truth = _all_pairs(truth, links, candidates, names or [])
    truth = truth.assign(is_link=truth["is_link"].astype(bool))
    return truth if candidates is None else truth[truth["regulator"].isin(candidates)]


def _all_pairs(
    edges: pd.DataFrame,
    links: pd.DataFrame,
    candidates: Sequence[str] | None,
    gene_names: Sequence[str],
) -> pd.DataFrame:
    """Every candidate regulator with every other known gene."""
    both = pd.concat([edges, links[["regulator", "target"]]])
    rows = sorted({*(both["regulator"] if candidates is None else candidates)})
    genes = sorted({*_genes(both), *gene_names})
    pairs = pd.MultiIndex.from_product([rows, genes], names=["regulator", "target"])
    truth = pairs.to_frame(index=False).assign(is_link=pairs.isin(pd.MultiIndex.from_frame(edges)))
    return truth[truth["regulator"] != truth["target"]]


def _pairs(frame: Any, names: list[str], what: str) -> pd.DataFrame:
    """The first columns of a frame under these names; each pair once, without self-links."""
    columns = list(frame.columns)[: len(names)]
    if len(columns) < len(names):
        raise ValueError(f"{what} must have the columns {', '.join(names)}; it has {columns}.")
    named = zip(names, columns, strict=True)
    table = pd.DataFrame({name: np.asarray(frame[column]) for name, column in named})
    nameless = int(table[["regulator", "target"]].isna().any(axis=1).sum())
    if nameless:
        raise ValueError(
            f"{what} has {nameless} pair(s) without the name of a gene. To read a gene called 'NA' "
            "from a file, use pandas.read_csv(..., keep_default_na=False)."
        )
    table = table[table["regulator"] != table["target"]]
    twice = table[table.duplicated(["regulator", "target"])]
    if len(twice):
        pairs = list(zip(twice["regulator"], twice["target"], strict=True))
        raise ValueError(f"{what} lists {len(twice)} pair(s) more than once: {listed(pairs)}.")
    return table


def _flat(matrix: Any, names: Sequence[str], value: str) -> pd.DataFrame:
    rows, columns = np.nonzero(~np.eye(len(names), dtype=bool))
    array = np.array(names, dtype=object)
    return pd.DataFrame(
        {"regulator": array[rows], "target": array[columns], value: matrix[rows, columns]}
    )


def _square(matrix: Any, what: str) -> Any:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{what} must be a matrix with one row and one column per gene, got shape "
            f"{matrix.shape}; for fewer regulators than genes pass a frame of links or a network."
        )
    return matrix


def _check_common_genes(links: pd.DataFrame, known: Iterable[str]) -> None:
    """Without a common gene, no pair would count as predicted, and scores would be random."""
    known = list(known)
    predicted = _genes(links)
    if predicted and not {*predicted} & {*known}:
        raise ValueError(
            f"predicted and gold have no gene in common: {listed(predicted)} against "
            f"{listed(known)}. Name the genes of a matrix with gene_names; of a table with one row "
            "per regulator pass the network or its links instead."
        )


def _genes(pairs: pd.DataFrame) -> list[Any]:
    """All genes of some pairs, each once."""
    return list(dict.fromkeys([*pairs["regulator"], *pairs["target"]]))


def _names(gene_names: Sequence[str] | None, n_genes: int) -> list[str]:
    if gene_names is None:
        return default_names(n_genes)
    names = [str(name) for name in gene_names]
    if len(names) != n_genes or len({*names}) != n_genes:
        raise ValueError(
            f"gene_names must name the {n_genes} genes of the matrix, each once; got {len(names)} "
            f"names, {len({*names})} of them different."
        )
    return names


def _candidate_names(regulators: Any, names: Sequence[str] | None) -> list[str] | None:
    """Candidate regulators by name; None if they are not restricted."""
    if regulators is None:
        return None
    if names is not None:
        return [names[j] for j in gene_positions(regulators, names, "regulators")]
    # Pairs without gene_names: genes are known by name only.
    if isinstance(regulators, str) or not all(isinstance(name, str) for name in regulators):
        raise TypeError(
            f"regulators must be a list of names, or pass gene_names; got {regulators!r}."
        )
    return list(regulators)

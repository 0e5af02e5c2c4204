"""How well links agree with a network that is known, by the rules of the DREAM challenges.

Pairs of a candidate regulator and another gene are ranked by weight. A pair that was not predicted
counts as one of weight 0. Pairs of equal weight have no order: what is reported is the mean over
all orders in which they could stand.
"""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.metrics import roc_auc_score

from randsub._tables import frame_kind
from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.network.expression import listed
from randsub.network.links import LinkOutputs


class NetworkScores(NamedTuple):
    """Agreement with a known network.

    Attributes
    ----------
    aupr : float
        Area under the precision-recall curve: the mean, over the true links, of the precision
        among the pairs that are ranked as high or higher (average precision). A random ranking has
        ``n_edges / n_pairs``.
    auroc : float
        Area under the ROC curve; a random ranking has 0.5.
    early_precision : float
        Share of true links among the first ``n_edges`` pairs.
    n_edges : int
        True links among the pairs.
    n_pairs : int
        Pairs that were ranked.
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
        A list of links (regulator, target and weight, in the first three columns), a network, or
        weights of shape (n_genes, n_genes) with a row for each regulator. Pairs that a list does
        not mention have weight 0, or its lowest weight where that is negative. A network is only
        asked about its own regulators and targets; to a list every pair of ``gold`` is put, also
        those that were no candidates.
    gold : pandas or polars frame, array-like or sparse matrix of shape (n_genes, n_genes)
        The truth. A matrix says in row i and column j whether gene i regulates gene j. A frame
        lists pairs (regulator, target) in its first two columns; with a third column of 0 and 1,
        as in DREAM's files, only the listed pairs count, else the listed pairs are the links and
        all other pairs of the genes are none.
    gene_names : sequence of str, default=None
        Names of the rows and columns of matrices; by default ``"G1"``, ``"G2"``, ...
    regulators : sequence of str or int, or bool array, default=None
        Candidate regulators: only links from these count. Names, rows of the matrices, or a mask
        over these rows. By default those of a network; else all genes of a gold matrix; with a list
        of true links, the genes that regulate in it or in ``predicted``.

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
    _check_same_size(predicted, gold)
    if isinstance(predicted, LinkOutputs):
        own = predicted._weights()
        truth = truth[truth["target"].isin(own.targets)]
        if regulators is None:
            truth = truth[truth["regulator"].isin(own.regulators)]
    # Where weights go below 0, what was not predicted ranks no higher than the lowest of them.
    lowest = min(0.0, float(links["weight"].min())) if len(links) else 0.0
    weight = links.set_index(["regulator", "target"])["weight"]
    weights = weight.reindex(pd.MultiIndex.from_frame(truth[["regulator", "target"]]))
    return score_pairs(weights.fillna(lowest).to_numpy(), truth["is_link"].to_numpy())


def score_pairs(weights: FloatArray, is_link: BoolArray) -> NetworkScores:
    """Scores of weights (n_pairs,) against the truth (n_pairs,) about the same pairs."""
    n_edges, n_pairs = int(is_link.sum()), len(is_link)
    if not 0 < n_edges < n_pairs:
        raise ValueError(
            f"The gold standard has {n_edges} links among {n_pairs} candidate pairs; a score needs "
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
    """Number of pairs, and of links among them, at each weight, the largest first."""
    _, level = np.unique(-weights, return_inverse=True)
    return np.bincount(level), np.bincount(level, weights=is_link).astype(np.intp)


def _mean_average_precision(sizes: IntArray, hits: IntArray) -> float:
    """Average precision, averaged over the orders of pairs of equal weight.

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
    """Precision among the first k pairs, averaged over the orders of pairs of equal weight."""
    before = np.cumsum(sizes) - sizes
    taken = np.clip(k - before, 0, sizes)
    return float(np.sum(hits * taken / sizes)) / k


# -- pairs with names ----------------------------------------------------------------------------


def _links(predicted: Any, gene_names: Sequence[str] | None) -> pd.DataFrame:
    """Columns regulator, target and weight; no pair twice, no gene with itself."""
    if isinstance(predicted, LinkOutputs):
        return predicted.links()
    if frame_kind(predicted) is not None:
        frame = _first_columns(predicted, ["regulator", "target", "weight"], "predicted")
        weight = pd.to_numeric(frame["weight"], errors="coerce").astype(float)
        if not np.isfinite(weight).all():
            raise ValueError("predicted has weights that are not finite numbers.")
        return _each_pair_once(frame.assign(weight=weight), "predicted")
    weights = np.asarray(predicted, dtype=float)
    _check_square(weights, "predicted")
    if not np.isfinite(weights).all():
        raise ValueError("predicted has weights that are not finite numbers.")
    return _flat(weights, _names(gene_names, len(weights)), "weight")


def _truth(
    gold: Any, gene_names: Sequence[str] | None, regulators: Any, links: pd.DataFrame
) -> pd.DataFrame:
    """Columns regulator, target and is_link of the pairs that count."""
    listed_names = None if gene_names is None else [str(name) for name in gene_names]
    if frame_kind(gold) is None:
        matrix = np.asarray(gold)
        _check_square(matrix, "gold")
        names = _names(gene_names, len(matrix))
        if not np.isin(matrix, (0, 1)).all():
            raise ValueError("gold must hold 0 and 1, or truth values, and nothing else.")
        truth = _flat(matrix.astype(bool), names, "is_link")
        _check_common_genes(links, names)
        candidates = _candidate_names(regulators, names)
    elif gold.shape[1] >= 3:
        truth = _first_columns(gold, ["regulator", "target", "is_link"], "gold")
        if not truth["is_link"].isin([0, 1]).all():
            raise ValueError("The third column of gold must say 0 or 1 for each pair.")
        truth = _each_pair_once(truth.assign(is_link=truth["is_link"].astype(bool)), "gold")
        _check_common_genes(links, _genes(truth))
        candidates = _candidate_names(regulators, listed_names)
    else:
        edges = _each_pair_once(_first_columns(gold, ["regulator", "target"], "gold"), "gold")
        _check_common_genes(links, _genes(edges))
        candidates = _candidate_names(regulators, listed_names)
        truth = _all_pairs(edges, links, candidates, gene_names)
    if candidates is not None:
        truth = truth[truth["regulator"].isin(candidates)]
    return truth


def _all_pairs(
    edges: pd.DataFrame,
    links: pd.DataFrame,
    candidates: Sequence[str] | None,
    gene_names: Sequence[str] | None,
) -> pd.DataFrame:
    """Every candidate regulator with every other gene that is known of."""
    both = pd.concat([edges[["regulator", "target"]], links[["regulator", "target"]]])
    rows = sorted({*both["regulator"]} if candidates is None else {*candidates})
    genes = {*_genes(both), *(() if gene_names is None else map(str, gene_names))}
    pairs = pd.MultiIndex.from_product([rows, sorted(genes)], names=["regulator", "target"])
    is_link = pairs.isin(pd.MultiIndex.from_frame(edges[["regulator", "target"]]))
    truth = pairs.to_frame(index=False).assign(is_link=is_link)
    return truth[truth["regulator"] != truth["target"]]


def _first_columns(frame: Any, names: list[str], what: str) -> pd.DataFrame:
    """The first few columns of a frame under the names they go by here, without self-links."""
    if frame.shape[1] < len(names):
        raise ValueError(
            f"{what} must have the columns {', '.join(names)}; it has {list(frame.columns)}."
        )
    columns = list(frame.columns)[: len(names)]
    table = pd.DataFrame(
        {name: np.asarray(frame[c]) for name, c in zip(names, columns, strict=True)}
    )
    nameless = int(table[["regulator", "target"]].isna().any(axis=1).sum())
    if nameless:
        raise ValueError(
            f"{what} has {nameless} pair(s) without the name of a gene. A file with a gene called "
            "'NA' is read as it is by pandas.read_csv(..., keep_default_na=False)."
        )
    return table[table["regulator"] != table["target"]]


def _each_pair_once(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    twice = frame[frame.duplicated(["regulator", "target"])]
    if len(twice):
        pairs = list(zip(twice["regulator"], twice["target"], strict=True))
        raise ValueError(f"{what} lists {len(twice)} pair(s) more than once: {listed(pairs)}.")
    return frame


def _flat(matrix: Any, names: Sequence[str], value: str) -> pd.DataFrame:
    rows, columns = np.nonzero(~np.eye(len(names), dtype=bool))
    array = np.array(names, dtype=object)
    return pd.DataFrame(
        {"regulator": array[rows], "target": array[columns], value: matrix[rows, columns]}
    )


def _check_square(matrix: Any, what: str) -> None:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{what} must be a matrix with a row and a column for each gene, got shape "
            f"{matrix.shape}; for fewer regulators than genes pass a frame of links or a network."
        )


def _check_same_size(predicted: Any, gold: Any) -> None:
    """Two matrices have rows for the same genes."""
    if isinstance(predicted, LinkOutputs) or any(frame_kind(t) for t in (predicted, gold)):
        return
    if np.shape(gold) != np.shape(predicted):
        raise ValueError(
            f"predicted has the shape {np.shape(predicted)}, but gold {np.shape(gold)}; both "
            "matrices must have a row and a column for each gene."
        )


def _check_common_genes(links: pd.DataFrame, known: Iterable[str]) -> None:
    """Links between strangers would all count as not predicted: a random score and no complaint."""
    known = list(known)
    predicted = _genes(links)
    if predicted and not {*predicted} & {*known}:
        raise ValueError(
            f"predicted and gold have no gene in common: {listed(predicted)} against "
            f"{listed(known)}. Name the genes of a matrix with gene_names; of a table with a row "
            "for each regulator pass the network or its links instead."
        )


def _genes(pairs: pd.DataFrame) -> list[Any]:
    """All genes of some pairs, each once."""
    return list(dict.fromkeys([*pairs["regulator"], *pairs["target"]]))


def _names(gene_names: Sequence[str] | None, n_genes: int) -> list[str]:
    if gene_names is None:
        return [f"G{j + 1}" for j in range(n_genes)]
    names = [str(name) for name in gene_names]
    if len(names) != n_genes or len({*names}) != n_genes:
        raise ValueError(
            f"gene_names must name the {n_genes} genes of the matrix, each once; got {len(names)} "
            f"names, {len({*names})} of them different."
        )
    return names


def _candidate_names(regulators: Any, names: Sequence[str] | None) -> list[str] | None:
    """Candidate regulators by name; None where nobody has restricted them."""
    if regulators is None:
        return None
    if isinstance(regulators, str):
        raise TypeError(
            f"regulators must be a list of genes, got the single string {regulators!r}."
        )
    chosen = list(regulators)
    if chosen and all(isinstance(one, bool | np.bool_) for one in chosen):
        if names is None or len(chosen) != len(names):
            raise ValueError(
                f"regulators as a mask must have one entry for each of the {len(names or ())} "
                f"genes of a matrix, got {len(chosen)}."
            )
        return [name for name, taken in zip(names, chosen, strict=True) if taken]
    if all(isinstance(name, str) for name in chosen):
        unknown = [name for name in chosen if names is not None and name not in {*names}]
        if unknown:
            raise ValueError(f"regulators are not among the genes: {listed(unknown)}.")
        return chosen
    rows = range(len(names or ()))
    whole = all(isinstance(j, Integral) and not isinstance(j, bool) for j in chosen)
    if names is None or not whole or not all(j in rows for j in chosen):
        raise ValueError(
            f"regulators must be names, or rows of a matrix with {len(rows)} genes; got "
            f"{listed(chosen)}."
        )
    return [names[int(j)] for j in chosen]

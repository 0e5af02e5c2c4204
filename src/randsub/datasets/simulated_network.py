"""Simulated expression data with a known regulatory network.

Genes are regulators followed by targets. The steps, in order:

1. `draw_edges`: every gene gets a module, and every regulated gene a few regulators, most of them
   from its own module. A regulated regulator only has regulators that precede it, so the network
   has no cycles, and one pass in the order of the genes samples it exactly.
2. `_draw_responses`: the sign, strength, threshold and steepness of every edge.
3. `_express`: the pass itself. A gene without regulators is standard normal; a regulated gene is
   the sum, or the product, of the responses of its regulators, plus noise.

Expression is on a logarithmic scale, where the Hill function x^n / (k^n + x^n) of a concentration
x = exp(u) is the logistic function of n (u - log k).
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit
from sklearn.utils import check_random_state

from randsub._sklearn import Interval, StrOptions
from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.datasets.parameters import Seed, validated

# Nodes of the quadrature for mean and variance of a response: four correct digits for the steepest.
_NODES = 60


@dataclass(frozen=True, eq=False)
class RegulatoryNetwork:
    """Expression of genes and the network that generated it.

    Attributes
    ----------
    expression : ndarray of shape (n_samples, n_genes), float64
        Log expression, where each gene has about mean 0 and variance 1 (:func:`make_network`), or
        concentrations (:func:`make_kinetic_network`).
    gene_names : tuple of str, of length n_genes
        ``"R1"``, ``"R2"``, ... for regulators and ``"T1"``, ``"T2"``, ... for the other genes.
    regulators : ndarray of shape (n_regulators,), int
        Columns of the genes that may regulate others.
    modules : ndarray of shape (n_genes,), int
        Module of each gene, from 0.
    edges : ndarray of shape (n_edges, 2), int
        The links: ``edges[e] = (i, j)`` where gene i regulates gene j, ordered by j.
    signs : ndarray of shape (n_edges,), int
        +1 where the link activates, -1 where it represses.
    """

    expression: FloatArray
    gene_names: tuple[str, ...]
    regulators: IntArray
    modules: IntArray
    edges: IntArray
    signs: IntArray

    @cached_property
    def gold(self) -> BoolArray:
        """(n_genes, n_genes) bool: ``gold[i, j]`` tells whether gene i regulates gene j.

        Computed at the first access and cached; it takes 400 MB for 20,000 genes.
        """
        n_genes = len(self.gene_names)
        gold = np.zeros((n_genes, n_genes), dtype=np.bool_)
        gold[self.edges[:, 0], self.edges[:, 1]] = True
        return gold

    def __repr__(self) -> str:
        n_samples, n_genes = self.expression.shape
        return (
            f"RegulatoryNetwork(n_samples={n_samples}, n_genes={n_genes}, "
            f"n_regulators={len(self.regulators)}, n_edges={len(self.edges)})"
        )


@dataclass(frozen=True, eq=False)
class _Responses:
    """Response of each edge: sign * strength * h(u), standardized.

    All arrays have shape (n_edges,). `mean` and `variance` are those of h of a standard normal u.
    """

    kind: str
    signs: IntArray
    strength: FloatArray
    threshold: FloatArray
    steepness: FloatArray
    mean: FloatArray
    variance: FloatArray

    def values(self, u: FloatArray, edges: slice) -> FloatArray:
        """Responses of some edges, (n_samples, n_edges), to the expression of their regulators."""
        return _response(self.kind, u, self.threshold[edges], self.steepness[edges])


def _response(kind: str, u: FloatArray, threshold: FloatArray, steepness: FloatArray) -> FloatArray:
    if kind == "linear":
        return u
    if kind == "bell":
        return np.exp(-0.5 * (steepness * (u - threshold)) ** 2)
    return expit(steepness * (u - threshold))


def _draw_regulators(
    inside: IntArray,
    outside: IntArray,
    count: int,
    modularity: float,
    weights: FloatArray | None,
    rng: np.random.RandomState,
) -> IntArray:
    """Distinct regulators of one gene, each from its own module with probability `modularity`.

    Where one side has too few, the other makes up for it. `weights` are those of all regulators in
    the draw; None if they are equal.
    """
    n_inside = rng.binomial(count, modularity)
    n_inside = min(max(n_inside, count - len(outside)), len(inside))
    chosen = [
        rng.choice(side, n, replace=False, p=None if weights is None else _shares(weights[side]))
        for side, n in ((inside, n_inside), (outside, count - n_inside))
    ]
    return np.sort(np.concatenate(chosen))


def _shares(weights: FloatArray) -> FloatArray | None:
    return weights / weights.sum() if len(weights) else None


def draw_edges(
    modules: IntArray,
    n_regulators: int,
    regulated: IntArray,
    counts: tuple[int, int],
    modularity: float,
    weights: FloatArray | None,
    rng: np.random.RandomState,
    *,
    feedback: bool = False,
) -> IntArray:
    """Regulator and gene of each edge, (n_edges, 2), for the genes of `regulated` in this order.

    With `feedback` any other regulator may regulate a regulator, otherwise those that precede it.
    """
    members = [np.flatnonzero(modules[:n_regulators] == m) for m in range(modules.max() + 1)]
    others = [np.flatnonzero(modules[:n_regulators] != m) for m in range(modules.max() + 1)]
    fewest, most = counts
    edges = []
    for gene in regulated:
        # Regulators stand before all targets.
        inside, outside = (
            candidates[candidates != gene if feedback else candidates < gene]
            for candidates in (members[modules[gene]], others[modules[gene]])
        )
        count = min(rng.randint(fewest, most + 1), len(inside) + len(outside))
        chosen = _draw_regulators(inside, outside, count, modularity, weights, rng)
        edges.append(np.column_stack([chosen, np.full(count, gene)]))
    return np.concatenate(edges)


def draw_regulated(
    n_regulators: int, n_targets: int, fraction: float, rng: np.random.RandomState
) -> IntArray:
    """Genes that are regulated: a fraction of the regulators but the first, and all targets."""
    n_regulated = round(fraction * (n_regulators - 1))
    regulated = np.sort(1 + rng.permutation(n_regulators - 1)[:n_regulated])
    return np.append(regulated, np.arange(n_regulators, n_regulators + n_targets))


def hub_weights(n_regulators: int, hubs: float, rng: np.random.RandomState) -> FloatArray | None:
    """Weights of the regulators in the draw of edges; None, and nothing drawn, if all are equal."""
    return (1.0 + rng.permutation(n_regulators)) ** -float(hubs) if hubs else None


def gene_names(n_regulators: int, n_targets: int) -> tuple[str, ...]:
    """R1, R2, ... and T1, T2, ..."""
    regulators = [f"R{i + 1}" for i in range(n_regulators)]
    return (*regulators, *(f"T{i + 1}" for i in range(n_targets)))


def _draw_responses(
    kind: str, n_edges: int, repression: float, rng: np.random.RandomState
) -> _Responses:
    signs = np.where(rng.uniform(size=n_edges) < repression, -1, 1)
    strength = rng.uniform(0.5, 1.0, n_edges)
    threshold = rng.uniform(-1.0, 1.0, n_edges)
    steepness = rng.uniform(1.0, 4.0, n_edges)
    nodes, weights = hermegauss(_NODES)
    weights = weights / weights.sum()
    values = _response(kind, nodes, threshold[:, None], steepness[:, None])
    values = np.broadcast_to(values, (n_edges, _NODES))
    mean = values @ weights
    variance = (values - mean[:, None]) ** 2 @ weights
    return _Responses(kind, signs, strength, threshold, steepness, mean, variance)


def _express(
    innovations: FloatArray, edges: IntArray, responses: _Responses, noise: float
) -> FloatArray:
    """Expression (n_samples, n_genes) from one standard normal for each sample and gene."""
    expression = innovations.copy()
    genes, begins = np.unique(edges[:, 1], return_index=True)
    ends = np.append(begins[1:], len(edges))
    combine = _product if responses.kind == "product" else _sum
    for gene, begin, end in zip(genes, begins, ends, strict=True):
        mine = slice(begin, end)
        signal = combine(responses, expression[:, edges[mine, 0]], mine)
        expression[:, gene] = np.sqrt(1 - noise) * signal + np.sqrt(noise) * innovations[:, gene]
    return expression


def _sum(responses: _Responses, drivers: FloatArray, mine: slice) -> FloatArray:
    """Sum of responses, of variance 1 where the regulators are independent standard normals."""
    weights = responses.signs[mine] * responses.strength[mine]
    active = responses.values(drivers, mine) - responses.mean[mine]
    scale = np.sqrt(np.sum(weights**2 * responses.variance[mine]))
    return np.sum(active * (weights / scale), axis=1)


def _product(responses: _Responses, drivers: FloatArray, mine: slice) -> FloatArray:
    """Product of h, or of 1 - h where a link represses, of variance 1 in the same case."""
    is_active = responses.signs[mine] > 0
    values, mean = responses.values(drivers, mine), responses.mean[mine]
    values, mean = np.where(is_active, values, 1 - values), np.where(is_active, mean, 1 - mean)
    of_product = np.prod(mean)
    variance = np.prod(mean**2 + responses.variance[mine]) - of_product**2
    return (np.prod(values, axis=1) - of_product) / np.sqrt(variance)


def check_counts(regulators_per_gene: int | tuple[int, int], n_regulators: int) -> tuple[int, int]:
    """The fewest and the most regulators of a gene."""
    given = regulators_per_gene
    counts = (given, given) if isinstance(given, Integral) else tuple(given)  # type: ignore[arg-type]
    whole = len(counts) == 2 and all(isinstance(count, Integral) for count in counts)
    if not (whole and 1 <= counts[0] <= counts[1] <= n_regulators):
        raise ValueError(
            "regulators_per_gene must be a number of regulators, or the smallest and the largest "
            f"number, between 1 and n_regulators={n_regulators}; got {regulators_per_gene!r}."
        )
    return int(counts[0]), int(counts[1])


@validated(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_regulators": [Interval(Integral, 1, None, closed="left")],
        "n_targets": [Interval(Integral, 1, None, closed="left")],
        "n_modules": [Interval(Integral, 1, None, closed="left")],
        "regulators_per_gene": [Integral, tuple, list],
        "modularity": [Interval(Real, 0, 1, closed="both")],
        "regulated_fraction": [Interval(Real, 0, 1, closed="both")],
        "repression": [Interval(Real, 0, 1, closed="both")],
        "noise": [Interval(Real, 0, 1, closed="both")],
        "hubs": [Interval(Real, 0, None, closed="left")],
        "response": [StrOptions({"sigmoid", "linear", "bell", "product"})],
        "confounding": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }
)
def make_network(
    n_samples: int = 200,
    n_regulators: int = 100,
    n_targets: int = 1000,
    *,
    n_modules: int = 10,
    regulators_per_gene: int | tuple[int, int] = (1, 4),
    modularity: float = 0.9,
    regulated_fraction: float = 0.0,
    repression: float = 0.5,
    noise: float = 0.2,
    hubs: float = 0.0,
    response: Literal["sigmoid", "linear", "bell", "product"] = "sigmoid",
    confounding: float = 0.0,
    random_state: Seed = None,
) -> RegulatoryNetwork:
    """Simulate expression data of a sparse, modular regulatory network.

    Genes are regulators, followed by targets. Every target has a few regulators, most of them from
    its own module, and responds to each of them along a sigmoid curve::

        u_j = sqrt(1 - noise) * sum_i w_ij (h_ij(u_i) - E h_ij) / s_j + sqrt(noise) * N(0, 1)
        h_ij(u) = 1 / (1 + exp(-n_ij (u - k_ij)))

    where u is log expression, so that h is the Hill function of expression itself, and s_j scales
    the sum to variance 1. Regulators without regulators are independent standard normals.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples (cells, conditions), at least 2. The network does not depend on it.
    n_regulators : int, default=100
        Number of genes that may regulate others, at least 1.
    n_targets : int, default=1000
        Number of further genes, which regulate nothing, at least 1.
    n_modules : int, default=10
        Number of modules, at most `n_regulators`. Regulators and targets are assigned to them in
        turn, so their sizes differ by at most one of each.
    regulators_per_gene : int or (int, int), default=(1, 4)
        Number of regulators of each regulated gene, or the smallest and largest number, between
        which it is drawn uniformly. A regulated regulator has fewer if fewer precede it.
    modularity : float, default=0.9
        Probability that a regulator of a gene is from the gene's own module, as far as both sides
        have enough regulators.
    regulated_fraction : float, default=0.0
        Fraction of the regulators, without the first, that are themselves regulated, by regulators
        that precede them; so the network has no cycles.
    repression : float, default=0.5
        Probability that a link represses: w_ij is negative.
    noise : float, default=0.2
        Fraction of the variance of a regulated gene that is noise.
    hubs : float, default=0.0
        How unequal regulators are: the probability that a regulator is drawn is proportional to
        k ** -hubs, where k = 1, 2, ... are their places in a random order. With 0 they are equal.
    response : {"sigmoid", "linear", "bell", "product"}, default="sigmoid"
        Response to a regulator: the sigmoid curve h above; the line h(u) = u; the bell curve
        h(u) = exp(-n ** 2 (u - k) ** 2 / 2), which rises and falls; or sigmoid curves of which the
        gene is the product (1 - h for repressors) and not the sum, like a logical AND.
    confounding : float, default=0.0
        Fraction of the variance of every measured gene that is a hidden factor common to all, such
        as a batch, with a random sign for each gene; below 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. The same integer gives the same data.

    Returns
    -------
    network : RegulatoryNetwork
        With `expression` (n_samples, n_genes), `gene_names`, `regulators`, `modules`, `edges`,
        `signs` and `gold` (n_genes, n_genes).

    Notes
    -----
    The absolute values of w_ij are uniform on [0.5, 1], the thresholds k_ij on [-1, 1] and the
    steepnesses n_ij on [1, 4]. The variance of 1 is exact for genes whose regulators have no
    regulators; regulators that share regulators are correlated, and the variance of a gene below
    them differs somewhat from 1.

    Examples
    --------
    >>> from randsub.datasets import make_network
    >>> network = make_network(50, n_regulators=10, n_targets=40, n_modules=2, random_state=0)
    >>> network.expression.shape, network.gold.shape
    ((50, 50), (50, 50))
    >>> network.gene_names[0], network.gene_names[10]
    ('R1', 'T1')
    >>> bool(network.gold[10:].any())  # targets regulate nothing
    False
    """
    if n_modules > n_regulators:
        raise ValueError(
            f"n_modules={n_modules} is more than n_regulators={n_regulators}, and every module "
            "needs a regulator: use fewer modules."
        )
    counts = check_counts(regulators_per_gene, n_regulators)
    rng = check_random_state(random_state)
    n_genes = n_regulators + n_targets
    modules = np.concatenate([np.arange(n_regulators), np.arange(n_targets)]) % n_modules
    regulated = draw_regulated(n_regulators, n_targets, regulated_fraction, rng)
    weights = hub_weights(n_regulators, hubs, rng)
    edges = draw_edges(modules, n_regulators, regulated, counts, modularity, weights, rng)
    responses = _draw_responses(response, len(edges), repression, rng)
    innovations = rng.standard_normal((n_samples, n_genes))
    expression = _express(innovations, edges, responses, noise)
    if confounding:
        factor = rng.standard_normal((n_samples, 1)) * rng.choice([-1.0, 1.0], n_genes)
        expression = np.sqrt(1 - confounding) * expression + np.sqrt(confounding) * factor
    return RegulatoryNetwork(
        expression=expression,
        gene_names=gene_names(n_regulators, n_targets),
        regulators=np.arange(n_regulators),
        modules=modules,
        edges=edges,
        signs=responses.signs,
    )

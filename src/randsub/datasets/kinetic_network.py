"""Simulated expression data of a network of chemical reactions, in many perturbed steady states.

The genes of :func:`randsub.datasets.make_network` respond once, in order. Here they respond to each
other all the time: there may be cycles, noise of one gene reaches the genes that it regulates, and
regulators work together. The steps, in order:

1. `simulated_network.draw_edges`: which gene regulates which.
2. `_draw_kinetics`: how. The regulators of a gene are divided into switches; a switch is on if all
   of its activators are bound to the gene and none of its repressors is.
3. `_settled`: the concentrations where production and decay balance, for each sample.
4. `_moving`: some lifetimes of a stochastic differential equation from there.
"""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

from randsub._sklearn import Interval
from randsub._typing import FloatArray, IntArray
from randsub.datasets.parameters import Seed, validated
from randsub.datasets.simulated_network import (
    RegulatoryNetwork,
    check_counts,
    draw_edges,
    draw_regulated,
    gene_names,
    hub_weights,
)

# Steps of the two integrations, and how long they take, in lifetimes of a molecule.
_STEP, _LONGEST = 0.1, 100.0
_NOISY_STEP, _NOISY_TIME = 0.02, 6.0
# The state is steady where concentrations change by less in a lifetime.
_STEADY = 1e-9
# Lowest concentration and production: the logarithm must be finite.
_LOWEST = 1e-6


@dataclass(frozen=True, eq=False)
class _Kinetics:
    """Rates of production: f_j(x) = basal_j + sum over its switches k of effect_k m_k(x).

    Attributes
    ----------
    edges : ndarray of shape (n_edges, 2)
        Regulator and gene, those of a switch together.
    directions : ndarray of shape (n_edges,)
        +1 for an activator of the switch, -1 for a repressor.
    threshold, steepness : ndarray of shape (n_edges,)
        k and n of the Hill function x^n / (k^n + x^n).
    begins : ndarray of shape (n_switches,)
        First edge of each switch.
    effect : ndarray of shape (n_switches,)
    basal : ndarray of shape (n_genes,)
    """

    edges: IntArray
    directions: IntArray
    threshold: FloatArray
    steepness: FloatArray
    begins: IntArray
    effect: FloatArray
    basal: FloatArray

    def production(self, x: FloatArray, change: FloatArray) -> FloatArray:
        """Rates (n_samples, n_genes) at concentrations x, the basal ones changed, never below 0."""
        u = np.log(np.maximum(x[:, self.edges[:, 0]], _LOWEST)) - np.log(self.threshold)
        bound = expit(self.directions * self.steepness * u)
        on = np.multiply.reduceat(bound, self.begins, axis=1)
        rates = self.basal + change
        genes = self.edges[self.begins, 1]
        first = np.flatnonzero(np.r_[True, genes[1:] != genes[:-1]])
        rates[:, genes[first]] += np.add.reduceat(on * self.effect, first, axis=1)
        return np.maximum(rates, _LOWEST)

    def signs(self) -> IntArray:
        """+1 where more of a regulator makes more of the gene, -1 where it makes less."""
        switch = np.repeat(
            np.arange(len(self.begins)), np.diff(self.begins, append=len(self.edges))
        )
        return (self.directions * np.sign(self.effect[switch])).astype(np.int64)


def _draw_kinetics(
    edges: IntArray, n_genes: int, repression: float, cooperation: float, rng: np.random.RandomState
) -> _Kinetics:
    """Parameters of all reactions; production at full activity is between 0.6 and 1."""
    n_edges = len(edges)
    # Whether an edge opens a switch, or joins that of the one before it; those of a gene follow
    # each other.
    is_new = np.r_[True, edges[1:, 1] != edges[:-1, 1]]
    is_new |= rng.uniform(size=n_edges) >= cooperation
    begins = np.flatnonzero(is_new)
    # The first edge of a switch activates it: its sign is that of the effect of the switch.
    directions = np.where(is_new | (rng.uniform(size=n_edges) >= repression), 1, -1)
    genes = edges[begins, 1]
    effect = rng.uniform(0.25, 1.0, len(begins))
    effect[rng.uniform(size=len(begins)) < repression] *= -1.0
    up, down = np.zeros(n_genes), np.zeros(n_genes)
    np.add.at(up, genes, np.maximum(effect, 0.0))
    np.add.at(down, genes, np.maximum(-effect, 0.0))
    # All states of the switches of a gene are between its lowest rate and that plus its range.
    extent = rng.uniform(0.6, 1.0, n_genes)
    lowest = rng.uniform(0.0, 1.0, n_genes) * (1.0 - extent)
    total = np.maximum(up + down, _LOWEST)
    is_free = up + down == 0.0
    basal = np.where(is_free, rng.uniform(0.2, 0.8, n_genes), lowest + extent * down / total)
    return _Kinetics(
        edges=edges,
        directions=directions,
        threshold=rng.uniform(0.1, 0.9, n_edges),
        steepness=np.clip(rng.normal(2.0, 2.0, n_edges), 1.0, 10.0),
        begins=begins,
        effect=effect * (extent / total)[genes],
        basal=basal,
    )


def _settled(kinetics: _Kinetics, change: FloatArray) -> FloatArray:
    """Steady state of dx/dt = f(x) - x, or where x is after a long time, if it has none."""
    x = np.maximum(kinetics.basal + change, _LOWEST)
    for _ in range(round(_LONGEST / _STEP)):
        move = kinetics.production(x, change) - x
        x = x + _STEP * move
        if np.abs(move).max() < _STEADY:
            break
    return x


def _moving(
    kinetics: _Kinetics, x: FloatArray, change: FloatArray, noise: float, rng: np.random.RandomState
) -> FloatArray:
    """X after some lifetimes of dx = (f(x) - x) dt + noise (sqrt(f(x)) dW + sqrt(x) dV)."""
    for _ in range(round(_NOISY_TIME / _NOISY_STEP)):
        made = kinetics.production(x, change)
        spread = noise * np.sqrt(_NOISY_STEP * (made + x))
        x = x + _NOISY_STEP * (made - x) + spread * rng.standard_normal(x.shape)
        x = np.maximum(x, 0.0)
    return x


@validated(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_regulators": [Interval(Integral, 1, None, closed="left")],
        "n_targets": [Interval(Integral, 1, None, closed="left")],
        "regulators_per_gene": [Integral, tuple, list],
        "regulated_fraction": [Interval(Real, 0, 1, closed="both")],
        "feedback": ["boolean"],
        "hubs": [Interval(Real, 0, None, closed="left")],
        "repression": [Interval(Real, 0, 1, closed="both")],
        "cooperation": [Interval(Real, 0, 1, closed="both")],
        "perturbation": [Interval(Real, 0, 1, closed="both")],
        "molecular_noise": [Interval(Real, 0, 1, closed="both")],
        "measurement_noise": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }
)
def make_kinetic_network(
    n_samples: int = 100,
    n_regulators: int = 40,
    n_targets: int = 60,
    *,
    regulators_per_gene: int | tuple[int, int] = (1, 4),
    regulated_fraction: float = 0.8,
    feedback: bool = True,
    hubs: float = 1.0,
    repression: float = 0.4,
    cooperation: float = 0.5,
    perturbation: float = 0.1,
    molecular_noise: float = 0.05,
    measurement_noise: float = 0.05,
    random_state: Seed = None,
) -> RegulatoryNetwork:
    r"""Simulate expression data by reaction kinetics, one perturbed steady state per sample.

    Concentrations x follow production and decay,

    .. math:: dx_j = (f_j(x) - x_j) dt
        + c \left(\sqrt{f_j(x)} \, dW_j + \sqrt{x_j} \, dV_j\right), \qquad
        f_j(x) = b_j + \delta_j + \sum_k e_{jk} \prod_{i \in A_k} h_{ik}(x_i)
        \prod_{i \in R_k} (1 - h_{ik}(x_i))

    with Hill functions :math:`h(x) = x^n / (\kappa^n + x^n)`. The regulators of a gene belong to
    switches k, each with activators :math:`A_k` and repressors :math:`R_k`, which raise or lower
    the production. Every sample has its own small changes :math:`\delta` of all production rates,
    as if many unknown conditions had changed a little. It is measured when the concentrations have
    settled.

    Unlike in :func:`make_network`, regulators act together, genes may regulate each other in
    cycles, and the noise of a gene reaches the genes below it.

    Parameters
    ----------
    n_samples : int, default=100
        Number of samples, at least 2. The network does not depend on it.
    n_regulators : int, default=40
        Number of genes that may regulate others.
    n_targets : int, default=60
        Number of further genes, which regulate nothing.
    regulators_per_gene : int or (int, int), default=(1, 4)
        Number of regulators of each regulated gene, or the smallest and largest number, between
        which it is drawn uniformly. A gene has fewer if there are not as many.
    regulated_fraction : float, default=0.8
        Fraction of the regulators, without the first, that are themselves regulated.
    feedback : bool, default=True
        Whether any other regulator may regulate a regulator. Otherwise only those that precede it
        may, and there are no cycles.
    hubs : float, default=1.0
        How unequal regulators are, see :func:`make_network`.
    repression : float, default=0.4
        Probability that a switch lowers the production, and that a regulator which joins a switch
        represses it.
    cooperation : float, default=0.5
        Probability that a regulator joins the switch of the previous one, and not one of its own.
    perturbation : float, default=0.1
        Standard deviation of :math:`\delta`; production at full activity is between 0.6 and 1.
    molecular_noise : float, default=0.05
        c. A gene without regulators has the standard deviation :math:`c \sqrt{x}`.
    measurement_noise : float, default=0.05
        Standard deviation of what is added to the logarithm of each concentration.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. The same integer gives the same data.

    Returns
    -------
    network : RegulatoryNetwork
        Its `expression` (n_samples, n_genes) are concentrations, and there is one module. A sign is
        that of the effect of more regulator on the production of the gene.

    Notes
    -----
    The thresholds :math:`\kappa` are uniform on [0.1, 0.9], the exponents n normal with mean and
    standard deviation 2, clipped to [1, 10]. A lifetime of a molecule is the unit of time; after
    the steady state without noise is reached, noise acts for six of them.

    Examples
    --------
    >>> from randsub.datasets import make_kinetic_network
    >>> network = make_kinetic_network(50, n_regulators=10, n_targets=40, random_state=0)
    >>> network.expression.shape, network.gold.shape
    ((50, 50), (50, 50))
    >>> bool((network.expression > 0).all())
    True
    """
    counts = check_counts(regulators_per_gene, n_regulators)
    rng = check_random_state(random_state)
    n_genes = n_regulators + n_targets
    regulated = draw_regulated(n_regulators, n_targets, regulated_fraction, rng)
    modules = np.zeros(n_genes, dtype=np.int64)
    weights = hub_weights(n_regulators, hubs, rng)
    edges = draw_edges(
        modules, n_regulators, regulated, counts, 1.0, weights, rng, feedback=feedback
    )
    # In a random order, so that hubs are in no particular place of a switch.
    edges = edges[np.lexsort((rng.uniform(size=len(edges)), edges[:, 1]))]
    kinetics = _draw_kinetics(edges, n_genes, repression, cooperation, rng)
    change = perturbation * rng.standard_normal((n_samples, n_genes))
    x = _settled(kinetics, change)
    if molecular_noise:
        x = _moving(kinetics, x, change, molecular_noise, rng)
    x = np.maximum(x, _LOWEST) * np.exp(measurement_noise * rng.standard_normal(x.shape))
    order = np.lexsort((edges[:, 0], edges[:, 1]))
    return RegulatoryNetwork(
        expression=x,
        gene_names=gene_names(n_regulators, n_targets),
        regulators=np.arange(n_regulators),
        modules=modules,
        edges=edges[order],
        signs=kinetics.signs()[order],
    )

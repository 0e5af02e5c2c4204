"""The truth for small problems: all subsets enumerated, and derivatives by finite differences.

Nothing here uses the formulas that are tested. Probabilities are plain products; the derivative of
an expectation in theta_j is ``E[. | z_j = 1] - E[. | z_j = 0]``, as an expectation over independent
coins is linear in each of them, so no score is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import issparse

from randsub._typing import Masks
from randsub.distributions import SubsetDistribution
from randsub.losses import CrossEntropy, Loss, MeanOverOutputs, SquaredError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def all_masks(n_features: int) -> Bools:
    """Every subset, shape (2 ** M, M); row r holds the binary digits of r."""
    rows = np.arange(2**n_features)[:, np.newaxis]
    return (rows >> np.arange(n_features)) & 1 == 1


def dense(masks: Masks) -> Bools:
    """Masks of either kind as a dense boolean array."""
    return (masks.toarray() if issparse(masks) else np.asarray(masks)) != 0


def index_of(masks: Masks) -> Ints:
    """Row of each mask in :func:`all_masks`."""
    return dense(masks) @ (1 << np.arange(masks.shape[1]))


def probabilities(theta: Floats) -> Floats:
    """Probability of every subset, as a plain product."""
    return np.prod(np.where(all_masks(len(theta)), theta, 1.0 - theta), axis=1)


def derivative_of_mean(values: Floats, theta: Floats) -> Floats:
    """Derivative in theta of the mean of values (2 ** M, ...), shape (M, ...)."""
    masks = all_masks(len(theta))
    p = probabilities(theta)
    rows = []
    for j in range(len(theta)):
        held = np.where(masks[:, j], p, 0.0) / theta[j]
        rest = np.where(masks[:, j], 0.0, p) / (1.0 - theta[j])
        rows.append(np.tensordot(held - rest, values, axes=1))
    return np.array(rows)


def finite_differences(
    function: Callable[[Floats], float], at: Floats, step: float = 1e-6
) -> Floats:
    """Central differences of a scalar function, in the shape of the argument."""
    slopes = np.empty(at.shape)
    for place in np.ndindex(at.shape):
        shift = np.zeros(at.shape)
        shift[place] = step
        slopes[place] = (function(at + shift) - function(at - shift)) / (2.0 * step)
    return slopes


def p_value_of_law(masks: Masks, expected: Floats) -> float:
    """Chi-square test of masks against the probability of every subset.

    A mask of probability 0 that does occur is a contradiction; subsets too rare for the
    approximation are taken together.
    """
    observed = np.bincount(index_of(masks), minlength=len(expected))
    if observed[expected == 0.0].any():
        return 0.0
    counts = expected * masks.shape[0]
    rare = counts < 8.0
    if counts[rare].sum() >= 8.0:
        observed = np.append(observed[~rare], observed[rare].sum())
        counts = np.append(counts[~rare], counts[rare].sum())
    else:
        observed, counts = observed[~rare], counts[~rare]
        counts = counts * observed.sum() / counts.sum()
    return float(stats.chisquare(observed, counts).pvalue)


@dataclass(frozen=True)
class Truth:
    """A learning problem whose models are a table: predictions (2 ** M, n, C) of every subset."""

    loss: Loss
    predictions: Floats
    targets: Floats
    sample_weight: Floats

    @property
    def n_features(self) -> int:
        return int(np.log2(len(self.predictions)))

    def output(self, theta: Floats) -> Floats:
        """Output of the infinite ensemble, (n, C)."""
        return np.tensordot(probabilities(theta), self.predictions, axes=1)

    def member_losses(self) -> Floats:
        """Loss of the model of every subset."""
        return np.array(
            [self.loss.value(self.targets, f, self.sample_weight) for f in self.predictions]
        )

    def objective(self, theta: Floats, kind: str) -> float:
        """Loss of the infinite ensemble, or expected loss of its members."""
        if kind == "members":
            return float(probabilities(theta) @ self.member_losses())
        return self.loss.value(self.targets, self.output(theta), self.sample_weight)

    def gradient(self, theta: Floats, kind: str) -> Floats:
        """Derivative of the objective in theta."""
        return derivative_of_mean(self.costs(theta, kind), theta)

    def costs(self, theta: Floats, kind: str) -> Floats:
        """What every subset adds to the objective, with dL/df at the infinite ensemble."""
        if kind == "members":
            return self.member_losses()
        slope = self.loss.gradient(self.targets, self.output(theta), self.sample_weight)
        return np.array([np.sum(slope * f) for f in self.predictions])


# Kind of each output or label, and how many there are.
SEVERAL = {"three outputs": ("regression", 3), "two labels": ("two classes", 2)}


def _make_several(kind: str, n_outputs: int, n_features: int, seed: int, n_samples: int) -> Truth:
    """Several outputs side by side, each a truth of its own."""
    parts = [make_truth(kind, n_features, seed + 37 * k, n_samples) for k in range(n_outputs)]
    rng = np.random.default_rng(seed)
    return Truth(
        MeanOverOutputs(parts[0].loss, n_outputs),
        np.concatenate([part.predictions for part in parts], axis=-1),
        np.concatenate([rng.permutation(part.targets) for part in parts], axis=-1),
        parts[0].sample_weight,
    )


def make_truth(kind: str, n_features: int, seed: int, n_samples: int = 6) -> Truth:
    """A table of predictions in which features matter and interact.

    Parameters
    ----------
    kind : {"regression", "two classes", "four classes", "three outputs", "two labels"}
    """
    if kind in SEVERAL:
        return _make_several(*SEVERAL[kind], n_features, seed, n_samples)
    rng = np.random.default_rng(seed)
    masks = all_masks(n_features).astype(float)
    n_outputs = {"regression": 1, "two classes": 2, "four classes": 4}[kind]
    shape = (n_samples, n_outputs)
    single = np.tensordot(masks, rng.normal(size=(n_features, *shape)), axes=1)
    pairs = (masks[:, :, np.newaxis] * masks[:, np.newaxis]).reshape(len(masks), -1)
    joint = np.tensordot(pairs, rng.normal(size=(n_features**2, *shape)), axes=1) / n_features
    raw = 0.7 * single + 0.5 * joint
    sample_weight = rng.uniform(0.2, 3.0, n_samples)
    if kind == "regression":
        targets = rng.normal(size=shape) + 1.0
        return Truth(SquaredError(), raw, targets, sample_weight)
    share = np.exp(raw - raw.max(axis=-1, keepdims=True))
    share = 0.9 * share / share.sum(axis=-1, keepdims=True) + 0.1 / n_outputs
    targets = np.eye(n_outputs)[np.arange(n_samples) % n_outputs]
    return Truth(CrossEntropy(clip=1e-3), share, targets, sample_weight)


class Chain(SubsetDistribution):
    """A family as a user would write it: only what the protocol asks for.

    A feature is drawn with probability theta_j after one that is held, and with half of that after
    one that is not; the first one has no predecessor. Coins are dependent and the score has three
    values, so nothing that is special to independent coins applies.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_columns = self.n_parameters = n_columns

    def sample(self, theta: Floats, n_masks: int, rng: np.random.Generator) -> Bools:
        masks = np.zeros((n_masks, self.n_columns), dtype=bool)
        former = np.ones(n_masks, dtype=bool)
        for j, level in enumerate(theta):
            former = rng.random(n_masks) < np.where(former, level, level / 2.0)
            masks[:, j] = former
        return masks

    def log_prob(self, masks: Masks, theta: Floats) -> Floats:
        held, chance = self._chances(masks, theta)
        return np.log(np.where(held, chance, 1.0 - chance)).sum(axis=1)

    def score(self, masks: Masks, theta: Floats) -> Floats:
        held, chance = self._chances(masks, theta)
        return chance / theta * np.where(held, 1.0 / chance, -1.0 / (1.0 - chance))

    def project(self, theta: Floats) -> Floats:
        return np.clip(theta, 0.01, 0.99)

    def column_parameters(self) -> Ints:
        return np.arange(self.n_columns)

    def _chances(self, masks: Masks, theta: Floats) -> tuple[Bools, Floats]:
        held = dense(masks)
        after = np.hstack([np.ones((len(held), 1), dtype=bool), held[:, :-1]])
        return held, np.where(after, theta, theta / 2.0)

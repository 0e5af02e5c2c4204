"""Rules that turn what a fit says of the links into what they are ranked by.

Each is a pure function of score matrices (n_targets, n_regulators) that are not negative. Pairs
that are no candidate links, where ``allowed`` is False, have score 0 and keep it.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from randsub._typing import BoolArray, FloatArray, IntArray


def mean_score(scores: Sequence[FloatArray]) -> FloatArray:
    """Mean of several matrices; a single one as it is."""
    total = scores[0]
    for other in scores[1:]:
        total = total + other
    return total / len(scores) if len(scores) > 1 else total


def mean_rank(scores: Sequence[FloatArray], allowed: BoolArray) -> FloatArray:
    """Mean over several matrices of the rank of each link among all.

    Ranks are in (0, 1], 1 for the largest score; equal scores share the mean of their ranks. So
    matrices of any units can be combined, and one with few large scores does not outvote others.
    """
    ranks = np.zeros(allowed.shape)
    ranks[allowed] = mean_score([rankdata(one[allowed]) for one in scores])
    return ranks / float(max(1, allowed.sum()))


def per_target(scores: FloatArray, allowed: BoolArray, how: str) -> FloatArray:
    """Scores on a scale of their target, so that targets with many regulators do not come first.

    Parameters
    ----------
    scores : ndarray of shape (n_targets, n_regulators)
    allowed : bool ndarray of the same shape
    how : {"max", "sum", "rank"}
        Divided by the largest score of the target, by the sum of its scores; or its ranks, from
        0 (excluded) to 1, equal scores sharing the mean of theirs.
    """
    if how == "rank":
        ranks = rankdata(np.where(allowed, scores, -1.0), axis=1)
        # Pairs that are not allowed have the lowest ranks.
        n_barred = np.count_nonzero(~allowed, axis=1, keepdims=True)
        n_allowed = np.maximum(1, allowed.shape[1] - n_barred)
        return np.where(allowed, (ranks - n_barred) / n_allowed, 0.0)
    total = scores.max(axis=1) if how == "max" else scores.sum(axis=1)
    scale = np.where(total > 0.0, total, 1.0)
    return scores / scale[:, np.newaxis]


def weaker_direction(
    scores: FloatArray, target_places: IntArray, regulator_places: IntArray
) -> FloatArray:
    """Scores in which the weaker of two opposite links is reduced, the more the weaker it is.

    A link of score s whose reverse has the score r > s becomes ``s * s / r``; all others stay.

    Parameters
    ----------
    scores : ndarray of shape (n_targets, n_regulators)
    target_places : int ndarray of shape (n_targets,)
        Which regulator each target is; -1 for none.
    regulator_places : int ndarray of shape (n_regulators,)
        Which target each regulator is; -1 for none.
    """
    both = np.ix_(target_places >= 0, regulator_places >= 0)
    reverse = np.zeros_like(scores)
    reverse[both] = scores[np.ix_(_known(regulator_places), _known(target_places))].T
    is_weaker = scores < reverse
    return np.where(is_weaker, scores * scores / np.where(is_weaker, reverse, 1.0), scores)


def _known(places: IntArray) -> IntArray:
    return places[places >= 0]


def by_regulator(scores: FloatArray, allowed: BoolArray, how: str) -> FloatArray:
    """Scores times the evidence that their regulator regulates anything.

    Parameters
    ----------
    scores : ndarray of shape (n_targets, n_regulators)
    allowed : bool ndarray of the same shape
    how : {"sum", "variance", "both"}
        The mean of the scores of the regulator over its candidate targets (a sum that does not
        depend on their number), their variance, or the mean times the standard deviation. A
        regulator of a single candidate has no variance, and gets the mean factor of the others.
    """
    counts = np.maximum(1, np.count_nonzero(allowed, axis=0))
    mean = scores.sum(axis=0) / counts
    if how == "sum":
        return scores * mean
    gaps = np.where(allowed, scores - mean, 0.0)
    variance = (gaps**2).sum(axis=0) / counts
    factors = variance if how == "variance" else mean * np.sqrt(variance)
    is_known = np.count_nonzero(allowed, axis=0) > 1
    typical = factors[is_known].mean() if is_known.any() else 1.0
    return scores * np.where(is_known, factors, typical)

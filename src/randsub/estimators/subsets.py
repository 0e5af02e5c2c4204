"""How RaSE draws its candidates: many small subsets of many features.

A subset of d features is drawn without replacement, feature by feature, with probabilities
proportional to the weights of the remaining features. Weights take few different values (alpha is
a multiple of 1/T), so a draw first picks a group of equal weight, then a feature of that group
uniformly: the time per subset does not depend on the number of features.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from randsub._compile import compiled
from randsub._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Subsets:
    """Feature subsets as concatenated lists; 50,000 masks over 20,000 columns would take 1 GB.

    Parameters
    ----------
    begin : int ndarray of shape (S + 1,)
        Start of each subset in ``features``.
    features : int ndarray of shape (begin[-1],)
        Features of all subsets; those of one subset are in ascending order.
    """

    begin: IntArray
    features: IntArray

    def __len__(self) -> int:
        return len(self.begin) - 1

    def masks(self, which: IntArray, n_features: int) -> BoolArray:
        """The chosen subsets as masks, (len(which), n_features)."""
        masks = np.zeros((len(which), n_features), dtype=bool)
        for mask, subset in zip(masks, which.tolist(), strict=True):
            mask[self.features[self.begin[subset] : self.begin[subset + 1]]] = True
        return masks

    def distinct(self) -> tuple[IntArray, IntArray]:
        """First index of each distinct subset, and for each subset which of these it equals."""
        numbers: dict[bytes, int] = {}
        which: list[int] = []
        back = np.empty(len(self), dtype=np.intp)
        for place, (start, stop) in enumerate(pairwise(self.begin.tolist())):
            number = numbers.setdefault(self.features[start:stop].tobytes(), len(numbers))
            if number == len(which):
                which.append(place)
            back[place] = number
        return np.array(which, dtype=np.intp), back


def sampling_weights(alpha: FloatArray, threshold: float) -> FloatArray:
    """Weights of the features in the next draw, (M,).

    alpha_j if it exceeds C0 / log M, else C0 / M: features that few of the best subsets hold can
    still be drawn.

    Parameters
    ----------
    alpha : ndarray of shape (M,)
    threshold : float
        C0.
    """
    n_features = len(alpha)
    # A single feature is always drawn, whatever its weight.
    level = threshold / np.log(n_features) if n_features > 1 else np.inf
    return np.where(alpha > level, alpha, threshold / n_features)


def draw_subsets(weights: FloatArray, sizes: IntArray, rng: np.random.Generator) -> Subsets:
    """Draw subsets of given sizes, each without replacement, feature by feature.

    Parameters
    ----------
    weights : ndarray of shape (M,)
        Positive; proportional to the probability of being drawn next.
    sizes : int ndarray of shape (S,)
        From 1 to M.
    rng : numpy.random.Generator
    """
    begin = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=begin[1:])
    rates, group = np.unique(weights, return_inverse=True)
    members = np.argsort(group, kind="stable").astype(np.int32)
    first = np.zeros(len(rates) + 1, dtype=np.int64)
    np.cumsum(np.bincount(group, minlength=len(rates)), out=first[1:])
    features = np.empty(begin[-1], dtype=np.int32)
    _draw(rates, first, members, begin, rng.random(begin[-1]), features)
    return Subsets(begin, features)


@compiled()
def _draw(rates, first, members, begin, uniforms, features):  # type: ignore[no-untyped-def]
    """Fill in the features of each subset; each feature takes one uniform number.

    The members of group g that can still be drawn are ``members[first[g]:first[g] + left[g]]``;
    a drawn one is swapped with the last of these. The order that remains after a subset does not
    affect the law of the next one.
    """
    n_groups = len(rates)
    left = np.empty(n_groups, np.int64)
    for s in range(len(begin) - 1):
        for g in range(n_groups):
            left[g] = first[g + 1] - first[g]
        for place in range(begin[s], begin[s + 1]):
            total = 0.0
            for g in range(n_groups):
                total += rates[g] * left[g]
            rest, chosen = uniforms[place] * total, 0
            for g in range(n_groups):
                if left[g] > 0:
                    # A remainder by rounding goes to the last group.
                    chosen = g
                    if rest < rates[g] * left[g]:
                        break
                    rest -= rates[g] * left[g]
            left[chosen] -= 1
            last = first[chosen] + left[chosen]
            mine = min(first[chosen] + np.int64(rest / rates[chosen]), last)
            features[place] = members[mine]
            members[mine] = members[last]
            members[last] = features[place]
        features[begin[s] : begin[s + 1]].sort()

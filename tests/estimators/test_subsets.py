"""Candidates follow the law of drawing feature after feature, in proportion to their weights."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from randsub.estimators.subsets import Subsets, draw_subsets, sampling_weights


def as_sets(subsets):
    return [
        tuple(subsets.features[a:b].tolist())
        for a, b in zip(subsets.begin[:-1], subsets.begin[1:], strict=True)
    ]


def exact_law(weights, size):
    """Probability of each subset, by enumeration of the orders in which it can be drawn."""
    law = {}
    for subset in combinations(range(len(weights)), size):
        total = 0.0
        for order in permutations(subset):
            probability, left = 1.0, sum(weights)
            for feature in order:
                probability *= weights[feature] / left
                left -= weights[feature]
            total += probability
        law[subset] = total
    return law


@pytest.mark.parametrize(
    "weights",
    [
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [0.5, 0.02, 1.0, 0.02, 0.5],
        [0.1, 0.2, 0.3, 0.4, 0.5],
    ],
    ids=["equal", "groups", "different"],
)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_law(weights, size):
    n = 20_000
    drawn = as_sets(draw_subsets(np.array(weights), np.full(n, size), np.random.default_rng(0)))
    law = exact_law(weights, size)
    assert sum(law.values()) == pytest.approx(1.0)
    counts = [drawn.count(subset) for subset in law]
    assert sum(counts) == n
    if len(law) > 1:
        assert chisquare(counts, n * np.array(list(law.values()))).pvalue > 1e-3


def test_the_law_does_not_depend_on_earlier_subsets():
    """Places that one subset leaves disordered must not matter to the next one."""
    weights = np.array([0.5, 0.1, 0.1, 0.1])
    sizes = np.tile([3, 2], 20_000)
    pairs = as_sets(draw_subsets(weights, sizes, np.random.default_rng(1)))
    firsts, seconds = pairs[::2], pairs[1::2]
    law = exact_law(weights.tolist(), 2)
    for condition in set(firsts):
        after = [s for f, s in zip(firsts, seconds, strict=True) if f == condition]
        counts = [after.count(subset) for subset in law]
        expected = len(after) * np.array(list(law.values()))
        assert chisquare(counts, expected).pvalue > 1e-3


@st.composite
def requests(draw):
    weight = st.sampled_from([1e-8, 1e-3, 0.05, 0.3, 1.0])
    weights = draw(st.lists(weight, min_size=1, max_size=30))
    sizes = draw(st.lists(st.integers(1, len(weights)), min_size=1, max_size=20))
    return np.array(weights), np.array(sizes)


@given(requests(), st.integers(0, 2**32 - 1))
def test_sizes_and_features(request_, seed):
    weights, sizes = request_
    subsets = draw_subsets(weights, sizes, np.random.default_rng(seed))
    sets = as_sets(subsets)
    assert len(subsets) == len(sizes)
    assert [len(s) for s in sets] == sizes.tolist()
    for subset in sets:
        assert list(subset) == sorted(set(subset))
        assert 0 <= subset[0] <= subset[-1] < len(weights)

    masks = subsets.masks(np.arange(len(subsets)), len(weights))
    assert [tuple(np.flatnonzero(mask).tolist()) for mask in masks] == sets

    which, back = subsets.distinct()
    assert [sets[w] for w in which[back]] == sets
    assert len({sets[w] for w in which}) == len(which)
    assert [sets.index(sets[w]) for w in which] == which.tolist()


@given(st.floats(0.0, 1.0, exclude_max=True))
def test_any_uniform_number_will_do(u):
    class Fixed:
        def random(self, size):
            return np.full(size, u)

    weights = np.array([0.1, 0.7, 0.1, 0.3, 0.7])
    assert as_sets(draw_subsets(weights, np.array([5, 5]), Fixed())) == [(0, 1, 2, 3, 4)] * 2


def test_thousands_of_features_are_no_burden():
    """20,000 x 20,000 masks would be 400 MB; what is kept is what was drawn."""
    weights = sampling_weights(np.zeros(20_000), 0.1)
    subsets = draw_subsets(weights, np.full(20_000, 10), np.random.default_rng(0))
    assert subsets.features.nbytes + subsets.begin.nbytes < 2e6
    assert len(np.unique(subsets.features)) > 19_000


def test_distinct_tells_prefixes_apart():
    subsets = Subsets(np.array([0, 1, 3, 4]), np.array([1, 1, 2, 1], dtype=np.int32))
    which, back = subsets.distinct()
    assert which.tolist() == [0, 1]
    assert back.tolist() == [0, 1, 0]


def test_weights_of_the_paper():
    """alpha where it exceeds C0 / log M, else C0 / M."""
    alpha = np.zeros(100)
    level = 0.1 / np.log(100)
    alpha[:3] = 1.0, level, np.nextafter(level, 1.0)
    weights = sampling_weights(alpha, 0.1)
    assert weights[[0, 1, 2, 50]].tolist() == [1.0, 0.001, alpha[2], 0.001]


@pytest.mark.parametrize("alpha", [0.0, 0.05, 1.0])
def test_a_single_feature(alpha):
    weights = sampling_weights(np.array([alpha]), 0.1)
    assert weights[0] > 0.0
    assert as_sets(draw_subsets(weights, np.array([1]), np.random.default_rng(0))) == [(0,)]

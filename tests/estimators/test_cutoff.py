"""The cut-off against trying them all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from randsub.estimators.cutoff import best_cutoff


def error(cutoff, votes, is_second, weight):
    return float(np.sum(weight * ((votes > cutoff) != is_second)))


@st.composite
def ballots(draw):
    n = draw(st.integers(1, 12))
    # Shares of votes, and numbers that are next to each other.
    shares = [*(k / 7 for k in range(8)), 0.5, np.nextafter(0.5, 1.0), np.nextafter(1.0, 2.0)]
    votes = draw(st.lists(st.sampled_from(shares), min_size=n, max_size=n))
    is_second = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    weight = draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))
    return np.array(votes), np.array(is_second), np.array(weight, dtype=float)


@given(ballots())
def test_no_cutoff_is_better_and_none_as_good_is_nearer_to_a_half(ballot):
    votes, *_ = ballot
    cutoff = best_cutoff(*ballot)
    tried = np.unique([-1.0, 0.5, *votes, *((a + b) / 2 for a in votes for b in votes), 2.0])
    least = min(error(c, *ballot) for c in tried)
    assert error(cutoff, *ballot) == least
    if error(0.5, *ballot) == least:
        assert cutoff == 0.5


def test_it_lies_between_the_votes_that_it_separates():
    votes = np.array([0.1, 0.2, 0.3, 0.4])
    is_second = np.array([False, False, True, True])
    assert best_cutoff(votes, is_second, np.ones(4)) == pytest.approx(0.25)


def test_weights_count():
    votes, is_second = np.array([0.6, 0.7, 0.8]), np.array([True, False, True])
    assert best_cutoff(votes, is_second, np.array([2.0, 1.0, 1.0])) == 0.5
    assert best_cutoff(votes, is_second, np.array([1.0, 2.0, 1.0])) == pytest.approx(0.75)


@pytest.mark.parametrize("second", [True, False])
def test_one_class_can_win_everything(second):
    votes = np.array([0.0, 1.0, 0.5])
    cutoff = best_cutoff(votes, np.full(3, second), np.ones(3))
    assert ((votes > cutoff) == second).all()

"""Validation splits of the repeats: folds as long as there are samples for them."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from randsub.estimators.fit_data import repeated_splits, split_validation


def generators(n, seed=0):
    return [np.random.default_rng([seed, number]) for number in range(n)]


def classes_of(draw_sizes):
    """Classes of samples in random order, and rows that leave some of them out."""
    strata = np.repeat(np.arange(len(draw_sizes)), draw_sizes)
    return np.random.default_rng(1).permutation(strata)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    stratified=st.booleans(),
    fraction=st.floats(0.02, 0.98),
    n_repeats=st.integers(1, 12),
    seed=st.integers(0, 1000),
)
def test_any_split_is_whole_and_leaves_every_class_to_train(
    sizes, stratified, fraction, n_repeats, seed
):
    strata = classes_of(sizes)
    # Rows of weight 0 are in no split.
    rows = np.flatnonzero(np.arange(len(strata)) % 7 != 3)
    assume(len(rows) >= 3)
    given_strata = strata if stratified else None
    splits = repeated_splits(rows, fraction, given_strata, generators(n_repeats, seed))
    assert len(splits) == n_repeats
    counts = np.bincount(strata[rows])
    for train_rows, val_rows in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([train_rows, val_rows])), rows)
        assert len(val_rows) >= 1
        assert len(train_rows) >= 2
        np.testing.assert_array_equal(np.sort(val_rows), val_rows)
        if stratified and (counts > 1).any():
            assert set(strata[train_rows]) == set(strata[rows])
    # Those of fewer repeats are the first of them.
    fewer = repeated_splits(rows, fraction, given_strata, generators((n_repeats + 1) // 2, seed))
    for one, two in zip(fewer, splits, strict=False):
        np.testing.assert_array_equal(one.val_rows, two.val_rows)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(2, 60), min_size=1, max_size=4),
    stratified=st.booleans(),
    n_folds=st.integers(2, 10),
    seed=st.integers(0, 1000),
)
def test_repeats_are_folds_in_which_every_sample_validates_once(sizes, stratified, n_folds, seed):
    strata = classes_of(sizes)
    rows = np.arange(len(strata))
    assume(len(rows) >= 2 * n_folds)
    splits = repeated_splits(
        rows, 1.0 / n_folds, strata if stratified else None, generators(2 * n_folds, seed)
    )
    for turn in (splits[:n_folds], splits[n_folds:]):
        together = np.concatenate([split.val_rows for split in turn])
        np.testing.assert_array_equal(np.sort(together), rows)
        n_val = [len(split.val_rows) for split in turn]
        assert max(n_val) - min(n_val) <= 1
        if stratified:
            for split in turn:
                found = np.bincount(strata[split.val_rows], minlength=len(sizes))
                fair = np.array(sizes) * len(split.val_rows) / len(rows)
                assert (np.abs(found - fair) < 2.0).all()
    # The second time around the shuffle is another one.
    firsts = {tuple(split.val_rows) for split in splits}
    assert len(firsts) > n_folds or len(rows) < 8


@pytest.mark.parametrize(
    ("fraction", "n_repeats"), [(0.2, 5), (0.2, 3), (0.3, 3), (0.15, 6), (0.5, 2)]
)
@pytest.mark.parametrize("n", [17, 40, 101])
def test_validation_rows_are_disjoint_while_they_fit(fraction, n_repeats, n):
    rows = np.arange(n)
    splits = repeated_splits(rows, fraction, None, generators(n_repeats))
    together = np.concatenate([split.val_rows for split in splits])
    assert len(np.unique(together)) == len(together)
    assert abs(len(together) - fraction * n_repeats * n) < 1.0


def test_the_first_of_several_splits_is_the_only_one_of_one():
    strata = classes_of([20, 13, 2])
    (first, *_) = repeated_splits(np.arange(35), 0.2, strata, generators(4))
    train_rows, val_rows = split_validation(np.arange(35), 0.2, strata, generators(1)[0])
    np.testing.assert_array_equal(first.train_rows, train_rows)
    np.testing.assert_array_equal(first.val_rows, val_rows)

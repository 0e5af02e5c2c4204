"""Which rows train and which are held out."""

import numpy as np
import pytest

from randsub.solver.rounds import deal_batches, thin

ROWS = np.setdiff1d(np.arange(60), [0, 7, 8, 31])
# 60 rows of four classes of very different size; the last has two members among ROWS.
CLASSES = np.repeat([0, 1, 2, 3], [30, 18, 10, 2])[np.random.default_rng(3).permutation(60)]


def counts(rows: np.ndarray) -> np.ndarray:
    return np.bincount(CLASSES[rows], minlength=4)


@pytest.mark.parametrize("strata", [None, CLASSES], ids=["plain", "stratified"])
@pytest.mark.parametrize("n_batches", [2, 5, 10, 56])
def test_batches_partition_the_rows(strata, n_batches) -> None:
    batches = deal_batches(ROWS, n_batches, strata, None, np.random.default_rng(0))
    assert len(batches) == n_batches
    held_out = np.concatenate([batch.query_rows for batch in batches])
    np.testing.assert_array_equal(np.sort(held_out), ROWS)
    for batch in batches:
        assert len(batch.query_rows) in (len(ROWS) // n_batches, -(-len(ROWS) // n_batches))
        np.testing.assert_array_equal(batch.train_rows, np.setdiff1d(ROWS, batch.query_rows))
        # Sorted: then what a batch holds does not depend on the order in which it was dealt.
        np.testing.assert_array_equal(batch.query_rows, np.sort(batch.query_rows))


def test_every_batch_gets_its_share_of_each_class() -> None:
    n_batches = 5
    share = counts(ROWS) / n_batches
    for batch in deal_batches(ROWS, n_batches, CLASSES, None, np.random.default_rng(1)):
        held_out = counts(batch.query_rows)
        assert (np.floor(share) <= held_out).all()
        assert (held_out <= np.ceil(share)).all()


def test_without_classes_shares_are_left_to_chance() -> None:
    # The counterpart of the test above: it would not pass by luck.
    share = counts(ROWS) / 5
    plain = [
        counts(batch.query_rows)
        for seed in range(5)
        for batch in deal_batches(ROWS, 5, None, None, np.random.default_rng(seed))
    ]
    assert (np.abs(np.array(plain) - share) > 1.0).any()


@pytest.mark.parametrize("strata", [None, CLASSES], ids=["plain", "stratified"])
def test_the_generator_decides_over_the_deal(strata) -> None:
    def deal(seed: int) -> list[list[int]]:
        batches = deal_batches(ROWS, 4, strata, 20, np.random.default_rng(seed))
        return [[*batch.train_rows, -1, *batch.query_rows] for batch in batches]

    assert deal(0) == deal(0)
    assert deal(0) != deal(1)


@pytest.mark.parametrize("strata", [None, CLASSES], ids=["plain", "stratified"])
def test_max_samples_limits_both_kinds_of_rows(strata) -> None:
    whole = deal_batches(ROWS, 2, strata, None, np.random.default_rng(0))
    assert min(len(batch.query_rows) for batch in whole) > 12
    for batch in deal_batches(ROWS, 2, strata, 12, np.random.default_rng(0)):
        assert len(batch.train_rows) == len(batch.query_rows) == 12
        assert len(np.union1d(batch.train_rows, batch.query_rows)) == 24
        assert np.isin(batch.train_rows, ROWS).all()
        assert np.isin(batch.query_rows, ROWS).all()


def test_max_samples_leaves_small_batches_alone() -> None:
    for batch in deal_batches(ROWS, 8, CLASSES, 20, np.random.default_rng(0)):
        assert len(batch.query_rows) == 7
        assert len(batch.train_rows) == 20


@pytest.mark.parametrize("size", [1, 7, 23, 55])
def test_thin_keeps_the_proportions(size) -> None:
    share = counts(ROWS) * size / len(ROWS)
    for seed in range(20):
        kept = thin(ROWS, size, CLASSES, np.random.default_rng(seed))
        assert len(np.unique(kept)) == len(kept) == size
        assert np.isin(kept, ROWS).all()
        assert (np.floor(share) <= counts(kept)).all()
        assert (counts(kept) <= np.ceil(share)).all()


@pytest.mark.parametrize("size", [None, 56, 100])
def test_thin_keeps_all_where_there_is_room(size) -> None:
    np.testing.assert_array_equal(thin(ROWS, size, CLASSES, np.random.default_rng(0)), ROWS)


@pytest.mark.parametrize("strata", [None, CLASSES], ids=["plain", "stratified"])
def test_every_row_is_kept_equally_often(strata) -> None:
    rng, n_draws, size = np.random.default_rng(5), 12_000, 15
    kept = np.concatenate([thin(ROWS, size, strata, rng) for _ in range(n_draws)])
    chance = size / len(ROWS)
    share = np.bincount(kept, minlength=60)[ROWS] / n_draws
    assert np.abs(share - chance).max() < 4.5 * np.sqrt(chance * (1 - chance) / n_draws)

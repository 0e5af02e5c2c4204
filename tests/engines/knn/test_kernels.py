"""The search in single precision: where it is sure, it is right; elsewhere it says so.

Truth is computed with fractions: every double is one, so squared distances are exact.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsRegressor

from randsub.engines import KNNEngine, Learner
from randsub.engines.knn.kernels import (
    CHAIN,
    FAR,
    LARGEST,
    LARGEST_NETWORK,
    MOST_ROWS,
    SMALLEST,
    TILES,
    in_single_precision,
    is_sure,
    row_numbers,
    row_of,
    search,
    search_exactly,
)

UNIT = 2.0**-24
# Each small k is a variant to compile; larger ones are chains of one, two and more networks.
KS = (1, 3, 9, 15, 16)


class Found(NamedTuple):
    """Of each query: the k rows of the search, and whether they are certain."""

    rows: list[frozenset[int]]
    sure: list[bool]


def bound(largest: np.ndarray, mine: np.ndarray) -> float:
    """What rounding coordinates can do to a distance, as the engine has it."""
    return float(np.sqrt(((5.0 * UNIT * largest[mine]) ** 2 + 1e-36).sum()))


def found_by_search(columns: np.ndarray, query: np.ndarray, mine: np.ndarray, k: int) -> Found:
    single, asked, largest = in_single_precision(columns, query)
    numbers = row_numbers(columns.shape[1])
    keys = np.empty((k + 1, query.shape[1]), np.float32)
    ks = (0,) * k if k <= LARGEST_NETWORK else CHAIN
    search(single, asked, mine, numbers, ks, keys)
    error = bound(largest, mine)
    rows = [frozenset(int(row_of(key, numbers)) for key in line[:k]) for line in keys.T]
    sure = [bool(is_sure(line[k - 1], line[k], error, len(mine), numbers)) for line in keys.T]
    return Found(rows, sure)


def exact_squares(
    columns: np.ndarray, query: np.ndarray, mine: np.ndarray, i: int
) -> list[Fraction]:
    asked = [Fraction(float(query[j, i])) for j in mine]
    return [
        sum(
            ((Fraction(float(columns[j, row])) - q) ** 2 for j, q in zip(mine, asked, strict=True)),
            start=Fraction(0),
        )
        for row in range(columns.shape[1])
    ]


def is_right(rows: frozenset[int], squares: list[Fraction]) -> bool:
    """Whether no row outside is as near as one inside."""
    outside = [square for row, square in enumerate(squares) if row not in rows]
    return not outside or max(squares[row] for row in rows) < min(outside)


def check_found(columns: np.ndarray, query: np.ndarray, mine: np.ndarray, k: int) -> Found:
    """The property: sure implies right."""
    found = found_by_search(columns, query, mine, k)
    for i, (rows, sure) in enumerate(zip(*found, strict=True)):
        if sure:
            assert len(rows) == k
            assert all(row < columns.shape[1] for row in rows)
            assert is_right(rows, exact_squares(columns, query, mine, i))
    return found


# -- nasty data ----------------------------------------------------------------------------------


def on_a_sphere(rng: np.random.Generator, m: int, n: int, gap: float) -> np.ndarray:
    """Rows (m, n) whose distances from 0 are 1, 1 + gap, 1 + 2 gap, ..., in random order."""
    directions = rng.normal(size=(m, n))
    directions /= np.linalg.norm(directions, axis=0)
    return directions * (1.0 + gap * rng.permutation(n))


class Nasty(NamedTuple):
    """Rows, queries (M, n) and columns that count."""

    columns: np.ndarray
    query: np.ndarray
    mine: np.ndarray


@st.composite
def nasty(draw: st.DrawFn) -> Nasty:
    """Distances that nearly agree, far from 0, in columns of different scales."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, m, q = draw(st.integers(1, 40)), draw(st.integers(1, 9)), draw(st.integers(1, 20))
    gaps = [0.1, 1e-3, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 1e-9, 0.0]
    gap = draw(st.sampled_from(gaps))
    columns = on_a_sphere(rng, m, n, gap)
    # Some queries near the centre, where distances differ by the gap, and some anywhere.
    query = rng.normal(size=(m, q)) * rng.choice([0.0, gap, 1e-6, 1.0], size=q)
    # Two crowds far from each other, and from the mean about which coordinates are rounded.
    apart = draw(st.sampled_from([0.0, 30.0, 1e3, 1e5, 1e7]))
    columns[:, ::2] += apart
    query[:, ::2] += apart
    scale = {
        "equal": np.ones(m),
        "mixed": 10.0 ** rng.integers(-7, 7, m),
        "tiny": np.full(m, 1e-10),
        "huge": np.full(m, 1e10),
    }[draw(st.sampled_from(["equal", "mixed", "tiny", "huge"]))][:, np.newaxis]
    offset = draw(st.sampled_from([0.0, 0.0, 1.0, 1e3, 1e6, 1e9]))
    columns, query = (columns + offset) * scale, (query + offset) * scale
    if draw(st.booleans()):
        # All distances from one place, about which nothing is centred.
        query += columns[:, :1] - scale * offset
    if draw(st.booleans()):
        columns[:, n // 2 :] = columns[:, : n - n // 2]
    mine = np.sort(rng.permutation(m)[: rng.integers(1, m + 1)])
    return Nasty(columns, query, mine)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(data=nasty(), k=st.sampled_from(KS))
def test_what_is_sure_is_right(data, k):
    check_found(*data, k if k <= data.columns.shape[1] else 1)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(data=nasty())
def test_the_engine_finds_the_nearest_row(data):
    """Sure or not, to the precision of double: no row is nearer than the one that answers."""
    columns, query, mine = data
    masks = np.isin(np.arange(len(columns)), mine)[np.newaxis]
    found = KNNEngine(Learner(KNeighborsRegressor(1))).predict_many(
        columns.T, np.arange(columns.shape[1]), masks, query.T, np.zeros(1, dtype=int)
    )
    for i, row in enumerate(found[0, :, 0]):
        squares = exact_squares(columns, query, mine, i)
        assert squares[int(row)] <= min(squares) * (1 + Fraction(1, 10**13))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data(), n=st.integers(1, 9), m=st.integers(1, 4), q=st.integers(1, 3))
def test_what_is_sure_is_right_for_any_numbers(data, n, m, q):
    """Few values from a short list, so that equal and nearly equal distances abound."""
    near = [
        0.0,
        1.0,
        -1.0,
        1.0 + 2.0**-20,
        1.0 - 2.0**-22,
        1.0 + 2.0**-40,
        2.0**-12,
        3.0,
        1e5,
        1e-5,
    ]
    values = st.sampled_from(near)
    columns = np.array([[data.draw(values) for _ in range(n)] for _ in range(m)])
    query = np.array([[data.draw(values) for _ in range(q)] for _ in range(m)])
    check_found(columns, query, np.arange(m), 1)


@pytest.mark.parametrize("n", [*range(1, 10), 17, 18, 19, 20])
@pytest.mark.parametrize("m", range(1, 10))
def test_every_number_of_rows_and_columns(n, m):
    """Groups of four rows and of four columns, full or not; distances that are far apart."""
    rng = np.random.default_rng(10 * n + m)
    columns, query = rng.normal(size=(m, n)), rng.normal(size=(m, 5))
    for k in KS:
        if k > n:
            continue
        found = check_found(columns, query, np.arange(m), k)
        assert all(found.sure)
        # Columns that do not count do not count.
        wider = np.vstack([columns, 100.0 * rng.normal(size=(3, n))])
        asked = np.vstack([query, 100.0 * rng.normal(size=(3, 5))])
        assert found_by_search(wider, asked, np.arange(m), k) == found


def test_a_search_among_all_rows_keeps_none_that_only_fills_up():
    """k of k rows: the next is a row far away that nobody asked for."""
    rng = np.random.default_rng(0)
    for k in KS:
        columns, query = rng.normal(size=(2, k)), rng.normal(size=(2, 30))
        found = check_found(columns, query, np.arange(2), k)
        assert set(found.rows) == {frozenset(range(k))}
        assert all(found.sure)


@pytest.mark.parametrize("q", [1, 31, 32, 33, 79, 80, 81, 112, 113, 159, 160, 161, 192, 193, 273])
def test_every_tile_finds_the_same(q):
    assert TILES == (80, 32)
    rng = np.random.default_rng(q)
    columns, query = rng.normal(size=(5, 23)), rng.normal(size=(5, q))
    mine = np.array([0, 2, 4])
    found = check_found(columns, query, mine, 3)
    single, asked, _ = in_single_precision(columns, query)
    numbers = row_numbers(23)
    for i in range(q):
        keys = np.empty((4, 1), np.float32)
        search(single, np.ascontiguousarray(asked[:, [i]]), mine, numbers, (0, 0, 0), keys)
        assert frozenset(int(row_of(key, numbers)) for key in keys[:3, 0]) == found.rows[i]
    assert np.mean(found.sure) > 0.95


def test_most_queries_of_ordinary_data_are_sure():
    """Or nothing is gained. Numbers of 300 rows take 9 bits of 23."""
    rng = np.random.default_rng(1)
    columns, query = rng.normal(size=(6, 300)), rng.normal(size=(6, 400))
    found = check_found(columns[:, :40], query, np.arange(6), 3)
    assert np.mean(found.sure) > 0.99
    assert np.mean(found_by_search(columns, query, np.arange(6), 3).sure) > 0.95


@pytest.mark.parametrize("gap", [1e-7, 1e-9, 0.0])
def test_what_single_precision_cannot_tell_is_not_sure(gap):
    columns = on_a_sphere(np.random.default_rng(2), 3, 20, gap)
    found = found_by_search(columns, np.zeros((3, 1)), np.arange(3), 3)
    assert found.sure == [False]


@pytest.mark.parametrize("n", [MOST_ROWS - 3, MOST_ROWS])
def test_as_many_rows_as_there_may_be(n):
    """Row numbers take 12 bits: rows may change places, but not without notice."""
    rng = np.random.default_rng(3)
    columns, query = rng.normal(size=(6, n)), rng.normal(size=(6, 1000))
    found = found_by_search(columns, query, np.arange(6), 3)
    squares = cdist(query.T, columns.T, "sqeuclidean")
    nearest = [frozenset(line.tolist()) for line in np.argpartition(squares, 3, axis=1)[:, :3]]
    for rows, sure, expected in zip(*found, nearest, strict=True):
        assert not sure or rows == expected
    assert 0.9 < np.mean(found.sure) < 1.0


@pytest.mark.parametrize("scale", [2.0 * SMALLEST, 1e-12, 1e12, LARGEST / 50.0])
def test_the_largest_and_the_smallest_values_that_are_searched(scale):
    rng = np.random.default_rng(4)
    columns, query = scale * rng.normal(size=(3, 30)), scale * rng.normal(size=(3, 20))
    found = check_found(columns, query, np.arange(3), 3)
    assert np.mean(found.sure) > 0.9
    # Rows that fill up are beyond all others, and still numbers.
    assert 100.0 * LARGEST**2 < FAR**2 < np.finfo(np.float32).max


# -- the parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 16, 17, 300, MOST_ROWS])
def test_row_numbers_leave_the_other_bits_alone(n):
    numbers = row_numbers(n)
    assert numbers.dtype == np.int32
    *places, mask = numbers.tolist()
    assert places == list(range(-(-n // 4) * 4))
    assert all(place & mask == 0 for place in places)
    low_bits = ~mask
    assert low_bits & (low_bits + 1) == 0  # the lowest ones, without a gap
    assert low_bits <= 2 * max(places)  # and no more than needed


@pytest.mark.parametrize("n", [4, 7, 300, MOST_ROWS])
def test_two_keys_are_told_apart_only_beyond_all_rounding(n):
    numbers = row_numbers(n)
    low_bits = ~int(numbers[-1])
    one = np.float32(1.0)

    def sure(ratio: float, error: float = 0.0, n_columns: int = 4) -> bool:
        """Of keys whose distances are 1 and a little more."""
        return bool(is_sure(one, np.float32(ratio**2), error, n_columns, numbers))

    # A key may have lost as much as the bits of a row number.
    assert not sure(1.0)
    assert not sure(1.0 + 0.4 * low_bits * 2.0**-23)
    assert sure(1.0 + 4.0 * low_bits * 2.0**-23 + 100.0 * UNIT)
    # Errors of the coordinates count for both.
    ratio = 1.0 + 0.01
    assert sure(ratio, 0.002)
    assert not sure(ratio, 0.0051)
    # Sums over more columns have more rounding.
    assert sure(1.0 + 1e-3, n_columns=4)
    assert not sure(1.0 + 1e-3, n_columns=10_000)


def test_equal_keys_are_never_sure():
    numbers = row_numbers(10)
    for key in (0.0, 1e-30, 1.0, 1e30):
        assert not is_sure(np.float32(key), np.float32(key), 0.0, 3, numbers)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 12),
    m=st.integers(1, 5),
    k=st.integers(1, 12),
    grid=st.booleans(),
)
def test_the_exact_search_is_exact(seed, n, m, k, grid):
    """Nearest first; of rows at the same distance the first ones."""
    rng = np.random.default_rng(seed)
    k = min(k, n)
    columns, query = rng.normal(size=(m, n)), rng.normal(size=(m, 2))
    if grid:
        columns, query = np.round(columns), np.round(query)
    mine = np.arange(m)
    rows, squares, gaps = np.empty(k, np.int64), np.empty(k), np.empty(n)
    for i in range(2):
        search_exactly(columns, query, mine, i, 1.0, gaps, rows, squares)
        exact = exact_squares(columns, query, mine, i)
        expected = sorted(range(n), key=lambda row: (exact[row], row))[:k]
        assert rows.tolist() == expected
        np.testing.assert_allclose(squares, [float(exact[row]) for row in expected], rtol=1e-12)


def test_in_single_precision_values_are_about_the_mean_of_the_rows():
    rng = np.random.default_rng(5)
    columns, query = rng.normal(size=(3, 20)) + 1e6, rng.normal(size=(3, 9)) + 1e6
    query[1, 4] = 2e6
    rows, asked, largest = in_single_precision(columns, query)
    assert rows.dtype == asked.dtype == np.float32
    mean = columns.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(rows, columns - mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(asked, query - mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        largest, np.maximum(abs(columns - mean).max(axis=1), abs(query - mean).max(axis=1))
    )

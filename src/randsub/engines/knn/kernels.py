"""The k nearest rows of many queries, over a few columns at a time.

Euclidean distances over a handful of columns are a few vector operations a pair of samples; what
takes the time is finding the k smallest. A kernel works on a tile of queries at once, one query a
vector lane, and on four rows at a time: squares are added up column by column, then pushed through
a sorting network that keeps the k + 1 smallest of each lane. No branch depends on the data.

The network must carry along which row a square belongs to: the row's number replaces the lowest
bits of the square's mantissa. That, and single precision, which is twice as fast as double, make
the squares inexact. So for each query the distances to the k-th and to the next row are compared:
where they differ by more than all that rounding can have done, the k rows are the right ones. The
few queries for which that is not sure are searched again, exactly. What follows, up to the
predictions (``averages.py``), goes over all queries of a model at once, too: done query by query,
it takes longer than the search.

Tile and k are known to the compiler: they are the lengths of tuples (``size`` and ``ks``), which
belong to a variant's signature. All chains are one variant, and its ``ks`` is CHAIN.
"""

from typing import Any, NamedTuple

import numpy as np

from randsub._compile import compiled
from randsub._typing import FloatArray, IntArray
from randsub.engines.knn.averages import average, average_by_distance, put_in_order

# Queries in a tile; ``size`` has as many entries as the place of its tile in this list.
TILES = (80, 32)
WIDE, NARROW = (0,), (0, 0)
# Rows and columns that are worked on together.
N_ROWS = N_COLUMNS = 4
# The network is unrolled for each k. More neighbours go through a chain of networks, each of which
# keeps the LINK smallest of what the one before has left; of very many, plain insertion finds most.
LARGEST_NETWORK, LINK, LARGEST_CHAIN = 8, 8, 128
CHAIN = (0,) * (LARGEST_NETWORK + 1)
# Row numbers must leave half of the mantissa alone.
MOST_ROWS = 2**12
# Values within these limits have squares that single precision can hold, with room for sums.
LARGEST, SMALLEST = 1e15, 1e-15
# The same for double precision.
LARGEST_EXACT = 1e140
# Where rows are that only fill up a group of four: beyond all others.
FAR = 1e18
UNIT = 2.0**-24

FAST = {"nnan", "nsz", "contract"}


class Single(NamedTuple):
    """Rows and queries in single precision, and the largest value of each column."""

    rows: Any
    queries: Any
    largest: FloatArray


@compiled()
def _pack(square, high_bits, row):  # type: ignore[no-untyped-def]
    """The square with the row's number in the lowest bits of its mantissa."""
    bits = np.float32(square).view(np.int32)
    return np.int32((bits & high_bits) | row).view(np.float32)


@compiled(fastmath=FAST)
def _begin(squares, lanes, values, columns, size):  # type: ignore[no-untyped-def]
    """Squares of four rows over the first two or four columns, as many as ``columns`` is long."""
    tile = TILES[len(size) - 1]
    for lane in range(tile):
        for row in range(N_ROWS):
            gap = values[row * N_COLUMNS] - lanes[lane]
            total = gap * gap
            for a in range(1, len(columns)):
                gap = values[row * N_COLUMNS + a] - lanes[a * tile + lane]
                total += gap * gap
            squares[row * tile + lane] = total


@compiled(fastmath=FAST)
def _add(squares, lanes, values, size):  # type: ignore[no-untyped-def]
    """Add the squares over four more columns."""
    tile = TILES[len(size) - 1]
    for lane in range(tile):
        for row in range(N_ROWS):
            total = squares[row * tile + lane]
            for a in range(N_COLUMNS):
                gap = values[row * N_COLUMNS + a] - lanes[a * tile + lane]
                total += gap * gap
            squares[row * tile + lane] = total


@compiled(fastmath=FAST)
def _exchange(least, key0, key1, key2, key3):  # type: ignore[no-untyped-def]
    """The smallest of a kept key and those of four rows, and the four others."""
    key0, least = max(least, key0), min(least, key0)
    key1, least = max(least, key1), min(least, key1)
    key2, least = max(least, key2), min(least, key2)
    key3, least = max(least, key3), min(least, key3)
    return least, key0, key1, key2, key3


@compiled(fastmath=FAST)
def _sort_in(kept, squares, numbers, row, ks, size):  # type: ignore[no-untyped-def]
    """Push four rows through the network that keeps the k + 1 smallest of each lane."""
    tile = TILES[len(size) - 1]
    high_bits = numbers[len(numbers) - 1]
    row0, row1, row2, row3 = numbers[row], numbers[row + 1], numbers[row + 2], numbers[row + 3]
    for lane in range(tile):
        key0 = _pack(squares[lane], high_bits, row0)
        key1 = _pack(squares[tile + lane], high_bits, row1)
        key2 = _pack(squares[2 * tile + lane], high_bits, row2)
        key3 = _pack(squares[3 * tile + lane], high_bits, row3)
        for p in range(len(ks) + 1):
            least, key0, key1, key2, key3 = _exchange(kept[p * tile + lane], key0, key1, key2, key3)
            kept[p * tile + lane] = least


@compiled(fastmath=FAST)
def _write_keys(squares, numbers, row, size):  # type: ignore[no-untyped-def]
    """Turn the squares of four rows into keys."""
    tile = TILES[len(size) - 1]
    high_bits = numbers[len(numbers) - 1]
    for a in range(N_ROWS):
        number = numbers[row + a]
        for lane in range(a * tile, (a + 1) * tile):
            squares[lane] = _pack(squares[lane], high_bits, number)


@compiled(fastmath=FAST)
def _pass_link(kept, keys, size):  # type: ignore[no-untyped-def]
    """Push four rows through one network of a chain; what it does not keep is left in ``keys``."""
    tile = TILES[len(size) - 1]
    for lane in range(tile):
        key0, key1 = keys[lane], keys[tile + lane]
        key2, key3 = keys[2 * tile + lane], keys[3 * tile + lane]
        for p in range(LINK):
            least, key0, key1, key2, key3 = _exchange(kept[p * tile + lane], key0, key1, key2, key3)
            kept[p * tile + lane] = least
        keys[lane], keys[tile + lane] = key0, key1
        keys[2 * tile + lane], keys[3 * tile + lane] = key2, key3


@compiled()
def _search_tile(lanes, values, numbers, n_columns, kept, squares, ks, size):  # type: ignore[no-untyped-def]
    """Keys of the nearest rows of each lane, nearest first, as many as ``kept`` has room for."""
    tile = TILES[len(size) - 1]
    kept[:] = 2.0 * FAR * FAR
    n_blocks = (n_columns + N_COLUMNS - 1) // N_COLUMNS
    n_first = n_columns - N_COLUMNS * (n_blocks - 1)
    block = N_ROWS * N_COLUMNS
    at = 0
    for row in range(0, len(numbers) - 1, N_ROWS):
        if n_first == 2:
            _begin(squares, lanes, values[at : at + block], (0, 0), size)
        else:
            _begin(squares, lanes, values[at : at + block], (0, 0, 0, 0), size)
        at += block
        first = n_first * tile
        for _ in range(1, n_blocks):
            _add(squares, lanes[first : first + N_COLUMNS * tile], values[at : at + block], size)
            first += N_COLUMNS * tile
            at += block
        if len(ks) <= LARGEST_NETWORK:
            _sort_in(kept, squares, numbers, row, ks, size)
        else:
            _write_keys(squares, numbers, row, size)
            for link in range(0, len(kept), LINK * tile):
                _pass_link(kept[link : link + LINK * tile], squares, size)


@compiled()
def _arranged(columns, mine, n_columns):  # type: ignore[no-untyped-def]
    """The rows of one mask's columns, in blocks of four rows by four columns.

    A column of zeros makes their number even, and rows far away make theirs a multiple of four.
    """
    n_rows = columns.shape[1]
    n_groups = (n_rows + N_ROWS - 1) // N_ROWS
    n_blocks = (n_columns + N_COLUMNS - 1) // N_COLUMNS
    n_first = n_columns - N_COLUMNS * (n_blocks - 1)
    values = np.zeros(n_groups * n_blocks * N_ROWS * N_COLUMNS, np.float32)
    for a in range(len(mine)):
        line = columns[mine[a]]
        block, place = 0, a
        if a >= n_first:
            block = 1 + (a - n_first) // N_COLUMNS
            place = (a - n_first) % N_COLUMNS
        for row in range(n_rows):
            group = (row // N_ROWS) * n_blocks + block
            values[(group * N_ROWS + row % N_ROWS) * N_COLUMNS + place] = line[row]
    for row in range(n_rows, n_groups * N_ROWS):
        group = (row // N_ROWS) * n_blocks
        values[(group * N_ROWS + row % N_ROWS) * N_COLUMNS] = FAR
    return values


@compiled()
def _search_in_tiles(values, query, mine, n_columns, start, stop, numbers, ks, size, keys):  # type: ignore[no-untyped-def]
    """Fill ``keys`` for a range of queries, a tile at a time."""
    tile = TILES[len(size) - 1]
    lanes = np.zeros(n_columns * tile, np.float32)
    squares = np.empty(N_ROWS * tile, np.float32)
    n_kept = len(keys)
    if len(ks) > LARGEST_NETWORK:
        n_kept = (n_kept + LINK - 1) // LINK * LINK
    kept = np.empty(n_kept * tile, np.float32)
    for first in range(start, stop, tile):
        width = min(tile, stop - first)
        for a in range(len(mine)):
            for lane in range(width):
                lanes[a * tile + lane] = query[mine[a], first + lane]
        _search_tile(lanes, values, numbers, n_columns, kept, squares, ks, size)
        for p in range(len(keys)):
            keys[p, first : first + width] = kept[p * tile : p * tile + width]


@compiled()
def search(columns, query, mine, numbers, ks, keys):  # type: ignore[no-untyped-def]
    """Keys of the k + 1 nearest rows of all queries, nearest first.

    Parameters
    ----------
    columns : float32 ndarray of shape (M, n_rows)
    query : float32 ndarray of shape (M, n_queries)
    mine : int64 ndarray
        Columns that count.
    numbers : int32 ndarray
        See :func:`row_numbers`.
    ks : tuple of k zeros, or CHAIN
    keys : float32 ndarray of shape (k + 1, n_queries)
        Where they go: squared distances with row numbers in their lowest bits.
    """
    n_queries = query.shape[1]
    n_columns = len(mine) + len(mine) % 2
    values = _arranged(columns, mine, n_columns)
    # Wide tiles, the last of which may be partly empty, and a narrow one for a few queries.
    rest = n_queries % TILES[0]
    done = n_queries - rest if rest <= TILES[1] else n_queries
    _search_in_tiles(values, query, mine, n_columns, 0, done, numbers, ks, WIDE, keys)
    _search_in_tiles(values, query, mine, n_columns, done, n_queries, numbers, ks, NARROW, keys)


@compiled()
def search_exactly(columns, query, mine, i, scale, gaps, rows, squares):  # type: ignore[no-untyped-def]
    """The nearest rows of query i, as many as ``rows`` has room for, nearest first.

    Of rows at the same distance the first ones. ``scale`` is a power of two that keeps squares
    from overflowing; ``gaps`` (n_rows,) is room to work in.
    """
    k, n_rows = len(rows), columns.shape[1]
    gaps[:] = 0.0
    for j in mine:
        line, value = columns[j], query[j, i]
        for row in range(n_rows):
            gap = line[row] * scale - value * scale
            gaps[row] += gap * gap
    squares[:] = np.inf
    rows[:] = 0
    for row in range(n_rows):
        square = gaps[row]
        if square < squares[k - 1]:
            p = k - 1
            while p > 0 and squares[p - 1] > square:
                squares[p] = squares[p - 1]
                rows[p] = rows[p - 1]
                p -= 1
            squares[p] = square
            rows[p] = row


@compiled()
def row_of(key, numbers):  # type: ignore[no-untyped-def]
    """The row number in a key."""
    return np.float32(key).view(np.int32) & ~numbers[len(numbers) - 1]


@compiled()
def is_sure(nearer, farther, error, n_columns, numbers):  # type: ignore[no-untyped-def]
    """Whether the rows of two keys are certainly at different distances.

    ``error`` bounds what rounding the coordinates can do to a distance; the rest is what summing,
    and writing a row number into the lowest bits, can do.
    """
    of_sum = (n_columns + 4.0) * UNIT
    of_packing = -2.0 * UNIT * np.float64(numbers[len(numbers) - 1])
    at_most = np.sqrt(np.float64(nearer) * (1.0 + of_packing)) * (1.0 + of_sum) + error
    at_least = np.sqrt(np.float64(farther) * (1.0 - of_packing)) * (1.0 - of_sum) - error
    return at_least > at_most


@compiled()
def in_single_precision(columns, query):  # type: ignore[no-untyped-def]
    """Both in single precision, about the columns' means.

    The mean goes first: what matters is how far values are from each other.
    """
    n_columns, n_rows, n_queries = len(columns), columns.shape[1], query.shape[1]
    rows = np.empty((n_columns, n_rows), np.float32)
    asked = np.empty((n_columns, n_queries), np.float32)
    largest = np.zeros(n_columns)
    for j in range(n_columns):
        mean = columns[j].mean()
        for i in range(n_rows):
            rows[j, i] = columns[j, i] - mean
        for i in range(n_queries):
            asked[j, i] = query[j, i] - mean
        # Of values that overflow nothing is expected but that they are seen here.
        largest[j] = max(np.abs(rows[j]).max(), np.abs(asked[j]).max())
    return Single(rows, asked, largest)


def row_numbers(n_rows: int) -> IntArray:
    """Numbers of the rows up to the next multiple of four, then the mask of the other bits."""
    n_padded = -(-n_rows // N_ROWS) * N_ROWS
    low_bits = (1 << (n_padded - 1).bit_length()) - 1
    return np.append(np.arange(n_padded), ~low_bits).astype(np.int32)


@compiled()
def _read_keys(keys, error, n_columns, numbers, nearest, sure):  # type: ignore[no-untyped-def]
    """Rows of the k nearest of each query (k, n_queries), and whether they certainly are."""
    k, n_queries = nearest.shape
    nearer, farther = keys[k - 1], keys[k]
    for i in range(n_queries):
        sure[i] = is_sure(nearer[i], farther[i], error, n_columns, numbers)
    for p in range(k):
        found, row = keys[p], nearest[p]
        for i in range(n_queries):
            row[i] = row_of(found[i], numbers)


@compiled()
def predict_fast(columns, query, single, numbers, subsets, k, ks, answer, out):  # type: ignore[no-untyped-def]
    """Predictions of each mask's model for all queries, (T, n_query, C)."""
    begin, held = subsets
    rounded, asked, largest = single
    n_queries = query.shape[1]
    keys = np.empty((k + 1, n_queries), np.float32)
    nearest = np.empty((k, n_queries), np.int32)
    sure = np.empty(n_queries, np.bool_)
    gaps = np.empty(columns.shape[1])
    rows = np.empty(k, np.int32)
    squares = np.empty(k)
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        search(rounded, asked, mine, numbers, ks, keys)
        # Rounding moves a gap between two values of a column by 4 units of its largest, and a
        # distance by no more than all gaps together. The second term is for underflow.
        error = 0.0
        for j in mine:
            error += (5.0 * UNIT * largest[j]) ** 2 + 1e-36
        _read_keys(keys, np.sqrt(error), len(mine), numbers, nearest, sure)
        for i in range(n_queries):
            if not sure[i]:
                search_exactly(columns, query, mine, i, 1.0, gaps, rows, squares)
                nearest[:, i] = rows
        if answer.by_distance:
            for i in range(n_queries):
                rows[:] = nearest[:, i]
                _measure(columns, query, mine, i, rows, squares)
                average_by_distance(rows, squares, answer, out[t, i])
        else:
            put_in_order(nearest)
            average(nearest, answer, out[t])


@compiled()
def predict_exactly(columns, query, subsets, k, answer, out):  # type: ignore[no-untyped-def]
    """The same for many neighbours, many rows, or values that single precision cannot hold."""
    begin, held = subsets
    gaps = np.empty(columns.shape[1])
    rows = np.empty(k, np.int32)
    squares = np.empty(k)
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        largest, scale = 0.0, 1.0
        for j in mine:
            largest = max(largest, np.abs(columns[j]).max(), np.abs(query[j]).max())
        while largest * scale > LARGEST_EXACT:
            scale /= 2.0
        for i in range(query.shape[1]):
            search_exactly(columns, query, mine, i, scale, gaps, rows, squares)
            if answer.by_distance:
                average_by_distance(rows, squares, answer, out[t, i])
            else:
                one = rows.reshape(k, 1)
                put_in_order(one)
                average(one, answer, out[t, i : i + 1])


@compiled()
def _measure(columns, query, mine, i, rows, squares):  # type: ignore[no-untyped-def]
    """Squared distances of some rows to query i."""
    for p in range(len(rows)):
        squares[p] = 0.0
        for j in mine:
            gap = columns[j, rows[p]] - query[j, i]
            squares[p] += gap * gap

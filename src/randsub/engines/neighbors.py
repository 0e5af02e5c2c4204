"""k nearest neighbours, compiled.

Euclidean distances over a handful of columns are a few vector operations a pair of samples; what
takes the time is finding the k smallest of them. So a kernel works on a tile of queries at once,
one query a vector lane: for each training row, the distances to all queries of the tile are added
up column by column, then pushed through a sorting network that keeps the k smallest of each lane.
There is no branch that depends on the data.

The network must carry along which row a distance belongs to. Its number replaces the lowest bits of
the distance's mantissa: with n training rows that changes a distance by a relative ``n * 2 ** -52``
at most, less than the rounding of the sum. Neighbours are those of scikit-learn except where
distances are tied to that precision.
"""

from collections.abc import Callable
from functools import lru_cache
from numbers import Integral
from typing import Any

import numba as nb
import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.bits import bits_of, float_of
from randsub.engines.compiled import CompiledEngine, is_dense_numeric, sparse_rows

# The network is unrolled for each k; beyond this many neighbours plain insertion is as good.
LARGEST_NETWORK = 8
# Queries in a tile: loops over a tile have a length known to the compiler.
TILES = (136, 64, 16)
# Row numbers must leave most of the mantissa alone.
MOST_ROWS = 2**20

LARGEST_SQUARE = np.finfo(np.float64).max / 2

REGRESSION, PROBABILITIES, VOTES = 0, 1, 2


class NeighborsEngine(CompiledEngine):
    """KNeighborsClassifier and KNeighborsRegressor with Euclidean distances."""

    @classmethod
    def is_usable_for(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> bool:
        """Euclidean metric, uniform or distance weights, any k, any of the exact algorithms."""
        if type(estimator) not in (KNeighborsClassifier, KNeighborsRegressor):
            return False
        euclidean = estimator.metric == "euclidean" or (
            estimator.metric == "minkowski" and estimator.p == 2
        )
        return (
            euclidean
            and estimator.metric_params is None
            and estimator.weights in ("uniform", "distance", None)
            and estimator.algorithm in ("auto", "ball_tree", "kd_tree", "brute")
            and isinstance(estimator.n_neighbors, Integral)
            and int(estimator.n_neighbors) >= 1
            and is_dense_numeric(X)
            and X.shape[0] <= MOST_ROWS
        )

    def _steps_aside(self, y_train: Any) -> bool:
        # scikit-learn has the words for it.
        return len(y_train) < self.learner.estimator.n_neighbors

    def _predict(
        self,
        columns: FloatArray,
        targets: Any,
        masks: BoolArray,
        query: FloatArray,
        seeds: IntArray,
        sample_weight: FloatArray | None,
    ) -> FloatArray:
        learner, k = self.learner, int(self.learner.estimator.n_neighbors)
        begin, held = sparse_rows(masks)
        n_queries = query.shape[1]
        out = np.zeros((len(masks), n_queries, learner.n_outputs))
        if learner.classes is None:
            mode, values = REGRESSION, np.asarray(targets, dtype=np.float64)
        else:
            mode = PROBABILITIES if learner.voting == "soft" else VOTES
            values = targets.astype(np.float64)
        by_distance = learner.estimator.weights == "distance"
        if k > LARGEST_NETWORK:
            _insertion(columns, query, values, begin, held, k, by_distance, mode, out)
            return out
        for start, stop, tile in _tiles(n_queries):
            _network(k, tile)(
                columns, query, values, begin, held, start, stop, by_distance, mode, out
            )
        return out


def _tiles(n_queries: int) -> list[tuple[int, int, int]]:
    """Ranges of queries, each with the size of the tiles that it is worked through in."""
    largest, middle, smallest = TILES
    whole = n_queries // largest * largest
    rest = n_queries - whole
    if rest > middle:
        return [(0, n_queries, largest)]
    ranges = [(0, whole, largest)] if whole else []
    if rest:
        ranges.append((whole, n_queries, middle if rest > smallest else smallest))
    return ranges


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _collect(
    indices: IntArray,
    squares: FloatArray,
    k: int,
    values: FloatArray,
    by_distance: bool,
    mode: int,
    out: FloatArray,
) -> None:
    """Turn the k nearest rows of one query into its prediction (C,)."""
    exact = False
    if by_distance:
        for p in range(k):
            exact |= squares[p] == 0.0
    total = 0.0
    for p in range(k):
        weight = 1.0
        if exact:
            # Rows at no distance decide alone.
            weight = 1.0 if squares[p] == 0.0 else 0.0
        elif by_distance:
            weight = 1.0 / np.sqrt(squares[p])
        total += weight
        if mode == REGRESSION:
            out[0] += weight * values[indices[p]]
        else:
            out[int(values[indices[p]])] += weight
    if mode == VOTES:
        best = 0
        for c in range(len(out)):
            if out[c] > out[best]:
                best = c
        for c in range(len(out)):
            out[c] = 1.0 if c == best else 0.0
    else:
        for c in range(len(out)):
            out[c] /= total


@lru_cache
def _network(k: int, tile: int) -> Callable[..., None]:
    """The kernel for k neighbours and tiles of this many queries.

    Not cached on disk: all variants would share one index file, whose entries two processes that
    compile different variants at the same time can give the same name. One of them would then be
    handed the other's code, and quietly find the wrong neighbours.
    """
    fast = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"nnan", "nsz", "contract"},
    }

    @nb.njit(**fast)
    def begin_squares(squares, query, value):  # type: ignore[no-untyped-def]
        for lane in range(tile):
            gap = value - query[lane]
            squares[lane] = gap * gap

    @nb.njit(**fast)
    def add_squares(squares, query, value):  # type: ignore[no-untyped-def]
        for lane in range(tile):
            gap = value - query[lane]
            squares[lane] += gap * gap

    @nb.njit(**fast)
    def add_four(squares, query0, query1, query2, query3, value0, value1, value2, value3):  # type: ignore[no-untyped-def]
        # Four columns for one trip of the squares to memory and back.
        for lane in range(tile):
            gap0 = value0 - query0[lane]
            gap1 = value1 - query1[lane]
            gap2 = value2 - query2[lane]
            gap3 = value3 - query3[lane]
            squares[lane] += (gap0 * gap0 + gap1 * gap1) + (gap2 * gap2 + gap3 * gap3)

    @nb.njit(**fast)
    def sort_in(work, high_bits, row):  # type: ignore[no-untyped-def]
        # work holds the new squares, then the k smallest so far, in lines of one tile.
        for lane in range(tile):
            # The bits of infinity with a row number would be no number.
            value = float_of((bits_of(min(work[lane], LARGEST_SQUARE)) & high_bits) | row)
            for p in range(1, k + 1):
                kept = work[p * tile + lane]
                work[p * tile + lane] = min(value, kept)
                value = max(value, kept)

    @nb.njit(nogil=True, error_model="numpy")
    def kernel(columns, query, values, begin, held, start, stop, by_distance, mode, out):  # type: ignore[no-untyped-def]
        n_rows = columns.shape[1]
        low_bits = 1
        while low_bits < n_rows:
            low_bits *= 2
        low_bits -= 1
        widest = 0
        for t in range(len(begin) - 1):
            widest = max(widest, begin[t + 1] - begin[t])
        work = np.empty(tile * (k + 1))
        lanes = np.zeros((widest, tile))
        indices = np.empty(k, np.int64)
        squares = np.empty(k)
        for t in range(len(begin) - 1):
            mine = held[begin[t] : begin[t + 1]]
            for first in range(start, stop, tile):
                width = min(tile, stop - first)
                for a in range(len(mine)):
                    for lane in range(width):
                        lanes[a, lane] = query[mine[a], first + lane]
                for place in range(tile, tile * (k + 1)):
                    work[place] = np.inf
                for row in range(n_rows):
                    begin_squares(work, lanes[0], columns[mine[0], row])
                    a = 1
                    while a + 4 <= len(mine):
                        add_four(
                            work,
                            lanes[a],
                            lanes[a + 1],
                            lanes[a + 2],
                            lanes[a + 3],
                            columns[mine[a], row],
                            columns[mine[a + 1], row],
                            columns[mine[a + 2], row],
                            columns[mine[a + 3], row],
                        )
                        a += 4
                    while a < len(mine):
                        add_squares(work, lanes[a], columns[mine[a], row])
                        a += 1
                    sort_in(work, ~low_bits, row)
                for lane in range(width):
                    for p in range(k):
                        bits = bits_of(work[(p + 1) * tile + lane])
                        indices[p] = bits & low_bits
                        squares[p] = float_of(bits & ~low_bits)
                    _collect(indices, squares, k, values, by_distance, mode, out[t, first + lane])

    return kernel


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _insertion(
    columns: FloatArray,
    query: FloatArray,
    values: FloatArray,
    begin: IntArray,
    held: IntArray,
    k: int,
    by_distance: bool,
    mode: int,
    out: FloatArray,
) -> None:
    """The kernel for many neighbours: a sorted list for each query."""
    n_rows = columns.shape[1]
    gaps = np.empty(n_rows)
    indices = np.empty(k, np.int64)
    squares = np.empty(k)
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        for i in range(query.shape[1]):
            gaps[:] = 0.0
            for j in mine:
                line, value = columns[j], query[j, i]
                for row in range(n_rows):
                    gap = line[row] - value
                    gaps[row] += gap * gap
            squares[:] = np.inf
            for row in range(n_rows):
                square = gaps[row]
                if square < squares[k - 1]:
                    p = k - 1
                    while p > 0 and squares[p - 1] > square:
                        squares[p] = squares[p - 1]
                        indices[p] = indices[p - 1]
                        p -= 1
                    squares[p] = square
                    indices[p] = row
            _collect(indices, squares, k, values, by_distance, mode, out[t, i])

"""k nearest neighbours, compiled.

How the nearest rows are found is told in :mod:`~randsub.engines.nearest`; what they predict, here.
Neighbours are those of scikit-learn except where distances are tied to the last digits.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub._compile import compiled
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.compiled import CompiledEngine, is_dense_numeric, sparse_rows
from randsub.engines.nearest import (
    LARGEST,
    LARGEST_EXACT,
    LARGEST_NETWORK,
    MOST_ROWS,
    SMALLEST,
    UNIT,
    in_single_precision,
    is_sure,
    row_numbers,
    row_of,
    search,
    search_exactly,
)

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
        n_rows = columns.shape[1]
        single, asked, largest = in_single_precision(columns, query)
        fits = n_rows <= MOST_ROWS and SMALLEST < largest.max() < LARGEST
        if k > LARGEST_NETWORK or not fits:
            columns, query = _within_range(columns, query)
            _predict_exactly(columns, query, values, begin, held, k, by_distance, mode, out)
            return out
        _predict_fast(
            columns,
            query,
            single,
            asked,
            largest,
            row_numbers(n_rows),
            values,
            begin,
            held,
            (0,) * k,
            by_distance,
            mode,
            out,
        )
        return out


def _within_range(columns: FloatArray, query: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both as they are, or divided by a power of two where squares would overflow."""
    largest = max(np.abs(columns).max(), np.abs(query).max())
    if largest < LARGEST_EXACT:
        return columns, query
    scale = 2.0 ** -np.ceil(np.log2(largest / LARGEST_EXACT))
    return columns * scale, query * scale


@compiled()
def _predict_fast(  # type: ignore[no-untyped-def]
    columns,
    query,
    single,
    asked,
    largest,
    numbers,
    values,
    begin,
    held,
    ks,
    by_distance,
    mode,
    out,
):
    """Predictions of each mask's model for all queries, (T, n_query, C)."""
    k, n_queries = len(ks), query.shape[1]
    keys = np.empty((n_queries, k + 1), np.float32)
    gaps = np.empty(columns.shape[1])
    rows = np.empty(k, np.int64)
    squares = np.empty(k)
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        search(single, asked, mine, numbers, ks, keys)
        # Rounding moves a gap between two values of a column by 4 units of its largest, and a
        # distance by no more than all gaps together. The second term is for underflow.
        error = 0.0
        for j in mine:
            error += (5.0 * UNIT * largest[j]) ** 2 + 1e-36
        error = np.sqrt(error)
        for i in range(n_queries):
            if is_sure(keys[i, k - 1], keys[i, k], error, len(mine), numbers):
                for p in range(k):
                    rows[p] = row_of(keys[i, p], numbers)
                if by_distance:
                    _measure(columns, query, mine, i, rows, squares)
            else:
                search_exactly(columns, query, mine, i, gaps, rows, squares)
            _collect(rows, squares, values, by_distance, mode, out[t, i])


@compiled()
def _predict_exactly(columns, query, values, begin, held, k, by_distance, mode, out):  # type: ignore[no-untyped-def]
    """The same for many neighbours, many rows, or values that single precision cannot hold."""
    gaps = np.empty(columns.shape[1])
    rows = np.empty(k, np.int64)
    squares = np.empty(k)
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        for i in range(query.shape[1]):
            search_exactly(columns, query, mine, i, gaps, rows, squares)
            _collect(rows, squares, values, by_distance, mode, out[t, i])


@compiled()
def _measure(columns, query, mine, i, rows, squares):  # type: ignore[no-untyped-def]
    """Squared distances of some rows to query i."""
    for p in range(len(rows)):
        squares[p] = 0.0
        for j in mine:
            gap = columns[j, rows[p]] - query[j, i]
            squares[p] += gap * gap


@compiled()
def _put_in_order(rows):  # type: ignore[no-untyped-def]
    """Sort a few row numbers: sums must not depend on how the rows were found."""
    for p in range(1, len(rows)):
        row, place = rows[p], p
        while place > 0 and rows[place - 1] > row:
            rows[place] = rows[place - 1]
            place -= 1
        rows[place] = row


@compiled()
def _collect(rows, squares, values, by_distance, mode, out):  # type: ignore[no-untyped-def]
    """Turn the nearest rows of one query into its prediction (C,)."""
    exact = False
    if by_distance:
        for p in range(len(rows)):
            exact |= squares[p] == 0.0
    else:
        _put_in_order(rows)
    total = 0.0
    for p in range(len(rows)):
        weight = 1.0
        if exact:
            # Rows at no distance decide alone.
            weight = 1.0 if squares[p] == 0.0 else 0.0
        elif by_distance:
            weight = 1.0 / np.sqrt(squares[p])
        total += weight
        if mode == REGRESSION:
            out[0] += weight * values[rows[p]]
        else:
            out[int(values[rows[p]])] += weight
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

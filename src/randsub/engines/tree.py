"""Decision trees, compiled.

Each column is sorted once for all trees. A tree keeps its training rows in the sorted order of
each of its columns; a node is a range of these lists, its best split is found by one scan of the
range in each list, and splitting it is a stable partition of the ranges. Scans and partitions read
memory in order, and divide by nothing: reciprocals and ``n log n`` of all counts are in tables.

Splits are those of scikit-learn's best splitter on single-precision columns. Where several are
equally good, columns are tried in random order and the first wins, as there: equal in law, not in
every tree.
"""

import math
from numbers import Integral
from typing import Any, ClassVar

import numba as nb
import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub._tables import frame_kind, to_array
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.compiled import CompiledEngine, is_dense_numeric, sparse_rows
from randsub.engines.members import aligned

CRITERIA = {"squared_error": 0, "gini": 1, "entropy": 2, "log_loss": 2}
SQUARED_ERROR, GINI, ENTROPY = 0, 1, 2
EPSILON = np.finfo(np.float64).eps
# Values closer than this are one value to scikit-learn.
SAME = np.float32(1e-7)
UNLIMITED = np.iinfo(np.int32).max


class TreeEngine(CompiledEngine):
    """DecisionTreeClassifier and DecisionTreeRegressor with the best splitter."""

    # Equal masks may break ties differently, and their average is the better for it.
    deterministic: ClassVar[bool] = False

    @classmethod
    def is_usable_for(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> bool:
        """Squared error, gini, entropy; limits of depth, sizes and impurity; no weights, no NaN."""
        if type(estimator) not in (DecisionTreeClassifier, DecisionTreeRegressor):
            return False
        return (
            estimator.criterion in CRITERIA
            and (estimator.criterion == "squared_error")
            == isinstance(estimator, DecisionTreeRegressor)
            and estimator.splitter == "best"
            and estimator.max_features is None
            and estimator.max_leaf_nodes is None
            and estimator.min_weight_fraction_leaf == 0.0
            and estimator.ccp_alpha == 0.0
            and getattr(estimator, "class_weight", None) is None
            and estimator.monotonic_cst is None
            and _is_limit(estimator.max_depth, 1, optional=True)
            and _is_limit(estimator.min_samples_split, 2)
            and _is_limit(estimator.min_samples_leaf, 1)
            and estimator.min_impurity_decrease >= 0.0
            and sample_weight is None
            and is_dense_numeric(X)
            and bool(np.isfinite(_array(X)).all())
        )

    def ask(self, model: Any, X: Table) -> FloatArray | None:
        """The model's tree, without scikit-learn's checks around it."""
        learner = self.learner
        if type(model) is not type(learner.estimator) or not is_dense_numeric(X):
            return None
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(_array(X), dtype=np.float32)
        if not np.isfinite(single).all():
            return None
        values = model.tree_.predict(single).reshape(len(single), -1)
        if learner.classes is None:
            return values.astype(np.float64)
        return aligned(learner, model, values / values.sum(axis=1, keepdims=True))

    def _predict(
        self,
        columns: FloatArray,
        targets: Any,
        masks: BoolArray,
        query: FloatArray,
        seeds: IntArray,
        sample_weight: FloatArray | None,
    ) -> FloatArray:
        learner, tree = self.learner, self.learner.estimator
        n_rows = columns.shape[1]
        single = columns.astype(np.float32)
        order = np.argsort(single, axis=1).astype(np.int32)
        values = np.asarray(targets, dtype=np.float64)
        # Sums of squares about the mean keep their digits.
        center = values.mean() if learner.classes is None else 0.0
        min_leaf = _as_count(tree.min_samples_leaf, n_rows, 1)
        min_split = max(_as_count(tree.min_samples_split, n_rows, 2), 2 * min_leaf)
        begin, held = sparse_rows(masks)
        out = np.empty((len(masks), query.shape[1], learner.n_outputs))
        _grow_and_predict(
            single.ravel(),
            order.ravel(),
            values - center,
            begin,
            held,
            seeds.astype(np.uint64),
            np.ascontiguousarray(query.T, dtype=np.float32),
            CRITERIA[tree.criterion],
            UNLIMITED if tree.max_depth is None else int(tree.max_depth),
            min_split,
            min_leaf,
            float(tree.min_impurity_decrease),
            out,
        )
        if learner.classes is None:
            return out + center
        if learner.voting == "hard":
            return np.eye(learner.n_outputs)[out.argmax(axis=2)]
        return out


def _is_limit(value: Any, least: int, *, optional: bool = False) -> bool:
    """Whether a limit is a count, or (where scikit-learn allows that) a share of the rows."""
    if value is None:
        return optional
    if isinstance(value, Integral):
        return int(value) >= least
    return not optional and isinstance(value, float) and 0.0 < value < 1.0


def _as_count(limit: Any, n_rows: int, least: int) -> int:
    if isinstance(limit, Integral):
        return int(limit)
    return max(least, math.ceil(limit * n_rows))


def _array(X: Table) -> Any:
    return X if frame_kind(X) is None else to_array(X, np.arange(X.shape[1]))


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _scan_squares(x, at, rows, of, y, start, end, total, min_leaf, inverse, best):  # type: ignore[no-untyped-def]
    """Best split of a range by squared error: the sum of ``sum ** 2 / n`` of both sides."""
    place = -1
    left = 0.0
    value = x[at + rows[of + start]]
    for p in range(start + 1, end):
        left += y[rows[of + p - 1]]
        following = x[at + rows[of + p]]
        if following > value + SAME:
            n_left, n_right = p - start, end - p
            if n_left >= min_leaf and n_right >= min_leaf:
                right = total - left
                worth = left * left * inverse[n_left] + right * right * inverse[n_right]
                if worth > best:
                    best, place = worth, p
        value = following
    return best, place


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _scan_counts(x, at, rows, of, y, start, end, counts, left, min_leaf, table, gini, best):  # type: ignore[no-untyped-def]
    """Best split of a range by gini (``sum_c n_c ** 2 / n``) or entropy (``sum_c n_c log n_c``)."""
    place = -1
    left[:] = 0
    worth_left = worth_right = 0.0
    for c in range(len(counts)):
        worth_right += counts[c] * counts[c] if gini else table[counts[c]]
    value = x[at + rows[of + start]]
    for p in range(start + 1, end):
        c = int(y[rows[of + p - 1]])
        here = left[c]
        there = counts[c] - here
        if gini:
            worth_left += 2 * here + 1
            worth_right -= 2 * there - 1
        else:
            worth_left += table[here + 1] - table[here]
            worth_right += table[there - 1] - table[there]
        left[c] = here + 1
        following = x[at + rows[of + p]]
        if following > value + SAME:
            n_left, n_right = p - start, end - p
            if n_left >= min_leaf and n_right >= min_leaf:
                if gini:
                    worth = worth_left * table[n_left] + worth_right * table[n_right]
                else:
                    worth = worth_left - table[n_left] + worth_right - table[n_right]
                if worth > best:
                    best, place = worth, p
        value = following
    return best, place


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _settle(rows, of, y, start, end, depth, criterion, max_depth, min_split, counts, value):  # type: ignore[no-untyped-def]
    """Write a node's prediction; whether it is a leaf: at a limit, or pure."""
    size = end - start
    if criterion == SQUARED_ERROR:
        total = squares = 0.0
        for p in range(start, end):
            target = y[rows[of + p]]
            total += target
            squares += target * target
        mean = total / size
        value[0] = mean
        pure = squares / size - mean * mean <= EPSILON
    else:
        counts[:] = 0
        for p in range(start, end):
            counts[int(y[rows[of + p]])] += 1
        largest = 0
        for c in range(len(counts)):
            value[c] = counts[c] / size
            largest = max(largest, counts[c])
        pure = largest == size
    return pure or depth >= max_depth or size < min_split


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _grow_and_predict(  # type: ignore[no-untyped-def]
    columns,
    order,
    y,
    begin,
    held,
    seeds,
    query,
    criterion,
    max_depth,
    min_split,
    min_leaf,
    min_decrease,
    out,
):
    """One tree for each mask; its answers for all queries go to ``out`` (T, n_query, C)."""
    n = len(y)
    n_outputs = out.shape[2]
    # 1 / n for squared error and gini, n log n for entropy.
    table = np.zeros(n + 1)
    for i in range(1, n + 1):
        table[i] = i * np.log(i) if criterion == ENTROPY else 1.0 / i
    widest = 0
    for t in range(len(begin) - 1):
        widest = max(widest, begin[t + 1] - begin[t])
    lists = np.empty(widest * n, np.int32)
    aside = np.empty(n, np.int32)
    goes_left = np.empty(n, np.int32)
    counts = np.zeros(n_outputs, np.int64)
    left_counts = np.zeros(n_outputs, np.int64)
    trial = np.empty(widest, np.int64)
    column_of = np.empty(2 * n, np.int32)
    threshold = np.empty(2 * n)
    child = np.empty(2 * n, np.int32)
    value = np.empty((2 * n, n_outputs))
    todo = np.empty((n + 1, 4), np.int32)  # start, end, depth, node
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        m = len(mine)
        for a in range(m):
            trial[a] = a
            for p in range(n):
                lists[a * n + p] = order[mine[a] * n + p]
        # A nonzero state for the generator, whatever the seed.
        state = (seeds[t] + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
        n_nodes, n_todo = 1, 0
        if not _settle(lists, 0, y, 0, n, 0, criterion, max_depth, min_split, counts, value[0]):
            todo[0, 0], todo[0, 1], todo[0, 2], todo[0, 3] = 0, n, 0, 0
            n_todo = 1
        column_of[0] = -1
        while n_todo:
            n_todo -= 1
            start, end = todo[n_todo, 0], todo[n_todo, 1]
            depth, node = todo[n_todo, 2], todo[n_todo, 3]
            size = end - start
            total = worth = 0.0
            if criterion == SQUARED_ERROR:
                total = value[node, 0] * size
                worth = total * value[node, 0]
            else:
                for c in range(n_outputs):
                    counts[c] = round(value[node, c] * size)
                    if criterion == GINI:
                        worth += counts[c] * counts[c] / size
                    else:
                        worth += table[counts[c]]
                if criterion == ENTROPY:
                    worth -= table[size]
            best, split, where = -np.inf, -1, -1
            for a in range(m - 1, -1, -1):
                # Columns in random order: Fisher and Yates, with xorshift.
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                b = np.int64(state % np.uint64(a + 1))
                trial[a], trial[b] = trial[b], trial[a]
                candidate = trial[a]
                at, of = mine[candidate] * n, candidate * n
                if columns[at + lists[of + end - 1]] <= columns[at + lists[of + start]] + SAME:
                    continue
                if criterion == SQUARED_ERROR:
                    found, place = _scan_squares(
                        columns, at, lists, of, y, start, end, total, min_leaf, table, best
                    )
                else:
                    found, place = _scan_counts(
                        columns,
                        at,
                        lists,
                        of,
                        y,
                        start,
                        end,
                        counts,
                        left_counts,
                        min_leaf,
                        table,
                        criterion == GINI,
                        best,
                    )
                if place >= 0:
                    best, split, where = found, candidate, place
            if split < 0:
                continue
            decrease = (best - worth) / n
            if criterion == ENTROPY:
                decrease /= np.log(2.0)
            if decrease + EPSILON < min_decrease:
                continue
            at, of = mine[split] * n, split * n
            below = np.float64(columns[at + lists[of + where - 1]])
            above = np.float64(columns[at + lists[of + where]])
            cut = below / 2.0 + above / 2.0
            if cut == above or not np.isfinite(cut):
                cut = below
            column_of[node], threshold[node], child[node] = mine[split], cut, n_nodes
            n_before = n_todo
            for side in range(2):
                first, last = (where, end) if side == 0 else (start, where)
                kid = n_nodes + 1 - side
                column_of[kid] = -1
                if not _settle(
                    lists,
                    of,
                    y,
                    first,
                    last,
                    depth + 1,
                    criterion,
                    max_depth,
                    min_split,
                    counts,
                    value[kid],
                ):
                    todo[n_todo, 0], todo[n_todo, 1] = first, last
                    todo[n_todo, 2], todo[n_todo, 3] = depth + 1, kid
                    n_todo += 1
            n_nodes += 2
            # The lists of other columns matter only where something is left to split.
            if n_todo > n_before:
                for p in range(start, where):
                    goes_left[lists[of + p]] = 1
                for p in range(where, end):
                    goes_left[lists[of + p]] = 0
                for a in range(m):
                    if a != split:
                        _partition(lists, a * n, goes_left, aside, start, end)
        for i in range(query.shape[0]):
            node = 0
            while column_of[node] >= 0:
                right = query[i, column_of[node]] > threshold[node]
                node = child[node] + (1 if right else 0)
            for c in range(n_outputs):
                out[t, i, c] = value[node, c]


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _partition(rows, of, goes_left, aside, start, end):  # type: ignore[no-untyped-def]
    """Rows that go left first, each side in its former order; no branch to mispredict."""
    n_left, n_right = start, 0
    for p in range(start, end):
        row = rows[of + p]
        left = goes_left[row]
        rows[of + n_left] = row
        aside[n_right] = row
        n_left += left
        n_right += 1 - left
    for p in range(n_right):
        rows[of + n_left + p] = aside[p]

"""Kernels that boost trees, one ensemble for each mask.

The sorted order of the rows by each column is the same in all stages; only the targets, which are
the residuals, change. A list of a column is therefore one number per row: its residual, a float64
whose last bits are replaced by the number of the row. Residuals so rounded serve to compare splits
and for nothing else: with 1,000 rows they have 42 of 52 bits, and splits that differ less than that
count as equally good. Values of leaves are computed from the residuals themselves.

A node is a range of each list. Splitting it is a stable partition in place, without branches. The
list of the column that was split is in order already, and holds the rows of a leaf when the tree
has grown, so no training row walks down a tree.
"""

from typing import NamedTuple

import numpy as np

from randsub._compile import compiled
from randsub._typing import FloatArray, IntArray
from randsub.engines.boosting.losses import leaf_value, residuals_of, start_of
from randsub.engines.boosting.splits import (
    make_tables,
    moments,
    scan,
    scan_weighed,
    take_split,
    weighed_moments,
)
from randsub.engines.bootstrap import draw_counts
from randsub.engines.simd import WIDTH, add, choose, greater, load, splat, store
from randsub.engines.tree.kernels import walk
from randsub.engines.tree.splits import EPSILON, SAME, cut

# Queries that go through a tree together.
GROUP = 4 * WIDTH
# A tree of up to this many nodes is evaluated at all of them, for all queries.
FEW_NODES = 31


class Plan(NamedTuple):
    """What is boosted: the loss, the number of stages and the learning rate."""

    loss: int
    n_stages: int
    rate: float


class Lists(NamedTuple):
    """The lists of a mask's columns, end to end.

    ``words`` and ``numbers`` are the same memory, as bits and as residuals. ``sorted_rows`` are the
    rows in the order of each column, as often as they were drawn. ``tied`` says of each column
    whether values occur more than once in it.
    """

    words: IntArray
    numbers: FloatArray
    sorted_rows: IntArray
    tied: IntArray


class Tree(NamedTuple):
    """A tree as in :class:`randsub.engines.tree.kernels.Nodes`.

    The rows of a node begin at ``places`` in the lists; ``sums`` are of residuals, weighted if the
    rows have weights, which are then added up in ``masses``; ``values`` are what leaves add to a
    prediction.
    """

    column_of: IntArray
    threshold: FloatArray
    child: IntArray
    sizes: IntArray
    places: IntArray
    sums: FloatArray
    masses: FloatArray
    values: FloatArray


@compiled()
def _lay_out(lists, columns, order, counts, mine):  # type: ignore[no-untyped-def]
    """Rows as often as drawn, sorted by each column, and which columns have ties."""
    n = len(counts)
    for a in range(len(mine)):
        at, line, tied = a * n, mine[a] * n, 0
        before = np.float32(-np.inf)
        for p in range(n):
            row = order[line + p]
            value = columns[line + row]
            for _ in range(counts[row]):
                tied |= not value > before + SAME
                before = value
                lists.sorted_rows[at] = row
                at += 1
        lists.tied[a] = tied


@compiled()
def _fill(lists, residual, tagged, n_rows, n_columns, low):  # type: ignore[no-untyped-def]
    """Put residuals, with the numbers of their rows, into all lists, of ``n_rows`` each."""
    words, sorted_rows = lists.words, lists.sorted_rows
    n = len(residual)
    for i in range(n):
        tagged[i] = (np.float64(residual[i]).view(np.int64) & ~low) | i
    stride = n + WIDTH
    for a in range(n_columns):
        goal, source = np.uintp(a * stride), np.uintp(a * n)
        for p in range(np.uintp(n_rows)):
            words[goal + p] = tagged[np.uintp(sorted_rows[source + p])]


@compiled(forceinline=True)
def _partition(words, start, size, n_left, split, n_columns, stride, low, goes_left, waiting):  # type: ignore[no-untyped-def]
    """Rows to the left of a split first, each side in its former order, in all other columns.

    Every row is written to both sides, and what moves on is the place for the next: no branch to
    mispredict. Rows to the right wait until those to the left are in place.
    """
    at = np.uintp(split * stride + start)
    for p in range(np.uintp(size)):
        goes_left[np.uintp(words[at + p] & low)] = p < np.uintp(n_left)
    for a in range(n_columns):
        if a == split:
            continue
        at = np.uintp(a * stride + start)
        left = right = np.uintp(0)
        for p in range(np.uintp(size)):
            word = words[at + p]
            stays = np.uintp(goes_left[np.uintp(word & low)])
            waiting[right] = word
            words[at + left] = word
            left += stays
            right += np.uintp(1) - stays
        for p in range(right):
            words[at + left + p] = waiting[p]


@compiled(forceinline=True)
def _variance(words, numbers, weights, low, at, size, sums, masses, node):  # type: ignore[no-untyped-def]
    """Write what the residuals of a node add up to, and return their variance."""
    if weights is None:
        sums[node], variance = moments(numbers, at, size)
        return variance
    sums[node], masses[node], variance = weighed_moments(words, numbers, weights, low, at, size)
    return variance


@compiled()
def _grow(  # type: ignore[no-untyped-def]
    lists, tree, columns, weights, mine, n_rows, low, limits, tables, state, work
):
    """Split nodes, the leftmost first, until nothing is left to split; how many nodes there are."""
    words, numbers = lists.words, lists.numbers
    column_of, threshold, child, sizes, places, sums, masses, _ = tree
    scanned, goes_left, waiting, todo = work
    worths, lefts = scanned[0], scanned[1]
    max_depth, min_split = limits.max_depth, limits.min_split
    m, n = len(mine), len(goes_left)
    stride = n + WIDTH
    n_nodes, n_todo = 1, 0
    child[0], threshold[0], sizes[0], places[0] = 0, np.inf, n_rows, 0
    variance = _variance(words, numbers, weights, low, 0, n_rows, sums, masses, 0)
    if variance > EPSILON and n_rows >= min_split:
        todo[0, 0], todo[0, 1], todo[0, 2] = 0, 0, 0
        n_todo = 1
    while n_todo:
        n_todo -= 1
        start, depth, node = todo[n_todo, 0], todo[n_todo, 1], todo[n_todo, 2]
        size = sizes[node]
        if weights is None:
            scan(lists, columns, mine, low, start, size, sums[node] / size, tables, scanned)
        else:
            total, mass = sums[node], masses[node]
            scan_weighed(
                lists, columns, weights, mine, low, start, size, total, mass, tables, scanned
            )
        split, state = take_split(worths, m, low, state)
        if split < 0:
            continue
        n_left, line = lefts[split], mine[split] * n
        first = split * stride + start
        middle = first + n_left
        below = columns[line + (words[middle - 1] & low)]
        threshold[node] = cut(below, columns[line + (words[middle] & low)])
        column_of[node], child[node] = mine[split], n_nodes
        n_before = n_todo
        for right in range(1, -1, -1):
            kid, kid_size = n_nodes + right, size - n_left if right else n_left
            child[kid], threshold[kid], sizes[kid] = kid, np.inf, kid_size
            places[kid] = middle if right else first
            if kid_size >= min_split and depth + 1 < max_depth:
                at = places[kid]
                if (
                    _variance(words, numbers, weights, low, at, kid_size, sums, masses, kid)
                    > EPSILON
                ):
                    todo[n_todo, 0] = start + n_left if right else start
                    todo[n_todo, 1], todo[n_todo, 2] = depth + 1, kid
                    n_todo += 1
        n_nodes += 2
        # The lists matter only where something is left to split.
        if n_todo > n_before:
            _partition(words, start, size, n_left, split, m, stride, low, goes_left, waiting)
    return n_nodes, state


@compiled()
def _take_step(words, tree, n_nodes, plan, factor, low, residual, weights, step):  # type: ignore[no-untyped-def]
    """Values of the leaves, and what they add to the raw prediction of each training row."""
    child, sizes, places, values = tree.child, tree.sizes, tree.places, tree.values
    for node in range(n_nodes):
        if child[node] != node:
            continue
        begin, size = np.uintp(places[node]), np.uintp(sizes[node])
        found = leaf_value(words, begin, size, low, plan.loss, factor, residual, weights)
        values[node] = value = plan.rate * found
        # Rows that were drawn several times take one step.
        for p in range(begin, begin + size):
            step[np.uintp(words[p] & low)] = value


@compiled()
def _add_to_queries(tree, n_nodes, query, held, leaf_of, totals):  # type: ignore[no-untyped-def]
    """Add the values of their leaves to the raw predictions of the queries.

    In small trees all splits are made for all queries, from the last node, which holds what a query
    gets if it comes there, up to the root: no query waits for the address of its next node.
    """
    column_of, threshold, child, values = tree.column_of, tree.threshold, tree.child, tree.values
    if n_nodes > FEW_NODES:
        walk(tree, query, leaf_of)
        for i in range(len(totals)):
            totals[i] += values[leaf_of[i]]
        return
    for node in range(n_nodes):
        for lane in range(0, GROUP, WIDTH):
            store(held, node * GROUP + lane, splat(values[node]))
    n = query.shape[1]
    for first in range(0, n, GROUP):
        for node in range(n_nodes - 1, -1, -1):
            if child[node] == node:
                continue
            at, left, bound = column_of[node] * n + first, child[node] * GROUP, threshold[node]
            for lane in range(0, GROUP, WIDTH):
                goes = greater(load(query, at + lane), splat(bound))
                right = load(held, left + GROUP + lane)
                store(held, node * GROUP + lane, choose(goes, right, load(held, left + lane)))
        for lane in range(0, GROUP, WIDTH):
            store(totals, first + lane, add(load(totals, first + lane), load(held, lane)))


@compiled()
def _make_work(widest, n):  # type: ignore[no-untyped-def]
    """Room for lists, for a tree, and for growing one."""
    words = np.zeros(widest * (n + WIDTH), np.int64)
    sorted_rows, tied = np.zeros(widest * n, np.int32), np.zeros(widest, np.int64)
    lists = Lists(words, words.view(np.float64), sorted_rows, tied)
    whole, real = np.zeros(2 * n, np.int64), np.zeros(2 * n)
    numbers = (real.copy(), real.copy(), real.copy())
    tree = Tree(whole, real, whole.copy(), whole.copy(), whole.copy(), *numbers)
    scanned = (
        np.empty(widest),  # worth of the best split of each column
        np.empty(widest, np.int64),  # rows to its left
        np.empty(2 * WIDTH),  # the same of each lane
        np.empty(2 * WIDTH, np.int64),
        np.zeros(n + 2 * WIDTH, np.float32),  # values of a column with ties
        np.arange(n + 2 * WIDTH).astype(np.float32),  # and without
        np.zeros(n + 2 * WIDTH),  # weights of the rows of a column
    )
    goes_left, waiting = np.zeros(n, np.uint8), np.empty(n + 1, np.int64)
    # Nodes to split: start, depth, node.
    todo = np.empty((n + 1, 3), np.int64)
    return lists, tree, (scanned, goes_left, waiting, todo)


@compiled()
def _boost(  # type: ignore[no-untyped-def]
    room, rows, weights, mine, n_rows, plan, limits, tables, state, raw, query, totals
):
    """All stages of one ensemble, from the raw predictions (K, n) that it starts with.

    ``n_rows`` are in the lists. What the trees predict for the queries is added to ``totals``
    (K, n_query).
    """
    lists, tree, work = room
    columns, _, y = rows
    n_trees, n = raw.shape
    # The lowest bits, in which the number of a row has room.
    low = np.int64(1)
    while low < n:
        low *= 2
    low -= 1
    residual, tagged, step = np.empty((n_trees, n)), np.empty(n, np.int64), np.zeros(n)
    held, leaf_of = np.empty(FEW_NODES * GROUP), np.empty(query.shape[1], np.int64)
    factor = 1.0 if n_trees == 1 else (n_trees - 1) / n_trees
    for _ in range(plan.n_stages):
        residuals_of(plan.loss, y, raw, residual)
        for k in range(n_trees):
            _fill(lists, residual[k], tagged, n_rows, len(mine), low)
            n_nodes, state = _grow(
                lists, tree, columns, weights, mine, n_rows, low, limits, tables, state, work
            )
            _take_step(lists.words, tree, n_nodes, plan, factor, low, residual[k], weights, step)
            raw[k] += step
            _add_to_queries(tree, n_nodes, query, held, leaf_of, totals[k])


@compiled()
def _weighed_start(loss, y, weights, counts, start):  # type: ignore[no-untyped-def]
    """Start from weighted rows, and leave out those without weight; how many are left."""
    masses, n_rows = np.empty(len(y)), 0
    for i in range(len(y)):
        counts[i] = counts[i] if weights[i] > 0.0 else 0
        masses[i] = counts[i] * weights[i]
        n_rows += counts[i]
    start_of(loss, y, masses, masses.sum(), start)
    return n_rows


@compiled()
def boost_and_predict(  # type: ignore[no-untyped-def]
    rows, weights, subsets, seeds, bootstrap, query, plan, limits, out
):
    """One ensemble for each mask; its raw predictions for all queries go to ``out``.

    ``rows`` are the columns of the training rows end to end, the rows in the order of each column,
    and their targets; ``weights`` (n,) may be None; ``query`` has as many rows as fill whole
    groups. ``out`` (T, n_query, K) has one output for each tree of a stage; NaN where a bootstrap
    sample has lost a class.
    """
    columns, order, y = rows
    begin, held = subsets
    n, n_trees = len(y), out.shape[2]
    widest = 1
    for t in range(len(begin) - 1):
        widest = max(widest, begin[t + 1] - begin[t])
    room = _make_work(widest, n)
    tables = make_tables(n, limits.min_leaf)
    counts, start, n_rows = np.ones(n, np.int64), np.empty(n_trees), n
    raw, totals = np.empty((n_trees, n)), np.empty((n_trees, query.shape[1]))
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        if bootstrap:
            draw_counts(seeds[t], counts)
        if weights is None:
            start_of(plan.loss, y, counts, n, start)
        else:
            n_rows = _weighed_start(plan.loss, y, weights, counts, start)
        for k in range(n_trees):
            raw[k], totals[k] = start[k], start[k]
        if not np.isnan(start[0]):
            _lay_out(room[0], columns, order, counts, mine)
            # A nonzero state for the generator, whatever the seed.
            state = (seeds[t] + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
            _boost(
                room, rows, weights, mine, n_rows, plan, limits, tables, state, raw, query, totals
            )
        for k in range(n_trees):
            out[t, :, k] = totals[k, : out.shape[1]]

"""Kernels that grow decision trees and send queries down them.

A tree keeps its training rows in the sorted order of each of its columns: lists of row number,
value and target. Eight columns stand side by side, so that one line holds the p-th entries of eight
lists and a scan of all eight is one pass over the lines, in vector registers. A node is a range of
lines. Splitting it is a stable partition of each list from one of two sets of lists to the other;
nodes of even depth have their lists in the first set, those of odd depth in the second.

What happens once a node is inlined by force, since handing over arrays would take longer than small
nodes do. Weights, and missing values, are for a second compiled version of these kernels: it has a
further list beside the targets, ``masses``, which is None in the first.
"""

from typing import NamedTuple

import numpy as np

from randsub._compile import compiled
from randsub._typing import FloatArray, IntArray
from randsub.engines.bootstrap import draw_counts
from randsub.engines.simd import WIDTH
from randsub.engines.tree.splits import (
    ENTROPY,
    count_up,
    cut,
    scan,
    take_best,
    value_of,
    worth_of,
)
from randsub.engines.tree.weighted_splits import (
    count_missing,
    room_for_lines,
    scan_masses,
    weigh_up,
    worth_of_mass,
)


class Limits(NamedTuple):
    """Where a tree stops growing.

    A split is worth making if the worth of its two sides, in the units of a scan, is ``min_gain``
    more than that of the node. With weights, that is for a total weight of 1, and ``min_share`` is
    the least part of it that a leaf must have.
    """

    max_depth: int
    min_split: int
    min_leaf: int
    min_gain: float
    min_share: float = 0.0


class Lists(NamedTuple):
    """Two sets of sorted lists, each in blocks of eight columns: entry (set, block, p, lane).

    An entry is a value, the bits of a float32, above the number of its row; beside it is the target
    of the row.
    """

    entries: IntArray
    targets: FloatArray


class Nodes(NamedTuple):
    """A tree: node 0 is the root, and a node's children are neighbours, the left one first.

    A leaf is its own child, with a threshold that nothing exceeds. ``sums`` holds the sum of the
    targets, or class counts, of the training rows of each node; ``masses`` their number, or weight.
    ``column_of`` is a line of the queries. Where values are missing, these have two lines for each
    column: in the first, for splits whose right side they go to, they are infinite, and minus
    infinite in the second, which comes after the first lines of all columns.
    """

    column_of: IntArray
    threshold: FloatArray
    child: IntArray
    sizes: IntArray
    sums: FloatArray
    masses: FloatArray


@compiled()
def _room_for_masses(weights, length):  # type: ignore[no-untyped-def]
    """Lists of weights, if there are any."""
    # Where an argument is None, the compiler leaves out what is never reached.
    if weights is None:
        return weights
    return np.zeros(length)


@compiled()
def _fill(lists, masses, columns, order, y, weights, counts, mine):  # type: ignore[no-untyped-def]
    """Lay out the first set of lists: all rows as often as drawn, sorted by each of the columns."""
    entries, targets = lists
    n = len(y)
    for a in range(len(mine)):
        at = np.uintp(a // WIDTH * n * WIDTH + a % WIDTH)
        begin = np.uintp(mine[a] * n)
        for p in range(np.uintp(n)):
            row = np.uintp(order[begin + p])
            bits = np.float32(columns[begin + row]).view(np.int32)
            for _ in range(counts[row]):
                entries[at] = (np.int64(bits) << 32) | np.int64(row)
                targets[at] = y[row]
                if masses is not None:
                    masses[at] = weights[row]
                at += np.uintp(WIDTH)


@compiled(forceinline=True)
def _partition(  # type: ignore[no-untyped-def]
    entries, targets, masses, at, to, n_left, size, columns, line, below, width
):
    """Rows up to the split value first, each side in its former order, from one set to the other.

    There is no branch to mispredict: where a row goes is arithmetic.
    """
    step = np.uintp(WIDTH)
    for lane in range(width):
        source = np.uintp(at + lane)
        left = np.uintp(to + lane)
        right = left + np.uintp(n_left) * step
        for _ in range(size):
            entry = entries[source]
            row = np.uintp(entry & 0xFFFFFFFF)
            stays = columns[np.uintp(line) + row] <= below
            place = left if stays else right
            entries[place] = entry
            targets[place] = targets[source]
            if masses is not None:
                masses[place] = masses[source]
            left += step if stays else np.uintp(0)
            right += np.uintp(0) if stays else step
            source += step


@compiled()
def walk(nodes, query, leaf_of):  # type: ignore[no-untyped-def]
    """The leaf of each query, eight at a time: one waits for memory while others move on."""
    column_of, threshold, child = nodes.column_of, nodes.threshold, nodes.child
    n_queries = len(leaf_of)
    leaf_of[:] = 0
    for first in range(0, n_queries, WIDTH):
        last = min(first + WIDTH, n_queries)
        moves = True
        while moves:
            moves = False
            for i in range(np.uintp(first), np.uintp(last)):
                node = np.uintp(leaf_of[i])
                right = query[np.uintp(column_of[node]), i] > threshold[node]
                following = np.uintp(child[node]) + np.uintp(right)
                leaf_of[i] = following
                moves |= following != node


@compiled()
def _write(nodes, leaf_of, out):  # type: ignore[no-untyped-def]
    """Means, or shares of classes, of the leaves."""
    masses, sums = nodes.masses, nodes.sums
    for i in range(len(leaf_of)):
        leaf = leaf_of[i]
        mass = masses[leaf]
        if sums.shape[1] > 1:
            for c in range(out.shape[1]):
                out[i, c] = sums[leaf, c] / mass
        elif out.shape[1] == 2:
            # Two classes are targets -1 and 1.
            out[i, 0] = (mass - sums[leaf, 0]) / (2.0 * mass)
            out[i, 1] = (mass + sums[leaf, 0]) / (2.0 * mass)
        else:
            out[i, 0] = sums[leaf, 0] / mass


@compiled(forceinline=True)
def _is_pure(targets, masses, at, size, head, gap, sums, mass_of, node):  # type: ignore[no-untyped-def]
    """Write what a node's rows add up to, and say whether their targets are all the same."""
    if masses is not None:
        return weigh_up(targets, masses, at, size, head, gap, sums, mass_of, node)
    mass_of[node] = size
    return count_up(targets, at, size, sums, node)


@compiled()
def _grow(  # type: ignore[no-untyped-def]
    lists, masses, nodes, columns, mine, n_rows, apart, criterion, limits, table, state, work, todo
):
    """Split nodes, the leftmost first, until nothing is left to split.

    ``n_rows`` are in the lists; ``apart`` is between the two lines of a column of the queries.
    """
    # Taken apart once: every array that is taken from a tuple counts a reference.
    entries, targets = lists
    column_of, threshold, child, sizes, sums, mass_of = nodes
    best, place, left, lines, classes, places, counted = work
    max_depth, min_split, min_leaf, min_gain, min_share = limits
    n = len(table) - 1
    m, block, half = len(mine), n * WIDTH, len(targets) // 2
    n_nodes, n_todo = 1, 0
    child[0], threshold[0], sizes[0] = 0, np.inf, n_rows
    start = node = np.int64(0)
    pure = _is_pure(targets, masses, start, n_rows, n_rows, 0, sums, mass_of, node)
    min_mass = least = 0.0
    if masses is not None:
        min_gain *= mass_of[0]
        min_mass = min_share * mass_of[0]
        # More than this is at least the minimum.
        least = np.nextafter(min_mass, 0.0)
    if not pure and n_rows >= min_split and mass_of[0] >= 2.0 * min_mass:
        todo[0, 0], todo[0, 1], todo[0, 2] = 0, 0, 0
        n_todo = 1
    while n_todo:
        n_todo -= 1
        start, depth, node = todo[n_todo, 0], todo[n_todo, 1], todo[n_todo, 2]
        size, mass = sizes[node], mass_of[node]
        at = (depth & 1) * half + start * WIDTH
        if masses is None:
            scan(
                entries,
                targets,
                at,
                m,
                block,
                size,
                sums,
                node,
                criterion,
                min_leaf,
                table,
                best,
                place,
                left,
            )
        else:
            scan_masses(
                entries,
                targets,
                masses,
                at,
                m,
                block,
                size,
                sums,
                mass,
                node,
                criterion,
                min_leaf,
                least,
                best,
                place,
                lines,
                classes,
                places,
                counted,
            )
        split, state = take_best(best, m, state)
        if split < 0:
            continue
        if masses is None:
            worth = worth_of(sums, node, size, criterion, table)
        else:
            worth = worth_of_mass(sums, node, mass, criterion)
        if best[split] - worth < min_gain:
            continue
        head, gap, line = place[split], 0, mine[split] * n
        n_left = head
        first = at + split // WIDTH * block + split % WIDTH
        to_left = n_left > size - n_left
        if masses is not None:
            n_missing = count_missing(entries, first, size)
            if n_missing:
                to_left = head < 0
            if head < 0:
                # Missing values, at the end of the list, go to the left.
                head = -head
                n_left, gap, line = (
                    head + n_missing,
                    size - n_missing - head,
                    len(columns) // 2 + line,
                )
        middle = first + head * WIDTH
        below = value_of(entries[middle - WIDTH])
        threshold[node] = cut(below, value_of(entries[middle]))
        column_of[node], child[node] = mine[split] + (apart if to_left else 0), n_nodes
        n_before = n_todo
        for right in range(1, -1, -1):
            kid = n_nodes + right
            kid_size = size - n_left if right else n_left
            child[kid], threshold[kid], sizes[kid] = kid, np.inf, kid_size
            begin, n_head = (middle, kid_size) if right else (first, head)
            pure = _is_pure(targets, masses, begin, kid_size, n_head, gap, sums, mass_of, kid)
            grows = not pure and kid_size >= min_split and depth + 1 < max_depth
            if masses is not None:
                grows = grows and mass_of[kid] >= 2.0 * min_mass
            if grows:
                todo[n_todo, 0] = start + n_left if right else start
                todo[n_todo, 1], todo[n_todo, 2] = depth + 1, kid
                n_todo += 1
        n_nodes += 2
        # The lists matter only where something is left to split.
        if n_todo > n_before:
            to = half - (depth & 1) * half + start * WIDTH
            for a in range(0, m, WIDTH):
                skip, width = a // WIDTH * block, min(WIDTH, m - a)
                source, goal = at + skip, to + skip
                _partition(
                    entries,
                    targets,
                    masses,
                    source,
                    goal,
                    n_left,
                    size,
                    columns,
                    line,
                    below,
                    width,
                )


@compiled()
def grow_and_predict(  # type: ignore[no-untyped-def]
    rows, weights, subsets, seeds, bootstrap, query, criterion, limits, out
):
    """One tree for each mask; its answers for all queries go to ``out`` (T, n_query, C).

    ``rows`` are the columns of the training rows end to end, the rows in the order of each column,
    and their targets. Missing values are infinite; if there are any, all columns are there a second
    time, with minus infinity in their place. The same holds for the lines of ``query``. ``weights``
    (n,), or None, are needed for missing values in the training rows. With ``bootstrap``, each tree
    is grown on rows drawn with replacement. The answer is NaN where no row has a weight.
    """
    columns, order, y = rows
    begin, held = subsets
    n, n_queries, n_outputs = len(y), query.shape[1], out.shape[2]
    n_columns = len(order) // n
    apart = query.shape[0] - n_columns
    table = np.zeros(n + 1)
    for i in range(1, n + 1):
        table[i] = i * np.log(i) if criterion == ENTROPY else 1.0 / i
    widest = 1
    for t in range(len(begin) - 1):
        widest = max(widest, begin[t + 1] - begin[t])
    n_lanes = (widest + WIDTH - 1) // WIDTH * WIDTH
    lists = Lists(np.zeros(2 * n * n_lanes, np.int64), np.zeros(2 * n * n_lanes))
    masses = _room_for_masses(weights, 2 * n * n_lanes)
    n_sums = n_outputs if criterion == ENTROPY or n_outputs > 2 else 1
    nodes = Nodes(
        np.zeros(2 * n, np.int64),
        np.empty(2 * n),
        np.empty(2 * n, np.int64),
        np.empty(2 * n, np.int64),
        np.empty((2 * n, n_sums)),
        np.empty(2 * n),
    )
    work = (
        np.empty(n_lanes),  # worth of the best split of each column
        np.empty(n_lanes, np.int64),  # and its place
        np.zeros(n_sums, np.int64),  # class counts on the left
        *room_for_lines(n_sums, table, weights),
    )
    todo = np.empty((n + 1, 3), np.int64)  # nodes to split: start, depth, node
    leaf_of = np.empty(n_queries, np.int64)
    counts, n_rows = np.ones(n, np.int64), n
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        if bootstrap:
            draw_counts(seeds[t], counts)
        if weights is not None:
            n_rows = 0
            for i in range(n):
                counts[i] = counts[i] if weights[i] > 0.0 else 0
                n_rows += counts[i]
            if n_rows == 0:
                out[t] = np.nan
                continue
        _fill(lists, masses, columns, order, y, weights, counts, mine)
        # A nonzero state for the generator, whatever the seed.
        state = (seeds[t] + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
        _grow(
            lists,
            masses,
            nodes,
            columns,
            mine,
            n_rows,
            apart,
            criterion,
            limits,
            table,
            state,
            work,
            todo,
        )
        walk(nodes, query, leaf_of)
        _write(nodes, leaf_of, out[t])

"""Kernels that grow decision trees and send queries down them.

A tree keeps its training rows in the sorted order of each of its columns: lists of row number,
value and target. Eight columns stand side by side, so that one line holds the p-th entries of eight
lists and a scan of all eight is one pass over the lines, in vector registers. A node is a range of
lines. Splitting it is a stable partition of each list from one of two sets of lists to the other;
nodes of even depth have their lists in the first set, those of odd depth in the second.

Nothing is divided in a scan: reciprocals and ``n log n`` of all counts are in tables. What happens
once a node is inlined by force, since handing over arrays would take longer than small nodes do.
"""

from typing import NamedTuple

import numpy as np

from randsub._compile import compiled
from randsub._typing import FloatArray, IntArray
from randsub.engines.bootstrap import draw_counts
from randsub.engines.simd import (
    WIDTH,
    add,
    both,
    choose,
    greater,
    load,
    multiply,
    splat,
    store,
    subtract,
    upper_floats,
)

EPSILON = np.finfo(np.float64).eps
# Values closer than this are one value to scikit-learn.
SAME = np.float32(1e-7)
SQUARES, GINI, ENTROPY = 0, 1, 2


class Limits(NamedTuple):
    """Where a tree stops growing.

    A split is worth making if the worth of its two sides, in the units of a scan, is ``min_gain``
    more than that of the node.
    """

    max_depth: int
    min_split: int
    min_leaf: int
    min_gain: float


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
    targets, or class counts, of the training rows of each node.
    """

    column_of: IntArray
    threshold: FloatArray
    child: IntArray
    sizes: IntArray
    sums: FloatArray


@compiled()
def _value(entry):  # type: ignore[no-untyped-def]
    """The value in an entry of a list."""
    return np.int32(entry >> 32).view(np.float32)


@compiled()
def _fill(lists, columns, order, y, counts, mine):  # type: ignore[no-untyped-def]
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
                at += np.uintp(WIDTH)


@compiled(forceinline=True)
def _scan_squares(entries, targets, at, size, total, min_leaf, inverse, best, place, to):  # type: ignore[no-untyped-def]
    """Best split of a range in eight lists: the sum of ``sum ** 2 / n`` of both sides."""
    all_same, everything = splat(SAME), splat(total)
    left, highest, where = splat(0.0), splat(-np.inf), splat(0)
    for p in range(1, min_leaf):
        left = add(left, load(targets, at + (p - 1) * WIDTH))
    value = upper_floats(load(entries, at + (min_leaf - 1) * WIDTH))
    for p in range(min_leaf, size - min_leaf + 1):
        line = at + p * WIDTH
        left = add(left, load(targets, line - WIDTH))
        right = subtract(everything, left)
        worth = add(
            multiply(multiply(left, left), splat(inverse[p])),
            multiply(multiply(right, right), splat(inverse[size - p])),
        )
        following = upper_floats(load(entries, line))
        differs = greater(following, add(value, all_same))
        value = following
        better = both(differs, greater(worth, highest))
        highest = choose(better, worth, highest)
        where = choose(better, splat(p), where)
    store(best, to, highest)
    store(place, to, where)


@compiled()
def _scan_counts(  # type: ignore[no-untyped-def]
    entries, targets, at, size, sums, node, left, min_leaf, table, gini, best, place, to, m
):
    """The same by gini (``sum_c n_c ** 2 / n``) or entropy (``sum_c n_c log n_c``)."""
    worth_all = 0.0
    for c in range(len(left)):
        worth_all += sums[node, c] ** 2 if gini else table[int(sums[node, c])]
    for lane in range(min(WIDTH, m - to)):
        left[:] = 0
        worth_left, worth_right = 0.0, worth_all
        highest, where = -np.inf, 0
        for p in range(1, size - min_leaf + 1):
            line = at + p * WIDTH + lane
            c = int(targets[line - WIDTH])
            here = left[c]
            there = int(sums[node, c]) - here
            left[c] = here + 1
            if gini:
                worth_left += 2 * here + 1
                worth_right -= 2 * there - 1
                worth = worth_left * table[p] + worth_right * table[size - p]
            else:
                worth_left += table[here + 1] - table[here]
                worth_right += table[there - 1] - table[there]
                worth = worth_left - table[p] + worth_right - table[size - p]
            differs = _value(entries[line]) > _value(entries[line - WIDTH]) + SAME
            if worth > highest and differs and p >= min_leaf:
                highest, where = worth, p
        best[to + lane], place[to + lane] = highest, where


@compiled(forceinline=True)
def take_best(best, width, state):  # type: ignore[no-untyped-def]
    """The column of the best split, at random among equals, and the generator's next state."""
    highest = -np.inf
    for a in range(width):
        highest = max(highest, best[a])
    if highest == -np.inf:
        return -1, state
    n_best = 0
    for a in range(width):
        n_best += best[a] == highest
    # xorshift; the upper half times the number of choices, for its upper half.
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    skip = np.int64(((state >> np.uint64(32)) * np.uint64(n_best)) >> np.uint64(32))
    taken = n_seen = 0
    for a in range(width):
        is_best = best[a] == highest
        taken = a if is_best and n_seen == skip else taken
        n_seen += is_best
    return taken, state


@compiled(forceinline=True)
def _is_pure(targets, at, size, sums, node):  # type: ignore[no-untyped-def]
    """Write the sum of a node's targets, or its class counts; whether they are all the same."""
    end = at + size * WIDTH
    if sums.shape[1] > 1:
        for c in range(sums.shape[1]):
            sums[node, c] = 0.0
        largest = 0.0
        for line in range(at, end, WIDTH):
            c = int(targets[line])
            sums[node, c] += 1.0
            largest = max(largest, sums[node, c])
        return largest == size
    if size == 1:
        sums[node, 0] = targets[at]
        return True
    total = squares = 0.0
    for line in range(at, end, WIDTH):
        total += targets[line]
        squares += targets[line] * targets[line]
    sums[node, 0] = total
    mean = total / size
    return squares / size - mean * mean <= EPSILON


@compiled(forceinline=True)
def _partition(entries, targets, at, to, n_left, size, columns, line, below, width):  # type: ignore[no-untyped-def]
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
    sizes, sums = nodes.sizes, nodes.sums
    for i in range(len(leaf_of)):
        leaf = leaf_of[i]
        size = sizes[leaf]
        if sums.shape[1] > 1:
            for c in range(out.shape[1]):
                out[i, c] = sums[leaf, c] / size
        elif out.shape[1] == 2:
            # Two classes are targets -1 and 1.
            out[i, 0] = (size - sums[leaf, 0]) / (2 * size)
            out[i, 1] = (size + sums[leaf, 0]) / (2 * size)
        else:
            out[i, 0] = sums[leaf, 0] / size


@compiled(forceinline=True)
def _worth(sums, node, size, criterion, table):  # type: ignore[no-untyped-def]
    """What a node is worth before it is split, in the units of a scan."""
    if sums.shape[1] == 1:
        return sums[node, 0] * sums[node, 0] * table[size]
    worth = 0.0
    for c in range(sums.shape[1]):
        count = sums[node, c]
        worth += table[int(count)] if criterion == ENTROPY else count * count * table[size]
    return worth - table[size] if criterion == ENTROPY else worth


@compiled()
def cut(below, above):  # type: ignore[no-untyped-def]
    """The threshold between two values, as scikit-learn rounds it."""
    middle = np.float64(below) / 2.0 + np.float64(above) / 2.0
    if middle == above or not np.isfinite(middle):
        return np.float64(below)
    return middle


@compiled(forceinline=True)
def _scan(  # type: ignore[no-untyped-def]
    entries, targets, at, m, size, sums, node, criterion, min_leaf, table, best, place, left
):
    """Worth and place of the best split of a node in each of its columns."""
    block = (len(table) - 1) * WIDTH
    for a in range(0, m, WIDTH):
        head = at + a // WIDTH * block
        if sums.shape[1] == 1:
            total = sums[node, 0]
            _scan_squares(entries, targets, head, size, total, min_leaf, table, best, place, a)
            continue
        gini = criterion == GINI
        _scan_counts(
            entries,
            targets,
            head,
            size,
            sums,
            node,
            left,
            min_leaf,
            table,
            gini,
            best,
            place,
            a,
            m,
        )


@compiled()
def _grow(lists, nodes, columns, mine, n, criterion, limits, table, state, work):  # type: ignore[no-untyped-def]
    """Split nodes, the leftmost first, until nothing is left to split."""
    # Taken apart once: every array that is taken from a tuple counts a reference.
    entries, targets = lists
    column_of, threshold, child, sizes, sums = nodes
    best, place, left, todo = work
    max_depth, min_split, min_leaf, min_gain = limits
    m, block, half = len(mine), n * WIDTH, len(targets) // 2
    n_nodes, n_todo = 1, 0
    child[0], threshold[0], sizes[0] = 0, np.inf, n
    if not _is_pure(targets, np.int64(0), n, sums, np.int64(0)) and n >= min_split:
        todo[0, 0], todo[0, 1], todo[0, 2] = 0, 0, 0
        n_todo = 1
    while n_todo:
        n_todo -= 1
        start, depth, node = todo[n_todo, 0], todo[n_todo, 1], todo[n_todo, 2]
        size = sizes[node]
        at = (depth & 1) * half + start * WIDTH
        _scan(
            entries, targets, at, m, size, sums, node, criterion, min_leaf, table, best, place, left
        )
        split, state = take_best(best, m, state)
        if split < 0 or best[split] - _worth(sums, node, size, criterion, table) < min_gain:
            continue
        n_left = place[split]
        first = at + split // WIDTH * block + split % WIDTH
        middle = first + n_left * WIDTH
        below = _value(entries[middle - WIDTH])
        threshold[node] = cut(below, _value(entries[middle]))
        column_of[node], child[node] = mine[split], n_nodes
        n_before = n_todo
        for right in range(1, -1, -1):
            kid = n_nodes + right
            kid_size = size - n_left if right else n_left
            child[kid], threshold[kid], sizes[kid] = kid, np.inf, kid_size
            pure = _is_pure(targets, middle if right else first, kid_size, sums, kid)
            if not pure and kid_size >= min_split and depth + 1 < max_depth:
                todo[n_todo, 0] = start + n_left if right else start
                todo[n_todo, 1], todo[n_todo, 2] = depth + 1, kid
                n_todo += 1
        n_nodes += 2
        # The lists matter only where something is left to split.
        if n_todo > n_before:
            to = half - (depth & 1) * half + start * WIDTH
            line = mine[split] * n
            for a in range(0, m, WIDTH):
                skip, width = a // WIDTH * block, min(WIDTH, m - a)
                source, goal = at + skip, to + skip
                _partition(
                    entries, targets, source, goal, n_left, size, columns, line, below, width
                )


@compiled()
def grow_and_predict(  # type: ignore[no-untyped-def]
    rows, subsets, seeds, bootstrap, query, criterion, limits, out
):
    """One tree for each mask; its answers for all queries go to ``out`` (T, n_query, C).

    ``rows`` are the columns of the training rows end to end, the rows in the order of each column,
    and their targets. With ``bootstrap``, each tree is grown on rows drawn with replacement.
    """
    columns, order, y = rows
    begin, held = subsets
    n, n_queries, n_outputs = len(y), query.shape[1], out.shape[2]
    table = np.zeros(n + 1)
    for i in range(1, n + 1):
        table[i] = i * np.log(i) if criterion == ENTROPY else 1.0 / i
    widest = 1
    for t in range(len(begin) - 1):
        widest = max(widest, begin[t + 1] - begin[t])
    n_lanes = (widest + WIDTH - 1) // WIDTH * WIDTH
    lists = Lists(np.zeros(2 * n * n_lanes, np.int64), np.zeros(2 * n * n_lanes))
    n_sums = n_outputs if criterion == ENTROPY or n_outputs > 2 else 1
    nodes = Nodes(
        np.zeros(2 * n, np.int64),
        np.empty(2 * n),
        np.empty(2 * n, np.int64),
        np.empty(2 * n, np.int64),
        np.empty((2 * n, n_sums)),
    )
    work = (
        np.empty(n_lanes),  # worth of the best split of each column
        np.empty(n_lanes, np.int64),  # and its place
        np.zeros(n_sums, np.int64),  # class counts on the left
        np.empty((n + 1, 3), np.int64),  # nodes to split: start, depth, node
    )
    leaf_of = np.empty(n_queries, np.int64)
    counts = np.ones(n, np.int64)
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        if bootstrap:
            draw_counts(seeds[t], counts)
        _fill(lists, columns, order, y, counts, mine)
        # A nonzero state for the generator, whatever the seed.
        state = (seeds[t] + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
        _grow(lists, nodes, columns, mine, n, criterion, limits, table, state, work)
        walk(nodes, query, leaf_of)
        _write(nodes, leaf_of, out[t])

"""Kernels that look for the best split of a node: every row counts once, no value is missing.

Nothing is divided in a scan: reciprocals and ``n log n`` of all counts are in tables.
"""

import numpy as np

from randsub._compile import compiled
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
# No finite number of single precision exceeds it.
LARGEST = np.float64(np.finfo(np.float32).max)
SQUARES, GINI, ENTROPY = 0, 1, 2


@compiled()
def value_of(entry):  # type: ignore[no-untyped-def]
    """The value in an entry of a list."""
    return np.int32(entry >> 32).view(np.float32)


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
            differs = value_of(entries[line]) > value_of(entries[line - WIDTH]) + SAME
            if worth > highest and differs and p >= min_leaf:
                highest, where = worth, p
        best[to + lane], place[to + lane] = highest, where


@compiled(forceinline=True)
def scan(  # type: ignore[no-untyped-def]
    entries, targets, at, m, block, size, sums, node, criterion, min_leaf, table, best, place, left
):
    """Worth and place of the best split of a node in each of its columns."""
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
def count_up(targets, at, size, sums, node):  # type: ignore[no-untyped-def]
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
def worth_of(sums, node, size, criterion, table):  # type: ignore[no-untyped-def]
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
    """The threshold between two values, as scikit-learn rounds it.

    Between numbers and missing values, which are infinite, it is one that no number exceeds.
    """
    if above == np.inf:
        return LARGEST
    middle = np.float64(below) / 2.0 + np.float64(above) / 2.0
    return np.float64(below) if middle == above else middle

"""Kernels that look for the best split of a node, for boosting.

A range of a list is scanned in vector registers: eight running sums at a time, and two columns
together, since each alone would wait for its own last step.
"""

import numpy as np

from randsub._compile import compiled
from randsub.engines.simd import (
    WIDTH,
    add,
    both,
    choose,
    divide,
    greater,
    last_of,
    load,
    multiply,
    running_sums,
    splat,
    store,
    subtract,
    total_of,
)
from randsub.engines.tree.splits import EPSILON, SAME, take_best


@compiled()
def make_tables(n, min_leaf):  # type: ignore[no-untyped-def]
    """Reciprocals of counts from 0 to n, and from n down; NaN for counts that are too small."""
    inverse, backward = np.full(n + WIDTH + 1, np.nan), np.full(n + WIDTH, np.nan)
    for count in range(min_leaf, n + 1):
        inverse[count] = 1.0 / count
        if count < n:
            backward[n - 1 - count] = inverse[count]
    return inverse, backward


@compiled(forceinline=True)
def _scan_two(numbers, one, other, mean, size, tables, best, place):  # type: ignore[no-untyped-def]
    """Best splits of a range in two lists that have no ties.

    With g the sum of the first p targets about the mean, a split is worth
    ``g ** 2 * (1 / p + 1 / (size - p))``. That is the proxy of scikit-learn less a constant.
    Splits that leave too few rows on a side are worth NaN, which is greater than nothing.
    """
    inverse, backward = tables
    behind = len(backward) - WIDTH - size
    middle, sum_a, sum_b = splat(mean), splat(0.0), splat(0.0)
    best_a, best_b, place_a, place_b = splat(-1.0), splat(-1.0), splat(0), splat(0)
    for p in range(0, size, WIDTH):
        weight = add(load(inverse, p + 1), load(backward, behind + p))
        here = splat(p)
        run = running_sums(subtract(load(numbers, one + p), middle))
        gap = add(run, sum_a)
        sum_a = add(sum_a, last_of(run))
        worth = multiply(multiply(gap, gap), weight)
        better = greater(worth, best_a)
        best_a, place_a = choose(better, worth, best_a), choose(better, here, place_a)
        run = running_sums(subtract(load(numbers, other + p), middle))
        gap = add(run, sum_b)
        sum_b = add(sum_b, last_of(run))
        worth = multiply(multiply(gap, gap), weight)
        better = greater(worth, best_b)
        best_b, place_b = choose(better, worth, best_b), choose(better, here, place_b)
    store(best, 0, best_a)
    store(place, 0, place_a)
    store(best, WIDTH, best_b)
    store(place, WIDTH, place_b)


@compiled(forceinline=True)
def _scan_tied(numbers, values, one, mean, size, tables, best, place):  # type: ignore[no-untyped-def]
    """The same for one list, between values that differ."""
    inverse, backward = tables
    behind = len(backward) - WIDTH - size
    middle, before, highest, where = splat(mean), splat(0.0), splat(-1.0), splat(0)
    for p in range(0, size, WIDTH):
        weight = add(load(inverse, p + 1), load(backward, behind + p))
        run = running_sums(subtract(load(numbers, one + p), middle))
        gap = add(run, before)
        before = add(before, last_of(run))
        worth = multiply(multiply(gap, gap), weight)
        differs = greater(load(values, p + 1), add(load(values, p), splat(SAME)))
        better = both(differs, greater(worth, highest))
        highest, where = choose(better, worth, highest), choose(better, splat(p), where)
    store(best, 0, highest)
    store(place, 0, where)


@compiled(forceinline=True)
def _scan_weighed(  # type: ignore[no-untyped-def]
    numbers, values, masses, one, mean, mass, size, tables, best, place
):
    """The same with weights: ``g ** 2 * (1 / left + 1 / right)`` for masses left and right.

    The tables say only which counts are large enough.
    """
    inverse, backward = tables
    behind = len(backward) - WIDTH - size
    middle, before, highest, where = splat(mean), splat(0.0), splat(-1.0), splat(0)
    mass_before, whole, nothing = splat(0.0), splat(mass), splat(0.0)
    for p in range(0, size, WIDTH):
        # Nothing, or NaN.
        enough = multiply(add(load(inverse, p + 1), load(backward, behind + p)), nothing)
        weight = load(masses, p)
        run = running_sums(multiply(weight, subtract(load(numbers, one + p), middle)))
        gap = add(run, before)
        before = add(before, last_of(run))
        run = running_sums(weight)
        left = add(run, mass_before)
        mass_before = add(mass_before, last_of(run))
        both_sides = multiply(left, subtract(whole, left))
        worth = add(divide(multiply(multiply(gap, gap), whole), both_sides), enough)
        differs = greater(load(values, p + 1), add(load(values, p), splat(SAME)))
        # Rounding may leave no mass to a side.
        better = both(both(differs, greater(both_sides, nothing)), greater(worth, highest))
        highest, where = choose(better, worth, highest), choose(better, splat(p), where)
    store(best, 0, highest)
    store(place, 0, where)


@compiled(forceinline=True)
def _first_best(best, place, at):  # type: ignore[no-untyped-def]
    """The highest of eight lanes, and the number of rows to its left; the first of equals."""
    highest, n_left = -np.inf, np.int64(0)
    for lane in range(WIDTH):
        worth, p = best[at + lane], place[at + lane] + lane + 1
        if worth >= 0.0 and (worth > highest or (worth == highest and p < n_left)):
            highest, n_left = worth, p
    return highest, n_left


@compiled()
def scan(lists, columns, mine, low, start, size, mean, tables, work):  # type: ignore[no-untyped-def]
    """Worth and place of the best split of a node in each of its columns."""
    words, numbers, sorted_rows, tied = lists
    worths, lefts, best, place, values, _, _ = work
    n, m = len(sorted_rows) // len(tied), len(mine)
    stride = n + WIDTH
    for a in range(0, m, 2):
        b = min(a + 1, m - 1)
        one, other = a * stride + start, b * stride + start
        if not (tied[a] or tied[b]):
            _scan_two(numbers, one, other, mean, size, tables, best, place)
            worths[a], lefts[a] = _first_best(best, place, 0)
            worths[b], lefts[b] = _first_best(best, place, WIDTH)
            continue
        for c in range(a, b + 1):
            at, line = np.uintp(c * stride + start), np.uintp(mine[c] * n)
            for p in range(np.uintp(size)):
                values[p] = columns[line + np.uintp(words[at + p] & low)]
            _scan_tied(numbers, values, np.int64(at), mean, size, tables, best, place)
            worths[c], lefts[c] = _first_best(best, place, 0)


@compiled()
def scan_weighed(lists, columns, weights, mine, low, start, size, total, mass, tables, work):  # type: ignore[no-untyped-def]
    """The same with weights, from the weighted sum of the node's targets and its mass."""
    words, numbers, sorted_rows, tied = lists
    worths, lefts, best, place, values, ascending, masses = work
    n, mean = len(sorted_rows) // len(tied), total / mass
    for c in range(len(mine)):
        at, line = np.uintp(c * (n + WIDTH) + start), np.uintp(mine[c] * n)
        for p in range(np.uintp(size)):
            row = np.uintp(words[at + p] & low)
            masses[p] = weights[row]
            if tied[c]:
                values[p] = columns[line + row]
        shown = values if tied[c] else ascending
        _scan_weighed(numbers, shown, masses, np.int64(at), mean, mass, size, tables, best, place)
        worths[c], lefts[c] = _first_best(best, place, 0)


@compiled()
def weighed_moments(words, numbers, weights, low, at, size):  # type: ignore[no-untyped-def]
    """Weighted sum, mass and weighted variance of the targets of a range."""
    total = square = mass = 0.0
    for p in range(at, at + size):
        weight = weights[np.uintp(words[p] & low)]
        mass += weight
        total += weight * numbers[p]
        square += weight * numbers[p] * numbers[p]
    mean = total / mass
    return total, mass, square / mass - mean * mean


@compiled(forceinline=True)
def moments(numbers, at, size):  # type: ignore[no-untyped-def]
    """Sum and variance of the targets of a range."""
    sums, squares = splat(0.0), splat(0.0)
    whole = size // WIDTH * WIDTH
    for p in range(0, whole, WIDTH):
        lanes = load(numbers, at + p)
        sums, squares = add(sums, lanes), add(squares, multiply(lanes, lanes))
    total, square = total_of(sums), total_of(squares)
    for p in range(whole, size):
        total += numbers[at + p]
        square += numbers[at + p] * numbers[at + p]
    mean = total / size
    return total, square / size - mean * mean


@compiled(forceinline=True)
def take_split(worths, width, low, state):  # type: ignore[no-untyped-def]
    """The column of the best split, at random among those that the rounded targets do not order."""
    highest = -np.inf
    for a in range(width):
        highest = max(highest, worths[a])
    least = highest * (1.0 - 4.0 * EPSILON * (low + 1))
    for a in range(width):
        if worths[a] >= least:
            worths[a] = highest
    return take_best(worths, width, state)

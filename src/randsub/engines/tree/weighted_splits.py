"""Kernels that look for the best split of a node: rows have weights, and values may be missing.

The twin of :mod:`~randsub.engines.tree.splits`, where every row counts once: sums are weighted, and
the table of reciprocals becomes a division. The weight of a node is called its mass.

A missing value is infinite in the lists, and so last. As the largest value it goes to the right of
any split, and a split of its own may tell it from all others. Columns with missing values are
scanned a second time with these on the left, as scikit-learn does; the first of equals wins. The
place of such a split is negative.
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
    load,
    multiply,
    splat,
    store,
    subtract,
    upper_floats,
)
from randsub.engines.tree.splits import ENTROPY, EPSILON, GINI, SAME, value_of


@compiled()
def room_for_lines(n_sums):  # type: ignore[no-untyped-def]
    """Room for scans: class masses, or lines of eight numbers; and places.

    The lines are sum and mass that the left side starts with, bounds of the number of entries that
    are added to it, and the result of a second scan.
    """
    return np.zeros(max(n_sums, 5 * WIDTH)), np.zeros(WIDTH, np.int64)


@compiled()
def count_missing(entries, at, size):  # type: ignore[no-untyped-def]
    """Number of missing values in a range of a list."""
    n_missing = 0
    while n_missing < size and value_of(entries[at + (size - 1 - n_missing) * WIDTH]) == np.inf:
        n_missing += 1
    return n_missing


@compiled(forceinline=True)
def weigh_up(targets, masses, at, size, head, gap, sums, mass_of, node):  # type: ignore[no-untyped-def]
    """Write the mass of a node and the sum of its targets, or masses of its classes.

    Its rows are entries of a list, the first ``head`` of them from ``at`` on and the others after
    ``gap`` further ones. Says whether all targets are the same.
    """
    mass = total = squares = 0.0
    n_classes = sums.shape[1] if sums.shape[1] > 1 else 0
    for c in range(n_classes):
        sums[node, c] = 0.0
    first, differ = targets[at], False
    for p in range(size):
        line = at + (p if p < head else p + gap) * WIDTH
        target, weight = targets[line], masses[line]
        mass += weight
        if n_classes:
            sums[node, int(target)] += weight
            differ |= target != first
        else:
            total += weight * target
            squares += weight * target * target
    mass_of[node] = mass
    if n_classes:
        return not differ
    sums[node, 0] = total
    mean = total / mass
    return size == 1 or squares / mass - mean * mean <= EPSILON


@compiled(forceinline=True)
def _scan_lines(  # type: ignore[no-untyped-def]
    entries, targets, masses, at, size, total, mass, least, lines, best, to, place, goal
):
    """Best split of a range in eight lists: the sum of ``sum ** 2 / mass`` of both sides.

    Both sides have more mass than ``least``.
    """
    left, left_mass = load(lines, 0), load(lines, WIDTH)
    fewest, most = load(lines, 2 * WIDTH), load(lines, 3 * WIDTH)
    all_same, everything, whole, bound = splat(SAME), splat(total), splat(mass), splat(least)
    highest, where = splat(-np.inf), splat(0)
    value = upper_floats(load(entries, at))
    for p in range(1, size):
        line = at + p * WIDTH
        weight = load(masses, line - WIDTH)
        left = add(left, multiply(weight, load(targets, line - WIDTH)))
        left_mass = add(left_mass, weight)
        right, right_mass = subtract(everything, left), subtract(whole, left_mass)
        # One division for both sides.
        worth = divide(
            add(
                multiply(multiply(left, left), right_mass),
                multiply(multiply(right, right), left_mass),
            ),
            multiply(left_mass, right_mass),
        )
        following = upper_floats(load(entries, line))
        differs = greater(following, add(value, all_same))
        value = following
        n_entries = splat(float(p))
        allowed = both(greater(n_entries, fewest), greater(most, n_entries))
        heavy = both(greater(left_mass, bound), greater(right_mass, bound))
        better = both(both(both(differs, allowed), heavy), greater(worth, highest))
        highest = choose(better, worth, highest)
        where = choose(better, splat(p), where)
    store(best, to, highest)
    store(place, goal, where)


@compiled(forceinline=True)
def _scan_eight(  # type: ignore[no-untyped-def]
    entries,
    targets,
    masses,
    at,
    size,
    total,
    mass,
    min_leaf,
    least,
    best,
    place,
    to,
    m,
    lines,
    places,
):
    """Best splits of a range in eight lists, missing values on the right or on the left."""
    for lane in range(WIDTH):
        lines[lane] = lines[WIDTH + lane] = 0.0
        lines[2 * WIDTH + lane] = min_leaf - 1
        lines[3 * WIDTH + lane] = size - min_leaf + 1
    _scan_lines(entries, targets, masses, at, size, total, mass, least, lines, best, to, place, to)
    is_any_missing = False
    for lane in range(WIDTH):
        head = at + lane
        n_missing = count_missing(entries, head, size) if to + lane < m else 0
        for p in range(size - n_missing, size):
            line = head + p * WIDTH
            lines[lane] += masses[line] * targets[line]
            lines[WIDTH + lane] += masses[line]
        lines[2 * WIDTH + lane] -= n_missing
        # Without missing values, there is nothing that a second scan could find.
        lines[3 * WIDTH + lane] = lines[3 * WIDTH + lane] - n_missing if n_missing else 0.0
        is_any_missing |= n_missing > 0
    if not is_any_missing:
        return
    again = 4 * WIDTH
    _scan_lines(
        entries, targets, masses, at, size, total, mass, least, lines, lines, again, places, 0
    )
    for lane in range(min(WIDTH, m - to)):
        if lines[again + lane] > best[to + lane]:
            best[to + lane], place[to + lane] = lines[again + lane], -places[lane]


@compiled()
def x_log_x(x):  # type: ignore[no-untyped-def]
    """``x log x``; 0 also for what rounding has left of 0."""
    return x * np.log(x) if x > 0.0 else 0.0


@compiled()
def _scan_list(  # type: ignore[no-untyped-def]
    entries, targets, masses, at, size, sums, node, mass, left, n_missing, min_leaf, least, gini
):
    """Best split of a range in one list, from class masses ``left`` that are on the left already.

    These are those of the missing values, if there are any.
    """
    worth_left = worth_right = left_mass = 0.0
    for c in range(sums.shape[1]):
        there = sums[node, c] - left[c]
        left_mass += left[c]
        worth_left += left[c] ** 2 if gini else x_log_x(left[c])
        worth_right += there**2 if gini else x_log_x(there)
    highest, where = -np.inf, 0
    for p in range(1, size - n_missing - min_leaf + 1):
        line = at + p * WIDTH
        c, weight = int(targets[line - WIDTH]), masses[line - WIDTH]
        here = left[c]
        there = sums[node, c] - here
        left[c] = here + weight
        left_mass += weight
        right_mass = mass - left_mass
        if gini:
            worth_left += weight * (2.0 * here + weight)
            worth_right -= weight * (2.0 * there - weight)
        else:
            worth_left += x_log_x(here + weight) - x_log_x(here)
            worth_right += x_log_x(there - weight) - x_log_x(there)
        differs = value_of(entries[line]) > value_of(entries[line - WIDTH]) + SAME
        if not differs or p + n_missing < min_leaf or left_mass <= least or right_mass <= least:
            continue
        if gini:
            worth = worth_left / left_mass + worth_right / right_mass
        else:
            worth = worth_left - x_log_x(left_mass) + worth_right - x_log_x(right_mass)
        if worth > highest:
            highest, where = worth, p
    return highest, where


@compiled()
def _scan_classes(  # type: ignore[no-untyped-def]
    entries,
    targets,
    masses,
    at,
    size,
    sums,
    node,
    mass,
    min_leaf,
    least,
    gini,
    best,
    place,
    to,
    m,
    left,
):
    """The same by gini or entropy."""
    for lane in range(min(WIDTH, m - to)):
        head = at + lane
        left[:] = 0.0
        best[to + lane], place[to + lane] = _scan_list(
            entries, targets, masses, head, size, sums, node, mass, left, 0, min_leaf, least, gini
        )
        n_missing = count_missing(entries, head, size)
        if n_missing == 0:
            continue
        left[:] = 0.0
        for p in range(size - n_missing, size):
            line = head + p * WIDTH
            left[int(targets[line])] += masses[line]
        worth, where = _scan_list(
            entries,
            targets,
            masses,
            head,
            size,
            sums,
            node,
            mass,
            left,
            n_missing,
            min_leaf,
            least,
            gini,
        )
        if worth > best[to + lane]:
            best[to + lane], place[to + lane] = worth, -where


@compiled(forceinline=True)
def scan_masses(  # type: ignore[no-untyped-def]
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
    places,
):
    """Worth and place of the best split of a node in each of its columns.

    Each side has more mass than ``least``.
    """
    for a in range(0, m, WIDTH):
        head = at + a // WIDTH * block
        if sums.shape[1] == 1:
            total = sums[node, 0]
            _scan_eight(
                entries,
                targets,
                masses,
                head,
                size,
                total,
                mass,
                min_leaf,
                least,
                best,
                place,
                a,
                m,
                lines,
                places,
            )
            continue
        gini = criterion == GINI
        _scan_classes(
            entries,
            targets,
            masses,
            head,
            size,
            sums,
            node,
            mass,
            min_leaf,
            least,
            gini,
            best,
            place,
            a,
            m,
            lines,
        )


@compiled(forceinline=True)
def worth_of_mass(sums, node, mass, criterion):  # type: ignore[no-untyped-def]
    """What a node is worth before it is split, in the units of a scan."""
    worth = 0.0
    for c in range(sums.shape[1]):
        share = sums[node, c]
        worth += x_log_x(share) if criterion == ENTROPY else share * share / mass
    return worth - x_log_x(mass) if criterion == ENTROPY else worth

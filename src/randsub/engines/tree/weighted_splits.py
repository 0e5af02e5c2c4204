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
from randsub.engines.tree.entropy_splits import scan_entropy
from randsub.engines.tree.splits import ENTROPY, EPSILON, SAME, value_of


@compiled()
def room_for_lines(n_sums, table, weights):  # type: ignore[no-untyped-def]
    """Room for scans: lines of eight numbers, two for each class, and places; and a table.

    The first five lines are sum and mass that the left side starts with, bounds of the number of
    entries that are added to it, and the result of a second scan. The table of ``n log n`` is empty
    unless all rows that have a weight have the weight 1.
    """
    is_counted = weights is not None
    if weights is not None:
        for weight in weights:
            is_counted = is_counted and (weight == 0.0 or weight == 1.0)
    table = table if is_counted else table[:0]
    return np.zeros(5 * WIDTH), np.zeros(2 * n_sums * WIDTH), np.zeros(WIDTH, np.int64), table


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
    entries, targets, masses, at, end, total, mass, least, lines, best, to, place, goal
):
    """Best split before the entry ``end`` in eight lists: ``sum ** 2 / mass`` of both sides, added.

    Both sides have more mass than ``least``.
    """
    left, left_mass = load(lines, 0), load(lines, WIDTH)
    fewest, most = load(lines, 2 * WIDTH), load(lines, 3 * WIDTH)
    all_same, everything, whole, bound = splat(SAME), splat(total), splat(mass), splat(least)
    highest, where = splat(-np.inf), splat(0)
    value = upper_floats(load(entries, at))
    for p in range(1, end):
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
def _scan_once(  # type: ignore[no-untyped-def]
    entries,
    targets,
    masses,
    at,
    end,
    sums,
    node,
    mass,
    by_entropy,
    least,
    lines,
    classes,
    table,
    best,
    to,
    place,
    goal,
):
    """The same by squares or by entropy."""
    if by_entropy:
        of_node = sums[node]
        scan_entropy(
            entries,
            targets,
            masses,
            at,
            end,
            of_node,
            mass,
            least,
            lines,
            classes,
            table,
            best,
            to,
            place,
            goal,
        )
    else:
        total = sums[node, 0]
        _scan_lines(
            entries, targets, masses, at, end, total, mass, least, lines, best, to, place, goal
        )


@compiled(forceinline=True)
def _scan_eight(  # type: ignore[no-untyped-def]
    entries,
    targets,
    masses,
    at,
    size,
    sums,
    node,
    mass,
    by_entropy,
    min_leaf,
    least,
    best,
    place,
    to,
    m,
    lines,
    classes,
    places,
    table,
):
    """The same for missing values on the right, and on the left."""
    width, fewest, most = min(WIDTH, m - to), size, 0
    for lane in range(width):
        places[lane] = count_missing(entries, at + lane, size)
        fewest, most = min(fewest, places[lane]), max(most, places[lane])
    for lane in range(WIDTH):
        lines[lane] = lines[WIDTH + lane] = 0.0
        lines[2 * WIDTH + lane] = min_leaf - 1
        lines[3 * WIDTH + lane] = size - min_leaf + 1
    if by_entropy:
        classes[:] = 0.0
    # There is no split between missing values.
    end = min(size, size - fewest + 1)
    _scan_once(
        entries,
        targets,
        masses,
        at,
        end,
        sums,
        node,
        mass,
        by_entropy,
        least,
        lines,
        classes,
        table,
        best,
        to,
        place,
        to,
    )
    if most == 0:
        return
    if by_entropy:
        classes[:] = 0.0
    for lane in range(width):
        n_missing = places[lane]
        for p in range(size - n_missing, size):
            line = at + lane + p * WIDTH
            if by_entropy:
                classes[int(targets[line]) * WIDTH + lane] += masses[line]
            else:
                lines[lane] += masses[line] * targets[line]
            lines[WIDTH + lane] += masses[line]
        lines[2 * WIDTH + lane] -= n_missing
        # Without missing values, there is nothing that a second scan could find.
        lines[3 * WIDTH + lane] = lines[3 * WIDTH + lane] - n_missing if n_missing else 0.0
    end, again = size - fewest, 4 * WIDTH
    _scan_once(
        entries,
        targets,
        masses,
        at,
        end,
        sums,
        node,
        mass,
        by_entropy,
        least,
        lines,
        classes,
        table,
        lines,
        again,
        places,
        0,
    )
    for lane in range(width):
        if lines[again + lane] > best[to + lane]:
            best[to + lane], place[to + lane] = lines[again + lane], -places[lane]


@compiled()
def _scan_list(  # type: ignore[no-untyped-def]
    entries, targets, masses, at, size, sums, node, mass, left, n_missing, min_leaf, least
):
    """Best split of a range in one list by gini, from class masses ``left`` on the left.

    These are those of the missing values, if there are any.
    """
    worth_left = worth_right = left_mass = 0.0
    for c in range(sums.shape[1]):
        there = sums[node, c] - left[c]
        left_mass += left[c]
        worth_left += left[c] ** 2
        worth_right += there**2
    highest, where = -np.inf, 0
    for p in range(1, size - n_missing - min_leaf + 1):
        line = at + p * WIDTH
        c, weight = int(targets[line - WIDTH]), masses[line - WIDTH]
        here = left[c]
        there = sums[node, c] - here
        left[c] = here + weight
        left_mass += weight
        right_mass = mass - left_mass
        worth_left += weight * (2.0 * here + weight)
        worth_right -= weight * (2.0 * there - weight)
        differs = value_of(entries[line]) > value_of(entries[line - WIDTH]) + SAME
        if not differs or p + n_missing < min_leaf or left_mass <= least or right_mass <= least:
            continue
        worth = worth_left / left_mass + worth_right / right_mass
        if worth > highest:
            highest, where = worth, p
    return highest, where


@compiled()
def _scan_classes(  # type: ignore[no-untyped-def]
    entries, targets, masses, at, size, sums, node, mass, min_leaf, least, best, place, to, m, left
):
    """The same in eight lists, missing values on the right or on the left."""
    for lane in range(min(WIDTH, m - to)):
        head = at + lane
        left[:] = 0.0
        best[to + lane], place[to + lane] = _scan_list(
            entries, targets, masses, head, size, sums, node, mass, left, 0, min_leaf, least
        )
        n_missing = count_missing(entries, head, size)
        if n_missing == 0:
            continue
        left[:] = 0.0
        for p in range(size - n_missing, size):
            line = head + p * WIDTH
            left[int(targets[line])] += masses[line]
        worth, where = _scan_list(
            entries, targets, masses, head, size, sums, node, mass, left, n_missing, min_leaf, least
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
    classes,
    places,
    table,
):
    """Worth and place of the best split of a node in each of its columns.

    Each side has more mass than ``least``.
    """
    by_entropy = criterion == ENTROPY
    for a in range(0, m, WIDTH):
        head = at + a // WIDTH * block
        if by_entropy or sums.shape[1] == 1:
            _scan_eight(
                entries,
                targets,
                masses,
                head,
                size,
                sums,
                node,
                mass,
                by_entropy,
                min_leaf,
                least,
                best,
                place,
                a,
                m,
                lines,
                classes,
                places,
                table,
            )
            continue
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
            best,
            place,
            a,
            m,
            classes,
        )


@compiled()
def _x_log_x(x):  # type: ignore[no-untyped-def]
    return x * np.log(x) if x > 0.0 else 0.0


@compiled(forceinline=True)
def worth_of_mass(sums, node, mass, criterion):  # type: ignore[no-untyped-def]
    """What a node is worth before it is split, in the units of a scan."""
    worth = 0.0
    for c in range(sums.shape[1]):
        share = sums[node, c]
        worth += _x_log_x(share) if criterion == ENTROPY else share * share / mass
    return worth - _x_log_x(mass) if criterion == ENTROPY else worth

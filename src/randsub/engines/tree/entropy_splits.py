"""Kernel that looks for the best split of a node by entropy: rows have weights.

The logarithms are those of eight lists at a time or, if all weights are 1, of a table.
"""

import numpy as np

from randsub._compile import compiled
from randsub.engines.simd import (
    WIDTH,
    add,
    both,
    choose,
    equal,
    greater,
    load,
    look_up,
    splat,
    store,
    subtract,
    upper_floats,
    x_log_x,
)
from randsub.engines.tree.splits import SAME


@compiled(forceinline=True)
def _logs(table, one, other):  # type: ignore[no-untyped-def]
    """``m log m`` of two masses, added."""
    if len(table):
        return add(look_up(table, one), look_up(table, other))
    return x_log_x(one, other)


@compiled()
def scan_entropy(  # type: ignore[no-untyped-def]
    entries,
    targets,
    masses,
    at,
    end,
    sums,
    mass,
    least,
    lines,
    classes,
    table,
    best,
    to,
    place,
    goal,
):
    """Best split in eight lists: ``m log m`` of the class masses, less that of the sides, added.

    The parameters are those of ``_scan_lines`` in :mod:`~randsub.engines.tree.weighted_splits`.
    ``classes`` has a line for the mass of each class that the left side starts with, and one for
    the sum over both sides of ``m log m`` of this class.
    """
    left_mass, fewest, most = load(lines, WIDTH), load(lines, 2 * WIDTH), load(lines, 3 * WIDTH)
    all_same, whole, bound, nothing = splat(SAME), splat(mass), splat(least), splat(0.0)
    highest, where = splat(-np.inf), splat(0)
    value = upper_floats(load(entries, at))
    terms = len(sums) * WIDTH
    for c in range(len(sums)):
        here = load(classes, c * WIDTH)
        store(classes, terms + c * WIDTH, _logs(table, here, subtract(splat(sums[c]), here)))
    for p in range(1, end):
        line = at + p * WIDTH
        target, weight = load(targets, line - WIDTH), load(masses, line - WIDTH)
        left_mass = add(left_mass, weight)
        right_mass = subtract(whole, left_mass)
        # Of each list, one class has changed.
        here, all_of_class = nothing, nothing
        for c in range(len(sums)):
            is_mine, share = equal(target, splat(float(c))), load(classes, c * WIDTH)
            share = add(share, choose(is_mine, weight, nothing))
            store(classes, c * WIDTH, share)
            here = choose(is_mine, share, here)
            all_of_class = choose(is_mine, splat(sums[c]), all_of_class)
        changed = _logs(table, here, subtract(all_of_class, here))
        worth = subtract(nothing, _logs(table, left_mass, right_mass))
        for c in range(len(sums)):
            is_mine, term = equal(target, splat(float(c))), load(classes, terms + c * WIDTH)
            term = choose(is_mine, changed, term)
            store(classes, terms + c * WIDTH, term)
            worth = add(worth, term)
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

"""Kernels that solve for the models, from the lines and moments of ``moments.py``.

A kernel writes NaN for a mask that it cannot answer to the precision promised; the engine leaves
these to the generic one.
"""

from typing import NamedTuple

import numpy as np

from randsub._compile import compiled
from randsub._typing import IntArray
from randsub.engines.simd import WIDTH, add, load, multiply, splat, total_of

# Products of one line with this many others in one pass over the rows.
TILE = 4


class Limits(NamedTuple):
    """What is tried, rather than left to scikit-learn.

    Parameters
    ----------
    most_columns : int
        Of a mask.
    most_entries : int
        Of a table of products that all masks share.
    most_inflation : float
        Sum of variance inflation factors of a system.
    most_condition : float
        Condition of its matrix.
    """

    most_columns: int
    most_entries: int
    most_inflation: float
    most_condition: float


class Votes(NamedTuple):
    """How scores become predictions.

    ``present`` says which classes the scores belong to, the others have no share; ``hard`` is for
    votes rather than probabilities.
    """

    present: IntArray
    hard: bool


@compiled()
def _four_products(lines, row, row0, row1, row2, row3):  # type: ignore[no-untyped-def]
    """Sums of products of one line with four others.

    Statistics must have the same bits whichever masks are in the call, and a compiler that may
    reorder additions does so differently from place to place. So the order is spelled out: eight
    partial sums per pair, one in each lane of a vector, added up in halves at the end.
    """
    length = lines.shape[1]
    sum0 = sum1 = sum2 = sum3 = splat(0.0)
    for at in range(0, length, WIDTH):
        first = load(lines, row * length + at)
        sum0 = add(sum0, multiply(first, load(lines, row0 * length + at)))
        sum1 = add(sum1, multiply(first, load(lines, row1 * length + at)))
        sum2 = add(sum2, multiply(first, load(lines, row2 * length + at)))
        sum3 = add(sum3, multiply(first, load(lines, row3 * length + at)))
    return total_of(sum0), total_of(sum1), total_of(sum2), total_of(sum3)


@compiled()
def _pair_products(lines, held, upper):  # type: ignore[no-untyped-def]
    """Products of all pairs of different lines, above the diagonal."""
    last = len(held) - 1
    for a in range(last):
        for b in range(a + 1, last + 1, TILE):
            # Beyond the last column it is multiplied again: same code, same bits for all pairs.
            c, d, e = min(b + 1, last), min(b + 2, last), min(b + 3, last)
            first, second, third, fourth = _four_products(
                lines, held[a], held[b], held[c], held[d], held[e]
            )
            upper[a, e] = fourth
            upper[a, d] = third
            upper[a, c] = second
            upper[a, b] = first


@compiled()
def _shared_table(lines, n_columns, begin, limits):  # type: ignore[no-untyped-def]
    """Products of all pairs of columns, if that is less work than the masks one by one; else empty.

    Which way was taken does not show in the result: a product has the same bits either way.
    """
    pairs = 0
    for t in range(len(begin) - 1):
        size = begin[t + 1] - begin[t]
        if size <= limits.most_columns:
            pairs += size * (size - 1) // 2
    shared = n_columns * (n_columns - 1) // 2 <= pairs
    shared &= n_columns * n_columns <= limits.most_entries
    table = np.empty((n_columns, n_columns) if shared else (0, 0))
    if shared:
        _pair_products(lines, np.arange(n_columns), table)
    return table


@compiled()
def _systems(lines, n_columns, begin, limits):  # type: ignore[no-untyped-def]
    """What the systems of all masks share, and room for one of them.

    Squares of the lines, products with the last one, products of pairs if they are shared; then the
    matrix of a system, the inverse of its factor, and its diagonal.
    """
    last = len(lines) - 1
    squares, products = np.empty(n_columns), np.empty(n_columns)
    for j in range(n_columns):
        squares[j], products[j], _, _ = _four_products(lines, j, j, last, j, j)
    widest = 0
    for t in range(len(begin) - 1):
        size = begin[t + 1] - begin[t]
        if size <= limits.most_columns:
            widest = max(widest, size)
    table = _shared_table(lines, n_columns, begin, limits)
    upper, inverse = np.empty((widest, widest)), np.empty((widest, widest))
    return squares, products, table, upper, inverse, np.empty(widest)


@compiled()
def _factored(lines, systems, mine, ridge, limits):  # type: ignore[no-untyped-def]
    """Factor the matrix of one mask's system; whether it can be solved to many digits."""
    squares, _, table, upper, inverse, sizes = systems
    size = len(mine)
    if size > limits.most_columns:
        return False
    if len(table) == 0:
        _pair_products(lines, mine, upper)
    for a in range(size):
        sizes[a] = squares[mine[a]] + ridge
        upper[a, a] = sizes[a]
        if len(table) > 0:
            for b in range(a + 1, size):
                upper[a, b] = table[mine[a], mine[b]]
    return _factor(upper, size, 1.0 / limits.most_inflation, inverse) and _is_well_posed(
        inverse, sizes, size, limits.most_inflation, limits.most_condition
    )


@compiled()
def _factor(upper, size, least_pivot, inverse):  # type: ignore[no-untyped-def]
    """Cholesky: A = U'U in place, and L (lower) the inverse of U'; whether all pivots are large.

    Inner loops run along rows of the upper triangle: vector operations, and no sum to reorder.
    """
    for a in range(size):
        diagonal = upper[a, a]
        for k in range(a):
            diagonal -= upper[k, a] * upper[k, a]
        # Also where it is no number.
        if not diagonal > least_pivot * upper[a, a]:
            return False
        scale = 1.0 / np.sqrt(diagonal)
        for k in range(a):
            factor = upper[k, a]
            for b in range(a + 1, size):
                upper[a, b] -= factor * upper[k, b]
        for b in range(a + 1, size):
            upper[a, b] *= scale
        inverse[a, :a] = 0.0
        for k in range(a):
            factor = upper[k, a]
            for b in range(k + 1):
                inverse[a, b] -= factor * inverse[k, b]
        for b in range(a):
            inverse[a, b] *= scale
        inverse[a, a] = scale
    return True


@compiled()
def _is_well_posed(inverse, sizes, size, most_inflation, most_condition):  # type: ignore[no-untyped-def]
    """Whether a system can be solved to many digits, from the inverse of its Cholesky factor.

    The diagonal of the inverse matrix times that of the matrix are the variance inflation factors:
    their sum bounds the condition of the matrix with a unit diagonal, on which the precision of
    Cholesky depends. The traces of both bound the condition of the matrix as it is, on which
    scikit-learn decides what is singular.
    """
    inflation = trace = trace_of_inverse = 0.0
    for k in range(size):
        square = 0.0
        for a in range(k, size):
            square += inverse[a, k] * inverse[a, k]
        inflation += square * sizes[k]
        trace += sizes[k]
        trace_of_inverse += square
    return inflation <= most_inflation and trace * trace_of_inverse <= most_condition


@compiled()
def _solve(inverse, size, right, half, solution):  # type: ignore[no-untyped-def]
    """Solve U'U x = right; ``half`` receives the product of the inverse factor and the right."""
    solution[:size] = 0.0
    for a in range(size):
        total = 0.0
        for b in range(a + 1):
            total += inverse[a, b] * right[b]
        half[a] = total
        for b in range(a + 1):
            solution[b] += inverse[a, b] * total


@compiled()
def solve_least_squares(lines, means, level, ridge, subsets, query, limits, out):  # type: ignore[no-untyped-def]
    """Predictions (T, n_query, 1) of the regressions on each mask's columns.

    The last line is that of the targets, from which ``level`` was subtracted.
    """
    begin, held = subsets
    systems = _systems(lines, len(means), begin, limits)
    _, products, _, _, inverse, sizes = systems
    widest = len(sizes)
    right, half, coefficients = np.empty(widest), np.empty(widest), np.empty(widest)
    for t in range(len(begin) - 1):
        mine, answer = held[begin[t] : begin[t + 1]], out[t]
        size = len(mine)
        if not _factored(lines, systems, mine, ridge, limits):
            continue
        for a in range(size):
            right[a] = products[mine[a]]
        _solve(inverse, size, right, half, coefficients)
        intercept = level
        for a in range(size):
            intercept -= coefficients[a] * means[mine[a]]
        answer[:] = intercept
        for a in range(size):
            line = query[mine[a]]
            for i in range(len(line)):
                answer[i, 0] += coefficients[a] * line[i]


@compiled()
def _conclude(scores, votes, answer):  # type: ignore[no-untyped-def]
    """Scores (C, n_query) up to a constant per query become votes or probabilities."""
    present, hard = votes
    n_classes, n_queries = scores.shape
    for i in range(n_queries):
        best, finite = 0, True
        for c in range(n_classes):
            # Minus infinity is the score of a class without prior probability.
            finite &= scores[c, i] < np.inf
            if scores[c, i] > scores[best, i]:
                best = c
        top = scores[best, i]
        if not finite or not top > -np.inf:
            answer[:] = np.nan
            return
        answer[i, :] = 0.0
        total = 0.0
        for c in range(n_classes):
            share = 1.0
            if c != best:
                share = 0.0 if hard else np.exp(scores[c, i] - top)
            answer[i, present[c]] = share
            total += share
        if not hard:
            total = 1.0 / total
            for c in range(n_classes):
                answer[i, present[c]] *= total


@compiled()
def naive_bayes(moments, log_priors, smoothing, subsets, query, votes, out):  # type: ignore[no-untyped-def]
    """Votes or probabilities (T, n_query, C) of Gaussian naive Bayes on each mask's columns."""
    means, variances, spreads = moments
    begin, held = subsets
    n_classes, n_queries = len(log_priors), query.shape[1]
    scores = np.empty((n_classes, n_queries))
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        largest = 0.0
        for j in mine:
            # No number stays no number.
            if not spreads[j] <= largest:
                largest = spreads[j]
        added = smoothing * largest
        for c in range(n_classes):
            score = scores[c]
            level = log_priors[c]
            for j in mine:
                level -= 0.5 * np.log(2.0 * np.pi * (variances[j, c] + added))
            score[:] = level
            for j in mine:
                mean, factor = means[j, c], -0.5 / (variances[j, c] + added)
                line = query[j]
                for i in range(n_queries):
                    gap = line[i] - mean
                    score[i] += gap * gap * factor
        _conclude(scores, votes, out[t])


@compiled()
def _keeps_every_direction(whitened, size, roots, most_condition):  # type: ignore[no-untyped-def]
    """Whether no direction between the class centres (C, size) is small enough to be dropped.

    ``roots`` are those of the priors, with which the centres are weighted.
    """
    n_classes = len(roots)
    if size < n_classes - 1:
        matrix = np.zeros((size, size))
        for a in range(size):
            for b in range(a, size):
                for c in range(n_classes):
                    matrix[a, b] += roots[c] * roots[c] * whitened[c, a] * whitened[c, b]
    else:
        matrix = np.zeros((n_classes, n_classes))
        total = 0.0
        for c in range(n_classes):
            for d in range(c, n_classes):
                for a in range(size):
                    matrix[c, d] += roots[c] * roots[d] * whitened[c, a] * whitened[d, a]
            total += matrix[c, c]
        # The weighted centres add up to nothing along the roots: no direction, to be filled up.
        for c in range(n_classes):
            for d in range(c, n_classes):
                matrix[c, d] += total * roots[c] * roots[d]
    order = len(matrix)
    sizes, inverse = np.empty(order), np.empty((order, order))
    for a in range(order):
        sizes[a] = matrix[a, a]
    return _factor(matrix, order, 0.0, inverse) and _is_well_posed(
        inverse, sizes, order, np.inf, most_condition
    )


@compiled()
def discriminant(lines, means, priors, subsets, query, votes, limits, most_spread, out):  # type: ignore[no-untyped-def]
    """Votes or probabilities (T, n_query, C) of linear discriminants on each mask's columns."""
    begin, held = subsets
    n_columns, n_classes = means.shape
    systems = _systems(lines, n_columns, begin, limits)
    inverse, widest = systems[4], len(systems[5])
    centers, gaps, coefficients = np.empty(widest), np.empty(widest), np.empty(widest)
    whitened, scores = np.empty((n_classes, widest)), np.empty((n_classes, query.shape[1]))
    roots, levels = np.sqrt(priors), np.log(priors)
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        size = len(mine)
        if not _factored(lines, systems, mine, 0.0, limits):
            continue
        for a in range(size):
            center = 0.0
            for c in range(n_classes):
                center += priors[c] * means[mine[a], c]
            centers[a] = center
        for c in range(n_classes):
            for a in range(size):
                gaps[a] = means[mine[a], c] - centers[a]
            _solve(inverse, size, gaps, whitened[c], coefficients)
            level = levels[c]
            for a in range(size):
                level -= 0.5 * whitened[c, a] ** 2 + coefficients[a] * centers[a]
            score = scores[c]
            score[:] = level
            for a in range(size):
                line, coefficient = query[mine[a]], coefficients[a]
                for i in range(len(line)):
                    score[i] += coefficient * line[i]
        if n_classes > 2 and not _keeps_every_direction(whitened, size, roots, most_spread):
            continue
        _conclude(scores, votes, out[t])

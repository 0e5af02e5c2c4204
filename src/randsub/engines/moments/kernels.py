"""The compiled part of the moments engine.

Training rows arrive as lines: one contiguous line a column, shifted so that its mean is about zero.
The difference of two close numbers is exact, so digits survive columns whose mean is large beside
their spread. Statistics of a line, or of a pair of lines, are sums over the training rows.

A kernel writes NaN for a mask that it cannot answer to the precision promised; the engine leaves
these to the generic one.
"""

import numpy as np

from randsub._compile import compiled
from randsub.engines.moments.products import TILE, four_products


@compiled()
def _dot(left, right):  # type: ignore[no-untyped-def]
    """Sum of products of two arrays; several partial sums, for speed and for digits."""
    sum0 = sum1 = sum2 = sum3 = 0.0
    whole = len(left) // 4 * 4
    for i in range(0, whole, 4):
        sum0 += left[i] * right[i]
        sum1 += left[i + 1] * right[i + 1]
        sum2 += left[i + 2] * right[i + 2]
        sum3 += left[i + 3] * right[i + 3]
    for i in range(whole, len(left)):
        sum0 += left[i] * right[i]
    return (sum0 + sum1) + (sum2 + sum3)


@compiled()
def _shift(line, query, shares):  # type: ignore[no-untyped-def]
    """Subtract the mean, up to its rounding, from a column of training and query rows."""
    center = _dot(line, shares)
    for i in range(len(line)):
        line[i] -= center
    for i in range(len(query)):
        query[i] -= center
    return center


@compiled()
def weighted_lines(columns, query, targets, weights, centered, lines, means):  # type: ignore[no-untyped-def]
    """Lines (M + 1, padded) of centred columns and targets times the roots of the weights.

    Columns and queries are shifted in place; ``means`` (M,) receives what is left of the weighted
    means of the columns. Returns the mean that was subtracted from the targets.
    """
    n_columns, n_rows = columns.shape
    roots = np.sqrt(weights)
    shares = weights / weights.sum()
    target_mean = 0.0
    if centered:
        target_mean = _dot(targets, shares)
    for i in range(n_rows):
        lines[n_columns, i] = (targets[i] - target_mean) * roots[i]
    for j in range(n_columns):
        line = columns[j]
        means[j] = 0.0
        if centered:
            _shift(line, query[j], shares)
            means[j] = _dot(line, shares)
        for i in range(n_rows):
            lines[j, i] = (line[i] - means[j]) * roots[i]
    return target_mean


@compiled()
def class_moments(columns, query, codes, weights, totals, means, variances, spreads):  # type: ignore[no-untyped-def]
    """Weighted mean and variance (M, C) of each class, and variance (M,) of all rows, unweighted.

    Columns and queries are shifted in place. A class without weight, its total set to zero, has
    mean and variance 0 in the columns as they were, as in scikit-learn.
    """
    n_columns, n_rows = columns.shape
    n_classes = len(totals)
    shares = np.full(n_rows, 1.0 / n_rows)
    for j in range(n_columns):
        line, mean, variance = columns[j], means[j], variances[j]
        center = _shift(line, query[j], shares)
        rest = _dot(line, shares)
        mean[:] = 0.0
        variance[:] = 0.0
        for i in range(n_rows):
            mean[codes[i]] += weights[i] * line[i]
        for c in range(n_classes):
            mean[c] = mean[c] / totals[c] if totals[c] > 0.0 else -center
        squares = 0.0
        for i in range(n_rows):
            gap = line[i] - mean[codes[i]]
            variance[codes[i]] += weights[i] * (gap * gap)
            squares += (line[i] - rest) ** 2
        for c in range(n_classes):
            variance[c] = variance[c] / totals[c] if totals[c] > 0.0 else 0.0
        spreads[j] = squares / n_rows


@compiled()
def within_class_lines(columns, query, codes, counts, factor, lines, means):  # type: ignore[no-untyped-def]
    """Lines (M, padded) of columns about their class means times a factor.

    Columns and queries are shifted in place; ``means`` (M, C) receives the class means.
    """
    n_columns, n_rows = columns.shape
    shares = np.full(n_rows, 1.0 / n_rows)
    for j in range(n_columns):
        line, mean = columns[j], means[j]
        _shift(line, query[j], shares)
        mean[:] = 0.0
        for i in range(n_rows):
            mean[codes[i]] += line[i]
        for c in range(len(counts)):
            mean[c] /= counts[c]
        for i in range(n_rows):
            lines[j, i] = (line[i] - mean[codes[i]]) * factor


@compiled()
def _pair_products(lines, held, upper):  # type: ignore[no-untyped-def]
    """Products of all pairs of different lines, above the diagonal."""
    last = len(held) - 1
    for a in range(last):
        for b in range(a + 1, last + 1, TILE):
            # Beyond the last column it is multiplied again: same code, same bits for all pairs.
            c, d, e = min(b + 1, last), min(b + 2, last), min(b + 3, last)
            first, second, third, fourth = four_products(
                lines, held[a], held[b], held[c], held[d], held[e]
            )
            upper[a, e] = fourth
            upper[a, d] = third
            upper[a, c] = second
            upper[a, b] = first


@compiled()
def _gather(lines, squares, table, shared, held, ridge, upper, sizes):  # type: ignore[no-untyped-def]
    """One mask's block: upper triangle with its diagonal, and the diagonal apart."""
    if not shared:
        _pair_products(lines, held, upper)
    for a in range(len(held)):
        sizes[a] = squares[held[a]] + ridge
        upper[a, a] = sizes[a]
        if shared:
            for b in range(a + 1, len(held)):
                upper[a, b] = table[held[a], held[b]]


@compiled()
def _shared_table(lines, n_columns, begin, most_columns, most_entries):  # type: ignore[no-untyped-def]
    """Products of all pairs of columns, if that is less work than the masks one by one.

    Which way was taken does not show in the result: a product has the same bits either way.
    """
    pairs = 0
    for t in range(len(begin) - 1):
        size = begin[t + 1] - begin[t]
        if size <= most_columns:
            pairs += size * (size - 1) // 2
    shared = n_columns * (n_columns - 1) // 2 <= pairs and n_columns * n_columns <= most_entries
    table = np.empty((n_columns, n_columns) if shared else (0, 0))
    if shared:
        _pair_products(lines, np.arange(n_columns), table)
    return shared, table


@compiled()
def _widest(begin, most_columns):  # type: ignore[no-untyped-def]
    widest = 0
    for t in range(len(begin) - 1):
        size = begin[t + 1] - begin[t]
        if size <= most_columns:
            widest = max(widest, size)
    return widest


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
def solve_least_squares(  # type: ignore[no-untyped-def]
    lines,
    means,
    target_mean,
    ridge,
    begin,
    held,
    query,
    most_columns,
    most_entries,
    most_inflation,
    most_condition,
    out,
):
    """Predictions (T, n_query, 1) of the regressions on each mask's columns."""
    n_columns = len(means)
    squares, products = np.empty(n_columns), np.empty(n_columns)
    for j in range(n_columns):
        squares[j], products[j], _, _ = four_products(lines, j, j, n_columns, j, j)
    shared, table = _shared_table(lines, n_columns, begin, most_columns, most_entries)
    widest = _widest(begin, most_columns)
    upper, inverse = np.empty((widest, widest)), np.empty((widest, widest))
    sizes, right, half = np.empty(widest), np.empty(widest), np.empty(widest)
    coefficients = np.empty(widest)
    for t in range(len(begin) - 1):
        mine, answer = held[begin[t] : begin[t + 1]], out[t]
        size = len(mine)
        answer[:] = np.nan
        if size > most_columns:
            continue
        _gather(lines, squares, table, shared, mine, ridge, upper, sizes)
        if not (
            _factor(upper, size, 1.0 / most_inflation, inverse)
            and _is_well_posed(inverse, sizes, size, most_inflation, most_condition)
        ):
            continue
        for a in range(size):
            right[a] = products[mine[a]]
        _solve(inverse, size, right, half, coefficients)
        intercept = target_mean
        for a in range(size):
            intercept -= coefficients[a] * means[mine[a]]
        answer[:] = intercept
        for a in range(size):
            line = query[mine[a]]
            for i in range(len(line)):
                answer[i, 0] += coefficients[a] * line[i]


@compiled()
def _conclude(scores, present, hard, answer):  # type: ignore[no-untyped-def]
    """Scores (C, n_query) up to a constant a query become votes or probabilities.

    ``present`` says which classes the scores belong to; the others have no share.
    """
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
def naive_bayes(  # type: ignore[no-untyped-def]
    means, variances, spreads, log_priors, smoothing, begin, held, query, present, hard, out
):
    """Votes or probabilities (T, n_query, C) of Gaussian naive Bayes on each mask's columns."""
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
        _conclude(scores, present, hard, out[t])


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
def discriminant(  # type: ignore[no-untyped-def]
    lines,
    means,
    priors,
    begin,
    held,
    query,
    present,
    hard,
    most_columns,
    most_entries,
    most_inflation,
    most_spread,
    out,
):
    """Votes or probabilities (T, n_query, C) of linear discriminants on each mask's columns."""
    n_columns, n_classes = means.shape
    squares = np.empty(n_columns)
    for j in range(n_columns):
        squares[j], _, _, _ = four_products(lines, j, j, j, j, j)
    shared, table = _shared_table(lines, n_columns, begin, most_columns, most_entries)
    widest = _widest(begin, most_columns)
    upper, inverse, sizes = np.empty((widest, widest)), np.empty((widest, widest)), np.empty(widest)
    centers, gaps, coefficients = np.empty(widest), np.empty(widest), np.empty(widest)
    whitened = np.empty((n_classes, widest))
    scores = np.empty((n_classes, query.shape[1]))
    roots, levels = np.sqrt(priors), np.log(priors)
    for t in range(len(begin) - 1):
        mine, answer = held[begin[t] : begin[t + 1]], out[t]
        size = len(mine)
        answer[:] = np.nan
        if size > most_columns:
            continue
        _gather(lines, squares, table, shared, mine, 0.0, upper, sizes)
        if not (
            _factor(upper, size, 1.0 / most_inflation, inverse)
            and _is_well_posed(inverse, sizes, size, most_inflation, np.inf)
        ):
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
        _conclude(scores, present, hard, answer)

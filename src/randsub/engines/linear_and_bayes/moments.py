"""Kernels that turn training rows into lines and moments.

A line is one contiguous column, shifted so that its mean is about zero. The difference of two close
numbers is exact, so digits survive columns whose mean is large beside their spread. The moments of
a line are sums over the training rows.
"""

import numpy as np

from randsub._compile import compiled


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
def class_moments(columns, query, codes, weights, totals, moments):  # type: ignore[no-untyped-def]
    """Weighted mean and variance (M, C) of each class, and variance (M,) of all rows, unweighted.

    Columns and queries are shifted in place. A class without weight, its total set to zero, has
    mean and variance 0 in the columns as they were, as in scikit-learn.
    """
    means, variances, spreads = moments
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

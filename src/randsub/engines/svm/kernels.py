"""Support vector machines for many masks: kernels, training, answers.

For each mask: the kernel matrix of the training rows from the mask's columns, the dual problem
(:mod:`~randsub.engines.svm.smo`), and the kernel between queries and support vectors, which is
summed up as it is computed and never stored. With several classes there is a problem for each pair
of them, on a part of one kernel matrix, and the pairs vote as in LIBSVM.

Nearly all of the time goes into loops over lines of samples, padded to whole vectors. Products are
added up three columns at a time for four rows at once. The Gaussian kernel is the exponential of
products too, ``-|x - z|^2 / 2 = x z - x x / 2 - z z / 2``; a polynomial gives it in vector lanes,
as a call to the mathematical library for each would not.
"""

import math
from typing import NamedTuple

import numpy as np

from randsub._compile import compiled
from randsub._typing import FloatArray, IntArray
from randsub.engines.svm.smo import FAST, N_LINES, padded, solve_dual

# Columns that are added up in one go, lines of zeros making up whole groups; and for how many rows.
GROUP = 3
BLOCK = 4

LOG2_E = 1.4426950408889634
# log(2) in two parts: a whole number of 11 bits times the first is exact.
LOG_2_HIGH = 6.93147180369123816490e-01
LOG_2_LOW = 1.90821492927058770002e-10
# Numbers of this size have no digits after the point.
SHIFT = 1.5 * 2.0**52
LEAST_POWER = -700.0
TAYLOR = tuple(1.0 / math.factorial(k) for k in range(12))


class DualProblem(NamedTuple):
    """What is to be solved for every mask: the training rows, classes end to end.

    Parameters
    ----------
    target : ndarray of shape (n,)
        Without meaning in classification.
    bound : ndarray of shape (n,)
        Largest coefficient of each row, C times its weight.
    starts : ndarray of shape (n_classes + 1,)
        Where the rows of each class begin, and where the last ones end. A regression is one class
        against an empty one, with coefficients of both signs.
    pairs : ndarray of shape (P, 2)
        The classes of each of P problems.
    classes : ndarray of shape (n_classes,)
        Their places in the predictions.
    linear, regression : bool
    epsilon, tol : float
    most_steps : int
    """

    target: FloatArray
    bound: FloatArray
    starts: IntArray
    pairs: IntArray
    classes: IntArray
    linear: bool
    regression: bool
    epsilon: float
    tol: float
    most_steps: int


@compiled(fastmath=FAST)
def exponentials(values, halves, half):  # type: ignore[no-untyped-def]
    """Replace each value ``v`` by ``exp(v - halves - half)``, to a relative 1e-14.

    The power is taken to be 0 at most; below -700 the result is 0. Otherwise it is
    ``2 ** whole * exp(rest)`` with ``|rest| <= log(2) / 2``, where a polynomial of degree 11 is
    exact enough. Adding SHIFT rounds to a whole number and leaves it in the lowest bits, from where
    it goes into the exponent.
    """
    for k in range(len(values)):
        power = min(values[k] - halves[k] - half, 0.0)
        shifted = power * LOG2_E + SHIFT
        whole = shifted - SHIFT
        rest = (power - whole * LOG_2_HIGH) - whole * LOG_2_LOW
        square = rest * rest
        fourth = square * square
        low = (1.0 + rest) + (TAYLOR[2] + TAYLOR[3] * rest) * square
        middle = (TAYLOR[4] + TAYLOR[5] * rest) + (TAYLOR[6] + TAYLOR[7] * rest) * square
        high = (TAYLOR[8] + TAYLOR[9] * rest) + (TAYLOR[10] + TAYLOR[11] * rest) * square
        series = low + fourth * (middle + fourth * high)
        power_of_2 = np.float64(shifted).view(np.int64) << 52
        found = np.int64(np.float64(series).view(np.int64) + power_of_2).view(np.float64)
        values[k] = found if power > LEAST_POWER else 0.0


@compiled(fastmath=FAST)
def _add_products(block, lines, at, width, a, b, c, d):  # type: ignore[no-untyped-def]
    """Add products in three columns from ``at`` on, between four rows and a line of samples.

    Views of the lines would cost as much as the products.
    """
    for k in range(width):
        x, y, z = lines[at, k], lines[at + 1, k], lines[at + 2, k]
        block[0, k] = block[0, k] + a[0] * x + a[1] * y + a[2] * z
        block[1, k] = block[1, k] + b[0] * x + b[1] * y + b[2] * z
        block[2, k] = block[2, k] + c[0] * x + c[1] * y + c[2] * z
        block[3, k] = block[3, k] + d[0] * x + d[1] * y + d[2] * z


@compiled()
def _kernels(rows, row_halves, picked, lines, halves, linear, width, block):  # type: ignore[no-untyped-def]
    """Four lines: the kernel between the four picked rows and the first ``width`` samples.

    Rows and samples come in lines, one a column; with halves of their squares.
    """
    for r in range(BLOCK):
        for k in range(width):
            block[r, k] = 0.0
    p, q, r, s = picked[0], picked[1], picked[2], picked[3]
    for at in range(0, len(lines), GROUP):
        _add_products(
            block,
            lines,
            at,
            width,
            (rows[at, p], rows[at + 1, p], rows[at + 2, p]),
            (rows[at, q], rows[at + 1, q], rows[at + 2, q]),
            (rows[at, r], rows[at + 1, r], rows[at + 2, r]),
            (rows[at, s], rows[at + 1, s], rows[at + 2, s]),
        )
    if not linear:
        for r in range(BLOCK):
            exponentials(block[r][:width], halves[:width], row_halves[picked[r]])


@compiled()
def _kernel_matrix(rows, halves, linear, n, picked, kernel):  # type: ignore[no-untyped-def]
    """The kernel between all pairs of training rows: one triangle, and its mirror image."""
    for p in range(0, n, BLOCK):
        for r in range(BLOCK):
            picked[r] = p + r
        block = kernel[p : p + BLOCK]
        _kernels(rows, halves, picked, rows, halves, linear, padded(p + BLOCK), block)
    for p in range(n):
        for q in range(p):
            kernel[q, p] = kernel[p, q]


@compiled()
def _gather(columns, mine, scale, lines, halves):  # type: ignore[no-untyped-def]
    """Lines of the mask's columns, scaled, with zeros for what pads them; half the squares."""
    for k in range(len(halves)):
        halves[k] = 0.0
        for a in range(len(lines)):
            lines[a, k] = 0.0
    for a in range(len(mine)):
        source, line = columns[mine[a]], lines[a]
        for k in range(len(source)):
            value = source[k] * scale
            line[k] = value
            halves[k] += 0.5 * value * value


@compiled()
def _pair(kernel, start_a, n_a, start_b, n_b, room):  # type: ignore[no-untyped-def]
    """The kernel matrix of the rows of two classes."""
    n, width = n_a + n_b, padded(n_a + n_b)
    part = room[: n * width].reshape(n, width)
    for k in range(n):
        source, line = kernel[start_a + k if k < n_a else start_b + k - n_a], part[k]
        for other in range(width):
            line[other] = 0.0
        for other in range(n_a):
            line[other] = source[start_a + other]
        for other in range(n_b):
            line[n_a + other] = source[start_b + other]
    return part


@compiled()
def _train(kernel, problem, part, room, coefficients, offsets):  # type: ignore[no-untyped-def]
    """Write the coefficients (P, n) and constants of the problem of each pair of classes."""
    target, bound, starts, pairs, _, _, regression, epsilon, tol, most_steps = problem
    for k in range(len(pairs)):
        start_a, start_b = starts[pairs[k, 0]], starts[pairs[k, 1]]
        n_a = starts[pairs[k, 0] + 1] - start_a
        n_b = starts[pairs[k, 1] + 1] - start_b
        for i in range(n_a):
            most = bound[start_a + i]
            room[0, i] = target[start_a + i] if regression else 1.0
            room[1, i], room[2, i] = -most if regression else 0.0, most
        for i in range(n_b):
            room[0, n_a + i], room[1, n_a + i], room[2, n_a + i] = -1.0, -bound[start_b + i], 0.0
        # The rows of a single pair are all there are, and in order.
        matrix = kernel if len(pairs) == 1 else _pair(kernel, start_a, n_a, start_b, n_b, part)
        offsets[k] = solve_dual(matrix, room, epsilon, tol, most_steps, n_a + n_b)
        coefficients[k] = 0.0
        coefficients[k, start_a : start_a + n_a] = room[3, :n_a]
        coefficients[k, start_b : start_b + n_b] = room[3, n_a : n_a + n_b]


@compiled(fastmath=FAST)
def _add_line(decisions, problem, factor, lines, at):  # type: ignore[no-untyped-def]
    for i in range(decisions.shape[1]):
        decisions[problem, i] += factor * lines[at, i]


@compiled()
def _decide_linear(coefficients, rows, queries, decisions):  # type: ignore[no-untyped-def]
    """Add the products of normal vector and queries to the decisions (P, n_query)."""
    for problem in range(len(decisions)):
        for a in range(len(rows)):
            normal = 0.0
            for k in range(coefficients.shape[1]):
                normal += coefficients[problem, k] * rows[a, k]
            _add_line(decisions, problem, normal, queries, a)


@compiled()
def _decide(coefficients, rows, row_halves, queries, halves, linear, picked, block, decisions):  # type: ignore[no-untyped-def]
    """Add the support vectors' kernels with the queries to the decisions (P, n_query)."""
    n_problems, n = coefficients.shape
    n_picked = 0
    for k in range(n):
        supports = False
        for problem in range(n_problems):
            supports |= coefficients[problem, k] != 0.0
        if supports:
            picked[n_picked] = k
            n_picked += 1
        if n_picked == BLOCK or (k == n - 1 and n_picked > 0):
            _kernels(rows, row_halves, picked, queries, halves, linear, len(halves), block)
            for r in range(n_picked):
                for problem in range(n_problems):
                    factor = coefficients[problem, picked[r]]
                    if factor != 0.0:
                        _add_line(decisions, problem, factor, block, r)
            n_picked = 0


@compiled()
def _vote(decisions, pairs, classes, counts, out):  # type: ignore[no-untyped-def]
    """One vote (n_query, C) for the class that wins most of its pairs, the first of several."""
    for i in range(len(out)):
        for c in range(len(counts)):
            counts[c] = 0
        solved = True
        for problem in range(len(pairs)):
            solved &= not np.isnan(decisions[problem, i])
            counts[pairs[problem, 0 if decisions[problem, i] > 0.0 else 1]] += 1
        best = 0
        for c in range(len(classes)):
            if counts[c] > counts[best]:
                best = c
        # A problem without a solution has no constant, and spoils the count.
        out[i, classes[best]] = 1.0 if solved else np.nan


@compiled()
def train_and_answer(columns, query, problem, subsets, scale, out):  # type: ignore[no-untyped-def]
    """Train for each mask; its answers go to ``out`` (T, n_query, C), NaN if it is not solved.

    Parameters
    ----------
    columns : ndarray of shape (M, n)
        The training rows, classes end to end.
    query : ndarray of shape (M, n_query)
    problem : DualProblem
    subsets : tuple
        Columns of each mask, see :class:`~randsub.engines.compiled.MaskBatch`.
    scale : ndarray of shape (T,)
        Factor of all values, for each mask; the Gaussian kernel is that of variance 1.
    out : ndarray of zeros of shape (T, n_query, C)
    """
    begin, held = subsets
    n, n_query, n_problems = len(problem.bound), out.shape[1], len(problem.pairs)
    linear, stride, query_stride = problem.linear, padded(n), padded(n_query)
    widest = 0
    for t in range(len(begin) - 1):
        widest = max(widest, begin[t + 1] - begin[t])
    widest = (widest + GROUP - 1) // GROUP * GROUP
    all_rows, all_queries = np.empty((widest, stride)), np.empty((widest, query_stride))
    halves, query_halves = np.empty(stride), np.empty(query_stride)
    # Whole blocks of rows; what pads a line is not always written, and must be finite.
    kernel = np.zeros((stride, stride))
    part = np.empty(n * stride if n_problems > 1 else 0)
    room = np.zeros((N_LINES, stride))
    coefficients, offsets = np.zeros((n_problems, n)), np.zeros(n_problems)
    picked, counts = np.zeros(BLOCK, np.int64), np.empty(len(problem.classes), np.int64)
    block, decisions = np.empty((BLOCK, query_stride)), np.empty((n_problems, query_stride))
    for t in range(len(begin) - 1):
        mine = held[begin[t] : begin[t + 1]]
        n_lines = (len(mine) + GROUP - 1) // GROUP * GROUP
        rows, queries = all_rows[:n_lines], all_queries[:n_lines]
        _gather(columns, mine, scale[t], rows, halves)
        _gather(query, mine, scale[t], queries, query_halves)
        _kernel_matrix(rows, halves, linear, n, picked, kernel)
        _train(kernel, problem, part, room, coefficients, offsets)
        for k in range(n_problems):
            decisions[k] = offsets[k]
        if linear:
            _decide_linear(coefficients, rows, queries, decisions)
        else:
            _decide(
                coefficients, rows, halves, queries, query_halves, linear, picked, block, decisions
            )
        if problem.regression:
            out[t, :, 0] = decisions[0, :n_query]
        else:
            _vote(decisions, problem.pairs, problem.classes, counts, out[t])

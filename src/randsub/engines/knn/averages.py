"""From the nearest rows of queries to predictions."""

from typing import NamedTuple

import numpy as np

from randsub._compile import compiled
from randsub._typing import FloatArray

REGRESSION, PROBABILITIES, VOTES = 0, 1, 2


class Answer(NamedTuple):
    """How nearest rows become a prediction.

    ``values`` (n_rows, K) are the targets of the rows, or their class numbers, of each output;
    ``mode`` is REGRESSION, PROBABILITIES or VOTES.
    """

    values: FloatArray
    by_distance: bool
    mode: int


@compiled()
def put_in_order(rows):  # type: ignore[no-untyped-def]
    """Sort the rows (k, n) of each of n queries: sums must not depend on how they were found.

    By insertion; where there are several queries, by the same exchanges for all of them, many at a
    time.
    """
    for p in range(1, len(rows)):
        for place in range(p, 0, -1):
            one, other = rows[place - 1], rows[place]
            if len(one) == 1 and one[0] <= other[0]:
                break
            for i in range(len(one)):
                one[i], other[i] = min(one[i], other[i]), max(one[i], other[i])


@compiled()
def average(rows, answer, out):  # type: ignore[no-untyped-def]
    """Turn the nearest rows (k, n) of n queries into their predictions (n, C)."""
    values, _, mode = answer
    k, n_queries = rows.shape
    n_columns = out.shape[1] // values.shape[1]
    for output in range(values.shape[1]):
        for p in range(k):
            nearest = rows[p]
            for i in range(n_queries):
                value = values[nearest[i], output]
                if mode == REGRESSION:
                    out[i, output] += value
                else:
                    out[i, output * n_columns + int(value)] += 1.0
    for i in range(n_queries):
        _settle(out[i], float(k), n_columns, mode)


@compiled()
def average_by_distance(rows, squares, answer, out):  # type: ignore[no-untyped-def]
    """Turn the nearest rows (k,) of one query into its prediction (C,), the nearer the heavier."""
    values, _, mode = answer
    n_columns = len(out) // values.shape[1]
    exact = squares.min() == 0.0
    total = 0.0
    for p in range(len(rows)):
        weight = 1.0 / np.sqrt(squares[p])
        if exact:
            # Rows at no distance decide alone.
            weight = 1.0 if squares[p] == 0.0 else 0.0
        total += weight
        for output in range(values.shape[1]):
            value = values[rows[p], output]
            if mode == REGRESSION:
                out[output] += weight * value
            else:
                out[output * n_columns + int(value)] += weight
    _settle(out, total, n_columns, mode)


@compiled()
def _settle(out, total, n_columns, mode):  # type: ignore[no-untyped-def]
    """From the sums of one query (C,) to means, or to one vote for each output."""
    if mode != VOTES:
        for c in range(len(out)):
            out[c] /= total
        return
    for first in range(0, len(out), n_columns):
        best = first
        for c in range(first, first + n_columns):
            if out[c] > out[best]:
                best = c
        for c in range(first, first + n_columns):
            out[c] = 1.0 if c == best else 0.0

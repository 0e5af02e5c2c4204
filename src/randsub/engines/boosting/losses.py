"""Kernels for the losses that are boosted: starts, residuals and values of leaves.

The formulas are those of scikit-learn's ``HalfSquaredError``, ``HalfBinomialLoss`` and
``HalfMultinomialLoss``. Residuals, the negative gradients, are y less its prediction.
"""

import numpy as np

from randsub._compile import compiled
from randsub.engines.tree.splits import EPSILON

SQUARED_ERROR, TWO_CLASSES, MORE_CLASSES = 0, 1, 2
# Below this, the sum of p (1 - p) counts as zero for scikit-learn.
NO_CURVATURE = 1e-150
# The exponential function of this is about the smallest float64 of full precision.
LEAST_EXPONENT = -708.0

LOG2_E = 1.4426950408889634
# The logarithm of 2 in two parts; products of the first with whole numbers are exact.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Added to a number, it leaves its nearest integer in the last bits.
ROUNDER = 6755399441055744.0


@compiled(forceinline=True)
def _exp(x):  # type: ignore[no-untyped-def]
    """The exponential function from -708 to 0.

    Written out, since the compiler makes vector instructions of loops over this, and not of loops
    that call a library.
    """
    shifted = x * LOG2_E + ROUNDER
    k = shifted - ROUNDER
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    s = 1.0 / 479001600.0 + r / 6227020800.0
    s = 1.0 / 39916800.0 + r * s
    s = 1.0 / 3628800.0 + r * s
    s = 1.0 / 362880.0 + r * s
    s = 1.0 / 40320.0 + r * s
    s = 1.0 / 5040.0 + r * s
    s = 1.0 / 720.0 + r * s
    s = 1.0 / 120.0 + r * s
    s = 1.0 / 24.0 + r * s
    s = 1.0 / 6.0 + r * s
    s = 0.5 + r * s
    s = 1.0 + r * (1.0 + r * s)
    exponent = (np.float64(shifted).view(np.int64) + 1023) << 52
    return s * np.int64(exponent).view(np.float64)


@compiled()
def start_of(loss, y, masses, total, start):  # type: ignore[no-untyped-def]
    """Raw predictions before the first stage, from the number or the weight of each row.

    NaN where a class has none; scikit-learn has a share for it that is next to nothing.
    """
    if loss == MORE_CLASSES:
        start[:] = 0.0
        for i in range(len(y)):
            start[int(y[i])] += masses[i]
        for k in range(len(start)):
            share = start[k] / total
            start[k] = np.log(share) if share > EPSILON else np.nan
        start -= start.mean()
        return
    above = 0.0
    for i in range(len(y)):
        above += masses[i] * y[i]
    start[0] = above / total
    if loss == TWO_CLASSES:
        is_shared = EPSILON * total < above and EPSILON * total < total - above
        start[0] = np.log(above / (total - above)) if is_shared else np.nan


@compiled()
def _of_two_classes(y, raw, residual):  # type: ignore[no-untyped-def]
    for i in range(len(y)):
        small = _exp(max(-abs(raw[i]), LEAST_EXPONENT))
        # The probability of the wrong class, with all its digits also where it is tiny.
        wrong = (1.0 if (raw[i] < 0.0) == (y[i] > 0.0) else small) / (1.0 + small)
        residual[i] = wrong if y[i] > 0.0 else -wrong


@compiled()
def _of_more_classes(y, raw, residual):  # type: ignore[no-untyped-def]
    highest, total = raw[0].copy(), np.zeros(len(y))
    for k in range(1, len(raw)):
        for i in range(len(y)):
            highest[i] = max(highest[i], raw[k, i])
    for k in range(len(raw)):
        for i in range(len(y)):
            residual[k, i] = _exp(max(raw[k, i] - highest[i], LEAST_EXPONENT))
            total[i] += residual[k, i]
    for k in range(len(raw)):
        for i in range(len(y)):
            residual[k, i] = (1.0 if y[i] == k else 0.0) - residual[k, i] / total[i]


@compiled()
def residuals_of(loss, y, raw, residual):  # type: ignore[no-untyped-def]
    """Negative gradients (K, n) at the raw predictions (K, n)."""
    if loss == MORE_CLASSES:
        _of_more_classes(y, raw, residual)
    elif loss == TWO_CLASSES:
        _of_two_classes(y, raw[0], residual[0])
    else:
        residual[0] = y - raw[0]


@compiled()
def leaf_value(words, begin, size, low, loss, factor, residual, weights):  # type: ignore[no-untyped-def]
    """The mean residual, or one Newton step; the lowest bits of the words are the rows."""
    total = curvature = mass = 0.0
    for p in range(begin, begin + size):
        row = np.uintp(words[p] & low)
        weight = 1.0 if weights is None else weights[row]
        mass += weight
        total += weight * residual[row]
    if loss == SQUARED_ERROR:
        return total / mass
    for p in range(begin, begin + size):
        row = np.uintp(words[p] & low)
        weight, r = 1.0 if weights is None else weights[row], residual[row]
        # Residuals of rows in the class are above zero, all others below, so that y is known.
        share = (1.0 if r > 0.0 else 0.0) - r
        curvature += weight * (share * (1.0 - share))
    if curvature / mass < NO_CURVATURE:
        return 0.0
    return factor * total / curvature

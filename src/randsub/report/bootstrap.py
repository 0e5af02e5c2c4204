"""Bootstrap of scores: how much they vary with the rows they are measured on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from randsub._typing import FloatArray

N_RESAMPLES = 1000
# Numbers held in memory while rows are drawn.
_CHUNK = 4_000_000


def resampled_scores(
    y: Any,
    predictions: Sequence[Any],
    weight: FloatArray | None,
    seed: int,
    is_regression: bool,
    n_resamples: int = N_RESAMPLES,
) -> FloatArray:
    """R2 or accuracy of several predictions on the same resampled rows.

    Parameters
    ----------
    y : ndarray of shape (n,)
    predictions : sequence of K ndarrays of shape (n,)
    weight : ndarray of shape (n,) or None
    seed : int
    is_regression : bool
        R2, or else the accuracy.
    n_resamples : int, default=1000

    Returns
    -------
    scores : ndarray of shape (n_resamples, K)
        On samples of n rows with replacement. R2 is NaN where all drawn targets are equal.
    """
    n = len(y)
    weight = np.ones(n) if weight is None else weight
    if is_regression:
        # Around the mean: squares of large targets would lose digits.
        centred = y - np.average(y, weights=weight)
        columns = [np.ones(n), centred, centred**2, *((y - p) ** 2 for p in predictions)]
    else:
        columns = [np.ones(n), *((y == p).astype(float) for p in predictions)]
    weighted = np.column_stack(columns) * weight[:, np.newaxis]
    rng = np.random.default_rng(seed)
    sums = np.empty((n_resamples, weighted.shape[1]))
    step = max(1, _CHUNK // n)
    for begin in range(0, n_resamples, step):
        size = min(step, n_resamples - begin)
        counts = rng.multinomial(n, np.full(n, 1.0 / n), size=size)
        sums[begin : begin + size] = counts @ weighted
    with np.errstate(invalid="ignore", divide="ignore"):
        if not is_regression:
            return sums[:, 1:] / sums[:, :1]
        spread = sums[:, 2] - sums[:, 1] ** 2 / sums[:, 0]
        spread = np.where(spread > 1e-12 * weighted[:, 2].sum(), spread, np.nan)
        return 1.0 - sums[:, 3:] / spread[:, np.newaxis]


def interval(values: FloatArray) -> tuple[float, float]:
    """Central 95 % of the values, without those that are not finite."""
    values = values[np.isfinite(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)

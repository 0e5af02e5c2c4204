"""The stability index of several selections among the same features."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from randsub._typing import BoolArray, FloatArray


class StabilityIndex(NamedTuple):
    """Stability index and its confidence interval; NaN where undefined."""

    value: float
    lower: float
    upper: float


def stability_index(selected: BoolArray, level: float) -> StabilityIndex:
    """Stability of several selections beyond chance, by Nogueira, Sechidis and Brown (2018).

    1 minus the ratio of the variance of the choices to their variance if every run chose the same
    number of features at random. It is 1 if all runs choose the same features and 0 on average
    if they choose at random. Unlike a count of common features it is corrected for the number
    of features chosen. It is undefined if all runs choose nothing, or everything.

    Parameters
    ----------
    selected : bool ndarray of shape (n_runs, n_features)
        Selection of each run; at least two runs.
    level : float
        Coverage of the interval, which is the authors' asymptotic one. It is too narrow with few
        runs (coverage 0.84 instead of 0.9 with 40 runs), and for subsamples of the same data,
        which are not independent.

    Returns
    -------
    index : StabilityIndex

    References
    ----------
    S. Nogueira, K. Sechidis and G. Brown, "On the stability of feature selection algorithms",
    Journal of Machine Learning Research, 2018.
    """
    chosen = selected.astype(float)
    n_runs = len(chosen)
    share = chosen.mean()
    chance = share * (1.0 - share)
    if chance == 0.0:
        return StabilityIndex(np.nan, np.nan, np.nan)
    value = 1.0 - chosen.var(axis=0, ddof=1).mean() / chance
    spread = _influences(chosen, value, share, chance)
    error = 2.0 / n_runs * np.sqrt(((spread - spread.mean()) ** 2).sum())
    margin = norm.ppf(0.5 + level / 2.0) * error
    # The index itself never exceeds 1.
    return StabilityIndex(float(value), float(value - margin), float(min(value + margin, 1.0)))


def _influences(chosen: FloatArray, value: float, share: float, chance: float) -> FloatArray:
    """Influence of each run on the index, (n_runs,): phi_i in the paper."""
    sizes = chosen.mean(axis=1)
    common = (chosen * chosen.mean(axis=0)).mean(axis=1)
    correction = value / 2.0 * (2.0 * share * sizes - sizes - share + 1.0)
    return (common - sizes * share + correction) / chance

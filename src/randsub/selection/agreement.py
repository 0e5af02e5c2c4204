"""How much several selections among the same features agree."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from randsub._typing import BoolArray, FloatArray


class Agreement(NamedTuple):
    """A measure of agreement, and its interval; NaN where it is not defined."""

    value: float
    lower: float
    upper: float


def agreement(selected: BoolArray, level: float) -> Agreement:
    """Agreement of several selections beyond chance, by Nogueira, Sechidis and Brown (2018).

    It is 1 minus the variance of the choices over their variance if every run chose as many
    features, but at random: 1 when all runs choose the same features, 0 on average when they
    choose at random. It does not depend on how many features are chosen, as a plain count of
    common ones does, and is not defined when no run, or every run, chooses all there is.

    Parameters
    ----------
    selected : bool ndarray of shape (n_runs, n_features)
        What each run chose; at least two runs.
    level : float
        Coverage of the interval, which is the authors' asymptotic one. It is too narrow with few
        runs (0.84 where 0.9 is asked for with 40 of them), and on subsamples of the same data,
        which are not independent.

    Returns
    -------
    agreement : Agreement

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
        return Agreement(np.nan, np.nan, np.nan)
    value = 1.0 - chosen.var(axis=0, ddof=1).mean() / chance
    spread = _influences(chosen, value, share, chance)
    error = 2.0 / n_runs * np.sqrt(((spread - spread.mean()) ** 2).sum())
    margin = norm.ppf(0.5 + level / 2.0) * error
    # The measure itself never exceeds 1.
    return Agreement(float(value), float(value - margin), float(min(value + margin, 1.0)))


def _influences(chosen: FloatArray, value: float, share: float, chance: float) -> FloatArray:
    """What each run does to the measure, (n_runs,): the phi_i of the paper."""
    sizes = chosen.mean(axis=1)
    common = (chosen * chosen.mean(axis=0)).mean(axis=1)
    correction = value / 2.0 * (2.0 * share * sizes - sizes - share + 1.0)
    return (common - sizes * share + correction) / chance

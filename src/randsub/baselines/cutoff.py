"""From which share of the votes on the second of two classes is predicted."""

import numpy as np

from randsub._typing import BoolArray, FloatArray


def best_cutoff(votes: FloatArray, is_second: BoolArray, weight: FloatArray) -> float:
    """The cut-off with the least weighted number of errors, of several the nearest to a half.

    Parameters
    ----------
    votes : ndarray of shape (n,)
        Share of the votes, or average probability, of the second class; it is predicted where this
        exceeds the cut-off.
    is_second : bool ndarray of shape (n,)
        Whether a sample is of the second class.
    weight : ndarray of shape (n,)
        Weights of the samples.
    """
    levels, place = np.unique(votes, return_inverse=True)
    second = np.bincount(place, weights=weight * is_second, minlength=len(levels))
    first = np.bincount(place, weights=weight * ~is_second, minlength=len(levels))
    # With the cut-off below level k: the second class among lower levels and the first class from
    # there on are wrong.
    missed = np.concatenate([[0.0], np.cumsum(second)])
    alarms = np.concatenate([np.cumsum(first[::-1])[::-1], [0.0]])
    errors = missed + alarms
    between = (levels[:-1] + levels[1:]) / 2.0
    # Between neighbouring numbers there is nothing; the lower one does not exceed itself.
    between = np.where(between < levels[1:], between, levels[:-1])
    below = levels[0] / 2.0 if levels[0] > 0.0 else -np.finfo(float).tiny
    above = max((levels[-1] + 1.0) / 2.0, levels[-1])
    cutoffs = np.concatenate([[below], between, [above]])
    # A half does as well as anything between the same two levels.
    home = np.searchsorted(levels, 0.5, side="right")
    cutoffs[home] = 0.5
    least = errors.min()
    # Sums in another order may differ in the last digits.
    ties = np.flatnonzero(errors <= least + 1e-9 * weight.sum())
    return float(cutoffs[ties[np.argmin(np.abs(cutoffs[ties] - 0.5))]])

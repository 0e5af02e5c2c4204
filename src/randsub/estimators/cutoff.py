"""Share of the votes above which the second of two classes is predicted."""

import numpy as np

from randsub._typing import BoolArray, FloatArray


def best_cutoff(votes: FloatArray, is_second: BoolArray, weight: FloatArray) -> float:
    """The cut-off with the lowest weighted number of errors; ties go to the one nearest to 0.5.

    Parameters
    ----------
    votes : ndarray of shape (n,)
        Share of the votes, or average probability, of the second class, which is predicted where
        this exceeds the cut-off.
    is_second : bool ndarray of shape (n,)
        Whether a sample belongs to the second class.
    weight : ndarray of shape (n,)
        Sample weights.
    """
    levels, place = np.unique(votes, return_inverse=True)
    second = np.bincount(place, weights=weight * is_second, minlength=len(levels))
    first = np.bincount(place, weights=weight * ~is_second, minlength=len(levels))
    # With the cut-off just below level k, errors are the second class at lower levels and the first
    # class from level k on.
    missed = np.concatenate([[0.0], np.cumsum(second)])
    alarms = np.concatenate([np.cumsum(first[::-1])[::-1], [0.0]])
    errors = missed + alarms
    between = (levels[:-1] + levels[1:]) / 2.0
    # Adjacent floats have no number between them; the lower one does not exceed itself.
    between = np.where(between < levels[1:], between, levels[:-1])
    below = levels[0] / 2.0 if levels[0] > 0.0 else -np.finfo(float).tiny
    above = max((levels[-1] + 1.0) / 2.0, levels[-1])
    cutoffs = np.concatenate([[below], between, [above]])
    # All cut-offs between the same two levels are equivalent: prefer 0.5.
    home = np.searchsorted(levels, 0.5, side="right")
    cutoffs[home] = 0.5
    least = errors.min()
    # Sums in a different order may differ by rounding.
    ties = np.flatnonzero(errors <= least + 1e-9 * weight.sum())
    return float(cutoffs[ties[np.argmin(np.abs(cutoffs[ties] - 0.5))]])

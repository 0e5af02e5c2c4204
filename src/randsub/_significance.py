"""Significance of importances, by their ranks among those of permuted copies."""

import numpy as np
from scipy.stats import false_discovery_control

from randsub._typing import FloatArray


def pooled_p_values(importances: FloatArray, shadows: FloatArray) -> FloatArray:
    """P-values from the rank of each feature among all shadows.

    ``(1 + number of shadows at least as important) / (1 + number of shadows)``. Ties count against
    the feature, so a feature with importance 0 has p-value 1.

    Parameters
    ----------
    importances : ndarray of shape (n_features,)
    shadows : ndarray of shape (n,)

    Returns
    -------
    p_values : ndarray of shape (n_features,)
    """
    below = np.searchsorted(np.sort(shadows), importances, side="left")
    return (1.0 + len(shadows) - below) / (1.0 + len(shadows))


def q_values(p_values: FloatArray) -> FloatArray:
    """Smallest false discovery rate at which Benjamini-Hochberg selects each feature."""
    return np.asarray(false_discovery_control(p_values, method="bh"))

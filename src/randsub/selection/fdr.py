"""Selection with a bounded false discovery rate, from importances of features and shadows."""

from math import ceil

# Smallest selection that is possible with n_shadows="auto".
SMALLEST_SELECTION = 2


def smallest_selection(n_features: int, n_shadows: int, fdr: float) -> int:
    """Smallest number of features that can be selected.

    A feature that beats all shadows has p-value ``1 / (1 + n_shadows * n_features)``, and k such
    features are selected if that is at most ``fdr * k / n_features``.
    """
    return ceil(n_features / (fdr * (1 + n_shadows * n_features)) - 1e-9)


def enough_shadows(n_features: int, fdr: float) -> int:
    """Number of copies with which two features (or the only one) can be selected."""
    least = min(SMALLEST_SELECTION, n_features)
    n_shadows = max(1, ceil(1.0 / (fdr * least) - 1.0 / n_features - 1e-9))
    assert smallest_selection(n_features, n_shadows, fdr) <= least
    return n_shadows

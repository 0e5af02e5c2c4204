"""How good predicted class probabilities are: log loss and calibration error."""

from typing import Any, Final

import numpy as np

from randsub._typing import FloatArray

N_BINS: Final = 10
# Probabilities below this are raised to it, as scikit-learn does: the logarithm of 0 is infinite.
_LEAST: Final = float(np.finfo(float).eps)


def log_loss(y: Any, probabilities: FloatArray, classes: Any) -> float:
    r"""Mean negative logarithm of the probability of the true class.

    .. math:: -\frac{1}{N} \sum_{i=1}^{N} \log p_i(y_i)

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes. One that is not among ``classes`` has the probability 0.
    probabilities : ndarray of shape (n_samples, n_classes)
        Predicted; 0 counts as 2.2e-16, so that the loss is finite.
    classes : array-like of shape (n_classes,)
        Classes of the columns.

    Returns
    -------
    loss : float
        0 is best.
    """
    is_true = np.asarray(y)[:, np.newaxis] == np.asarray(classes)
    of_true = np.sum(probabilities, axis=1, where=is_true)
    return float(-np.log(np.clip(of_true, _LEAST, 1.0)).mean())


def calibration_error(
    y: Any, probabilities: FloatArray, classes: Any, n_bins: int = N_BINS
) -> float:
    r"""Expected calibration error of the top class.

    Samples are put into bins of equal width by their confidence, the probability of the class with
    the highest one. The error is the mean over samples of the gap in their bin b between accuracy
    and mean confidence:

    .. math:: \sum_b \frac{n_b}{N} \, |\mathrm{accuracy}_b - \mathrm{confidence}_b|

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes.
    probabilities : ndarray of shape (n_samples, n_classes)
        Predicted.
    classes : array-like of shape (n_classes,)
        Classes of the columns; the first of several with the same probability is taken.
    n_bins : int, default=10
        Number of bins between 0 and 1; a border belongs to the bin above it, 1 to the last.

    Returns
    -------
    error : float
        Between 0, as sure as right, and 1.
    """
    top = probabilities.argmax(axis=1)
    confidence = probabilities[np.arange(len(top)), top]
    is_right = np.asarray(classes)[top] == np.asarray(y)
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    # The size of a bin cancels: n_b times a difference of means is a difference of sums.
    gaps = np.bincount(bins, weights=is_right - confidence)
    return float(np.abs(gaps).sum() / len(top))


def probability_measures(model: Any, X: FloatArray, y: Any) -> dict[str, float | None]:
    """``log_loss`` and ``calibration`` of a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted. Without ``predict_proba``, as regressors and some classifiers are, both are None.
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)

    Returns
    -------
    measures : dict
    """
    if not hasattr(model, "predict_proba"):
        return {"log_loss": None, "calibration": None}
    known = (y, model.predict_proba(X), model.classes_)
    return {"log_loss": log_loss(*known), "calibration": calibration_error(*known)}

"""The score-function gradient, in the form in which it is cheap.

The derivative of the ensemble's loss in theta_j is

    sum_i <dL/df_i, sum_t w_t s_tj (F_ti - b_ij)> / W

where s is the score, F the predictions and b a baseline. Everything that depends on the sample i
enters through the inner product, and the optimal baseline is linear in F; so both contract to one
number a model, its cost ``c_t = sum_i <dL/df_i, F_ti>``, and

    g_j = sum_t w_t s_tj (c_t - b_j) / W.

No array of shape (T, n, M) ever exists.
"""

from typing import Literal, TypeAlias

import numpy as np

from randsub._compile import compiled
from randsub._typing import FloatArray, Masks
from randsub.distributions.base import SubsetDistribution

Baseline: TypeAlias = Literal["optimal", "weighted", "paper", "none"]


def ensemble_output(weights: FloatArray, predictions: FloatArray) -> FloatArray:
    """Weighted average of the models' predictions.

    Parameters
    ----------
    weights : ndarray of shape (T,)
        ``w_t / W``.
    predictions : ndarray of shape (T, n, C)

    Returns
    -------
    f : ndarray of shape (n, C)
    """
    n_models, *shape = predictions.shape
    return (weights @ predictions.reshape(n_models, -1)).reshape(shape)


def model_costs(loss_gradient: FloatArray, predictions: FloatArray) -> FloatArray:
    """Contract dL/df (n, C) with the predictions (T, n, C): one cost for each model, (T,)."""
    return predictions.reshape(len(predictions), -1) @ loss_gradient.ravel()


def score_gradient(
    distribution: SubsetDistribution,
    masks: Masks,
    theta: FloatArray,
    weights: FloatArray,
    costs: FloatArray,
    baseline: Baseline = "weighted",
) -> FloatArray:
    """``g_j = sum_t w_t s_tj (c_t - b_j) / W``.

    Parameters
    ----------
    distribution : SubsetDistribution
    masks : (T, M)
    theta : ndarray of shape (M,)
    weights : ndarray of shape (T,)
        ``w_t / W``.
    costs : ndarray of shape (T,)
    baseline : {"optimal", "weighted", "paper", "none"}, default="weighted"
        ``b_j = sum w^2 s^2 c / sum w^2 s^2``, for which the variance of the weighted sum is least;
        the same with w in place of its square; the same without w; or 0.

    Returns
    -------
    gradient : ndarray of shape (M,)
    """
    if baseline == "weighted":
        first, second = distribution.score_sums(masks, theta, np.array([weights * costs, weights]))
        return _above_baseline(first[0], first[1], second[0], second[1])
    if baseline == "optimal":
        squares = weights**2
        first, second = distribution.score_sums(
            masks, theta, np.array([weights * costs, weights, squares * costs, squares])
        )
        return _above_baseline(first[0], first[1], second[2], second[3])
    if baseline == "paper":
        first, second = distribution.score_sums(
            masks, theta, np.array([weights * costs, weights, costs, np.ones_like(costs)])
        )
        return _above_baseline(first[0], first[1], second[2], second[3])
    first, _ = distribution.score_sums(masks, theta, (weights * costs)[np.newaxis])
    return first[0]


@compiled()
def _above_baseline(costs, weights, squared_costs, squared_weights):  # type: ignore[no-untyped-def]
    """``sum w s c - b sum w s`` with the baseline b a ratio of sums over squared scores.

    b is 0 where the score of a parameter, in a family of one's own, is always 0.
    """
    gradient = np.empty(len(costs))
    for j in range(len(costs)):
        baseline = 0.0
        if squared_weights[j] != 0.0:
            baseline = squared_costs[j] / squared_weights[j]
        gradient[j] = costs[j] - weights[j] * baseline
    return gradient

"""Importance weights: models trained for an earlier theta, used for the present one.

All of it happens in log space. With M features a ratio of probabilities is a product of M factors,
and overflows long before the effective sample size says that it should not be used.
"""

import numpy as np

from randsub._compile import compiled
from randsub._typing import FloatArray, Masks
from randsub.distributions.base import SubsetDistribution

# exp of twice this is still finite, so squares of weights are too.
LARGEST_LOG_WEIGHT = 300.0


def log_weights(
    distribution: SubsetDistribution, masks: Masks, theta: FloatArray, log_q: FloatArray
) -> FloatArray:
    """``log p(z_t | theta) - log q(z_t)`` for each mask, shape (T,)."""
    return distribution.log_prob(masks, theta) - log_q


def importance_weights(log_w: FloatArray, *, self_normalize: bool = True) -> FloatArray:
    """Weights ``w_t / W`` with which models are averaged, shape (T,).

    Parameters
    ----------
    log_w : ndarray of shape (T,)
    self_normalize : bool, default=True
        W is the sum of the weights, so that they add up to 1 and constants are reproduced; else
        W is T, as in the paper, which is unbiased but not equivariant to shifts.
    """
    if self_normalize:
        return _normalized(log_w)
    return _over_count(log_w)


def effective_sample_size(log_w: FloatArray) -> float:
    """``(sum w) ** 2 / sum w ** 2``: how many equally weighted models are worth as much."""
    return size_of_weights(_normalized(log_w))


def size_of_weights(weights: FloatArray) -> float:
    """The effective sample size of weights (T,) that add up to 1."""
    return float(1.0 / (weights @ weights))


def mixture_log_prob(
    distribution: SubsetDistribution,
    masks: Masks,
    thetas: FloatArray,
    shares: FloatArray,
) -> FloatArray:
    """``log sum_g share_g p(z_t | theta_g)``: the law of masks that came from several thetas.

    Parameters
    ----------
    distribution : SubsetDistribution
    masks : (T, M)
    thetas : ndarray of shape (G, M)
    shares : ndarray of shape (G,)
        Share of the masks that each theta brought; adds up to 1.

    Returns
    -------
    log_q : ndarray of shape (T,)
    """
    logs = distribution.log_probs(masks, thetas)
    largest = logs.max(axis=0)
    return largest + np.log(shares @ np.exp(logs - largest))


@compiled()
def _normalized(log_w):  # type: ignore[no-untyped-def]
    """Weights relative to the largest, so that nothing overflows, divided by their sum."""
    largest = log_w.max()
    w = np.empty(len(log_w))
    total = 0.0
    for t in range(len(log_w)):
        w[t] = np.exp(max(log_w[t] - largest, -LARGEST_LOG_WEIGHT))
        total += w[t]
    for t in range(len(log_w)):
        w[t] /= total
    return w


@compiled()
def _over_count(log_w):  # type: ignore[no-untyped-def]
    """Weights, clipped so that they are finite, divided by their number."""
    w = np.empty(len(log_w))
    for t in range(len(log_w)):
        clipped = min(max(log_w[t], -LARGEST_LOG_WEIGHT), LARGEST_LOG_WEIGHT)
        w[t] = np.exp(clipped) / len(log_w)
    return w

"""From predictions of sampled models to the gradient in theta.

**Weights.** Models that were trained for an earlier theta are used for the present one with
importance weights ``w_t = p(z_t | theta) / q(z_t)``. All of it happens in log space: with M
features a ratio of probabilities is a product of M factors, and overflows long before the effective
sample size says that it should not be used.

**Gradient.** The derivative of the loss of the ensemble in theta_j is

    sum_i <dL/df_i, sum_t w_t s_tj (F_ti - b_ij)> / W

where s is the score, F the predictions and b a baseline. Everything that depends on the sample i
enters through the inner product, and the optimal baseline is linear in F; so both contract to one
number per model, its cost ``c_t = sum_i <dL/df_i, F_ti>``, and

    g_j = sum_t w_t s_tj (c_t - b_j) / W.

No array of shape (T, n, M) ever exists.

**Objectives.** The paper minimises the loss of the ensemble, ``L(E f_z)``; its outlook is the
expected loss of the members, ``E L(f_z)``. Both are expectations over masks of one number per
model, so only the cost ``c_t`` differs (:data:`OBJECTIVES`).

**Mixtures.** An ensemble of several base models, ``f = sum_b share_b E f_bz`` with a theta for each
of them, is one ensemble whose weights add up to ``share_b`` over the models of b. Costs are as
above, at the mixed output; ``g`` of theta_b comes from the models of b alone; and the derivative in
share_b is exact, ``sum_t w_t c_t / W`` over these models.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np

from randsub._compile import compiled
from randsub._typing import FloatArray, HeldPredictions, Masks
from randsub.distributions import SubsetDistribution
from randsub.losses import Loss

__all__ = [
    "OBJECTIVES",
    "Baseline",
    "Objective",
    "Votes",
    "effective_sample_size",
    "ensemble_output",
    "importance_weights",
    "log_of_mixture",
    "mixed_output",
    "model_costs",
    "score_gradient",
    "size_of_weights",
]

Baseline: TypeAlias = Literal["optimal", "weighted", "paper", "none"]
# exp of twice this is still finite, so squares of weights are too.
LARGEST_LOG_WEIGHT = 300.0


def importance_weights(log_w: FloatArray, *, self_normalize: bool = True) -> FloatArray:
    """Weights ``w_t / W`` with which models are averaged, shape (T,).

    Parameters
    ----------
    log_w : ndarray of shape (T,)
        ``log p(z_t | theta) - log q(z_t)``.
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


def log_of_mixture(logs: FloatArray, shares: FloatArray) -> FloatArray:
    """``log sum_g share_g p(z_t | theta_g)``: the law of masks that came from several thetas.

    Parameters
    ----------
    logs : ndarray of shape (G, T)
        ``log p(z_t | theta_g)``.
    shares : ndarray of shape (G,)
        Share of the masks that each theta brought; adds up to 1.

    Returns
    -------
    log_q : ndarray of shape (T,)
    """
    largest = logs.max(axis=0)
    return largest + np.log(shares @ np.exp(logs - largest))


def ensemble_output(weights: FloatArray, predictions: FloatArray | HeldPredictions) -> FloatArray:
    """Weighted average of the models' predictions.

    Parameters
    ----------
    weights : ndarray of shape (T,)
        ``w_t / W``.
    predictions : ndarray of shape (T, n, C) or HeldPredictions

    Returns
    -------
    f : ndarray of shape (n, C)
    """
    if not isinstance(predictions, np.ndarray):
        return predictions.average(weights)
    n_models, *shape = predictions.shape
    return (weights @ predictions.reshape(n_models, -1)).reshape(shape)


def mixed_output(votes: Sequence["Votes"]) -> FloatArray:
    """Output of an ensemble of several kinds of models, shape (n, C)."""
    first, *others = votes
    output = ensemble_output(*first)
    for kind in others:
        output += ensemble_output(*kind)
    return output


def model_costs(loss_gradient: FloatArray, predictions: FloatArray | HeldPredictions) -> FloatArray:
    """Contract dL/df (n, C) with the predictions (T, n, C): one cost for each model, (T,)."""
    if not isinstance(predictions, np.ndarray):
        return predictions.costs(loss_gradient)
    return predictions.reshape(len(predictions), -1) @ loss_gradient.ravel()


class Votes(NamedTuple):
    """Models of one kind: weights (T,) with which they count, and their predictions (T, n, C)."""

    weights: FloatArray
    predictions: FloatArray | HeldPredictions


class Objective(NamedTuple):
    """Two functions of loss, targets (n, C), votes of the models of each kind, sample weights.

    ``value`` is the objective there, ``costs`` the cost of each model, shape (T,) for each kind:
    what one more unit of its weight adds to the objective. The weights of a kind add up to its
    share in the ensemble. ``only_sums`` says whether both need nothing but sums over models, so
    that the predictions may be kept elsewhere.
    """

    value: Callable[[Loss, FloatArray, Sequence[Votes], FloatArray], float]
    costs: Callable[[Loss, FloatArray, Sequence[Votes], FloatArray], list[FloatArray]]
    only_sums: bool


def _ensemble_value(loss: Loss, y: FloatArray, votes: Sequence[Votes], sample: FloatArray) -> float:
    """Loss of the averaged prediction."""
    return loss.value(y, mixed_output(votes), sample)


def _ensemble_costs(
    loss: Loss, y: FloatArray, votes: Sequence[Votes], sample: FloatArray
) -> list[FloatArray]:
    """Prediction of each model along the gradient of the loss at the average."""
    gradient = loss.gradient(y, mixed_output(votes), sample)
    return [model_costs(gradient, kind.predictions) for kind in votes]


def _members_value(loss: Loss, y: FloatArray, votes: Sequence[Votes], sample: FloatArray) -> float:
    """Average of the members' losses."""
    costs = _members_costs(loss, y, votes, sample)
    return float(sum(kind.weights @ of_kind for kind, of_kind in zip(votes, costs, strict=True)))


def _members_costs(
    loss: Loss, y: FloatArray, votes: Sequence[Votes], sample: FloatArray
) -> list[FloatArray]:
    """Loss of each model."""
    # Not a sum over models, so the predictions are here.
    return [loss.of_members(y, cast(FloatArray, kind.predictions), sample) for kind in votes]


OBJECTIVES: Mapping[str, Objective] = {
    "ensemble": Objective(_ensemble_value, _ensemble_costs, only_sums=True),
    "members": Objective(_members_value, _members_costs, only_sums=False),
}


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
        ``b_j = sum_t v_t s_tj^2 c_t / sum_t v_t s_tj^2`` with ``v = w^2`` ("optimal"), for which
        the variance of the weighted sum is smallest; with ``v = w`` ("weighted"); with ``v = 1``
        ("paper"); or ``b_j = 0``.

    Returns
    -------
    gradient : ndarray of shape (M,)
    """
    sums_of = [weights * costs, weights]
    if baseline == "none":
        return distribution.score_sums(masks, theta, np.array(sums_of[:1]))[0][0]
    if baseline == "optimal":
        sums_of += [weights**2 * costs, weights**2]
    elif baseline == "paper":
        sums_of += [costs, np.ones_like(costs)]
    first, second = distribution.score_sums(masks, theta, np.array(sums_of))
    return _above_baseline(first[0], first[1], second[-2], second[-1])


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


@compiled()
def _above_baseline(costs, weights, squared_costs, squared_weights):  # type: ignore[no-untyped-def]
    """``sum w s c - b sum w s`` with the baseline b a ratio of sums over squared scores.

    b is 0 where the score of a parameter, in a user-defined distribution, is always 0.
    """
    gradient = np.empty(len(costs))
    for j in range(len(costs)):
        baseline = 0.0
        if squared_weights[j] != 0.0:
            baseline = squared_costs[j] / squared_weights[j]
        gradient[j] = costs[j] - weights[j] * baseline
    return gradient

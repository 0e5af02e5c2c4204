"""Shares of several base models in one ensemble, learned along with theta.

The ensemble is ``f = sum_b share_b E f_bz`` with z ~ p(z | theta_b). The sum over b is written out,
not sampled, so that the gradient in the shares is exact: ``g_b = <dL/df, f_b>``. A step is one of
mirror descent on the simplex, ``share_b ~ share_b exp(-rate g_b)``: a base model gains what others
lose in proportion to what it has. One whose share is below 0.02, or that would not get half a
member of ``n_estimators``, is dropped; nothing is trained for it any more.
"""

from collections.abc import Iterator

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray, Projection
from randsub.penalties.base import Penalty

# With five batches, a base model that is worse by 0.1 (of the target's variance, or nats) loses two
# thirds of its share in twenty epochs.
RATE = 0.1
# A base model with less changes little, and takes the time of any other.
SMALLEST = 0.02
# Largest exponent of a step: no loss, whatever its unit, drops a base model at once.
LARGEST_STEP = 1.0


def equal_shares(n_tasks: int, n_bases: int) -> FloatArray:
    """Shares at the start, (P, B)."""
    return np.full((n_tasks, n_bases), 1.0 / n_bases)


def mean_by_share(theta: FloatArray, shares: FloatArray) -> FloatArray:
    """Mean of theta (P B, M) over the base models of each task by share (P, B); shape (P, M)."""
    n_tasks, n_bases = shares.shape
    if n_bases == 1:
        return theta
    return np.einsum("pb,pbm->pm", shares, theta.reshape(n_tasks, n_bases, -1))


def trained_rows(task: int, shares: FloatArray) -> Iterator[tuple[int, float]]:
    """Rows of theta of a task whose models are trained, with their shares, of (B,)."""
    n_bases = len(shares)
    for base, share in enumerate(shares.tolist()):
        if share > 0.0:
            yield task * n_bases + base, share


def with_share(theta: FloatArray, shares: FloatArray) -> FloatArray:
    """Theta (P B, M) with zeros for base models that a task has dropped.

    A penalty that couples tasks must not count features that no model of a task sees any more:
    they would be cheaper for the other tasks, and could not be removed from all.
    """
    if shares.all():
        return theta
    return np.where(shares.reshape(-1, 1) > 0.0, theta, 0.0)


def mixed_penalty(penalty: Penalty, theta: FloatArray, shares: FloatArray) -> float:
    """Mean penalty of the base models by share, for theta (P B, M) and shares (P, B)."""
    of_bases = penalties(penalty, with_share(theta, shares), shares.shape[1])
    return float(shares.mean(axis=0) @ of_bases)


def penalties(penalty: Penalty, theta: FloatArray, n_bases: int) -> FloatArray:
    """Penalty of each base model, (B,); it is also the derivative of the mean in the shares."""
    return np.array([penalty.value(theta[base::n_bases]) for base in range(n_bases)])


def penalty_gradient(penalty: Penalty, theta: FloatArray, shares: FloatArray) -> FloatArray:
    """Gradient of :func:`mixed_penalty` in theta, (P B, M)."""
    theta, n_bases = with_share(theta, shares), shares.shape[1]
    gradient = np.empty_like(theta)
    for base, share in enumerate(shares.mean(axis=0)):
        gradient[base::n_bases] = share * penalty.gradient(theta[base::n_bases])
    return gradient


def penalty_prox(
    penalty: Penalty,
    theta: FloatArray,
    step: FloatArray,
    fixed: BoolArray,
    project: Projection,
    shares: FloatArray,
) -> FloatArray:
    """Proximal step of :func:`mixed_penalty`; see :meth:`randsub.penalties.Penalty.prox`."""
    counted, n_bases = with_share(theta, shares), shares.shape[1]
    moved = theta.copy()
    for base, share in enumerate(shares.mean(axis=0)):
        if share > 0.0:
            of_base = slice(base, None, n_bases)
            moved[of_base] = penalty.prox(
                counted[of_base], share * step[of_base], fixed[of_base], project
            )
    return moved


def moved_shares(shares: FloatArray, gradient: FloatArray) -> FloatArray:
    """Shares (P, B) after a step along the gradient (P, B).

    The step does not depend on the gradient of dropped base models, and leaves them dropped.
    """
    if shares.shape[1] == 1:
        return shares
    lowest = np.where(shares > 0.0, gradient, np.inf).min(axis=1, keepdims=True)
    factors = np.exp(-np.clip(RATE * (gradient - lowest), 0.0, LARGEST_STEP))
    return _to_one(shares * factors)


def without_small(shares: FloatArray, n_members: int) -> FloatArray:
    """Shares (P, B) in which those below ``SMALLEST``, or worth less than half a member, are 0.

    The largest share of a task is kept in any case, and no share of many equal ones is small.
    """
    if shares.shape[1] == 1:
        return shares
    least = min(max(SMALLEST, 0.5 / n_members), 0.5 / shares.shape[1])
    small = (shares < least) & (shares < shares.max(axis=1, keepdims=True))
    # Tasks without any are left as they are, to the last bit, whatever happens to others.
    is_new = (small & (shares > 0.0)).any(axis=1, keepdims=True)
    return np.where(is_new, _to_one(np.where(small, 0.0, shares)), shares)


def _to_one(shares: FloatArray) -> FloatArray:
    return shares / shares.sum(axis=1, keepdims=True)


def allotted(shares: FloatArray, n_members: int) -> IntArray:
    """Number of members for each share (B,), by largest remainders.

    Every share above 0 gets one member at least, as far as there are enough of them.
    """
    exact = shares / shares.sum() * n_members
    counts = np.floor(exact).astype(np.intp)
    counts[(counts == 0) & (exact > 0.0)] = 1
    least = 1 if n_members >= np.count_nonzero(exact) else 0
    while (missing := n_members - counts.sum()) != 0:
        # Who is furthest from the exact number changes by one.
        gap = np.where(exact > 0.0, exact - counts, 0.0)
        if missing > 0:
            counts[np.argmax(gap)] += 1
        else:
            counts[np.argmin(np.where(counts > least, gap, np.inf))] -= 1
    return counts

"""The dual problem of a support vector machine, by sequential minimal optimisation.

Classification and regression are one problem in the signed coefficients ``beta`` of the training
rows::

    minimise    1/2 beta' K beta - target' beta + epsilon |beta|_1
    subject to  sum(beta) = 0,  lower <= beta <= upper

with ``target`` the numbers to predict and ``[-C, C]`` for regression, labels +1 and -1 and
``[0, C]`` or ``[-C, 0]`` for classification (where epsilon is 0). So the doubling of the variables
in regression is never written down: a coefficient has a slope to the right and one to the left,
which differ by ``2 epsilon`` at zero.

A step raises one coefficient and lowers another by as much. The one to raise has the steepest way
down; its partner promises the largest decrease of the objective, by the second-order rule of Fan,
Chen and Lin (2005). It ends when no pair descends faster than ``tol``, as LIBSVM ends.

Both choices look for the place of the largest number. The place replaces the lowest bits of the
number, read as a whole number, so that the search is a plain maximum, which runs in vector lanes.
"""

import numpy as np

from randsub._compile import compiled

# Arrays of a problem are padded to whole vectors.
LANES = 16
# Lines of numbers per row, of a problem.
N_LINES = 8
# Beyond every slope.
NEVER = 1e300
# Curvature of a pair of equal rows, as in LIBSVM.
LEAST_CURVATURE = 1e-12

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
FAST = {"nnan", "nsz", "contract"}


@compiled()
def padded(size):  # type: ignore[no-untyped-def]
    """The length of a line for ``size`` entries."""
    return (size + LANES - 1) // LANES * LANES


@compiled()
def _ranked(value):  # type: ignore[no-untyped-def]
    """A whole number for each number, in the same order."""
    bits = np.float64(value).view(np.int64)
    # Negative numbers have the bits of their size, and a sign.
    return bits ^ ((bits >> 63) & MOST)


@compiled(fastmath=FAST)
def _move(slope, raised, lowered, rise, fall, climb, sink, low_bits):  # type: ignore[no-untyped-def]
    """Follow a step with the slopes; which coefficients it is best to raise and to lower next."""
    best_up = best_down = np.int64(LEAST)
    for k in range(len(slope)):
        here = slope[k] + rise * raised[k] + fall * lowered[k]
        slope[k] = here
        best_up = max(best_up, (_ranked(climb[k] - here) & ~low_bits) | k)
        best_down = max(best_down, (_ranked(here - sink[k]) & ~low_bits) | k)
    return best_up & low_bits, best_down & low_bits


@compiled(fastmath=FAST)
def _partner(slope, raised, diagonal, curvature, descent, sink, low_bits):  # type: ignore[no-untyped-def]
    """The coefficient to lower that promises the largest decrease; -1 where none promises any."""
    best = 0
    for k in range(len(slope)):
        gap = max(descent + slope[k] - sink[k], 0.0)
        bend = max(curvature + diagonal[k] - 2.0 * raised[k], LEAST_CURVATURE)
        best = max(best, (np.float64(gap * gap / bend).view(np.int64) & ~low_bits) | k)
    return best & low_bits if best > low_bits else -1


@compiled()
def _step(raised, lowered, upper, lower, epsilon, gap, bend):  # type: ignore[no-untyped-def]
    """Raise one coefficient and lower the other by as much: to the bottom, or to a bound.

    ``gap`` is how fast the objective falls at first, ``bend`` its curvature; where a coefficient
    passes zero the slope jumps by ``2 epsilon``. Zeros and bounds are met exactly.
    """
    while True:
        room_up = -raised if raised < 0.0 else upper - raised
        room_down = lowered if lowered > 0.0 else lowered - lower
        length = min(gap / bend, min(room_up, room_down))
        meets_up, meets_down = room_up <= length, room_down <= length
        if meets_up:
            raised = 0.0 if raised < 0.0 else upper
        else:
            raised += length
        if meets_down:
            lowered = 0.0 if lowered > 0.0 else lower
        else:
            lowered -= length
        if not (meets_up or meets_down):
            return raised, lowered
        gap -= bend * length + 2.0 * epsilon * (meets_up + meets_down)
        # At a bound there is no room left, and the next turn would go nowhere.
        if gap <= 0.0 or raised >= upper or lowered <= lower:
            return raised, lowered


@compiled()
def _release(beta, lower, upper, epsilon, climb, sink, k):  # type: ignore[no-untyped-def]
    """Write down where coefficient ``k`` may go, and what epsilon adds to its slope there."""
    if beta[k] >= upper[k]:
        climb[k] = -NEVER
    else:
        climb[k] = epsilon if beta[k] < 0.0 else -epsilon
    if beta[k] <= lower[k]:
        sink[k] = NEVER
    else:
        sink[k] = -epsilon if beta[k] > 0.0 else epsilon


@compiled()
def _offset(beta, slope, lower, upper, epsilon, n):  # type: ignore[no-untyped-def]
    """The constant of the prediction: free coefficients agree on it, the others leave a range."""
    total, n_free = 0.0, 0
    least, most = -np.inf, np.inf
    for k in range(n):
        if lower[k] < beta[k] < upper[k] and beta[k] != 0.0:
            total += slope[k] + (epsilon if beta[k] > 0.0 else -epsilon)
            n_free += 1
            continue
        if beta[k] < upper[k]:
            most = min(most, slope[k] + (epsilon if beta[k] >= 0.0 else -epsilon))
        if beta[k] > lower[k]:
            least = max(least, slope[k] + (epsilon if beta[k] > 0.0 else -epsilon))
    if n_free > 0:
        return -total / n_free
    return -(least + most) / 2.0


@compiled()
def solve_dual(kernel, room, epsilon, tol, most_steps, n):  # type: ignore[no-untyped-def]
    """Solve for ``n`` training rows, in padded lines.

    Parameters
    ----------
    kernel : ndarray of shape (n, padded(n))
    room : ndarray of shape (N_LINES, padded(n) or more)
        Targets, lower and upper bounds of the coefficients, then the coefficients, which are
        written here; the other lines are to work in.
    epsilon, tol : float
    most_steps, n : int

    Returns
    -------
    offset : float
        The constant to add to ``K beta``; NaN when numbers or steps ran out.
    """
    width = padded(n)
    target, lower, upper = room[0][:width], room[1][:width], room[2][:width]
    beta, slope, diagonal = room[3][:width], room[4][:width], room[5][:width]
    climb, sink = room[6][:width], room[7][:width]
    low_bits = 1
    while low_bits < width:
        low_bits *= 2
    low_bits -= 1
    for k in range(width):
        beta[k], slope[k], diagonal[k] = 0.0, 0.0, 1.0
        # What pads a line never moves.
        climb[k], sink[k] = -NEVER, NEVER
    for k in range(n):
        slope[k] = -target[k]
        diagonal[k] = kernel[k, k]
        _release(beta, lower, upper, epsilon, climb, sink, k)
    line = kernel[0]
    i, low = _move(slope, line, line, 0.0, 0.0, climb, sink, low_bits)
    for _ in range(most_steps):
        descent = climb[i] - slope[i]
        if descent + slope[low] - sink[low] < tol:
            return _offset(beta, slope, lower, upper, epsilon, n)
        line = kernel[i]
        j = _partner(slope, line, diagonal, diagonal[i], descent, sink, low_bits)
        if j < 0:
            return _offset(beta, slope, lower, upper, epsilon, n)
        bend = max(diagonal[i] + diagonal[j] - 2.0 * line[j], LEAST_CURVATURE)
        gap = descent + slope[j] - sink[j]
        raised, lowered = _step(beta[i], beta[j], upper[i], lower[j], epsilon, gap, bend)
        rise, fall = raised - beta[i], lowered - beta[j]
        if not abs(gap) < NEVER:
            return np.nan
        if rise == 0.0 and fall == 0.0:
            # As close as double precision comes; more of the same would go on forever.
            return _offset(beta, slope, lower, upper, epsilon, n)
        beta[i], beta[j] = raised, lowered
        _release(beta, lower, upper, epsilon, climb, sink, i)
        _release(beta, lower, upper, epsilon, climb, sink, j)
        other = kernel[j]
        i, low = _move(slope, line, other, rise, fall, climb, sink, low_bits)
    return np.nan

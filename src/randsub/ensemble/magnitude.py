"""Numbers that are finite, but whose squares and sums would not be.

Scaling, losses and nearly every base model square what they are given. What would overflow on the
way is refused before anything is computed from it, instead of coming out as NaN, with a warning of
numpy's, from somewhere inside.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse

# Its square leaves room for products with other numbers of this size, and for sums of very many.
LARGEST = 1e100
# Below this, what is left of a weight after a product with another parameter may be 0, and LIBSVM,
# for one, never ends on a sample that is there and counts for nothing.
LEAST_WEIGHT = 1e-300


def largest_of(dtype: Any) -> float:
    """The largest number of a type of floats that is computed with.

    Scaling subtracts the mean in the type of the data: half of what single precision holds is the
    most whose differences it holds as well.
    """
    return min(LARGEST, float(np.finfo(dtype).max) / 2.0)


def check_magnitude(values: Any, what: str) -> None:
    """Raise a ValueError where an array, or a sparse matrix, holds a number that is too large.

    Parameters
    ----------
    values : ndarray or sparse matrix
        Other types than floats hold no such numbers, and pass.
    what : str
        Its name, for the message.
    """
    if issparse(values):
        values = values.data
    if values.dtype.kind != "f" or not values.size:
        return
    largest = largest_of(values.dtype)
    # Missing values are none of ours; these two pass over them, without a copy.
    for extreme in (np.fmax.reduce(values, axis=None), np.fmin.reduce(values, axis=None)):
        if abs(extreme) > largest:
            why, wider = "whose square is too large to compute with", ""
            if largest < LARGEST:
                why = f"which is too large to compute with in {values.dtype.name}"
                wider = "float64, "
            raise ValueError(
                f"{what} holds {extreme:g}, {why}; numbers should be between {-largest:g} and "
                f"{largest:g}. Use {wider}other units, or replace a value that stands for "
                "something else."
            )


def check_weight_magnitude(weight: Any, what: str) -> None:
    """Raise a ValueError where a weight (n,) is too large, or so small that it might become 0."""
    check_magnitude(weight, what)
    positive = weight[weight > 0.0]
    if len(positive) and positive.min() < LEAST_WEIGHT:
        raise ValueError(
            f"{what} holds {positive.min():g}, which is too small to compute with; positive "
            f"weights should be at least {LEAST_WEIGHT:g}. Use 0 to leave a sample out, or "
            "multiply all weights by the same number."
        )

"""Losses for classification."""

from typing import ClassVar, Literal

import numpy as np

from randsub._numbers import check_number
from randsub._typing import FloatArray
from randsub.losses.base import Loss


class CrossEntropy(Loss):
    """``-log f`` of the true class, for any number of classes.

    f is the share of votes or the mean probability of a class. It is clipped to ``[clip, 1]``:
    with T models, no finite sample of votes can tell a share of 0 from one of 1 / (2 T).
    Below the clip the gradient keeps its slope there, for a sample that no model gets right must
    still pull; above 1, which only weights that are not self-normalised reach, it is 0.

    Parameters
    ----------
    clip : float or "auto", default="auto"
        Smallest share; "auto" is ``1 / (2 T)``.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    def __init__(self, clip: float | Literal["auto"] = "auto") -> None:
        self.clip = clip

    def check(self, y: FloatArray) -> None:
        """The clip must leave room for a share."""
        if self.clip != "auto":
            check_number(self, "clip", 0.0, 1.0, open_low=True)

    def for_ensemble(self, n_masks: int) -> "CrossEntropy":
        """Clip at half a vote."""
        return CrossEntropy(1.0 / (2.0 * n_masks)) if self.clip == "auto" else self

    def pointwise(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``-log`` of the clipped share of the true class."""
        return -(y * np.log(np.clip(f, self._level, 1.0))).sum(axis=-1)

    def pointwise_gradient(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """``-1 / f`` for the true class, 0 for the others."""
        return np.where(f <= 1.0, -y / np.maximum(f, self._level), 0.0)

    @property
    def _level(self) -> float:
        if self.clip == "auto":
            raise ValueError(
                "clip='auto' depends on the number of models: call for_ensemble(n_masks) first, "
                "or give a number."
            )
        return self.clip

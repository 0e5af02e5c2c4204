"""Cross-validation folds, for anything that scikit-learn takes as ``cv``."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from randsub._tables import take_rows
from randsub._typing import IntArray
from randsub.estimators.fit_data import FitData
from randsub.solver.rounds import Batch, deal_batches


class Folds:
    """Cross-validation folds over any of the training rows.

    Parameters
    ----------
    cv : int, None, splitter or iterable of pairs of arrays
        Number of folds, drawn at random and stratified by class; None means 5, as in scikit-learn.
        A splitter of scikit-learn sees the requested rows only. Pairs hold rows of X, as indices
        or as a mask: those to train on and those held out.
    """

    def __init__(self, cv: Any) -> None:
        self._cv: Any = 5 if cv is None else cv
        if not isinstance(self._cv, Integral) and not hasattr(cv, "split"):
            # A generator can be read only once.
            self._cv = [_as_pair(split) for split in cv]
            if not self._cv:
                raise ValueError("cv is an empty iterable; give at least one pair of row arrays.")

    def deal(self, data: FitData, rows: IntArray, rng: np.random.Generator) -> list[Batch]:
        """Training rows and held-out rows of each fold, all of them among ``rows``."""
        if isinstance(self._cv, Integral):
            return deal_batches(rows, min(int(self._cv), len(rows)), data.strata, None, rng)
        if hasattr(self._cv, "split"):
            X, y = take_rows(data.samples.X, rows), data.samples.y[rows]
            splits = [(rows[train], rows[held_out]) for train, held_out in self._cv.split(X, y)]
        else:
            _check_range(self._cv, len(data.samples.y))
            splits = [tuple(part[np.isin(part, rows)] for part in split) for split in self._cv]
        for k, (train, held_out) in enumerate(splits):
            if not len(train) or not len(held_out):
                raise ValueError(
                    f"Split {k} of cv leaves {len(train)} samples for training and holds out "
                    f"{len(held_out)}, not counting samples of weight 0 and validation samples; "
                    "at least one of each is needed."
                )
        return [Batch(*split) for split in splits]


def _as_pair(split: Any) -> tuple[IntArray, ...]:
    """Row indices of the two parts of a split."""
    if not isinstance(split, Iterable) or len(parts := list(split)) != 2:
        raise ValueError(
            "An iterable cv must yield pairs of arrays, the rows to train on and the rows held "
            f"out; got {split!r}."
        )
    arrays = [np.asarray(part) for part in parts]
    for rows in arrays:
        if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "biu"):
            raise ValueError(
                "The splits of cv must be one-dimensional arrays of row indices or masks; got an "
                f"array of shape {rows.shape} and type {rows.dtype}."
            )
    return tuple(
        np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp) for rows in arrays
    )


def _check_range(splits: list[tuple[IntArray, ...]], n_samples: int) -> None:
    for k, split in enumerate(splits):
        named = np.concatenate(split)
        outside = named[(named < 0) | (named >= n_samples)]
        if len(outside):
            raise ValueError(
                f"Split {k} of cv names the row {outside[0]}, but X has {n_samples} rows, numbered "
                "from 0."
            )

"""Folds for cross-validation: dealt at random, by a splitter, or as the user gives them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from randsub._tables import take_rows
from randsub._typing import IntArray
from randsub.ensemble.material import Material
from randsub.training.batches import Batch, deal_batches


class Folds(ABC):
    """Where the folds of some rows come from."""

    @abstractmethod
    def deal(self, material: Material, rows: IntArray, rng: np.random.Generator) -> list[Batch]:
        """Folds over some rows of the samples: which train, and which are held out.

        Parameters
        ----------
        material : Material
        rows : int ndarray
            Rows that may be used.
        rng : numpy.random.Generator
        """


@dataclass(frozen=True)
class DealtFolds(Folds):
    """So many folds, dealt at random, class by class."""

    n_folds: int

    def deal(self, material: Material, rows: IntArray, rng: np.random.Generator) -> list[Batch]:
        """Each row is held out once; on tiny data a fold is a single sample."""
        return deal_batches(rows, min(self.n_folds, len(rows)), material.strata, None, rng)


@dataclass(frozen=True)
class SplitterFolds(Folds):
    """What a splitter of scikit-learn makes of the rows."""

    splitter: Any

    def deal(self, material: Material, rows: IntArray, rng: np.random.Generator) -> list[Batch]:
        """The splitter sees these rows alone, in their order."""
        X, y = take_rows(material.samples.X, rows), material.samples.y[rows]
        splits = self.splitter.split(X, y)
        return _checked(Batch(rows[train], rows[held_out]) for train, held_out in splits)


@dataclass(frozen=True)
class GivenFolds(Folds):
    """Splits that name rows of X."""

    splits: Sequence[tuple[IntArray, IntArray]]

    def deal(self, material: Material, rows: IntArray, rng: np.random.Generator) -> list[Batch]:
        """Of each split, what is among the rows."""
        n_samples = len(material.samples.y)
        for k, split in enumerate(self.splits):
            for part in split:
                if len(part) and not -1 < part.min() <= part.max() < n_samples:
                    wrong = part.min() if part.min() < 0 else part.max()
                    raise ValueError(
                        f"Split {k} of cv names the row {wrong}, but X has {n_samples} rows, from "
                        "0 on."
                    )
        return _checked(
            Batch(*(part[np.isin(part, rows)] for part in split)) for split in self.splits
        )


def choose_folds(cv: Any) -> Folds:
    """Folds for what scikit-learn takes as ``cv``.

    Parameters
    ----------
    cv : int, None, splitter or iterable of pairs of int arrays
        None is five folds, as in scikit-learn.
    """
    if cv is None or isinstance(cv, Integral):
        return DealtFolds(5 if cv is None else int(cv))
    if hasattr(cv, "split"):
        return SplitterFolds(check_cv(cv))
    splits = [tuple(map(_as_rows, _as_pair(split))) for split in cv]
    if not splits or any(len(split) != 2 for split in splits):
        raise ValueError(
            "An iterable cv should have pairs of rows for training and rows held out, at least "
            f"one; got {len(splits)} entries of lengths {sorted({len(s) for s in splits})}."
        )
    return GivenFolds(splits)  # type: ignore[arg-type] # pairs, as was checked


def _as_pair(split: Any) -> Iterable[Any]:
    if not isinstance(split, Iterable):
        raise ValueError(
            "An iterable cv should have pairs of rows for training and rows held out; got "
            f"{split!r} among them."
        )
    return split


def _as_rows(part: Any) -> IntArray:
    rows = np.asarray(part)
    if rows.dtype == bool:
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "iu"):
        raise ValueError(
            f"The splits of cv should be arrays of row numbers; got one of shape {rows.shape} and "
            f"type {rows.dtype}."
        )
    return rows.astype(np.intp)


def _checked(folds: Iterable[Batch]) -> list[Batch]:
    batches = list(folds)
    for k, batch in enumerate(batches):
        if not len(batch.train_rows) or not len(batch.query_rows):
            raise ValueError(
                f"Split {k} of cv leaves {len(batch.train_rows)} samples for training and holds "
                f"out {len(batch.query_rows)}, of those with a positive weight that are not set "
                "aside for validation; at least one of each is needed."
            )
    return batches

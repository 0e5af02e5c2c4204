"""The iterations of RaSE.

One iteration draws B candidate subsets for each of T members, evaluates each by cross-validation
and keeps the best of each B. The share of the T best that hold a feature is its alpha, from which
the next iteration draws.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from randsub._progress import Bar
from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.estimators.cross_validation import cross_validation_errors, validation_score
from randsub.estimators.fit_data import FitData
from randsub.estimators.folds import Folds
from randsub.estimators.subsets import draw_subsets, sampling_weights
from randsub.exceptions import BaseModelError, InterruptedFitWarning
from randsub.solver.interruption import is_interruption
from randsub.solver.rounds import Batch

# Largest number of entries in the feature lists of the candidates drawn at the same time.
MOST_ENTRIES = 2**24


class IterationRecord(NamedTuple):
    """One row of ``history_``."""

    cv_error: float
    validation_score: float
    mean_size: float
    n_distinct: int
    n_models_trained: int


@dataclass(frozen=True)
class SearchResult:
    """The search so far.

    Parameters
    ----------
    history : tuple of IterationRecord
    masks : bool ndarray of shape (T, M)
        The best subsets of the best iteration.
    best_iter : int
        Its number, from 1.
    merit : float
        Its validation score or, without validation rows, minus its cross-validation error.
    """

    history: tuple[IterationRecord, ...]
    masks: BoolArray
    best_iter: int = 0
    merit: float = -np.inf

    @property
    def n_models_trained(self) -> int:
        """Base models trained in all iterations."""
        return self.history[-1].n_models_trained if self.history else 0


@dataclass(frozen=True)
class CandidateSearch:
    """The search for the best subsets; see :class:`randsub.RaSEClassifier` for the numbers."""

    data: FitData
    folds: Folds
    n_members: int
    n_candidates: int
    max_iter: int
    max_size: int
    threshold: float
    rng: np.random.Generator
    bar: Bar

    def run(self, alpha: FloatArray) -> SearchResult:
        """Run the iterations, the first of which draws from ``alpha`` (M,), until Ctrl-C."""
        result = SearchResult((), np.zeros((self.n_members, len(alpha)), dtype=bool))
        try:
            for number in range(1, self.max_iter + 1):
                try:
                    result, alpha = self._iterate(result, alpha)
                except BaseModelError as error:
                    names, stage = self.data.feature_names, f"in iteration {number}"
                    raise error.located(names, None, stage) from error.__cause__
                self._report(result)
        except (KeyboardInterrupt, SystemError) as error:
            if not result.history or not is_interruption(error):
                raise
            warnings.warn(
                f"Training was interrupted after iteration {len(result.history)} of "
                f"{self.max_iter}; the best subsets so far, from iteration {result.best_iter}, are "
                "kept.",
                InterruptedFitWarning,
                stacklevel=2,
            )
        return result

    def _iterate(self, result: SearchResult, alpha: FloatArray) -> tuple[SearchResult, FloatArray]:
        """The result with one more iteration, kept if it is the best so far, and its alpha."""
        folds = self.folds.deal(self.data, self.data.train_rows, self.rng)
        masks, errors, n_distinct = self._best_candidates(alpha, folds)
        n_models = result.n_models_trained + n_distinct * len(folds)
        error, score = float(errors.mean()), np.nan
        merit = -error
        if len(self.data.val_rows):
            score = merit = validation_score(self.data, masks, self.rng)
            n_models += self.n_members
        size = float(masks.sum(axis=1).mean())
        history = (*result.history, IterationRecord(error, score, size, n_distinct, n_models))
        best = result.masks, result.best_iter, result.merit
        if merit > result.merit:
            best = masks, len(history), merit
        return SearchResult(history, *best), masks.mean(axis=0)

    def _best_candidates(
        self, alpha: FloatArray, folds: Sequence[Batch]
    ) -> tuple[BoolArray, FloatArray, int]:
        """Best mask of each member (T, M), its error, and the number of subsets evaluated."""
        n_features, n_distinct = len(alpha), 0
        masks, errors = np.empty((self.n_members, n_features), dtype=bool), np.empty(self.n_members)
        weights = sampling_weights(alpha, self.threshold)
        at_a_time = max(1, MOST_ENTRIES // (self.n_candidates * self.max_size))
        for start in range(0, self.n_members, at_a_time):
            members = slice(start, min(start + at_a_time, self.n_members))
            shape = (members.stop - start, self.n_candidates)
            sizes = self.rng.integers(1, self.max_size + 1, size=shape)
            subsets = draw_subsets(weights, sizes.ravel(), self.rng)
            # Each different candidate is evaluated once.
            which, back = subsets.distinct()
            evaluated = cross_validation_errors(
                self.data, subsets, which, folds, self.rng, self.bar.advance
            )
            self.bar.advance(sizes.size - len(which))
            each = evaluated[back].reshape(shape)
            best = _best_of_each(each, sizes)
            errors[members] = np.take_along_axis(each, best[:, np.newaxis], axis=1)[:, 0]
            masks[members] = subsets.masks(best + np.arange(shape[0]) * shape[1], n_features)
            n_distinct += len(which)
        return masks, errors, n_distinct

    def _report(self, result: SearchResult) -> None:
        last = result.history[-1]
        self.bar.tell(
            iteration=str(len(result.history)),
            cv_error=f"{last.cv_error:.4f}",
            validation=f"{last.validation_score:.4f}",
            best=str(result.best_iter),
            size=f"{last.mean_size:.1f}",
            models=str(last.n_models_trained),
        )


def _best_of_each(errors: FloatArray, sizes: IntArray) -> IntArray:
    """Index of the lowest error in each row; ties go to the smallest subset, then to the first."""
    return np.lexsort((sizes, errors), axis=1)[:, 0]

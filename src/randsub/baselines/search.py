"""The iterations of RaSE.

One iteration: draw T times B subsets, judge each by cross-validation, keep the best of each B; the
share of the T best that hold a feature is its alpha, from which the next iteration draws.
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.baselines.folds import Folds
from randsub.baselines.judging import cross_validation_errors, validation_score
from randsub.baselines.subsets import draw_subsets, sampling_weights
from randsub.ensemble.material import Material
from randsub.exceptions import BaseModelError, InterruptedFitWarning
from randsub.training.callbacks import Bar
from randsub.training.interruption import is_interruption

# Candidates are drawn for as many members at a time as keep their lists of features below this.
MOST_ENTRIES = 2**24


@dataclass(frozen=True)
class SearchSettings:
    """The numbers of the method; see :class:`randsub.RaSEClassifier` for their meaning."""

    n_members: int
    n_candidates: int
    max_iter: int
    max_size: int
    threshold: float
    folds: Folds


class IterationRecord(NamedTuple):
    """What is remembered of an iteration."""

    cv_error: float
    validation_score: float
    mean_size: float
    n_distinct: int
    n_models_trained: int


@dataclass(frozen=True)
class Found:
    """The search so far.

    Parameters
    ----------
    history : tuple of IterationRecord
    masks : bool ndarray of shape (T, M)
        The best subsets of the best iteration.
    best_iter : int
        Its number, from 1 on.
    merit : float
        What it was the best in: the validation score or, without validation rows, minus the
        cross-validation error.
    """

    history: tuple[IterationRecord, ...]
    masks: BoolArray
    best_iter: int
    merit: float


class _Winners(NamedTuple):
    masks: BoolArray
    errors: FloatArray
    n_distinct: int
    n_folds: int


def search(
    material: Material,
    settings: SearchSettings,
    alpha: FloatArray,
    rng: np.random.Generator,
    bar: Bar,
) -> Found:
    """Run the iterations, until the end or until Ctrl-C.

    Parameters
    ----------
    material : Material
    settings : SearchSettings
    alpha : ndarray of shape (M,)
        Where the first iteration draws from.
    rng : numpy.random.Generator
    bar : Bar
        Moves by one for each candidate.
    """
    found = Found((), np.zeros((settings.n_members, len(alpha)), dtype=bool), 0, -np.inf)
    try:
        for number in range(1, settings.max_iter + 1):
            try:
                winners = _iteration(material, settings, alpha, rng, bar)
                found = _extended(material, settings, found, winners, rng)
            except BaseModelError as error:
                stage = f"in iteration {number}"
                raise error.located(material.feature_names, None, stage) from error.__cause__
            alpha = winners.masks.mean(axis=0)
            _tell(bar, found)
    except (KeyboardInterrupt, SystemError) as error:
        if not found.history or not is_interruption(error):
            raise
        warnings.warn(
            f"Training was interrupted after iteration {len(found.history)} of "
            f"{settings.max_iter}; the best subsets so far, of iteration {found.best_iter}, are "
            "kept.",
            InterruptedFitWarning,
            stacklevel=2,
        )
    return found


def _iteration(
    material: Material,
    settings: SearchSettings,
    alpha: FloatArray,
    rng: np.random.Generator,
    bar: Bar,
) -> _Winners:
    """Best of each B candidates; each different candidate is judged once."""
    n_members, n_candidates = settings.n_members, settings.n_candidates
    weights = sampling_weights(alpha, settings.threshold)
    folds = settings.folds.deal(material, material.train_rows, rng)
    masks = np.empty((n_members, len(alpha)), dtype=bool)
    errors, n_distinct = np.empty(n_members), 0
    at_a_time = max(1, MOST_ENTRIES // (n_candidates * settings.max_size))
    for start in range(0, n_members, at_a_time):
        members = slice(start, min(start + at_a_time, n_members))
        shape = (members.stop - start, n_candidates)
        sizes = rng.integers(1, settings.max_size + 1, size=shape)
        subsets = draw_subsets(weights, sizes.ravel(), rng)
        which, back = subsets.distinct()
        judged = cross_validation_errors(material, subsets, which, folds, rng, bar.advance)
        # Copies of a candidate come free.
        bar.advance(sizes.size - len(which))
        each = judged[back].reshape(shape)
        best = _best_of_each(each, sizes)
        errors[members] = np.take_along_axis(each, best[:, np.newaxis], axis=1)[:, 0]
        masks[members] = subsets.masks(best + np.arange(shape[0]) * n_candidates, len(alpha))
        n_distinct += len(which)
    return _Winners(masks, errors, n_distinct, len(folds))


def _best_of_each(errors: FloatArray, sizes: IntArray) -> IntArray:
    """Place of the least error in each row; of several the smallest subset, then the first."""
    return np.lexsort((sizes, errors), axis=1)[:, 0]


def _extended(
    material: Material,
    settings: SearchSettings,
    found: Found,
    winners: _Winners,
    rng: np.random.Generator,
) -> Found:
    """The search with one more iteration, kept if it is the best so far."""
    n_models = found.history[-1].n_models_trained if found.history else 0
    n_models += winners.n_distinct * winners.n_folds
    error, score = float(winners.errors.mean()), np.nan
    merit = -error
    if len(material.val_rows):
        score = merit = validation_score(material, winners.masks, rng)
        n_models += settings.n_members
    mean_size = float(winners.masks.sum(axis=1).mean())
    record = IterationRecord(error, score, mean_size, winners.n_distinct, n_models)
    history = (*found.history, record)
    if merit > found.merit:
        return Found(history, winners.masks, len(history), merit)
    return Found(history, found.masks, found.best_iter, found.merit)


def _tell(bar: Bar, found: Found) -> None:
    last = found.history[-1]
    bar.tell(
        iteration=str(len(found.history)),
        cv_error=f"{last.cv_error:.4f}",
        validation=f"{last.validation_score:.4f}",
        best=str(found.best_iter),
        size=f"{last.mean_size:.1f}",
        models=str(last.n_models_trained),
    )

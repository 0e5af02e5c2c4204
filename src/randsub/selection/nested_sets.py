"""Nested sets of features, and how well a model predicts from each.

The order of the features follows their importances, but for those that the others make redundant:
of two equal columns, which are equally important, one comes later. The sets are its beginnings.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from randsub._tables import take_cells
from randsub._typing import FloatArray, IntArray
from randsub.estimators.fit_data import Samples
from randsub.parallel import on_one_worker
from randsub.selection.repeated_fits import Replicate, importances_of_fit, seeded

# Folds in which features are tested for redundancy.
INNER_FOLDS = 5
# Sizes up to this one are all tried; larger ones grow by a factor of the square root of two.
EVERY_SIZE_UP_TO = 8
# Difference of scores that is none.
ROUNDING = 1e-9


class Split(NamedTuple):
    """Rows to train on, and rows to score on."""

    train: IntArray
    test: IntArray


class Judge(NamedTuple):
    """Scores a model on some of the features.

    Parameters
    ----------
    predictor : estimator
        It is cloned, never fitted itself.
    scorer : callable
        As :func:`sklearn.metrics.check_scoring` returns it.
    samples : Samples
    groups : int ndarray of shape (n_columns,)
        Feature that each column belongs to.
    seed : int
        The same for all sets of features, so that scores differ by the features alone.
    """

    predictor: Any
    scorer: Any
    samples: Samples
    groups: IntArray
    seed: int

    def score(self, features: Sequence[int], split: Split) -> float:
        """Score of a model that is trained on these features."""
        X, y, weight, _ = self.samples
        columns = np.flatnonzero(np.isin(self.groups, features))
        model = seeded(clone(self.predictor), self.seed)
        of_fit, of_score = (
            {} if weight is None else {"sample_weight": weight[rows]} for rows in split
        )
        model.fit(take_cells(X, split.train, columns), y[split.train], **of_fit)
        test = take_cells(X, split.test, columns)
        return float(self.scorer(model, test, y[split.test], **of_score))


class Chain(NamedTuple):
    """Features in the order of nested sets, and the scores of some of the sets.

    Parameters
    ----------
    order : list of int
        Numbers of the features (or groups), those of the smallest set first.
    scores : ndarray of shape (n_sizes,)
    importances : ndarray of shape (n_columns,)
    """

    order: list[int]
    scores: FloatArray
    importances: FloatArray


def nested_chain(
    estimator: Any,
    judge: Judge,
    split: Split,
    *,
    sizes: Sequence[int],
    n_candidates: int,
    inner: Sequence[Split],
    importance_getter: Any,
    alone: bool,
) -> Chain:
    """Order the features on the training rows, and score sets of them on the test rows.

    Parameters
    ----------
    estimator : estimator
        Its importances rank the features.
    judge : Judge
    split : Split
        Without test rows, nothing is scored.
    sizes : sequence of int
        Sizes of the sets that are scored.
    n_candidates : int
        Number of features that are tested for redundancy.
    inner : sequence of Split
        Splits of the training rows for that.
    importance_getter : str or callable
    alone : bool
        Whether nothing else runs at the same time.
    """
    replicate = Replicate(split.train, judge.seed)
    importances, _ = importances_of_fit(
        estimator, judge.samples, replicate, importance_getter, alone
    )
    by_feature = np.full(int(judge.groups.max()) + 1, -np.inf)
    np.maximum.at(by_feature, judge.groups, importances)
    ranking = np.argsort(-by_feature, kind="stable").tolist()

    def scores_of(features: Sequence[int]) -> FloatArray:
        return np.array([judge.score(features, part) for part in inner])

    with nullcontext() if alone else on_one_worker():
        candidates = ranking[:n_candidates] if len(inner) > 1 else []
        order = [*redundant_last(candidates, scores_of), *ranking[len(candidates) :]]
        scores = [judge.score(order[:size], split) for size in sizes if len(split.test)]
    return Chain(order, np.array(scores), importances)


def redundant_last(
    ranking: Sequence[int], scores_of: Callable[[Sequence[int]], FloatArray]
) -> list[int]:
    """Features by importance, but those without which the others predict as well at the end.

    One feature after the other is left out, the least important one first. It stays out if the
    scores are lower than the best so far by no more than one standard error of the differences.

    Parameters
    ----------
    ranking : sequence of int
        The most important feature first.
    scores_of : callable
        Scores of a set of features, one per split.
    """
    if len(ranking) < 2:
        return [*ranking]
    kept, best = [*ranking], scores_of(ranking)
    for feature in reversed(ranking):
        others = [other for other in kept if other != feature]
        if not others:
            break
        found = scores_of(others)
        if (best - found).mean() <= standard_error(best - found) + ROUNDING:
            kept = others
            best = found if found.mean() > best.mean() else best
    return [*kept, *(feature for feature in ranking if feature not in kept)]


def standard_error(values: FloatArray) -> float:
    """Standard error of a mean; 0 of a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def sizes_of_sets(n_features: int) -> list[int]:
    """Sizes of sets to try: all small ones, fewer of the larger ones, and all features."""
    steps = EVERY_SIZE_UP_TO * np.sqrt(2.0) ** np.arange(1, 2 * np.log2(n_features + 1) + 1)
    sizes = {*range(1, EVERY_SIZE_UP_TO + 1), *np.rint(steps).astype(int).tolist(), n_features}
    return sorted(size for size in sizes if size <= n_features)


def random_splits(
    n_folds: int,
    rows: IntArray,
    y: Any,
    strata: bool,
    groups: Any,
    seed: int,
) -> list[Split]:
    """Random folds of some rows, stratified by class; those of one group stay together.

    There are fewer folds if there are too few rows, members of a class, or groups for them, and
    none if there are too few for two.
    """
    of_rows = None
    if groups is not None:
        of_rows = groups[rows]
        n_folds = min(n_folds, len(np.unique(of_rows)))
        splitter: Any = GroupKFold(max(n_folds, 2), shuffle=True, random_state=seed)
    elif strata:
        n_folds = min(n_folds, int(np.unique(y[rows], return_counts=True)[1].min()))
        splitter = StratifiedKFold(max(n_folds, 2), shuffle=True, random_state=seed)
    else:
        n_folds = min(n_folds, len(rows))
        splitter = KFold(max(n_folds, 2), shuffle=True, random_state=seed)
    if n_folds < 2:
        return []
    parts = splitter.split(np.empty((len(rows), 0)), y[rows], of_rows)
    return [Split(rows[train], rows[test]) for train, test in parts]

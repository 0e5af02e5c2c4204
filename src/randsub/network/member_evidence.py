"""What base models themselves say of the regulators: importances of trees, linear coefficients."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from randsub._masks import as_sparse
from randsub._typing import BoolArray, FloatArray
from randsub.network.solving import Case
from randsub.parallel import Assignment
from randsub.solver.rounds import thin

# Targets whose models are in memory at the same time.
N_TARGETS = 20
# Rows of the trial that shows whether a base model has importances.
N_TRIED = 20


def importances(model: Any) -> FloatArray | None:
    """Importance of each column for a fitted model, not negative; None if it does not say.

    For a tree, the reduction of the variance by splits on the column, as in GENIE3; else
    ``feature_importances_``, or the absolute ``coef_``.
    """
    if isinstance(model, Pipeline):
        model = model[-1]
    if hasattr(model, "tree_"):
        return np.asarray(model.tree_.compute_feature_importances(normalize=False))
    for name in ("feature_importances_", "coef_"):
        # An SVM has coefficients with a linear kernel alone, and raises without one.
        found = getattr(model, name, None)
        if found is not None:
            return np.abs(np.asarray(found, dtype=float)).ravel()
    return None


def says_importances(case: Case) -> BoolArray:
    """Which base models of a problem have importances, from a small trial, (B,)."""
    dispatcher, target = case.problem.dispatcher, case.problem.targets[0]
    rows = target.train_rows[:N_TRIED]
    models = [clone(engine.learner.estimator) for engine in dispatcher.engines]
    X = np.asarray(dispatcher.data.X)[rows]
    return np.array([importances(model.fit(X, target.y[rows])) is not None for model in models])


def member_scores(
    case: Case, alpha: FloatArray, shares: FloatArray, rngs: Sequence[np.random.Generator]
) -> FloatArray:
    """Mean importance of each regulator over models of each target, (P, M).

    Parameters
    ----------
    case : Case
    alpha : ndarray of shape (P, M)
        Probabilities with which the models see the regulators; those that a model does not see
        have importance 0 in it.
    shares : ndarray of shape (P, B)
        Weights of the base models.
    rngs : sequence of P numpy.random.Generator
    """
    scores = np.zeros_like(alpha)
    says = np.flatnonzero(says_importances(case)).tolist()
    pairs = [(g, base) for g in range(len(alpha)) for base in says if shares[g, base] > 0.0]
    for begin in range(0, len(pairs), N_TARGETS):
        part = pairs[begin : begin + N_TARGETS]
        work = [_assignment(case, g, base, alpha[g], rngs[g]) for g, base in part]
        models = case.problem.dispatcher.fit(work)
        for (g, base), one, fitted in zip(part, work, models, strict=True):
            masks = as_sparse(one.masks)
            for number, model in enumerate(fitted):
                held = masks.indices[masks.indptr[number] : masks.indptr[number + 1]]
                found = importances(model) if len(held) else None
                if found is not None:
                    scores[g, held] += shares[g, base] / len(fitted) * found
    return scores


def _assignment(
    case: Case, target: int, base: int, alpha: FloatArray, rng: np.random.Generator
) -> Assignment:
    problem, settings = case.problem, case.settings
    rows = problem.targets[target].train_rows
    masks = as_sparse(problem.distribution.sample(alpha, settings.n_masks, rng)).sorted_indices()
    return Assignment(
        y=problem.targets[target].y,
        train_rows=np.sort(thin(rows, settings.max_samples, None, rng)),
        query_rows=rows[:0],
        val_rows=rows[:0],
        masks=masks,
        seeds=rng.integers(np.iinfo(np.int32).max, size=settings.n_masks),
        base=base,
    )

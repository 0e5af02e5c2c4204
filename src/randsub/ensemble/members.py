"""The final ensemble."""

from typing import Any

import numpy as np

from randsub._typing import IntArray
from randsub.engines import Assignment
from randsub.exceptions import BaseModelError
from randsub.training import Problem, Settings, TrainingState
from randsub.training.batches import thin


def train_members(
    problem: Problem,
    settings: Settings,
    rows: IntArray,
    max_samples: int | None,
    state: TrainingState,
) -> tuple[list[Any], list[IntArray]]:
    """Fresh masks from the best theta, and a model for each, trained on (some of) the rows.

    Returns
    -------
    models : list of fitted estimators
    features : list of int ndarrays
        Columns that each model sees.
    """
    rng = state.rng()
    distribution, target, n_masks = problem.distribution, problem.targets[0], settings.n_masks
    masks = distribution.expand(distribution.sample(state.best_theta[0], n_masks, rng))
    seeds = rng.integers(np.iinfo(np.int32).max, size=n_masks)
    # Where a model may not see all rows, different models see different ones.
    limited = max_samples is not None and max_samples < len(rows)
    n_parts = min(settings.n_batches, n_masks) if limited else 1
    assignments = [
        Assignment(
            y=target.y,
            train_rows=np.sort(thin(rows, max_samples, target.strata, rng)),
            query_rows=rows[:0],
            val_rows=rows[:0],
            masks=masks[part],
            seeds=seeds[part],
        )
        for part in np.array_split(np.arange(n_masks), n_parts)
    ]
    try:
        models = problem.dispatcher.fit(assignments)
    except BaseModelError as error:
        raise error.located(problem.feature_names, None) from error.__cause__
    return [model for part in models for model in part], [np.flatnonzero(mask) for mask in masks]

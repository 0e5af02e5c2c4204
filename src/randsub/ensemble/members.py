"""The final ensemble."""

from typing import Any

import numpy as np

from randsub._typing import BoolArray, IntArray
from randsub.engines import Assignment
from randsub.ensemble.material import Material
from randsub.exceptions import BaseModelError
from randsub.training.batches import thin


def train_members(
    material: Material,
    masks: BoolArray,
    rng: np.random.Generator,
    *,
    max_samples: int | None = None,
    n_parts: int = 1,
) -> tuple[list[Any], list[IntArray]]:
    """A model for each mask (T, M), trained on (some of) the rows.

    Parameters
    ----------
    material : Material
    masks : bool ndarray of shape (T, M)
    rng : numpy.random.Generator
    max_samples : int or None
        Most rows that a model may see.
    n_parts : int
        Where that is less than all, the models are dealt into so many parts, each of which sees
        rows of its own.

    Returns
    -------
    models : list of fitted estimators
    features : list of int ndarrays
        Columns that each model sees.
    """
    rows, n_masks = material.samples.rows, len(masks)
    seeds = rng.integers(np.iinfo(np.int32).max, size=n_masks)
    limited = max_samples is not None and max_samples < len(rows)
    assignments = [
        Assignment(
            y=material.samples.y,
            train_rows=np.sort(thin(rows, max_samples, material.strata, rng)),
            query_rows=rows[:0],
            val_rows=rows[:0],
            masks=masks[part],
            seeds=seeds[part],
        )
        for part in np.array_split(np.arange(n_masks), min(n_parts, n_masks) if limited else 1)
    ]
    try:
        models = material.dispatcher.fit(assignments)
    except BaseModelError as error:
        raise error.located(material.feature_names, None) from error.__cause__
    return [model for part in models for model in part], [np.flatnonzero(mask) for mask in masks]

"""Which rows train the models and which are held out."""

from dataclasses import dataclass

import numpy as np

from randsub._typing import IntArray


@dataclass(frozen=True)
class Batch:
    """Rows that models are trained on, and held-out rows on which theta's gradient is taken."""

    train_rows: IntArray
    query_rows: IntArray


def deal_batches(
    rows: IntArray,
    n_batches: int,
    strata: IntArray | None,
    max_samples: int | None,
    rng: np.random.Generator,
) -> list[Batch]:
    """Shuffle the rows and deal them into batches, each held out from its own training rows.

    Parameters
    ----------
    rows : int ndarray
    n_batches : int
    strata : int ndarray or None
        Class of each row of the data (indexed by ``rows``): classes are dealt in turn, so that a
        batch lacks one only where it has fewer members than there are batches.
    max_samples : int or None
        Largest number of rows of either kind in a batch.
    rng : numpy.random.Generator
    """
    shuffled = _shuffled(rows, strata, rng)
    batches = []
    for k in range(n_batches):
        held_out = np.zeros(len(shuffled), dtype=bool)
        held_out[k::n_batches] = True
        train, query = shuffled[~held_out], shuffled[held_out]
        batches.append(
            Batch(
                np.sort(thin(train, max_samples, strata, rng)),
                np.sort(thin(query, max_samples, strata, rng)),
            )
        )
    return batches


def thin(
    rows: IntArray, size: int | None, strata: IntArray | None, rng: np.random.Generator
) -> IntArray:
    """At most ``size`` of the rows, at random, with every class in its proportion."""
    if size is None or len(rows) <= size:
        return rows
    # Evenly spaced places in an order that keeps classes together.
    places = np.floor((np.arange(size) + rng.random()) * len(rows) / size).astype(np.intp)
    # The last place may round up to the end.
    return _shuffled(rows, strata, rng)[np.minimum(places, len(rows) - 1)]


def _shuffled(rows: IntArray, strata: IntArray | None, rng: np.random.Generator) -> IntArray:
    """The rows in random order, class after class where there are classes."""
    shuffled = rng.permutation(rows)
    if strata is None:
        return shuffled
    return shuffled[np.argsort(strata[shuffled], kind="stable")]

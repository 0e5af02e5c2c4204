"""How good subsets and ensembles are: cross-validation errors, votes, validation scores.

Predictions of many models take room, so models are trained in blocks: of as many as keep
predictions and masks within ``BYTES_PER_BLOCK`` each.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.baselines.subsets import Subsets
from randsub.engines import Assignment
from randsub.ensemble.material import Material
from randsub.training.batches import Batch

BYTES_PER_BLOCK = 2**25


def cross_validation_errors(
    material: Material,
    subsets: Subsets,
    which: IntArray,
    folds: Sequence[Batch],
    rng: np.random.Generator,
    tell: Callable[[int], None],
) -> FloatArray:
    """Error of the base model on each of some subsets, over all folds, (len(which),).

    Parameters
    ----------
    material : Material
    subsets : Subsets
    which : int ndarray
        The subsets that are to be judged.
    folds : sequence of Batch
        The same for all subsets, so that what differs is the subset.
    rng : numpy.random.Generator
    tell : callable
        Is told, after each block, how many more subsets have been judged.

    Returns
    -------
    errors : ndarray of shape (len(which),)
        Share of misclassified samples, or mean squared error, weighted by the samples' weights.
    """
    n_features = material.samples.X.shape[1]
    weight = material.samples.loss_weight()
    errors = np.empty(len(which))
    seeds = _seeds(len(which), len(folds), rng)
    for block in _blocks(len(which), _n_asked(folds), material):
        masks = subsets.masks(which[block], n_features)
        answers = _ask_folds(material, folds, masks, seeds[block])
        errors[block] = sum(
            _summed_error(material, answer, fold.query_rows)
            for answer, fold in zip(answers, folds, strict=True)
        )
        tell(len(masks))
    return errors / sum(weight[fold.query_rows].sum() for fold in folds)


def cross_validated_average(
    material: Material, masks: BoolArray, folds: Sequence[Batch], rng: np.random.Generator
) -> FloatArray:
    """Average prediction of the models of some masks, each row by models not trained on it, (n, C).

    Rows that no fold holds out are 0; those that several do are averaged over these.
    """
    average = np.zeros_like(material.encoded)
    times = np.zeros(len(average))
    for fold in folds:
        times[fold.query_rows] += 1.0
    seeds = _seeds(len(masks), len(folds), rng)
    for block in _blocks(len(masks), _n_asked(folds), material):
        for answer, fold in zip(
            _ask_folds(material, folds, masks[block], seeds[block]), folds, strict=True
        ):
            average[fold.query_rows] += answer.sum(axis=0)
    return average / (len(masks) * np.maximum(times, 1.0)[:, np.newaxis])


def validation_score(material: Material, masks: BoolArray, rng: np.random.Generator) -> float:
    """Score on the validation rows of the ensemble with these masks, trained on the training rows.

    Accuracy in classification, R2 in regression.
    """
    val_rows = material.val_rows
    seeds = rng.integers(np.iinfo(np.int32).max, size=len(masks))
    average = np.zeros((len(val_rows), material.encoded.shape[1]))
    for block in _blocks(len(masks), len(val_rows), material):
        work = Assignment(
            y=material.samples.y,
            train_rows=material.train_rows,
            query_rows=material.train_rows[:0],
            val_rows=val_rows,
            masks=masks[block],
            seeds=seeds[block],
        )
        average += material.dispatcher.predict([work])[0].sum(axis=0)
    weight = material.judges.loss_weight()[val_rows]
    return _score(material, average / len(masks), weight)


def _score(material: Material, average: FloatArray, weight: FloatArray) -> float:
    rows = material.val_rows
    if material.val_strata is not None:
        right = average.argmax(axis=1) == material.val_strata[rows]
        return float(np.average(right, weights=weight))
    truth = material.val_encoded[rows, 0]
    error = np.average((average[:, 0] - truth) ** 2, weights=weight)
    spread = _variance(truth, weight)
    if spread == 0.0:
        # R2 has no meaning for targets that are all the same, but smaller errors are still better.
        rows, weight = material.train_rows, material.samples.loss_weight()
        spread = _variance(material.encoded[rows, 0], weight[rows]) or 1.0
    return float(1.0 - error / spread)


def _variance(values: FloatArray, weight: FloatArray) -> float:
    if values.min() == values.max():
        # Rounding the mean must not make a difference of what has none.
        return 0.0
    return float(np.average((values - np.average(values, weights=weight)) ** 2, weights=weight))


def _summed_error(material: Material, answer: FloatArray, rows: IntArray) -> FloatArray:
    """Weighted sum of the errors of each model on some rows, (T,), from predictions (T, n, C)."""
    if material.strata is None:
        error: FloatArray = (answer[:, :, 0] - material.encoded[rows, 0]) ** 2
    else:
        error = (answer.argmax(axis=2) != material.strata[rows]).astype(float)
    # Row by row, so that equal errors have equal sums, wherever in the block they stand.
    return (error * material.samples.loss_weight()[rows]).sum(axis=1)


def _ask_folds(
    material: Material, folds: Sequence[Batch], masks: BoolArray, seeds: IntArray
) -> list[FloatArray]:
    """Predictions (T, n_fold, C) on each fold of models trained without it."""
    nothing = material.val_rows[:0]
    return material.dispatcher.predict(
        [
            Assignment(
                y=material.samples.y,
                train_rows=fold.train_rows,
                query_rows=fold.query_rows,
                val_rows=nothing,
                masks=masks,
                seeds=seeds[:, k],
            )
            for k, fold in enumerate(folds)
        ]
    )


def _seeds(n_models: int, n_folds: int, rng: np.random.Generator) -> IntArray:
    return rng.integers(np.iinfo(np.int32).max, size=(n_models, n_folds))


def _n_asked(folds: Sequence[Batch]) -> int:
    return sum(len(fold.query_rows) for fold in folds)


def _blocks(n_models: int, n_asked: int, material: Material) -> Iterator[slice]:
    """Models to train at a time, each of which is asked about so many rows."""
    n_outputs, n_features = material.encoded.shape[1], material.samples.X.shape[1]
    size = max(1, BYTES_PER_BLOCK // max(n_asked * n_outputs * 8, n_features))
    return (slice(start, start + size) for start in range(0, n_models, size))

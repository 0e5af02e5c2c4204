"""Cross-validation errors of many feature subsets, and validation scores of ensembles.

Models are trained in blocks, so that neither the predictions nor the masks of a block take more
than ``BYTES_PER_BLOCK``.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.estimators.fit_data import FitData
from randsub.estimators.subsets import Subsets
from randsub.parallel import Assignment
from randsub.solver.rounds import Batch

BYTES_PER_BLOCK = 2**25


def cross_validation_errors(
    data: FitData,
    subsets: Subsets,
    which: IntArray,
    folds: Sequence[Batch],
    rng: np.random.Generator,
    advance: Callable[[int], None],
) -> FloatArray:
    """Cross-validation error of the base model on each of the chosen subsets.

    Parameters
    ----------
    data : FitData
    subsets : Subsets
    which : int ndarray
        Indices of the subsets to evaluate.
    folds : sequence of Batch
        The same for all subsets, so that errors differ by the subset alone.
    rng : numpy.random.Generator
    advance : callable
        Called after each block with the number of subsets evaluated in it.

    Returns
    -------
    errors : ndarray of shape (len(which),)
        Misclassification rate or mean squared error, weighted by the sample weights.
    """
    n_features = data.samples.X.shape[1]
    weight = data.loss_weight
    errors = np.empty(len(which))
    seeds = _seeds(len(which), folds, rng)
    for block in _blocks(len(which), _n_queries(folds), data):
        masks = subsets.masks(which[block], n_features)
        answers = _ask_folds(data, folds, masks, seeds[block])
        errors[block] = sum(
            _summed_error(data, answer, fold.query_rows)
            for answer, fold in zip(answers, folds, strict=True)
        )
        advance(len(masks))
    return errors / sum(weight[fold.query_rows].sum() for fold in folds)


def cross_validated_average(
    data: FitData, masks: BoolArray, folds: Sequence[Batch], rng: np.random.Generator
) -> FloatArray:
    """Average prediction of the models of some masks, by models not trained on the row, (n, C).

    Rows that no fold holds out are 0; rows that several folds hold out are averaged over these.
    """
    average = np.zeros_like(data.encoded)
    times = np.zeros(len(average))
    for fold in folds:
        times[fold.query_rows] += 1.0
    seeds = _seeds(len(masks), folds, rng)
    for block in _blocks(len(masks), _n_queries(folds), data):
        answers = _ask_folds(data, folds, masks[block], seeds[block])
        for answer, fold in zip(answers, folds, strict=True):
            average[fold.query_rows] += answer.sum(axis=0)
    return average / (len(masks) * np.maximum(times, 1.0)[:, np.newaxis])


def validation_score(data: FitData, masks: BoolArray, rng: np.random.Generator) -> float:
    """Accuracy or R2 on the validation rows of an ensemble trained on the training rows."""
    val_rows = data.val_rows
    folds = [Batch(data.train_rows, data.train_rows[:0])]
    seeds = _seeds(len(masks), folds, rng)
    average = np.zeros((len(val_rows), data.encoded.shape[1]))
    for block in _blocks(len(masks), len(val_rows), data):
        answers = _ask_folds(data, folds, masks[block], seeds[block], val_rows)
        average += answers[0].sum(axis=0)
    weight = data.val_loss_weight[val_rows]
    return _score(data, average / len(masks), weight)


def _score(data: FitData, average: FloatArray, weight: FloatArray) -> float:
    rows = data.val_rows
    if data.val_strata is not None:
        right = average.argmax(axis=1) == data.val_strata[rows]
        return float(np.average(right, weights=weight))
    truth = data.val_encoded[rows, 0]
    error = np.average((average[:, 0] - truth) ** 2, weights=weight)
    spread = _variance(truth, weight)
    if spread == 0.0:
        # R2 is undefined for a constant target, but smaller errors are still better.
        rows, weight = data.train_rows, data.loss_weight
        spread = _variance(data.encoded[rows, 0], weight[rows]) or 1.0
    return float(1.0 - error / spread)


def _variance(values: FloatArray, weight: FloatArray) -> float:
    if values.min() == values.max():
        # Exactly 0, whatever the rounding of the mean.
        return 0.0
    return float(np.average((values - np.average(values, weights=weight)) ** 2, weights=weight))


def _summed_error(data: FitData, answer: FloatArray, rows: IntArray) -> FloatArray:
    """Weighted sum of the errors of each model on some rows, (T,), from predictions (T, n, C)."""
    if data.strata is None:
        error: FloatArray = (answer[:, :, 0] - data.encoded[rows, 0]) ** 2
    else:
        error = (answer.argmax(axis=2) != data.strata[rows]).astype(float)
    # Row by row, so that equal errors have equal sums, whatever their place in the block.
    return (error * data.loss_weight[rows]).sum(axis=1)


def _ask_folds(
    data: FitData,
    folds: Sequence[Batch],
    masks: BoolArray,
    seeds: IntArray,
    val_rows: IntArray | None = None,
) -> list[FloatArray]:
    """Predictions (T, n_fold, C) for each fold, by models trained on its training rows."""
    assignments = [
        Assignment(
            y=data.samples.y,
            train_rows=fold.train_rows,
            query_rows=fold.query_rows,
            val_rows=data.val_rows[:0] if val_rows is None else val_rows,
            masks=masks,
            seeds=seeds[:, k],
        )
        for k, fold in enumerate(folds)
    ]
    return data.dispatcher.predict(assignments)


def _seeds(n_models: int, folds: Sequence[Batch], rng: np.random.Generator) -> IntArray:
    return rng.integers(np.iinfo(np.int32).max, size=(n_models, len(folds)))


def _n_queries(folds: Sequence[Batch]) -> int:
    return sum(len(fold.query_rows) for fold in folds)


def _blocks(n_models: int, n_queries: int, data: FitData) -> Iterator[slice]:
    """Blocks of models, each of which predicts ``n_queries`` rows."""
    n_outputs, n_features = data.encoded.shape[1], data.samples.X.shape[1]
    size = max(1, BYTES_PER_BLOCK // max(n_queries * n_outputs * 8, n_features))
    return (slice(start, start + size) for start in range(0, n_models, size))

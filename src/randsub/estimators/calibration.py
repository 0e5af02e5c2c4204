"""Probabilities that mean what they say.

Shares of votes, and means of probabilities, rank the classes of a sample, but are often too timid
or too sure. With one number, the temperature, they are turned into

    p_c ~ (f_c + floor) ** (1 / temperature)

which keeps the order of the classes; of several labels, each is a problem of two classes, and all
have the same temperature. The temperature has the least log loss on the validation
samples, which the models behind f were not trained on. They have chosen the best epoch, so the
ensemble may be a little less good on new samples than the temperature takes it to be.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from randsub._masks import as_sparse
from randsub._typing import FloatArray, IntArray
from randsub.estimators.fit_data import FitData
from randsub.estimators.run import drawn
from randsub.exceptions import BaseModelError
from randsub.parallel import Assignment
from randsub.solver import Result
from randsub.solver.rounds import thin
from randsub.solver.shares import allotted

# The temperature is between 1 / LARGEST and LARGEST.
LARGEST = 10.0
# Standard deviation of the logarithm of the temperature before anything is known: with few
# validation samples it stays near 1.
SPREAD = 0.5
# Distinguishes the random numbers of this module from those of training.
STREAM = 0x7E4D


def tempered(output: FloatArray, temperature: float, floor: float) -> FloatArray:
    """Probabilities (n, C) from the output f (n, C) of an ensemble.

    Parameters
    ----------
    output : ndarray of shape (n, C), or (n, K, 2) if there are several labels
    temperature : float
        1 leaves the output as it is, but for the floor.
    floor : float
        Half a vote, so that no class is impossible because no member voted for it.
    """
    # Relative to the largest, so that no power underflows.
    shares = np.maximum(output, 0.0) + floor
    powers = (shares / shares.max(axis=-1, keepdims=True)) ** (1.0 / temperature)
    return powers / powers.sum(axis=-1, keepdims=True)


def best_temperature(
    output: FloatArray, truth: FloatArray, weight: FloatArray, floor: float
) -> float:
    """Temperature with the least log loss, drawn towards 1 if there are few samples.

    Parameters
    ----------
    output : ndarray of shape (n, C), or (n, K, 2) if there are several labels
        Output on samples that the models were not trained on.
    truth : ndarray of the same shape
        Indicators of their classes.
    weight : ndarray of shape (n,)
    floor : float
    """
    # Their unit does not matter, and squares of tiny ones are 0.
    weight = weight / weight.max()
    # As many samples as equal weights would be worth.
    n_effective = weight.sum() ** 2 / (weight @ weight)

    def cost(log_temperature: float) -> float:
        p = (tempered(output, np.exp(log_temperature), floor) * truth).sum(axis=-1)
        # The mean over the labels of a sample, which are not as good as further samples.
        logs = np.log(np.maximum(p, 1e-300)).reshape(len(p), -1).mean(axis=1)
        loss = -np.average(logs, weights=weight)
        return float(n_effective * loss + log_temperature**2 / (2.0 * SPREAD**2))

    limit = np.log(LARGEST)
    return float(np.exp(minimize_scalar(cost, bounds=(-limit, limit), method="bounded").x))


def labels_apart(model: Any, output: FloatArray) -> FloatArray:
    """Output (n, C) as it is or, of several labels, as (n, K, 2)."""
    return output.reshape(len(output), -1, 2) if isinstance(model.classes_, list) else output


def by_label(p: FloatArray) -> Any:
    """Probabilities (n, C) as they are; those of several labels as forests give them, in a list."""
    return p if p.ndim == 2 else [np.ascontiguousarray(one) for one in np.moveaxis(p, 1, 0)]


def smallest_share(model: Any) -> float:
    """Half a vote, which is added to the output for every class."""
    return 0.5 / len(model.estimators_)


def fitted_temperature(model: Any, data: FitData, result: Result) -> tuple[float, int]:
    """Temperature of a fitted ensemble, and the number of models trained to find it.

    Where the user gave validation data, the final members have not seen them. Otherwise they have:
    so for each repeat one more ensemble is trained, on what its validation samples leave.
    """
    floor = smallest_share(model)
    truth, weight = data.val_encoded, data.val_loss_weight
    if data.judges is not data.samples:
        rows = _some(data.judges.rows, model, data)
        output = model._average_of(data.judges.X, rows)
        output, truth = labels_apart(model, output), labels_apart(model, truth[rows])
        return best_temperature(output, truth, weight[rows], floor), 0
    n_repeats = len(result.best_shares)
    total, count = np.zeros_like(truth), np.zeros(len(truth))
    for repeat in range(n_repeats):
        rows = _some(data.splits[repeat].val_rows, model, data)
        total[rows] += _trained_without(model, data, result, repeat, rows)
        count[rows] += 1.0
    rows = np.flatnonzero(count)
    output = total[rows] / count[rows, np.newaxis]
    n_models = n_repeats * model.n_estimators
    output, truth = labels_apart(model, output), labels_apart(model, truth[rows])
    return best_temperature(output, truth, weight[rows], floor), n_models


def _some(rows: IntArray, model: Any, data: FitData) -> IntArray:
    """Validation samples, as many as there are in training."""
    limit = model._search_rows(len(data.splits[0].train_rows))
    return np.sort(thin(rows, limit, data.val_strata, np.random.default_rng(STREAM)))


def _trained_without(
    model: Any, data: FitData, result: Result, repeat: int, rows: IntArray
) -> FloatArray:
    """Output on rows of the data of a new ensemble, trained on the training rows of a repeat."""
    rng = np.random.default_rng([STREAM, *result.rng(repeat).integers(2**31, size=4).tolist()])
    shares = result.best_shares[repeat]
    counts = allotted(shares, model.n_estimators)
    draws = [*drawn(model, result, repeat, counts, rng)]
    train_rows = data.splits[repeat].train_rows
    limit = model._most_rows(len(train_rows))
    assignments = [
        Assignment(
            y=data.samples.y,
            train_rows=np.sort(thin(train_rows, limit, data.strata, draw.rng)),
            query_rows=rows,
            val_rows=rows[:0],
            masks=as_sparse(draw.masks).sorted_indices(),
            seeds=draw.rng.integers(np.iinfo(np.int32).max, size=(draw.masks.shape[0],)),
            base=draw.base,
        )
        for draw in draws
    ]
    try:
        answers = data.dispatcher.predict(assignments)
    except BaseModelError as error:
        raise error.located(data.feature_names, None) from error.__cause__
    # With few members, base models of small shares may have none.
    weights = np.array([shares[draw.base] for draw in draws])
    means = [one.mean(axis=0) for one in answers]
    return np.einsum("b,bnc->nc", weights / weights.sum(), means)

"""One member of an ensemble: asked for its prediction, blamed by name when it fails."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from randsub._tables import n_rows, take_columns
from randsub._typing import FloatArray, IntArray, Table
from randsub.engines.base import Learner
from randsub.exceptions import BaseModelError, BaseModelTimeoutError

# How far rounding may lead a probability out of [0, 1].
TOLERANCE = 1e-6


@contextmanager
def base_model_at_work() -> Iterator[None]:
    """Leave it to the predictions to tell of numbers that are not finite.

    On many subsets numpy would say so many times, where one is degenerate, and mostly to no
    consequence. What has one is found in :func:`predict_one`, which names the subset.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        yield


def predict_one(learner: Learner, model: Any, X: Table, columns: IntArray) -> FloatArray:
    """Prediction of one fitted model, shape (n, C), from the columns that it was trained on."""
    try:
        with base_model_at_work():
            prediction = _asked(learner, model, take_columns(X, columns))
    except MemoryError:
        # Not the base model's fault, and not a matter of its columns.
        raise
    except Exception as failure:
        raise failed_on(learner, failure, columns) from failure
    reason = None
    if not np.isfinite(prediction).all():
        reason = "it predicts NaN or infinite values"
    elif learner.classes is not None and not _are_shares(prediction):
        reason = "it predicts probabilities outside [0, 1]"
    if reason is not None:
        raise BaseModelError(_short_name(learner), reason, columns.tolist())
    return prediction


def _are_shares(prediction: FloatArray) -> bool:
    lowest, highest = prediction.min(initial=0.0), prediction.max(initial=0.0)
    return bool(lowest >= -TOLERANCE and highest <= 1.0 + TOLERANCE)


def _asked(learner: Learner, model: Any, part: Table) -> FloatArray:
    if learner.classes is None:
        values = np.asarray(model.predict(part))
        if np.iscomplexobj(values):
            raise TypeError("it predicts complex numbers")
        return values.astype(float).reshape(n_rows(part), 1)
    if learner.voting == "soft":
        return aligned(learner, model, model.predict_proba(part))
    return np.eye(learner.n_outputs)[_codes(model.predict(part), learner.classes)]


def aligned(learner: Learner, model: Any, probabilities: FloatArray) -> FloatArray:
    """A model's probabilities in the order of all classes, or the votes that they amount to.

    A class that the model has not met has none.
    """
    assert learner.classes is not None
    places = _codes(model.classes_, learner.classes)
    if learner.voting == "hard":
        return np.eye(learner.n_outputs)[places[probabilities.argmax(axis=1)]]
    shares = np.zeros((len(probabilities), learner.n_outputs))
    shares[:, places] = probabilities
    return shares


def _codes(labels: Any, classes: np.ndarray[Any, Any]) -> IntArray:
    """Position of each label among the sorted classes."""
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    strange = classes[codes] != labels
    if np.any(strange):
        found = np.unique(np.asarray(labels)[strange]).tolist()
        raise ValueError(f"it predicts {found[:5]}, which are none of the classes {classes}")
    return codes


def _short_name(learner: Learner) -> str:
    return " ".join(repr(learner.estimator).split())


def failed_on(learner: Learner, failure: Exception, columns: Iterable[int]) -> BaseModelError:
    """The error that names the subset on which a base model failed."""
    reason = f"{type(failure).__name__}: {failure}"
    return BaseModelError(_short_name(learner), reason, [int(j) for j in columns])


def unsendable_on(learner: Learner, failure: Exception, columns: Iterable[int]) -> BaseModelError:
    """The error that names the subset on which a base model learned what no worker can send."""
    reason = (
        f"once fitted it cannot be sent back from its worker ({type(failure).__name__}: "
        f"{failure}). n_jobs=1 fits it here"
    )
    return BaseModelError(_short_name(learner), reason, [int(j) for j in columns])


def overdue_on(
    learner: Learner, seconds: float, n_models: int, columns: Iterable[int]
) -> BaseModelTimeoutError:
    """The error that names the subset on which a base model takes too long."""
    what = "it" if n_models == 1 else f"one of {n_models} models, of which it is the first,"
    reason = (
        f"{what} had not ended after {seconds:g} s, the task_timeout. Where it cannot be stopped "
        "from outside, in a thread or on a Dask cluster, it goes on in the background"
    )
    return BaseModelTimeoutError(_short_name(learner), reason, [int(j) for j in columns])

"""Mean prediction of the members of an ensemble, which may come from several base models."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs, parallel_config
from sklearn.utils.parallel import Parallel, delayed

from randsub._tables import take_columns
from randsub._typing import FloatArray, IntArray, Table
from randsub.engines.base import Engine, predict_one
from randsub.parallel.blas_threads import one_thread
from randsub.parallel.worker_pool import is_on_cluster

MODELS_PER_SUM = 10


def average_prediction(
    engines: Sequence[Engine],
    models: Sequence[Any],
    features: Sequence[IntArray],
    X: Table,
    n_jobs: int | None,
    kinds: IntArray | None = None,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Mean prediction of fitted models, shape (n, C).

    Members are added up in portions of fixed size, so that the order of the additions, and with it
    the last bit, is the same for any number of workers.

    Parameters
    ----------
    engines : sequence of Engine
    models : sequence of estimators
    features : sequence of int ndarrays
        Columns of each.
    X : (n, M)
    n_jobs : int or None
    kinds : int ndarray, default=None
        Which engine each model comes from; by default the first.
    weights : ndarray, default=None
        Weight of each model; equal by default.
    """
    kinds = np.zeros(len(models), dtype=np.intp) if kinds is None else kinds
    weights = np.ones(len(models)) if weights is None else weights
    cast = [
        Cast(engines[kind], model, columns, weight)
        for kind, model, columns, weight in zip(
            kinds.tolist(), models, features, weights.tolist(), strict=True
        )
    ]
    tasks = [
        partial(_sum, cast[a : a + MODELS_PER_SUM], X) for a in range(0, len(cast), MODELS_PER_SUM)
    ]
    # The models are here: sending them would take longer than their predictions.
    remote = n_jobs != 1 and is_on_cluster()
    here = parallel_config(backend="threading", n_jobs=n_jobs or 1) if remote else nullcontext()
    with here, one_thread():
        if n_jobs == 1 or min(effective_n_jobs(n_jobs), len(tasks)) <= 1:
            sums = [task() for task in tasks]
        else:
            sums = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(task)() for task in tasks)
    return np.add.reduce(sums) / weights.sum()


class Cast(NamedTuple):
    """A member of an ensemble."""

    engine: Engine
    model: Any
    columns: IntArray
    weight: float


def _sum(cast: Sequence[Cast], X: Table) -> FloatArray:
    total = np.zeros((X.shape[0], cast[0].engine.learner.n_outputs))
    with one_thread():
        for engine, model, columns, weight in cast:
            answer = None
            # Users may put other models among ours; those for other columns say so.
            if len(columns) and getattr(model, "n_features_in_", None) == len(columns):
                answer = engine.predict_fitted(model, take_columns(X, columns))
            if answer is None or not np.isfinite(answer).all():
                answer = predict_one(engine.learner, model, X, columns)
            total += answer if weight == 1.0 else weight * answer
    return total

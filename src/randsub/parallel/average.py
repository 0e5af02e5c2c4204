"""Mean prediction of the members of an ensemble, which may come from several base models."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs, parallel_config
from sklearn.utils.parallel import Parallel, delayed

from randsub._tables import take_columns
from randsub._typing import FloatArray, IntArray, Table
from randsub.engines.base import Engine, predict_one
from randsub.exceptions import BaseModelError
from randsub.parallel.blas_threads import one_thread
from randsub.parallel.worker_pool import is_on_cluster

MODELS_PER_SUM = 10


class Member(NamedTuple):
    """A member of an ensemble.

    Parameters
    ----------
    engine : Engine
        That of its base model.
    model : estimator
    base : int
        Place of its base model.
    columns : int ndarray
        What it sees of the table of its base model.
    features : int ndarray
        Columns of the user's X that these stand for.
    weight : float
    """

    engine: Engine
    model: Any
    base: int
    columns: IntArray
    features: IntArray
    weight: float = 1.0


def average_prediction(
    members: Sequence[Member], tables: Sequence[Table], n_jobs: int | None
) -> FloatArray:
    """Weighted mean of the predictions of members, shape (n, C).

    Members are added up in portions of fixed size, so that the order of the additions, and with it
    the last bit, is the same for any number of workers.

    Parameters
    ----------
    members : sequence of Member
    tables : sequence of (n, M)
        What the members of each base model are asked about.
    n_jobs : int or None
    """
    tasks = [
        partial(_sum, members[a : a + MODELS_PER_SUM], tables)
        for a in range(0, len(members), MODELS_PER_SUM)
    ]
    # The models are here: sending them would take longer than their predictions.
    remote = n_jobs != 1 and is_on_cluster()
    here = parallel_config(backend="threading", n_jobs=n_jobs or 1) if remote else nullcontext()
    with here, one_thread():
        if n_jobs == 1 or min(effective_n_jobs(n_jobs), len(tasks)) <= 1:
            sums = [task() for task in tasks]
        else:
            sums = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(task)() for task in tasks)
    return np.add.reduce(sums) / np.sum([member.weight for member in members])


def _sum(members: Sequence[Member], tables: Sequence[Table]) -> FloatArray:
    total = np.zeros((tables[0].shape[0], members[0].engine.learner.n_outputs))
    with one_thread():
        for engine, model, base, columns, features, weight in members:
            X, answer = tables[base], None
            # Users may put other models among ours; those for other columns say so.
            if len(columns) and getattr(model, "n_features_in_", None) == len(columns):
                answer = engine.predict_fitted(model, take_columns(X, columns))
            if answer is None or not np.isfinite(answer).all():
                try:
                    answer = predict_one(engine.learner, model, X, columns)
                except BaseModelError as error:
                    raise replace(error, features=features.tolist()) from error.__cause__
            total += answer if weight == 1.0 else weight * answer
    return total

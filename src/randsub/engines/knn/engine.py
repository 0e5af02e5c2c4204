"""k nearest neighbours, compiled.

Neighbours are those of scikit-learn except where distances are tied to the last digits.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub._sklearn import neighbors_of
from randsub._typing import FloatArray, Table
from randsub.engines.compiled import CompiledEngine, MaskBatch, Parameters, lines
from randsub.engines.knn.averages import PROBABILITIES, REGRESSION, VOTES, Answer
from randsub.engines.knn.kernels import (
    CHAIN,
    LARGEST,
    LARGEST_CHAIN,
    LARGEST_NETWORK,
    MOST_ROWS,
    SMALLEST,
    in_single_precision,
    predict_exactly,
    predict_fast,
    row_numbers,
)

PARAMETERS = Parameters(
    fixed={
        "metric": ["minkowski", "euclidean"],
        "metric_params": [None],
        "weights": ["uniform", "distance", None],
    },
    free={"n_neighbors", "algorithm", "leaf_size", "p", "n_jobs"},
)


class KNNEngine(CompiledEngine):
    """KNeighborsClassifier and KNeighborsRegressor with Euclidean distances."""

    reproduced: ClassVar[Mapping[type, Parameters]] = dict.fromkeys(
        (KNeighborsClassifier, KNeighborsRegressor), PARAMETERS
    )
    takes_outputs: ClassVar[bool] = True
    # Distances take most of the time.
    power_of_size: ClassVar[float] = 0.75

    @classmethod
    def _obstacle(cls, estimator: Any, X: Table, sample_weight: FloatArray | None) -> str | None:
        if estimator.metric == "euclidean" or estimator.p == 2:
            return None
        return f"does not support p={estimator.p!r}; use p=2"

    def _steps_aside(self, y_train: Any, sample_weight: FloatArray | None) -> bool:
        # scikit-learn has the words for it.
        return len(y_train) < self.learner.estimator.n_neighbors

    def _predict_fitted(self, model: Any, X: Table) -> FloatArray | None:
        learner, ours = self.learner, self.learner.estimator
        rows, targets = neighbors_of(model)
        # A model that a user has changed may look for other neighbours.
        if (
            (model.n_neighbors, model.weights) != (ours.n_neighbors, ours.weights)
            or not (PARAMETERS.hold(model) and self._obstacle(model, X, None) is None)
            or not isinstance(rows, np.ndarray)
            or rows.shape[0] < model.n_neighbors
        ):
            return None
        codes = targets.reshape(len(targets), -1)
        if codes.shape[1] != (learner.n_targets or 1):
            return None
        if learner.classes is not None:
            of_outputs = [model.classes_] if learner.n_targets is None else model.classes_
            if not all(np.isin(classes, learner.classes).all() for classes in of_outputs):
                return None
            numbers = [np.searchsorted(learner.classes, classes) for classes in of_outputs]
            targets = np.column_stack([a[b] for a, b in zip(numbers, codes.T, strict=True)])
        everything, seed = np.ones((1, X.shape[1]), dtype=bool), np.zeros(1, dtype=int)
        batch = MaskBatch(lines(rows), targets, everything, lines(X), seed, None)
        return self._predict(batch)[0]

    def _predict(self, batch: MaskBatch) -> FloatArray:
        learner, k = self.learner, int(self.learner.estimator.n_neighbors)
        columns, query = batch.columns, batch.query
        values = np.ascontiguousarray(batch.targets, dtype=np.float64)
        values = values.reshape(len(values), learner.n_targets or 1)
        mode = REGRESSION
        if learner.classes is not None:
            mode = PROBABILITIES if learner.voting == "soft" else VOTES
        answer = Answer(values, learner.estimator.weights == "distance", mode)
        out = batch.answers(learner, 0.0)
        single = in_single_precision(columns, query)
        fits = columns.shape[1] <= MOST_ROWS and SMALLEST < single.largest.max() < LARGEST
        if k > LARGEST_CHAIN or not fits:
            predict_exactly(columns, query, batch.subsets, k, answer, out)
        else:
            numbers = row_numbers(columns.shape[1])
            ks = (0,) * k if k <= LARGEST_NETWORK else CHAIN
            predict_fast(columns, query, single, numbers, batch.subsets, k, ks, answer, out)
        return out

"""k nearest neighbours, compiled.

The kernels are in :mod:`~randsub.engines.nearest`; here is what they are used for. Neighbours are
those of scikit-learn except where distances are tied to the last digits.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.compiled import CompiledEngine, is_dense_numeric, lines, sparse_rows
from randsub.engines.nearest import (
    LARGEST,
    LARGEST_NETWORK,
    MOST_ROWS,
    PROBABILITIES,
    REGRESSION,
    SMALLEST,
    VOTES,
    in_single_precision,
    predict_exactly,
    predict_fast,
    row_numbers,
)


class NeighborsEngine(CompiledEngine):
    """KNeighborsClassifier and KNeighborsRegressor with Euclidean distances."""

    @classmethod
    def is_usable_for(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> bool:
        """Euclidean metric, uniform or distance weights, any k, any of the exact algorithms."""
        if type(estimator) not in (KNeighborsClassifier, KNeighborsRegressor):
            return False
        euclidean = estimator.metric == "euclidean" or (
            estimator.metric == "minkowski" and estimator.p == 2
        )
        return (
            euclidean
            and estimator.metric_params is None
            and estimator.weights in ("uniform", "distance", None)
            and estimator.algorithm in ("auto", "ball_tree", "kd_tree", "brute")
            and isinstance(estimator.n_neighbors, Integral)
            and int(estimator.n_neighbors) >= 1
            and is_dense_numeric(X)
        )

    def _steps_aside(self, y_train: Any, sample_weight: FloatArray | None) -> bool:
        # scikit-learn has the words for it.
        return len(y_train) < self.learner.estimator.n_neighbors

    def ask(self, model: Any, X: Table) -> FloatArray | None:
        """Search the rows that the model keeps."""
        rows, learner, ours = getattr(model, "_fit_X", None), self.learner, self.learner.estimator
        if type(model) is not type(ours) or not self.is_usable_for(model, X, None, None):
            return None
        # A member that a user has changed or replaced may look for other neighbours.
        if (model.n_neighbors, model.weights) != (ours.n_neighbors, ours.weights):
            return None
        if not isinstance(rows, np.ndarray) or rows.shape[0] < model.n_neighbors:
            return None
        targets = model._y
        if learner.classes is not None:
            if not np.isin(model.classes_, learner.classes).all():
                return None
            targets = np.searchsorted(learner.classes, model.classes_)[targets]
        everything = np.ones((1, X.shape[1]), dtype=bool)
        return self._predict(lines(rows), targets, everything, lines(X), np.zeros(1, int), None)[0]

    def _predict(
        self,
        columns: FloatArray,
        targets: Any,
        masks: BoolArray,
        query: FloatArray,
        seeds: IntArray,
        sample_weight: FloatArray | None,
    ) -> FloatArray:
        learner, k = self.learner, int(self.learner.estimator.n_neighbors)
        begin, held = sparse_rows(masks)
        n_queries = query.shape[1]
        out = np.zeros((len(masks), n_queries, learner.n_outputs))
        if learner.classes is None:
            mode, values = REGRESSION, np.asarray(targets, dtype=np.float64)
        else:
            mode = PROBABILITIES if learner.voting == "soft" else VOTES
            values = targets.astype(np.float64)
        by_distance = learner.estimator.weights == "distance"
        n_rows = columns.shape[1]
        single, asked, largest = in_single_precision(columns, query)
        fits = n_rows <= MOST_ROWS and SMALLEST < largest.max() < LARGEST
        if k > LARGEST_NETWORK or not fits:
            predict_exactly(columns, query, values, begin, held, k, by_distance, mode, out)
            return out
        predict_fast(
            columns,
            query,
            single,
            asked,
            largest,
            row_numbers(n_rows),
            values,
            begin,
            held,
            (0,) * k,
            by_distance,
            mode,
            out,
        )
        return out

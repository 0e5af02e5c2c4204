"""The engine for any scikit-learn estimator: clone, slice columns, fit."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np
from sklearn import config_context, get_config

from randsub._tables import n_rows
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.base import Engine, Learner, fit_one, predict_one


class GenericEngine(Engine):
    """Clones and fits the base model on each subset of columns."""

    can_bootstrap: ClassVar[bool] = True

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner)
        self._is_simple = not any("__" in name for name in learner.estimator.get_params(deep=True))

    @classmethod
    def is_usable_for(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> bool:
        """Any estimator will do."""
        return True

    def predict_many(
        self,
        X_train: Table,
        y_train: Any,
        masks: BoolArray,
        X_query: Table,
        seeds: IntArray,
        sample_weight: FloatArray | None = None,
        fit_params: Mapping[str, Any] | None = None,
    ) -> FloatArray:
        """Train and predict one model after the other."""
        learner, training = self.learner, (sample_weight, fit_params)
        predictions = np.empty((len(masks), n_rows(X_query), learner.n_outputs))
        for t, (columns, check) in enumerate(self._subsets(masks, X_train, X_query)):
            with check:
                model = fit_one(learner, X_train, y_train, columns, seeds[t], *training)
                predictions[t] = predict_one(learner, model, X_query, columns)
        return predictions

    def fit_many(
        self,
        X: Table,
        y: Any,
        masks: BoolArray,
        seeds: IntArray,
        sample_weight: FloatArray | None = None,
        fit_params: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """Train one model after the other."""
        models = []
        for t, (columns, check) in enumerate(self._subsets(masks, X)):
            with check:
                model = fit_one(self.learner, X, y, columns, seeds[t], sample_weight, fit_params)
                models.append(model)
        return models

    def _subsets(
        self, masks: BoolArray, *tables: Table
    ) -> Iterator[tuple[IntArray, AbstractContextManager[None]]]:
        """Columns of each mask, and whether its model checks its parameters and its data.

        The first one on any columns does. A model made of others checks its data each time: what
        one part hands to the next is new. So does one whose data may overflow in single precision,
        which some models turn to.
        """
        unchecked: dict[str, bool] = {}
        for mask in masks:
            columns = np.flatnonzero(mask)
            # A constant model, on no columns, says nothing about the base model's parameters.
            checks = not unchecked or len(columns) == 0
            yield columns, nullcontext() if checks else config_context(**unchecked)
            if not unchecked and len(columns):
                is_tame = self._is_simple and all(map(_is_tame, tables))
                assume_finite = get_config()["assume_finite"] or is_tame
                unchecked = {"skip_parameter_validation": True, "assume_finite": assume_finite}


def _is_tame(X: Table) -> bool:
    """Whether X is an array of finite numbers, none of them too large for single precision."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.size == 0:
        return False
    return bool(max(X.max(), -X.min()) < np.finfo(np.float32).max)

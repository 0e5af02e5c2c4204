"""The engine for any scikit-learn estimator: clone, slice columns, fit."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from randsub._tables import n_rows, take_columns
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.base import Engine, Learner
from randsub.engines.members import base_model_at_work, failed_on, predict_one


class GenericEngine(Engine):
    """Clones and fits the base model on each subset of columns.

    The empty subset, and a training set in which a single class is left, give a constant model:
    the mean, the majority class, or the class frequencies.
    """

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
        predictions = np.empty((len(masks), n_rows(X_query), self.learner.n_outputs))
        checks = self._checking_once(X_train, X_query)
        for t, (mask, seed) in enumerate(zip(masks, seeds, strict=True)):
            columns = np.flatnonzero(mask)
            # A constant model, on no columns, says nothing about the base model's parameters.
            with next(checks) if len(columns) else nullcontext():
                model = self._fit_one(X_train, y_train, columns, seed, sample_weight, fit_params)
                predictions[t] = predict_one(self.learner, model, X_query, columns)
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
        checks = self._checking_once(X)
        for mask, seed in zip(masks, seeds, strict=True):
            columns = np.flatnonzero(mask)
            # A constant model, on no columns, says nothing about the base model's parameters.
            with next(checks) if len(columns) else nullcontext():
                models.append(self._fit_one(X, y, columns, seed, sample_weight, fit_params))
        return models

    def _checking_once(self, *tables: Table) -> Iterator[AbstractContextManager[None]]:
        """For each model, whether it checks its parameters and its data: the first does.

        A model made of others is let check its data each time: what one part hands to the next is
        new. So is one whose data single precision, which some models turn to, might not hold.
        """
        yield nullcontext()
        assume_finite = get_config()["assume_finite"] or (
            self._is_simple and all(map(_is_tame, tables))
        )
        while True:
            yield config_context(skip_parameter_validation=True, assume_finite=assume_finite)

    def _fit_one(
        self,
        X: Table,
        y: Any,
        columns: IntArray,
        seed: int,
        sample_weight: FloatArray | None,
        fit_params: Mapping[str, Any] | None,
    ) -> Any:
        learner = self.learner
        if len(columns) == 0 or (learner.classes is not None and is_one_class(y)):
            constant = _constant_model(learner)
            return constant.fit(np.empty((len(y), len(columns))), y, sample_weight=sample_weight)
        model = clone(learner.estimator)
        set_seeds(model, seed)
        params = dict(fit_params or {})
        if learner.passes_weight and sample_weight is not None:
            params["sample_weight"] = sample_weight
        try:
            with base_model_at_work():
                return model.fit(take_columns(X, columns), y, **params)
        except MemoryError:
            # Not the base model's fault, and not a matter of its columns.
            raise
        except Exception as failure:
            raise failed_on(learner, failure, columns) from failure


def set_seeds(model: Any, seed: int) -> None:
    """Give every ``random_state`` inside a model, nested ones too, a seed of its own."""
    names = sorted(
        name
        for name in model.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    if names:
        draws = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=len(names))
        model.set_params(**{name: int(draw) for name, draw in zip(names, draws, strict=True)})


def _is_tame(X: Table) -> bool:
    """Whether X is an array of finite numbers, none of them too large for single precision."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.size == 0:
        return False
    return bool(max(X.max(), -X.min()) < np.finfo(np.float32).max)


def is_one_class(y: Any) -> bool:
    """Whether all labels are the same."""
    return bool((y == y[0]).all())


def _constant_model(learner: Learner) -> Any:
    if learner.classes is None:
        return DummyRegressor()
    return DummyClassifier(strategy="prior" if learner.voting == "soft" else "most_frequent")

"""The protocol of an engine."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray, Table


@dataclass(frozen=True)
class Learner:
    """What is trained on each subset.

    Parameters
    ----------
    estimator : estimator
        The base model; it is cloned, never fitted itself.
    classes : ndarray of shape (C,) or None
        Sorted class labels; None in regression.
    voting : {"soft", "hard"}
        In classification, whether a model predicts probabilities or casts one vote.
    passes_weight : bool
        Whether sample weights go to the base model's ``fit``.
    """

    estimator: Any
    classes: np.ndarray[Any, Any] | None = None
    voting: Literal["soft", "hard"] = "hard"
    passes_weight: bool = False

    @property
    def n_outputs(self) -> int:
        """C, the number of columns of a prediction."""
        return 1 if self.classes is None else len(self.classes)


class Engine(ABC):
    """Trains one model for each of many feature subsets.

    An engine sees X, y and boolean masks over the columns, never probabilities. It works in the
    calling thread; spreading subsets over workers is the dispatcher's business. The result for a
    subset depends on its mask and its seed alone, not on which other subsets are asked for in the
    same call.

    Parameters
    ----------
    learner : Learner
    """

    # Engines that hold the interpreter lock gain from processes, others from threads.
    prefers: ClassVar[Literal["threads", "processes"]] = "processes"
    # The largest training set that the engine is made for, if there is a limit.
    most_rows: ClassVar[int | None] = None

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    @classmethod
    @abstractmethod
    def is_usable_for(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> bool:
        """Whether this engine reproduces that exact estimator and parameters on such data.

        Parameters
        ----------
        estimator : estimator
        X : (n, M)
            All rows. Where they lie in a memory-mapped file and are scaled as they are read, it is
            no array but has a ``shape`` and a ``dtype``; parts of it, as models see them, are
            arrays.
        y : (n,)
        sample_weight : ndarray of shape (n,) or None
        """

    @abstractmethod
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
        """Train a model for each mask and predict, keeping nothing but the predictions.

        Parameters
        ----------
        X_train : (n_train, M)
        y_train : (n_train,)
            As the user gave it.
        masks : bool ndarray of shape (T, M)
        X_query : (n_query, M)
        seeds : int ndarray of shape (T,)
            Seed of each model, for base models that are random.
        sample_weight : ndarray of shape (n_train,) or None
        fit_params : mapping or None
            Metadata for ``fit``, already cut to the training rows.

        Returns
        -------
        predictions : ndarray of shape (T, n_query, C)
            Values in regression, probabilities or votes in classification.
        """

    @abstractmethod
    def fit_many(
        self,
        X: Table,
        y: Any,
        masks: BoolArray,
        seeds: IntArray,
        sample_weight: FloatArray | None = None,
        fit_params: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """Train a model for each mask and return them, as fitted scikit-learn estimators."""

    def ask(self, model: Any, X: Table) -> FloatArray | None:
        """Prediction of a fitted model, where there is a faster way than its own.

        Parameters
        ----------
        model : estimator
            One of those that :meth:`fit_many` returns.
        X : (n, number of columns that the model was trained on)

        Returns
        -------
        prediction : ndarray of shape (n, C) or None
            As in :meth:`predict_many`; None to let the model answer for itself.
        """
        return None

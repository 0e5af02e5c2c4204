"""The protocol of an engine, and what every engine does with one base model.

A base model is fitted, asked for its prediction, and named with its features when it fails.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils import get_tags

from randsub._sklearn import check_method_params
from randsub._tables import n_rows, take_columns, take_rows
from randsub._typing import BoolArray, FloatArray, HeldPredictions, IntArray, Table
from randsub.engines.bootstrap import bootstrap_rows
from randsub.engines.target_units import Unit
from randsub.exceptions import BaseModelError

# What estimators call the number of their threads or processes.
THREADS = ("n_jobs", "num_threads", "n_threads", "nthread", "thread_count")
# How far rounding may lead a probability out of [0, 1].
TOLERANCE = 1e-6
# Regressors of several outputs of which scikit-learn's tags do not say so.
UNTAGGED = {"MLPRegressor"}


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
    bootstrap : bool
        Whether each model is trained on a sample of the rows, drawn with replacement.
    unit : Unit or None
        Unit of the targets that engines are given, if it is not that of the user.
    n_targets : int or None
        K, the number of outputs of a base model that has several: y is (n, K), predictions are
        those of one output after the other, and ``classes`` 0 and 1 of a label. None: y is (n,).
    device : str or None
        Device for engines that have the choice; None for the best that there is.
    name : str
        That of the base model among several; else empty.
    """

    estimator: Any
    classes: np.ndarray[Any, Any] | None = None
    voting: Literal["soft", "hard"] = "hard"
    passes_weight: bool = False
    bootstrap: bool = False
    unit: Unit | None = None
    n_targets: int | None = None
    device: str | None = None
    name: str = ""

    @property
    def n_outputs(self) -> int:
        """C, the number of columns of a prediction."""
        return (self.n_targets or 1) * (1 if self.classes is None else len(self.classes))

    @cached_property
    def on_one_thread(self) -> dict[str, int]:
        """Parameters with which a base model that has threads of its own uses one."""
        return dict.fromkeys(thread_counts(self.estimator), 1)


class Engine(ABC):
    """Trains one model for each of many feature subsets.

    An engine sees X, y and boolean masks over the columns, never probabilities. It works in the
    calling thread; the dispatcher spreads subsets over workers. The result for a subset depends on
    its mask and its seed alone, not on the rest of the call; on a device, up to rounding and ties.

    Parameters
    ----------
    learner : Learner
    """

    # Engines that hold the interpreter lock gain from processes, others from threads.
    prefers: ClassVar[Literal["threads", "processes"]] = "processes"
    # The largest training set that the engine is made for, if there is a limit.
    most_rows: ClassVar[int | None] = None
    # The time of a model goes with about this power of the number of its features.
    power_of_size: ClassVar[float] = 0.25
    # Whether models are trained on a device: all masks of a call at once, one call at a time, in
    # the process that holds the data there. Tables come as Selection: the engine copies them once.
    on_device: ClassVar[bool] = False
    # Kinds of estimators for which engine="auto" takes it; None if there is no other condition.
    automatic: ClassVar[tuple[type, ...] | None] = None
    # Whether the engine can train models on bootstrap samples.
    can_bootstrap: ClassVar[bool] = False

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
        y : (n,), or (n, K) if there are several outputs
        sample_weight : ndarray of shape (n,) or None
        """

    @classmethod
    def is_automatic(cls, estimator: Any) -> bool:
        """Whether engine="auto" takes the engine for such estimators, wherever it is usable."""
        return cls.automatic is None or isinstance(estimator, cls.automatic)

    @classmethod
    def knows(cls, estimator: Any) -> bool:
        """Whether the engine is made for estimators of this kind.

        If it then steps aside, users are told why.
        """
        return False

    @classmethod
    def obstacle(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> str | None:
        """Why the engine is not usable, and the remedy; None if it is.

        The parameters are those of :meth:`is_usable_for`. The text is a clause of which the engine
        is the subject, such as "does not support p=1; use p=2".
        """
        usable = cls.is_usable_for(estimator, X, y, sample_weight)
        return None if usable else "does not support this base model, or these data"

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
        y_train : (n_train,), or (n_train, K) if there are several outputs
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

    def held(self, predictions: FloatArray) -> FloatArray | HeldPredictions:
        """Predictions (T, n, C) where sums over models are fastest; by default, where they are."""
        return predictions

    def release(self) -> None:
        """Forget data that the engine keeps on a device."""
        return

    def predict_fitted(self, model: Any, X: Table) -> FloatArray | None:
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


# -- one base model --------------------------------------------------------------------------------


@contextmanager
def base_model_at_work(learner: Learner, columns: IntArray) -> Iterator[None]:
    """Name the features on which a base model fails.

    Numbers that are not finite are found in :func:`predict_one`. numpy would warn of each, where a
    subset is degenerate, and mostly to no consequence.
    """
    try:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            yield
    except MemoryError:
        # Not the base model's fault, and not a matter of its columns.
        raise
    except Exception as failure:
        reason = f"{type(failure).__name__}: {failure}"
        classifies = learner.classes is not None
        if learner.n_targets is not None and not takes_outputs(
            learner.estimator, classifies=classifies
        ):
            cure = remedy(learner.estimator, classifies=classifies)
            reason = f"{reason.rstrip('.')}. If it takes one column of y only, {cure}"
        raise BaseModelError(short_name(learner), reason, columns.tolist()) from failure


def short_name(learner: Learner) -> str:
    """The base model as errors name it."""
    shown = " ".join(repr(learner.estimator).split())
    return f"{learner.name!r}, {shown}," if learner.name else shown


def fit_one(
    learner: Learner,
    X: Table,
    y: Any,
    columns: IntArray,
    seed: int,
    sample_weight: FloatArray | None,
    fit_params: Mapping[str, Any] | None,
) -> Any:
    """A clone of the base model, fitted to some columns.

    The empty subset, and a training set in which a single class is left, give a constant model:
    the mean, the majority class, or the class frequencies.
    """
    if learner.bootstrap and len(columns):
        rows = bootstrap_rows(seed, len(y))
        fit_params = check_method_params(X, dict(fit_params or {}), indices=rows)
        X, y = take_rows(X, rows), y[rows]
        sample_weight = None if sample_weight is None else sample_weight[rows]
    if len(columns) == 0 or (learner.classes is not None and is_one_class(y)):
        constant = DummyRegressor()
        if learner.classes is not None:
            strategy = "prior" if learner.voting == "soft" else "most_frequent"
            constant = DummyClassifier(strategy=strategy)
        return constant.fit(np.empty((len(y), len(columns))), y, sample_weight=sample_weight)
    model = clone(learner.estimator)
    set_seeds(model, seed)
    if learner.on_one_thread:
        # Workers train many models at the same time. Libraries that count threads themselves do not
        # see the limit of OpenMP that workers set.
        model.set_params(**learner.on_one_thread)
    params = dict(fit_params or {})
    if learner.passes_weight and sample_weight is not None:
        params["sample_weight"] = sample_weight
    with base_model_at_work(learner, columns):
        return model.fit(take_columns(X, columns), y, **params)


def set_seeds(model: Any, seed: int) -> None:
    """Give every ``random_state`` inside a model, nested ones too, a different seed."""
    names = sorted(n for n in model.get_params() if n.rpartition("__")[2] == "random_state")
    if names:
        model.set_params(**dict(zip(names, seeds_of_parts(seed, len(names)), strict=True)))


def seeds_of_parts(seed: int, n: int) -> list[int]:
    """Seeds for the n values of ``random_state`` inside a model, by their sorted names."""
    return np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n).tolist()


def thread_counts(estimator: Any) -> dict[str, int | None]:
    """Parameters of an estimator, and of its parts, that let it use several threads or processes.

    None is one thread for the estimators of scikit-learn, and mostly all cores for others.
    """
    params = estimator.get_params(deep=True)
    found: dict[str, int | None] = {}
    for name, value in params.items():
        owner, _, parameter = name.rpartition("__")
        if parameter in THREADS and (value is None or isinstance(value, Integral)) and value != 1:
            part = params.get(owner) if owner else estimator
            origin = getattr(type(part).__init__, "__module__", "")
            if value is not None or not origin.startswith("sklearn."):
                found[name] = None if value is None else int(value)
    return found


def is_one_class(y: Any) -> bool:
    """Whether all labels are the same; of several labels, whether all rows of them are."""
    return bool((y == y[0]).all())


def predict_one(learner: Learner, model: Any, X: Table, columns: IntArray) -> FloatArray:
    """Prediction of one fitted model, shape (n, C), from the columns that it was trained on."""
    with base_model_at_work(learner, columns):
        prediction = _predicted(learner, model, take_columns(X, columns))
    reason = None
    if not np.isfinite(prediction).all():
        reason = "it predicts NaN or infinite values"
    elif learner.classes is not None and not _are_shares(prediction):
        reason = "it predicts probabilities outside [0, 1]"
    if reason is not None:
        raise BaseModelError(short_name(learner), reason, columns.tolist())
    return prediction


def _are_shares(prediction: FloatArray) -> bool:
    lowest, highest = prediction.min(initial=0.0), prediction.max(initial=0.0)
    return bool(lowest >= -TOLERANCE and highest <= 1.0 + TOLERANCE)


def _predicted(learner: Learner, model: Any, part: Table) -> FloatArray:
    if learner.classes is None:
        values = np.asarray(model.predict(part))
        if np.iscomplexobj(values):
            raise TypeError("it predicts complex numbers")
        return _shaped(values.astype(float), n_rows(part), learner.n_outputs)
    if learner.voting == "soft":
        probabilities = model.predict_proba(part)
        if learner.n_targets is None:
            return aligned(learner, model, probabilities)
        return _label_probabilities(learner, model, probabilities)
    labels = model.predict(part)
    labels = labels.toarray() if issparse(labels) else np.asarray(labels)
    labels = _shaped(labels, n_rows(part), learner.n_targets or 1)
    return np.hstack([np.eye(len(learner.classes))[_codes(y, learner.classes)] for y in labels.T])


def _shaped(values: Any, n_samples: int, n_columns: int) -> Any:
    """Predictions as (n, number of columns); one column may come as (n,)."""
    if values.size != n_samples * n_columns or len(values) != n_samples:
        raise ValueError(
            f"it predicts an array of shape {values.shape}, not ({n_samples}, {n_columns})"
        )
    return values.reshape(n_samples, n_columns)


def _label_probabilities(learner: Learner, model: Any, probabilities: Any) -> FloatArray:
    """Probabilities of the absence and the presence of each label, (n, 2 K).

    scikit-learn's classifiers return an array (n, number of classes) for each label, or one of the
    presence of each (n, K).
    """
    if isinstance(probabilities, list):
        pairs = [
            _in_order(learner, classes, of_label)
            for classes, of_label in zip(model.classes_, probabilities, strict=True)
        ]
    else:
        present = _shaped(np.asarray(probabilities), len(probabilities), learner.n_targets or 1)
        pairs = [np.column_stack([1.0 - of_label, of_label]) for of_label in present.T]
    if len(pairs) != learner.n_targets:
        raise ValueError(f"it predicts probabilities of {len(pairs)} labels")
    return np.hstack(pairs)


def aligned(learner: Learner, model: Any, probabilities: FloatArray) -> FloatArray:
    """A model's probabilities in the order of all classes, or the votes that they amount to.

    Classes that the model has not seen have probability 0.
    """
    return _in_order(learner, model.classes_, probabilities)


def _in_order(learner: Learner, classes: Any, probabilities: FloatArray) -> FloatArray:
    assert learner.classes is not None
    places, n_classes = _codes(classes, learner.classes), len(learner.classes)
    if learner.voting == "hard":
        return np.eye(n_classes)[places[probabilities.argmax(axis=1)]]
    shares = np.zeros((len(probabilities), n_classes))
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


# -- several outputs -------------------------------------------------------------------------------


def takes_outputs(estimator: Any, *, classifies: bool) -> bool | None:
    """Whether a base model takes y of shape (n, K); None if only its ``fit`` can tell.

    Parameters
    ----------
    estimator : estimator
    classifies : bool
        Whether the columns of y are labels, 0 or 1.
    """
    tags = get_tags(estimator)
    if tags.target_tags.multi_output or type(estimator).__name__ in UNTAGGED:
        return True
    if classifies and tags.classifier_tags is not None and tags.classifier_tags.multi_label:
        return True
    # Tags of searches and other models of models are often those of the outer model alone, and
    # other libraries may have none.
    is_plain = not any(hasattr(estimator, name) for name in ("estimator", "estimators", "steps"))
    return False if is_plain and type(estimator).__module__.startswith("sklearn.") else None


def remedy(estimator: Any, *, classifies: bool) -> str:
    """What to do with a base model that does not take several outputs, as a clause."""
    name, kind = type(estimator).__name__, "Classifier" if classifies else "Regressor"
    return (
        f"use sklearn.multioutput.MultiOutput{kind}({name}(...)) as the base model, or fit one "
        "model per column of y"
    )

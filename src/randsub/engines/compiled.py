"""What compiled engines share.

A compiled engine answers one question fast: the predictions of many models that differ only in
their columns. Everything else it leaves to the generic engine: model objects for the final
ensemble, constant models, data that it has not been made for.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.sparse import issparse

from randsub._sklearn import has_valid_params
from randsub._tables import (
    ScaledArray,
    as_table,
    frame_kind,
    numeric_columns,
    to_array,
)
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.base import Engine, Learner, is_one_class
from randsub.engines.generic import GenericEngine

# Numbers between data and predictions of fitted models, of one portion of rows.
PORTION = 2**18
# Rows of a portion are a multiple of this: BLAS works on blocks of rows, so the sums of a row have
# the same bits as if all rows were predicted at once.
BLOCK_OF_ROWS = 192


@dataclass(frozen=True)
class MaskBatch:
    """One training set, many masks, one set of queries.

    Parameters
    ----------
    columns : float64 ndarray of shape (M, n_train)
        The training rows, one contiguous line per column; columns that no mask holds are left out,
        here and in the masks. A copy that may be written to, like the query rows.
    targets : ndarray of shape (n_train,), or (n_train, K) if there are several outputs
        Numbers in regression, class numbers in classification.
    masks : bool ndarray of shape (T, M)
        None of them is empty.
    query : float64 ndarray of shape (M, n_query)
    seeds : int ndarray of shape (T,)
    weights : ndarray of shape (n_train,) or None
    """

    columns: FloatArray
    targets: Any
    masks: BoolArray
    query: FloatArray
    seeds: IntArray
    weights: FloatArray | None

    @cached_property
    def subsets(self) -> tuple[IntArray, IntArray]:
        """Where each mask's columns begin, (T + 1,), and the columns of all masks end to end."""
        places = np.flatnonzero(self.masks)
        begin = np.zeros(len(self.masks) + 1, dtype=np.int64)
        np.cumsum(np.count_nonzero(self.masks, axis=1), out=begin[1:])
        return begin, places.astype(np.int64) % self.masks.shape[1]

    def answers(self, learner: Learner, fill: float) -> FloatArray:
        """Room for the predictions (T, n_query, C)."""
        return np.full((len(self.masks), self.query.shape[1], learner.n_outputs), fill)


class Parameters(NamedTuple):
    """Parameters with which an engine reproduces an estimator.

    One that is in neither is one that nobody has thought about.

    Parameters
    ----------
    fixed : mapping
        Values that are reproduced, for parameters of which others are not.
    free : set
        Names of parameters that may have any value that scikit-learn accepts.
    """

    fixed: Mapping[str, Collection[Any]]
    free: Set[str]

    def obstacle(self, estimator: Any) -> str | None:
        """What is not reproduced of parameters that scikit-learn accepts, and the remedy."""
        known = self.free | self.fixed.keys()
        unknown = [name for name in estimator.get_params(deep=False) if name not in known]
        if unknown:
            return f"does not know the parameter {unknown[0]}"
        name = self._changed(estimator)
        if name is None:
            return None
        values = " or ".join(dict.fromkeys(repr(value) for value in self.fixed[name]))
        return f"does not support {name}={getattr(estimator, name)!r}; use {values}"

    def hold(self, estimator: Any) -> bool:
        """Whether the parameters that matter still have values that are reproduced."""
        return self._changed(estimator) is None

    def _changed(self, estimator: Any) -> str | None:
        """The first parameter that has another value."""
        for name, values in self.fixed.items():
            value = getattr(estimator, name, values)
            # Arrays are never among the values, and comparing them gives arrays.
            is_single = value is None or isinstance(value, str | Real | np.bool_)
            if value is not values and not (is_single and value in values):
                return name
        return None


class CompiledEngine(Engine):
    """An engine whose kernels run without the interpreter lock.

    Subclasses say what they reproduce, and implement :meth:`_predict`.
    """

    # Estimators that are reproduced, subclasses of which may do anything.
    reproduced: ClassVar[Mapping[type, Parameters]]

    prefers: ClassVar[Literal["threads", "processes"]] = "threads"
    # Whether several outputs, y of shape (n, K), are reproduced.
    takes_outputs: ClassVar[bool] = False
    # Whether equal masks give equal models, whatever their seeds.
    deterministic: ClassVar[bool] = True

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner)
        self._generic = GenericEngine(learner)

    @classmethod
    def knows(cls, estimator: Any) -> bool:
        """One of the estimators that are reproduced."""
        return type(estimator) in cls.reproduced

    @classmethod
    def is_usable_for(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> bool:
        """Whether there is no obstacle."""
        return cls.obstacle(estimator, X, y, sample_weight) is None

    @classmethod
    def obstacle(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> str | None:
        """The kind of the estimator, its parameters, or data other than arrays of numbers."""
        if not cls.knows(estimator):
            return f"does not train a {type(estimator).__name__}"
        if not has_valid_params(estimator):
            return "does not support parameters that scikit-learn refuses"
        return (
            cls.reproduced[type(estimator)].obstacle(estimator)
            or _obstacle_of_table(X)
            or _obstacle_of_targets(y, takes_outputs=cls.takes_outputs)
            or cls._obstacle(estimator, X, sample_weight)
        )

    @classmethod
    @abstractmethod
    def _obstacle(cls, estimator: Any, X: Table, sample_weight: FloatArray | None) -> str | None:
        """What else there is, given parameters that scikit-learn accepts."""

    @abstractmethod
    def _predict(self, batch: MaskBatch) -> FloatArray:
        """Predictions (T, n_query, C).

        Masks whose answer is not finite are left to the generic engine, which finds a better one
        or says why there is none.
        """

    def _answers(
        self,
        X_train: Table,
        targets: Any,
        masks: BoolArray,
        used: IntArray,
        X_query: Table,
        seeds: IntArray,
        weights: FloatArray | None,
    ) -> FloatArray:
        """Predictions (T, n_query, C) for masks over the columns that are used, none of them empty.

        The other parameters are those of :class:`MaskBatch`.
        """
        rows, query = lines(X_train, used), lines(X_query, used)
        return self._predict(MaskBatch(rows, targets, masks, query, seeds, weights))

    def _steps_aside(self, y_train: Any, sample_weight: FloatArray | None) -> bool:
        """Whether the generic engine should do it (or say why it cannot be done).

        The weights are those that reach the base model; None if none do.
        """
        return False

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
        """Each different mask once; empty ones and training sets of one class go another way."""
        classes = self.learner.classes
        passed = sample_weight if self.learner.passes_weight else None

        def left(which: Any) -> FloatArray:
            """Predictions of the generic engine."""
            rows, query = as_table(X_train), as_table(X_query)
            return self._generic.predict_many(
                rows, y_train, masks[which], query, seeds[which], sample_weight, fit_params
            )

        one_class = classes is not None and is_one_class(y_train)
        # Metadata for fit may mean anything; only fit itself knows what.
        if one_class or fit_params or self._steps_aside(y_train, passed):
            return left(slice(None))
        holds = np.any(masks, axis=1)
        if not holds.any():
            return np.repeat(left(slice(0, 1)), len(masks), axis=0)
        used = np.flatnonzero(np.any(masks, axis=0))
        targets = y_train if classes is None else np.searchsorted(classes, y_train)
        which, back = self._distinct(masks, np.flatnonzero(holds))
        # Rows first, and only what must be left out: picking cells one by one takes long.
        kept = masks if len(which) == len(masks) else masks[which]
        kept = kept if len(used) == masks.shape[1] else np.take(kept, used, axis=1)
        answers = self._answers(X_train, targets, kept, used, X_query, seeds[which], passed)
        if not is_finite(answers):
            failed = ~np.isfinite(answers).all(axis=(1, 2))
            answers[failed] = left(which[failed])
        if len(which) == len(masks):
            # With many rows, copies take longer than some models.
            return answers
        predictions = np.empty((len(masks), *answers.shape[1:]))
        predictions[holds] = answers[back]
        if not holds.all():
            predictions[~holds] = left(np.flatnonzero(~holds)[:1])
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
        """Real scikit-learn estimators, as the generic engine makes them."""
        return self._generic.fit_many(as_table(X), y, masks, seeds, sample_weight, fit_params)

    def predict_fitted(self, model: Any, X: Table) -> FloatArray | None:
        """Without scikit-learn's checks; models that a user has replaced answer for themselves."""
        is_ours = type(model) is type(self.learner.estimator)
        return self._predict_fitted(model, X) if is_ours and is_dense_numeric(X) else None

    @abstractmethod
    def _predict_fitted(self, model: Any, X: Table) -> FloatArray | None:
        """Prediction of a model of the right type, (n, C)."""

    def _distinct(self, masks: BoolArray, among: IntArray) -> tuple[IntArray, IntArray]:
        """First place of each different mask, and for each mask which of these it equals.

        Only masks in the places ``among`` are looked at.
        """
        if not self.deterministic:
            return among, np.arange(len(among))
        bits = np.packbits(masks if len(among) == len(masks) else masks[among], axis=1)
        numbers: dict[bytes, int] = {}
        back = [numbers.setdefault(line.tobytes(), len(numbers)) for line in bits]
        _, first = np.unique(back, return_index=True)
        return among[first], np.array(back)


def is_finite(values: FloatArray) -> bool:
    """Whether no value is NaN or infinite, without an array of answers if that is so."""
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum of numbers is finite unless one of them is not, or it is too large.
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def _obstacle_of_table(X: Table) -> str | None:
    if is_dense_numeric(X):
        return None
    if issparse(X):
        return "does not support sparse matrices; use X.toarray() if the memory allows it"
    return "supports columns of numbers only; encode the others"


def _obstacle_of_targets(y: Any, *, takes_outputs: bool) -> str | None:
    if takes_outputs or np.ndim(y) == 1:
        return None
    return "supports a single target; nearest neighbours have a compiled engine for several"


def is_dense_numeric(X: Table) -> bool:
    """Whether X is an array of real numbers, or a frame of nothing else."""
    if frame_kind(X) is not None:
        return bool(numeric_columns(X).all())
    return isinstance(X, np.ndarray | ScaledArray) and X.dtype.kind in "fiu"


def lines(X: Table, columns: IntArray | None = None) -> FloatArray:
    """Some columns of X, or all, as contiguous lines of a new array, (M, n)."""
    if columns is None:
        columns = np.arange(X.shape[1])
    if frame_kind(X) is not None:
        return np.array(to_array(X, columns).T, dtype=np.float64, order="C")
    return np.ascontiguousarray(np.take(X.T, columns, axis=0), dtype=np.float64)


def in_portions(
    predict: Callable[[FloatArray], FloatArray], X: Table, n_numbers: int
) -> FloatArray:
    """Predictions for all rows of X, a portion at a time.

    Parameters
    ----------
    predict : callable
        Takes rows of X as a float64 array, and returns predictions (n, C).
    X : (n, M)
    n_numbers : int
        Size of what lies between the data and the predictions, per row.
    """
    rows = lines(X).T
    size = -(-PORTION // max(n_numbers, 1) // BLOCK_OF_ROWS) * BLOCK_OF_ROWS
    # The last portion takes what is left over: a single row would be added up in another order.
    bounds = [*range(0, len(rows) // size * size, size), len(rows)]
    if len(bounds) <= 2:
        return predict(rows)
    return np.concatenate([predict(rows[a:b]) for a, b in pairwise(bounds)])

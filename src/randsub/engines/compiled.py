"""What compiled engines share.

A compiled engine answers one question fast: the predictions of many models that differ only in
their columns. Everything else it leaves to the generic engine: model objects for the final
ensemble, constant models, data that it has not been made for.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from randsub._tables import frame_kind, n_rows, numeric_columns, to_array
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.base import Engine, Learner
from randsub.engines.generic import GenericEngine, is_one_class


class CompiledEngine(Engine):
    """An engine whose kernels run without the interpreter lock.

    Subclasses say what they are usable for and implement :meth:`_predict`.
    """

    prefers: ClassVar[Literal["threads", "processes"]] = "threads"
    # Whether equal masks give equal models, whatever their seeds.
    deterministic: ClassVar[bool] = True

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner)
        self._generic = GenericEngine(learner)

    @abstractmethod
    def _predict(
        self,
        columns: FloatArray,
        targets: Any,
        masks: BoolArray,
        query: FloatArray,
        seeds: IntArray,
        sample_weight: FloatArray | None,
    ) -> FloatArray:
        """Predictions (T, n_query, C) for masks none of which is empty.

        Parameters
        ----------
        columns : float64 ndarray of shape (M, n_train)
            The training rows, one contiguous line a column; columns that no mask holds are left
            out, here and in the masks.
        targets : ndarray of shape (n_train,)
            Numbers in regression, class numbers in classification.
        masks : bool ndarray of shape (T, M)
        query : float64 ndarray of shape (M, n_query)
        seeds : int ndarray of shape (T,)
        sample_weight : ndarray of shape (n_train,) or None
        """

    def _steps_aside(self, y_train: Any) -> bool:
        """Whether the generic engine should do it (or say why it cannot be done)."""
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
        one_class = classes is not None and is_one_class(y_train)
        # Metadata for fit may mean anything; only fit itself knows what.
        if one_class or fit_params or self._steps_aside(y_train):
            return self._generic.predict_many(
                X_train, y_train, masks, X_query, seeds, sample_weight, fit_params
            )
        predictions = np.empty((len(masks), n_rows(X_query), self.learner.n_outputs))
        holds = np.any(masks, axis=1)
        if not holds.all():
            empty = ~holds
            predictions[empty] = self._generic.predict_many(
                X_train, y_train, masks[empty][:1], X_query, seeds[:1], sample_weight
            )
        if holds.any():
            used = np.flatnonzero(np.any(masks, axis=0))
            targets = y_train if classes is None else np.searchsorted(classes, y_train)
            which, back = self._distinct(masks[holds])
            answers = self._predict(
                _lines(X_train, used),
                targets,
                masks[holds][which][:, used],
                _lines(X_query, used),
                seeds[holds][which],
                sample_weight if self.learner.passes_weight else None,
            )
            predictions[holds] = answers[back]
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
        return self._generic.fit_many(X, y, masks, seeds, sample_weight, fit_params)

    def _distinct(self, masks: BoolArray) -> tuple[IntArray, IntArray]:
        """First place of each different mask, and for each mask which of these it equals."""
        if not self.deterministic:
            everyone = np.arange(len(masks))
            return everyone, everyone
        _, which, back = np.unique(
            np.packbits(masks, axis=1), axis=0, return_index=True, return_inverse=True
        )
        return which, back.reshape(-1)


def is_dense_numeric(X: Table) -> bool:
    """Whether X is an array of real numbers, or a frame of nothing else."""
    if frame_kind(X) is not None:
        return bool(numeric_columns(X).all())
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiu"


def sparse_rows(masks: BoolArray) -> tuple[IntArray, IntArray]:
    """Where each mask's columns begin, (T + 1,), and the columns of all masks end to end."""
    held = np.nonzero(masks)[1]
    begin = np.concatenate([[0], np.cumsum(masks.sum(axis=1))])
    return begin.astype(np.int64), held.astype(np.int64)


def _lines(X: Table, used: IntArray) -> FloatArray:
    part = to_array(X, used) if frame_kind(X) is not None else X[:, used]
    return np.ascontiguousarray(part.T, dtype=np.float64)

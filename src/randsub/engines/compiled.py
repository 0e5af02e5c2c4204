"""What compiled engines share.

A compiled engine answers one question fast: the predictions of many models that differ only in
their columns. Everything else it leaves to the generic engine: model objects for the final
ensemble, constant models, data that it has not been made for.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from randsub._tables import ScaledArray, frame_kind, n_rows, numeric_columns, to_array
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

        Masks whose answer is not finite are left to the generic engine, which finds a better one
        or says why there is none.

        Parameters
        ----------
        columns : float64 ndarray of shape (M, n_train)
            The training rows, one contiguous line a column; columns that no mask holds are left
            out, here and in the masks. A copy that may be written to, like the query rows.
        targets : ndarray of shape (n_train,)
            Numbers in regression, class numbers in classification.
        masks : bool ndarray of shape (T, M)
        query : float64 ndarray of shape (M, n_query)
        seeds : int ndarray of shape (T,)
        sample_weight : ndarray of shape (n_train,) or None
        """

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
        one_class = classes is not None and is_one_class(y_train)
        passed = sample_weight if self.learner.passes_weight else None
        # Metadata for fit may mean anything; only fit itself knows what.
        if one_class or fit_params or self._steps_aside(y_train, passed):
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
            which, back = self._distinct(masks, np.flatnonzero(holds))
            # Rows first, and only what must be left out: picking cells one by one takes long.
            kept = masks if len(which) == len(masks) else masks[which]
            kept = kept if len(used) == masks.shape[1] else np.take(kept, used, axis=1)
            answers = self._predict(
                lines(X_train, used),
                targets,
                kept,
                lines(X_query, used),
                seeds[which],
                passed,
            )
            finite = np.isfinite(answers)
            if not finite.all():
                failed = ~finite.all(axis=(1, 2))
                left = which[failed]
                answers[failed] = self._generic.predict_many(
                    X_train, y_train, masks[left], X_query, seeds[left], sample_weight
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

    def _distinct(self, masks: BoolArray, among: IntArray) -> tuple[IntArray, IntArray]:
        """First place of each different mask, and for each mask which of these it equals.

        Only masks in the places ``among`` are looked at.
        """
        if not self.deterministic:
            return among, np.arange(len(among))
        numbers: dict[bytes, int] = {}
        which: list[int] = []
        back: list[int] = []
        looked_at = masks if len(among) == len(masks) else masks[among]
        for place, bits in zip(among.tolist(), np.packbits(looked_at, axis=1), strict=True):
            number = numbers.setdefault(bits.tobytes(), len(numbers))
            if number == len(which):
                which.append(place)
            back.append(number)
        return np.array(which), np.array(back)


def is_dense_numeric(X: Table) -> bool:
    """Whether X is an array of real numbers, or a frame of nothing else."""
    if frame_kind(X) is not None:
        return bool(numeric_columns(X).all())
    return isinstance(X, np.ndarray | ScaledArray) and X.dtype.kind in "fiu"


def sparse_rows(masks: BoolArray) -> tuple[IntArray, IntArray]:
    """Where each mask's columns begin, (T + 1,), and the columns of all masks end to end."""
    places = np.flatnonzero(masks)
    begin = np.zeros(len(masks) + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(masks, axis=1), out=begin[1:])
    return begin, places.astype(np.int64) % masks.shape[1]


def lines(X: Table, columns: IntArray | None = None) -> FloatArray:
    """Some columns of X, or all, as contiguous lines of an array of their own, (M, n)."""
    if columns is None:
        columns = np.arange(X.shape[1])
    if frame_kind(X) is not None:
        return np.array(to_array(X, columns).T, dtype=np.float64, order="C")
    return np.ascontiguousarray(np.take(X.T, columns, axis=0), dtype=np.float64)

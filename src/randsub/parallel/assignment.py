"""What models are trained on: the data, and lists of subsets with the rows that they see."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from randsub._masks import as_sparse, renumbered
from randsub._sklearn import check_method_params
from randsub._tables import Selection
from randsub._typing import BoolArray, FloatArray, IntArray, Masks, Table
from randsub.exceptions import BaseModelError

# A table of up to this many columns is shown to the engine as it is.
NARROW = 50


@dataclass(frozen=True)
class Data:
    """All rows that models are trained on or asked about.

    Parameters
    ----------
    X : (n, M)
        Training rows.
    X_val : (n_val, M)
        Where validation rows are found; may be X itself.
    sample_weight : ndarray of shape (n,) or None
    fit_params : mapping, or sequence of mappings
        Metadata for the base model's ``fit``, or for that of each of several base models; anything
        as long as X is sliced along with it.
    origin : int ndarray of shape (M,), default=None
        Where one column of a mask stands for several of X: which one each belongs to.
    plain : pair of tables, default=None
        Where X and X_val are encoded: what they were before.
    shown_plain : collection of int, default=()
        Base models that see ``plain``; every column of it is one of a mask.
    """

    X: Table
    X_val: Table
    sample_weight: FloatArray | None
    fit_params: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    origin: IntArray | None = None
    plain: tuple[Table, Table] | None = None
    shown_plain: Collection[int] = ()

    def tables(self, base: int) -> tuple[Table, Table]:
        """X and X_val, as a base model sees them."""
        if self.plain is not None and base in self.shown_plain:
            return self.plain
        return self.X, self.X_val

    def origin_of(self, base: int) -> IntArray | None:
        """Column of a mask that each column belongs to, if a base model sees more than these."""
        return None if base in self.shown_plain else self.origin

    def part(
        self, rows: IntArray, columns: IntArray, base: int = 0
    ) -> tuple[Selection, FloatArray | None, dict[str, Any]]:
        """Some columns of X, weights and metadata for a base model, of some training rows."""
        X, _ = self.tables(base)
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        params = check_method_params(X, dict(self.metadata(base)), indices=rows)
        return Selection(((X, rows),), columns), weight, params

    def metadata(self, base: int) -> Mapping[str, Any]:
        """What the ``fit`` of a base model is given, of all rows."""
        given = self.fit_params
        return given if isinstance(given, Mapping) else given[base]

    def query(
        self, rows: IntArray, val_rows: IntArray, columns: IntArray, base: int = 0
    ) -> Selection:
        """Some columns of held-out rows, then of validation rows, for a base model."""
        X, X_val = self.tables(base)
        if len(val_rows) == 0:
            return Selection(((X, rows),), columns)
        return Selection(((X, rows), (X_val, val_rows)), columns)

    def expanded(self, assignment: "Assignment") -> "Assignment":
        """An assignment whose masks hold the columns that its base model sees."""
        origin = self.origin_of(assignment.base)
        return (
            assignment if origin is None else replace(assignment, masks=assignment.masks[:, origin])
        )

    def located(self, error: BaseModelError, base: int) -> BaseModelError:
        """An error about columns that a base model sees, in terms of those of masks."""
        origin = self.origin_of(base)
        return error if origin is None else error.among(origin.tolist()).once()


@dataclass(frozen=True)
class Rows:
    """Which rows models are trained on and asked about.

    Parameters
    ----------
    targets : ndarray of shape (n_train,)
        Targets of the training rows.
    train, query, val : int ndarrays
        Training rows and held-out rows of X, and rows of X_val.
    base : int
        Which of the base models is trained.
    """

    targets: Any
    train: IntArray
    query: IntArray
    val: IntArray
    base: int = 0

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        return sum(np.asarray(part).nbytes for part in (self.targets, self.train, self.query))


@dataclass(frozen=True)
class Assignment:
    """Models of one kind to train on the same rows and to ask about the same rows.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Targets of all training rows.
    train_rows, query_rows, val_rows : int ndarrays
    masks : bool ndarray or csr_array of shape (T, n_columns)
    seeds : int ndarray of shape (T,)
    base : int
        Which of the base models is trained.
    """

    y: Any
    train_rows: IntArray
    query_rows: IntArray
    val_rows: IntArray
    masks: Masks
    seeds: IntArray
    base: int = 0

    @property
    def n_queries(self) -> int:
        """Number of rows that each model is asked about."""
        return len(self.query_rows) + len(self.val_rows)

    @property
    def rows(self) -> Rows:
        """The rows, with the targets of those that train."""
        return Rows(
            self.y[self.train_rows], self.train_rows, self.query_rows, self.val_rows, self.base
        )

    def pieces(
        self, number: int, size: int, begin: int = 0, end: int | None = None
    ) -> Iterator["Piece"]:
        """Pieces of at most ``size`` models; ``number`` is that of the assignment.

        ``begin`` and ``end`` are those of a part of its models, by default all.
        """
        masks, n_masks = as_sparse(self.masks), self.masks.shape[0]
        end = n_masks if end is None else min(end, n_masks)
        for start in range(begin, end, size):
            stop = min(start + size, end)
            part = masks if stop - start == n_masks else masks[start:stop]
            yield Piece(number, *shown(part), self.seeds[start:stop])


class Piece(NamedTuple):
    """Models of one assignment, by its number, that are trained in one go.

    Parameters
    ----------
    number : int
    columns : int ndarray of shape (m,)
        Columns that the engine sees: those that some mask holds, of 20,000 perhaps a hundred.
    masks : bool ndarray of shape (T, m)
        Over these columns.
    seeds : int ndarray of shape (T,)
    """

    number: int
    columns: IntArray
    masks: BoolArray
    seeds: IntArray


def shown(masks: csr_array) -> tuple[IntArray, BoolArray]:
    """Columns that an engine must see, and the masks over these."""
    n_masks, n_columns = masks.shape
    columns, places = np.arange(n_columns), masks.indices
    if n_columns > NARROW:
        columns, places = renumbered(masks.indices, n_columns)
    dense = np.zeros((n_masks, len(columns)), dtype=bool)
    dense[np.repeat(np.arange(n_masks), np.diff(masks.indptr)), places] = True
    return columns, dense

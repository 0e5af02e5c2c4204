"""Rows that a model was trained on, recognised when they are given as new ones.

A fitted model keeps a digest of 64 bits for each of them: 8 bytes per row, from which no value can
be read. Of very many rows it keeps the smallest digests. Which rows are remembered then depends on
their values alone, so that the same share of any other table can be looked up.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from randsub._hashing import is_missing, named_arrays
from randsub._tables import (
    frame_kind,
    is_column_file,
    n_rows,
    numeric_columns,
    row_portions,
    take_columns,
    take_rows,
    to_array,
)
from randsub._typing import BoolArray, IntArray, Table
from randsub.estimators.fit_data import Given

# 1.6 MB.
MOST = 200_000
# By so many standard deviations there must be more known rows than chance explains.
SURPRISE = 3.0


@dataclass(frozen=True)
class KnownRows:
    """Which rows of a table a model was trained on.

    Parameters
    ----------
    is_known : bool ndarray of shape (n,)
    n_checked : int
        Number of rows that would have been recognised: n, unless the training data is very large.
    """

    is_known: BoolArray
    n_checked: int

    @property
    def new(self) -> IntArray:
        """Rows that can be called new; none if only some rows were checked, and some are known."""
        if self.is_known.any() and self.n_checked < len(self.is_known):
            return np.arange(0)
        return np.flatnonzero(~self.is_known)

    def __str__(self) -> str:
        n, n_known = len(self.is_known), int(self.is_known.sum())
        if self.n_checked < n:
            return (
                f"{n_known:,} of the {self.n_checked:,} rows that can be looked up are training "
                f"rows (there are {n:,}, but of very large training data only some are remembered)"
            )
        if n_known == n:
            return "the only row is a training row" if n == 1 else f"all {n:,} are training rows"
        return f"{n_known:,} of {n:,} rows {'is a' if n_known == 1 else 'are'} training row" + (
            "" if n_known == 1 else "s"
        )


@dataclass(frozen=True)
class TrainingRows:
    """Digests of the rows that a model was trained on or validated with.

    Parameters
    ----------
    digests : uint64 ndarray of shape (k,)
        Those of different rows, ascending; the smallest ones, if there are more than ``MOST``.
    is_complete : bool
        Whether these are all.
    n_rows, total : int
        Number of training rows, and the sum of their digests modulo 2^64.
    repeated : float
        Share of the training rows that are equal to another one. New rows are, too: by chance about
        as many of them equal a training row.
    """

    digests: Any
    is_complete: bool
    n_rows: int
    total: int
    repeated: float

    @classmethod
    def of(cls, X: Any, y: Any) -> Self:
        """Remember rows (n, M) with their targets (n,)."""
        return cls._of(row_digests(X, y))

    @classmethod
    def given(cls, data: Given) -> Self | None:
        """Those of a fit; None if X is a large file of columns, whose rows would take long to read.

        Rows of weight 0 do not count; rows of validation data do.
        """
        samples, validation = data.samples, data.validation
        if is_column_file(samples.X) or (validation is not None and is_column_file(validation.X)):
            return None
        trained = row_digests(samples.X, samples.y)[samples.rows]
        if validation is None:
            return cls._of(trained)
        return cls._of(trained, row_digests(validation.X, validation.y)[validation.rows])

    @classmethod
    def _of(cls, trained: Any, *others: Any) -> Self:
        _, counts = np.unique(trained, return_counts=True)
        distinct = np.unique(np.concatenate([trained, *others]))
        return cls(
            digests=distinct[:MOST],
            is_complete=len(distinct) <= MOST,
            n_rows=len(trained),
            total=int(trained.sum(dtype=np.uint64)),
            repeated=float(counts[counts > 1].sum() / len(trained)),
        )

    def among(self, X: Any, y: Any) -> KnownRows:
        """Look for these rows in another table.

        In data of few different values, new rows may equal training rows by chance. They are taken
        for training rows only if there are more of them than among the training rows themselves.

        Parameters
        ----------
        X : {ndarray, sparse matrix, data frame} of shape (n, M)
            Columns in the order of the fit.
        y : array-like of shape (n,)
        """
        asked = row_digests(X, y)
        is_checked = self.is_complete | (asked <= self.digests[-1])
        is_known = is_checked & np.isin(asked, self.digests)
        n_checked, share = int(is_checked.sum()), self.repeated
        chance = n_checked * share + SURPRISE * np.sqrt(n_checked * share * (1.0 - share))
        is_all = (len(asked), int(asked.sum(dtype=np.uint64))) == (self.n_rows, self.total)
        if is_known.sum() <= chance and not is_all:
            is_known = np.zeros_like(is_known)
        return KnownRows(is_known, n_checked)


def remembered(model: Any) -> TrainingRows | None:
    """The training rows of a fitted model; None if it does not remember them.

    Models of other types do not, nor do those of earlier versions of this library.
    """
    return getattr(model, "_training_rows", None)


# -- digests ---------------------------------------------------------------------------------------


def row_digests(X: Table, y: Any) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """A number for each row of a table with its target; equal rows have the same one.

    Numbers count by their value in single precision, so that a row is recognised in a file with
    fewer digits. Names do not count, nor does the library of a frame. A sparse matrix has other
    digests than an array with the same values.

    Parameters
    ----------
    X : {ndarray, sparse matrix, data frame} of shape (n, M)
        Read in portions.
    y : array-like of shape (n,)

    Returns
    -------
    digests : uint64 ndarray of shape (n,)
    """
    digests, y = [], np.asarray(y)
    for portion in row_portions(n_rows(X), max(1, X.shape[1])):
        rows = np.arange(portion.start, portion.stop)
        target = y[rows].reshape(len(rows), -1)
        for cells in zip(*_cells(take_rows(X, rows)), *_cells(target), strict=True):
            digest = hashlib.blake2b(digest_size=8)
            for values in cells:
                digest.update(values)
            digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _cells(table: Any) -> Iterator[Iterable[Any]]:
    """The rows of a table as contiguous arrays: those of its numbers, and those of the others."""
    if issparse(table):
        rows = csr_array(table)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        yield np.split(rows.indices.astype("<i8"), rows.indptr[1:-1])
        yield np.split(_singles(rows.data), rows.indptr[1:-1])
        return
    if frame_kind(table) is None:
        is_number = np.full(table.shape[1], table.dtype.kind in "biuf")
    else:
        is_number = numeric_columns(table)
    numbers, others = np.flatnonzero(is_number), np.flatnonzero(~is_number)
    if len(numbers):
        columns = take_columns(table, numbers)
        is_frame = frame_kind(table) is not None
        yield _singles(to_array(columns, np.arange(len(numbers))) if is_frame else columns)
    if len(others):
        columns = take_columns(table, others)
        if frame_kind(columns) is None:
            yield np.stack([_text_digests(column) for column in columns.T], axis=1)
        else:
            arrays = [values for _, values in named_arrays(columns)]
            yield np.stack([_text_digests(values) for values in arrays], axis=1)


def _singles(values: Any) -> np.ndarray[Any, Any]:
    """Numbers in single precision, with one zero and one NaN."""
    with np.errstate(over="ignore"):
        singles = np.ascontiguousarray(values, dtype="<f4") + np.float32(0.0)
    singles[np.isnan(singles)] = np.nan
    return singles


def _text_digests(values: Any) -> np.ndarray[Any, Any]:
    texts = ["" if is_missing(value) else str(value) for value in values.tolist()]
    codes, distinct = pd.factorize(np.array(texts, dtype=object))
    found = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in distinct]
    return np.frombuffer(b"".join(found), dtype="<u8")[codes]

"""A start for alpha from what single columns say of the targets.

A column that says much alone is drawn more often at the start, by the rank of what it explains, and
the others at least three quarters as often as they would be, so that what has an effect only beside
other columns is not given up. Noise that agrees with the targets by chance starts higher, too;
alpha is learned from there on.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.stats import rankdata

from randsub._tables import frame_kind, numeric_columns, row_portions, take_cells, to_array
from randsub._typing import BoolArray, FloatArray, IntArray, Table

# Share of the expected size of a subset that is given by rank, and the power of the rank.
SHARE, POWER = 0.5, 0.5
# No feature starts above.
HIGHEST = 0.5
# Of more rows some are enough to rank columns by.
MOST_ROWS = 10_000
# A smaller part of the mean square is a rounding error, and not a variance.
ROUNDING = 1e-12


def ranked_alpha(level: FloatArray, explained: FloatArray) -> FloatArray:
    """Alpha (M,) with about the same sum as ``level``, higher where more is explained."""
    weights = rankdata(-explained, method="average") ** -POWER
    weights /= weights.mean()
    raised = level * (1.0 - SHARE + SHARE * weights)
    return np.minimum(raised, np.maximum(level, HIGHEST))


def explained_alone(
    X: Table,
    targets: FloatArray,
    splits: Sequence[IntArray],
    weight: FloatArray,
    parameters: IntArray,
    n_parameters: int,
    *,
    are_classes: bool,
) -> FloatArray:
    """Largest share of the targets' variance that one column of each parameter explains, linearly.

    Parameters
    ----------
    X : table of shape (n, n_columns)
        Read once for all splits, in portions. Columns of a frame that are neither numbers nor true
        or false explain nothing; a missing value counts as the mean.
    targets : ndarray of shape (n, C)
        Numbers, or indicators of classes.
    splits : sequence of R int ndarrays
        Rows to use in each split; some of them, always the same, if there are many.
    weight : ndarray of shape (n,)
    parameters : int ndarray of shape (n_columns,)
        The parameter, a feature or a group of them, of each column.
    n_parameters : int
    are_classes : bool
        Whether the targets are indicators.

    Returns
    -------
    explained : ndarray of shape (R, n_parameters)
    """
    columns: IntArray = np.arange(X.shape[1])
    if frame_kind(X) is not None:
        columns = np.flatnonzero(numeric_columns(X) | _true_or_false(X))
    rows = np.unique(np.concatenate(splits))
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    # Rows that a split does not use have no share in it: (R, n).
    copies = np.stack([np.bincount(split, minlength=len(weight))[rows] for split in splits])
    shares = weight[rows] * copies
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    told = _told(targets[rows], shares, are_classes=are_classes)
    found = np.zeros((len(splits), n_parameters))
    if issparse(X):
        # By columns, so that a portion of them costs its own numbers alone.
        X = X.tocsc()
    # Portions of columns: what is a row there is a column here.
    for part in row_portions(len(columns), len(rows)):
        explained = _explained(*_numbers(X, rows, columns[part]), shares, told)
        for of_split, best in zip(explained, found, strict=True):
            np.maximum.at(best, parameters[columns[part]], of_split)
    return found


def _told(targets: FloatArray, shares: FloatArray, *, are_classes: bool) -> FloatArray:
    """Targets as deviations from the mean of a split, in units of it, times the shares: (R, C, n).

    The sum over classes of what indicators have in common with a column, by their frequency, is the
    variance between the classes.
    """
    mean = shares @ targets
    centred = targets.T - mean[:, :, np.newaxis]
    scale = mean if are_classes else (centred**2 @ shares[:, :, np.newaxis])[:, :, 0]
    units = np.sqrt(scale)[:, :, np.newaxis]
    told = np.divide(centred, units, out=np.zeros_like(centred), where=units > 0.0)
    return told * shares[:, np.newaxis, :]


def _explained(cells: Any, unknown: Any, shares: FloatArray, told: FloatArray) -> FloatArray:
    """Shares of the variance that columns explain in each split, (R, m).

    ``cells`` (n, m) are 0 where they are unknown; ``unknown`` is 1 there, or None.
    """
    n_splits, n_targets, n_rows = told.shape
    sums, squares = (cells.T @ shares.T).T, (cells.power(2) if issparse(cells) else cells**2)
    common = (cells.T @ told.reshape(-1, n_rows).T).T.reshape(n_splits, n_targets, -1)
    total = 1.0
    if unknown is not None:
        total = 1.0 - (unknown.T @ shares.T).T
        lost = (unknown.T @ told.reshape(-1, n_rows).T).T.reshape(n_splits, n_targets, -1)
    mean = np.divide(sums, total, out=np.zeros_like(sums), where=np.asarray(total) > 0.0)
    if unknown is not None:
        # What is told adds up to nothing over all rows, so over known ones to less than nothing.
        common += mean[:, np.newaxis] * lost
    second = (squares.T @ shares.T).T
    variance = second - mean * sums
    varies = variance > ROUNDING * second
    return np.divide((common**2).sum(axis=1), variance, out=np.zeros_like(sums), where=varies)


def _true_or_false(frame: Table) -> BoolArray:
    """Which columns are booleans, none of them missing."""
    if frame_kind(frame) == "pandas":
        return np.array([dtype == np.dtype(bool) for dtype in frame.dtypes], dtype=bool)
    import polars as pl

    return np.array(
        [one.dtype == pl.Boolean and not one.null_count() for one in frame.get_columns()],
        dtype=bool,
    )


def _numbers(X: Table, rows: IntArray, columns: IntArray) -> tuple[Any, Any]:
    """Some cells of a table, 0 where they are unknown, and where that is, if anywhere.

    Both are sparse if the table is. Others are about their mean, so that nothing is lost where it
    is large.
    """
    cells = take_cells(X, rows, columns)
    if issparse(cells):
        cells = cells.astype(np.float64)
        if np.isfinite(cells.data).all():
            return cells, None
        unknown = cells.copy()
        unknown.data = (~np.isfinite(cells.data)).astype(np.float64)
        cells.data[unknown.data > 0.0] = 0.0
        return cells, unknown
    if frame_kind(cells) is not None:
        cells = to_array(cells, np.arange(cells.shape[1]))
    cells = np.array(cells, dtype=np.float64)
    is_unknown = ~np.isfinite(cells)
    cells[is_unknown] = 0.0
    cells -= cells.sum(axis=0) / np.maximum(len(cells) - is_unknown.sum(axis=0), 1)
    cells[is_unknown] = 0.0
    return cells, is_unknown.astype(np.float64) if is_unknown.any() else None

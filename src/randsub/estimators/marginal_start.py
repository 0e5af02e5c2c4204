"""A start for alpha from what single columns say of the targets.

A column that says much alone is drawn more often at the start, by the rank of what it explains, and
the others nearly as often as they would be, so that what has an effect only beside other columns is
not given up. Noise that agrees with the targets by chance starts higher, too; alpha is learned from
there on.
"""

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


def ranked_alpha(level: FloatArray, explained: FloatArray) -> FloatArray:
    """Alpha (M,) with about the same sum as ``level``, higher where more is explained."""
    weights = rankdata(-explained, method="average") ** -POWER
    weights /= weights.mean()
    raised = level * (1.0 - SHARE + SHARE * weights)
    return np.minimum(raised, np.maximum(level, HIGHEST))


def explained_alone(
    X: Table,
    targets: FloatArray,
    rows: IntArray,
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
        Read in portions. Columns of a frame that are neither numbers nor true or false explain
        nothing; a missing value counts as the mean.
    targets : ndarray of shape (n, C)
        Numbers, or indicators of classes.
    rows : int ndarray
        Rows to use; some of them, always the same, if there are many.
    weight : ndarray of shape (n,)
    parameters : int ndarray of shape (n_columns,)
        The parameter, a feature or a group of them, of each column.
    n_parameters : int
    are_classes : bool
        Whether the targets are indicators.
    """
    columns: IntArray = np.arange(X.shape[1])
    if frame_kind(X) is not None:
        columns = np.flatnonzero(numeric_columns(X) | _true_or_false(X))
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    shares = weight[rows] / weight[rows].sum()
    centred = targets[rows] - shares @ targets[rows]
    # The sum over classes of what indicators have in common with a column, by their frequency, is
    # the variance between the classes.
    scale = shares @ targets[rows] if are_classes else shares @ centred**2
    told = np.divide(centred, np.sqrt(scale), out=np.zeros_like(centred), where=scale > 0.0)
    found = np.zeros(n_parameters)
    # Portions of columns: what is a row there is a column here.
    for part in row_portions(len(columns), len(rows)):
        cells = _numbers(X, rows, columns[part])
        known = np.isfinite(cells)
        cells = np.where(known, cells, 0.0)
        total = shares @ known
        mean = np.divide(shares @ cells, total, out=np.zeros(len(total)), where=total > 0.0)
        cells = np.where(known, cells - mean, 0.0)
        common = np.square(cells.T @ (shares[:, np.newaxis] * told)).sum(axis=1)
        variance = shares @ cells**2
        explained = np.divide(common, variance, out=np.zeros(len(common)), where=variance > 0.0)
        np.maximum.at(found, parameters[columns[part]], explained)
    return found


def _true_or_false(frame: Table) -> BoolArray:
    """Which columns are booleans, none of them missing."""
    if frame_kind(frame) == "pandas":
        return np.array([dtype == np.dtype(bool) for dtype in frame.dtypes], dtype=bool)
    import polars as pl

    return np.array(
        [one.dtype == pl.Boolean and not one.null_count() for one in frame.get_columns()],
        dtype=bool,
    )


def _numbers(X: Table, rows: IntArray, columns: IntArray) -> FloatArray:
    """Some cells of a table, as an array of doubles."""
    cells = take_cells(X, rows, columns)
    if frame_kind(cells) is not None:
        cells = to_array(cells, np.arange(cells.shape[1]))
    return np.asarray(cells.toarray() if issparse(cells) else cells, dtype=np.float64)

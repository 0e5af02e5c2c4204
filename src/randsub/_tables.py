"""Arrays, sparse matrices and data frames, in one vocabulary.

The base model receives what the user gave: a slice of a frame is a frame with its names and
dtypes, a slice of a sparse matrix is sparse. Selecting always copies, so that a base model that
writes into its input cannot reach ours, even when it sees every column.
"""

import sys
from typing import Any, Literal

import numpy as np
from scipy import sparse

from randsub._typing import BoolArray, IntArray, Table


def frame_kind(X: Table) -> Literal["pandas", "polars"] | None:
    """Which library's frame X is, if it is one."""
    for kind in ("pandas", "polars"):
        library = sys.modules.get(kind)
        if library is not None and isinstance(X, library.DataFrame):
            return kind
    return None


def exact_floats() -> dict[str, Any]:
    """What makes pandas read the numbers of a text as they were written; its own way from 3 on."""
    import pandas as pd

    return {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}


def take_rows(X: Table, rows: IntArray) -> Table:
    """Some rows of X, as a copy."""
    return X.iloc[rows] if frame_kind(X) == "pandas" else X[rows]


def take_columns(X: Table, columns: IntArray) -> Table:
    """Some columns of X, as a copy; none of them gives an array of shape (n, 0)."""
    if len(columns) == 0:
        return np.empty((n_rows(X), 0))
    match frame_kind(X):
        case "pandas":
            return X.iloc[:, columns]
        case "polars":
            return X[:, columns.tolist()]
        case _:
            return X[:, columns]


def take_cells(X: Table, rows: IntArray, columns: IntArray) -> Table:
    """Some rows of some columns of X, as a copy that is never wider than it must be."""
    if isinstance(X, np.ndarray) and len(columns):
        return X[rows[:, np.newaxis], columns]
    part = take_columns(X, columns)
    return part[rows] if isinstance(part, np.ndarray) else take_rows(part, rows)


def stack_rows(above: Table, below: Table) -> Table:
    """One table with the rows of two."""
    match frame_kind(above):
        case "pandas":
            return sys.modules["pandas"].concat([above, below])
        case "polars":
            # Whole numbers above and fractions below are no reason to refuse.
            return sys.modules["polars"].concat([above, below], how="vertical_relaxed")
    if sparse.issparse(above):
        return sparse.vstack([above, below], format="csr")
    return np.concatenate([above, below])


def n_rows(X: Table) -> int:
    """Number of rows."""
    return int(X.shape[0])


def numeric_columns(frame: Table) -> BoolArray:
    """Which columns of a frame hold numbers; truth values are none."""
    if frame_kind(frame) == "polars":
        return np.array([dtype.is_numeric() for dtype in frame.dtypes], dtype=bool)
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return np.array([is_numeric_dtype(d) and not is_bool_dtype(d) for d in frame.dtypes], bool)


def to_array(frame: Table, columns: IntArray) -> Any:
    """Numeric columns of a frame as an array; missing values become NaN."""
    part = take_columns(frame, columns)
    # Nullable extension dtypes of pandas have no numpy type of their own.
    if frame_kind(part) == "pandas" and any(not isinstance(d, np.dtype) for d in part.dtypes):
        return part.to_numpy(dtype=float, na_value=np.nan)
    array = np.asarray(part)
    # Truth values with gaps (polars) or beside numbers (pandas) come as objects.
    return array.astype(float) if array.dtype == object else array


def replace_columns(frame: Table, columns: IntArray, values: Any) -> Table:
    """The frame with some of its columns replaced by those of an array; single precision stays."""
    if frame_kind(frame) == "polars":
        import polars as pl

        series = [pl.Series(frame.columns[j], values[:, k]) for k, j in enumerate(columns)]
        single = [frame.dtypes[j] == pl.Float32 for j in columns]
        return frame.with_columns(
            [s.cast(pl.Float32) if f else s for s, f in zip(series, single, strict=True)]
        )
    import pandas as pd

    # By position: names need not be strings, nor sortable among each other.
    replaced = pd.DataFrame(values, index=frame.index, columns=columns)
    # Asked once: a frame makes the list of its types anew each time.
    types = frame.dtypes.to_numpy()
    single = [j for j in columns if types[j] == np.float32]
    if single and values.dtype != np.float32:
        replaced = replaced.astype(dict.fromkeys(single, np.float32))
    others = np.setdiff1d(np.arange(frame.shape[1]), columns)
    if len(others):
        kept = frame.iloc[:, others].set_axis(others, axis=1)
        replaced = pd.concat([kept, replaced], axis=1)
    return replaced[list(range(frame.shape[1]))].set_axis(frame.columns, axis=1)

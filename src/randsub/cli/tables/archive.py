"""Arrays in an .npz file: X with, where they are there, y and names.

The layout is that of the loaders in :mod:`randsub.datasets`.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from randsub.cli.tables.delimited import check_unique
from randsub.cli.tables.kinds import TableError
from randsub.datasets.folder import read_arrays
from randsub.exceptions import DatasetFormatError

# The output's name where a file does not say it.
TARGET = "y"
_OPTIONAL = (
    "y",
    "feature_names",
    "target_name",
    "is_categorical",
    "category_levels_json",
    "row_names",
)


def read_archive(path: Path) -> pd.DataFrame:
    """X (n, M) as a frame, with y (n,) as its last column."""
    try:
        arrays = read_arrays(path, ["X"], _OPTIONAL)
    except DatasetFormatError as error:
        raise TableError(
            path, f"{error.reason}; an .npz file should hold X (rows, columns), y and feature_names"
        ) from error
    X = arrays["X"]
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "biuf":
        raise TableError(
            path,
            f"X should be a matrix of numbers, and is of shape {X.shape} and type {X.dtype}",
        )
    n_rows, n_columns = X.shape
    names = [f"x{j}" for j in range(n_columns)]
    if "feature_names" in arrays:
        names = [str(name) for name in _column(path, arrays, "feature_names", n_columns)]
    target = str(arrays.get("target_name", TARGET))
    check_unique(path, [*names, target] if "y" in arrays else names)
    frame = pd.DataFrame(X, columns=pd.Index(names))
    if "row_names" in arrays:
        frame.index = pd.Index(_column(path, arrays, "row_names", n_rows).astype(str))
    frame = _with_categories(path, frame, arrays)
    if "y" in arrays:
        frame[target] = _column(path, arrays, "y", n_rows)
    return frame


def _column(path: Path, arrays: dict[str, NDArray[Any]], name: str, length: int) -> NDArray[Any]:
    array = arrays[name]
    if array.shape != (length,):
        raise TableError(path, f"{name} should have {length} entries, and has shape {array.shape}")
    return array


def _with_categories(
    path: Path, frame: pd.DataFrame, arrays: dict[str, NDArray[Any]]
) -> pd.DataFrame:
    """Codes of categories as their names."""
    if "is_categorical" not in arrays:
        return frame
    coded = _column(path, arrays, "is_categorical", frame.shape[1]).astype(bool)
    try:
        levels = json.loads(str(arrays.get("category_levels_json", "{}")))
        columns = {name: _named(frame[name], levels[name]) for name in frame.columns[coded]}
    except (ValueError, TypeError, KeyError) as error:
        raise TableError(
            path, f"category_levels_json does not list the levels of its categories ({error})"
        ) from error
    return frame.assign(**columns)


def _named(codes: "pd.Series[Any]", levels: Any) -> Any:
    return pd.Categorical.from_codes(codes.astype(int), pd.Index([str(name) for name in levels]))

"""Tables in .npz files: X and, optionally, y and the names of columns, rows and categories."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from randsub.cli.tables.delimited_text import check_unique
from randsub.cli.tables.file_formats import TableError
from randsub.datasets.npz import read_arrays
from randsub.exceptions import DatasetFormatError

# Name of the target if the file does not tell it.
TARGET = "y"
_OPTIONAL = (
    "y",
    "feature_names",
    "target_name",
    "is_categorical",
    "category_levels_json",
    "row_names",
)


def read_npz(path: Path) -> pd.DataFrame:
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
            path, f"X should be a matrix of numbers, but has shape {X.shape} and type {X.dtype}"
        )
    n_rows, n_columns = X.shape
    names = [f"x{j}" for j in range(n_columns)]
    if "feature_names" in arrays:
        names = [str(name) for name in _vector(path, arrays, "feature_names", n_columns)]
    target = str(arrays.get("target_name", TARGET))
    check_unique(path, [*names, target] if "y" in arrays else names)
    frame = pd.DataFrame(X, columns=pd.Index(names))
    if "row_names" in arrays:
        frame.index = pd.Index(_vector(path, arrays, "row_names", n_rows).astype(str))
    if "is_categorical" in arrays:
        coded = _vector(path, arrays, "is_categorical", n_columns).astype(bool)
        frame = _with_category_names(path, frame, frame.columns[coded], arrays)
    if "y" in arrays:
        frame[target] = _vector(path, arrays, "y", n_rows)
    return frame


def _vector(path: Path, arrays: dict[str, NDArray[Any]], name: str, length: int) -> NDArray[Any]:
    array = arrays[name]
    if array.shape != (length,):
        raise TableError(path, f"{name} should have {length} entries, but has shape {array.shape}")
    return array


def _with_category_names(
    path: Path, frame: pd.DataFrame, coded: Any, arrays: dict[str, NDArray[Any]]
) -> pd.DataFrame:
    """The frame with the codes of categories replaced by their names."""
    try:
        levels = json.loads(str(arrays.get("category_levels_json", "{}")))
        columns = {
            name: pd.Categorical.from_codes(
                frame[name].astype(int), pd.Index(map(str, levels[name]))
            )
            for name in coded
        }
    except (ValueError, TypeError, KeyError) as error:
        raise TableError(
            path, f"category_levels_json does not list the levels of its categories ({error})"
        ) from error
    return frame.assign(**columns)

"""A table of numbers and categories, whatever it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from randsub._typing import BoolArray, FloatArray
from randsub.datasets.folder import check_column
from randsub.exceptions import DatasetFormatError

TASK = [StrOptions({"regression", "classification"}), None]


@dataclass(frozen=True, eq=False)
class TabularDataset:
    """A table of numbers and categories, and what is to be predicted.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_columns), float
        Numbers, and for categorical columns the positions of the levels in `levels`.
    y : ndarray of shape (n_samples,)
        Output: float in regression, the classes in classification.
    name : str
    task : {"regression", "classification"}
    feature_names : tuple of str, of length n_columns
    is_categorical : ndarray of shape (n_columns,), bool
        Which columns hold categories.
    levels : mapping of str to tuple of str
        Names of the levels of each categorical column.
    target_name : str
    """

    X: FloatArray
    y: NDArray[Any]
    name: str
    task: str
    feature_names: tuple[str, ...]
    is_categorical: BoolArray
    levels: Mapping[str, tuple[str, ...]]
    target_name: str

    def __repr__(self) -> str:
        return (
            f"TabularDataset({self.name!r}, {self.task}, shape={self.X.shape}, "
            f"n_categorical={int(self.is_categorical.sum())})"
        )


def guess_task(y: NDArray[Any]) -> str:
    """The task where nothing else says it: a floating type is a regression."""
    return "regression" if y.dtype.kind == "f" else "classification"


def check_target(path: Path | str, y: NDArray[Any], length: int, task: str) -> NDArray[Any]:
    """The output, checked; as float64 in regression."""
    y = check_column(path, "the output", y, length)
    if y.dtype.kind not in "biufUS":
        raise DatasetFormatError(path, f"the output should be numbers or labels, not {y.dtype}")
    if task == "classification":
        return y
    if y.dtype.kind not in "biuf":
        raise DatasetFormatError(path, f"a regression needs numbers as output, not {y.dtype}")
    return y.astype(np.float64)


def from_frame(
    source: Path | str, frame: pd.DataFrame, target: pd.Series, name: str, task: str | None
) -> TabularDataset:
    """A frame as numbers and codes: columns that are no numbers are categories."""
    is_categorical = np.array(
        [not pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes], dtype=np.bool_
    )
    names = tuple(map(str, frame.columns))
    X = np.empty(frame.shape)
    levels = {}
    for j, column in enumerate(names):
        values = frame.iloc[:, j]
        if not is_categorical[j]:
            X[:, j] = values.to_numpy(dtype=np.float64, na_value=np.nan)
            continue
        # Levels that no row has are left out: they would be columns of zeros.
        coded = pd.Categorical(values).remove_unused_categories()
        if (coded.codes < 0).any():
            raise DatasetFormatError(source, f"the categorical column {column} has missing values")
        X[:, j] = coded.codes
        levels[column] = tuple(map(str, coded.categories))
    y = np.asarray(target)
    if y.dtype.kind == "O":
        if target.isna().any():
            raise DatasetFormatError(source, "the output has missing values")
        y = y.astype(str)
    task = task or guess_task(y)
    return TabularDataset(
        X=X,
        y=check_target(source, y, len(X), task),
        name=name,
        task=task,
        feature_names=names,
        is_categorical=is_categorical,
        levels=levels,
        target_name=str(target.name),
    )

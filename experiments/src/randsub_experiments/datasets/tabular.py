"""Tabular data sets: a table of numbers and categories, and how it is read from a folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from randsub._sklearn import StrOptions
from randsub._typing import BoolArray, FloatArray
from randsub.datasets.npz import read_arrays
from randsub.datasets.parameters import FOLDER, Folder, validated
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError
from randsub_experiments.datasets.data_folder import (
    Source,
    as_float,
    check_column,
    check_table,
    read_frame,
)

_TASK_OF_FOLDER = {"tabular_reg": "regression", "tabular_clf": "classification"}
SOURCE = Source(
    what="the tabular data sets",
    folders=tuple(_TASK_OF_FOLDER),
    origin=(
        "fetch_tabular downloads the benchmark of Grinsztajn et al. (2022) from OpenML through "
        "scikit-learn's fetch_openml; its files are also on Hugging Face "
        "(inria-soda/tabular-benchmark)."
    ),
)
_SUFFIXES = (".npz", ".csv")
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
    """A frame as numbers and codes: columns that are not numbers are categories."""
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


class TabularName(NamedTuple):
    """Name and task of a data set in a folder."""

    name: str
    task: str


def _read_levels(
    path: Path, text: str, X: NDArray[Any], names: tuple[str, ...], is_categorical: BoolArray
) -> dict[str, tuple[str, ...]]:
    """Levels of the categorical columns, checked against the codes in X."""
    try:
        given = json.loads(text)
        levels = {name: tuple(map(str, given[name])) for name in np.array(names)[is_categorical]}
    except (ValueError, TypeError, KeyError) as error:
        raise DatasetFormatError(
            path, f"category_levels_json does not list the levels of the columns ({error!r})"
        ) from error
    for column in np.flatnonzero(is_categorical):
        codes, n_levels = X[:, column], len(levels[names[column]])
        if not np.isin(codes, np.arange(n_levels)).all():
            raise DatasetFormatError(
                path, f"{names[column]} has {n_levels} levels, and codes that are none of them"
            )
    return levels


def _read_npz(path: Path, name: str, task: str | None) -> TabularDataset:
    arrays = read_arrays(
        path,
        ["X", "y"],
        ["feature_names", "target_name", "is_categorical", "category_levels_json"],
    )
    X = check_table(path, "X", arrays["X"])
    n_samples, n_columns = X.shape
    task = task or guess_task(arrays["y"])
    names: tuple[str, ...] = tuple(f"x{j}" for j in range(n_columns))
    if "feature_names" in arrays:
        given = check_column(path, "feature_names", arrays["feature_names"], n_columns)
        names = tuple(map(str, given))
    if len(set(names)) < n_columns:
        raise DatasetFormatError(path, "two columns have the same name")
    is_categorical = np.zeros(n_columns, dtype=np.bool_)
    if "is_categorical" in arrays:
        is_categorical = check_column(path, "is_categorical", arrays["is_categorical"], n_columns)
        is_categorical = is_categorical.astype(np.bool_)
    text = str(arrays.get("category_levels_json", "{}"))
    return TabularDataset(
        X=as_float(X),
        y=check_target(path, arrays["y"], n_samples, task),
        name=name,
        task=task,
        feature_names=names,
        is_categorical=is_categorical,
        levels=_read_levels(path, text, X, names, is_categorical),
        target_name=str(arrays.get("target_name", "target")),
    )


@validated({"name": [str], "data_home": FOLDER, "task": TASK})
def load_tabular(name: str, data_home: Folder, task: str | None = None) -> TabularDataset:
    """A tabular data set from a folder.

    Parameters
    ----------
    name : str
        Name of the file without its ending, for example ``"california"``.
    data_home : path-like
        Folder with the folders ``tabular_reg`` (regressions) and ``tabular_clf``
        (classifications), or with the files themselves. Two layouts are read:

        * .npz: X (n_samples, n_columns) and y (n_samples,), and optionally feature_names
          (n_columns,), target_name, is_categorical (n_columns,) and category_levels_json, an object
          with the list of levels of each categorical column, whose entries in X are positions in
          that list;
        * .csv with a header: the last column is the output. Columns that hold anything but numbers
          are categorical; a categorical column of numbers cannot be told from a number.
    task : {"regression", "classification"} or None, default=None
        The task, if a name is in both folders. A file in neither is a regression if its output is
        of a floating type.

    Returns
    -------
    dataset : TabularDataset

    See Also
    --------
    list_tabular : Lists the data sets of a folder.
    fetch_tabular : Downloads data sets of the benchmark.
    sample_tabular : Training, validation and test samples.
    """
    paths = SOURCE.find(data_home, [name + suffix for suffix in _SUFFIXES])
    known = {path: _TASK_OF_FOLDER.get(path.absolute().parent.name) for path in paths}
    fitting = [path for path in paths if task is None or known[path] in (task, None)]
    if not fitting:
        raise DatasetNotFoundError(
            f"{paths[0]} is there, but no {task} of the name {name!r}. {SOURCE.origin}"
        )
    if len({known[path] for path in fitting}) > 1 and task is None:
        raise ValueError(
            f"{name!r} is the name of several data sets: {', '.join(map(str, fitting))}. Choose "
            'one with task="regression" or task="classification".'
        )
    path = fitting[0]
    if path.suffix == ".npz":
        return _read_npz(path, name, task or known[path])
    frame = read_frame(path)
    if frame.shape[1] < 2:
        raise DatasetFormatError(path, "it has one column; features and an output are needed")
    return from_frame(path, frame.iloc[:, :-1], frame.iloc[:, -1], name, task or known[path])


@validated({"data_home": FOLDER})
def list_tabular(data_home: Folder) -> list[TabularName]:
    """The tabular data sets in a folder.

    Parameters
    ----------
    data_home : path-like
        Folder with the folders ``tabular_reg`` and ``tabular_clf``, or one of these two.

    Returns
    -------
    found : list of (name, task)
        What `load_tabular` reads, ordered by task and name. A file that is in neither of the two
        folders is not listed, since its kind is not known.
    """
    found = {
        TabularName(path.stem, _TASK_OF_FOLDER[path.absolute().parent.name])
        for path in SOURCE.list(data_home, _SUFFIXES, anywhere=False)
    }
    return sorted(found, key=lambda entry: (entry.task, entry.name))

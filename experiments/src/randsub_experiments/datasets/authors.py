"""The simulated files of the paper's authors, with their own split."""

import re
from dataclasses import dataclass
from numbers import Integral

from randsub._sklearn import Interval, StrOptions
from randsub._typing import IntArray
from randsub.datasets.npz import read_arrays
from randsub.datasets.parameters import FOLDER, Folder, validated
from randsub.exceptions import DatasetFormatError
from randsub_experiments.datasets.data_folder import (
    Source,
    as_float,
    check_column,
    check_finite,
    check_table,
)
from randsub_experiments.datasets.split import Split

_SOURCE = Source(
    what="the authors' simulated files (checkerboard_1.npz, ...)",
    folders=("simulated",),
    origin=(
        "The originals are in the repository vahuynh/PRS on GitHub (datasets/simulated_datasets); "
        "make_checkerboard, make_friedman, make_hypercube and make_linear draw new ones."
    ),
)
# The letters of the file for our names: learning, validation and test samples.
_PARTS = {"train": "LS", "val": "VS", "test": "TS"}
PROBLEMS = ("checkerboard", "friedman", "hypercube", "linear")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SimulatedDataset(Split):
    """One of the authors' simulated data sets.

    Attributes
    ----------
    X_train, X_val, X_test : ndarray of shape (n_train | n_val | n_test, n_features), float
        Features: 300, 100 and 100 samples in the authors' files.
    y_train, y_val, y_test : ndarray of shape (n_train | n_val | n_test,)
        Outputs: float in the regressions, classes as integers in the classifications.
    relevant : ndarray of shape (n_relevant,), int
        Columns that make the output.
    problem : {"checkerboard", "friedman", "hypercube", "linear"}
    number : int
        Number of the data set, from 1.
    """

    relevant: IntArray
    problem: str
    number: int


@validated(
    {
        "problem": [StrOptions(set(PROBLEMS))],
        "number": [Interval(Integral, 1, None, closed="left")],
        "data_home": FOLDER,
    }
)
def load_simulated(problem: str, number: int, data_home: Folder) -> SimulatedDataset:
    """One of the authors' simulated data sets, with their own split.

    Parameters
    ----------
    problem : {"checkerboard", "friedman", "hypercube", "linear"}
        Name of the problem.
    number : int
        Number of the data set, from 1; the paper has ten of each problem.
    data_home : path-like
        Folder with the file ``{problem}_{number}.npz``, or with a folder ``simulated`` that holds
        it. Its arrays are XLS, yLS (training), XVS, yVS (validation), XTS, yTS (test) and
        idx_relevant.

    Returns
    -------
    dataset : SimulatedDataset

    See Also
    --------
    list_simulated : Lists the data sets of a folder.
    make_friedman : Draws new data sets of the same law, like its siblings.
    """
    path = _SOURCE.find(data_home, [f"{problem}_{number}.npz"])[0]
    names = [f"{letter}{part}" for part in _PARTS.values() for letter in "Xy"]
    arrays = read_arrays(path, [*names, "idx_relevant"])
    fields = {}
    n_features = arrays["XLS"].shape[-1] if arrays["XLS"].ndim else 0
    for ours, theirs in _PARTS.items():
        X = check_finite(path, f"X{theirs}", check_table(path, f"X{theirs}", arrays[f"X{theirs}"]))
        if X.shape[1] != n_features:
            raise DatasetFormatError(
                path, f"X{theirs} has {X.shape[1]} columns, and XLS {n_features}"
            )
        fields[f"X_{ours}"] = as_float(X)
        y = check_column(path, f"y{theirs}", arrays[f"y{theirs}"], len(X))
        if y.dtype.kind not in "iuf":
            raise DatasetFormatError(path, f"y{theirs} should be numbers, and is {y.dtype}")
        fields[f"y_{ours}"] = y
    relevant = arrays["idx_relevant"]
    if relevant.dtype.kind not in "iu" or relevant.ndim != 1 or not len(relevant):
        raise DatasetFormatError(path, "idx_relevant should be a list of columns")
    if relevant.min() < 0 or relevant.max() >= n_features:
        raise DatasetFormatError(
            path, f"idx_relevant names the columns {relevant.tolist()}, and there are {n_features}"
        )
    return SimulatedDataset(**fields, relevant=relevant, problem=problem, number=int(number))


@validated({"data_home": FOLDER})
def list_simulated(data_home: Folder) -> list[tuple[str, int]]:
    """The authors' simulated data sets in a folder.

    Parameters
    ----------
    data_home : path-like
        Folder with the files, or with a folder ``simulated`` that holds them.

    Returns
    -------
    found : list of (problem, number)
        What `load_simulated` can read, ordered by problem and number.
    """
    pattern = re.compile(rf"({'|'.join(PROBLEMS)})_([1-9]\d*)")
    names = (pattern.fullmatch(path.stem) for path in _SOURCE.list(data_home, [".npz"]))
    return sorted({(name[1], int(name[2])) for name in names if name})

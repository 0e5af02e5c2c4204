"""Biological data sets with few samples and thousands of features, as in scikit-feature."""

from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils import check_random_state

from randsub._sklearn import Interval
from randsub._typing import FloatArray, IntArray
from randsub.datasets.npz import read_arrays
from randsub.datasets.parameters import FOLDER, Folder, Seed, validated
from randsub.exceptions import DatasetFormatError
from randsub_experiments.datasets.data_folder import Source, as_float, check_finite, check_table

SOURCE = Source(
    what="the biological data sets (Prostate_GE.npz or .mat, ...)",
    folders=("genomic",),
    origin=(
        "They are in the scikit-feature repository (jundongl/scikit-feature on GitHub, folder "
        "skfeature/data, and its page of data sets): put the .mat files there as they are."
    ),
)
_SUFFIXES = (".npz", ".mat")


@dataclass(frozen=True, eq=False)
class GenomicDataset:
    """A classification problem with many more features than samples.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float
        Features, for example the expression of genes.
    y : ndarray of shape (n_samples,)
        Classes, with the labels of the file.
    name : str
    left_out : dict of label to int
        Classes that were left out because they are small, with their sizes.
    """

    X: FloatArray
    y: NDArray[Any]
    name: str
    left_out: dict[Any, int]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{label}: {count}" for label, count in class_sizes(self.y).items())
        return f"GenomicDataset({self.name!r}, shape={self.X.shape}, classes={{{sizes}}})"


class Fold(NamedTuple):
    """Rows of one fold: three disjoint arrays of int that together are all rows."""

    train: IntArray
    val: IntArray
    test: IntArray


def class_sizes(y: NDArray[Any]) -> dict[Any, int]:
    """Number of samples of each class."""
    labels, counts = np.unique(y, return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _read_matlab(path: Path, names: list[str]) -> dict[str, NDArray[Any]]:
    try:
        arrays = loadmat(path, variable_names=names)
    # scipy passes on whatever its parser stumbles over: a cut or foreign file may raise anything.
    except Exception as error:
        raise DatasetFormatError(path, f"it cannot be read as .mat ({error})") from error
    missing = [name for name in names if name not in arrays]
    if missing:
        raise DatasetFormatError(path, f"it has no array {', '.join(missing)}")
    return {name: arrays[name] for name in names}


def _read_classes(path: Path) -> NDArray[Any]:
    if path.suffix == ".npz":
        y = read_arrays(path, ["y"])["y"]
    else:
        # Matlab has matrices only: the classes are one column.
        y = _read_matlab(path, ["Y"])["Y"].ravel()
    if y.ndim != 1 or y.dtype.kind not in "biufUS" or not len(y):
        raise DatasetFormatError(
            path, f"y should be one label per sample, and is of shape {y.shape} and type {y.dtype}"
        )
    return check_finite(path, "y", y)


def _read_features(path: Path, n_samples: int) -> FloatArray:
    X = read_arrays(path, ["X"])["X"] if path.suffix == ".npz" else _read_matlab(path, ["X"])["X"]
    check_finite(path, "X", check_table(path, "X", X))
    if len(X) != n_samples:
        raise DatasetFormatError(path, f"X has {len(X)} rows, and y {n_samples} labels")
    return as_float(X)


@validated(
    {
        "name": [str],
        "data_home": FOLDER,
        "min_class_size": [Interval(Integral, 1, None, closed="left")],
    }
)
def load_genomic(name: str, data_home: Folder, min_class_size: int = 30) -> GenomicDataset:
    """A biological data set of the scikit-feature collection, without its small classes.

    Parameters
    ----------
    name : str
        Name of the file without its ending, for example ``"Prostate_GE"``. ``-`` and ``_`` are
        treated as equal: the collection is not consistent about it.
    data_home : path-like
        Folder with the file, or with a folder ``genomic`` that holds it. An .npz file has the
        arrays X (n_samples, n_features) and y (n_samples,), a .mat file X and Y (n_samples, 1).
    min_class_size : int, default=30
        Classes with fewer samples are left out, as in the paper; 1 keeps all.

    Returns
    -------
    dataset : GenomicDataset

    See Also
    --------
    list_genomic : Lists the data sets of a folder.
    genomic_folds : Folds for cross-validation, with a validation part in each.

    Notes
    -----
    The rows of the files may be ordered by class; `genomic_folds` shuffles them.
    """
    spellings = dict.fromkeys([name, name.replace("-", "_"), name.replace("_", "-")])
    path = SOURCE.find(data_home, [f"{s}{suffix}" for s in spellings for suffix in _SUFFIXES])[0]
    y = _read_classes(path)
    sizes = class_sizes(y)
    kept = [label for label, size in sizes.items() if size >= min_class_size]
    if len(kept) < 2:
        raise ValueError(
            f"{name} has fewer than two classes with at least min_class_size={min_class_size} "
            f"samples; its classes have {sizes}. Lower min_class_size to use it all the same."
        )
    X = _read_features(path, len(y))
    rows = np.isin(y, kept)
    return GenomicDataset(
        X=X if rows.all() else X[rows],
        y=y[rows],
        name=name,
        left_out={label: size for label, size in sizes.items() if label not in kept},
    )


@validated({"data_home": FOLDER, "min_class_size": [Interval(Integral, 1, None, closed="left")]})
def list_genomic(data_home: Folder, min_class_size: int = 30) -> list[str]:
    """The biological data sets in a folder that have at least two large classes.

    Parameters
    ----------
    data_home : path-like
        Folder with a folder ``genomic`` that holds the files, or that folder itself. Files
        elsewhere are not listed: any data set looks like one of these.
    min_class_size : int, default=30
        Samples that a class needs to count; 1 lists every file of at least two classes.

    Returns
    -------
    names : list of str
        What `load_genomic` reads with the same `min_class_size`, in alphabetical order. Files that
        are not data sets of this kind are skipped.
    """
    names = set()
    for path in SOURCE.list(data_home, _SUFFIXES, anywhere=False):
        try:
            sizes = class_sizes(_read_classes(path))
        except DatasetFormatError:
            continue
        if sum(size >= min_class_size for size in sizes.values()) >= 2:
            names.add(path.stem)
    return sorted(names)


@validated(
    {
        "dataset": [GenomicDataset],
        "random_state": ["random_state"],
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    }
)
def genomic_folds(
    dataset: GenomicDataset,
    random_state: Seed = None,
    n_splits: int = 5,
    validation_fraction: float = 0.2,
) -> list[Fold]:
    """Folds for cross-validation, each with a validation part, all stratified by class.

    Parameters
    ----------
    dataset : GenomicDataset
        What `load_genomic` returns.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffles. The same integer gives the same folds.
    n_splits : int, default=5
        Number of folds, at least 2: every sample is a test sample in exactly one.
    validation_fraction : float, default=0.2
        Fraction of a fold's other samples that is set aside for validation.

    Returns
    -------
    folds : list of Fold
        Rows ``train``, ``val`` and ``test`` of each fold.
    """
    smallest = min(class_sizes(dataset.y).values())
    if smallest < n_splits:
        raise ValueError(
            f"{dataset.name} has a class with {smallest} samples, too few for n_splits={n_splits}: "
            "ask for fewer folds, or load it with a larger min_class_size."
        )
    rng = check_random_state(random_state)
    outer = StratifiedKFold(n_splits, shuffle=True, random_state=rng)
    folds = []
    for rest, test in outer.split(dataset.y[:, None], dataset.y):
        inner = StratifiedShuffleSplit(1, test_size=validation_fraction, random_state=rng)
        train, val = next(inner.split(rest[:, None], dataset.y[rest]))
        folds.append(Fold(np.sort(rest[train]), np.sort(rest[val]), test))
    return folds

"""Training, validation and test samples of a tabular data set, as the paper draws them."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from randsub._sklearn import Interval
from randsub._typing import FloatArray, IntArray
from randsub.datasets.parameters import Seed, validated
from randsub_experiments.datasets.split import Split
from randsub_experiments.datasets.tabular import TabularDataset


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TabularSample(Split):
    """Training, validation and test samples of a tabular data set, one-hot encoded.

    Attributes
    ----------
    X_train, X_val, X_test : ndarray of shape (n_train | n_val | n_test, n_features), float
        Features after encoding.
    y_train, y_val, y_test : ndarray of shape (n_train | n_val | n_test,)
        Outputs.
    feature_names : tuple of str, of length n_features
        Name of the column; ``column=level`` for a level of a categorical one.
    columns : ndarray of shape (n_features,), int
        Column of the data set that each feature comes from. As ``feature_groups`` of an ensemble it
        keeps the levels of a column together.
    rows_train, rows_val, rows_test : ndarray of int
        Rows of the data set in each part.
    """

    feature_names: tuple[str, ...]
    columns: IntArray
    rows_train: IntArray
    rows_val: IntArray
    rows_test: IntArray


def _encode(dataset: TabularDataset, X: FloatArray) -> tuple[FloatArray, tuple[str, ...], IntArray]:
    """One column for each number and for each level of a categorical column."""
    blocks: list[FloatArray] = []
    names: list[str] = []
    columns: list[int] = []
    for j, column in enumerate(dataset.feature_names):
        if dataset.is_categorical[j]:
            levels = dataset.levels[column]
            blocks.append((X[:, [j]] == np.arange(len(levels))).astype(X.dtype))
            names += [f"{column}={level}" for level in levels]
        else:
            blocks.append(X[:, [j]])
            names.append(column)
        columns += [j] * (len(names) - len(columns))
    return np.hstack(blocks), tuple(names), np.array(columns, dtype=np.intp)


def _part_sizes(n_samples: int, wanted: tuple[int, ...]) -> list[int]:
    """The sizes asked for, or in their proportions what there is."""
    total = sum(wanted)
    if n_samples >= total:
        return list(wanted)
    sizes = [size * n_samples // total for size in wanted]
    if 0 in sizes:
        raise ValueError(
            f"The data set has {n_samples} samples, too few for parts in the proportions "
            f"n_train={wanted[0]}, n_val={wanted[1]}, n_test={wanted[2]}."
        )
    return sizes


_PART = [Interval(Integral, 1, None, closed="left")]


@validated(
    {
        "dataset": [TabularDataset],
        "random_state": ["random_state"],
        "n_train": _PART,
        "n_val": _PART,
        "n_test": _PART,
    }
)
def sample_tabular(
    dataset: TabularDataset,
    random_state: Seed = None,
    n_train: int = 1000,
    n_val: int = 1000,
    n_test: int = 1000,
) -> TabularSample:
    """Training, validation and test samples of a data set, drawn without replacement.

    Parameters
    ----------
    dataset : TabularDataset
        What `load_tabular` or `fetch_tabular` returns.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw. The same integer gives the same samples.
    n_train, n_val, n_test : int, default=1000
        Sizes of the parts. A data set with fewer samples than their sum is divided in their
        proportions, rounded down: into thirds by default.

    Returns
    -------
    sample : TabularSample
        Categorical columns are one-hot encoded, one feature a level of the data set whether the
        sample holds it or not, so that the features do not depend on the draw.
    """
    rng = check_random_state(random_state)
    sizes = _part_sizes(len(dataset.X), (n_train, n_val, n_test))
    rows = np.split(rng.permutation(len(dataset.X))[: sum(sizes)], np.cumsum(sizes)[:-1])
    encoded = [_encode(dataset, dataset.X[part]) for part in rows]
    outputs = [dataset.y[part] for part in rows]
    (X_train, names, columns), (X_val, _, _), (X_test, _, _) = encoded
    return TabularSample(
        X_train=X_train,
        y_train=outputs[0],
        X_val=X_val,
        y_val=outputs[1],
        X_test=X_test,
        y_test=outputs[2],
        feature_names=names,
        columns=columns,
        rows_train=rows[0],
        rows_val=rows[1],
        rows_test=rows[2],
    )

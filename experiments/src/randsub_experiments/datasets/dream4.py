"""The in-silico networks of the DREAM4 challenge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsub._sklearn import Interval, Options
from randsub._typing import BoolArray, FloatArray
from randsub.datasets.npz import read_arrays
from randsub.datasets.parameters import FOLDER, Folder, validated
from randsub.exceptions import DatasetFormatError
from randsub_experiments.datasets.data_folder import (
    Source,
    as_float,
    check_column,
    check_finite,
    check_table,
    read_frame,
)

SOURCE = Source(
    what="the DREAM4 networks",
    folders=("dream4",),
    origin=(
        "The challenge is on Synapse (www.synapse.org, DREAM4 in silico network challenge); the "
        "data are also in the Bioconductor package DREAM4, and the 100-gene networks with the "
        "paper's split in the repository vahuynh/PRS on GitHub (datasets/dream4)."
    ),
)
_EXPERIMENTS = ("knockouts", "knockdowns", "wildtype", "timeseries")


@dataclass(frozen=True, eq=False)
class Dream4Network:
    """Simulated expression of the genes of a network, and the network.

    Attributes
    ----------
    X_train : ndarray of shape (n_train, n_genes), float
        Multifactorial expression data: one steady state per row.
    X_val : ndarray of shape (n_val, n_genes), float
        The validation samples of the paper's split; no rows where the file has no split.
    gold : ndarray of shape (n_genes, n_genes), bool
        ``gold[i, j]``: gene i regulates gene j. The diagonal is False.
    gene_names : tuple of str, of length n_genes
    experiments : mapping of str to ndarray
        What else the file holds: ``knockouts``, ``knockdowns`` (one row per gene), ``wildtype``
        (1, n_genes) and ``timeseries`` (n_times, n_genes) with its times ``ts_time`` (n_times,).
    """

    X_train: FloatArray
    X_val: FloatArray
    gold: BoolArray
    gene_names: tuple[str, ...]
    experiments: Mapping[str, FloatArray] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"Dream4Network(n_train={len(self.X_train)}, n_val={len(self.X_val)}, "
            f"n_genes={len(self.gene_names)}, n_edges={int(self.gold.sum())})"
        )


def _check_expression(path: Path, name: str, array: NDArray[Any], n_genes: int) -> FloatArray:
    check_finite(path, name, check_table(path, name, array))
    if array.shape[1] != n_genes:
        raise DatasetFormatError(
            path, f"{name} has {array.shape[1]} columns, and there are {n_genes} genes"
        )
    return as_float(array)


def _check_gold(path: Path, gold: NDArray[Any], n_genes: int) -> BoolArray:
    square = gold.shape == (n_genes, n_genes) and gold.dtype.kind in "biuf"
    if not (square and np.isin(gold, (0, 1)).all() and not np.diagonal(gold).any()):
        raise DatasetFormatError(
            path,
            f"gold should be a matrix of 0 and 1 for {n_genes} genes with zeros on the diagonal, "
            f"and is of shape {gold.shape} and type {gold.dtype}",
        )
    return gold.astype(np.bool_)


def _read_npz(path: Path, size: int) -> Dream4Network:
    arrays = read_arrays(
        path,
        ["gold", "gene_names"],
        ["X_LS", "X_VS", "multifactorial", "ts_time", *_EXPERIMENTS],
    )
    names = check_column(path, "gene_names", arrays.pop("gene_names"), size)
    gold = _check_gold(path, arrays.pop("gold"), size)
    first = "X_LS" if "X_LS" in arrays else "multifactorial"
    if first not in arrays:
        raise DatasetFormatError(path, "it has neither the array X_LS nor multifactorial")
    X_train = _check_expression(path, first, arrays.pop(first), size)
    X_val = X_train[:0]
    if "X_VS" in arrays:
        X_val = _check_expression(path, "X_VS", arrays.pop("X_VS"), size)
    experiments = {
        name: _check_expression(path, name, arrays[name], size)
        for name in _EXPERIMENTS
        if name in arrays
    }
    if "timeseries" in experiments and "ts_time" in arrays:
        n_times = len(experiments["timeseries"])
        experiments["ts_time"] = check_column(path, "ts_time", arrays["ts_time"], n_times)
    return Dream4Network(X_train, X_val, gold, tuple(map(str, names)), experiments)


def _read_challenge(path: Path, gold_path: Path, size: int) -> Dream4Network:
    """The files of the challenge: expression with a header, and one row for each pair of genes."""
    frame = read_frame(path, "\t")
    names = tuple(map(str, frame.columns))
    X = _check_expression(path, "the table", frame.to_numpy(), size)
    pairs = read_frame(gold_path, "\t", header=False)
    allowed = ([*names], [*names], [0, 1])
    if pairs.shape[1] != 3 or not all(pairs[c].isin(allowed[c]).all() for c in range(3)):
        raise DatasetFormatError(
            gold_path, f"its rows should be two genes of {path.name} and 0 or 1"
        )
    position = {name: j for j, name in enumerate(names)}
    gold = np.zeros((size, size), dtype=np.int8)
    gold[pairs[0].map(position), pairs[1].map(position)] = pairs[2]
    return Dream4Network(X, X[:0], _check_gold(gold_path, gold, size), names)


@validated(
    {
        "network": [Interval(Integral, 1, 5, closed="both")],
        "data_home": FOLDER,
        "size": [Options(Integral, {10, 100})],
    }
)
def load_dream4(network: int, data_home: Folder, size: int = 100) -> Dream4Network:
    """One of the in-silico networks of the DREAM4 challenge.

    Parameters
    ----------
    network : int
        Number of the network, from 1 to 5.
    data_home : path-like
        Folder with the files, or with a folder ``dream4`` that holds them:
        ``dream4_multifactorial_size100_net1.npz`` (arrays X_LS, X_VS, gold, gene_names) or
        ``dream4_size10_net1.npz`` (multifactorial, gold, gene_names and other experiments); or the
        challenge's own ``insilico_size100_1_multifactorial.tsv`` beside
        ``insilico_size100_1_goldstandard.tsv``.
    size : {10, 100}, default=100
        Number of genes of the network.

    Returns
    -------
    network : Dream4Network

    Notes
    -----
    The paper trains on 90 samples and validates on 10, `X_train` and `X_val`. The challenge's own
    files have no split: all samples are then in `X_train`.
    """
    text = f"insilico_size{size}_{network}"
    names = [
        f"dream4_multifactorial_size{size}_net{network}.npz",
        f"dream4_size{size}_net{network}.npz",
        f"{text}_multifactorial.tsv",
    ]
    path = SOURCE.find(data_home, names)[0]
    if path.suffix == ".npz":
        return _read_npz(path, size)
    gold_path = SOURCE.find(data_home, [f"{text}_goldstandard.tsv"])[0]
    return _read_challenge(path, gold_path, size)

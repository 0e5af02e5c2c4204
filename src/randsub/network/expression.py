"""Expression data as users have it: arrays, sparse matrices, frames, AnnData.

Whatever comes in leaves as one dense float64 array with the genes in the order of their names. All
that follows works on that order, so that the order of the genes in a file cannot change a bit of
the answer.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils import check_array

from randsub._tables import frame_kind, numeric_columns, to_array
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.ensemble.magnitude import check_magnitude

# Names in an error message before it says "and so many more".
SHOWN = 5


@dataclass(frozen=True)
class Expression:
    """Samples of genes.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_genes), float64
        One column a gene, in the order of ``names``.
    names : tuple of str
        Sorted, each once.
    in_file : int ndarray of shape (n_genes,)
        Column of ``values`` in which each gene of the file is found.
    is_named : bool
        Whether the names are the user's; else they are ``"G1"``, ``"G2"``, ... by position.
    """

    values: FloatArray
    names: tuple[str, ...]
    in_file: IntArray
    is_named: bool


def read_expression(
    table: Table, gene_names: Any = None, layer: str | None = None, *, what: str = "expression"
) -> Expression:
    """Check a table of expression data, samples as rows, and put its genes in order.

    Parameters
    ----------
    table : array-like, sparse matrix, pandas or polars frame, or AnnData
    gene_names : sequence of str or None
        Names of the columns of an array or a sparse matrix; frames and AnnData bring their own.
    layer : str or None
        Layer of an AnnData to read instead of its ``X``.
    what : str
        What to call the table in messages.

    Returns
    -------
    expression : Expression
    """
    annotated = _is_anndata(table)
    if layer is not None and not annotated:
        raise ValueError(
            f"layer={layer!r} names a layer of an AnnData, but {what} is a "
            f"{type(table).__name__}; leave layer out."
        )
    if isinstance(gene_names, str):
        raise TypeError(
            f"gene_names must be a list of names, got the single string {gene_names!r}."
        )
    if gene_names is not None and not isinstance(gene_names, Iterable):
        raise TypeError(f"gene_names must be a list of names, got {gene_names!r}.")
    numbers, own_names = _of_anndata(table, layer, what) if annotated else _of_table(table, what)
    if gene_names is not None and own_names is not None:
        raise ValueError(
            f"{what} has gene names of its own; leave gene_names out, or pass the bare array."
        )
    # Finite or not is asked below, where the genes have names.
    values = check_array(
        numbers.toarray() if issparse(numbers) else numbers,
        dtype=np.float64,
        ensure_all_finite=False,
        input_name=what,
    )
    names = own_names if gene_names is None else list(gene_names)
    is_named = names is not None
    if names is None:
        names = [f"G{j + 1}" for j in range(values.shape[1])]
    _check_names(names, values.shape[1], what)
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    in_file = np.empty(len(order), dtype=np.intp)
    in_file[order] = np.arange(len(order))
    # In one memory layout, whatever the user's was: sums must add up in one order.
    values = np.ascontiguousarray(values[:, order])
    sorted_names = tuple(str(names[j]) for j in order)
    _check_finite(values, sorted_names, what)
    check_magnitude(values, what)
    return Expression(values, sorted_names, in_file, is_named)


def kept(names: Any) -> Any:
    """A list of what could be read once only; anything else as it is."""
    return list(names) if isinstance(names, Iterator) else names


def read_further(table: Table, gene_names: Any, layer: str | None, *, what: str) -> Expression:
    """A second table of the same genes, which need not be of the same kind as the first."""
    annotated = _is_anndata(table)
    has_names = annotated or frame_kind(table) is not None
    return read_expression(
        table, None if has_names else gene_names, layer if annotated else None, what=what
    )


def match_genes(other: Expression, expression: Expression) -> FloatArray:
    """Samples of the genes of ``expression`` from a second table, which may hold more of them."""
    if other.is_named != expression.is_named and len(other.names) != len(expression.names):
        raise ValueError(
            "expression and expression_val have gene names in one and none in the other, and "
            f"{len(expression.names)} and {len(other.names)} genes; give both names, or neither."
        )
    if other.is_named != expression.is_named:
        # An array beside a frame: columns in the order of the file.
        columns = np.empty(len(expression.names), dtype=np.intp)
        columns[expression.in_file] = other.in_file
        return np.ascontiguousarray(other.values[:, columns])
    if not expression.is_named and len(other.names) > len(expression.names):
        raise ValueError(
            f"expression has {len(expression.names)} genes and expression_val {len(other.names)}, "
            "and none have names to tell which are the same; give both names, or the same columns."
        )
    place = {name: j for j, name in enumerate(other.names)}
    missing = [name for name in expression.names if name not in place]
    if missing:
        raise ValueError(
            f"expression_val lacks {len(missing)} gene(s) of expression: {listed(missing)}."
        )
    return np.ascontiguousarray(other.values[:, [place[name] for name in expression.names]])


def resolve_genes(which: Any, expression: Expression, role: str) -> IntArray:
    """Columns of ``expression.values`` that a user means, in the user's order.

    Parameters
    ----------
    which : sequence of str, sequence of int, bool array, or None
        Names; positions in the file; a mask over the file's genes; None for all of them.
    expression : Expression
    role : str
        Name of the parameter, for messages.
    """
    n_genes = len(expression.names)
    if which is None:
        return expression.in_file
    if isinstance(which, str):
        raise TypeError(f"{role} must be a list of genes, got the single string {which!r}.")
    try:
        chosen = np.asarray(list(which))
    # A single number; lists of different lengths.
    except (TypeError, ValueError) as error:
        raise TypeError(f"{role} must be a list of genes, got {which!r}.") from error
    if chosen.ndim != 1 or not len(chosen):
        raise ValueError(f"{role} must be a list with at least one gene, got {which!r}.")
    if chosen.dtype == bool:
        if len(chosen) != n_genes or not chosen.any():
            raise ValueError(
                f"{role} as a mask must have one entry for each of the {n_genes} genes, some of "
                f"them True; got {len(chosen)} entries, {int(chosen.sum())} of them True."
            )
        return expression.in_file[chosen]
    columns = _by_position if chosen.dtype.kind in "iu" else _by_name
    found = columns(chosen, expression, role)
    _refuse_twice([expression.names[j] for j in found], f"{role} names")
    return found


def _by_position(chosen: IntArray, expression: Expression, role: str) -> IntArray:
    n_genes = len(expression.names)
    outside = chosen[(chosen < 0) | (chosen >= n_genes)]
    if len(outside):
        raise ValueError(
            f"{role} has positions outside 0 to {n_genes - 1}: {listed(outside.tolist())}."
        )
    return expression.in_file[chosen]


def _by_name(chosen: Any, expression: Expression, role: str) -> IntArray:
    names = chosen.tolist()
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{role} must be names, positions or a mask, got {listed(names)}.")
    place = {name: j for j, name in enumerate(expression.names)}
    unknown = [name for name in names if name not in place]
    if unknown and not expression.is_named:
        raise ValueError(
            f"{role} are given by name, but the data has no gene names: pass gene_names, a frame "
            f"with names, or {role} by position."
        )
    if unknown:
        raise ValueError(
            f"{len(unknown)} of the {len(names)} {role} are not in the data: {listed(unknown)}. "
            "Remove them, or check the spelling and the kind of identifier."
        )
    return np.array([place[name] for name in names])


def check_varies(values: FloatArray, names: Sequence[str], where: str) -> None:
    """Raise where a gene has the same value, but for rounding, in all samples (rows) given."""
    # What scaling would leave as it is (scikit-learn's rule): such a gene has no deviation to scale
    # by, and its links would stay at the alpha they began with, before all that was learned.
    mean, variance = values.mean(axis=0), values.var(axis=0)
    n, epsilon = len(values), np.finfo(np.float64).eps
    is_constant = variance <= n * epsilon * variance + (n * mean * epsilon) ** 2
    is_constant |= np.ptp(values, axis=0) == 0.0
    constant = [names[j] for j in np.flatnonzero(is_constant).tolist()]
    if constant:
        raise ValueError(
            f"{len(constant)} gene(s) have the same value in all {len(values)} {where}: "
            f"{listed(constant)}. They can neither be predicted nor predict: remove them."
        )


def listed(names: Sequence[Any]) -> str:
    """The first few of some names, for a message."""
    # Strings of numpy would show their type.
    plain = [name.item() if isinstance(name, np.generic) else name for name in names[:SHOWN]]
    shown = ", ".join(map(repr, plain))
    return shown if len(names) <= SHOWN else f"{shown}, ... ({len(names) - SHOWN} more)"


def _is_anndata(table: Table) -> bool:
    # Who has an AnnData has imported the library.
    library = sys.modules.get("anndata")
    return library is not None and isinstance(table, library.AnnData)


def _of_anndata(table: Any, layer: str | None, what: str) -> tuple[Any, list[str]]:
    if layer is not None and layer not in table.layers:
        raise ValueError(
            f"{what} has no layer {layer!r}; its layers are {listed(list(table.layers))}."
        )
    if table.isbacked:
        table = table.to_memory()
    numbers = table.X if layer is None else table.layers[layer]
    if numbers is None:
        raise ValueError(
            f"{what} has no X; name one of its layers {listed(list(table.layers))} with layer=."
        )
    return numbers, list(table.var_names)


def _of_table(table: Table, what: str) -> tuple[Any, list[Any] | None]:
    """Numbers of an array, a sparse matrix or a frame, and the names of a frame."""
    kind = frame_kind(table)
    if kind is None:
        return table, None
    numeric: BoolArray = numeric_columns(table)
    if not numeric.all():
        others = [name for name, fine in zip(table.columns, numeric, strict=True) if not fine]
        raise ValueError(
            f"{what} has {len(others)} column(s) that are not numbers: {listed(others)}. Samples "
            "are rows and genes are columns; put sample names into the index, or drop them."
        )
    numbers = to_array(table, np.arange(table.shape[1]))
    columns = list(table.columns)
    # The columns of a pandas frame that was given none are numbered.
    if kind == "pandas" and isinstance(table.columns, pd.RangeIndex):
        return numbers, None
    return numbers, columns


def _check_names(names: Sequence[Any], n_genes: int, what: str) -> None:
    if len(names) != n_genes:
        raise ValueError(
            f"gene_names has {len(names)} names, but {what} has {n_genes} columns (genes)."
        )
    bad = [j for j, name in enumerate(names) if not (isinstance(name, str) and name.strip())]
    if bad:
        raise ValueError(
            f"{len(bad)} gene(s) of {what} have no name: a name is a string that is not empty, but "
            f"column {bad[0]} has {names[bad[0]]!r}. Name all genes, or none of them (an array)."
        )
    _refuse_twice(names, f"{what} has")


def _refuse_twice(names: Sequence[str], subject: str) -> None:
    unique, counts = np.unique(np.asarray(names, dtype=object), return_counts=True)
    twice = unique[counts > 1].tolist()
    if twice:
        raise ValueError(
            f"{subject} {len(twice)} gene(s) more than once: {listed(twice)}. Each gene must be "
            "there once: merge or rename them."
        )


def _check_finite(values: FloatArray, names: Sequence[str], what: str) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        genes = [names[j] for j in np.flatnonzero(bad.any(axis=0)).tolist()]
        raise ValueError(
            f"{what} has {int(bad.sum())} missing (NaN) or infinite value(s), in the gene(s) "
            f"{listed(genes)}. Impute them, or remove the genes or samples."
        )

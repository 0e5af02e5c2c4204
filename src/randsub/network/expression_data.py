"""Expression data from arrays, sparse matrices, frames and AnnData.

Every table becomes one dense float64 array with the genes sorted by name. Everything else works in
this order, so that the order of the genes in a file cannot change a bit of the result.
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
from randsub._typing import FloatArray, IntArray, Table
from randsub.estimators.validation import check_magnitude
from randsub.network.gene_names import check_unique, default_names, gene_positions, listed


@dataclass(frozen=True)
class Expression:
    """Expression of genes in samples.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_genes), float64
        One column per gene, in the order of ``names``.
    names : tuple of str
        Sorted and unique.
    in_file : int ndarray of shape (n_genes,)
        Column of ``values`` that holds each gene of the table, in the order of the table.
    is_named : bool
        Whether the names are the user's; otherwise they are ``"G1"``, ``"G2"``, ... by position.
    """

    values: FloatArray
    names: tuple[str, ...]
    in_file: IntArray
    is_named: bool


def read_expression(
    table: Table, gene_names: Any = None, layer: str | None = None, *, what: str = "expression"
) -> Expression:
    """Check a table of expression data, samples as rows, and sort its genes.

    Parameters
    ----------
    table : array-like, sparse matrix, pandas or polars frame, or AnnData
    gene_names : sequence of str or None
        Names of the columns of an array or a sparse matrix; frames and AnnData have their own.
    layer : str or None
        Layer of an AnnData to read instead of its ``X``.
    what : str
        Name of the table in error messages.

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
    if isinstance(gene_names, str) or not isinstance(gene_names, Iterable | None):
        raise TypeError(f"gene_names must be a list of names, got {gene_names!r}.")
    numbers, names = _of_anndata(table, layer, what) if annotated else _of_table(table, what)
    if gene_names is not None:
        if names is not None:
            raise ValueError(
                f"{what} has its own gene names; leave gene_names out, or pass the bare array."
            )
        names = list(gene_names)
    # Missing values are reported below, by the names of the genes.
    values = check_array(
        numbers.toarray() if issparse(numbers) else numbers,
        dtype=np.float64,
        ensure_all_finite=False,
        input_name=what,
    )
    is_named = names is not None
    names = default_names(values.shape[1]) if names is None else names
    _check_names(names, values.shape[1], what)
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    # In one memory layout, so that sums are added up in one order.
    values = np.ascontiguousarray(values[:, order])
    sorted_names = tuple(str(names[j]) for j in order)
    bad = ~np.isfinite(values)
    if bad.any():
        genes = [sorted_names[j] for j in np.flatnonzero(bad.any(axis=0)).tolist()]
        raise ValueError(
            f"{what} has {int(bad.sum())} missing (NaN) or infinite value(s), in the gene(s) "
            f"{listed(genes)}. Impute them, or remove the genes or samples."
        )
    check_magnitude(values, what)
    return Expression(values, sorted_names, np.argsort(order), is_named)


def kept(names: Any) -> Any:
    """An iterator as a list, since it can be read only once; anything else unchanged."""
    return list(names) if isinstance(names, Iterator) else names


def read_validation(
    table: Table, expression: Expression, gene_names: Any, layer: str | None
) -> FloatArray:
    """Validation samples of the genes of ``expression``.

    The table may have a different type, and more genes.
    """
    annotated = _is_anndata(table)
    has_names = annotated or frame_kind(table) is not None
    other = read_expression(
        table,
        None if has_names else gene_names,
        layer if annotated else None,
        what="expression_val",
    )
    return match_genes(other, expression)


def match_genes(other: Expression, expression: Expression) -> FloatArray:
    """Samples of the genes of ``expression`` from a second table, which may hold more genes."""
    if other.is_named != expression.is_named:
        if len(other.names) != len(expression.names):
            raise ValueError(
                "Only one of expression and expression_val has gene names, and they have "
                f"{len(expression.names)} and {len(other.names)} genes; name the genes of both, "
                "or of neither."
            )
        # An array beside a frame: columns in the order of the table.
        columns = np.empty(len(expression.names), dtype=np.intp)
        columns[expression.in_file] = other.in_file
        return np.ascontiguousarray(other.values[:, columns])
    if not expression.is_named and len(other.names) > len(expression.names):
        raise ValueError(
            f"expression has {len(expression.names)} genes and expression_val {len(other.names)}, "
            "without names to match them; name the genes of both, or give the same columns."
        )
    place = {name: j for j, name in enumerate(other.names)}
    missing = [name for name in expression.names if name not in place]
    if missing:
        raise ValueError(
            f"expression_val lacks {len(missing)} gene(s) of expression: {listed(missing)}."
        )
    return np.ascontiguousarray(other.values[:, [place[name] for name in expression.names]])


def resolve_genes(which: Any, expression: Expression, role: str) -> IntArray:
    """Columns of ``expression.values`` of the chosen genes, in the order given.

    Parameters
    ----------
    which : sequence of str, sequence of int, bool array, or None
        Names, positions in the table, or a mask over its genes; None for all genes.
    expression : Expression
    role : str
        Name of the parameter, for error messages.
    """
    if which is None:
        return expression.in_file
    names = [expression.names[j] for j in expression.in_file]
    found = gene_positions(which, names, role, is_named=expression.is_named)
    check_unique([names[j] for j in found], f"{role} names")
    return expression.in_file[found]


def check_varies(values: FloatArray, names: Sequence[str], where: str) -> None:
    """Raise if a gene is constant, up to rounding, in the given samples (rows)."""
    # scikit-learn's rule for columns that are not scaled. A constant gene has no deviation to scale
    # by, and its links would keep their initial alpha, ahead of all that was learned.
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


def _is_anndata(table: Table) -> bool:
    # An AnnData exists only if its library has been imported.
    library = sys.modules.get("anndata")
    return library is not None and isinstance(table, library.AnnData)


def _of_anndata(table: Any, layer: str | None, what: str) -> tuple[Any, list[Any] | None]:
    if layer is not None and layer not in table.layers:
        raise ValueError(
            f"{what} has no layer {layer!r}; its layers are {listed(list(table.layers))}."
        )
    if table.isbacked:
        table = table.to_memory()
    numbers = table.X if layer is None else table.layers[layer]
    if numbers is None:
        raise ValueError(
            f"{what} has no X; choose one of its layers {listed(list(table.layers))} with layer=."
        )
    return numbers, list(table.var_names)


def _of_table(table: Table, what: str) -> tuple[Any, list[Any] | None]:
    """Numbers of an array, a sparse matrix or a frame, and the names of a frame."""
    if frame_kind(table) is None:
        return table, None
    columns = list(table.columns)
    others = [
        name
        for name, is_number in zip(columns, numeric_columns(table), strict=True)
        if not is_number
    ]
    if others:
        raise ValueError(
            f"{what} has {len(others)} column(s) that are not numbers: {listed(others)}. Samples "
            "are rows and genes are columns; put sample names into the index, or drop them."
        )
    # The columns of a pandas frame without names are numbered.
    unnamed = isinstance(table.columns, pd.RangeIndex)
    return to_array(table, np.arange(len(columns))), None if unnamed else columns


def _check_names(names: Sequence[Any], n_genes: int, what: str) -> None:
    if len(names) != n_genes:
        raise ValueError(
            f"gene_names has {len(names)} names, but {what} has {n_genes} columns (genes)."
        )
    bad = [j for j, name in enumerate(names) if not (isinstance(name, str) and name.strip())]
    if bad:
        raise ValueError(
            f"{len(bad)} gene(s) of {what} have no name: a name is a non-empty string, but "
            f"column {bad[0]} has {names[bad[0]]!r}. Name all genes, or none of them (an array)."
        )
    check_unique(names, f"{what} has")

"""Expression data from arrays, sparse matrices, frames and AnnData.

Genes are sorted by name, and everything else works in this order, so that the order of the genes in
a file cannot change a bit of the result. First the names are read. Then the genes that are used
become one dense float64 array: of 20,000 genes in a sparse matrix or in a file these may be few.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils import check_array

from randsub._tables import frame_kind, numeric_columns, row_portions, to_array
from randsub._typing import FloatArray, IntArray, Table
from randsub.estimators.validation import check_magnitude
from randsub.network.gene_names import check_unique, default_names, gene_positions, listed


@dataclass(frozen=True)
class Expression:
    """Genes of a table of expression data, and their numbers on request.

    Parameters
    ----------
    numbers : array, sparse matrix or matrix in a file, of shape (n_samples, n_genes)
    names : tuple of str
        Sorted and unique.
    in_file : int ndarray of shape (n_genes,)
        Place among ``names`` of each gene of the table, in the order of the table.
    is_named : bool
        Whether the names are the user's; otherwise they are ``"G1"``, ``"G2"``, ... by position.
    what : str
        Name of the table in error messages.
    """

    numbers: Any
    names: tuple[str, ...]
    in_file: IntArray
    is_named: bool
    what: str

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])

    def values(self, genes: IntArray | None = None) -> FloatArray:
        """Expression of some genes, given by their places among the names; of all by default.

        Raises a ValueError if some of it is missing.
        """
        genes = np.arange(len(self.names)) if genes is None else genes
        columns = np.argsort(self.in_file)[genes]
        values = _dense(self.numbers, columns)
        names = [self.names[j] for j in genes.tolist()]
        bad = ~np.isfinite(values)
        if bad.any():
            found = [names[j] for j in np.flatnonzero(bad.any(axis=0)).tolist()]
            raise ValueError(
                f"{self.what} has {int(bad.sum())} missing (NaN) or infinite value(s), in the "
                f"gene(s) {listed(found)}. Impute them, or remove the genes or samples."
            )
        check_magnitude(values, self.what)
        return values


def _dense(numbers: Any, columns: IntArray) -> FloatArray:
    """Some columns in one memory layout, so that sums are added up in one order."""
    values = np.empty((numbers.shape[0], len(columns)))
    if getattr(numbers, "format", None) == "csc":
        values[:] = _part(numbers, columns)
        return values
    # Rows at a time, which of a file or a sparse matrix are read without the others.
    for rows in row_portions(*numbers.shape):
        values[rows] = _part(numbers[rows], columns)
    return values


def _part(numbers: Any, columns: IntArray) -> Any:
    part = numbers[:, columns]
    return part.toarray() if issparse(part) else part


def read_expression(
    table: Table, gene_names: Any = None, layer: str | None = None, *, what: str = "expression"
) -> Expression:
    """Check the genes of a table of expression data, samples as rows, and sort them.

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
    if not (annotated and table.isbacked):
        # Missing values are reported by the names of the genes.
        numbers = check_array(
            numbers,
            accept_sparse=("csr", "csc"),
            dtype="numeric" if issparse(numbers) else np.float64,
            ensure_all_finite=False,
            input_name=what,
        )
    n_genes = numbers.shape[1]
    is_named = names is not None
    names = default_names(n_genes) if names is None else names
    _check_names(names, n_genes, what)
    order = np.array(sorted(range(n_genes), key=names.__getitem__))
    return Expression(
        numbers, tuple(str(names[j]) for j in order), np.argsort(order), is_named, what
    )


def kept(names: Any) -> Any:
    """An iterator as a list, since it can be read only once; anything else unchanged."""
    return list(names) if isinstance(names, Iterator) else names


def read_validation(
    table: Table, expression: Expression, genes: IntArray, gene_names: Any, layer: str | None
) -> FloatArray:
    """Validation samples of some genes of ``expression``.

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
    return other.values(match_genes(other, expression, genes))


def match_genes(other: Expression, expression: Expression, genes: IntArray) -> IntArray:
    """Places of genes of ``expression`` in a second table, which may hold more genes."""
    n_genes, n_others = len(expression.names), len(other.names)
    if other.is_named != expression.is_named:
        if n_others != n_genes:
            raise ValueError(
                "Only one of expression and expression_val has gene names, and they have "
                f"{n_genes} and {n_others} genes; name the genes of both, or of neither."
            )
        # An array beside a frame: columns in the order of the table.
        places = np.empty(n_genes, dtype=np.intp)
        places[expression.in_file] = other.in_file
        return places[genes]
    if not expression.is_named and n_others > n_genes:
        raise ValueError(
            f"expression has {n_genes} genes and expression_val {n_others}, "
            "without names to match them; name the genes of both, or give the same columns."
        )
    place = {name: j for j, name in enumerate(other.names)}
    names = [expression.names[j] for j in genes.tolist()]
    missing = [name for name in names if name not in place]
    if missing:
        raise ValueError(
            f"expression_val lacks {len(missing)} gene(s) of expression: {listed(missing)}."
        )
    return np.array([place[name] for name in names])


def resolve_genes(which: Any, expression: Expression, role: str) -> IntArray:
    """Places of the chosen genes among the names of ``expression``, in the order given.

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


def one_for_each(name: str, entries: Any, n_samples: int) -> list[Any]:
    """What users say of each sample, as a list; raise unless it has their number."""
    try:
        found = list(entries)
    except TypeError:
        found = []
    if len(found) != n_samples:
        what = f"has {len(found)} entries" if np.iterable(entries) else f"is {entries!r}"
        raise ValueError(
            f"{name} {what}, but expression has {n_samples} samples; give one entry for each."
        )
    return found


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

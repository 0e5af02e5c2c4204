"""Names of genes: defaults, checks, and the genes that a user means."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from randsub._typing import IntArray

# Number of names listed in an error message.
SHOWN = 5


def default_names(n_genes: int) -> list[str]:
    """``"G1"``, ``"G2"``, ... for genes without names."""
    return [f"G{j + 1}" for j in range(n_genes)]


def listed(names: Sequence[Any]) -> str:
    """The first few names, for an error message."""
    # The repr of NumPy scalars shows their type.
    plain = [name.item() if isinstance(name, np.generic) else name for name in names[:SHOWN]]
    shown = ", ".join(map(repr, plain))
    return shown if len(names) <= SHOWN else f"{shown}, ... ({len(names) - SHOWN} more)"


def check_unique(names: Sequence[str], subject: str) -> None:
    """Raise if a gene is named more than once."""
    unique, counts = np.unique(np.asarray(names, dtype=object), return_counts=True)
    twice = unique[counts > 1].tolist()
    if twice:
        raise ValueError(
            f"{subject} {len(twice)} gene(s) more than once: {listed(twice)}. Each gene must occur "
            "once: merge or rename them."
        )


def gene_positions(
    which: Any, names: Sequence[str], role: str, *, is_named: bool = True
) -> IntArray:
    """Positions of the chosen genes, in the order in which they are given.

    Parameters
    ----------
    which : sequence of str, sequence of int, or bool array
        Names, positions, or a mask over all genes.
    names : sequence of str
        Names of all genes.
    role : str
        Name of the parameter, for error messages.
    is_named : bool, default=True
        False if ``names`` are the default ones.
    """
    if isinstance(which, str):
        raise TypeError(f"{role} must be a list of genes, got the single string {which!r}.")
    try:
        chosen = np.asarray(list(which))
    # A single number; lists of different lengths.
    except (TypeError, ValueError) as error:
        raise TypeError(f"{role} must be a list of genes, got {which!r}.") from error
    n_genes = len(names)
    if chosen.ndim != 1 or not len(chosen):
        raise ValueError(f"{role} must be a list with at least one gene, got {which!r}.")
    if chosen.dtype == bool:
        if len(chosen) != n_genes or not chosen.any():
            raise ValueError(
                f"{role} as a mask must have one entry for each of the {n_genes} genes, some of "
                f"them True; got {len(chosen)} entries, {int(chosen.sum())} of them True."
            )
        return np.flatnonzero(chosen)
    if chosen.dtype.kind in "iu":
        outside = chosen[(chosen < 0) | (chosen >= n_genes)]
        if len(outside):
            raise ValueError(
                f"{role} has positions outside 0 to {n_genes - 1}: {listed(outside.tolist())}."
            )
        return chosen
    wanted = chosen.tolist()
    if not all(isinstance(name, str) for name in wanted):
        raise TypeError(f"{role} must be names, positions or a mask, got {listed(wanted)}.")
    place = {name: j for j, name in enumerate(names)}
    unknown = [name for name in wanted if name not in place]
    if unknown and not is_named:
        raise ValueError(
            f"{role} are given by name, but the data has no gene names: pass gene_names, a frame "
            f"with names, or {role} by position."
        )
    if unknown:
        raise ValueError(
            f"{len(unknown)} of the {len(wanted)} {role} are not in the data: {listed(unknown)}. "
            "Remove them, or check the spelling and the type of identifier."
        )
    return np.array([place[name] for name in wanted])

"""Which cells may share a table: those that were measured in the same way.

Two commands may write into one folder, and a page may be made of several folders. Their cells may
be combined if they agree in everything that decides a result and is not shown in the tables: the
number of test samples, the parameters of a method under a setting, and the data behind the name of
a dataset.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from randsub_experiments.cell_store import Record
from randsub_experiments.cells import Cell, label

# Parameters that flags set; `params` stands for all.
ASKED: Final = ("n_estimators", "max_iter", "n_candidates")
PROTOCOL: Final = (*ASKED, "params", "data")

Traits = dict[tuple[str, ...], Any]


def protocol(cell: Cell) -> dict[str, Any]:
    """How a cell was measured, as columns of the results: those of ``PROTOCOL``."""
    asked = {name: cell.params.get(name) for name in ASKED}
    return {**asked, "params": cell.fingerprint, "data": cell.params.get("data", "")}


def traits(row: Mapping[str, Any]) -> Traits:
    """Properties that all cells of a table must have in common.

    Parameters
    ----------
    row : mapping
        A row of the results.

    Returns
    -------
    traits : dict
        Values by what they belong to, such as a method and its setting.
    """
    found: Traits = {
        ("n_test",): row.get("n_test"),
        ("params", row["method"], row["setting"]): row["params"],
        ("data", str(row.get("benchmark", "")), row["problem"]): row["data"],
    }
    return {common: value for common, value in found.items() if not pd.isna(value)}


def _row(cell: Cell) -> dict[str, Any]:
    who = {"problem": cell.problem, "method": cell.method, "setting": cell.setting}
    return {**who, **cell.conditions, **protocol(cell)}


def comparable(own: Sequence[Record], others: Iterable[Record]) -> list[Record]:
    """Those of the other records that were measured in the same way as a command's own.

    Others that contradict each other, where the command's own cells do not decide between them,
    are all left out.

    Parameters
    ----------
    own, others : sequence of Record

    Returns
    -------
    fitting : list of Record
    """
    fixed: Traits = {}
    for record in own:
        fixed |= traits(_row(record.cell))
    fitting = []
    for record in others:
        mine = traits(_row(record.cell))
        if all(fixed.get(common, value) == value for common, value in mine.items()):
            fitting.append((record, mine))
    values: dict[tuple[str, ...], set[Any]] = {}
    for _, mine in fitting:
        for common, value in mine.items():
            values.setdefault(common, set()).add(value)
    return [record for record, mine in fitting if all(len(values[common]) == 1 for common in mine)]


def check_comparable(results: pd.DataFrame, experiment: str) -> None:
    """Raise an error for results that cannot share a table.

    Parameters
    ----------
    results : DataFrame
        One row per cell.
    experiment : str
        For the message.
    """
    seen: Traits = {}
    rows: dict[tuple[str, ...], Any] = {}
    for row in results.to_dict("records"):
        for common, value in traits({str(name): entry for name, entry in row.items()}).items():
            if seen.setdefault(common, value) != value:
                raise ValueError(
                    f"The results of {experiment!r} were measured in two ways and cannot stand in "
                    f"one table: {_difference(common, rows[common], row)}. Leave one of the "
                    "folders out."
                )
            rows.setdefault(common, row)


def _difference(common: tuple[str, ...], one: Mapping[Any, Any], other: Mapping[Any, Any]) -> str:
    if common[0] == "n_test":
        return f"n_test is {one['n_test']} and {other['n_test']}"
    if common[0] == "data":
        return f"{common[2]} is not the same data everywhere"
    who = label(common[1], "", common[2])
    for name in ASKED:
        if one[name] != other[name] and not pd.isna([one[name], other[name]]).any():
            return f"{who} has {name}={one[name]:.0f} and {name}={other[name]:.0f}"
    return f"the parameters of {who} differ"

"""From what a user says about groups of columns to one group number a column."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from randsub._typing import IntArray


def resolve_groups(feature_groups: Any, n_features: int, names: Sequence[str]) -> IntArray:
    """Number the groups of columns 0, 1, ... in the order in which they appear in X.

    Parameters
    ----------
    feature_groups : array-like, list of lists, mapping or "prefix"
        One label a column; or lists of columns, by position or name, that belong together, or a
        mapping of each group's name to such a list. A name may be a prefix followed by an asterisk,
        and a group may be given as one such name. Columns in no list stand alone. "prefix" is
        what comes before the last underscore of each name.
    n_features : int
    names : sequence of str
        Names of the columns; may be empty.

    Returns
    -------
    groups : int ndarray of shape (n_features,)
    """
    if isinstance(feature_groups, str):
        labels = _from_prefixes(n_features, names)
    elif isinstance(feature_groups, Mapping):
        labels = _from_lists(list(feature_groups.values()), n_features, names)
    else:
        entries = list(feature_groups)
        lists = [isinstance(e, Iterable) and not isinstance(e, str) for e in entries]
        if entries and all(lists):
            labels = _from_lists(entries, n_features, names)
        elif any(lists):
            single = entries[lists.index(False)]
            raise ValueError(
                f"feature_groups has lists of columns and beside them {single!r}; give each group "
                "as a list, a single column too, or one label for each column."
            )
        else:
            labels = _from_labels(entries, n_features)
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.intp)


def _from_labels(labels: list[Any], n_features: int) -> list[Hashable]:
    if len(labels) != n_features:
        raise ValueError(
            f"feature_groups has {len(labels)} labels, but X has {n_features} columns. Give one "
            "label for each column, or a list of lists of columns that belong together."
        )
    return [label.item() if isinstance(label, np.generic) else label for label in labels]


def _from_prefixes(n_features: int, names: Sequence[str]) -> list[Hashable]:
    if len(names) != n_features:
        raise ValueError(
            "feature_groups='prefix' needs names of columns, and X has none; give X as a frame, or "
            "the groups as lists of positions."
        )
    prefixes = [name.rpartition("_")[0] for name in names]
    # A name without an underscore, or that begins with its only one, stands alone.
    return [("prefix", p) if p else ("alone", j) for j, p in enumerate(prefixes)]


def _from_lists(lists: Sequence[Any], n_features: int, names: Sequence[str]) -> list[Hashable]:
    position = {name: j for j, name in enumerate(names)}
    labels: list[Hashable] = [("alone", j) for j in range(n_features)]
    taken: set[int] = set()
    for g, columns in enumerate(lists):
        if isinstance(columns, str) and columns.endswith("*"):
            columns = [columns]
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise ValueError(
                f"feature_groups maps a group to {columns!r}; give each group a list of its "
                "columns: {group: [columns]}."
            )
        for column in columns:
            for j in _positions(column, n_features, position):
                if j in taken:
                    shown = names[j] if isinstance(column, str) else column
                    raise ValueError(
                        f"feature_groups lists column {shown!r} more than once; a column belongs "
                        "to one group."
                    )
                taken.add(j)
                labels[j] = ("group", g)
    return labels


def _positions(column: Any, n_features: int, position: Mapping[str, int]) -> list[int]:
    """The column, or those that a prefix followed by an asterisk stands for."""
    if not isinstance(column, str) or not column.endswith("*") or column in position:
        return [_position(column, n_features, position)]
    found = [j for name, j in position.items() if name.startswith(column[:-1])]
    if not found:
        known = "X has no column names" if not position else f"X has {list(position)[:10]}"
        raise ValueError(f"feature_groups has the prefix {column!r}, but {known}.")
    return found


def _position(column: Any, n_features: int, position: Mapping[str, int]) -> int:
    if isinstance(column, str):
        if column not in position:
            known = "X has no column names" if not position else f"X has {list(position)[:10]}"
            raise ValueError(f"feature_groups names the column {column!r}, but {known}.")
        return position[column]
    is_number = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if is_number and -n_features <= column < n_features:
        return int(column) % n_features
    raise ValueError(
        f"feature_groups names the column {column!r}, but columns are numbered 0 to "
        f"{n_features - 1}."
    )

"""Columns that are drawn together and the law of the subsets; columns by name or position."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from randsub._typing import IntArray
from randsub.distributions import Bernoulli, GroupedBernoulli, SubsetDistribution


def resolve_groups(feature_groups: Any, n_features: int, names: Sequence[str]) -> IntArray:
    """Number the groups of columns 0, 1, ... in the order in which they appear in X.

    Parameters
    ----------
    feature_groups : array-like, list of lists, mapping or "prefix"
        One label per column; or lists of the columns of each group, by position or name; or a
        mapping of group names to such lists. A name may be a prefix followed by an asterisk, and
        a group may be given as one such name. Columns in no list are groups by themselves.
        "prefix" groups the columns by the part of the name before the last underscore.
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
                f"feature_groups has lists of columns and also {single!r}; give each group as a "
                "list, also a single column, or one label per column."
            )
        else:
            labels = _from_labels(entries, n_features)
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.intp)


def _from_labels(labels: list[Any], n_features: int) -> list[Hashable]:
    if len(labels) != n_features:
        raise ValueError(
            f"feature_groups has {len(labels)} labels, but X has {n_features} columns. Give one "
            "label per column, or a list of lists of columns that belong together."
        )
    return [label.item() if isinstance(label, np.generic) else label for label in labels]


def _from_prefixes(n_features: int, names: Sequence[str]) -> list[Hashable]:
    if len(names) != n_features:
        raise ValueError(
            "feature_groups='prefix' needs column names, which X does not have; give X as a frame, "
            "or the groups as lists of positions."
        )
    prefixes = [name.rpartition("_")[0] for name in names]
    # A name without an underscore, or with its only one at the start, is a group by itself.
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
    """Positions of a column, or of all columns with a prefix that is followed by an asterisk."""
    if not isinstance(column, str) or not column.endswith("*") or column in position:
        return [column_position(column, n_features, position, "feature_groups")]
    found = [j for name, j in position.items() if name.startswith(column[:-1])]
    if not found:
        raise ValueError(f"feature_groups has the prefix {column!r}, but {_known(position)}.")
    return found


def column_position(
    column: Any, n_features: int, position: Mapping[str, int], parameter: str
) -> int:
    """Position of a column of X, given by its name or position.

    Parameters
    ----------
    column : str or int
    n_features : int
    position : mapping of str to int
        Position of each name; may be empty.
    parameter : str
        Name of the parameter that lists the column, for error messages.
    """
    if isinstance(column, str):
        if column not in position:
            raise ValueError(f"{parameter} names the column {column!r}, but {_known(position)}.")
        return position[column]
    is_number = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if is_number and -n_features <= column < n_features:
        return int(column) % n_features
    raise ValueError(
        f"{parameter} names the column {column!r}, but columns are numbered 0 to {n_features - 1}."
    )


def _known(position: Mapping[str, int]) -> str:
    return f"X has {list(position)[:10]}" if position else "X has no column names"


def choose_distribution(
    distribution: str | SubsetDistribution,
    feature_groups: Any,
    n_features: int,
    names: Sequence[str],
) -> SubsetDistribution:
    """The distribution of masks: independent per column or per group, or that of the user."""
    if isinstance(distribution, str):
        if feature_groups is None:
            return Bernoulli(n_features)
        return GroupedBernoulli(resolve_groups(feature_groups, n_features, names))
    if feature_groups is not None:
        raise ValueError(
            "feature_groups and distribution both define which columns are drawn together; give "
            "only one of them."
        )
    if distribution.n_columns != n_features:
        raise ValueError(
            f"distribution is for {distribution.n_columns} columns, but X has {n_features}."
        )
    return distribution

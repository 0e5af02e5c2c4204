"""What a picture calls the features, and how much they matter."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from randsub._typing import FloatArray, IntArray

# Longest name that is written in full.
WIDTH = 28


@dataclass(frozen=True)
class Features:
    """What is drawn as one feature: a column, or a group of columns that share an alpha.

    Parameters
    ----------
    names : list of str
    columns : int ndarray of shape (n,)
        A column of each; those of a group are all alike.
    """

    names: list[str]
    columns: IntArray


def features_of(
    model: Any, n_columns: int, names: Sequence[str] | None, by_group: bool | None
) -> Features:
    """What to draw of a model, and by which names.

    Parameters
    ----------
    model : fitted estimator
    n_columns : int
        Columns that the model was trained on.
    names : sequence of str or None
        One for each column or, where groups are drawn, for each group; by default those of the
        frame that the model was trained on, else x0, x1, ...
    by_group : bool or None
        Whether to draw groups; None where the model has some.
    """
    groups = getattr(model, "feature_groups_", None)
    if by_group and groups is None:
        raise ValueError(
            f"by_group=True needs a model with feature groups, but {type(model).__name__} was "
            "fitted without feature_groups."
        )
    if names is not None:
        names = [str(name) for name in names]
    if groups is None or by_group is False:
        return Features(_column_names(model, n_columns, names), np.arange(n_columns))
    labels, columns = np.unique(groups, return_index=True)
    if names is None or len(names) == n_columns != len(labels):
        names = _group_names(_column_names(model, n_columns, names), groups, len(labels))
    elif len(names) != len(labels):
        raise ValueError(
            f"feature_names has {len(names)} names, but the model has {len(labels)} groups of "
            f"{n_columns} columns. Give one for each group, or for each column."
        )
    return Features(list(names), columns)


def _column_names(model: Any, n_columns: int, names: list[str] | None) -> list[str]:
    if names is None:
        known = getattr(model, "feature_names_in_", None)
        return [f"x{j}" for j in range(n_columns)] if known is None else [str(n) for n in known]
    if len(names) != n_columns:
        raise ValueError(
            f"feature_names has {len(names)} names, but the model was trained on {n_columns} "
            "columns. Give one for each of them."
        )
    return names


def _group_names(names: list[str], groups: IntArray, n_groups: int) -> list[str]:
    members: list[list[str]] = [[] for _ in range(n_groups)]
    for group, name in zip(groups.tolist(), names, strict=True):
        members[group].append(name)
    return [_group_name(of_group) for of_group in members]


def _group_name(names: list[str]) -> str:
    """``colour_*`` for its indicators; else the first with the number of the others."""
    if len(names) == 1:
        return names[0]
    first, last = min(names), max(names)
    # What the two outermost in the alphabet begin with, all do.
    n_common = sum(itertools.takewhile(bool, map(str.__eq__, first, last)))
    common = first[:n_common]
    if common.endswith(("_", "-", ".", " ", ":", "/")):
        return f"{common}*"
    return f"{names[0]} + {len(names) - 1}"


def shortened(name: str, width: int = WIDTH) -> str:
    """A name that fits: on one line, with its beginning and its end.

    Names that differ mostly do so at one of these.

    Parameters
    ----------
    name : str
    width : int, default=28
        Most characters.
    """
    # What cannot be printed would break the line, or the drawing.
    name = "".join(c if c.isprintable() else " " for c in name)
    if len(name) <= width:
        return name
    head = width // 2
    return f"{name[:head]}…{name[len(name) - (width - head - 1) :]}"


def importances_of(model: Any) -> FloatArray:
    """``feature_importances_`` of a fitted model, (n_features,), or an error that helps."""
    check_is_fitted(model)
    importances = getattr(model, "feature_importances_", None)
    if importances is None:
        raise ValueError(
            f"{type(model).__name__} has no feature_importances_ to draw. PRS and RaSE have; of a "
            "pipeline or a search give the model inside (pipeline[-1], search.best_estimator_), "
            "and of any ensemble over subsets SubspaceDisplay shows what its members see."
        )
    return np.asarray(importances, dtype=float)


def check_values(values: Any, what: str) -> FloatArray:
    """Values of the features of some models, (n_models, n_features), or an error."""
    values = np.atleast_2d(np.asarray(values, dtype=float))
    if values.ndim != 2 or not values.size:
        raise ValueError(
            f"{what} must have the shape (n_features,) or (n_models, n_features), with at least "
            f"one feature, got {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{what} has {int((~np.isfinite(values)).sum())} value(s) not finite.")
    return values


def threshold_of(importances: FloatArray, threshold: float | str | None) -> float | None:
    """The level from which on features are selected, as SelectFromModel understands it.

    Parameters
    ----------
    importances : ndarray of shape (n_features,)
    threshold : float, "mean", "median", a multiple such as "1.25*mean", or None
    """
    if threshold is None:
        return None
    levels = {"mean": importances.mean(), "median": np.median(importances)}
    try:
        if not isinstance(threshold, str):
            number = float(threshold)
        else:
            scale, times, level = threshold.rpartition("*")
            number = float(levels[level.strip()]) * (float(scale) if times else 1.0)
        if np.isfinite(number):
            return number
        raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            "threshold must be a finite number, 'mean', 'median', a multiple such as '1.25*mean', "
            f"or None, got {threshold!r}."
        ) from None


def check_count(name: str, value: int | None, n_features: int) -> int:
    """How many features to draw: so many, as many as there are, or an error."""
    if value is None:
        return n_features
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(
            f"{name} must be a whole number from 1 on, or None for all, got {value!r}."
        )
    return min(int(value), n_features)

"""Names and importances of the features that a display draws."""

from collections.abc import Sequence, Sized
from itertools import takewhile
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from randsub._typing import FloatArray, IntArray

# Length of the longest name that is not shortened.
WIDTH = 28


def features_of(
    model: Any, n_columns: int, names: Sequence[str] | None, by_group: bool | None
) -> tuple[list[str], IntArray]:
    """Names of the features to draw, and one column of each.

    Parameters
    ----------
    model : fitted estimator
    n_columns : int
        Number of columns that the model was trained on.
    names : sequence of str or None
        One per column or, where groups are drawn, one per group; by default the names that the
        model has seen during fit, else x0, x1, ...
    by_group : bool or None
        Whether columns that share an alpha are drawn as one feature; None if the model has groups.

    Returns
    -------
    names : list of str
    columns : int ndarray
        A column of each feature; all columns of a group are alike.
    """
    groups = getattr(model, "feature_groups_", None)
    if by_group and groups is None:
        raise ValueError(
            f"by_group=True needs a model with feature groups, but {type(model).__name__} was "
            "fitted without feature_groups."
        )
    if groups is None or by_group is False:
        return column_names(model, n_columns, names), np.arange(n_columns)
    labels, columns = np.unique(groups, return_index=True)
    if names is None or len(names) == n_columns != len(labels):
        of_columns = np.array(column_names(model, n_columns, names), dtype=object)
        return [_group_name(of_columns[groups == label].tolist()) for label in labels], columns
    if len(names) != len(labels):
        raise ValueError(
            f"feature_names has {len(names)} entries, but the model has {len(labels)} groups of "
            f"{n_columns} columns. Give one name per group or one per column."
        )
    return [str(name) for name in names], columns


def column_names(model: Any, n_columns: int, names: Sequence[str] | None = None) -> list[str]:
    """Names of the columns: those given, those seen during fit, or x0, x1, ..."""
    seen = getattr(model, "feature_names_in_", None)
    return checked_names(seen if names is None else names, n_columns)


def checked_names(names: Sequence[str] | None, n_features: int) -> list[str]:
    """One name per feature as a string, x0, x1, ... by default; else an error."""
    if names is None:
        return [f"x{j}" for j in range(n_features)]
    check_lengths(n_features, "features", feature_names=names)
    return [str(name) for name in names]


def check_lengths(n: int, of: str, **parts: Sized | None) -> None:
    """Raise unless every part has one entry for each of n things.

    Parameters
    ----------
    n : int
    of : str
        What there are n of, in the plural.
    **parts : sequence or None
        By the name of the parameter; None passes.
    """
    for name, part in parts.items():
        if part is not None and len(part) != n:
            raise ValueError(f"There are {n} {of}, but {name} has {len(part)} entries.")


def _group_name(names: list[str]) -> str:
    """``colour_*`` for indicators of a category; else the first name and the number of others."""
    if len(names) == 1:
        return names[0]
    first, last = min(names), max(names)
    # The common prefix of the first and the last in the alphabet is that of all names.
    common = first[: sum(takewhile(bool, map(str.__eq__, first, last)))]
    if common.endswith(("_", "-", ".", " ", ":", "/")):
        return f"{common}*"
    return f"{names[0]} + {len(names) - 1}"


def shortened(name: str, width: int = WIDTH) -> str:
    """A name on one line, without its middle where it is too long.

    Long names mostly differ at their beginning or their end.

    Parameters
    ----------
    name : str
    width : int, default=28
        Maximum number of characters.
    """
    # Characters that cannot be printed would break the line or the drawing.
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
            f"{type(model).__name__} has no feature_importances_ to draw. Use PRS or RaSE; of a "
            "pipeline or a search give the model inside (pipeline[-1], search.best_estimator_). "
            "SubspaceDisplay shows the feature subsets of any random subspace ensemble."
        )
    return np.asarray(importances, dtype=float)


def threshold_of(importances: FloatArray, threshold: float | str | None) -> float | None:
    """The level above which features are selected, as SelectFromModel defines it.

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


def top_features(values: FloatArray, n_features: int | None) -> tuple[IntArray, IntArray]:
    """Features by decreasing value: the first n_features, and the others."""
    order = np.argsort(-values, kind="stable")
    shown, others = np.split(order, [check_count("n_features", n_features, len(values))])
    return shown, others


def check_count(name: str, value: int | None, n_features: int) -> int:
    """The number of features to draw, all of them for None; else an error."""
    if value is None:
        return n_features
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(
            f"{name} must be an integer of at least 1, or None for all, got {value!r}."
        )
    return min(int(value), n_features)

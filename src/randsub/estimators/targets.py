"""Targets of a fit: of one output or several, numbers, classes or labels."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.sparse import issparse

from randsub._sklearn import check_y
from randsub.engines.several_outputs import remedy, takes_outputs


def checked_targets(model: Any, y: Any, *, numeric: bool, suffix: str = "") -> Any:
    """Targets (n,) or, of several outputs, (n, K), as an array.

    A single column is taken as (n,), with scikit-learn's warning.
    """
    if y is None:
        raise ValueError(
            f"This {type(model).__name__} estimator requires y{suffix} to be passed, but the "
            "target y is None."
        )
    shape = _shape_of(y)
    several = len(shape) > 1 and shape[1] > 1
    if several and not getattr(model, "_takes_outputs", False):
        raise ValueError(
            f"{type(model).__name__} takes one target per sample: y{suffix} should be a 1d array, "
            f"got an array of shape {shape} instead. Fit one model per column; PRSRegressor and "
            "PRSClassifier take several columns."
        )
    with np.errstate(invalid="ignore"):
        y = check_y(y, multi_output=several, y_numeric=numeric, estimator=model)
    if issparse(y):
        y = y.toarray()
    if several and y.dtype == object:
        # Columns of different types, such as numbers and truth values.
        y = np.array(y.tolist())
    return _as_numbers(y, f"y{suffix}") if numeric else y


def _shape_of(y: Any) -> tuple[int, ...]:
    """The shape of array-like targets; () if it is not known before they are checked."""
    if hasattr(y, "shape"):
        return tuple(y.shape)
    try:
        return np.shape(y)
    except ValueError:
        return ()


def _as_numbers(y: Any, name: str) -> Any:
    """Targets of a regression; text is converted to numbers if possible."""
    if y.dtype.kind in "biuf":
        return y
    if y.dtype.kind in "US":
        with suppress(ValueError):
            numbers = y.astype(np.float64)
            if np.isfinite(numbers).all():
                return numbers
    raise ValueError(
        f"{name} must hold finite numbers in regression, got values of type {y.dtype} such as "
        f"{y.ravel()[0].item()!r}. For classes use a classifier."
    )


def count_outputs(y: Any) -> int | None:
    """K, the number of columns of checked targets; None if they are (n,)."""
    return None if y.ndim == 1 else int(y.shape[1])


def check_takes_outputs(bases: Mapping[str, Any], y: Any, *, classifies: bool) -> None:
    """Raise a ValueError if a base model is known not to take the columns of y."""
    if y.ndim == 1:
        return
    for base in bases.values():
        if takes_outputs(base, classifies=classifies) is False:
            raise ValueError(
                f"y has {y.shape[1]} columns, but the base model {base!r} takes one target per "
                f"sample: {remedy(base, classifies=classifies)}."
            )


def check_alike(y_val: Any, y: Any, *, classifies: bool) -> None:
    """Raise a ValueError if validation targets do not have the columns of the training targets."""
    if y_val.shape[1:] != y.shape[1:]:
        raise ValueError(
            f"y_val has shape {y_val.shape}, but y has shape {y.shape}: both need the same columns."
        )
    if classifies and y_val.ndim == 2:
        label_classes(y_val)


def label_classes(y: Any) -> Any:
    """The two values of label indicators (n, K), in their own type."""
    strange = y if y.dtype.kind not in "biuf" else y[(y != 0) & (y != 1)]
    if strange.size:
        raise ValueError(
            "Several columns of y are labels, 1 where a sample has the label and 0 where it has "
            f"not, but y holds {strange.ravel().tolist()[0]!r}. Several columns of classes "
            "(multiclass-multioutput) are not supported: fit one model per column."
        )
    return np.array([0, 1], dtype=y.dtype)


def label_indicators(y: Any) -> Any:
    """Absence and presence of each label, (n, 2 K), from indicators (n, K)."""
    return np.eye(2)[y.astype(np.intp)].reshape(len(y), -1)

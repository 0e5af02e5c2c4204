"""Targets as numbers: codes of classes, outputs of a regression, labels of a classification."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from randsub._sklearn import check_y
from randsub._tables import shape_of
from randsub._typing import FloatArray, IntArray
from randsub.engines.base import remedy, takes_outputs


def checked_columns(model: Any, y: Any, *, numeric: bool, suffix: str = "") -> Any:
    """Targets of several outputs or labels, as an array (n, K)."""
    if not getattr(model, "_takes_outputs", False):
        raise ValueError(
            f"{type(model).__name__} takes one target per sample: y{suffix} should be a 1d array, "
            f"got {shape_of(y)[1]} columns instead. Fit one model per column; PRSRegressor and "
            "PRSClassifier take several columns."
        )
    with np.errstate(invalid="ignore"):
        y = check_y(y, multi_output=True, y_numeric=numeric, estimator=model)
    if issparse(y):
        y = y.toarray()
    # Columns of different types, such as numbers and truth values, come as objects.
    return np.array(y.tolist()) if y.dtype == object else y


def check_takes_outputs(bases: Mapping[str, Any], n_outputs: int, *, classifies: bool) -> None:
    """Raise a ValueError if a base model is known not to take so many columns of y."""
    for base in bases.values():
        if takes_outputs(base, classifies=classifies) is False:
            raise ValueError(
                f"y has {n_outputs} columns, but the base model {base!r} takes one target per "
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


def class_codes(classes: Any, y: Any, rows: IntArray) -> IntArray:
    """Place of each sample's class in ``classes``, which must have those of these rows."""
    unknown = np.setdiff1d(y[rows], classes)
    if len(unknown):
        raise ValueError(
            f"y_val contains the classes {unknown.tolist()}, which are not in y: "
            f"{classes.tolist()}."
        )
    # Samples of weight 0 may have other labels; they are encoded as the first class.
    codes = np.zeros(len(y), dtype=np.intp)
    codes[rows] = np.searchsorted(classes, y[rows])
    return codes


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


def classes_of_labels(model: Any, y: Any, rows: IntArray) -> list[Any]:
    """``classes_`` of a classifier of labels (n, K), of which these rows count."""
    classes = label_classes(y)
    if (y[rows] == y[rows[0]]).all():
        raise ValueError(
            f"{type(model).__name__} needs a label that some samples have and others have not, but "
            f"all samples have the labels {y[rows[0]].tolist()}."
        )
    return [classes.copy() for _ in range(y.shape[1])]


def label_indicators(y: Any) -> FloatArray:
    """Absence and presence of each label, (n, 2 K), from indicators (n, K)."""
    return np.eye(2)[y.astype(np.intp)].reshape(len(y), -1)


def predicted_labels(classes: Sequence[Any], probabilities: Sequence[FloatArray]) -> Any:
    """The more likely class of each label, (n, K)."""
    pairs = zip(classes, probabilities, strict=True)
    return np.column_stack([values[np.argmax(p, axis=1)] for values, p in pairs])

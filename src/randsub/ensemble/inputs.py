"""Data as the user gave it: checked, and split for validation."""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    validate_data,
)

from randsub._tables import frame_kind, n_rows, numeric_columns, to_array
from randsub._typing import FloatArray, IntArray, Table


class Samples(NamedTuple):
    """X with its targets and weights (None where the user gave none).

    ``rows`` are those with a positive weight: a weight of 0 means that the sample is not there,
    whatever a base model would make of it.
    """

    X: Table
    y: Any
    sample_weight: FloatArray | None
    rows: IntArray

    def loss_weight(self) -> FloatArray:
        """Weights in the loss."""
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight


def check_table(
    model: Any, X: Table, *, reset: bool, accept_sparse: bool, allow_nan: bool, min_samples: int = 1
) -> Table:
    """X with the right number of columns and usable values: a frame stays a frame.

    Non-numeric columns of a frame are the base model's business and pass as they are.
    """
    options: dict[str, Any] = {
        "accept_sparse": "csr" if accept_sparse else False,
        "ensure_all_finite": "allow-nan" if allow_nan else True,
        "ensure_min_samples": min_samples,
    }
    if frame_kind(X) is None:
        return _short_indices(validate_data(model, X, reset=reset, dtype="numeric", **options))
    for n, what in ((n_rows(X), "sample(s)"), (X.shape[1], "feature(s)")):
        least = min_samples if what == "sample(s)" else 1
        if n < least:
            raise ValueError(
                f"Found a frame with {n} {what} (shape={X.shape}) while a minimum of {least} is "
                f"required by {type(model).__name__}."
            )
    # Only the names and their number count here, and these all versions read off a pandas frame.
    header = X if frame_kind(X) == "pandas" else pd.DataFrame(columns=list(X.columns))
    validate_data(model, header, reset=reset, skip_check_array=True)
    numeric = np.flatnonzero(numeric_columns(X))
    if len(numeric):
        check_array(to_array(X, numeric), input_name="X", estimator=model, **options)
    return X


def _short_indices(X: Table) -> Table:
    """A sparse matrix with 32-bit indices where these suffice: many base models take no other."""
    if not issparse(X) or X.indices.dtype == np.int32 == X.indptr.dtype:
        return X
    if max(*X.shape, X.nnz) > np.iinfo(np.int32).max:
        return X
    return type(X)(
        (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape, copy=False
    )


def check_samples(
    model: Any, X: Table, y: Any, sample_weight: Any, *, y_numeric: bool, suffix: str = ""
) -> Samples:
    """Targets and weights that match a checked X."""
    if y is None:
        raise ValueError(
            f"This {type(model).__name__} estimator requires y{suffix} to be passed, but the "
            "target y is None."
        )
    y = _check_y(y, multi_output=False, y_numeric=y_numeric, estimator=model)
    check_consistent_length(X, y)
    if sample_weight is None:
        return Samples(X, y, None, np.arange(len(y)))
    weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
    rows = np.flatnonzero(weight > 0.0)
    if not len(rows):
        raise ValueError(
            f"sample_weight{suffix} is 0 for every sample: at least one must be positive."
        )
    return Samples(X, y, weight, rows)


def as_fitted(X: Table, kind: str | None, names: Sequence[str]) -> Table:
    """X in the kind of table that the base models were trained on."""
    if frame_kind(X) == kind:
        return X
    if kind is None:
        return to_array(X, np.arange(X.shape[1]))
    library = sys.modules[kind]
    if frame_kind(X) is None:
        columns = dict(enumerate(np.asarray(X).T))
    else:
        columns = {j: X[name].to_numpy() for j, name in enumerate(X.columns)}
    return library.DataFrame({name: columns[j] for j, name in enumerate(names)})


def match_frame(frame: Table, X: Table) -> Table:
    """Columns of a frame in the dtypes of X where those are categories.

    Frames whose category lists differ would lose the dtype when their rows are stacked.
    """
    if frame_kind(X) != "pandas" or frame_kind(frame) != "pandas":
        return frame
    changed = [j for j, (a, b) in enumerate(zip(frame.dtypes, X.dtypes, strict=True)) if a != b]
    categories = {
        frame.columns[j]: X.dtypes.iloc[j] for j in changed if X.dtypes.iloc[j].name == "category"
    }
    return frame.astype(categories) if categories else frame


def split_validation(
    rows: IntArray, fraction: float, strata: IntArray | None, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Rows for training and for validation.

    With classes (``strata`` holds that of each sample), each gives its share to validation and
    keeps at least one sample for training. Training keeps at least two samples in all.
    """
    order = rng.permutation(rows)
    most = len(rows) - 2
    if strata is None:
        chosen = order[: min(max(round(fraction * len(rows)), 1), most)]
    else:
        members = [order[strata[order] == c] for c in np.unique(strata[rows])]
        shares = [min(int(fraction * len(m) + 0.5), len(m) - 1) for m in members]
        if not any(shares):
            # Many tiny classes: the largest gives one sample.
            shares[int(np.argmax([len(m) for m in members]))] = 1
        chosen = np.concatenate([m[:share] for m, share in zip(members, shares, strict=True)])
        chosen = chosen[:most]
    return np.setdiff1d(rows, chosen), np.sort(chosen)

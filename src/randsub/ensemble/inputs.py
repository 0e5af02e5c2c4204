"""Data as the user gave it: checked, and split for validation."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    validate_data,
)

from randsub._tables import frame_kind, n_rows, numeric_columns, to_array
from randsub._typing import FloatArray, IntArray, Table
from randsub.engines import Learner
from randsub.ensemble.fingerprint import describe_data
from randsub.ensemble.magnitude import check_magnitude, check_weight_magnitude


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

    def facts(self) -> dict[str, Any]:
        """What the callbacks of scikit-learn are told of the data."""
        weight = None if self.sample_weight is None else {"sample_weight": self.sample_weight}
        return {"X": self.X, "y": self.y, "metadata": weight}

    def described(self, suffix: str = "") -> dict[str, dict[str, str] | None]:
        """Shapes, types and digests, by the names that the tables have in ``fit``."""
        weight = self.sample_weight
        return {
            f"X{suffix}": describe_data(self.X),
            f"y{suffix}": describe_data(self.y),
            f"sample_weight{suffix}": None if weight is None else describe_data(weight),
        }


class Given(NamedTuple):
    """Everything that a user has given to ``fit``, checked; metadata is what goes to base models.

    ``validation`` is None where there is no data for it.
    """

    learner: Learner
    samples: Samples
    validation: Samples | None
    metadata: dict[str, Any]

    def described(self) -> dict[str, dict[str, str] | None]:
        """Shapes, types and digests of all of it."""
        nothing: dict[str, Any] = dict.fromkeys(("X_val", "y_val", "sample_weight_val"))
        return {
            **self.samples.described(),
            **(nothing if self.validation is None else self.validation.described("_val")),
            **{name: describe_data(value) for name, value in self.metadata.items()},
        }


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
        # Infinite values of both signs have no sum, by which scikit-learn looks for them.
        with np.errstate(invalid="ignore"):
            X = validate_data(model, X, reset=reset, dtype="numeric", **options)
        check_magnitude(X, "X")
        return _short_indices(X)
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
        with np.errstate(invalid="ignore"):
            numbers = check_array(to_array(X, numeric), input_name="X", estimator=model, **options)
        check_magnitude(numbers, "X")
    return X


def refuse_missing(model: Any, X: Table, columns: IntArray) -> None:
    """Raise where some columns of numbers of a checked table have missing values."""
    if frame_kind(X) is not None:
        columns = np.intersect1d(columns, np.flatnonzero(numeric_columns(X)))
    if len(columns):
        numbers = X[:, columns] if frame_kind(X) is None else to_array(X, columns)
        check_array(numbers, input_name="X", estimator=model)


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
    with np.errstate(invalid="ignore"):
        y = _check_y(y, multi_output=False, y_numeric=y_numeric, estimator=model)
    if y_numeric:
        y = _as_numbers(y, f"y{suffix}")
        check_magnitude(y, f"y{suffix}")
    check_consistent_length(X, y)
    if sample_weight is None:
        return Samples(X, y, None, np.arange(len(y)))
    weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
    check_weight_magnitude(weight, f"sample_weight{suffix}")
    rows = np.flatnonzero(weight > 0.0)
    if not len(rows):
        raise ValueError(
            f"sample_weight{suffix} is 0 for every sample: at least one must be positive."
        )
    return Samples(X, y, weight, rows)


def _as_numbers(y: Any, name: str) -> Any:
    """Targets of a regression; text that spells numbers is taken for these."""
    if y.dtype.kind in "biuf":
        return y
    if y.dtype.kind in "US":
        with suppress(ValueError):
            numbers = y.astype(np.float64)
            if np.isfinite(numbers).all():
                return numbers
    raise ValueError(
        f"{name} must hold finite numbers in regression, got values of type {y.dtype}, as "
        f"{y[0].item()!r}. For classes use a classifier."
    )


def as_fitted(X: Table, kind: str | None, columns: Sequence[Any]) -> Table:
    """X in the kind of table, and with the columns, that the base models were trained on.

    ``kind`` is "pandas", "polars", "sparse", or None for an array.
    """
    given = frame_kind(X) or ("sparse" if issparse(X) else None)
    if given == kind or (kind == "sparse" and given is None):
        return X
    if given == "sparse":
        X, given = X.toarray(), None
    if kind is None or kind == "sparse":
        return X if given is None else to_array(X, np.arange(X.shape[1]))
    values = list(np.asarray(X).T) if given is None else [X[c].to_numpy() for c in X.columns]
    return sys.modules[kind].DataFrame(dict(zip(columns, values, strict=True)))


def match_frame(frame: Table, X: Table) -> Table:
    """Columns of a frame in the dtypes of X where those are categories.

    Frames whose category lists differ would lose the dtype when their rows are stacked.
    """
    if frame_kind(X) != "pandas" or frame_kind(frame) != "pandas":
        return frame
    categories = {}
    for name, ours, theirs in zip(X.columns, X.dtypes, frame.dtypes, strict=True):
        if ours.name != "category" or ours == theirs:
            continue
        new = set(frame[name].dropna().unique()) - set(ours.categories)
        if new:
            raise ValueError(
                f"X_val has the categories {sorted(map(str, new))} in the column {name!r}, which "
                "are not in X; give X a categorical dtype that lists them."
            )
        categories[name] = ours
    return frame.astype(categories) if categories else frame


def split_validation(
    rows: IntArray, fraction: float, strata: IntArray | None, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Rows for training and for validation.

    With classes (``strata`` holds that of each sample), each gives its share to validation and
    keeps at least one sample for training. Training keeps at least two samples in all.
    """
    order = rng.permutation(rows)
    n_val = min(max(round(fraction * len(rows)), 1), len(rows) - 2)
    if strata is None:
        chosen = order[:n_val]
    else:
        members = [order[strata[order] == c] for c in np.unique(strata[rows])]
        quotas = _quotas(np.array([len(m) for m in members]), n_val)
        chosen = np.concatenate([m[:quota] for m, quota in zip(members, quotas, strict=True)])
    return np.setdiff1d(rows, chosen), np.sort(chosen)


def _quotas(sizes: IntArray, n_val: int) -> IntArray:
    """How many samples each class gives: in proportion, and never its last one.

    The quotas add up to ``n_val`` where that leaves a sample of each class for training.
    """
    exact = sizes * n_val / sizes.sum()
    quotas = np.minimum(np.floor(exact).astype(int), sizes - 1)
    for c in np.argsort(quotas - exact, kind="stable"):  # largest remainder first
        if quotas.sum() >= n_val:
            break
        quotas[c] += quotas[c] < sizes[c] - 1
    if not quotas.any():
        # One sample of each class: the first gives it nevertheless.
        quotas[0] = 1
    return quotas


def seed_words(random_state: Any) -> IntArray:
    """Four words that decide over everything that a fit draws."""
    return check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)


def check_parameters(base: Any) -> None:
    """Let the base model look at its own parameters before anything is trained with them."""
    if hasattr(base, "_parameter_constraints"):
        base._validate_params()

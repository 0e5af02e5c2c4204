"""Checks of the arguments of ``fit`` and ``predict``."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_consistent_length, get_tags
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter, validate_data

from randsub._sklearn import check_sample_weight, check_y, raise_for_params, routing_enabled
from randsub._tables import (
    frame_kind,
    is_column_file,
    match_frame,
    n_rows,
    numeric_columns,
    row_portions,
    shape_of,
    short_indices,
    to_array,
)
from randsub._typing import IntArray, Table
from randsub.engines.target_units import unit_for
from randsub.estimators.column_encoding import ColumnEncoder, chosen_encoder
from randsub.estimators.fit_data import Given, Layout, Samples
from randsub.estimators.missing_values import (
    fills_missing,
    is_nothing,
    is_opaque,
    refusal_of,
    transformers_of,
)
from randsub.estimators.targets import check_alike, check_takes_outputs, checked_columns

# Its square leaves room for products with other numbers of this size, and for long sums.
LARGEST = 1e100
# The product of a smaller weight and a parameter may be 0, and LIBSVM, for example, never ends on a
# sample with weight 0.
LEAST_WEIGHT = 1e-300


def check_input(
    model: Any,
    X: Table,
    y: Any,
    sample_weight: Any,
    X_val: Table | None,
    y_val: Any,
    sample_weight_val: Any,
    fit_params: dict[str, Any],
) -> Given:
    """Check the arguments of ``fit`` of an ensemble."""
    raise_for_params(fit_params, model, "fit")
    bases = model._checked_bases()
    least = 2 if X_val is not None or not model._splits_validation() else 3
    tags = get_tags(model).input_tags
    X = _check_width(model, X, tags, reset=True, min_samples=least)
    samples = check_samples(model, X, y, sample_weight, y_numeric=model._task == "regression")
    if len(samples.rows) < least:
        raise ValueError(
            f"Only {len(samples.rows)} sample(s) have a positive weight, but at least {least} "
            "are needed."
        )
    model._check_targets(samples.y, samples.rows)
    bases = model._suited(bases, samples)
    n_targets = None if samples.y.ndim == 1 else samples.y.shape[1]
    if n_targets is not None:
        check_takes_outputs(bases, n_targets, classifies=model._task == "classification")
    routed = _routed(model, bases, sample_weight, fit_params)
    encoder = _encoder(model, samples, [*bases.values()])
    _check_missing(model, X, encoder, tags)
    kind = frame_kind(X)
    layout = (kind, list(X.columns)) if kind else ("sparse" if issparse(X) else None, [])
    targets = (samples.y, samples.sample_weight, samples.rows)
    learners = [
        replace(
            model._learner(base, passes_weight, len(samples.rows), len(bases)),
            n_targets=n_targets,
            unit=unit_for(base, *targets) if model._task == "regression" else None,
            device=model.device,
            name=name,
        )
        for (name, base), (passes_weight, _) in zip(bases.items(), routed, strict=True)
    ]
    metadata = [params for _, params in routed]
    given = Given([*bases], learners, samples, None, metadata, layout, encoder)
    try:
        return given._replace(validation=_validation(model, given, X_val, y_val, sample_weight_val))
    except (ValueError, TypeError) as error:
        message = f"In the validation data (X_val, y_val, sample_weight_val): {error}"
        raise type(error)(message) from error


def check_new_table(
    model: Any,
    X: Table,
    layout: Layout,
    encoder: ColumnEncoder | None,
    seen: IntArray | None = None,
) -> Table:
    """Check new rows for a fitted model, and convert them to the table type of its members.

    ``seen`` are the columns that members see, if there are members: of a large file of columns no
    others are read.
    """
    tags = get_tags(model).input_tags
    if layout[0] is not None or encoder is not None or not is_column_file(X):
        seen = None  # all are used, or checked as a whole
    X = as_fitted(_check_width(model, X, tags, reset=False, columns=seen), layout)
    _check_missing(model, X, encoder, tags)
    return X


def _routed(
    model: Any, bases: Mapping[str, Any], sample_weight: Any, fit_params: dict[str, Any]
) -> list[tuple[bool, dict[str, Any]]]:
    """Whether sample weights are passed to each base model, and its other metadata."""
    if not routing_enabled():
        is_weighted = sample_weight is not None
        return [
            (is_weighted and has_fit_parameter(base, "sample_weight"), {})
            for base in bases.values()
        ]
    routed = process_routing(model, "fit", sample_weight=sample_weight, **fit_params)
    found = []
    for name in bases:
        given = routed[name or "estimator"].fit
        params = {key: value for key, value in given.items() if value is not None}
        found.append((params.pop("sample_weight", None) is not None, params))
    return found


def _encoder(model: Any, samples: Samples, bases: Sequence[Any]) -> ColumnEncoder | None:
    """The encoder of categories and of missing numbers; None if X is used as it is."""
    X, wanted = samples.X, getattr(model, "categorical_features", None)
    # Sparse data and files of columns are not copied.
    fills = model._fills_missing() and not issparse(X) and not is_column_file(X)
    if frame_kind(X) is None and not _lists_categories(model) and not fills:
        return None
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    # Others are not scaled: text that spells numbers, for example.
    scaled = _numeric(X) if model.standardize else np.arange(0)
    encoder = chosen_encoder(wanted, X, bases, names, scaled, fills=fills)
    return None if encoder is None else encoder.fit(X, samples.rows, samples.sample_weight)


def _numeric(X: Table) -> IntArray:
    is_frame = frame_kind(X) is not None
    return np.flatnonzero(numeric_columns(X)) if is_frame else np.arange(X.shape[1])


def _lists_categories(model: Any) -> bool:
    """Whether ``categorical_features`` is a list of columns, which may hold numbers."""
    wanted = getattr(model, "categorical_features", None)
    return wanted is not None and not isinstance(wanted, str)


def _check_missing(model: Any, X: Table, encoder: ColumnEncoder | None, tags: Any) -> None:
    """Raise an error if a numeric column has missing values that nobody replaces.

    In categorical columns a missing value is a category, so the first check allowed NaN.
    """
    if encoder is not None and encoder.fills:
        return
    if not model._fills_missing() and (not _lists_categories(model) or tags.allow_nan):
        return
    labels: IntArray = np.arange(0) if encoder is None else encoder.columns
    with _naming_base_models(model):
        refuse_missing(model, X, np.setdiff1d(np.arange(X.shape[1]), labels))


def _validation(
    model: Any, given: Given, X_val: Table | None, y_val: Any, sample_weight_val: Any
) -> Samples | None:
    """The checked validation data; None if there is none."""
    if X_val is None:
        if y_val is not None or sample_weight_val is not None:
            raise ValueError("y_val or sample_weight_val was given without X_val.")
        return None
    if y_val is None:
        raise ValueError("X_val was given without y_val.")
    X_val = check_new_table(model, X_val, given.layout, given.encoder)
    if given.encoder is None or given.encoder.unused_by:
        X_val = match_frame(X_val, given.samples.X)
    numeric = model._task == "regression"
    samples = check_samples(
        model, X_val, y_val, sample_weight_val, y_numeric=numeric, suffix="_val"
    )
    check_alike(samples.y, given.samples.y, classifies=not numeric)
    return samples


def _check_width(model: Any, X: Table, tags: Any, *, reset: bool, **options: Any) -> Table:
    with _naming_base_models(model):
        return check_table(
            model,
            X,
            reset=reset,
            accept_sparse=tags.sparse,
            allow_nan=tags.allow_nan or _lists_categories(model),
            **options,
        )


def check_table(
    model: Any,
    X: Table,
    *,
    reset: bool,
    accept_sparse: bool,
    allow_nan: bool,
    min_samples: int = 1,
    columns: IntArray | None = None,
) -> Table:
    """Check the number of columns and the values of X; a frame stays a frame.

    Non-numeric columns of a frame are not checked; the base model must support them. If X is an
    array, ``columns`` are those whose values are checked; all by default.
    """
    options: dict[str, Any] = {
        "accept_sparse": "csr" if accept_sparse else False,
        "ensure_all_finite": "allow-nan" if allow_nan else True,
        "ensure_min_samples": min_samples,
    }
    if frame_kind(X) is None:
        checked = options if columns is None else {**options, "ensure_all_finite": False}
        # scikit-learn detects infinite values by a sum, which is invalid with both signs.
        with np.errstate(invalid="ignore"):
            X = validate_data(model, X, reset=reset, dtype="numeric", **checked)
        if columns is not None:
            # Integers pass.
            for part in row_portions(len(columns), len(X)) if X.dtype.kind == "f" else ():
                _check_numbers(model, X[:, columns[part]], options)
            return X
        check_magnitude(X, "X")
        return short_indices(X)
    for n, what in ((n_rows(X), "sample(s)"), (X.shape[1], "feature(s)")):
        least = min_samples if what == "sample(s)" else 1
        if n < least:
            raise ValueError(
                f"Found a frame with {n} {what} (shape={X.shape}) while a minimum of {least} is "
                f"required by {type(model).__name__}."
            )
    # Only names and number of columns are checked, for which all versions support pandas frames.
    header = X if frame_kind(X) == "pandas" else pd.DataFrame(columns=list(X.columns))
    validate_data(model, header, reset=reset, skip_check_array=True)
    numeric = np.flatnonzero(numeric_columns(X))
    if len(numeric):
        _check_numbers(model, to_array(X, numeric), options)
    return X


def _check_numbers(model: Any, values: Any, options: dict[str, Any]) -> None:
    with np.errstate(invalid="ignore"):
        values = check_array(values, input_name="X", estimator=model, **options)
    check_magnitude(values, "X")


def refuse_missing(model: Any, X: Table, columns: IntArray) -> None:
    """Raise an error if these numeric columns of a checked table have missing values."""
    columns = np.intersect1d(columns, _numeric(X))
    if not len(columns) or (frame_kind(X) is None and X.dtype.kind != "f"):
        return
    if issparse(X):
        check_array(X[:, columns], accept_sparse=True, input_name="X", estimator=model)
        return
    for part in row_portions(len(columns), n_rows(X)):
        numbers = to_array(X, columns[part])
        check_array(numbers, input_name="X", estimator=model)


def check_samples(
    model: Any, X: Table, y: Any, sample_weight: Any, *, y_numeric: bool, suffix: str = ""
) -> Samples:
    """Check targets and weights against a checked X."""
    if y is None:
        raise ValueError(
            f"This {type(model).__name__} estimator requires y{suffix} to be passed, but the "
            "target y is None."
        )
    if len(shape := shape_of(y)) > 1 and shape[1] > 1:
        y = checked_columns(model, y, numeric=y_numeric, suffix=suffix)
    else:
        with np.errstate(invalid="ignore"):
            y = check_y(y, multi_output=False, y_numeric=y_numeric, estimator=model)
    if y_numeric:
        y = _as_numbers(y, f"y{suffix}")
        check_magnitude(y, f"y{suffix}")
    check_consistent_length(X, y)
    if sample_weight is None:
        return Samples(X, y, None, np.arange(len(y)))
    weight = check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
    check_weight_magnitude(weight, f"sample_weight{suffix}")
    rows = np.flatnonzero(weight > 0.0)
    if not len(rows):
        raise ValueError(
            f"sample_weight{suffix} is 0 for every sample: at least one must be positive."
        )
    return Samples(X, y, weight, rows)


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


def as_fitted(X: Table, layout: Layout) -> Table:
    """X in the type of table, and with the columns, that the base models were trained on."""
    kind, columns = layout
    given = frame_kind(X) or ("sparse" if issparse(X) else None)
    if given == kind or (kind == "sparse" and given is None):
        return X
    if given == "sparse":
        X, given = X.toarray(), None
    if kind is None or kind == "sparse":
        return X if given is None else to_array(X, np.arange(X.shape[1]))
    values = list(np.asarray(X).T) if given is None else [X[c].to_numpy() for c in X.columns]
    return sys.modules[kind].DataFrame(dict(zip(columns, values, strict=True)))


# -- numbers that would overflow: scaling, losses and most base models square their inputs ---------


def largest_of(dtype: Any) -> float:
    """The largest number of a float type that is accepted.

    Scaling subtracts the mean in the type of the data, so differences must not overflow either: at
    most half of the largest number in single precision.
    """
    return min(LARGEST, float(np.finfo(dtype).max) / 2.0)


def check_magnitude(values: Any, what: str) -> None:
    """Raise a ValueError if an array or a sparse matrix holds a number that is too large.

    Parameters
    ----------
    values : ndarray or sparse matrix
        Types other than floats pass.
    what : str
        Name for the error message.
    """
    if issparse(values):
        values = values.data
    if values.dtype.kind != "f" or not values.size:
        return
    largest = largest_of(values.dtype)
    # These two ignore missing values, without a copy.
    for extreme in (np.fmax.reduce(values, axis=None), np.fmin.reduce(values, axis=None)):
        if abs(extreme) > largest:
            why, wider = "whose square is too large to compute with", ""
            if largest < LARGEST:
                why = f"which is too large to compute with in {values.dtype.name}"
                wider = "float64, "
            raise ValueError(
                f"{what} holds {extreme:g}, {why}; numbers must be between {-largest:g} and "
                f"{largest:g}. Use {wider}other units, or replace the value if it is a code for "
                "something else."
            )


def check_weight_magnitude(weight: Any, what: str) -> None:
    """Raise a ValueError if a weight (n,) is too large, or so small that it might become 0."""
    check_magnitude(weight, what)
    positive = weight[weight > 0.0]
    if len(positive) and positive.min() < LEAST_WEIGHT:
        raise ValueError(
            f"{what} holds {positive.min():g}, which is too small to compute with; positive "
            f"weights must be at least {LEAST_WEIGHT:g}. Use 0 to leave a sample out, or "
            "multiply all weights by the same number."
        )


@contextmanager
def _naming_base_models(model: Any) -> Iterator[None]:
    """Say which base models refuse missing values, where scikit-learn names the ensemble."""
    try:
        yield
    except ValueError as error:
        refusing = [base for base in model._bases().values() if not takes_missing(base)]
        if refusing and "contains NaN" in str(error):
            raise refusal_of(refusing) from error
        raise


def takes_missing(estimator: Any) -> bool:
    """Whether the estimator accepts NaN in X, as far as it can be known.

    scikit-learn's tag ``allow_nan`` tells for single estimators. A pipeline does not know that it
    begins with an imputer, nor does a search know its estimator, so these are inspected. If that is
    inconclusive, the answer is yes, and the base model itself decides.
    """
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            if is_nothing(step):
                continue
            if not takes_missing(step):
                return False
            if fills_missing(step):
                return True
        return True
    if isinstance(estimator, ColumnTransformer):
        return all(is_nothing(p) or takes_missing(p) for p in transformers_of(estimator))
    if get_tags(estimator).input_tags.allow_nan or is_opaque(estimator):
        return True
    inner = [getattr(estimator, name, None) for name in ("estimator", "regressor", "classifier")]
    return any(takes_missing(part) for part in inner if hasattr(part, "fit"))

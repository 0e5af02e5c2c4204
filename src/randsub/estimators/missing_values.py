"""Missing numbers in X: which base models take them, and what is said if one does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags


@contextmanager
def naming_base_models(model: Any) -> Iterator[None]:
    """Say which base model refuses missing values, where scikit-learn names the ensemble."""
    try:
        yield
    except ValueError as error:
        if "contains NaN" not in str(error):
            raise
        bases = model._bases()
        refusing = [base for base in bases.values() if not takes_missing(base)]
        names = ", ".join(map(repr, refusing or bases.values()))
        raise ValueError(
            f"Input X contains NaN, which the base model{'s' * (len(refusing) > 1)} {names} "
            f"do{'es' * (len(refusing) < 2)} not accept. Fill in the missing values, for example "
            "with a SimpleImputer in a pipeline with the base model, remove these rows, or use a "
            "base model that takes missing values, such as a decision tree."
        ) from error


def takes_missing(estimator: Any) -> bool:
    """Whether the estimator accepts NaN in X, as far as it can be known.

    scikit-learn's tag ``allow_nan`` tells for single estimators. A pipeline does not know that it
    begins with an imputer, nor does a search know its estimator, so these are inspected. If that is
    inconclusive, the answer is yes, and the base model itself decides.
    """
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            if _is_nothing(step):
                continue
            if not takes_missing(step):
                return False
            if _fills_missing(step):
                return True
        return True
    if isinstance(estimator, ColumnTransformer):
        return all(_is_nothing(p) or takes_missing(p) for p in _transformers(estimator))
    if get_tags(estimator).input_tags.allow_nan or _is_opaque(estimator):
        return True
    inner = [getattr(estimator, name, None) for name in ("estimator", "regressor", "classifier")]
    return any(takes_missing(part) for part in inner if hasattr(part, "fit"))


def _fills_missing(estimator: Any) -> bool:
    """Whether the output of a transformer can be assumed to have no NaN."""
    if isinstance(estimator, Pipeline):
        return any(_fills_missing(step) for _, step in estimator.steps)
    if isinstance(estimator, ColumnTransformer):
        return all(p == "drop" or _fills_missing(p) for p in _transformers(estimator))
    return type(estimator).__name__.endswith("Imputer") or _is_opaque(estimator)


def _is_opaque(estimator: Any) -> bool:
    """Whether a transformer cannot be known: a user's function, or one of another library."""
    foreign = not type(estimator).__module__.startswith("sklearn.")
    return isinstance(estimator, FunctionTransformer) or (
        foreign and hasattr(estimator, "transform")
    )


def _is_nothing(part: Any) -> bool:
    return part is None or isinstance(part, str)


def _transformers(estimator: ColumnTransformer) -> list[Any]:
    return [part for _, part, _ in estimator.transformers] + [estimator.remainder]

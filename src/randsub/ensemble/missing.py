"""Whether a base model can be given missing values.

scikit-learn's tag says so for single estimators, but a pipeline does not pass on that it begins
with an imputer, nor a search what it searches over; so these are looked into. Where that does not
tell, the answer is yes, and the base model itself has the last word.
"""

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags


def takes_missing(estimator: Any) -> bool:
    """Whether the estimator accepts NaN in X, as far as one can tell."""
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
    """Whether what comes out of a transformer may be taken to have no NaN any more."""
    if isinstance(estimator, Pipeline):
        return any(_fills_missing(step) for _, step in estimator.steps)
    if isinstance(estimator, ColumnTransformer):
        return all(p == "drop" or _fills_missing(p) for p in _transformers(estimator))
    return type(estimator).__name__.endswith("Imputer") or _is_opaque(estimator)


def _is_opaque(estimator: Any) -> bool:
    """Whether what a transformer does cannot be known: a user's function, or another library."""
    foreign = not type(estimator).__module__.startswith("sklearn.")
    return isinstance(estimator, FunctionTransformer) or (
        foreign and hasattr(estimator, "transform")
    )


def _is_nothing(part: Any) -> bool:
    return part is None or isinstance(part, str)


def _transformers(estimator: ColumnTransformer) -> list[Any]:
    return [part for _, part, _ in estimator.transformers] + [estimator.remainder]

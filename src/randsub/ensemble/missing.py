"""Whether a base model can be given missing values.

scikit-learn's tag says so for single estimators, but a pipeline does not pass on that it begins
with an imputer; so pipelines and column transformers are looked into.
"""

from collections.abc import Iterator
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

_IMPUTERS = (SimpleImputer, KNNImputer, IterativeImputer)


def takes_missing(estimator: Any) -> bool:
    """Whether the estimator accepts NaN in X."""
    if isinstance(estimator, Pipeline):
        for step in _parts(estimator):
            if not takes_missing(step):
                return False
            if _fills_missing(step):
                return True
        return True
    if isinstance(estimator, ColumnTransformer):
        return all(takes_missing(part) for part in _parts(estimator))
    return bool(get_tags(estimator).input_tags.allow_nan)


def _fills_missing(estimator: Any) -> bool:
    """Whether what comes out of a transformer has no NaN any more."""
    if isinstance(estimator, Pipeline):
        return any(_fills_missing(step) for step in _parts(estimator))
    if isinstance(estimator, ColumnTransformer):
        whole = estimator.remainder != "passthrough"
        return whole and all(_fills_missing(part) for part in _parts(estimator))
    return isinstance(estimator, _IMPUTERS)


def _parts(estimator: Any) -> Iterator[Any]:
    steps = (
        estimator.steps
        if isinstance(estimator, Pipeline)
        else [*estimator.transformers, ("remainder", estimator.remainder)]
    )
    for _, part, *_ in steps:
        if not isinstance(part, str) and part is not None:
            yield part

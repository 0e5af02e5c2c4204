"""Missing numbers in X: what fills them in, and what is said if a base model does not take them."""

from collections.abc import Sequence
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer


def refusal_of(bases: Sequence[Any]) -> ValueError:
    """The error of an ensemble for missing values that these base models do not accept."""
    several = len(bases) > 1
    return ValueError(
        f"Input X contains NaN, which the base model{'s' * several} {', '.join(map(repr, bases))} "
        f"do{'' if several else 'es'} not accept. Fill in the missing values, for example with a "
        "SimpleImputer in a pipeline with the base model, remove these rows, or use a base model "
        "that takes missing values, such as a decision tree. PRSClassifier('auto') and "
        "PRSRegressor('auto') fill them in, except in large column-major files."
    )


def fills_missing(estimator: Any) -> bool:
    """Whether the output of a transformer can be assumed to have no NaN."""
    if isinstance(estimator, Pipeline):
        return any(fills_missing(step) for _, step in estimator.steps)
    if isinstance(estimator, ColumnTransformer):
        return all(p == "drop" or fills_missing(p) for p in transformers_of(estimator))
    return type(estimator).__name__.endswith("Imputer") or is_opaque(estimator)


def is_opaque(estimator: Any) -> bool:
    """Whether a transformer cannot be known: a user's function, or one of another library."""
    foreign = not type(estimator).__module__.startswith("sklearn.")
    return isinstance(estimator, FunctionTransformer) or (
        foreign and hasattr(estimator, "transform")
    )


def is_nothing(part: Any) -> bool:
    """Whether a step of a pipeline does nothing."""
    return part is None or isinstance(part, str)


def transformers_of(estimator: ColumnTransformer) -> list[Any]:
    """The transformers, with that of the remaining columns."""
    return [part for _, part, _ in estimator.transformers] + [estimator.remainder]

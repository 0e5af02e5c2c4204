"""Base models that predict several outputs, or several labels, at once."""

from typing import Any

from sklearn.utils import get_tags

# scikit-learn's tags do not say so.
UNTAGGED = {"MLPRegressor"}


def takes_outputs(estimator: Any, *, classifies: bool) -> bool | None:
    """Whether a base model takes y of shape (n, K); None if only its ``fit`` can tell.

    Parameters
    ----------
    estimator : estimator
    classifies : bool
        Whether the columns of y are labels, 0 or 1.
    """
    tags = get_tags(estimator)
    if tags.target_tags.multi_output or type(estimator).__name__ in UNTAGGED:
        return True
    if classifies and tags.classifier_tags is not None and tags.classifier_tags.multi_label:
        return True
    # Tags of searches and other models of models are often those of the outer model alone, and
    # other libraries may have none.
    is_plain = not any(hasattr(estimator, name) for name in ("estimator", "estimators", "steps"))
    return False if is_plain and type(estimator).__module__.startswith("sklearn.") else None


def remedy(estimator: Any, *, classifies: bool) -> str:
    """What to do with a base model that does not take several outputs, as a clause."""
    name, kind = type(estimator).__name__, "Classifier" if classifies else "Regressor"
    return (
        f"use sklearn.multioutput.MultiOutput{kind}({name}(...)) as the base model, or fit one "
        "model per column of y"
    )

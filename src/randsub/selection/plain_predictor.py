"""The model that judges sets of features, if the user gives none."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, VotingClassifier, VotingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub._tables import frame_kind, numeric_columns
from randsub._typing import Table
from randsub.estimators import RandomSubspaceClassifier, RandomSubspaceRegressor
from randsub.estimators.column_encoding import see_labels
from randsub.estimators.portfolio import Facts, portfolio
from randsub.estimators.prs import BasePRS

BAGGED_TREES = 10


def plain_predictor(estimator: Any, X: Table, y: Any) -> Any:
    """The base model of PRS on all columns that it is given, scaled and encoded; others as is.

    Decision trees are bagged, as in PRS; several base models are averaged. "auto" is what suits the
    data, with missing numbers replaced by the mean.

    Parameters
    ----------
    estimator : estimator
    X : table
    y : array-like
    """
    if not isinstance(estimator, BasePRS):
        return clone(estimator)
    classifies = is_classifier(estimator)
    is_auto = estimator._chooses_bases
    given = _suited(classifies, X, y) if is_auto else estimator._bases().items()
    bases = [(name, _bagged(base, classifies)) for name, base in given]
    has_labels = frame_kind(X) is not None and not numeric_columns(X).all()
    fill = SimpleImputer(keep_empty_features=True) if is_auto and not issparse(X) else "passthrough"
    # Those that use labels themselves see them, as in PRS; the others see indicators.
    own = see_labels("auto", X, [base for _, base in bases]) if has_labels else []
    if own:
        bases = [
            (name, base if place in own else make_pipeline(_indicators(fill), base))
            for place, (name, base) in enumerate(bases)
        ]
    gives_probabilities = all(hasattr(base, "predict_proba") for _, base in bases)
    voting: dict[str, Any] = {"voting": "soft" if gives_probabilities else "hard"}
    if len(bases) == 1:
        base = bases[0][1]
    elif classifies:
        base = VotingClassifier(bases, **voting)
    else:
        base = VotingRegressor(bases)
    kind = RandomSubspaceClassifier if classifies else RandomSubspaceRegressor
    model = kind(
        clone(base),
        n_estimators=1,
        max_features=1.0,
        validation_fraction=None,
        standardize=estimator.standardize,
        **(voting if classifies else {}),
    )
    if own:
        return model
    if not has_labels:
        return model if fill == "passthrough" else make_pipeline(fill, model)
    if frame_kind(X) != "pandas":
        raise ValueError(
            "X has columns that are not numbers: pass a predictor that takes them, such as a "
            "pipeline that encodes them, or a pandas frame."
        )
    return make_pipeline(_indicators(fill), model)


def _indicators(fill: Any) -> ColumnTransformer:
    """Indicators of labels; numbers are filled."""
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    labels = make_column_selector(dtype_exclude=["number", "bool"])
    return ColumnTransformer([("labels", encoder, labels)], remainder=fill)


def _suited(classifies: bool, X: Table, y: Any) -> list[tuple[str, Any]]:
    """Base models of "auto", for training sets of at least half of the samples."""
    n_samples, n_classes = X.shape[0], len(np.unique(np.asarray(y))) if classifies else None
    facts = Facts(n_samples, n_samples // 2, n_classes, issparse(X))
    return portfolio("classification" if classifies else "regression", facts)


def _bagged(base: Any, classifies: bool) -> Any:
    if not isinstance(base, DecisionTreeClassifier | DecisionTreeRegressor):
        return base
    return (BaggingClassifier if classifies else BaggingRegressor)(base, BAGGED_TREES)

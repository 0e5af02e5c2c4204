"""Ensembles: a fitted model that is whole, or an error that was written for the user."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import issparse
from sklearn.svm import SVC, SVR

from flat_parameters import flat
from hardening import inputs, parameters
from hardening.cases import Case, Data, hostile_dimensions, pick
from hardening.inputs import kind
from hardening.tally import BUDGETS, Tally, tries
from hardening.verdict import attempt
from randsub import (
    PRSClassifier,
    PRSRegressor,
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
    RaSEClassifier,
    RaSERegressor,
)
from randsub._tables import frame_kind, numeric_columns
from randsub.estimators.calibration import LARGEST
from randsub.estimators.portfolio import everything

DIMENSIONS = ["rows", "columns", "values", "container", "target", "weights", "validation"]
DIMENSIONS += ["base", "parameters"]
SUBJECTS = {
    PRSClassifier: ("PRS", parameters.PRS_CLASSIFIER),
    PRSRegressor: ("PRS", parameters.PRS_REGRESSOR),
    RandomSubspaceClassifier: (
        "RandomSubspace",
        {**parameters.RANDOM_SUBSPACE, **parameters.VOTING},
    ),
    RandomSubspaceRegressor: ("RandomSubspace", parameters.RANDOM_SUBSPACE),
    RaSEClassifier: ("RaSE", parameters.RASE_CLASSIFIER),
    RaSERegressor: ("RaSE", parameters.RASE),
}


@st.composite
def cases(draw: Any, model: Any) -> Case:
    """A model of this class, and data."""
    hostile = hostile_dimensions(draw, DIMENSIONS)
    classifies = issubclass(model, PRSClassifier | RandomSubspaceClassifier | RaSEClassifier)
    X, data = inputs.tables(draw, hostile)
    targets = (inputs.CLASSES if classifies else inputs.NUMBERS)[kind("target", hostile)]
    target, make_target = pick(draw, targets)
    weights, make_weights = pick(draw, inputs.WEIGHTS[kind("weights", hostile)])
    bases = parameters.CLASSIFIERS if classifies else parameters.REGRESSORS
    base, estimator = parameters.base_model(draw, bases, hostile)
    small, choices = SUBJECTS[model]
    given_ = parameters.parameters(draw, choices, small, hostile, data.n_columns)
    fit = {
        "X": X,
        "y": make_target(data.signal, data.rng),
        "sample_weight": make_weights(data.n_rows, data.rng),
    }
    further = draw(st.sampled_from(VALIDATION[kind("validation", hostile)]))
    fit |= validation(further, fit, data)
    told = {**data.told, "target": target, "weights": weights, "base": base, "validation": further}
    as_they_are = issparse(X) or given_.get("standardize") is False
    # Columns of numbers that are not of a type of numbers are left to the base model.
    as_they_are |= frame_kind(X) is not None and not numeric_columns(X).all()
    of_any_size = as_they_are and data.told["values"] != "normal"
    if of_any_size or weights in inputs.WEIGHTS["hostile"]:
        # On numbers of any size that nobody scales, weights among them, LIBSVM may not end.
        estimator = bounded(estimator, "classification" if classifies else "regression")
    made = model(estimator, **flat(**given_))
    return Case(made, fit, queries(X, data), told, (*given_, "estimator", *fit))


def bounded(estimator: Any, task: Any) -> Any:
    """The base models, support vector machines among them with a limit of iterations."""
    if isinstance(estimator, str) and estimator == "auto":
        bases = dict(everything(task))
        bases["knn"].set_params(n_neighbors=1)
        return [(name, bounded(base, task)) for name, base in bases.items()]
    if isinstance(estimator, SVC | SVR):
        return estimator.set_params(max_iter=max(estimator.max_iter, 1000))
    return estimator


VALIDATION = {
    "tame": ["none", "none at all", "the first rows"],
    "hostile": ["the bare numbers", "other rows", "no targets", "targets alone", "another width"],
}


def validation(how: str, fit: dict[str, Any], data: Data) -> dict[str, Any]:
    """Validation data."""
    n = max(data.n_rows // 2, 1)
    match how:
        case "the first rows":
            return {"X_val": head(fit["X"], n), "y_val": head(fit["y"], n)}
        case "the bare numbers":
            return {"X_val": data.numbers, "y_val": fit["y"]}
        case "other rows":
            return {"X_val": fit["X"], "y_val": head(fit["y"], n), "sample_weight_val": [1.0] * n}
        case "no targets":
            return {"X_val": fit["X"]}
        case "targets alone":
            return {"y_val": fit["y"], "sample_weight_val": fit["sample_weight"]}
        case "another width":
            return {"X_val": np.ones((n, data.n_columns + 1)), "y_val": head(fit["y"], n)}
    return {}


def head(table: Any, n: int) -> Any:
    """The first rows of a table that has rows."""
    if issparse(table):
        return table.tocsr()[:n]
    if hasattr(table, "iloc"):
        return table.iloc[:n]
    return table[:n] if hasattr(table, "__getitem__") and not isinstance(table, dict) else table


def queries(X: Any, data: Data) -> list[Any]:
    """Tables to predict from: the training table, and one row of it."""
    return [X, head(X, 1)]


def check_fitted(model: Any, case: Case) -> None:
    """Everything that was learned is finite, and answers have the right shapes and types."""
    m = model.n_features_in_
    if hasattr(model, "alpha_"):
        assert model.alpha_.shape == (m,)
        assert model.alpha_.dtype == np.float64
        assert ((model.alpha_ >= 0.0) & (model.alpha_ <= 1.0)).all()
        assert model.feature_importances_ is model.alpha_
        assert 0.0 <= model.expected_size_ <= m * (1.0 + 1e-9)
    if hasattr(model, "history_"):
        history = model.history_
        if "X_val" not in case.given and model.validation_fraction is None:
            # There is nothing to score.
            history = history.drop(columns="validation_score", errors="ignore")
        assert np.isfinite(history.to_numpy(dtype=float)).all(), history
    if hasattr(model, "temperature_"):
        assert 1.0 / LARGEST <= model.temperature_ <= LARGEST
    assert len(model.estimators_) == len(model.estimators_features_) == model.n_estimators
    for columns in model.estimators_features_:
        assert len(np.unique(columns)) == len(columns)
        assert all(0 <= j < m for j in columns)


def check_answers(model: Any, query: Any) -> None:
    """Predictions for a table."""
    predicted = model.predict(query)
    n = np.shape(predicted)[0]
    if not hasattr(query, "__len__") or issparse(query):
        assert n == query.shape[0]
    else:
        assert n == len(query)
    n_outputs = getattr(model, "n_outputs_", 1)
    assert predicted.shape == ((n,) if n_outputs == 1 else (n, n_outputs))
    if not hasattr(model, "classes_"):
        assert predicted.dtype == np.float64
        assert np.isfinite(predicted).all()
        return
    # Of several labels, an array each.
    answers = model.predict_proba(query), model.classes_, predicted.T
    of_labels = zip(*answers, strict=True) if n_outputs > 1 else [answers]
    for shares, classes, labels in of_labels:
        assert labels.dtype == classes.dtype
        assert np.isin(labels, classes).all()
        assert shares.shape == (n, len(classes))
        assert (shares >= 0.0).all()
        # Base models answer single precision in single precision.
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-6)


def judge(case: Case, tally: Tally) -> None:
    """Try a case, and count what comes of it."""
    outcome = attempt(lambda: case.model.fit(**case.given))
    tally.add(outcome, case.parameters)
    if outcome != "fitted":
        assert not [name for name in vars(case.model) if name.endswith("_")]
        return
    check_fitted(case.model, case)
    for query in case.queries:
        # A row less may make another table of it: text that is no number in the first row.
        assert attempt(lambda query=query: check_answers(case.model, query)) == "fitted"


def make_test(model: Any) -> Any:
    """One test for each class, so that workers can share them."""
    name = model.__name__

    @pytest.mark.subject(name)
    @given(case=cases(model))
    @tries(name)
    def test(tally: Tally, case: Case) -> None:
        judge(case, tally)

    return test


test_prs_classifier = make_test(PRSClassifier)
test_prs_regressor = make_test(PRSRegressor)
test_random_subspace_classifier = make_test(RandomSubspaceClassifier)
test_random_subspace_regressor = make_test(RandomSubspaceRegressor)
test_rase_classifier = make_test(RaSEClassifier)
test_rase_regressor = make_test(RaSERegressor)


def test_every_class_has_its_share() -> None:
    assert {model.__name__ for model in SUBJECTS} < set(BUDGETS)

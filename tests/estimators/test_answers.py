"""A fitted ensemble predicts the mean of its members, however the members are asked.

Classifiers calibrate it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.engines import GenericEngine
from randsub.estimators.calibration import tempered
from randsub.exceptions import BaseModelError

N, N_NEW, M = 90, 25, 6
REGRESSORS = [
    KNeighborsRegressor(4),
    KNeighborsRegressor(9, weights="distance"),
    KNeighborsRegressor(4, weights="distance"),
    DecisionTreeRegressor(max_depth=4),
    SVR(),
    SVR(kernel="linear", C=0.3),
    SVR(gamma="auto", epsilon=0.3),
    Ridge(2.0),
    LinearRegression(),
]
CLASSIFIERS = [
    KNeighborsClassifier(4),
    KNeighborsClassifier(4, weights="distance"),
    DecisionTreeClassifier(max_depth=4),
    SVC(),
    SVC(kernel="linear", C=0.3),
    GaussianNB(),
    LinearDiscriminantAnalysis(),
]
# Linear models in single precision are for scikit-learn.
pytestmark = pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")
# Support vector machines give no probabilities.
VOTERS = [(base, "hard") for base in CLASSIFIERS]
VOTERS += [(base, "soft") for base in CLASSIFIERS if hasattr(base, "predict_proba")]
SETTINGS = {"n_estimators": 12, "max_iter": 2, "n_batches": 2, "alpha_init": 0.4, "random_state": 0}
# Whole numbers never come alone: which of several neighbours at the same distance counts is not
# defined.
TOGETHER = {**SETTINGS, "feature_groups": [[2, 3]]}


def single(X: np.ndarray) -> np.ndarray:
    return X.astype(np.float32)


def pandas(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(M)])


def polars(X: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame(X, schema=[f"c{j}" for j in range(M)])


def mixed(X: np.ndarray) -> pd.DataFrame:
    """Columns of single precision, of double precision and of whole numbers."""
    return pandas(X).astype({"c1": np.float32}).assign(c2=(10 * X[:, 2]).astype(int))


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": np.asarray,
    "float32": single,
    "pandas": pandas,
    "polars": polars,
    "mixed": mixed,
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


class Samples(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray


def samples(n_classes: int = 0) -> Samples:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N + N_NEW, M)) * np.array([1.0, 5.0, 0.2, 1.0, 1.0, 30.0]) + 2.0
    height = X[:, 0] + X[:, 1] * X[:, 2] / 3.0 + 0.3 * rng.normal(size=len(X))
    y: np.ndarray = height[:N]
    if n_classes:
        cuts = np.quantile(y, np.arange(1, n_classes) / n_classes)
        y = np.array(["oak", "ash", "fir", "yew"])[np.digitize(y, cuts)]
    return Samples(X[:N], y, X[N:])


def members_say(model: Any, X: Any) -> list[np.ndarray]:
    """What each member predicts, asked by name: (n,) values or (n, C) probabilities or votes."""
    if model.standardizer_ is not None:
        X = model.standardizer_.transform(X)
    answers = []
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        if len(columns) == 0:
            part = np.empty((X.shape[0], 0))
        elif isinstance(X, pd.DataFrame):
            part = X.iloc[:, columns]
        else:
            part = X[:, columns.tolist()]
        if isinstance(model, PRSRegressor):
            answers.append(member.predict(part))
        elif model._engines[0].learner.voting == "soft":
            np.testing.assert_array_equal(member.classes_, model.classes_)
            answers.append(member.predict_proba(part))
        else:
            answers.append((member.predict(part)[:, np.newaxis] == model.classes_).astype(float))
    return answers


def mean_of(answers: list[np.ndarray]) -> np.ndarray:
    """In double precision, also where members answer in single precision."""
    return np.mean(answers, axis=0, dtype=np.float64)


def together(model: Any, answers: list[np.ndarray]) -> np.ndarray:
    """The answer of the ensemble: the mean over its members, calibrated in classification."""
    if isinstance(model, PRSRegressor):
        return mean_of(answers)
    return tempered(mean_of(answers), model.temperature_, 0.5 / model.n_estimators)


def answer(model: Any, X: Any) -> np.ndarray:
    return model.predict(X) if isinstance(model, PRSRegressor) else model.predict_proba(X)


def asks(model: Any) -> Any:
    """How often the engine has answered for a member, from now on."""
    given: list[bool] = []
    ask = model._engines[0].predict_fitted

    def counting(*args: Any) -> Any:
        found = ask(*args)
        given.append(found is not None)
        return found

    model._engines[0].predict_fitted = counting
    return given


def n_holding(model: Any) -> int:
    return sum(len(columns) > 0 for columns in model.estimators_features_)


def name(base: Any) -> str:
    return " ".join(repr(base).split())


@every_kind
@pytest.mark.parametrize("base", REGRESSORS, ids=name)
@pytest.mark.parametrize("standardize", [True, False])
def test_values_are_the_mean_over_the_members(base, kind, standardize) -> None:
    X, y, X_new = samples()
    model = PRSRegressor(base, **flat(standardize=standardize, **TOGETHER)).fit(kind(X), y)
    given = asks(model)
    found = model.predict(kind(X_new))
    np.testing.assert_allclose(found, mean_of(members_say(model, kind(X_new))), rtol=1e-9)
    # The engine spoke for all members that have columns, or for none of them.
    if isinstance(model._engines[0], GenericEngine):
        assert not any(given)
        assert isinstance(base, Ridge | LinearRegression)
        assert kind in (single, mixed)
    else:
        assert given == [True] * n_holding(model)
    assert np.ptp(found) > 0.1


@every_kind
@pytest.mark.parametrize(("base", "voting"), VOTERS, ids=name)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_are_the_mean_over_the_members(base, kind, n_classes, voting) -> None:
    X, y, X_new = samples(n_classes)
    model = PRSClassifier(base, **flat(voting=voting, **TOGETHER)).fit(kind(X), y)
    given = asks(model)
    found = model.predict_proba(kind(X_new))
    expected = together(model, members_say(model, kind(X_new)))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    if isinstance(model._engines[0], GenericEngine):
        assert isinstance(base, GaussianNB | LinearDiscriminantAnalysis)
        assert kind in (single, mixed)
    else:
        assert given == [True] * n_holding(model)
    assert found.shape == (N_NEW, n_classes)
    np.testing.assert_array_equal(model.predict(kind(X_new)), model.classes_[found.argmax(axis=1)])


@pytest.mark.parametrize("base", [*REGRESSORS, *CLASSIFIERS], ids=name)
def test_new_rows_may_be_of_another_precision(base) -> None:
    """Trained on double precision, asked about single precision."""
    classifies = is_classifier(base)
    X, y, X_new = samples(4 if classifies else 0)
    model = (PRSClassifier if classifies else PRSRegressor)(base, **flat(**SETTINGS)).fit(X, y)
    expected = together(model, members_say(model, single(X_new)))
    np.testing.assert_allclose(answer(model, single(X_new)), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("base", [DecisionTreeRegressor(), DecisionTreeClassifier()], ids=name)
@pytest.mark.parametrize("kind", [np.asarray, pandas], ids=["array", "pandas"])
def test_a_missing_value_at_prediction_goes_the_way_of_the_member(base, kind) -> None:
    X, y, X_new = samples(3 if isinstance(base, DecisionTreeClassifier) else 0)
    make = PRSClassifier if isinstance(base, DecisionTreeClassifier) else PRSRegressor
    model = make(base, **flat(**SETTINGS)).fit(X if kind is np.asarray else kind(X), y)
    X_new[::3, 0] = np.nan
    X_new[1::3, 1] = np.nan
    given = asks(model)
    found = answer(model, kind(X_new))
    expected = together(model, members_say(model, kind(X_new)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # All members are asked the fast way, whether or not they see a gap.
    assert any(np.isin([0, 1], columns).any() for columns in model.estimators_features_)
    assert given == [True] * n_holding(model)


# -- members of a user's own ---------------------------------------------------------------------


def refitted(model: Any, place: int, other: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Another estimator in place of a member, trained on its columns."""
    columns = model.estimators_features_[place]
    part = model.standardizer_.transform(X)[:, columns]
    return clone(other).fit(part, y)


REPLACEMENTS = [
    (KNeighborsRegressor(4), KNeighborsRegressor(1)),
    (KNeighborsRegressor(4), KNeighborsRegressor(20)),
    (KNeighborsRegressor(4), KNeighborsRegressor(4, weights="distance")),
    (KNeighborsRegressor(4, weights="distance"), KNeighborsRegressor(4)),
    (KNeighborsRegressor(4), KNeighborsRegressor(4, p=1)),
    (KNeighborsRegressor(4), KNeighborsRegressor(4, metric="chebyshev")),
    (KNeighborsRegressor(4), DummyRegressor()),
    (KNeighborsRegressor(4), Ridge()),
    (KNeighborsClassifier(4), KNeighborsClassifier(4, p=1)),
    (KNeighborsClassifier(4), KNeighborsClassifier(7)),
    (DecisionTreeRegressor(), DecisionTreeRegressor(max_depth=1, criterion="absolute_error")),
    (DecisionTreeRegressor(), SVR()),
    (DecisionTreeClassifier(), DecisionTreeClassifier(splitter="random", random_state=0)),
    (SVR(), SVR(kernel="poly", degree=2)),
    (SVR(), SVR(kernel="linear")),
    (SVR(kernel="linear"), SVR(gamma=0.01)),
    (SVR(), SVR(kernel="sigmoid")),
    (SVC(), SVC(kernel="poly")),
    (SVC(), SVC(kernel="linear", break_ties=True)),
    (Ridge(), Ridge(100.0, positive=True)),
    (Ridge(), LinearRegression(fit_intercept=False)),
    (GaussianNB(), GaussianNB(var_smoothing=0.5)),
    (LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1.0)),
]


@pytest.mark.parametrize(
    ("base", "other"), REPLACEMENTS, ids=[f"{name(a)} {name(b)}" for a, b in REPLACEMENTS]
)
def test_a_member_that_was_replaced_speaks_for_itself(base, other) -> None:
    classifies = is_classifier(base)
    X, y, X_new = samples(4 if classifies else 0)
    model = (PRSClassifier if classifies else PRSRegressor)(base, **flat(**SETTINGS)).fit(X, y)
    before = answer(model, X_new)
    largest = int(np.argmax([len(columns) for columns in model.estimators_features_]))
    model.estimators_[largest] = refitted(model, largest, other, X, y)
    found = answer(model, X_new)
    expected = together(model, members_say(model, X_new))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert np.abs(found - before).max() > 1e-6


def test_parameters_of_a_member_that_were_changed_count() -> None:
    """Neighbours are looked up at prediction, so a member may be told to take fewer."""
    X, y, X_new = samples()
    model = PRSRegressor(KNeighborsRegressor(4), **flat(**SETTINGS)).fit(X, y)
    before = model.predict(X_new)
    for member in model.estimators_[:6]:
        if isinstance(member, KNeighborsRegressor):
            member.set_params(n_neighbors=1)
    found = model.predict(X_new)
    np.testing.assert_allclose(found, mean_of(members_say(model, X_new)), rtol=1e-9)
    assert np.abs(found - before).max() > 1e-3


@pytest.mark.parametrize("base", [*REGRESSORS, *CLASSIFIERS], ids=name)
def test_a_member_for_other_columns_is_named(base) -> None:
    classifies = is_classifier(base)
    X, y, X_new = samples(2 if classifies else 0)
    model = (PRSClassifier if classifies else PRSRegressor)(base, **flat(**SETTINGS)).fit(X, y)
    sizes = np.array([len(columns) for columns in model.estimators_features_])
    place = int(np.argmax(sizes))
    columns = model.estimators_features_[place]
    model.estimators_[place] = clone(base).fit(X[:, columns[1:]], y)
    with pytest.raises(BaseModelError, match=r"features, but \w+ is expecting") as caught:
        answer(model, X_new)
    assert caught.value.features == tuple(columns.tolist())


@pytest.mark.parametrize(
    "base", [KNeighborsClassifier(4), DecisionTreeClassifier(), SVC(), GaussianNB()], ids=name
)
def test_a_member_that_knows_fewer_classes(base) -> None:
    X, y, X_new = samples(4)
    voting = "soft" if hasattr(base, "predict_proba") else "hard"
    model = PRSClassifier(base, **flat(voting=voting, **SETTINGS)).fit(X, y)
    place = int(np.argmax([len(columns) for columns in model.estimators_features_]))
    some = y != "fir"
    model.estimators_[place] = refitted(model, place, base, X[some], y[some])
    expected = []
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        part = model.standardizer_.transform(X_new)[:, columns]
        if isinstance(base, SVC):
            expected.append(member.predict(part)[:, np.newaxis] == model.classes_)
            continue
        shares = pd.DataFrame(member.predict_proba(part), columns=member.classes_)
        expected.append(shares.reindex(columns=model.classes_, fill_value=0.0).to_numpy())
    found = model.predict_proba(X_new)
    np.testing.assert_allclose(found, together(model, expected), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    "base", [KNeighborsClassifier(4), DecisionTreeClassifier(), SVC(), GaussianNB()], ids=name
)
@pytest.mark.parametrize("stranger", ["aspen", "zelkova"])
def test_a_member_that_knows_a_class_of_its_own(base, stranger) -> None:
    X, y, X_new = samples(4)
    model = PRSClassifier(base, **flat(**SETTINGS)).fit(X, y)
    place = int(np.argmax([len(columns) for columns in model.estimators_features_]))
    model.estimators_[place] = refitted(model, place, base, X, np.where(y == "fir", stranger, y))
    with pytest.raises((BaseModelError, ValueError), match=rf"{stranger}.* none of the classes"):
        model.predict_proba(X_new)

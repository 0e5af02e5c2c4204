"""Base models whose parameters are in units of the target see targets of mean 0, deviation 1."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LinearRegression,
    QuantileRegressor,
    Ridge,
    SGDRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures
from sklearn.svm import SVC, SVR, LinearSVR, NuSVR
from sklearn.tree import DecisionTreeRegressor

from flat_parameters import flat
from randsub import PRSRegressor, RandomSubspaceRegressor
from randsub.datasets import make_friedman
from randsub.engines.target_units import Unit, needs_units, unit_of
from randsub.optim import ProjectedGradientDescent

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y, _ = make_friedman(n_samples=80, n_irrelevant=1, random_state=0)
X, X_NEW, Y = X[:50], X[50:], (Y[:50] - Y.mean()) / Y.std()
CENTER, SCALE = 5e7, 1e6
UNIT = Unit(CENTER, SCALE)

# Two solutions of one problem, solved to the default tolerance, differ by a thousandth.
MACHINE = SVR(tol=1e-9)
NETWORK = MLPRegressor(hidden_layer_sizes=(6,), max_iter=15)
BASES: dict[str, Any] = {
    "SVR": MACHINE,
    "linear SVR": SVR(kernel="linear", tol=1e-9),
    "NuSVR": NuSVR(tol=1e-9),
    "LinearSVR": LinearSVR(epsilon=0.1),
    "Lasso": Lasso(0.1),
    "ElasticNet": ElasticNet(0.1),
    "HuberRegressor": HuberRegressor(),
    "SGDRegressor": SGDRegressor(max_iter=50),
    "QuantileRegressor": QuantileRegressor(quantile=0.37, alpha=0.01),
    "MLPRegressor": NETWORK,
    "pipeline": make_pipeline(MinMaxScaler(), SVR(C=3.0, tol=1e-9)),
}
# Those that are listed, but not among the above.
OTHERS: dict[str, Any] = {
    "ElasticNetCV": ElasticNetCV(cv=2, alphas=[0.01, 0.1]),
    "LassoCV": LassoCV(cv=2, alphas=[0.01, 0.1]),
    "LassoLars": LassoLars(0.05),
    "LassoLarsCV": LassoLarsCV(cv=2),
    "LassoLarsIC": LassoLarsIC(),
}


def prs(base: Any, **changes: Any) -> PRSRegressor:
    few = {"n_estimators": 6, "max_iter": 4, "n_batches": 2}
    # Some subsets are empty.
    first: dict[str, Any] = {"random_state": 0, "alpha_init": 0.3}
    # Steps in proportion to the gradient: Adam's are as long for what is but rounding.
    first["optimizer"] = ProjectedGradientDescent(0.1)
    return PRSRegressor(base, **flat(**{**few, **first, **changes}))


def subspace(base: Any, **changes: Any) -> RandomSubspaceRegressor:
    return RandomSubspaceRegressor(
        base, **{"n_estimators": 6, "max_features": 3, "random_state": 0, **changes}
    )


def in_users_units(predictions: np.ndarray) -> np.ndarray:
    return CENTER + SCALE * predictions


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal up to a millionth of what the predictions differ by."""
    np.testing.assert_allclose((found - CENTER) / SCALE, expected, rtol=1e-6, atol=1e-6)


def answers(model: Any, X: np.ndarray) -> list[np.ndarray]:
    """Predictions of the members, in the units that they predict in."""
    X = model.standardizer_.transform(X)
    return [
        member.predict(X[:, columns])
        for member, columns in zip(model.estimators_, model.estimators_features_, strict=True)
    ]


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("make", [prs, subspace])
def test_the_units_of_the_targets_do_not_matter(make, name) -> None:
    plain = make(clone(BASES[name])).fit(X, Y)
    other = make(clone(BASES[name])).fit(X, in_users_units(Y))
    expected, found = plain.predict(X_NEW), other.predict(X_NEW)
    assert_close(found, expected)
    # It has learned something.
    assert np.std(expected) > 0.05
    for one, two in zip(answers(plain, X_NEW), answers(other, X_NEW), strict=True):
        assert_close(two, one)
    # Members are averaged as they are.
    np.testing.assert_allclose(np.mean(answers(other, X_NEW), axis=0), found, rtol=1e-9)
    if make is prs:
        np.testing.assert_allclose(other.alpha_, plain.alpha_, atol=1e-6)
        assert np.abs(plain.alpha_ - 0.3).max() > 1e-3
        assert other.validation_loss_ == pytest.approx(plain.validation_loss_, rel=1e-5)


def test_without_units_the_model_would_be_constant() -> None:
    """What it is for: the counterpart."""
    raw = in_users_units(Y)
    alone = SVR().fit(X, raw).predict(X_NEW)
    assert np.std(alone) < 1e-3 * np.std(raw)
    assert np.std(subspace(SVR()).fit(X, raw).predict(X_NEW)) > 0.3 * np.std(raw)


@pytest.mark.parametrize("engine", ["svm", "generic"])
def test_it_is_the_same_with_any_engine(engine) -> None:
    found = prs(SVR(), engine=engine).fit(X, in_users_units(Y)).predict(X_NEW)
    expected = prs(SVR(), engine="generic").fit(X, Y).predict(X_NEW)
    # Two solutions, each within the tolerance of the solver.
    np.testing.assert_allclose((found - CENTER) / SCALE, expected, atol=2e-2)


@pytest.mark.parametrize("base", [SVR(), Lasso(0.1), NETWORK], ids=repr)
def test_members_of_empty_subsets_predict_in_the_units_of_the_user(base) -> None:
    model = prs(base, alpha_init=1e-3, max_iter=1).fit(X, in_users_units(Y))
    members = zip(model.estimators_, model.estimators_features_, strict=True)
    empty = [member for member, columns in members if len(columns) == 0]
    assert empty
    for member in empty:
        assert isinstance(member, DummyRegressor)
        np.testing.assert_allclose(
            member.predict(np.empty((3, 0))), in_users_units(Y).mean(), rtol=1e-12
        )
    np.testing.assert_allclose(
        np.mean(answers(model, X_NEW), axis=0), model.predict(X_NEW), rtol=1e-9
    )


@pytest.mark.parametrize("value", [0.0, 3.0, -7e8, 1e-12, 0.1 + 0.2])
@pytest.mark.parametrize("make", [prs, subspace])
def test_constant_targets(make, value) -> None:
    for base in (SVR(), Lasso(), HuberRegressor()):
        with warnings.catch_warnings():
            # There is nothing to learn, and the loop may say so.
            warnings.simplefilter("ignore", category=UserWarning)
            model = make(base).fit(X, np.full(len(X), value))
        np.testing.assert_allclose(model.predict(X_NEW), value, rtol=1e-5, atol=1e-9)


def test_weights_count_in_the_unit() -> None:
    weight = np.where(np.arange(len(Y)) < 25, 1.0, 3.0)
    weight[:5] = 0.0
    y = Y.copy()
    # Of weight 0: a target of another world must not set the unit.
    y[:5] = 1e9
    kept = slice(5, None)
    found = subspace(SVR()).fit(X, y, sample_weight=weight).predict(X_NEW)
    expected = subspace(SVR()).fit(X[kept], y[kept], sample_weight=weight[kept]).predict(X_NEW)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.std(found) > 0.3


def test_mixtures_give_each_base_model_its_units() -> None:
    bases = [("svm", MACHINE), ("knn", KNeighborsRegressor(3)), ("lasso", Lasso(0.1))]
    plain, other = (prs(bases, n_estimators=12).fit(X, y) for y in (Y, in_users_units(Y)))
    assert set(plain.estimators_bases_) == {"svm", "knn", "lasso"}
    assert_close(other.predict(X_NEW), plain.predict(X_NEW))
    for one, two in zip(answers(plain, X_NEW), answers(other, X_NEW), strict=True):
        assert_close(two, one)
    assert other.shares_ == pytest.approx(plain.shares_, rel=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_models_from_other_processes_predict_in_the_units_of_the_user(n_jobs) -> None:
    y = in_users_units(Y)
    expected = subspace(LinearSVR(epsilon=0.1)).fit(X, y).predict(X_NEW)
    found = subspace(LinearSVR(epsilon=0.1), n_jobs=n_jobs).fit(X, y).predict(X_NEW)
    np.testing.assert_array_equal(found, expected)


# -- one model -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*BASES, *OTHERS])
def test_a_model_is_turned_back(name) -> None:
    base = {**BASES, **OTHERS}[name]
    assert needs_units(base)
    model = clone(base)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(X, Y)
    expected = UNIT.of_predictions(model.predict(X_NEW))
    assert np.ptp(expected) > 0.0
    UNIT.turn_back(model)
    np.testing.assert_allclose(model.predict(X_NEW), expected, rtol=1e-12)


def test_coefficients_that_are_shown_are_those_that_predict() -> None:
    model = SVR(kernel="linear").fit(X, Y)
    UNIT.turn_back(model)
    by_hand = X_NEW @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.predict(X_NEW), by_hand, rtol=1e-12)
    machine = SVR(gamma=0.2).fit(X, Y)
    UNIT.turn_back(machine)
    distances = ((X_NEW[:, np.newaxis] - machine.support_vectors_) ** 2).sum(axis=2)
    by_hand = np.exp(-0.2 * distances) @ machine.dual_coef_[0] + machine.intercept_[0]
    np.testing.assert_allclose(machine.predict(X_NEW), by_hand, rtol=1e-12)


def test_targets_and_predictions_are_inverse() -> None:
    y = np.array([3, 5, 9])
    unit = unit_of(y.astype(float), np.ones(3))
    turned = unit.of_targets(y)
    np.testing.assert_allclose([turned.mean(), turned.std()], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(unit.of_predictions(turned), y)


def test_the_unit_is_that_of_weighted_targets() -> None:
    y, weight = np.array([1.0, 4.0, 4.0, 10.0]), np.array([2.0, 1.0, 1.0, 1.0])
    repeated = np.array([1.0, 1.0, 4.0, 4.0, 10.0])
    unit = unit_of(y, weight)
    assert unit == Unit(pytest.approx(repeated.mean()), pytest.approx(repeated.std()))


@pytest.mark.parametrize(
    "y", [np.full(7, 0.1), np.zeros(3), np.full(5, 1e300), np.array([4.0])], ids=str
)
def test_constant_targets_are_their_own_origin(y) -> None:
    assert unit_of(y, np.ones(len(y))) == Unit(y[0], 1.0)


def test_targets_that_differ_in_weightless_rows_alone_have_the_unit_1() -> None:
    assert unit_of(np.array([2.0, 2.0, 9.0]), np.array([1.0, 3.0, 0.0])) == Unit(2.0, 1.0)


class MySVR(SVR):
    """May do anything with its targets."""


@pytest.mark.parametrize(
    "base",
    [
        LinearRegression(),
        Ridge(),
        KNeighborsRegressor(),
        DecisionTreeRegressor(),
        DummyRegressor(),
        SVC(),
        MySVR(),
        BaggingRegressor(SVR()),
        make_pipeline(SVR(), Ridge()),
        make_pipeline(PolynomialFeatures(), Ridge()),
        # What it ends with may be something else.
        GridSearchCV(Pipeline([("last", SVR())]), {"last": [SVR(), Ridge()]}),
        make_pipeline(PolynomialFeatures(), GridSearchCV(SVR(), {"C": [1.0]})),
        MLPRegressor(loss="poisson") if "loss" in MLPRegressor().get_params() else Ridge(),
        Lasso(fit_intercept=False),
        Pipeline([]),
        Pipeline([("last", "passthrough")]),
        None,
    ],
    ids=lambda base: type(base).__name__,
)
def test_others_see_the_targets_as_they_are(base) -> None:
    assert not needs_units(base)


def test_the_convergence_warning_is_that_of_the_targets_it_sees() -> None:
    # In units of 1e6 the default tolerance of the solver would never be reached.
    with warnings.catch_warnings():
        warnings.simplefilter("error", category=ConvergenceWarning)
        subspace(Lasso(0.1)).fit(X, in_users_units(Y))

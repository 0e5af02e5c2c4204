"""Bad parameters and bad data: a clear error before any training; good ones do what they say."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils._param_validation import InvalidParameterError

from flat_parameters import flat
from randsub import (
    PRSClassifier,
    PRSRegressor,
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
)
from randsub.distributions import Bernoulli
from randsub.engines import GenericEngine
from randsub.exceptions import BaseModelError
from randsub.losses import CrossEntropy, Huber, SquaredError
from randsub.network import PRSNetwork
from randsub.optim import (
    OPTIMIZERS,
    FisherAdam,
    LogitAdam,
    ProjectedAdam,
    ProjectedGradientDescent,
)
from randsub.penalties import ExpectedSize, FusedLasso
from randsub.solver import Solver, Window

QUICK = {"n_estimators": 10, "max_iter": 5, "n_batches": 3}


class Untouchable(RegressorMixin, BaseEstimator):
    """A base model that must not be trained."""

    def fit(self, X, y):
        pytest.fail("training began")

    def predict(self, X):
        pytest.fail("training began")


def data(n=40, m=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, m))
    return X, X[:, 0] + 0.1 * X[:, 1]


BAD = {
    "n_estimators": [0, 1, -3, 2.5, "many", None],
    "alpha_init": [
        {0: 0.5},
        0.0,
        -0.1,
        1.5,
        1,
        "half",
        ["a"] * 5,
        np.zeros(5),
        np.eye(5)[0],
        np.full(5, 2.0),
        np.full(4, 0.5),
    ],
    "loss": ["absolute", 3, "cross_entropy", CrossEntropy(), Huber(delta=0.0), Huber("wide")],
    "objective": ["both", None],
    "penalty": ["l1", 0.1, ExpectedSize(-1.0), ExpectedSize(np.nan), FusedLasso(1.0, [[0, 5]])],
    "feature_groups": [
        [0, 0, 1, 1],
        [[0, 1], [1, 2]],
        [[0, 9]],
        {"a": ["x"]},
        {"a": "g", "b": "g"},
        [[True, False, True, False, False]],
        "prefix",
    ],
    "categorical_features": ["some", ["x"], [9], [[0, 1]], [True, False], 3],
    "max_iter": [0, -1, 1.5, True],
    "max_samples": [0, 1, -5, 1.5, "half"],
    "bootstrap": ["yes", 2, None],
    "validation_fraction": [0.0, 1.0, -0.2, 5],
    "n_iter_no_change": [0, 2.5],
    "n_repeats": [0, 2.5, "five", None],
    "standardize": ["yes", None],
    "distribution": ["uniform", Bernoulli(4)],
    "solver": ["quick", Solver, 5e-4, {"learning_rate": 5e-4}],
    "engine": ["turbo", int],
    "device": ["gpu", 3],
    "n_jobs": ["all", 1.5],
    "task_timeout": [0, -1.0, "1 min"],
    "random_state": ["seed", -1],
    "verbose": ["loud", -1],
}
# Of the solver.
BAD_IN_SOLVER = {
    "learning_rate": [0.0, -1e-3, "fast", None, True],
    "max_iter": [0, -1, 1.5, None, True],
    "n_batches": [0, 1, 2.5, None],
    "ess_threshold": [-0.1, 1.1, None, True],
    "refresh": ["stale", None, Window, Window(0), Window(1.5), Window(None), Window(True)],
    "n_revivals": [-1, 0.5, None, True],
    "revival_level": [0.0, 1.0, "high", None],
    "baseline": ["best", 0, None],
    "self_normalize": ["yes", 2, None],
    "optimizer": ["sgd", None, ProjectedAdam],
    "n_iter_no_change": [0, -1, 1.5, "no"],
    "tol": [-1.0, None, True],
}
BAD_OPTIMIZERS = [
    ProjectedAdam(-1.0),
    ProjectedAdam(beta1=1.0),
    LogitAdam(decay=-1.0),
    FisherAdam(noise=-1.0),
]


def test_every_parameter_has_bad_values_above():
    assert set(BAD) == set(PRSRegressor().get_params(deep=False)) - {"estimator"}
    assert set(BAD_IN_SOLVER) == set(Solver().get_params(deep=False))


@pytest.mark.parametrize(
    "name, value", [(name, value) for name, values in BAD.items() for value in values]
)
def test_bad_parameters_are_named_before_any_training(name, value):
    X, y = data()
    model = PRSRegressor(Untouchable()).set_params(**{name: value})
    with pytest.raises((ValueError, TypeError)) as caught:
        model.fit(X, y)
    message = str(caught.value)
    owner = type(value).__name__
    assert (
        name in message or owner in message or "random_state" in message or "RandomState" in message
    )


@pytest.mark.parametrize("kind", [PRSRegressor, PRSClassifier, PRSNetwork])
@pytest.mark.parametrize(
    "name, value", [(name, value) for name, values in BAD_IN_SOLVER.items() for value in values]
)
def test_bad_parameters_of_the_solver_are_named_before_any_training(kind, name, value):
    X, y = data()
    model = kind(Untouchable(), solver=Solver(**{name: value}))
    owner = "The 'n_generations' parameter of Window"
    if not isinstance(value, Window):
        owner = f"The '{name}' parameter of Solver"
    with pytest.raises(InvalidParameterError, match=f"^{owner} must be .* Got .* instead"):
        model.fit(X, y) if kind is not PRSNetwork else model.fit(X)


@pytest.mark.parametrize("kind", [PRSRegressor, PRSNetwork])
@pytest.mark.parametrize("optimizer", BAD_OPTIMIZERS, ids=str)
def test_bad_optimizers_are_named_before_any_training(kind, optimizer):
    X, y = data()
    model = kind(Untouchable(), solver=Solver(optimizer=optimizer))
    with pytest.raises(ValueError, match=type(optimizer).__name__):
        model.fit(X, y) if kind is not PRSNetwork else model.fit(X)


@pytest.mark.parametrize("make", [PRSRegressor, PRSClassifier])
@pytest.mark.parametrize(
    "name, values",
    [
        ("baseline", ["optimal", "weighted", "paper", "none"]),
        (
            "optimizer",
            [
                "fisher_adam",
                "adam",
                "logit_adam",
                "gradient_descent",
                "prox_adam",
                "prox_gradient",
                ProjectedAdam(0.02, decay=0.5),
            ],
        ),
    ],
)
def test_each_choice_is_another_way_to_learn(make, name, values):
    X, y = data()
    found = []
    for value in values:
        model = make(KNeighborsClassifier(1) if make is PRSClassifier else KNeighborsRegressor(1))
        model.set_params(n_estimators=10, max_iter=3, random_state=0)
        # A penalty with kinks, on which proximal steps are steps of another kind.
        model.set_params(penalty=FusedLasso(0.05, [[0, 1], [1, 2]]))
        solver = Solver(learning_rate=0.02, n_batches=3, ess_threshold=0.0)
        model.set_params(solver=solver.set_params(**{name: value}))
        found.append(model.fit(X, y > 0 if make is PRSClassifier else y).alpha_)
        assert ((found[-1] >= 0.0) & (found[-1] <= 1.0)).all()
    for one, other in combinations(found, 2):
        assert np.abs(one - other).max() > 1e-6


def test_every_choice_by_name_is_above():
    marks = test_each_choice_is_another_way_to_learn.pytestmark
    values = dict(next(mark for mark in marks if mark.args[0] == "name, values").args[1])
    assert set(OPTIMIZERS) == {value for value in values["optimizer"] if isinstance(value, str)}
    [names] = Solver._parameter_constraints["baseline"]
    assert names.options == set(values["baseline"])


@pytest.mark.parametrize(
    "name, value",
    [("voting", "majority"), ("voting", None), ("calibrate", "yes"), ("calibrate", None)],
)
def test_bad_votes(name, value):
    X, y = data()
    with pytest.raises(InvalidParameterError, match=name):
        PRSClassifier(**{name: value}).fit(X, y > 0)


@pytest.mark.parametrize(
    "X, y, message",
    [
        (np.ones((5, 2, 2)), np.ones(5), "dim"),
        (np.ones(5), np.ones(5), "Expected 2D array"),
        (np.ones((5, 0)), np.ones(5), r"0 feature\(s\)"),
        (np.ones((0, 2)), np.ones(0), r"0 sample\(s\)"),
        (np.ones((5, 2)), np.ones(4), "inconsistent numbers of samples"),
        (np.ones((5, 2)), None, "requires y"),
        (np.ones((5, 2)), np.ones((5, 2, 2)), "dim 3"),
        (np.ones((5, 2)), np.array([1, 2, 3, 4, np.nan]), "NaN"),
        (np.array([["a", "b"]] * 5), np.ones(5), "could not convert|numeric"),
        (np.full((5, 2), np.inf), np.ones(5), "infinity"),
    ],
)
def test_bad_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        PRSRegressor(Untouchable()).fit(X, y)


def test_continuous_labels_for_a_classifier():
    X, y = data()
    with pytest.raises(ValueError, match="Unknown label type"):
        PRSClassifier().fit(X, y)


def test_one_class():
    X, _ = data()
    with pytest.raises(ValueError, match=r"only one class: 'a'"):
        PRSClassifier().fit(X, ["a"] * 40)


def test_bad_validation_data_is_said_to_be_that():
    X, y = data()
    model = PRSRegressor(Untouchable())
    for bad in (
        {"X_val": np.full((3, 5), np.nan), "y_val": y[:3]},
        {"X_val": X[:3], "y_val": [1.0, np.nan, 2.0]},
        {"X_val": X[:3], "y_val": y[:3], "sample_weight_val": [1.0, -1.0, 1.0]},
        {"X_val": X[:3], "y_val": y[:3], "sample_weight_val": [1.0]},
    ):
        with pytest.raises(ValueError, match="In the validation data"):
            model.fit(X, y, **bad)


def test_validation_targets_that_the_loss_cannot_take():
    X, y = data()
    with pytest.raises(ValueError, match=r"targets y >= 0, but the smallest is -"):
        PRSRegressor(Untouchable(), loss="poisson").fit(X, np.abs(y), X_val=X, y_val=y)


def test_an_objective_that_is_not_finite():
    class BrokenError(SquaredError):
        def pointwise(self, y, f):
            return super().pointwise(y, f) * np.nan

    X, y = data()
    with pytest.raises(ValueError, match=r"objective at epoch 1 is not finite: nan .*Broken"):
        PRSRegressor(LinearRegression(), **flat(loss=BrokenError(), **QUICK)).fit(X, y)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y = data()
    model = PRSRegressor(KNeighborsRegressor(), **flat(random_state=0, **QUICK)).fit(X, y)
    before, alpha = model.predict(X), model.alpha_
    for failing in (
        lambda: model.fit(X[:, :3], y, sample_weight=np.zeros(40)),
        lambda: model.fit(1000.0 * X, y, X_val=X[:2], y_val=y[:3]),
        lambda: model.set_params(estimator=KNeighborsRegressor(1000)).fit(1000.0 * X[:, :4], y),
    ):
        with pytest.raises((ValueError, RuntimeError)):
            failing()
        np.testing.assert_array_equal(model.predict(X), before)
        np.testing.assert_array_equal(model.alpha_, alpha)
    fresh = PRSRegressor(KNeighborsRegressor(1000), **flat(**QUICK))
    with pytest.raises(RuntimeError):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_a_second_fit_remembers_nothing_of_the_first():
    X, y = data()
    model = PRSRegressor(
        LinearRegression(), **flat(feature_groups=[[0, 1]], random_state=0, **QUICK)
    )
    model.fit(pd.DataFrame(X, columns=list("abcde")), y)
    assert hasattr(model, "group_alpha_")
    model.set_params(feature_groups=None).fit(X[:, :3], y)
    assert not hasattr(model, "group_alpha_")
    assert not hasattr(model, "feature_names_in_")


def test_half_a_validation_set():
    X, y = data()
    model = PRSRegressor(Untouchable())
    with pytest.raises(ValueError, match="X_val was given without y_val"):
        model.fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="without X_val"):
        model.fit(X, y, y_val=y)
    with pytest.raises(ValueError, match="5 features as input"):
        model.fit(X, y, X_val=X[:, :3], y_val=y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, X_val=X[:7], y_val=y)
    with pytest.raises(ValueError, match="at least one"):
        model.fit(X, y, X_val=X, y_val=y, sample_weight_val=np.zeros(40))


def test_negative_counts():
    X, y = data()
    with pytest.raises(ValueError, match=r"targets y >= 0, but the smallest is -"):
        PRSRegressor(Untouchable(), loss="poisson").fit(X, y)


def test_not_fitted():
    for model in (PRSRegressor(), PRSClassifier()):
        with pytest.raises(NotFittedError):
            model.predict(np.ones((2, 2)))
        with pytest.raises(NotFittedError):
            _ = model.feature_importances_


# -- parameters that do what they say ------------------------------------------------------------


def test_defaults_are_those_documented():
    expected = {
        "estimator": None,
        "n_estimators": 100,
        "alpha_init": "auto",
        "loss": "auto",
        "objective": "ensemble",
        "penalty": None,
        "feature_groups": None,
        "categorical_features": "auto",
        "distribution": "auto",
        "max_iter": None,
        "max_samples": None,
        "bootstrap": "auto",
        "validation_fraction": 0.2,
        "n_iter_no_change": None,
        "n_repeats": "auto",
        "standardize": True,
        "solver": None,
        "engine": "auto",
        "device": None,
        "n_jobs": None,
        "task_timeout": None,
        "random_state": None,
        "verbose": 0,
    }
    assert PRSRegressor().get_params(deep=False) == expected
    of_classes = {"voting": "auto", "calibrate": True}
    assert PRSClassifier().get_params(deep=False) == {**expected, **of_classes}
    assert Solver().get_params() == {
        "learning_rate": 1.2e-3,
        "max_iter": 900,
        "n_batches": 5,
        "ess_threshold": 0.35,
        "refresh": "fresh",
        "n_revivals": 2,
        "revival_level": "auto",
        "baseline": "weighted",
        "self_normalize": True,
        "optimizer": "auto",
        "n_iter_no_change": 150,
        "tol": 1e-4,
    }
    assert Window().n_generations == 10


def test_fitted_attributes():
    X, y = data()
    model = PRSRegressor(KNeighborsRegressor(), **flat(random_state=0, **QUICK)).fit(X, y)
    np.testing.assert_array_equal(model.alpha_, model.feature_importances_)
    assert model.expected_size_ == pytest.approx(model.alpha_.sum())
    assert len(model.estimators_) == len(model.estimators_features_) == 10
    assert model.n_iter_ == 5
    assert list(model.history_.index) == [1, 2, 3, 4, 5]
    assert 1 <= model.best_iter_ <= 5
    best = model.history_["validation_objective"]
    assert best.idxmin() == model.best_iter_
    assert model.n_models_trained_ == model.history_["n_models_trained"].iloc[-1] + 10
    assert (model.history_["n_models_trained"].diff().dropna() % 30 == 0).all()
    assert ((model.history_["min_ess"] > 0) & (model.history_["min_ess"] <= 10)).all()
    assert list(model.history_.columns) == [
        "objective",
        "validation_objective",
        "min_ess",
        "expected_size",
        "refreshed",
        "revived",
        "n_models_trained",
    ]
    assert model.n_features_in_ == 5
    assert not hasattr(model, "feature_names_in_")
    assert model.stop_reason_ == "all epochs done"


def test_alpha_at_the_start():
    X, y = data()
    frozen = ProjectedGradientDescent(learning_rate=1e-300)
    for n, alpha in ((10, 0.5), (100, 0.05), (2, 0.5)):
        model = PRSRegressor(
            LinearRegression(), solver=Solver(optimizer=frozen), max_iter=1, n_estimators=n
        )
        np.testing.assert_allclose(model.fit(X, y).alpha_, alpha)
    start = np.linspace(0.1, 0.9, 5)
    model = PRSRegressor(
        LinearRegression(), solver=Solver(optimizer=frozen), alpha_init=start, max_iter=1
    )
    np.testing.assert_allclose(model.fit(X, y).alpha_, start)


def test_validation_data_is_for_choosing_only():
    """With validation data given, members train on all of X; what we set aside joins at the end."""
    X, y = data()
    settings = QUICK | {"random_state": 0, "alpha_init": 0.9}
    given_ = PRSRegressor(KNeighborsRegressor(1), **flat(**settings)).fit(
        X, y, X_val=X[:9], y_val=y[:9]
    )
    split = PRSRegressor(KNeighborsRegressor(1), **flat(**settings)).fit(X, y)
    none = PRSRegressor(KNeighborsRegressor(1), **flat(validation_fraction=None, **settings)).fit(
        X, y
    )
    for model in (given_, split, none):
        seen = [m.n_samples_fit_ for m in model.estimators_ if hasattr(m, "n_samples_fit_")]
        assert set(seen) == {40}
    same = none.history_["objective"] == none.history_["validation_objective"]
    assert same.all()


def test_the_final_ensemble_is_drawn_from_the_best_alpha():
    X, y = data(60, 8)
    # A revival raises alpha before the last epoch, and the penalty makes that a bad epoch.
    model = PRSRegressor(
        KNeighborsRegressor(),
        n_estimators=200,
        alpha_init=0.3,
        penalty=ExpectedSize(1.0),
        max_iter=2,
        solver=Solver(n_revivals=1, revival_level=0.9),
        random_state=0,
    ).fit(X, y)
    assert model.best_iter_ == 1
    held = np.array([np.isin(np.arange(8), f) for f in model.estimators_features_])
    deviation = np.sqrt(model.alpha_ * (1 - model.alpha_) / 200)
    assert (np.abs(held.mean(axis=0) - model.alpha_) <= 4 * deviation).all()
    # The last alpha would not pass.
    assert abs(model.history_["expected_size"].iloc[-1] - model.expected_size_) > 4 * np.sqrt(
        (deviation**2).sum()
    )


def test_units_of_y_come_from_the_training_samples_and_scales_of_x_from_all():
    """The scales of X are those of the final ensemble; the loss has units of its own per repeat."""
    X, y = data()
    seen = {}

    class UnitsError(SquaredError):
        def reference(self, y, sample_weight):
            seen["y"] = super().reference(y, sample_weight)
            return seen["y"]

    model = PRSRegressor(
        LinearRegression(), **flat(loss=UnitsError(), random_state=0, **QUICK)
    ).fit(X, y)
    scaled = model.standardizer_.transform(X)
    rows = _validation_rows(model, X, y)
    assert len(rows) == 8
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0)
    assert seen["y"].center == pytest.approx(np.delete(y, rows).mean())
    assert seen["y"].scale == pytest.approx(np.delete(y, rows).std())


def _validation_rows(model, X, y):
    """Rows on which no model was trained before the final ensemble."""
    trained = set()

    class Remember(LinearRegression):
        def fit(self, X, y):
            trained.update(y)
            return super().fit(X, y)

    class Stop(ProjectedGradientDescent):
        def update(self, *args):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clone(model).set_params(
            estimator=Remember(), solver__optimizer=Stop(), alpha_init=0.99
        ).fit(X, y)
    return np.flatnonzero(~np.isin(y, list(trained)))


@pytest.mark.parametrize("max_samples", [None, 1.0])
def test_all_samples_means_all_samples(max_samples):
    X, y = data()
    model = PRSRegressor(
        KNeighborsRegressor(1),
        **flat(max_samples=max_samples, alpha_init=0.9, random_state=0, **QUICK),
    ).fit(X, y)
    seen = {m.n_samples_fit_ for m in model.estimators_ if hasattr(m, "n_samples_fit_")}
    assert seen == {40}


def test_features_that_begin_at_zero_stay_there():
    X, y = data()
    model = PRSRegressor(
        LinearRegression(),
        **flat(alpha_init=[0.5, 0.5, 0.0, 0.0, 0.5], solver=Solver(n_revivals=2), **QUICK),
    ).fit(X, y)
    np.testing.assert_array_equal(model.alpha_[2:4], 0.0)
    assert not any(np.isin([2, 3], f).any() for f in model.estimators_features_)


def test_max_samples_caps_training_batches_and_validation():
    X, y = data(400)
    sizes = []

    class Count(Ridge):
        def fit(self, X, y):
            sizes.append(("fit", len(X)))
            return super().fit(X, y)

        def predict(self, X):
            sizes.append(("predict", len(X)))
            return super().predict(X)

    model = PRSRegressor(Count(), **flat(max_samples=30, random_state=0, **QUICK))
    model.fit(X, y)
    assert {n for what, n in sizes if what == "fit"} == {30}
    # Held-out rows of a batch and validation rows, each capped; and one member is tried at the end.
    assert [n for what, n in sizes if what == "predict"][-1] == 1
    assert {n for what, n in sizes[:-1] if what == "predict"} == {60}
    sizes.clear()
    model.set_params(max_samples=0.25).fit(X, y)
    # A quarter of the 320 that train, and of all 400 at the end.
    assert {n for what, n in sizes if what == "fit"} == {80, 100}


def test_members_of_a_large_ensemble_see_different_samples():
    X, y = data(400)
    model = PRSRegressor(
        KNeighborsRegressor(1), **flat(max_samples=20, alpha_init=0.9, random_state=0, **QUICK)
    ).fit(X, y)
    seen = {tuple(np.sort(m._y.ravel())) for m in model.estimators_ if hasattr(m, "_y")}
    assert len(seen) == 3


def test_patience():
    X, _ = data()
    rng = np.random.default_rng(0)
    model = PRSRegressor(
        LinearRegression(), max_iter=2000, n_iter_no_change=5, n_estimators=10, random_state=0
    ).fit(X, rng.normal(size=40))
    assert model.n_iter_ < 2000
    assert "no improvement in 5 epochs" in model.stop_reason_


def test_standardize_off():
    X, y = data()
    seen = []

    class Look(Ridge):
        def fit(self, X, y):
            seen.append(np.abs(X).max())
            return super().fit(X, y)

    PRSRegressor(Look(), **flat(standardize=False, random_state=0, **QUICK)).fit(1000.0 * X, y)
    assert max(seen) > 1000.0
    seen.clear()
    PRSRegressor(Look(), **flat(random_state=0, **QUICK)).fit(1000.0 * X, y)
    assert max(seen) < 10.0


@pytest.mark.parametrize(
    "feature_groups, expected",
    [
        (["a", "a", "b", "c", "c"], [0, 0, 1, 2, 2]),
        ([[3, 4], [0, 1]], [0, 0, 1, 2, 2]),
        ({"left": [0, 1], "right": [-1, 3]}, [0, 0, 1, 2, 2]),
        ([{0, 1}, pd.Index([3, 4])], [0, 0, 1, 2, 2]),
        (np.array([5, 5, 1, 0, 0]), [0, 0, 1, 2, 2]),
    ],
)
def test_groups(feature_groups, expected):
    X, y = data()
    model = PRSRegressor(
        LinearRegression(), **flat(feature_groups=feature_groups, random_state=0, **QUICK)
    ).fit(X, y)
    np.testing.assert_array_equal(model.feature_groups_, expected)
    np.testing.assert_array_equal(model.alpha_, model.group_alpha_[expected])
    assert model.group_alpha_.shape == (3,)
    assert model.expected_size_ == pytest.approx(model.alpha_.sum())
    for columns in model.estimators_features_:
        held = np.isin(np.arange(5), columns)
        assert held[0] == held[1]
        assert held[3] == held[4]


def test_penalties_make_ensembles_smaller():
    X, y = data(100, 20)
    sizes = [
        PRSRegressor(
            LinearRegression(),
            penalty=None if lam is None else ExpectedSize(lam),
            n_estimators=20,
            max_iter=60,
            solver=Solver(learning_rate=0.01),
            random_state=0,
        )
        .fit(X, y)
        .expected_size_
        for lam in (None, 0.01, 0.5)
    ]
    assert sizes[0] > sizes[1] > sizes[2]


def test_own_parts_are_used():
    """A loss, a penalty, an optimiser, a distribution and an engine of the user's own."""
    used = set()

    class Error(SquaredError):
        def pointwise_gradient(self, y, f):
            used.add("loss")
            return super().pointwise_gradient(y, f)

    class Penalty(ExpectedSize):
        def gradient(self, theta):
            used.add("penalty")
            return super().gradient(theta)

    class Optimizer(ProjectedGradientDescent):
        def update(self, *args):
            used.add("optimizer")
            return super().update(*args)

    class Distribution(Bernoulli):
        def sample(self, *args):
            used.add("distribution")
            return super().sample(*args)

    class Engine(GenericEngine):
        def predict_many(self, *args):
            used.add("engine")
            return super().predict_many(*args)

    X, y = data()
    model = PRSRegressor(
        LinearRegression(),
        **flat(
            loss=Error(),
            penalty=Penalty(0.1),
            solver=Solver(optimizer=Optimizer(0.1)),
            distribution=Distribution(5, floor=0.1),
            engine=Engine,
            **QUICK,
        ),
    )
    clone(model).fit(X, y)
    assert used == {"loss", "penalty", "optimizer", "distribution", "engine"}


def test_units_of_the_target_do_not_matter():
    X, y = data()
    model = PRSRegressor(
        LinearRegression(),
        **flat(penalty=ExpectedSize(0.05), random_state=0, **QUICK | {"max_iter": 20}),
    )
    alpha = model.fit(X, y).alpha_
    # Scaling by a power of two is exact; a large offset is not, but must not swamp the weights.
    np.testing.assert_allclose(model.fit(X, 1024.0 * y).alpha_, alpha, rtol=1e-8)
    np.testing.assert_allclose(model.fit(X, y + 1000.0).alpha_, alpha, rtol=1e-4, atol=1e-6)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    n=st.integers(6, 30),
    m=st.integers(1, 8),
    classes=st.integers(2, 4),
    seed=st.integers(0, 10**6),
    params=st.fixed_dictionaries(
        {
            "n_estimators": st.integers(2, 12),
            "max_iter": st.integers(1, 6),
            "n_batches": st.integers(2, 12),
            "learning_rate": st.floats(1e-4, 0.5),
            "ess_threshold": st.floats(0, 1),
            "refresh": st.sampled_from(["fresh", "window", "coupled"]),
            "n_generations": st.integers(1, 15),
            "n_revivals": st.integers(0, 2),
            "objective": st.sampled_from(["ensemble", "members"]),
            "baseline": st.sampled_from(["optimal", "weighted", "paper", "none"]),
            "self_normalize": st.booleans(),
            "validation_fraction": st.none() | st.floats(0.01, 0.99),
            "max_samples": st.none() | st.integers(2, 20) | st.floats(0.01, 1.0),
            "n_iter_no_change": st.none() | st.integers(1, 3),
            "n_repeats": st.just("auto") | st.integers(1, 4),
            "standardize": st.booleans(),
            "penalty": st.sampled_from([None, ExpectedSize(0.1), ExpectedSize(10.0)]),
        }
    ),
    voting=st.sampled_from(["soft", "hard"]),
)
@pytest.mark.filterwarnings("ignore::randsub.exceptions.NoFeatureLeftWarning")
def test_any_combination_of_parameters_gives_a_usable_model(n, m, classes, seed, params, voting):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    y = rng.permutation(np.arange(n) % classes)
    for model in (
        PRSRegressor(KNeighborsRegressor(1), **flat(random_state=0, **params)),
        PRSClassifier(KNeighborsClassifier(1), **flat(random_state=0, voting=voting, **params)),
    ):
        model.fit(X, y)
        assert ((model.alpha_ >= 0) & (model.alpha_ <= 1)).all()
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.history_.to_numpy(dtype=float)).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "model",
    [PRSRegressor(solver=Solver(refresh=Window(True))), RandomSubspaceRegressor(n_estimators=True)],
    ids=["generations", "estimators"],
)
def test_truth_values_are_no_numbers(model):
    with pytest.raises(ValueError, match=r"must be an int in the range .*Got True instead"):
        model.fit(np.eye(6), np.arange(6.0))


@pytest.mark.parametrize("kind", [PRSClassifier, RandomSubspaceClassifier])
def test_members_that_cannot_predict_are_found_when_fitting(kind):
    # Each half of these rows has one class, so that training needs no neighbours.
    model = kind(KNeighborsClassifier(50), validation_fraction=None, random_state=0)
    settings = {"max_iter": 2, "n_estimators": 3, "alpha_init": 0.6, "max_features": 2}
    settings["solver"] = Solver(n_batches=2)
    names = model.get_params(deep=False)
    model.set_params(**{name: value for name, value in settings.items() if name in names})
    X = np.random.default_rng(0).normal(size=(3, 3))
    with pytest.raises(BaseModelError, match="n_neighbors"):
        model.fit(X, [0, 0, 1])
    assert not hasattr(model, "estimators_")


def test_members_that_cannot_predict_are_found_behind_one_that_sees_nothing():
    settings = {"n_batches": 2, "max_iter": 2, "n_estimators": 3, "n_revivals": 0}
    X = np.random.default_rng(0).normal(size=(3, 2))
    y, weight = [0, 1, 0], [1.0, 2.0, 1.0]
    n_blind = 0
    for seed in range(60):
        model = PRSClassifier(KNeighborsClassifier(1), **flat(**settings, random_state=seed))
        features = model.fit(X, y, sample_weight=weight).estimators_features_
        n_blind += len(features[0]) == 0 < sum(map(len, features))
        model.set_params(estimator=KNeighborsClassifier(50))
        if any(map(len, features)):
            with pytest.raises(BaseModelError, match="n_neighbors"):
                model.fit(X, y, sample_weight=weight)
    assert n_blind > 0

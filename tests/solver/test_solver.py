"""The solver holds every number of the optimisation, and is the only place with their defaults."""

import dataclasses
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, ParameterGrid

from randsub import PRSClassifier, PRSRegressor, RaSERegressor
from randsub._sklearn import InvalidParameterError
from randsub.distributions import EDGE
from randsub.network import PRSNetwork
from randsub.optim import ProjectedAdam
from randsub.solver import Settings, Solver, Window

ESTIMATORS = [PRSClassifier, PRSRegressor, PRSNetwork]
RECIPES = [Solver, Solver.quick, Solver.for_networks, Solver.paper]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = X[:, 0] + 0.1 * RNG.normal(size=30)


def resolved(solver: Solver, **changes) -> Settings:
    facts = {"n_masks": 20, "n_train": 100, "n_parameters": 30, "objective": "ensemble"}
    return solver.settings(**{**facts, **changes})


# -- the only defaults ---------------------------------------------------------------------------


def signature(kind) -> dict[str, object]:
    parameters = inspect.signature(kind).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_estimators_have_no_number_of_the_solver(kind) -> None:
    of_estimator = signature(kind)
    shared = of_estimator.keys() & signature(Solver).keys()
    # Networks with a path of penalties have no plateau.
    assert {"max_iter"} <= shared <= {"max_iter", "n_iter_no_change"}
    assert all(of_estimator[name] is None for name in shared)
    assert of_estimator["solver"] is None


def test_settings_have_no_defaults() -> None:
    for field in dataclasses.fields(Settings):
        assert field.default is field.default_factory is dataclasses.MISSING, field.name


def test_the_solver_has_all_that_a_fit_does_not_decide() -> None:
    of_fit = {"n_masks", "objective", "max_samples", "chooses_on_all"}
    of_problem = {"learning_rate", "optimizer"}
    names = {field.name for field in dataclasses.fields(Settings)}
    assert names - of_fit - {"n_generations"} == signature(Solver).keys() - of_problem


# -- as a parameter ------------------------------------------------------------------------------


def test_parameters_come_back_and_clones_are_equal() -> None:
    changed = {
        "learning_rate": 0.1,
        "max_iter": 7,
        "n_batches": 3,
        "ess_threshold": 0.2,
        "refresh": Window(4),
        "n_revivals": 1,
        "revival_level": 0.3,
        "baseline": "paper",
        "self_normalize": False,
        "optimizer": ProjectedAdam(0.2),
        "n_iter_no_change": 9,
        "tol": 0.5,
    }
    assert changed.keys() == signature(Solver).keys()
    solver = Solver(**changed)
    assert solver.get_params(deep=False) == changed
    deep = solver.get_params()
    assert deep["refresh__n_generations"] == 4
    assert deep["optimizer__learning_rate"] == 0.2
    for twin in (clone(solver), pickle.loads(pickle.dumps(solver))):
        assert repr(twin) == repr(solver)
        assert twin.refresh is not solver.refresh
    assert solver.set_params(refresh__n_generations=5, tol=0.1) is solver
    assert (solver.refresh.n_generations, solver.tol) == (5, 0.1)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_nested_parameters_need_no_solver(kind) -> None:
    model = kind().set_params(solver__n_batches=7)
    assert model.solver.get_params() == {**kind()._solver().get_params(), "n_batches": 7}
    given = Solver(learning_rate=0.1)
    model = kind(solver=given).set_params(solver__n_batches=7, n_estimators=5)
    assert model.solver is given
    assert model.solver.get_params() == {**Solver(learning_rate=0.1).get_params(), "n_batches": 7}
    assert model.n_estimators == 5
    # A new solver first, then its parameters.
    model.set_params(solver__n_revivals=0, solver=Solver.quick())
    assert model.solver.get_params() == Solver.quick().set_params(n_revivals=0).get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'rate' for estimator Solver"):
        kind().set_params(solver__rate=1)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_clones_of_a_model_have_solvers_of_their_own(kind) -> None:
    model = kind(solver=Solver(refresh=Window(3)))
    twin = clone(model).set_params(solver__refresh__n_generations=2, solver__tol=0.5)
    assert model.solver.get_params()["refresh__n_generations"] == 3
    assert model.solver.tol == 1e-4
    assert twin.solver.refresh.n_generations == 2


@pytest.mark.parametrize("solver", [None, Solver(n_revivals=1)], ids=["default", "given"])
def test_a_search_over_its_parameters(solver) -> None:
    model = PRSRegressor(LinearRegression(), n_estimators=5, max_iter=4, random_state=0)
    model.set_params(solver=solver)
    rates = [0.01, 0.2]
    search = GridSearchCV(model, {"solver__learning_rate": rates}, cv=2).fit(X, Y)
    scores = []
    for rate in rates:
        alone = clone(model).set_params(
            solver=clone(solver or Solver()).set_params(learning_rate=rate)
        )
        folds = [(np.arange(15, 30), np.arange(15)), (np.arange(15), np.arange(15, 30))]
        scores.append([alone.fit(X[a], Y[a]).score(X[b], Y[b]) for a, b in folds])
    found = [search.cv_results_[f"split{fold}_test_score"] for fold in range(2)]
    np.testing.assert_array_equal(np.transpose(found), scores)
    assert len(np.unique(scores)) == 4
    # Nothing of that reaches the model that was given.
    assert model.solver is solver
    assert solver is None or solver.get_params() == Solver(n_revivals=1).get_params()


def test_the_estimator_has_the_last_word_on_epochs() -> None:
    for model, n_iter in (
        (PRSRegressor(LinearRegression(), solver=Solver(max_iter=3)), 3),
        (PRSRegressor(LinearRegression(), solver=Solver(max_iter=3), max_iter=2), 2),
    ):
        assert model.fit(X, Y).n_iter_ == n_iter
    network = PRSNetwork(LinearRegression(), lam=0.01, solver=Solver(max_iter=3), n_estimators=4)
    assert len(network.fit(X).history_) == 3
    assert len(network.set_params(max_iter=2).fit(X).history_) == 2


# -- recipes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", RECIPES)
def test_recipes_are_valid_and_can_be_changed(make) -> None:
    solver = make()
    assert type(solver) is Solver
    solver.check()
    model = PRSRegressor(LinearRegression(), n_estimators=5, max_iter=2, solver=solver)
    assert model.fit(X, Y).n_iter_ == 2
    changed = clone(solver).set_params(n_batches=2)
    assert changed.get_params() == {**solver.get_params(), "n_batches": 2}


def test_recipes_are_what_they_say() -> None:
    default = Solver().get_params()
    quick = {"learning_rate": 5e-3, "max_iter": 200}
    assert Solver.quick().get_params() == {**default, **quick}
    # About as far, in fewer epochs.
    far = default["learning_rate"] * default["max_iter"]
    assert quick["learning_rate"] * quick["max_iter"] >= 0.9 * far
    network = {
        "learning_rate": 1e-3,
        "max_iter": 600,
        "ess_threshold": 0.5,
        "n_revivals": 2,
        "revival_level": 0.02,
        "baseline": "weighted",
        "optimizer": "adam",
        "n_iter_no_change": None,
    }
    assert Solver.for_networks().get_params() == {**default, **network}
    assert PRSNetwork()._solver().get_params() == {**default, **network}
    assert PRSRegressor()._solver().get_params() == default
    assert Solver.paper().get_params() == {
        **default,
        "learning_rate": 1e-3,
        "max_iter": 3000,
        "n_batches": 10,
        "ess_threshold": 0.9,
        "n_revivals": 0,
        "baseline": "weighted",
        "self_normalize": False,
        "optimizer": "adam",
        "n_iter_no_change": None,
    }


def test_a_recipe_of_a_subclass_is_of_its_kind() -> None:
    class Mine(Solver):
        pass

    assert type(Mine.quick()) is Mine
    assert PRSRegressor(LinearRegression(), max_iter=1, solver=Mine.quick()).fit(X, Y).n_iter_ == 1


# -- from a solver to settings -------------------------------------------------------------------


def test_settings_are_those_of_the_solver_and_the_fit() -> None:
    solver = Solver(
        n_batches=4, ess_threshold=0.4, n_revivals=2, tol=0.1, baseline="none", max_iter=9
    )
    settings = resolved(solver, objective="members", max_samples=11, n_iter_no_change=2)
    assert dataclasses.asdict(settings) == {
        "n_masks": 20,
        "n_batches": 4,
        "max_samples": 11,
        "objective": "members",
        "baseline": "none",
        "self_normalize": True,
        "ess_threshold": 0.4,
        "refresh": "fresh",
        "n_generations": 1,
        "n_revivals": 2,
        "revival_level": 0.02,
        "max_iter": 9,
        "n_iter_no_change": 2,
        "tol": 0.1,
        "chooses_on_all": False,
    }
    assert resolved(solver, max_iter=3).max_iter == 3
    assert resolved(solver, chooses_on_all=True).chooses_on_all


@pytest.mark.parametrize(("n_train", "n_batches"), [(2, 2), (3, 3), (7, 7), (8, 7)])
def test_tiny_data_has_one_fold_per_sample(n_train, n_batches) -> None:
    assert resolved(Solver(n_batches=7), n_train=n_train).n_batches == n_batches


@pytest.mark.parametrize(
    ("revival_level", "n_parameters", "expected"),
    [
        ("auto", 2, 0.02),
        ("auto", 300, 0.02),
        ("auto", 600, 0.005),
        ("auto", 3000, 2e-4),
        ("auto", 30_000, 2e-6),
        ("auto", 100_000, EDGE),
        ("auto", 1_000_000, EDGE),
        (0.3, 2, 0.3),
        (0.3, 20_000, 0.3),
    ],
)
def test_the_level_of_a_revival(revival_level, n_parameters, expected) -> None:
    solver = Solver(revival_level=revival_level)
    assert solver.level_of_revival(n_parameters) == pytest.approx(expected, rel=1e-12)
    assert resolved(solver, n_parameters=n_parameters).revival_level == (
        solver.level_of_revival(n_parameters)
    )


@pytest.mark.parametrize(
    ("refresh", "n_masks", "way", "n_generations"),
    [
        ("fresh", 20, "fresh", 1),
        ("coupled", 20, "coupled", 1),
        ("window", 20, "window", 10),
        ("window", 4, "window", 4),
        (Window(), 20, "window", 10),
        (Window(3), 20, "window", 3),
        (Window(1), 20, "window", 1),
        (Window(30), 20, "window", 20),
    ],
)
def test_windows(refresh, n_masks, way, n_generations) -> None:
    settings = resolved(Solver(refresh=refresh), n_masks=n_masks)
    assert (settings.refresh, settings.n_generations) == (way, n_generations)


def test_a_window_by_name_is_one_of_ten_generations() -> None:
    models = [
        PRSRegressor(
            LinearRegression(),
            n_estimators=20,
            max_iter=12,
            solver=Solver(refresh=refresh, learning_rate=0.05, ess_threshold=0.9),
            random_state=0,
        ).fit(X, Y)
        for refresh in ("window", Window(10), Window(2), "fresh")
    ]
    named, ten, two, fresh = (model.alpha_ for model in models)
    assert models[0].history_["refreshed"].sum() > 1
    np.testing.assert_array_equal(named, ten)
    assert (named != two).any()
    assert (named != fresh).any()


# -- checks --------------------------------------------------------------------------------------


class Untouchable(RegressorMixin, BaseEstimator):
    """A base model that must not be trained."""

    def fit(self, X, y):
        pytest.fail("training began")

    def predict(self, X):
        pytest.fail("training began")


@pytest.mark.parametrize("n_generations", [0, -1, 1.5, True, "2", None])
@pytest.mark.parametrize("kind", [PRSRegressor, PRSNetwork])
def test_generations_are_checked_before_training(kind, n_generations) -> None:
    solver = Solver(refresh=Window(n_generations))
    words = rf"'n_generations' parameter of Window must be an int .*Got {n_generations!r} instead"
    with pytest.raises(InvalidParameterError, match=words):
        solver.check()
    model = kind(Untouchable(), solver=solver)
    with pytest.raises(InvalidParameterError, match=words):
        model.fit(X, Y) if kind is PRSRegressor else model.fit(X)


def test_constructors_check_nothing() -> None:
    """As in scikit-learn: whoever sets a parameter later may do so in any order."""
    solver = Solver(learning_rate=-1.0, refresh=Window(0))
    with pytest.raises(InvalidParameterError, match="'learning_rate' parameter of Solver"):
        solver.check()
    solver.set_params(learning_rate=0.1, refresh__n_generations=2).check()


def test_nested_names_set_the_default_solver_whatever_else_is_set():
    model = PRSRegressor(solver=Solver.quick())
    model.set_params(solver=None, solver__learning_rate=0.1)
    assert model.solver.get_params() == Solver(learning_rate=0.1).get_params()
    grid = {"solver": [None, Solver.quick()], "solver__learning_rate": [1e-3, 2e-3]}
    assert [
        clone(PRSRegressor()).set_params(**params).solver.learning_rate
        for params in ParameterGrid(grid)
    ] == [1e-3, 2e-3, 1e-3, 2e-3]


def test_estimators_without_a_solver_do_not_get_one():
    model = RaSERegressor()
    with pytest.raises(ValueError, match="Invalid parameter 'solver'"):
        model.set_params(solver__learning_rate=0.1)
    assert "solver" not in vars(model)


def test_a_fitted_model_keeps_the_solver_that_was_used():
    solver = Solver(ess_threshold=0.5)
    model = PRSRegressor(Ridge(), n_estimators=5, max_iter=2, solver=solver).fit(X, Y)
    solver.set_params(ess_threshold=0.9)
    assert model.solver_.ess_threshold == 0.5
    assert PRSRegressor(Ridge(), n_estimators=5, max_iter=2).fit(X, Y).solver_.max_iter == 900


def test_an_optimiser_with_bad_parameters_is_refused_by_the_solver():
    with pytest.raises(ValueError, match="ProjectedAdam needs a finite learning_rate"):
        Solver(optimizer=ProjectedAdam(-1.0)).check()

"""It learns: the features that matter rise, with any base model, any refresh, any objective."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_friedman, make_hypercube
from randsub.exceptions import InterruptedFitWarning
from randsub.gradients import score_gradient
from randsub.penalties import ExpectedSize
from randsub.solver import Solver

QUICK = {"n_estimators": 50, "max_iter": 80, "learning_rate": 0.01, "random_state": 0}


@pytest.fixture(scope="module")
def friedman():
    return make_friedman(n_samples=300, n_irrelevant=45, correlation=0.0, random_state=0)


@pytest.fixture(scope="module")
def hypercube():
    return make_hypercube(n_samples=300, n_irrelevant=45, random_state=1)


def quality(model, problem):
    X, y, relevant = problem
    model.fit(X[:200], y[:200])
    is_relevant = np.isin(np.arange(X.shape[1]), relevant)
    return model.score(X[200:], y[200:]), average_precision_score(is_relevant, model.alpha_)


@pytest.mark.parametrize(
    "changes",
    [
        {"refresh": "window", "ess_threshold": 0.7},
        {"refresh": "coupled"},
        {"refresh": "window", "n_revivals": 1},
        {"refresh": "window", "objective": "members"},
        {"refresh": "window", "self_normalize": False, "baseline": "paper"},
    ],
    ids=lambda c: "-".join(map(str, c.values())),
)
def test_ways_to_learn(changes, friedman):
    score, aupr = quality(PRSRegressor(KNeighborsRegressor(), **flat(**QUICK, **changes)), friedman)
    plain = KNeighborsRegressor().fit(friedman[0][:200], friedman[1][:200])
    assert score > plain.score(friedman[0][200:], friedman[1][200:]) + 0.15
    assert aupr > 0.55


def test_a_penalty_leaves_what_the_ensemble_needs():
    # The fourth feature has the largest slope. Once every mask holds it, only the penalty would
    # speak about it until the next refresh.
    X, y, relevant = make_friedman(400, 30, random_state=1)
    model = PRSRegressor(
        KNeighborsRegressor(),
        n_estimators=50,
        penalty=ExpectedSize(0.01),
        max_iter=600,
        solver=Solver(learning_rate=2e-3, n_revivals=0),
        random_state=1,
    ).fit(X[:200], y[:200])
    assert model.alpha_[relevant[3]] > 0.9
    assert model.expected_size_ < 6


def test_trees(friedman):
    model = PRSRegressor(DecisionTreeRegressor(), **flat(solver=Solver(refresh="window"), **QUICK))
    score, aupr = quality(model, friedman)
    assert score > 0.6
    assert aupr > 0.5


@pytest.mark.parametrize("base", [KNeighborsClassifier(), SVC()])
def test_classifiers(base, hypercube):
    score, aupr = quality(
        PRSClassifier(base, **flat(solver=Solver(refresh="window"), **QUICK)), hypercube
    )
    assert score > 0.85
    assert aupr > 0.7


class Interrupting(KNeighborsRegressor):
    """Ctrl-C while some base model is being trained."""

    fits = 0
    at = 0

    def fit(self, X, y):
        Interrupting.fits += 1
        if Interrupting.fits == Interrupting.at:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_ctrl_c_keeps_the_best_so_far(friedman):
    X, y, _ = friedman
    Interrupting.fits, Interrupting.at = 0, 600
    model = PRSRegressor(Interrupting(), **flat(solver=Solver(n_revivals=0), **QUICK))
    with pytest.warns(InterruptedFitWarning, match=r"interrupted after epoch \d+ of 80"):
        model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert 0 < model.n_iter_ < 80
    assert len(model.history_) == model.n_iter_
    assert np.isfinite(model.predict(X)).all()
    # Up to there it is the run that would have been.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = PRSRegressor(
            KNeighborsRegressor(), **flat(engine="generic", solver=Solver(n_revivals=0), **QUICK)
        )
        whole.set_params(max_iter=model.n_iter_)
        np.testing.assert_array_equal(whole.fit(X, y).alpha_, model.alpha_)


def test_ctrl_c_before_there_is_anything_to_keep(friedman):
    X, y, _ = friedman
    Interrupting.fits, Interrupting.at = 0, 10
    with pytest.raises(KeyboardInterrupt):
        PRSRegressor(Interrupting(), **flat(**QUICK)).fit(X, y)


def test_ctrl_c_inside_a_compiled_function_keeps_the_best_so_far(friedman, monkeypatch):
    """Numba turns it into a SystemError when it comes while an array is handed back."""
    X, y, _ = friedman
    calls = iter(range(1000))

    def interrupted(*args):
        if next(calls) == 150:
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as signal:
                raise SystemError("returned a result with an exception set") from signal
        return score_gradient(*args)

    monkeypatch.setattr("randsub.solver.loop.score_gradient", interrupted)
    with pytest.warns(InterruptedFitWarning, match="interrupted after epoch"):
        model = PRSRegressor(KNeighborsRegressor(), **flat(**QUICK)).fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert np.isfinite(model.predict(X)).all()


def test_other_system_errors_are_not_taken_for_ctrl_c(friedman, monkeypatch):
    X, y, _ = friedman

    def broken(*args):
        raise SystemError("something else")

    monkeypatch.setattr("randsub.solver.loop.score_gradient", broken)
    with pytest.raises(SystemError, match="something else"):
        PRSRegressor(KNeighborsRegressor(), **flat(**QUICK)).fit(X, y)


@pytest.mark.parametrize(
    "base",
    [
        KNeighborsRegressor(leaf_size=0),
        KNeighborsRegressor(n_jobs="x"),
        DecisionTreeRegressor(min_impurity_decrease="a"),
        DecisionTreeRegressor(criterion=["x"]),
        SVR(C=-1.0),
    ],
)
def test_bad_parameters_of_the_base_model_are_told_before_any_work(friedman, base):
    X, y, _ = friedman
    with pytest.raises(ValueError, match=r"The '.*' parameter of .* must be"):
        PRSRegressor(base, **flat(**QUICK)).fit(X, y)

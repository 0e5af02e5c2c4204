"""The same seed gives the same result, bit for bit, for any number of workers and any backend."""

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from flat_parameters import nested
from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_friedman, make_hypercube
from randsub.solver import Solver, Window

SETTINGS = {"n_estimators": 20, "max_iter": 8, "n_batches": 3, "learning_rate": 0.02}


def fitted(model, seed=0, n_jobs=None, **changes):
    make = make_friedman if isinstance(model, PRSRegressor) else make_hypercube
    X, y, _ = make(n_samples=120, n_irrelevant=20, random_state=3)
    model.set_params(**nested(**SETTINGS, random_state=seed, n_jobs=n_jobs, **changes))
    model.fit(X[:80], y[:80])
    outputs = [model.alpha_, model.predict(X[80:])]
    if isinstance(model, PRSClassifier):
        outputs.append(model.predict_proba(X[80:]))
    return outputs


MODELS = [
    PRSRegressor(LinearRegression()),
    PRSRegressor(KNeighborsRegressor(), solver=Solver(refresh=Window(5))),
    PRSRegressor(
        DecisionTreeRegressor(max_features=0.5), solver=Solver(refresh="coupled"), engine="generic"
    ),
    PRSClassifier(KNeighborsClassifier(), solver=Solver(n_revivals=1)),
    PRSClassifier(SVC()),
    PRSClassifier(LogisticRegression(), max_samples=30),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.estimator}-{m._solver().refresh}")
def test_workers_and_backends(model):
    alone = fitted(model, n_jobs=1)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            for a, b in zip(alone, fitted(model), strict=True):
                np.testing.assert_array_equal(a, b)
    for a, b in zip(alone, fitted(model, n_jobs=2), strict=True):
        np.testing.assert_array_equal(a, b)


def test_seeds():
    model = PRSRegressor(KNeighborsRegressor())
    same = [fitted(model, seed=np.random.RandomState(5))[0] for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert not np.array_equal(fitted(model, seed=1)[0], fitted(model, seed=2)[0])


def test_the_global_generator_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    fitted(PRSRegressor(DecisionTreeRegressor()))
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_verbose_changes_nothing(capsys):
    model = PRSRegressor(KNeighborsRegressor())
    silent = fitted(model)[0]
    assert capsys.readouterr() == ("", "")
    np.testing.assert_array_equal(fitted(model, verbose=1)[0], silent)
    out, err = capsys.readouterr()
    assert out == ""
    assert "8/8" in err

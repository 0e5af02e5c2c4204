"""scikit-learn's own checks, over base models of every kind."""

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.penalties import ExpectedSize
from randsub.solver import Solver, Window

SMALL = {"n_estimators": 5, "max_iter": 2, "n_batches": 3, "n_revivals": 0}

CLASSIFIERS = [
    DecisionTreeClassifier(),
    KNeighborsClassifier(3),
    SVC(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2),
]
REGRESSORS = [
    DecisionTreeRegressor(),
    KNeighborsRegressor(3),
    SVR(),
    Ridge(),
    HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2),
]
ESTIMATORS = [
    *(PRSClassifier(base, **flat(**SMALL)) for base in CLASSIFIERS),
    *(PRSRegressor(base, **flat(**SMALL)) for base in REGRESSORS),
    PRSClassifier(
        **flat(solver=Solver(refresh=Window(2)), voting="soft", **{**SMALL, "n_revivals": 1})
    ),
    PRSRegressor(
        **flat(
            solver=Solver(refresh="coupled"),
            penalty=ExpectedSize(0.01),
            objective="members",
            **SMALL,
        )
    ),
    PRSClassifier(
        [("knn", KNeighborsClassifier(3)), ("tree", DecisionTreeClassifier())],
        **flat(**{**SMALL, "n_estimators": 10}),
    ),
    PRSRegressor([("ridge", Ridge()), ("svm", SVR()), ("tree", "drop")], **flat(**SMALL)),
    PRSClassifier("auto", **flat(**{**SMALL, "n_batches": 2})),
    PRSRegressor("auto", **flat(**{**SMALL, "n_batches": 2})),
]


def expected_to_fail(estimator):
    reason = (
        "samples are dealt into batches and validation at random, so a sample that is repeated is "
        "not drawn as a sample of twice the weight is; test_sample_weight.py shows with fixed "
        "splits that weights mean what they should"
    )
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


# Base models warn of tiny data in their own words.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")
@pytest.mark.filterwarnings("ignore::randsub.exceptions.NoFeatureLeftWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_to_fail)
def test_sklearn_conventions(estimator, check):
    check(estimator)

"""scikit-learn's own checks, over base models of every kind."""

import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from randsub import (
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
    RaSEClassifier,
    RaSERegressor,
)

SMALL = {"n_estimators": 4, "n_candidates": 3, "max_iter": 2, "cv": 3}

ESTIMATORS = [
    RandomSubspaceClassifier(n_estimators=4),
    RandomSubspaceClassifier(LogisticRegression(), n_estimators=8, max_features=0.7, voting="soft"),
    RandomSubspaceRegressor(make_pipeline(StandardScaler(), Ridge()), n_estimators=4),
    RandomSubspaceRegressor(Ridge(), n_estimators=4, max_features="sqrt"),
    RaSEClassifier(KNeighborsClassifier(3), voting="soft", **SMALL),
    RaSEClassifier(LogisticRegression(), validation_fraction=None, max_size=4, **SMALL),
    RaSERegressor(Ridge(), validation_fraction=None, max_size=4, **SMALL),
    RaSERegressor(
        HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=2),
        **{**SMALL, "n_candidates": 2, "max_iter": 1, "cv": 2},
    ),
    RaSERegressor(DecisionTreeRegressor(), **SMALL),
]


def expected_to_fail(estimator):
    """Where validation samples are set aside at random, copies of a sample may part.

    With K fixed, or RaSE's iteration chosen by cross-validation (for which the check gives splits
    of its own), nothing is drawn among the samples, and the checks of weights hold.
    """
    reason = (
        "validation samples are set aside at random, so a sample that is repeated is not drawn as "
        "a sample of twice the weight is; test_weights.py shows with fixed splits that weights "
        "mean what they should"
    )
    params = estimator.get_params(deep=False)
    chooses = params.get("max_features", "validation") == "validation"
    if not chooses or params["validation_fraction"] is None:
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


# Base models warn of tiny data in their own words.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_to_fail)
def test_sklearn_conventions(estimator, check):
    check(estimator)

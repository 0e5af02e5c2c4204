"""Missing numbers that a base model does not accept: the error names it, and not the ensemble."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from randsub import PRSRegressor, RandomSubspaceRegressor, RaSERegressor

X = np.random.default_rng(0).normal(size=(20, 3))
Y = X[:, 0]
GAPS = X.copy()
GAPS[3, 1] = np.nan
KNN = "which the base model KNeighborsRegressor() does not accept. Fill in the missing values"


def refusal(call):
    with pytest.raises(ValueError, match=r"Input X contains NaN, which the base model") as error:
        call()
    told = str(error.value)
    assert "does not accept missing values" not in told
    assert "\n" not in told
    return told


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, csr_matrix])
def test_the_base_model_is_named(make):
    model = PRSRegressor(Ridge(alpha=3.0))
    told = refusal(lambda: model.fit(make(GAPS), Y))
    assert "the base model Ridge(alpha=3.0) does not accept" in told
    assert "use a base model that takes missing values, such as a decision tree." in told


@pytest.mark.parametrize("cls", [PRSRegressor, RandomSubspaceRegressor, RaSERegressor])
def test_by_every_ensemble(cls):
    assert KNN in refusal(lambda: cls(KNeighborsRegressor()).fit(GAPS, Y))


def test_those_of_a_mix_that_refuse_are_named():
    bases = [("tree", DecisionTreeRegressor()), ("knn", KNeighborsRegressor())]
    assert KNN in refusal(lambda: PRSRegressor(bases).fit(GAPS, Y))
    told = refusal(lambda: PRSRegressor([*bases, ("ridge", Ridge())]).fit(GAPS, Y))
    assert "the base models KNeighborsRegressor(), Ridge() do not accept" in told


def test_in_new_rows_validation_rows_and_beside_categories():
    model = PRSRegressor(KNeighborsRegressor(), max_iter=1, n_estimators=2, engine="generic")
    told = refusal_in_validation(model)
    assert told.startswith("In the validation data (X_val, y_val, sample_weight_val): Input X")
    assert KNN in told
    model.fit(X, Y)
    assert KNN in refusal(lambda: model.predict(GAPS))
    model.set_params(categorical_features=[0])
    assert KNN in refusal(lambda: model.fit(GAPS, Y))


def refusal_in_validation(model):
    return refusal(lambda: model.fit(X, Y, X_val=GAPS, y_val=Y))


def test_other_errors_are_left_as_they_are():
    with pytest.raises(ValueError, match="Input X contains infinity"):
        PRSRegressor(KNeighborsRegressor()).fit(np.where(np.isnan(GAPS), np.inf, GAPS), Y)

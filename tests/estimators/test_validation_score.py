"""``validation_score_``: what a fit says of how well its model predicts."""

import numpy as np
import pytest
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_friedman, make_hypercube

X, Y, _ = make_friedman(n_samples=200, n_irrelevant=6, random_state=3)
XC, YC, _ = make_hypercube(n_samples=200, n_irrelevant=6, random_state=3)
FEW = {"n_estimators": 20, "max_iter": 40, "random_state": 0}


def test_r2_follows_from_the_squared_error():
    model = PRSRegressor(KNeighborsRegressor(), **FEW)
    model.fit(X[:120], Y[:120], X_val=X[120:160], y_val=Y[120:160])
    # The loss is in units of the variance of the training targets.
    spread = Y[120:160].var() / Y[:120].var()
    assert model.validation_score_ == pytest.approx(1.0 - model.validation_loss_ / spread)


def test_it_is_close_to_the_score_of_a_model_on_rows_that_it_has_not_seen():
    model = PRSRegressor(KNeighborsRegressor(), **FEW)
    model.fit(X[:100], Y[:100], X_val=X[100:], y_val=Y[100:])
    # Members are trained on a few rows more, and were not chosen for their masks.
    assert abs(model.validation_score_ - r2_score(Y[100:], model.predict(X[100:]))) < 0.1
    assert model.score(X[:100], Y[:100]) > model.validation_score_


@pytest.mark.parametrize("fraction", [0.2, None])
def test_repeats_have_their_own(fraction):
    model = PRSClassifier(KNeighborsClassifier(), n_repeats=3, validation_fraction=fraction, **FEW)
    model.fit(XC, YC)
    assert model.validation_scores_.shape == (3,)
    assert model.validation_score_ == model.validation_scores_.mean()
    assert 0.5 < model.validation_score_ < 1.0
    alone = PRSClassifier(KNeighborsClassifier(), validation_fraction=fraction, **FEW).fit(XC, YC)
    if fraction is None:
        assert alone.validation_score_ == model.validation_scores_[0]


def test_mixes_and_weights():
    weight = np.random.default_rng(0).integers(0, 3, len(YC)).astype(float)
    bases = [("knn", KNeighborsClassifier()), ("tree", DecisionTreeClassifier())]
    model = PRSClassifier(bases, **FEW).fit(XC, YC, weight)
    assert 0.5 < model.validation_score_ <= 1.0


def test_it_is_nan_where_it_is_not_defined():
    model = PRSRegressor(KNeighborsRegressor(), **FEW)
    model.fit(X, Y, X_val=X[:1], y_val=Y[:1])
    assert np.isnan(model.validation_score_)

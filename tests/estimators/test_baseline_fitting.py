"""What users bring to a baseline, and what they get: as with PRS."""

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectFromModel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub import (
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
    RaSEClassifier,
    RaSERegressor,
)
from randsub.exceptions import BaseModelError

FEW = {"n_estimators": 5, "n_candidates": 4, "max_iter": 2, "cv": 3}
REGRESSORS = [
    RandomSubspaceRegressor(KNeighborsRegressor(3), n_estimators=5, random_state=0),
    RaSERegressor(KNeighborsRegressor(3), random_state=0, **FEW),
]
CLASSIFIERS = [
    RandomSubspaceClassifier(KNeighborsClassifier(3), n_estimators=5, random_state=0),
    RaSEClassifier(KNeighborsClassifier(3), random_state=0, **FEW),
]

every_regressor = pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
every_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)


def with_base(model, base, **params):
    return type(model)(**{**model.get_params(deep=False), "estimator": base, **params})


def data(n=60, m=6, classes=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m))
    y = X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=n)
    if classes:
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
    return X, y


# -- tables ------------------------------------------------------------------------------------


class Spy(RegressorMixin, BaseEstimator):
    """Insists on named columns of the types that the user gave."""

    def fit(self, X, y):
        assert isinstance(X, pd.DataFrame)
        assert set(X.columns) <= set("abcdef")
        assert all((X[c].dtype == "category") == (c == "f") for c in X.columns)
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        assert isinstance(X, pd.DataFrame)
        return np.full(len(X), self.mean_)


@every_regressor
def test_frames_reach_the_base_model(model):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["f"] = pd.Categorical(np.where(X[:, 5] > 0, "up", "down"))
    fitted = with_base(model, Spy()).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == list("abcdef")
    assert fitted.predict(frame).shape == (60,)


@every_regressor
def test_frames_sparse_matrices_and_arrays_agree(model):
    X, y = data()
    expected = model.fit(X, y).predict(X)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    np.testing.assert_array_equal(model.fit(frame, y).predict(frame), expected)
    # Sparse data is not centred, which is nothing to distances.
    generic = with_base(model, model.estimator, engine="generic")
    answers = generic.fit(csr_array(X), y).predict(csr_array(X))
    np.testing.assert_allclose(answers, expected)


@every_regressor
def test_missing_values_where_the_base_model_takes_them(model):
    X, y = data()
    X[::7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y)
    for base in (DecisionTreeRegressor(), make_pipeline(SimpleImputer(), Ridge())):
        assert np.isfinite(with_base(model, base).fit(X, y).predict(X)).all()


@every_regressor
@pytest.mark.parametrize("m", [1, 2])
def test_few_features(model, m):
    X, y = data(m=max(m, 2))
    assert model.fit(X[:, :m], y).predict(X[:, :m]).shape == (60,)


# -- labels ------------------------------------------------------------------------------------


@every_classifier
@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_labels_of_any_type_and_several_classes(model, voting):
    X, codes = data(classes=3)
    labels = np.array(["low", "medium", "high"], dtype=object)
    model = with_base(model, KNeighborsClassifier(3), voting=voting)
    fitted = model.fit(X, labels[codes])
    assert fitted.classes_.tolist() == ["high", "low", "medium"]
    shares = fitted.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[shares.argmax(axis=1)])
    assert fitted.score(X, labels[codes]) > 0.5


@every_classifier
def test_a_class_of_one_sample(model):
    X, y = data(classes=2)
    y[3] = 7
    fitted = with_base(model, DecisionTreeClassifier(random_state=0)).fit(X, y)
    assert fitted.classes_.tolist() == [0, 1, 7]


@every_classifier
def test_what_cannot_be_classified(model):
    X, y = data(classes=2)
    with pytest.raises(ValueError, match=f"{type(model).__name__} needs samples of at least 2"):
        model.fit(X, np.zeros(60))
    with pytest.raises(ValueError, match=r"classes \[5\], which are not in y"):
        model.fit(X, y, X_val=X[:3], y_val=[0, 1, 5])
    with pytest.raises(ValueError, match="needs a classifier"):
        with_base(model, Ridge()).fit(X, y)


# -- weights -----------------------------------------------------------------------------------


@every_regressor
def test_a_weight_of_zero_removes_the_sample(model):
    X, y = data()
    weight = np.ones(60)
    weight[5:15] = 0.0
    bad = np.where(weight == 0.0, 1e6, y)
    kept = weight > 0.0
    fitted = with_base(model, Ridge()).fit(X, bad, weight).predict(X)
    clean = with_base(model, Ridge()).fit(X[kept], y[kept], weight[kept]).predict(X)
    np.testing.assert_allclose(fitted, clean)


@every_regressor
def test_weights_of_validation_samples_decide(model):
    """One half of the validation data follows X, the other its opposite."""
    X, y = data()
    both, targets = np.vstack([X[:20], X[:20]]), np.concatenate([y[:20], -y[:20]])
    scores = []
    for which in (1.0, 0.0):
        weight = np.repeat([which, 1.0 - which], 20)
        model.fit(X, y, X_val=both, y_val=targets, sample_weight_val=weight)
        name = "validation_scores_" if hasattr(model, "validation_scores_") else "history_"
        table = getattr(model, name)
        scores.append(table["score" if "score" in table else "validation_score"].max())
    assert scores[0] > 0.5 > 0.2 > scores[1]


# -- failures ----------------------------------------------------------------------------------


class Picky(LinearRegression):
    """Refuses a column."""

    def fit(self, X, y):
        if "d" in X.columns:
            raise ValueError("I do not like d")
        return super().fit(X, y)


@every_regressor
def test_a_base_model_that_fails_is_named_and_the_earlier_fit_stays(model):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    fitted = with_base(model, LinearRegression()).fit(frame, y)
    before = fitted.predict(frame)
    fitted.set_params(estimator=Picky())
    with pytest.raises(BaseModelError) as caught:
        fitted.fit(frame, y)
    assert "I do not like d" in str(caught.value)
    assert "'d'" in str(caught.value)
    assert "in iteration 1 " in str(caught.value) or "with max_features=" in str(caught.value)
    np.testing.assert_array_equal(fitted.predict(frame), before)


@every_regressor
def test_validation_data_by_halves_is_refused(model):
    X, y = data()
    with pytest.raises(ValueError, match="X_val was given without y_val"):
        model.fit(X, y, X_val=X)


# -- the same result, always -------------------------------------------------------------------


# Some base models are for the generic engine.
@pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")
@pytest.mark.parametrize(
    "model",
    [
        *REGRESSORS,
        CLASSIFIERS[1],
        with_base(REGRESSORS[1], DecisionTreeRegressor(max_features=0.5)),
        with_base(CLASSIFIERS[1], DecisionTreeClassifier(splitter="random"), tune_cutoff=True),
        with_base(REGRESSORS[0], KNeighborsRegressor(3, metric="manhattan")),
    ],
    ids=lambda m: f"{type(m).__name__}-{m.estimator}",
)
def test_workers_and_backends(model):
    X, y = data(classes=2 if hasattr(model, "voting") else None)

    def outputs():
        fitted = model.fit(X, y)
        features = np.concatenate(fitted.estimators_features_)
        return features, fitted.predict(X), fitted.n_models_trained_

    alone = outputs()
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            for a, b in zip(alone, outputs(), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "model",
    [with_base(REGRESSORS[0], KNeighborsRegressor(3), max_features=2), REGRESSORS[1]],
    ids=lambda m: type(m).__name__,
)
def test_seeds(model):
    X, y = data()

    def features(seed):
        fitted = with_base(model, model.estimator, random_state=seed).fit(X, y)
        return [f.tolist() for f in fitted.estimators_features_]

    assert features(np.random.RandomState(3)) == features(3) != features(4)


@every_regressor
def test_the_bar(model, capsys):
    X, y = data()
    silent = model.fit(X, y).predict(X)
    assert capsys.readouterr() == ("", "")
    loud = with_base(model, model.estimator, verbose=1).fit(X, y)
    np.testing.assert_array_equal(loud.predict(X), silent)
    out, err = capsys.readouterr()
    assert out == ""
    steps = len(loud.validation_scores_) if hasattr(loud, "validation_scores_") else 2 * 5 * 4
    assert f"{steps}/{steps}" in err
    assert type(model).__name__ in err


# -- in the company of scikit-learn ------------------------------------------------------------


class Recorder(RegressorMixin, BaseEstimator):
    """Checks that the price, which follows the targets, was cut to the same rows."""

    def fit(self, X, y, price=None):
        np.testing.assert_array_equal(price, 2 * y)
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return np.zeros(len(X))


@every_regressor
def test_metadata_reaches_the_base_model(model):
    X, y = data()
    with pytest.raises(ValueError, match="price"):
        with_base(model, Recorder()).fit(X, y, price=2 * y)
    with config_context(enable_metadata_routing=True):
        base = Recorder().set_fit_request(price=True)
        with_base(model, base).fit(X, y, price=2 * y)


def test_feature_selection():
    X, y = data(n=100)
    selector = SelectFromModel(REGRESSORS[1], max_features=2, threshold=-np.inf).fit(X, y)
    assert selector.get_support().sum() == 2
    assert not hasattr(REGRESSORS[0].fit(X, y), "feature_importances_")


def test_search_over_parameters():
    X, y = data()
    grid = {"max_features": [1, 6], "estimator__n_neighbors": [3, 5]}
    search = GridSearchCV(REGRESSORS[0], grid, cv=2).fit(X, y)
    assert search.best_params_["max_features"] == 6

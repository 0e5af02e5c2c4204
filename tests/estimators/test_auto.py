"""estimator="auto": the portfolio, data that few base models can use, everything around it."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor, RandomSubspaceRegressor
from randsub.datasets import make_friedman, make_hypercube
from randsub.estimators.column_encoding import ColumnEncoder
from randsub.estimators.portfolio import AUTO_ROWS, Facts, everything, portfolio
from randsub.parallel.dispatch import Dispatcher

SETTINGS = {"n_estimators": 8, "max_iter": 6, "n_batches": 2, "learning_rate": 0.02}
X, Y, _ = make_friedman(n_samples=80, n_irrelevant=3, random_state=3)
XC, YC, _ = make_hypercube(n_samples=80, n_irrelevant=3, random_state=3)


def classifier(**changes):
    return PRSClassifier("auto", **flat(random_state=0, **{**SETTINGS, **changes}))


def regressor(**changes):
    return PRSRegressor("auto", **flat(random_state=0, **{**SETTINGS, **changes}))


@pytest.mark.parametrize(
    "make, data", [(classifier, (XC, YC)), (regressor, (X, Y))], ids=["classes", "numbers"]
)
def test_what_a_fit_leaves(make, data):
    model = make().fit(*data)
    task = "classification" if make is classifier else "regression"
    names = [name for name, _ in everything(task)]
    assert [name for name, _ in model.estimator_] == names == [*model.shares_] == [*model.alphas_]
    assert sum(model.shares_.values()) == pytest.approx(1.0)
    assert set(model.estimators_bases_) <= set(names)
    assert make().get_params()["estimator"] == "auto"
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data[0]), model.predict(data[0]))


def test_the_same_as_the_list_that_it_stands_for():
    auto = classifier(voting="auto").fit(XC, YC)
    listed = clone(auto).set_params(estimator=[(n, clone(b)) for n, b in auto.estimator_])
    listed.fit(XC, YC)
    np.testing.assert_array_equal(auto.alpha_, listed.alpha_)
    np.testing.assert_array_equal(auto.predict_proba(XC), listed.predict_proba(XC))


def test_a_model_that_was_fitted_with_another_base_model():
    model = PRSRegressor(**flat(random_state=0, **SETTINGS)).fit(X, Y).set_params(estimator="auto")
    assert get_tags(model).input_tags.allow_nan
    fresh = regressor().fit(X, Y)
    np.testing.assert_array_equal(model.fit(X, Y).alpha_, fresh.alpha_)
    assert model.shares_ == fresh.shares_


def test_any_number_of_workers_gives_the_same_bits():
    one, two = (regressor(n_jobs=n).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(one.alpha_, two.alpha_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def frame(library=pd.DataFrame):
    """Numbers, some missing, and categories, some missing."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=90)
    colour = rng.choice(["red", "green", "blue"], size=90).astype(object)
    y = 2.0 * np.nan_to_num(size) + 3.0 * (colour == "red") + rng.normal(scale=0.1, size=90)
    size[rng.random(90) < 0.2] = np.nan
    colour[rng.random(90) < 0.1] = None
    columns = {"size": size, "colour": list(colour), "noise": rng.normal(size=90)}
    if library is pl.DataFrame:
        columns["size"] = pl.Series(size).fill_nan(None)
    return library(columns), y


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("standardize", [True, False])
def test_a_frame_with_categories_and_missing_values_needs_no_preparation(library, standardize):
    table, y = frame(library)
    model = regressor(standardize=standardize, max_iter=30).fit(table, y)
    assert model.score(table, y) > 0.6
    assert len(model.alpha_) == 3
    encoder = model.column_encoder_
    assert encoder.origin_.tolist() == [0, 0, 1, 1, 1, 1, 2]
    assert (encoder.columns.tolist(), encoder.filled_.tolist()) == ([1], [0])
    assert np.isfinite(model.predict(table)).all()


def test_missing_numbers_are_the_mean_with_an_indicator_beside_them():
    table = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 8.0]])
    encoder = ColumnEncoder(np.arange(0), fills=True).fit(table, np.arange(3))
    np.testing.assert_array_equal(
        encoder.transform(table, table), [[1, 0, 6, 1], [3, 0, 4, 0], [2, 1, 8, 0]]
    )
    # Scaled numbers have the mean 0.
    scaled = ColumnEncoder(np.arange(0), fills=True, centered=[1]).fit(table, np.arange(3))
    np.testing.assert_array_equal(scaled.transform(table, table)[:, 2:], [[0, 1], [4, 0], [8, 0]])
    # Means are those of the weighted samples; a column without numbers is 0.
    table[:, 1] = np.nan
    weighted = encoder.fit(table, np.arange(3), np.array([3.0, 1.0, 5.0]))
    np.testing.assert_array_equal(weighted.means_, [1.5, 0.0])


def test_missing_values_in_an_array():
    hidden = X.copy()
    hidden[::7, 0] = np.nan
    model = regressor().fit(hidden, Y)
    assert len(model.alpha_) == X.shape[1]
    assert np.isfinite(model.predict(hidden)).all()
    # A member with the column sees both of its parts.
    widths = {
        len(seen): one.n_features_in_
        for one, seen in zip(model.estimators_, model.estimators_features_, strict=True)
        if 0 in seen
    }
    assert all(n_inputs == n_columns + 1 for n_columns, n_inputs in widths.items())


def test_missing_values_that_training_did_not_have_are_the_mean():
    model = regressor().fit(X, Y)
    hidden, mean = X.copy(), X.copy()
    hidden[3, 1], mean[3, 1] = np.nan, X[:, 1].mean()
    np.testing.assert_allclose(model.predict(hidden), model.predict(mean))
    scores = cross_val_score(regressor(), hidden, Y, cv=4, error_score="raise")
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1.0, None, 2.5] * 30, dtype=object),
        pd.Series(["1.0", None, "2.5"] * 30, dtype=object),
        pd.Series([True, None, False] * 30, dtype=object),
        pd.Series([True, None, False] * 30, dtype="boolean"),
        pd.Series([1, None, 3] * 30, dtype="Int64"),
        pd.Series([None] * 90, dtype=object),
    ],
    ids=["objects", "text", "truth values", "nullable truth", "nullable integers", "nothing"],
)
def test_columns_that_spell_numbers_may_have_gaps(values):
    table, y = frame()
    table["odd"] = values
    model = regressor().fit(table, y)
    assert np.isfinite(model.predict(table)).all()


@pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")
def test_sparse_data_and_weights():
    sparse = csr_array(np.where(np.abs(XC) > 0.8, XC, 0.0))
    model = classifier().fit(sparse, YC)
    assert model.predict(sparse).shape == YC.shape
    weighted = regressor().fit(X, Y, sample_weight=np.arange(80.0))
    assert "boosting" in weighted.shares_
    assert "boosting" not in model.shares_


@pytest.mark.parametrize("make, data", [(classifier, (XC, YC)), (regressor, (X, Y))])
def test_the_unit_of_weights_does_not_matter(make, data):
    # Powers of two, whose products are exact.
    weight = np.where(np.arange(80) % 3, 1.0, 4.0)
    model, other = (make().fit(*data, sample_weight=w) for w in (weight, weight * 2.0**20))
    np.testing.assert_array_equal(other.alpha_, model.alpha_)
    np.testing.assert_array_equal(other.predict(data[0]), model.predict(data[0]))
    assert other.shares_ == model.shares_


def test_weights_with_metadata_routing():
    with config_context(enable_metadata_routing=True):
        model = regressor().set_fit_request(sample_weight=True)
        weighted = model.fit(X, Y, sample_weight=np.arange(1.0, 81.0))
    plain = regressor().fit(X, Y, sample_weight=np.arange(1.0, 81.0))
    np.testing.assert_array_equal(weighted.alpha_, plain.alpha_)
    # No base model is left out, and none is left to scikit-learn.
    engines = {name: name for name, _ in everything("regression")}
    assert weighted.engine_ == plain.engine_ == engines


def test_the_portfolio_follows_the_data():
    names = [name for name, _ in portfolio("regression", Facts(1000, 600))]
    assert names == [name for name, _ in everything("regression")]
    large = [name for name, _ in portfolio("regression", Facts(50_000, 1600))]
    assert set(large) < set(names)
    assert "tree" in large
    assert "boosting" not in dict(portfolio("regression", Facts(100, 60, is_sparse=True)))
    assert "boosting" not in dict(portfolio("classification", Facts(4000, 1600, n_classes=10)))
    assert dict(portfolio("regression", Facts(20, 8)))["knn"].n_neighbors == 4


@pytest.mark.parametrize("changes", [{"max_samples": 8}, {"validation_fraction": 0.9}])
def test_few_training_samples(changes):
    assert np.isfinite(classifier(**changes).fit(XC, YC).predict_proba(XC)).all()


def test_probabilities_alone():
    model = classifier(voting="soft").fit(XC, YC)
    assert [*model.shares_] == ["knn", "tree", "boosting"]


def test_many_rows_are_searched_in_part_and_trained_on_whole(monkeypatch):
    n = 5_500
    X, y, _ = make_friedman(n_samples=n, n_irrelevant=1, random_state=0)
    rows, predict = [], Dispatcher.predict

    def watched(self, assignments, *more):
        rows.extend(len(one.train_rows) for one in assignments)
        return predict(self, assignments, *more)

    monkeypatch.setattr(Dispatcher, "predict", watched)
    model = regressor(max_iter=2, n_estimators=4).fit(X, y)
    # Half of the 4,400 rows beside the validation samples is held out at a time.
    assert max(rows) == AUTO_ROWS
    tree = next(
        one
        for one, name, seen in zip(
            model.estimators_, model.estimators_bases_, model.estimators_features_, strict=True
        )
        if name == "tree" and len(seen)
    )
    assert tree.tree_.n_node_samples[0] > 0.6 * n
    monkeypatch.setattr(type(model), "_search_rows", lambda self, n: None)
    rows.clear()
    regressor(max_iter=1, n_estimators=4).fit(X, y)
    assert max(rows) > AUTO_ROWS


def test_searches_and_pipelines():
    search = GridSearchCV(regressor(), {"n_estimators": [4, 6]}, cv=2).fit(X, Y)
    assert search.best_estimator_.shares_
    pipeline = make_pipeline(FunctionTransformer(), regressor()).fit(X, Y)
    assert np.isfinite(pipeline.predict(X)).all()


def test_it_is_for_ensembles_that_learn_alpha():
    with pytest.raises(ValueError, match="estimator"):
        RandomSubspaceRegressor("auto").fit(X, Y)
    with pytest.raises(ValueError, match=r"'estimator' parameter.*'automatic'"):
        PRSRegressor("automatic").fit(X, Y)

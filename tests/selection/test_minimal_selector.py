"""A minimal set of features: what is kept, what is promised, and on which rows."""

from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.selection import MinimalSelector, ShadowSelector
from randsub.selection.minimal_selector import smallest_as_good
from randsub.selection.nested_sets import random_splits, redundant_last, sizes_of_sets
from randsub.selection.plain_predictor import plain_predictor

# Some base models are left to scikit-learn here, which a fit says.
pytestmark = pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")

TINY = {"n_estimators": 12, "max_iter": 15, "learning_rate": 0.05, "n_batches": 2}
LARGER = {**TINY, "n_estimators": 40, "max_iter": 40}


def data(n=120, n_noise=5):
    """Three features that matter, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3 + n_noise))
    return X, X[:, :3] @ [3.0, 2.0, 1.0] + 0.3 * rng.normal(size=n)


# -- what is selected ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [LinearRegression(), PRSRegressor(LinearRegression(), **flat(**LARGER))]
)
def test_of_copies_one_is_kept_and_all_are_relevant(model):
    X, y = data()
    doubled = np.hstack([X[:, :3], X])
    minimal = MinimalSelector(model, tol=0.005, random_state=0).fit(doubled, y)
    chosen = minimal.get_support(indices=True)
    # One of each pair: columns 0, 1, 2 are those of 3, 4, 5.
    assert sorted(chosen % 3) == [0, 1, 2]
    assert chosen.max() < 6
    assert minimal.score_ > minimal.full_score_ - 0.01
    relevant = ShadowSelector(model, fdr=0.2, random_state=0).fit(doubled, y)
    assert relevant.get_support()[:6].all()


def test_a_smaller_tolerance_keeps_more():
    X, y = data()
    sizes = [
        MinimalSelector(Ridge(), tol=tol, random_state=0).fit(X, y).n_features_
        for tol in (0.0, 0.005, 0.1, 0.5, 10.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[1:] == [3, 2, 1, 1]


def test_classes():
    X, y = make_classification(
        150, 10, n_informative=3, n_redundant=0, class_sep=2.0, random_state=0, shuffle=False
    )
    labels = np.array(["no", "yes"])[y]
    for scoring in (None, "roc_auc"):
        selector = MinimalSelector(LinearDiscriminantAnalysis(), scoring=scoring, random_state=0)
        chosen = selector.fit(X, labels).get_support(indices=True)
        assert set(chosen) <= {0, 1, 2}
        assert selector.score_ > selector.full_score_ - 0.05


def test_groups_of_features_are_selected_whole():
    X, y = data()
    groups = [0, 0, 1, 1, 2, 2, 3, 3]
    model = PRSRegressor(LinearRegression(), feature_groups=groups, **flat(**TINY))
    selector = MinimalSelector(model, tol=0.005, random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [0, 1, 2, 3]
    assert selector.n_features_ == 2
    assert selector.sizes_.tolist() == [1, 2, 3, 4]


def test_base_models_that_encode_labels_see_them():
    X, y = data()
    table = pd.DataFrame(X, columns=[*"abcdefgh"])
    table["g"] = np.where(table["a"] > 0.0, "high", "low")
    columns = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_exclude="number")), remainder="passthrough"
    )
    mix = [("tree", DecisionTreeRegressor()), ("own", make_pipeline(columns, Ridge()))]
    model = PRSRegressor(mix, **flat(**TINY), random_state=0)
    predictor = plain_predictor(model, table, y).fit(table, y)
    assert predictor.score(table, y) > 0.8
    selector = MinimalSelector(model, random_state=0).fit(table, y)
    assert {"b", "c"} <= {*selector.get_feature_names_out()}


# -- on which rows ---------------------------------------------------------------------------------


def test_scores_are_those_of_sklearn_on_rows_that_chose_nothing():
    X, y = data()
    folds = [*KFold(4).split(X)]
    selector = MinimalSelector(LinearRegression(), n_candidates=0, cv=folds, random_state=0).fit(
        X, y
    )
    for fold, (train, test) in enumerate(folds):
        order = np.argsort(-np.abs(LinearRegression().fit(X[train], y[train]).coef_))
        for size, found in zip(selector.sizes_, selector.cv_scores_[fold], strict=True):
            columns = np.sort(order[:size])
            alone = LinearRegression().fit(X[np.ix_(train, columns)], y[train])
            assert found == pytest.approx(alone.score(X[np.ix_(test, columns)], y[test]))
    expected = cross_val_score(LinearRegression(), X, y, cv=folds).mean()
    assert selector.full_score_ == pytest.approx(expected)
    table = selector.table()
    np.testing.assert_allclose(table["score"], selector.cv_scores_.mean(axis=0))
    assert table["n_features"][table["selected"]].tolist() == [selector.n_features_]


def test_the_score_does_not_see_the_fold_that_chose_the_size():
    selector = MinimalSelector(Ridge(), tol=0.0)
    selector.cv_scores_ = np.array([[0.9, 0.1], [0.1, 0.4], [0.2, 0.3]])
    selector.sizes_ = np.array([1, 2])
    selector.order_ = np.array([1, 0])
    selector.feature_groups_ = np.arange(2)
    selector._select()
    # All folds choose one feature; without the first they choose two.
    assert selector.n_features_ == 1
    assert selector.get_support().tolist() == [False, True]
    assert selector.score_ == pytest.approx((0.1 + 0.1 + 0.2) / 3)
    assert selector.full_score_ == pytest.approx(0.8 / 3)


def test_noise_is_not_praised():
    """Chosen and judged on the same rows, the best of sixty columns would look good."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 60)), rng.normal(size=60)
    selector = MinimalSelector(Ridge(), n_candidates=5, random_state=0).fit(X, y)
    assert selector.score_ < 0.1
    assert selector.n_features_ == 1


# -- rows, weights, workers ------------------------------------------------------------------------


def test_samples_of_weight_0_are_not_there():
    X, y = data()
    weight = np.linspace(0.5, 2.0, len(y))
    weight[::3] = 0.0
    kept = weight > 0
    for cv in (3, KFold(3)):
        selector = MinimalSelector(Ridge(), cv=cv, random_state=0)
        found = clone(selector).fit(X, y, sample_weight=weight)
        alone = clone(selector).fit(X[kept], y[kept], weight[kept])
        np.testing.assert_array_equal(found.cv_scores_, alone.cv_scores_)
    pairs = [*KFold(3).split(X)]
    found = MinimalSelector(Ridge(), cv=pairs, random_state=0).fit(X, y, sample_weight=weight)
    assert found.cv_scores_.shape == (3, 8)


def test_weights_change_fits_and_scores():
    X, y = data()
    y = np.where(np.arange(len(y)) % 2, y, -10.0 * X[:, 7])
    weight = np.where(np.arange(len(y)) % 2, 1.0, 1e-6)
    selector = MinimalSelector(Ridge(), tol=0.005, random_state=0)
    assert selector.fit(X, y, weight).get_support(indices=True).tolist() == [0, 1, 2]
    assert selector.fit(X, y).get_support()[7]


def test_groups_of_rows_stay_together():
    X, y = data()
    patients = np.arange(len(y)) // 4
    for split in random_splits(5, np.arange(len(y)), y, False, patients, 0):
        assert not set(patients[split.train]) & set(patients[split.test])
    selector = MinimalSelector(Ridge(), random_state=0).fit(X, y, groups=patients)
    other = MinimalSelector(Ridge(), cv=GroupKFold(5), random_state=0).fit(X, y, groups=patients)
    assert selector.cv_scores_.shape == other.cv_scores_.shape
    # Repeated rows in both parts of a split would make any column of noise look good.
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(40), 3)
    X, y = rng.normal(size=(40, 3))[rows], rng.normal(size=40)[rows]
    model = PRSRegressor(KNeighborsRegressor(1), **flat(**TINY))
    assert MinimalSelector(model, random_state=0).fit(X, y).full_score_ > 0.9
    assert MinimalSelector(model, random_state=0).fit(X, y, groups=rows).full_score_ < 0.3


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_change_nothing(backend):
    X, y = data(40)
    model = PRSRegressor(DecisionTreeRegressor(), **flat(**TINY))
    selector = MinimalSelector(model, cv=2, n_candidates=2, random_state=3)
    alone = clone(selector).fit(X, y)
    with joblib.parallel_config(backend=backend):
        together = clone(selector).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(together.cv_scores_, alone.cv_scores_)
    np.testing.assert_array_equal(together.order_, alone.order_)


@pytest.mark.parametrize("kind", ["numbers", "frame"])
def test_the_portfolio_with_missing_values_and_few_rows(kind):
    X, y = data(24, n_noise=1)
    X[::7, 1] = np.nan
    if kind == "frame":
        X = pd.DataFrame(X, columns=list("abcd"))
        X["town"] = np.where(X["a"] > 0, "Ghent", "Liege")
    model = PRSClassifier("auto", **flat(n_estimators=4, max_iter=2, n_batches=2, n_repeats=1))
    selector = MinimalSelector(model, cv=2, n_candidates=0, random_state=0).fit(X, y > 0)
    assert 1 <= selector.n_features_ <= X.shape[1]
    assert np.isfinite(selector.score_)


# -- tables and predictors -------------------------------------------------------------------------


def test_tables_of_any_kind():
    X, y = data()
    expected = MinimalSelector(Ridge(), random_state=0).fit(X, y)
    names = [f"c{j}" for j in range(8)]
    for table in (
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        X.tolist(),
        sparse.csr_array(X),
    ):
        found = MinimalSelector(Ridge(), random_state=0).fit(table, y)
        np.testing.assert_array_equal(found.get_support(), expected.get_support())
    found = MinimalSelector(Ridge(), random_state=0).fit(pd.DataFrame(X, columns=names), y)
    assert found.get_feature_names_out().tolist() == ["c0", "c1", "c2"]


def test_columns_of_text():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"noise": rng.normal(size=90), "colour": rng.choice(["a", "b", "c"], 90)})
    y = X["colour"].map({"a": 0.0, "b": 5.0, "c": -4.0}) + 0.1 * rng.normal(size=90)
    model = PRSRegressor(LinearRegression(), **flat(**TINY))
    selector = MinimalSelector(model, random_state=0).fit(X, y)
    assert selector.get_feature_names_out().tolist() == ["colour"]
    with pytest.raises(ValueError, match="not numbers: pass a predictor"):
        MinimalSelector(model).fit(pl.from_pandas(X), y)


def test_the_default_predictor_is_the_base_model():
    X, y = data()
    assert isinstance(plain_predictor(Ridge(), X, y), Ridge)
    for base in (KNeighborsRegressor(), DecisionTreeRegressor()):
        model = plain_predictor(PRSRegressor(base), X, y)
        assert model.n_estimators == 1
    assert model.estimator.n_estimators == 10
    # Columns are scaled, as in PRS.
    scaled = plain_predictor(PRSRegressor(KNeighborsRegressor()), X, y)
    factors = np.array([1e6, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1e-3])
    np.testing.assert_allclose(
        clone(scaled).fit(X * factors, y).predict(X * factors), clone(scaled).fit(X, y).predict(X)
    )
    mix = [("knn", KNeighborsClassifier()), ("tree", DecisionTreeClassifier())]
    voting = plain_predictor(PRSClassifier(mix), X, y > 0)
    assert voting.fit(X, y > 0).predict_proba(X).shape == (120, 2)
    assert plain_predictor(PRSRegressor([("a", Ridge()), ("b", Ridge())]), X, y).fit(X, y).predict(
        X
    ).shape == (120,)


def test_another_predictor():
    X, y = data()
    selector = MinimalSelector(Ridge(), predictor=KNeighborsRegressor(3), random_state=0).fit(X, y)
    assert isinstance(selector.predictor_, KNeighborsRegressor)
    assert selector.full_score_ < selector.score_
    pipeline = Pipeline([("selector", selector), ("knn", KNeighborsRegressor(3))]).fit(X, y)
    assert pipeline[-1].n_features_in_ == selector.get_support().sum()


# -- parts -----------------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True)
@given(n=st.integers(1, 50_000))
def test_sizes(n):
    sizes = sizes_of_sets(n)
    assert sizes == sorted(set(sizes))
    assert (sizes[0], sizes[-1]) == (1, n)
    assert len(sizes) <= 12 + 2 * np.log2(n)
    assert all(large <= 1.5 * small for small, large in pairwise(sizes[4:]))


grids = st.integers(2, 6).flatmap(
    lambda folds: st.lists(
        st.lists(st.floats(-1, 1), min_size=folds, max_size=folds), min_size=1, max_size=8
    )
)


@settings(deadline=None, derandomize=True)
@given(columns=grids, tol=st.one_of(st.just("se"), st.floats(0, 2)))
def test_the_smallest_within_the_tolerance(columns, tol):
    scores = np.array(columns).T
    means, chosen = scores.mean(axis=0), smallest_as_good(scores, tol)
    best = means.argmax()
    error = scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    allowed = means[best] - (error if tol == "se" else tol)
    assert means[chosen] >= allowed - 1e-9
    assert (means[:chosen] < allowed).all()


@settings(deadline=None, derandomize=True)
@given(
    worth=st.lists(st.integers(0, 3), min_size=1, max_size=8),
    order=st.randoms(use_true_random=False),
)
def test_features_that_add_something_come_first(worth, order):
    ranking = [*range(len(worth))]
    order.shuffle(ranking)
    found = redundant_last(ranking, lambda some: np.full(3, sum(worth[j] for j in some)))
    assert sorted(found) == sorted(ranking)
    useful = [j for j in ranking if worth[j]]
    if useful:
        assert found == [*useful, *(j for j in ranking if not worth[j])]


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params, change, message",
    [
        ({"tol": -0.1}, {}, "'tol' parameter of MinimalSelector"),
        ({"tol": "two"}, {}, "'tol' parameter of MinimalSelector"),
        ({"cv": 1}, {}, "'cv' parameter of MinimalSelector"),
        ({"n_candidates": -1}, {}, "'n_candidates' parameter of MinimalSelector"),
        ({"estimator": 3}, {}, "'estimator' parameter of MinimalSelector"),
        ({"predictor": 3}, {}, "'predictor' parameter of MinimalSelector"),
        ({"scoring": "beauty"}, {}, "beauty"),
        ({}, {"y": None}, "requires y to be passed"),
        ({}, {"y": np.zeros(7)}, "inconsistent numbers of samples"),
        ({}, {"groups": np.zeros(7)}, "inconsistent numbers of samples"),
        ({}, {"groups": np.zeros(120)}, r"cv=5 gives 0 fold\(s\) of 120 samples"),
        ({}, {"X": np.full((120, 3), np.nan)}, "contains NaN"),
        ({"cv": [(np.arange(60), np.arange(60, 120))]}, {}, r"gives 1 fold\(s\)"),
        (
            {"predictor": KNeighborsRegressor()},
            {"sample_weight": np.ones(120)},
            "fit of KNeighborsRegressor takes none",
        ),
        (
            {"estimator": KNeighborsRegressor()},
            {},
            "feature_importances_",
        ),
        (
            {"estimator": LogisticRegression()},
            {"y": np.arange(120)},
            r"cv=5 gives 0 fold\(s\).*every class needs two samples",
        ),
    ],
)
def test_bad_input(params, change, message):
    X, y = data()
    arguments = {"X": X, "y": y, **change}
    selector = MinimalSelector(**{"estimator": Ridge(), **params})
    with pytest.raises(ValueError, match=message):
        selector.fit(**arguments)
    assert not hasattr(selector, "support_")


def test_not_fitted():
    for ask in (MinimalSelector(Ridge()).get_support, MinimalSelector(Ridge()).table):
        with pytest.raises(NotFittedError):
            ask()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.filterwarnings("ignore::randsub.exceptions.NoFeatureLeftWarning")
@parametrize_with_checks(
    [
        MinimalSelector(Ridge(), cv=2),
        MinimalSelector(
            PRSRegressor(
                DecisionTreeRegressor(), **flat(**{**TINY, "n_estimators": 3, "max_iter": 1})
            ),
            predictor=Ridge(),
            cv=2,
            n_candidates=0,
        ),
    ]
)
def test_sklearn_conventions(estimator, check):
    check(estimator)

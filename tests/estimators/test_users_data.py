"""What users will throw at it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.compose import (
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
)
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.exceptions import BaseModelError, SlowEngineWarning
from randsub.losses import SquaredError
from randsub.penalties import ExpectedSize
from randsub.solver import Solver

QUICK = {"n_estimators": 15, "max_iter": 10, "n_batches": 4, "learning_rate": 0.02}


def regression(n=60, m=6, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, m))
    return X, 2.0 * X[:, 0] - X[:, 1]


def classification(n=60, m=6, seed=0, classes=2):
    X, y = regression(n, m, seed)
    return X, np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))


# -- frames --------------------------------------------------------------------------------------


class Spy(RegressorMixin, BaseEstimator):
    """Remembers what it was given."""

    def fit(self, X, y):
        self.seen_ = X
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        self.asked_ = X
        return np.full(X.shape[0], self.mean_)


@pytest.mark.parametrize("library", [pd, pl])
def test_the_base_model_receives_a_frame_with_its_names_and_types(library):
    X, y = regression()
    names = list("abcdef")
    frame = library.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    model = PRSRegressor(Spy(), **flat(random_state=0, **QUICK)).fit(frame, y)
    assert list(model.feature_names_in_) == names
    model.predict(frame)
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        if not len(columns):
            continue
        for seen in (member.seen_, member.asked_):
            assert isinstance(seen, library.DataFrame)
            assert list(seen.columns) == [names[j] for j in columns]


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_and_arrays_give_the_same_result(library):
    X, y = regression()
    frame = library.DataFrame({f"x{j}": X[:, j] for j in range(6)})
    of_array = PRSRegressor(KNeighborsRegressor(), **flat(random_state=0, **QUICK)).fit(X, y)
    of_frame = PRSRegressor(KNeighborsRegressor(), **flat(random_state=0, **QUICK)).fit(frame, y)
    np.testing.assert_array_equal(of_array.alpha_, of_frame.alpha_)
    np.testing.assert_array_equal(of_array.predict(X), of_frame.predict(frame))


def test_a_frame_with_text_categories_and_dates_reaches_the_base_model():
    X, y = regression(120)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(
        colour=pd.Categorical(rng.choice(["red", "green"], 120)),
        city=rng.choice(["x", "y", "z"], 120),
        flag=rng.random(120) < 0.5,
    )
    y = y + 3.0 * (frame["colour"] == "red")
    base = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(pattern="colour|city")),
            remainder="passthrough",
        ),
        Ridge(),
    )
    model = PRSRegressor(base, **flat(random_state=0, **QUICK | {"max_iter": 60})).fit(frame, y)
    importance = dict(zip(model.feature_names_in_, model.alpha_, strict=True))
    assert min(importance["a"], importance["colour"]) > max(importance["city"], importance["flag"])
    assert model.score(frame, y) > 0.7


def test_category_dtypes_survive_for_histogram_boosting():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(rng.choice(list("abc"), 150)),
            "noise": rng.normal(size=150),
        }
    )
    y = frame["kind"].map({"a": 0.0, "b": 5.0, "c": 0.0}).astype(float).to_numpy()
    base = HistGradientBoostingRegressor(max_iter=20, categorical_features="from_dtype")
    model = PRSRegressor(base, **flat(random_state=0, **QUICK)).fit(frame, y)
    assert model.alpha_[0] > model.alpha_[1]
    # A validation frame that happens to lack a category must not lose the dtype.
    val = frame.loc[frame["kind"] != "c"]
    val = val.assign(kind=val["kind"].cat.remove_unused_categories())
    model.fit(frame, y, X_val=val, y_val=y[val.index])
    assert model.score(frame, y) > 0.5


def test_frame_after_array_and_array_after_frame():
    X, y = regression()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = PRSRegressor(LinearRegression(), **flat(random_state=0, **QUICK)).fit(frame, y)
    with pytest.warns(UserWarning, match="does not have valid feature names") as caught:
        np.testing.assert_array_equal(model.predict(X), model.predict(frame))
    assert len(caught) == 1  # ours, and none from each of the members
    model.fit(X, y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(model.predict(X), model.predict(frame))


def test_frames_whose_columns_have_no_text_names():
    X, y = regression()
    frame = pd.DataFrame(X)
    model = PRSRegressor(LinearRegression(), **flat(random_state=0, **QUICK)).fit(frame, y)
    np.testing.assert_array_equal(model.predict(X), model.predict(frame))
    model.fit(frame, y, X_val=X[:9], y_val=y[:9])


def test_sparse_queries_of_a_model_that_was_fitted_on_dense_data():
    X, y = regression()
    X[np.abs(X) < 0.3] = 0.0
    model = PRSRegressor(Ridge(), **flat(random_state=0, **QUICK))
    for train in (X, pd.DataFrame(X)):
        model.fit(train, y, X_val=sparse.csr_array(X[:9]), y_val=y[:9])
        np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), model.predict(X))
    with pytest.warns(SlowEngineWarning, match=r"does not support sparse matrices.*X\.toarray"):
        model.fit(sparse.csr_array(X), y)
    assert model.engine_ == "generic"
    np.testing.assert_allclose(model.predict(X), model.predict(sparse.csr_array(X)))


def test_types_of_a_mixed_frame():
    X, y = regression()
    frame = pd.DataFrame(
        {
            "single": X[:, 0].astype(np.float32),
            "double": X[:, 1],
            "flag": X[:, 2] > 0,
            "count": np.arange(60) % 4,
            "text": ["a", "b"] * 30,
        }
    )
    for library in (pd, pl):
        given_ = frame
        if library is pl:
            given_ = pl.DataFrame([pl.Series(c, frame[c].to_numpy()) for c in frame])
        model = PRSRegressor(Spy(), **flat(random_state=0, **QUICK)).fit(given_, y)
        types = {}
        for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
            if len(columns):
                types |= dict(zip(member.seen_.columns, member.seen_.dtypes, strict=True))
        assert types["flag"] == given_.dtypes[2 if library is pl else "flag"]
        assert types["text"] == given_.dtypes[4 if library is pl else "text"]
        assert types["single"] == given_.dtypes[0 if library is pl else "single"]
        # Standardised numbers are no whole numbers.
        assert str(types["count"]).lower() == str(types["double"]).lower() == "float64"


def test_new_categories_in_validation_are_named():
    X, y = regression()
    frame = pd.DataFrame({"x": X[:, 0], "kind": pd.Categorical(["a", "b"] * 30)})
    val = frame[:4].assign(kind=pd.Categorical(["a", "z", "a", "b"]))
    with pytest.raises(ValueError, match=r"categories \['z'\] in the column 'kind'"):
        PRSRegressor(HistGradientBoostingRegressor(), **flat(**QUICK)).fit(
            frame, y, X_val=val, y_val=y[:4]
        )


def test_columns_in_another_order_are_refused():
    X, y = regression()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = PRSRegressor(**flat(random_state=0, **QUICK)).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("fedcba")])


# -- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([1.0, 2.0]),
    ],
    ids=["text", "object", "bool", "signed", "float"],
)
@pytest.mark.parametrize("base", [KNeighborsClassifier(), SVC()])
def test_labels_of_any_type(labels, base):
    X, y = classification()
    model = PRSClassifier(base, **flat(random_state=0, **QUICK)).fit(X, labels[y])
    assert model.classes_.dtype == labels.dtype
    assert set(model.predict(X)) <= set(labels)
    assert model.score(X, labels[y]) > 0.8
    # The members learned the user's labels, so class weights by label work too.
    assert set(model.estimators_[0].classes_) <= set(labels)


def test_base_model_parameters_by_label():
    X, y = classification()
    base = LogisticRegression(class_weight={"a": 1.0, "b": 2.0})
    assert (
        PRSClassifier(base, **flat(**{**QUICK, "max_iter": 60}, random_state=0))
        .fit(X, np.array(["a", "b"])[y])
        .score(X, np.array(["a", "b"])[y])
        > 0.7
    )


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_many_classes(voting):
    X, y = classification(200, classes=4)
    model = PRSClassifier(
        DecisionTreeClassifier(max_depth=4), **flat(voting=voting, random_state=0, **QUICK)
    ).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (200, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("base", [KNeighborsClassifier(3), SVC(), LogisticRegression()])
def test_rare_classes(base):
    X, y = classification(60)
    y[0], y[1:3] = 7, 8  # one member, two members
    model = PRSClassifier(base, **flat(random_state=0, **QUICK)).fit(X, y)
    np.testing.assert_array_equal(model.classes_, [0, 1, 7, 8])
    assert model.predict_proba(X).shape == (60, 4)


def test_a_training_part_with_one_class_left():
    X, y = classification(20)
    y[:] = 0
    y[3] = 1
    model = PRSClassifier(SVC(), **flat(random_state=0, validation_fraction=None, **QUICK)).fit(
        X, y
    )
    assert np.isfinite(model.alpha_).all()


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_validation_keeps_its_share_of_many_small_classes():
    X, y = regression(100)
    y = np.arange(100) // 2
    model = PRSClassifier(
        KNeighborsClassifier(1), **flat(random_state=0, **QUICK | {"max_iter": 1})
    )
    sizes = []

    class CountError(SquaredError):
        def value(self, y, f, sample_weight):
            sizes.append(len(y))
            return super().value(y, f, sample_weight)

    model.set_params(loss=CountError()).fit(X, y)
    assert 20 in sizes


def test_classes_that_do_not_count():
    """Labels of samples with weight 0, in training and in validation."""
    X, y = classification()
    model = PRSClassifier(KNeighborsClassifier(), **flat(random_state=0, **QUICK))
    model.fit(X, y, X_val=X[:5], y_val=[0, 1, 9, 0, 1], sample_weight_val=[1, 1, 0, 1, 1])
    np.testing.assert_array_equal(model.classes_, [0, 1])
    # What does not count changes nothing.
    rows = [0, 1, 3, 4]
    same = PRSClassifier(KNeighborsClassifier(), **flat(random_state=0, **QUICK)).fit(
        X, y, X_val=X[rows], y_val=[0, 1, 0, 1]
    )
    np.testing.assert_allclose(model.alpha_, same.alpha_)


def test_base_models_that_are_no_classifiers():
    X, y = classification()
    with pytest.raises(ValueError, match="needs a classifier as base model, got the clusterer"):
        PRSClassifier(KMeans(2), **flat(**QUICK)).fit(X, y)
    with pytest.raises(ValueError, match="needs a regressor as base model, got the outlier"):
        PRSRegressor(IsolationForest(), **flat(**QUICK)).fit(X, y)


class Strange(BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), "apple")


def test_votes_for_classes_that_there_are_not():
    X, y = classification()
    with pytest.raises(BaseModelError, match=r"predicts \['apple'\], which are none of"):
        PRSClassifier(Strange(), **flat(**QUICK)).fit(X, np.array(["no", "yes"])[y])


def test_validation_with_an_unknown_class():
    X, y = classification()
    with pytest.raises(ValueError, match=r"y_val contains the classes \[9\]"):
        PRSClassifier(**flat(**QUICK)).fit(X, y, X_val=X[:3], y_val=[0, 1, 9])


# -- shapes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2])
def test_few_features(m):
    X, y = regression(m=6)
    model = PRSRegressor(**flat(random_state=0, **QUICK)).fit(X[:, :m], y)
    assert model.alpha_.shape == (m,)


@pytest.mark.parametrize("n", [3, 4, 5, 10])
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_few_samples(n, kind):
    X, y = regression(n)
    if kind == "classifier":
        model, y = PRSClassifier(**flat(random_state=0, **QUICK)), np.arange(n) % 2
    else:
        model = PRSRegressor(**flat(random_state=0, **QUICK))
    assert model.fit(X, y).predict(X).shape == (n,)


def test_two_samples_without_validation():
    X, y = regression(2)
    PRSRegressor(**flat(validation_fraction=None, **QUICK)).fit(X, y)
    with pytest.raises(ValueError, match=r"2 sample\(s\)"):
        PRSRegressor(**flat(**QUICK)).fit(X, y)


def test_many_more_features_than_samples():
    X, y = regression(30, 3000)
    model = PRSRegressor(KNeighborsRegressor(), **flat(random_state=0, **QUICK)).fit(X, y)
    assert model.alpha_.shape == (3000,)
    assert np.isfinite(model.predict(X)).all()


def test_constant_columns():
    X, y = regression()
    X[:, 2] = 5.0
    model = PRSRegressor(
        LinearRegression(), **flat(random_state=0, **QUICK | {"max_iter": 40})
    ).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.alpha_[0] > model.alpha_[2]


def test_constant_target():
    X, _ = regression()
    model = PRSRegressor(**flat(random_state=0, **QUICK)).fit(X, np.full(60, 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0)


def test_integers_and_single_precision():
    X, y = regression()
    PRSRegressor(**flat(random_state=0, **QUICK)).fit((10 * X).astype(np.int8), y.astype(int))
    seen = []

    class Type(Spy):
        def fit(self, X, y):
            seen.append(X.dtype)
            return super().fit(X, y)

    PRSRegressor(Type(), **flat(random_state=0, **QUICK)).fit(X.astype(np.float32), y)
    assert set(seen) == {np.dtype(np.float32)}


# -- sparse and missing --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")
@pytest.mark.parametrize(
    "kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.coo_array]
)
def test_sparse(kind):
    X, y = regression(80, 10)
    X[np.abs(X) < 0.5] = 0.0
    dense = PRSRegressor(Ridge(), **flat(random_state=0, standardize=False, **QUICK)).fit(X, y)
    model = PRSRegressor(Ridge(), **flat(random_state=0, standardize=False, **QUICK)).fit(
        kind(X), y
    )
    np.testing.assert_allclose(model.alpha_, dense.alpha_, atol=1e-4)
    np.testing.assert_allclose(model.predict(kind(X)), dense.predict(X), atol=1e-3)


def test_sparse_is_scaled_without_centring():
    X, y = regression(80, 10)
    X[np.abs(X) < 0.5] = 0.0
    X[:, 0] *= 1000.0

    class Sparse(KNeighborsRegressor):
        def fit(self, X, y):
            assert sparse.issparse(X)
            assert X.nnz < 0.8 * np.prod(X.shape)
            assert abs(X).max() < 20.0
            return super().fit(X, y)

    PRSRegressor(Sparse(), **flat(random_state=0, **QUICK)).fit(sparse.csr_array(X), y)


def test_sparse_where_the_base_model_takes_none():
    X, y = regression()
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        PRSRegressor(HistGradientBoostingRegressor(), **flat(**QUICK)).fit(sparse.csr_array(X), y)


@pytest.mark.parametrize(
    "base",
    [
        DecisionTreeRegressor(),
        HistGradientBoostingRegressor(max_iter=5),
        make_pipeline(SimpleImputer(keep_empty_features=True), Ridge()),
    ],
    ids=["tree", "boosting", "imputer"],
)
def test_missing_values_where_the_base_model_takes_them(base):
    X, y = regression(100)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = PRSRegressor(base, **flat(random_state=0, **QUICK)).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(np.isnan(X), np.inf, X), y)


def test_a_column_of_nothing_but_missing_values():
    X, y = regression(100)
    X[:, 2] = np.nan
    model = PRSRegressor(DecisionTreeRegressor(), **flat(random_state=0, **QUICK)).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    "base, expected",
    [
        (make_pipeline(StandardScaler(), Ridge()), False),
        (make_pipeline(StandardScaler(), SimpleImputer(), Ridge()), True),
        (make_pipeline(StandardScaler(), HistGradientBoostingRegressor()), True),
        (make_pipeline(make_pipeline(SimpleImputer()), Ridge()), True),
        (
            make_pipeline(
                make_column_transformer(
                    (SimpleImputer(), make_column_selector()), remainder="drop"
                ),
                Ridge(),
            ),
            True,
        ),
        (
            make_pipeline(
                make_column_transformer(
                    (SimpleImputer(), make_column_selector()), remainder="passthrough"
                ),
                Ridge(),
            ),
            False,
        ),
        (make_pipeline(PolynomialFeatures(), SimpleImputer(), Ridge()), False),
        (make_pipeline(FunctionTransformer(np.nan_to_num), Ridge()), True),
        (GridSearchCV(make_pipeline(SimpleImputer(), Ridge()), {}), True),
        (GridSearchCV(Ridge(), {}), False),
        (TransformedTargetRegressor(make_pipeline(SimpleImputer(), Ridge())), True),
        (
            make_pipeline(
                make_column_transformer(
                    (SimpleImputer(), ["a"]), ("passthrough", ["b"]), remainder="drop"
                ),
                Ridge(),
            ),
            False,
        ),
    ],
)
def test_pipelines_that_take_missing_values(base, expected):
    assert get_tags(PRSRegressor(base)).input_tags.allow_nan is expected


def test_missing_values_where_it_does_not():
    X, y = regression()
    X[3, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        PRSRegressor(KNeighborsRegressor(), **flat(**QUICK)).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        PRSRegressor(KNeighborsRegressor(), **flat(**QUICK)).fit(pd.DataFrame(X), y)


# -- base models ---------------------------------------------------------------------------------


def test_soft_votes_only_where_there_are_probabilities():
    X, y = classification()
    for base, voting in ((KNeighborsClassifier(), "soft"), (LinearSVC(), "hard")):
        model = PRSClassifier(base, **flat(voting=voting, **QUICK)).fit(X, y)
        assert model._engines[0].learner.voting == voting
    with pytest.raises(ValueError, match="predict_proba"):
        PRSClassifier(LinearSVC(), **flat(voting="soft", **QUICK)).fit(X, y)
    votes = (
        PRSClassifier(
            KNeighborsClassifier(),
            **flat(voting="hard", calibrate=False, random_state=0, **QUICK),
        )
        .fit(X, y)
        .predict_proba(X)
    )
    np.testing.assert_allclose(votes * 15, np.round(votes * 15), atol=1e-9)


def test_base_models_of_the_wrong_kind():
    X, y = classification()
    with pytest.raises(ValueError, match="needs a classifier"):
        PRSClassifier(LinearRegression()).fit(X, y)
    with pytest.raises(ValueError, match="needs a regressor"):
        PRSRegressor(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="estimator"):
        PRSRegressor(StandardScaler()).fit(X, y)


def test_random_base_models_get_seeds_of_their_own():
    X, y = regression()
    base = make_pipeline(StandardScaler(), DecisionTreeRegressor(splitter="random"))
    model = PRSRegressor(base, **flat(random_state=0, **QUICK)).fit(X, y)
    seeds = [
        member.get_params()["decisiontreeregressor__random_state"]
        for member, columns in zip(model.estimators_, model.estimators_features_, strict=True)
        if len(columns)
    ]
    assert len(set(seeds)) == len(seeds) > 5
    assert base.get_params()["decisiontreeregressor__random_state"] is None


class Picky(KNeighborsRegressor):
    def fit(self, X, y):
        if "d" in X.columns:
            raise ArithmeticError("cannot stand d")
        return super().fit(X, y)


def test_a_base_model_that_raises_on_some_subsets_is_named_with_features_and_epoch():
    X, y = regression()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    with pytest.raises(
        BaseModelError, match=r"epoch 0 .*'d'.*ArithmeticError: cannot stand d"
    ) as e:
        PRSRegressor(Picky(), **flat(random_state=0, **QUICK)).fit(frame, y)
    assert "d" in e.value.names
    assert 3 in e.value.features
    assert isinstance(e.value.__cause__, ArithmeticError)


class Late(KNeighborsRegressor):
    """Raises after a hundred fits: in the middle of training."""

    calls = 0

    def fit(self, X, y):
        Late.calls += 1
        if Late.calls > 100:
            raise ValueError("enough")
        return super().fit(X, y)


def test_the_epoch_is_that_of_the_refresh():
    X, y = regression()
    Late.calls = 0
    with pytest.raises(BaseModelError, match="enough") as e:
        PRSRegressor(Late(), **flat(random_state=0, solver=Solver(ess_threshold=1.0), **QUICK)).fit(
            X, y
        )
    assert e.value.epoch == 2


class Explodes(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), np.inf)


def test_infinite_predictions_are_found():
    X, y = regression()
    with pytest.raises(BaseModelError, match="NaN or infinite"):
        PRSRegressor(Explodes(), **flat(**QUICK)).fit(X, y)


def test_members_without_features_are_constants():
    X, y = regression()
    model = PRSRegressor(
        KNeighborsRegressor(), **flat(penalty=ExpectedSize(100.0), random_state=0, **QUICK)
    ).fit(X, y)
    constant = [
        m for m, f in zip(model.estimators_, model.estimators_features_, strict=True) if not len(f)
    ]
    assert constant
    assert all(isinstance(m, DummyRegressor) for m in constant)
    X, y = classification()
    y[:35] = 1
    for voting, strategy in (("soft", "prior"), ("hard", "most_frequent")):
        model = PRSClassifier(
            KNeighborsClassifier(), **flat(voting=voting, random_state=0, alpha_init=0.01, **QUICK)
        ).fit(X, y)
        constant = [
            m
            for m, f in zip(model.estimators_, model.estimators_features_, strict=True)
            if not len(f)
        ]
        assert constant
        assert all(isinstance(m, DummyClassifier) and m.strategy == strategy for m in constant)


# -- among scikit-learn's tools ------------------------------------------------------------------


def test_feature_selection_with_base_models_that_have_no_importances():
    X, y = regression(120)
    model = PRSRegressor(KNeighborsRegressor(), **flat(random_state=0, **QUICK | {"max_iter": 60}))
    chosen = SelectFromModel(model, max_features=2, threshold=-np.inf).fit(X, y).get_support()
    np.testing.assert_array_equal(np.flatnonzero(chosen), [0, 1])
    np.testing.assert_array_equal(
        RFE(model, n_features_to_select=2, step=3).fit(X, y).get_support(indices=True), [0, 1]
    )


def test_search_over_nested_parameters():
    X, y = regression()
    grid = {"estimator__n_neighbors": [2, 4], "penalty__lam": [0.0, 0.1]}
    model = PRSRegressor(
        KNeighborsRegressor(), **flat(penalty=ExpectedSize(0.0), random_state=0, **QUICK)
    )
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_validation_in_a_pipeline():
    X, y = classification(90)
    model = make_pipeline(StandardScaler(), PRSClassifier(LogisticRegression(), **flat(**QUICK)))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.7


def test_classification_with_boosting_and_missing_labels_in_batches():
    X, y = classification(40, classes=4)
    base = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=1)
    model = PRSClassifier(base, **flat(random_state=0, **QUICK)).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("loss", ["squared_error", "cross_entropy"])
def test_classifier_losses(loss):
    X, y = classification(90)
    model = PRSClassifier(KNeighborsClassifier(), **flat(loss=loss, random_state=0, **QUICK)).fit(
        X, y
    )
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("loss", ["squared_error", "huber", "poisson"])
def test_regressor_losses(loss):
    X, y = regression(90)
    y = np.round(np.exp(y / 2))
    model = PRSRegressor(KNeighborsRegressor(), **flat(loss=loss, random_state=0, **QUICK)).fit(
        X, y
    )
    assert model.score(X, y) > 0.3

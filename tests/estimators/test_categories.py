"""Columns of categories: encoded, drawn together, and ranked as the columns they are."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingRegressor, VotingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from flat_parameters import flat
from randsub import PRSRegressor, RandomSubspaceRegressor
from randsub.estimators.column_encoding import ColumnEncoder, see_labels
from randsub.exceptions import BaseModelError, ManyCategoriesWarning
from randsub.io import load, save

# Some base models are left to scikit-learn here, which a fit says.
pytestmark = pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")

QUICK = {"n_estimators": 20, "max_iter": 5, "n_batches": 2, "n_revivals": 0, "random_state": 0}


def load_example():
    path = Path(__file__).resolve().parents[2] / "examples" / "groups.py"
    spec = importlib.util.spec_from_file_location("groups_example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def frame(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "b": rng.normal(size=n),
            "kind": pd.Categorical(rng.choice(["p", "q"], n)),
            "flag": rng.random(n) < 0.5,
        }
    )
    return X, X["a"].to_numpy() + 2.0 * (X["colour"] == "red").to_numpy()


def fitted(X, y, base=None, **params):
    return PRSRegressor(
        KNeighborsRegressor() if base is None else base, **flat(**{**QUICK, **params})
    ).fit(X, y)


def test_the_columns_that_matter_come_first():
    example = load_example()
    X, y = example.make_frame()
    model = PRSRegressor(KNeighborsRegressor(), max_iter=400, random_state=0).fit(X[:300], y[:300])
    assert model.feature_importances_.shape == (8,)
    ranked = X.columns[np.argsort(-model.feature_importances_)]
    assert set(ranked[:4]) == set(example.RELEVANT)
    assert model.feature_importances_[np.argsort(-model.feature_importances_)[3]] > 0.3
    assert model.score(X[300:], y[300:]) > 0.7


def test_attributes_are_about_the_columns_of_the_frame():
    X, y = frame()
    model = fitted(X, y)
    assert model.n_features_in_ == 5
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.alpha_.shape == (5,)
    assert model.expected_size_ == pytest.approx(model.alpha_.sum())
    origin = model.column_encoder_.origin_
    np.testing.assert_array_equal(origin, [0, 1, 1, 1, 2, 3, 3, 4])
    assert model.column_encoder_.categories_ == [["blue", "green", "red"], ["p", "q"]]
    for columns, member in zip(model.estimators_features_, model.estimators_, strict=True):
        assert set(columns) <= set(range(5))
        if len(columns):
            assert member.n_features_in_ == np.isin(origin, columns).sum()


def test_it_is_the_same_as_groups_of_indicators():
    X, y = frame()
    model = fitted(X, y)
    encoded = model.column_encoder_.transform(X, model.standardizer_.transform(X))
    by_hand = fitted(encoded, y, feature_groups=model.column_encoder_.origin_, standardize=False)
    np.testing.assert_array_equal(model.alpha_, by_hand.group_alpha_)
    np.testing.assert_array_equal(model.predict(X), by_hand.predict(encoded))


def test_polars_gives_the_same():
    X, y = frame()
    plain = X.astype({"kind": str})
    ours, theirs = fitted(plain, y), fitted(as_polars(plain), y)
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_array_equal(ours.predict(plain), theirs.predict(as_polars(plain)))
    np.testing.assert_array_equal(ours.predict(plain), ours.predict(as_polars(plain)))


def as_polars(frame):
    return pl.DataFrame({name: frame[name].to_list() for name in frame.columns})


def test_unseen_categories_encode_to_zeros():
    X, y = frame()
    model = fitted(X, y)
    strange = X.assign(colour="violet")
    encoded = model.column_encoder_.transform(strange, model.standardizer_.transform(strange))
    assert not encoded[:, 1:4].any()
    assert np.isfinite(model.predict(strange)).all()
    kinds = X.assign(kind=pd.Categorical(["z"] * len(X)))
    assert np.isfinite(model.predict(kinds)).all()
    validated = PRSRegressor(KNeighborsRegressor(), **flat(**QUICK)).fit(X, y, X_val=kinds, y_val=y)
    assert validated.alpha_.shape == (5,)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_category_is_one_of_its_own(missing):
    X, y = frame()
    X["colour"] = X["colour"].astype(object)
    X.loc[:5, "colour"] = missing
    model = fitted(X, y)
    encoded = model.column_encoder_.transform(X, model.standardizer_.transform(X))
    place = model.column_encoder_.categories_[0].index(None)
    np.testing.assert_array_equal(np.flatnonzero(encoded[:, 1 + place]), np.arange(6))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seen=st.lists(
        st.one_of(st.text(max_size=3), st.integers(-3, 3), st.none(), st.booleans()), min_size=1
    ),
    later=st.lists(st.one_of(st.text(max_size=3), st.integers(-3, 3), st.none())),
)
def test_indicators_of_any_values(seen, later):
    def table(values):
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return pd.DataFrame({"x": np.zeros(len(values)), "c": pd.Series(column, dtype=object)})

    encoder = ColumnEncoder(np.array([1])).fit(table(seen), np.arange(len(seen)))
    encoded = encoder.transform(table(seen), table(seen))
    assert (encoded.sum(axis=1) == 1.0).all()
    same = [[(type(a), a) == (type(b), b) for b in seen] for a in seen]
    np.testing.assert_array_equal(encoded @ encoded.T == 1.0, same)
    if later:
        known = [any((type(a), a) == (type(b), b) for b in seen) for a in later]
        np.testing.assert_array_equal(
            encoder.transform(table(later), table(later)).sum(axis=1), known
        )


@pytest.mark.parametrize("kind", ["pandas", "nullable", "polars", "array"])
def test_a_missing_label_in_a_listed_column_of_numbers(kind):
    X, y = frame()
    code = np.arange(60) % 3 + 0.0
    code[:7] = np.nan
    plain = X[["a", "b"]].assign(code=code)
    make = {
        "pandas": lambda table: table,
        "nullable": lambda table: table.assign(code=table["code"].astype("Int64")),
        "polars": lambda table: pl.DataFrame(table.to_dict("list")),
        "array": lambda table: table.to_numpy(),
    }[kind]
    model = fitted(make(plain), y, categorical_features=[2])
    assert model.column_encoder_.categories_ == [[None, 0, 1, 2]]
    text = plain.assign(code=plain["code"].map({0.0: "p", 1.0: "q", 2.0: "r"}))
    expected = fitted(text, y)
    np.testing.assert_array_equal(model.alpha_, expected.alpha_)
    np.testing.assert_array_equal(model.predict(make(plain)), expected.predict(text))
    # Numbers that are missing elsewhere are refused as ever.
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(make(plain.assign(a=np.nan)))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fitted(make(plain.assign(a=np.nan)), y, categorical_features=[2])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fitted(make(plain), y, categorical_features=[])


# -- when nothing is encoded ---------------------------------------------------------------------


def test_models_that_treat_categories_themselves_get_them_as_they_are():
    X, y = frame()
    native = HistGradientBoostingRegressor(max_iter=3, categorical_features="from_dtype")
    categories = X.astype({"colour": "category"})
    assert fitted(categories, y, native).column_encoder_ is None
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), lambda part: part.select_dtypes("object").columns),
        remainder="passthrough",
    )
    pipeline = make_pipeline(encoder, Ridge())
    texts = X[["a", "colour", "b"]].astype({"colour": object})
    assert fitted(texts, y, pipeline).column_encoder_ is None


@pytest.mark.parametrize("kind", ["numbers", "digits", "polars categories", "polars enum"])
def test_numbers_that_are_declared_to_be_categories_are_labels(kind):
    """Month or postcode: their order means nothing."""
    X, _ = frame(n=150)
    code = np.random.default_rng(1).integers(0, 6, 150)
    y = np.array([2.0, -2.0, 1.5, -1.5, 2.5, -2.5])[code] + X["a"].to_numpy()
    plain = X[["a", "b"]].assign(code=[f"n{c}" for c in code])
    digits = code.astype(str).tolist()
    table = {
        "numbers": plain.assign(code=pd.Categorical(code)),
        "digits": plain.assign(code=pd.Categorical(digits)),
        "polars categories": as_polars(plain).with_columns(
            code=pl.Series(digits, dtype=pl.Categorical)
        ),
        "polars enum": as_polars(plain).with_columns(
            code=pl.Series(digits, dtype=pl.Enum([*"012345"]))
        ),
    }[kind]
    model, expected = fitted(table, y), fitted(plain, y)
    np.testing.assert_array_equal(model.column_encoder_.columns, [2])
    np.testing.assert_array_equal(model.alpha_, expected.alpha_)
    np.testing.assert_array_equal(model.predict(table), expected.predict(plain))


@pytest.mark.parametrize("dtype", [str, object])
def test_text_and_objects_that_are_numbers_are_read_so(dtype):
    X, y = frame()
    X = X[["a", "b"]].assign(level=np.arange(len(X)) % 4)
    X["level"] = X["level"].astype(dtype)
    model = fitted(X, y)
    assert model.column_encoder_ is None
    off = fitted(X, y, categorical_features=None)
    np.testing.assert_array_equal(model.alpha_, off.alpha_)
    listed = fitted(X, y, categorical_features="from_dtype")
    np.testing.assert_array_equal(listed.column_encoder_.columns, [2])
    assert len(listed.column_encoder_.origin_) == 6


def test_nothing_is_encoded_where_the_user_says_so():
    X, y = frame()
    with pytest.raises(BaseModelError, match="could not convert"):
        fitted(X, y, categorical_features=None, alpha_init=0.9)


@pytest.mark.parametrize(
    "columns", [[1, 3], [-4, 3], ["colour", "kind"], [False, True] * 2 + [False]]
)
def test_columns_can_be_listed(columns):
    X, y = frame()
    model = fitted(X, y, categorical_features=columns)
    np.testing.assert_array_equal(model.column_encoder_.columns, [1, 3])
    np.testing.assert_array_equal(model.alpha_, fitted(X, y).alpha_)


def test_columns_of_an_array_can_be_listed():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), rng.integers(0, 3, 60)])
    y = X[:, 0] + (X[:, 1] == 1)
    model = fitted(X, y, categorical_features=[1])
    assert model.column_encoder_.categories_ == [[0.0, 1.0, 2.0]]
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    "columns, message",
    [
        (["nothing"], "names the column 'nothing', but X has"),
        ([9], "numbered 0 to 4"),
        ([True, False], "2 truth values, but X has 5"),
        ([[0]], "a list of columns"),
        ("some", "categorical_features"),
    ],
)
def test_columns_that_are_not_there(columns, message):
    X, y = frame()
    with pytest.raises(ValueError, match=message):
        fitted(X, y, categorical_features=columns)


def test_columns_that_are_neither_numbers_nor_categories_are_named():
    X, y = frame()
    X["between"] = pd.interval_range(0, len(X))
    with pytest.raises(ValueError, match=r"'between': 'interval.*neither numbers nor categories"):
        fitted(X, y)


def test_errors_name_the_columns_of_the_frame():
    class Picky(KNeighborsRegressor):
        def fit(self, X, y):
            raise ValueError("no, thanks")

    X, y = frame()
    with pytest.raises(BaseModelError) as caught:
        fitted(X, y, Picky(), alpha_init=0.9, categorical_features="from_dtype")
    assert set(caught.value.names) <= set(X.columns)
    assert len(caught.value.features) == len(set(caught.value.features)) <= 5


@pytest.mark.parametrize("listed", [False, True])
def test_identifiers_are_warned_of(listed):
    X, y = frame(n=120)
    X["name"] = [f"customer {row}" for row in range(120)]
    X["pair"] = [f"pair {row // 2}" for row in range(120)]
    with pytest.warns(ManyCategoriesWarning, match=r"^120 rows .*: {'name': 120}\..* 0\.1 MB"):
        fitted(X, y)
    table, columns = (X.to_numpy(), [1, 3, 5, 6]) if listed else (X, np.array([1, 3, 5, 6]))
    with pytest.warns(ManyCategoriesWarning, match="{5: 100}" if listed else "{'name': 100}"):
        ColumnEncoder(np.asarray(columns)).fit(table, np.arange(100))


def test_only_some_identifiers_are_listed():
    X = pd.DataFrame({f"name {j}": [f"{j} of {row}" for row in range(60)] for j in range(25)})
    with pytest.warns(ManyCategoriesWarning, match=r"'name 19': 60} and 5 more\. "):
        ColumnEncoder(np.arange(25)).fit(X, np.arange(60))


def test_many_categories_of_enough_rows_are_not_warned_of():
    X, _ = frame(n=120)
    X["pair"] = [f"pair {row // 2}" for row in range(120)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = ColumnEncoder(np.array([5])).fit(X, np.arange(120))
        few = ColumnEncoder(np.array([5])).fit(X, np.arange(0, 100, 2))
    assert len(encoder.categories_[0]) == 60
    assert len(few.categories_[0]) == 50


def test_the_same_for_any_number_of_workers():
    X, y = frame()
    one, two = fitted(X, y, n_jobs=1), fitted(X, y, n_jobs=2)
    np.testing.assert_array_equal(one.alpha_, two.alpha_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("base", ["auto", KNeighborsRegressor(), DecisionTreeRegressor()], ids=str)
def test_dates_and_times_are_refused_before_any_work(library, base):
    times = pd.date_range("2020-01-01", periods=30)
    for column in (times, times - times[0], times.tz_localize("UTC")):
        X = pd.DataFrame({"a": np.arange(30.0), "when": column})
        if library == "polars":
            X = pl.from_pandas(X)
        model = PRSRegressor(base, n_estimators=2, max_iter=1, random_state=0)
        with pytest.raises(ValueError, match=r"'when': .*hold dates or times\. Convert them"):
            model.fit(X, np.arange(30.0))
        model.set_params(categorical_features=["when"])
        if base != "auto":
            assert model.fit(X, np.arange(30.0)).column_encoder_.columns.tolist() == [1]


def test_dates_are_for_base_models_that_take_them():
    X = pd.DataFrame({"a": np.arange(30.0), "when": pd.date_range("2020-01-01", periods=30)})
    days = FunctionTransformer(lambda part: np.asarray(part).astype("M8[D]").astype(float))
    choice = make_column_selector(dtype_include="datetime64")
    base = make_pipeline(
        ColumnTransformer([("days", days, choice)], remainder="passthrough"), KNeighborsRegressor(2)
    )
    model = PRSRegressor(base, n_estimators=2, max_iter=1, random_state=0).fit(X, X["a"])
    assert np.isfinite(model.predict(X)).all()


# -- several base models ---------------------------------------------------------------------------


def own_encoder():
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        remainder="passthrough",
        sparse_threshold=0,
    )
    return make_pipeline(columns, Ridge())


MIX = [("knn", KNeighborsRegressor()), ("own", own_encoder()), ("tree", DecisionTreeRegressor())]


def expect_each_to_see_its_own(model):
    """Members by their base model: the pipeline gets the columns that exist, others indicators."""
    encoder = model.column_encoder_
    assert encoder.unused_by == [1]
    for member, seen, base in zip(
        model.estimators_, model.estimators_features_, model.estimators_bases_, strict=True
    ):
        n_seen = len(seen) if base == "own" else int(np.isin(encoder.origin_, seen).sum())
        if len(seen):
            assert member.n_features_in_ == n_seen
            assert hasattr(member, "steps") == (base == "own")
    assert {"own", "knn"} <= set(model.estimators_bases_)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_base_model_of_a_list_sees_what_it_would_see_alone(kind, n_jobs):
    X, y = frame()
    X = X.drop(columns="kind") if kind == "polars" else X
    mix = MIX
    if kind == "polars":
        X = pl.from_pandas(X)
        mix = [MIX[0], ("own", make_pipeline(OneHotEncoder(handle_unknown="ignore"), Ridge()))]
    model = fitted(X, y, mix, n_jobs=n_jobs)
    expect_each_to_see_its_own(model)
    assert model.alpha_.shape == (X.shape[1],)
    answer = model.predict(X)
    parts = np.zeros(len(y))
    for member, seen, base, weight in zip(
        model.estimators_,
        model.estimators_features_,
        model.estimators_bases_,
        model.estimators_weights_,
        strict=True,
    ):
        encoder, scaled = model.column_encoder_, model.standardizer_.transform(X)
        if base == "own" and len(seen):
            part = scaled[:, seen.tolist()] if kind == "polars" else scaled.iloc[:, seen]
        else:
            part = encoder.transform(X, scaled)[:, np.isin(encoder.origin_, seen)]
        constant = np.zeros((len(y), 1)) if not len(seen) else part
        parts += weight * np.ravel(member.predict(constant))
    np.testing.assert_allclose(answer, parts / model.estimators_weights_.sum(), rtol=1e-9)
    again = fitted(X, y, mix, n_jobs=1)
    np.testing.assert_array_equal(again.predict(X), answer)


def test_a_list_is_the_same_as_its_only_base_model_on_a_frame():
    X, y = frame()
    for name, base in MIX:
        alone, listed = fitted(X, y, base), fitted(X, y, [(name, base)])
        np.testing.assert_allclose(listed.alpha_, alone.alpha_, atol=1e-12)
        np.testing.assert_allclose(listed.predict(X), alone.predict(X), rtol=1e-9)


def test_each_sees_its_own_in_validation_data_and_after_loading(tmp_path):
    X, y = frame()
    X_val, y_val = frame(30, seed=1)
    model = PRSRegressor(MIX, **flat(**QUICK)).fit(X, y, X_val=X_val, y_val=y_val)
    expect_each_to_see_its_own(model)
    path = tmp_path / "model.skops"
    save(model, path)
    loaded = load(path)
    np.testing.assert_array_equal(loaded.predict(X_val), model.predict(X_val))


def test_errors_of_either_kind_name_columns_of_the_frame():
    class Refusing(Ridge):
        def predict(self, X):
            raise ValueError("no")

    X, y = frame()
    X = X.drop(columns=["kind", "flag"])
    for refusing in (Refusing(), make_pipeline(own_encoder()[0], Refusing())):
        mix = [("tree", DecisionTreeRegressor()), ("refusing", refusing)]
        with pytest.raises(BaseModelError) as caught:
            fitted(X, y, mix, feature_groups=[[0, 1, 2]])
        assert list(caught.value.names) == ["a", "colour", "b"]


@pytest.mark.parametrize("text", [True, False])
def test_models_that_know_categories_get_them_unless_there_is_text(text):
    X, y = frame()
    X = X if text else X.drop(columns="colour")
    hist = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2)
    model = fitted(X, y, [("knn", KNeighborsRegressor()), ("hist", hist)])
    assert model.column_encoder_.unused_by == ([] if text else [1])
    alone = fitted(X, y, hist)
    assert (alone.column_encoder_ is not None) == text
    assert np.isfinite(alone.predict(X)).all()


def test_what_a_pipeline_begins_with_decides():
    X, y = frame()
    X.loc[3, ["a", "colour"]] = None
    numbers = [
        make_pipeline(SimpleImputer(), KNeighborsRegressor()),
        make_pipeline("passthrough", SimpleImputer(), StandardScaler(), Ridge()),
        make_pipeline(SimpleImputer(strategy="most_frequent"), Ridge()),
    ]
    columns = [
        make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(), Ridge()),
        make_pipeline(FunctionTransformer(pd.get_dummies), SimpleImputer(), Ridge()),
        make_pipeline(own_encoder()[0], SimpleImputer(), Ridge()),
    ]
    for base in numbers:
        assert fitted(X, y, base).column_encoder_.columns.tolist() == [1, 3]
    X = X[["colour", "kind"]].astype("category")
    for base in columns:
        model = PRSRegressor(base, categorical_features="auto", **flat(**QUICK))
        assert model.fit(X, y).column_encoder_ is None


@pytest.mark.parametrize("chosen", ["from_dtype", ["colour", "kind"]])
def test_the_choice_of_a_user_is_for_all_base_models(chosen):
    X, y = frame()
    ridge = make_pipeline(FunctionTransformer(), Ridge())
    mix = [("knn", KNeighborsRegressor()), ("ridge", ridge)]
    with pytest.raises(BaseModelError, match="could not convert string"):
        fitted(X, y, mix)
    model = fitted(X, y, mix, categorical_features=chosen)
    assert model.column_encoder_.unused_by == []


def test_what_is_in_a_meta_estimator_decides():
    X, y = frame()
    numbers = [
        BaggingRegressor(KNeighborsRegressor(), 2),
        GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2),
        VotingRegressor([("ridge", Ridge()), ("tree", DecisionTreeRegressor())]),
        make_pipeline(make_pipeline(SimpleImputer(strategy="most_frequent")), Ridge()),
        RandomSubspaceRegressor(Ridge(), n_estimators=2),
    ]
    for base in numbers:
        assert fitted(X, y, base, max_iter=1).column_encoder_.columns.tolist() == [1, 3]
    for base in (VotingRegressor([("own", own_encoder())]), BaggingRegressor(own_encoder(), 2)):
        mix = [("tree", DecisionTreeRegressor()), ("meta", base)]
        assert see_labels("auto", X, [base for _, base in mix]) == [1]


def test_encoders_that_were_saved_before_serve_all():
    X, y = frame()
    model = fitted(X, y)
    del model.column_encoder_.unused_by
    assert np.isfinite(model.predict(X)).all()


def test_categories_of_polars_validation_data_in_another_order():
    X, y = frame()
    tables = [
        pl.from_pandas(X[["a", "colour"]]).cast({"colour": pl.Enum(names)})
        for names in (["red", "green", "blue"], ["blue", "green", "red", "black"])
    ]
    mix = [MIX[0], ("own", make_pipeline(OneHotEncoder(handle_unknown="ignore"), Ridge()))]
    model = PRSRegressor(mix, **flat(**QUICK))
    same = clone(model).fit(tables[0], y, X_val=tables[0], y_val=y)
    other = clone(model).fit(tables[0], y, X_val=tables[1], y_val=y)
    np.testing.assert_array_equal(other.alpha_, same.alpha_)
    black = tables[1].with_columns(pl.lit("black").cast(tables[1].schema["colour"]).alias("colour"))
    with pytest.raises(ValueError, match="X_val has categories in the column 'colour'"):
        clone(model).fit(tables[0], y, X_val=black, y_val=y)

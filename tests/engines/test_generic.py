"""The engine that takes any estimator: seeds, tables, weights, failures."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import BaggingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

from randsub.engines import GenericEngine, Learner
from randsub.engines.base import set_seeds, thread_counts
from randsub.exceptions import BaseModelError

MASKS = np.array([[1, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)
SEEDS = np.arange(4) + 20


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    return X[:30], X[:30, 0] + 0.5 * rng.normal(size=30), X[30:]


class Spy(RegressorMixin, BaseEstimator):
    """Writes down what it is given; predicts 0."""

    fitted_on: ClassVar[list[Any]] = []
    asked_about: ClassVar[list[Any]] = []
    metadata: ClassVar[list[dict[str, Any]]] = []

    def fit(self, X: Any, y: Any, **params: Any) -> "Spy":
        self.fitted_on.append(X)
        self.metadata.append(params)
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> np.ndarray:
        self.asked_about.append(X)
        return np.zeros(X.shape[0])


@pytest.fixture(autouse=True)
def _forgetful() -> None:
    for seen in (Spy.fitted_on, Spy.asked_about, Spy.metadata):
        seen.clear()


# -- seeds ---------------------------------------------------------------------------------------


def nested() -> Any:
    return make_pipeline(
        PCA(svd_solver="randomized"), BaggingRegressor(ExtraTreeRegressor(), n_estimators=3)
    )


def seeds_in(model: Any) -> dict[str, Any]:
    params = model.get_params(deep=True)
    return {name: value for name, value in params.items() if name.endswith("random_state")}


def test_every_nested_seed_is_set() -> None:
    model = nested()
    assert set(seeds_in(model).values()) == {None}
    set_seeds(model, 7)
    found = seeds_in(model)
    assert set(found) == {
        "pca__random_state",
        "baggingregressor__random_state",
        "baggingregressor__estimator__random_state",
    }
    assert all(type(seed) is int for seed in found.values())
    # Parts of one model are independent of each other.
    assert len(set(found.values())) == 3

    same, other = nested(), nested()
    set_seeds(same, 7)
    set_seeds(other, 8)
    assert seeds_in(same) == found
    assert not set(seeds_in(other).values()) & set(found.values())


def test_a_model_without_randomness_is_left_alone() -> None:
    model = make_pipeline(PCA(), Ridge(random_state=3))
    set_seeds(model, 7)
    assert model.get_params()["ridge__random_state"] != 3
    plain = LinearRegression()
    before = plain.get_params()
    set_seeds(plain, 7)
    assert plain.get_params() == before


class Greedy(RegressorMixin, BaseEstimator):
    """Takes all cores by default, as some libraries do."""

    def __init__(self, num_threads=None):
        self.num_threads = num_threads

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        (Greedy(), {"num_threads": None}),
        (Greedy(num_threads=4), {"num_threads": 4}),
        (Greedy(num_threads=1), {}),
        (make_pipeline(PCA(), Greedy()), {"greedy__num_threads": None}),
        (BaggingRegressor(Greedy(), n_jobs=2), {"n_jobs": 2, "estimator__num_threads": None}),
        # None is one job in scikit-learn, and LogisticRegression(n_jobs=1) warns.
        (LogisticRegression(), {}),
        (RandomForestClassifier(), {}),
        (RandomForestClassifier(n_jobs=-1), {"n_jobs": -1}),
    ],
)
def test_threads_of_base_models(base, expected, data) -> None:
    X, y, _ = data
    assert thread_counts(base) == expected
    engine = GenericEngine(Learner(base, *([np.array([0, 1])] if is_classifier(base) else [])))
    targets = (y > 0).astype(int) if is_classifier(base) else y
    before = base.get_params()
    for model in engine.fit_many(X, targets, MASKS[:2], SEEDS[:2]):
        found = model.get_params()
        assert [found[name] for name in expected] == [1] * len(expected)
    assert base.get_params() == before


@pytest.mark.parametrize("make", [nested, lambda: ExtraTreeRegressor(max_features=1)])
def test_the_seed_decides(make, data) -> None:
    X, y, X_query = data
    engine = GenericEngine(Learner(make()))
    masks = np.ones((4, 4), dtype=bool)
    seeds = np.array([1, 2, 1, 3])
    found = engine.predict_many(X, y, masks, X_query, seeds)
    np.testing.assert_array_equal(found[0], found[2])
    assert (found[0] != found[1]).any()
    assert (found[1] != found[3]).any()
    np.testing.assert_array_equal(engine.predict_many(X, y, masks, X_query, seeds), found)
    models = engine.fit_many(X, y, masks, seeds)
    for model, expected in zip(models, found, strict=True):
        np.testing.assert_array_equal(model.predict(X_query), expected[:, 0])


def test_random_models_are_those_of_a_plain_loop(data) -> None:
    X, y, X_query = data
    labels = (y > 0).astype(int)
    forest = RandomForestClassifier(n_estimators=3)
    engine = GenericEngine(Learner(forest, np.array([0, 1]), "soft"))
    masks, seeds = MASKS[[0, 1, 3]], SEEDS[[0, 1, 3]]
    found = engine.predict_many(X, labels, masks, X_query, seeds)
    for mask, seed, prediction in zip(masks, seeds, found, strict=True):
        model = clone(forest)
        set_seeds(model, seed)
        model.fit(X[:, mask], labels)
        np.testing.assert_array_equal(prediction, model.predict_proba(X_query[:, mask]))


def test_the_base_model_itself_is_never_touched(data) -> None:
    X, y, X_query = data
    base = ExtraTreeRegressor()
    engine = GenericEngine(Learner(base))
    engine.predict_many(X, y, MASKS, X_query, SEEDS)
    models = engine.fit_many(X, y, MASKS, SEEDS)
    assert base.random_state is None
    assert not hasattr(base, "tree_")
    assert len({id(model) for model in [base, *models]}) == 5


# -- constants -----------------------------------------------------------------------------------


def test_constant_models_are_dummies(data) -> None:
    X, y, _ = data
    empty = MASKS[2:3]
    [model] = GenericEngine(Learner(Ridge())).fit_many(X, y, empty, SEEDS[:1])
    assert isinstance(model, DummyRegressor)
    classes = np.array([0, 1])
    for voting in ("soft", "hard"):
        learner = Learner(LogisticRegression(), classes, voting)
        [model] = GenericEngine(learner).fit_many(X, (y > 0).astype(int), empty, SEEDS[:1])
        assert isinstance(model, DummyClassifier)


def test_one_value_is_a_constant_in_classification_only(data) -> None:
    X, _, X_query = data
    flat = np.full(30, 2.5)
    engine = GenericEngine(Learner(Ridge()))
    models = engine.fit_many(X, flat, MASKS, SEEDS)
    assert [type(model) for model in models] == [Ridge, Ridge, DummyRegressor, Ridge]
    found = engine.predict_many(X, flat, MASKS, X_query, SEEDS)
    np.testing.assert_allclose(found, 2.5, rtol=1e-12)


def test_a_constant_does_not_mind_names_or_sparsity() -> None:
    y = np.array(["a"] * 6)
    X = np.arange(12.0).reshape(6, 2)
    learner = Learner(KNeighborsClassifier(1), np.array(["a", "b"]), "soft")
    masks = np.array([[True, False], [False, False]])
    for table in (pd.DataFrame(X, columns=["p", "q"]), sparse.csr_array(X)):
        found = GenericEngine(learner).predict_many(table, y, masks, table, SEEDS[:2])
        np.testing.assert_array_equal(found, np.broadcast_to([1.0, 0.0], (2, 6, 2)))


# -- what the base model is given ----------------------------------------------------------------


def test_weights_are_passed_only_when_asked(data) -> None:
    X, y, X_query = data
    weight = np.linspace(1.0, 2.0, 30)
    for passes, given in [(False, None), (False, weight), (True, None)]:
        engine = GenericEngine(Learner(Spy(), passes_weight=passes))
        engine.predict_many(X, y, MASKS[:1], X_query, SEEDS[:1], given)
    assert Spy.metadata == [{}, {}, {}]
    GenericEngine(Learner(Spy(), passes_weight=True)).predict_many(
        X, y, MASKS[:1], X_query, SEEDS[:1], weight
    )
    assert list(Spy.metadata[3]) == ["sample_weight"]
    assert Spy.metadata[3]["sample_weight"] is weight


def test_metadata_are_passed_on(data) -> None:
    X, y, X_query = data
    weight, params = np.linspace(1.0, 2.0, 30), {"cohort": np.arange(30), "flag": True}
    engine = GenericEngine(Learner(Spy(), passes_weight=True))
    engine.predict_many(X, y, MASKS, X_query, SEEDS, weight, params)
    engine.fit_many(X, y, MASKS, SEEDS, weight, params)
    # The constant models of the empty subset have no use for them.
    assert len(Spy.metadata) == 6
    for seen in Spy.metadata:
        assert set(seen) == {"cohort", "flag", "sample_weight"}
        assert seen["sample_weight"] is weight
        assert seen["cohort"] is params["cohort"]
        assert seen["flag"] is True
    assert set(params) == {"cohort", "flag"}


def pandas_frame(n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "whole": np.arange(n),
            "kind": pd.Categorical(["x", "y"] * (n // 2), categories=["y", "x", "z"]),
            "gap": pd.array([None, *range(n - 1)], dtype="Int64"),
            "truth": np.arange(n) % 2 == 0,
        },
        index=np.arange(n) + 100,
    )


def test_a_pandas_frame_reaches_the_base_model() -> None:
    X, X_query = pandas_frame(8), pandas_frame(4)
    GenericEngine(Learner(Spy())).predict_many(X, np.zeros(8), MASKS, X_query, SEEDS)
    for table, seen in ((X, Spy.fitted_on), (X_query, Spy.asked_about)):
        held = [["whole", "kind", "truth"], ["gap", "truth"], list(X.columns)]
        assert len(seen) == 3
        for names, part in zip(held, seen, strict=True):
            pd.testing.assert_frame_equal(part, table[names])


def test_a_polars_frame_reaches_the_base_model() -> None:
    def frame(n: int) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "whole": np.arange(n, dtype=np.int32),
                "kind": pl.Series(["x", "y"] * (n // 2), dtype=pl.Enum(["y", "x"])),
                "gap": [None, *range(n - 1)],
                "truth": np.arange(n) % 2 == 0,
            }
        )

    X, X_query = frame(8), frame(4)
    GenericEngine(Learner(Spy())).predict_many(X, np.zeros(8), MASKS, X_query, SEEDS)
    for table, seen in ((X, Spy.fitted_on), (X_query, Spy.asked_about)):
        held = [["whole", "kind", "truth"], ["gap", "truth"], table.columns]
        assert len(seen) == 3
        for names, part in zip(held, seen, strict=True):
            assert part.equals(table.select(names))
            assert part.schema == table.select(names).schema


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_a_sparse_matrix_reaches_the_base_model(kind, data) -> None:
    X, y, X_query = data
    X, X_query = np.where(np.abs(X) > 1.0, X, 0.0), np.where(np.abs(X_query) > 1.0, X_query, 0.0)
    GenericEngine(Learner(Spy())).predict_many(kind(X), y, MASKS, kind(X_query), SEEDS)
    for mask, fitted_on, asked_about in zip(
        MASKS[[0, 1, 3]], Spy.fitted_on, Spy.asked_about, strict=True
    ):
        assert type(fitted_on) is type(asked_about) is kind
        np.testing.assert_array_equal(fitted_on.toarray(), X[:, mask])
        np.testing.assert_array_equal(asked_about.toarray(), X_query[:, mask])


def test_a_base_model_that_writes_into_its_input_cannot_reach_ours(data) -> None:
    class Vandal(Spy):
        def fit(self, X: Any, y: Any, **params: Any) -> "Vandal":
            X[:] = -1.0
            return self

        def predict(self, X: Any) -> np.ndarray:
            X[:] = -1.0
            return np.zeros(len(X))

    X, y, X_query = data
    before = X.copy(), X_query.copy()
    GenericEngine(Learner(Vandal())).predict_many(X, y, MASKS, X_query, SEEDS)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(X_query, before[1])


# -- failures ------------------------------------------------------------------------------------


class Picky(RegressorMixin, BaseEstimator):
    """Cannot stand a negative number, in fit or in predict."""

    def __init__(self, in_fit: bool = True, error: type[BaseException] = ValueError) -> None:
        self.in_fit = in_fit
        self.error = error

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Picky":
        if self.in_fit and (X < 0).any():
            raise self.error("a negative number")
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        if not self.in_fit and (X < 0).any():
            raise self.error("a negative number")
        return np.zeros(len(X))


@pytest.fixture
def third_is_bad() -> np.ndarray:
    X = np.ones((6, 4))
    X[:, 2] = -1.0
    return X


@pytest.mark.parametrize("in_fit", [True, False])
def test_a_failure_names_the_columns(in_fit, third_is_bad) -> None:
    X, y = third_is_bad, np.zeros(6)
    engine = GenericEngine(Learner(Picky(in_fit)))
    good = engine.predict_many(X, y, MASKS[[0, 2]], X, SEEDS[:2])
    assert good.shape == (2, 6, 1)
    with pytest.raises(BaseModelError) as caught:
        engine.predict_many(X, y, MASKS, X, SEEDS)
    error = caught.value
    assert error.features == (2, 3)
    assert error.model == repr(Picky(in_fit))
    assert error.reason == "ValueError: a negative number"
    assert isinstance(error.__cause__, ValueError)
    assert all(type(j) is int for j in error.features)
    if in_fit:
        with pytest.raises(BaseModelError) as caught:
            engine.fit_many(X, y, MASKS, SEEDS)
        assert caught.value.features == (2, 3)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("in_fit", [True, False])
def test_what_is_not_the_models_fault_passes_through(in_fit, error, third_is_bad) -> None:
    X = third_is_bad
    with pytest.raises(error) as caught:
        GenericEngine(Learner(Picky(in_fit, error))).predict_many(X, X[:, 0], MASKS, X, SEEDS)
    assert type(caught.value) is error


class Wild(ClassifierMixin, RegressorMixin, BaseEstimator):
    """Predicts some value in the last row."""

    def __init__(self, value: float = np.nan) -> None:
        self.value = value

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Wild":
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        values = np.zeros(len(X))
        values[-1] = self.value
        return values

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([self.predict(X), 1.0 - self.predict(X)])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("classes", [None, np.array([0, 1])], ids=["values", "probabilities"])
def test_a_prediction_that_is_no_number_is_a_failure(classes, value, data) -> None:
    X, y, X_query = data
    labels = (y > 0).astype(int)
    engine = GenericEngine(Learner(Wild(value), classes, "soft"))
    with pytest.raises(BaseModelError, match="NaN or infinite") as caught:
        engine.predict_many(X, labels, MASKS, X_query, SEEDS)
    assert caught.value.features == (0, 1, 3)
    tame = GenericEngine(Learner(Wild(1.0), classes, "soft"))
    assert np.isfinite(tame.predict_many(X, labels, MASKS, X_query, SEEDS)).all()


def test_any_estimator_will_do() -> None:
    assert GenericEngine.is_usable_for(Spy(), None, None, None) is True
    assert GenericEngine.prefers == "processes"


def test_the_number_of_outputs() -> None:
    assert Learner(Spy()).n_outputs == 1
    assert Learner(DecisionTreeClassifier(), np.array(["a", "b", "c"])).n_outputs == 3

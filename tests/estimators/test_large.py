"""Data in files, single precision, and how much memory a fit takes beside them."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Lasso, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from flat_parameters import flat
from randsub import (
    PRSClassifier,
    PRSRegressor,
    RandomSubspaceRegressor,
    RaSERegressor,
    _tables,
)
from randsub.datasets import make_friedman, make_hypercube
from randsub.engines import KNNEngine, SVMEngine, TreeEngine
from randsub.estimators import base as ensembles
from randsub.exceptions import SlowEngineWarning
from randsub.solver import Callback

SETTINGS = {"n_estimators": 10, "max_iter": 6, "n_batches": 2, "random_state": 0}
SMALL = {"n_estimators": 5, "random_state": 0}
MODELS = [
    PRSRegressor(KNeighborsRegressor(), **flat(**SETTINGS)),
    PRSRegressor(DecisionTreeRegressor(max_depth=4), **flat(max_samples=40, **SETTINGS)),
    PRSRegressor(Ridge(), **flat(standardize=False, **SETTINGS)),
    PRSRegressor(Ridge(), **flat(**SETTINGS)),
    PRSRegressor(Lasso(0.01), **flat(n_jobs=2, **SETTINGS)),
    PRSClassifier(SVC(), **flat(**SETTINGS)),
    PRSClassifier(DecisionTreeClassifier(), **flat(categorical_features=[0], **SETTINGS)),
    RandomSubspaceRegressor(KNeighborsRegressor(), **SMALL),
    RaSERegressor(KNeighborsRegressor(), n_candidates=5, **SMALL),
]


def problem(model, n=120):
    make = make_hypercube if isinstance(model, PRSClassifier) else make_friedman
    X, y, _ = make(n_samples=n, n_irrelevant=10, random_state=1)
    if getattr(model, "categorical_features", None) == [0]:
        X[:, 0] = X[:, 0] > np.median(X[:, 0])
    return X, y


def in_file(folder, name, values):
    np.save(folder / f"{name}.npy", values)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


def outcome(model, X, y, **fit_params):
    model = clone(model).fit(X, y, **fit_params)
    found = [model.predict(X), *model.estimators_features_]
    if hasattr(model, "alpha_"):
        found.append(model.alpha_)
    return model, found


def assert_same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


# Linear models in single precision are for scikit-learn.
@pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.estimator}")
def test_a_file_gives_the_same_result_as_an_array(model, dtype, tmp_path):
    X, y = problem(model)
    X = X.astype(dtype)
    expected, arrays = outcome(model, X, y)
    mapped, files = outcome(model, in_file(tmp_path, "X", X), in_file(tmp_path, "y", y))
    assert type(mapped._engines[0]) is type(expected._engines[0])
    assert_same(files, arrays)


def test_a_file_for_validation_too(tmp_path):
    model = MODELS[0]
    X, y = problem(model)
    held = {"X_val": X[80:], "y_val": y[80:]}
    mapped = {"X_val": in_file(tmp_path, "X_val", X[80:]), "y_val": y[80:]}
    weight = np.linspace(0.0, 1.0, 80)
    _, arrays = outcome(model, X[:80], y[:80], sample_weight=weight, **held)
    x_file = in_file(tmp_path, "X", X[:80])
    _, files = outcome(model, x_file, y[:80], sample_weight=weight, **mapped)
    assert_same(files, arrays)


def test_missing_and_huge_values_in_a_file_choose_the_same_engine(tmp_path):
    X, y = problem(MODELS[1])
    for number, strange in enumerate((np.nan, 1e60)):
        changed = X.copy()
        changed[50, 3] = strange
        for standardize in (True, False):
            model = clone(MODELS[1]).set_params(standardize=standardize)
            if strange == 1e60 and not standardize:
                continue  # no tree takes that
            expected, arrays = outcome(model, changed, y)
            mapped, files = outcome(model, in_file(tmp_path, f"X{number}", changed), y)
            assert type(mapped._engines[0]) is type(expected._engines[0])
            assert_same(files, arrays)
    assert isinstance(mapped._engines[0], TreeEngine)


def test_engines_for_single_precision():
    X, y = problem(MODELS[0])
    labels = y > np.median(y)
    engines = {
        KNeighborsRegressor(): KNNEngine,
        DecisionTreeRegressor(): TreeEngine,
    }
    for base, engine in engines.items():
        model = PRSRegressor(base, **flat(**SETTINGS)).fit(X.astype(np.float32), y)
        assert type(model._engines[0]) is engine
    model = PRSClassifier(SVC(), **flat(**SETTINGS)).fit(X.astype(np.float32), labels)
    assert type(model._engines[0]) is SVMEngine
    # scikit-learn solves these in single precision, which no engine of ours reproduces.
    with pytest.warns(SlowEngineWarning, match="double precision only, not in float32"):
        model = PRSRegressor(Ridge(), **flat(**SETTINGS)).fit(X.astype(np.float32), y)
    assert model.engine_ == "generic"


def test_the_engine_is_judged_by_what_a_member_sees():
    X, y, _ = make_hypercube(n_samples=SVMEngine.most_rows + 1, n_irrelevant=3, random_state=1)
    settings = {**SETTINGS, "max_iter": 2, "n_estimators": 4, "max_samples": 60}
    quick = PRSClassifier(SVC(), **flat(**settings)).fit(X, y)
    slow = PRSClassifier(SVC(), **flat(engine="generic", **settings)).fit(X, y)
    assert type(quick._engines[0]) is SVMEngine
    np.testing.assert_allclose(quick.alpha_, slow.alpha_, atol=1e-6)
    with pytest.raises(ValueError, match=r"at most 4000 samples, got up to 4001.*max_samples"):
        PRSClassifier(SVC(), **flat(engine="svm", **{**settings, "max_samples": None})).fit(X, y)


class SeenTypes(DecisionTreeRegressor):
    """A tree that notes which types it was shown."""

    seen: list[np.dtype] = []  # noqa: RUF012

    def fit(self, X, y):
        self.seen.append(np.asarray(X).dtype)
        return super().fit(X, y)

    def predict(self, X):
        self.seen.append(np.asarray(X).dtype)
        return super().predict(X)


@pytest.mark.parametrize("kind", ["array", "file", "pandas", "categories"])
def test_single_precision_reaches_the_base_model(kind, tmp_path):
    X, y = problem(MODELS[0])
    single = X.astype(np.float32)
    names = [f"c{j}" for j in range(X.shape[1])]
    tables = {
        "array": single,
        "file": in_file(tmp_path, "X", single),
        "pandas": pd.DataFrame(single, columns=names),
        "categories": pd.DataFrame(single, columns=names).assign(
            c0=np.where(X[:, 0] > 0.5, "high", "low")
        ),
    }
    SeenTypes.seen.clear()
    model = PRSRegressor(SeenTypes(), **flat(categorical_features="from_dtype", **SETTINGS))
    model.fit(tables[kind], y).predict(tables[kind])
    columns_held = [dtype for dtype in SeenTypes.seen if dtype.kind == "f"]
    assert columns_held
    assert set(columns_held) == {np.dtype(np.float32)}


@pytest.mark.parametrize("kind", ["array", "file", "pandas", "float32"])
def test_predictions_of_large_tables_come_in_portions(kind, tmp_path, monkeypatch):
    X, y = problem(MODELS[0])
    tables = {
        "array": X,
        "file": in_file(tmp_path, "X", X),
        "pandas": pd.DataFrame(X),
        "float32": X.astype(np.float32),
    }
    model = clone(MODELS[0]).fit(X, y)
    at_once = model.predict(tables[kind])
    monkeypatch.setattr(_tables, "WHOLE", 500)
    monkeypatch.setattr(_tables, "PORTION", 100)
    shown = []
    average = ensembles.average_prediction
    monkeypatch.setattr(
        ensembles,
        "average_prediction",
        lambda members, tables, n_jobs: (
            shown.append(tables[0].shape) or average(members, tables, n_jobs)
        ),
    )
    np.testing.assert_array_equal(model.predict(tables[kind]), at_once)
    assert sum(rows for rows, _ in shown) == len(X)
    assert max(rows * columns for rows, columns in shown) <= 100


N, M, MAX_SAMPLES = 60_000, 50, 200


@pytest.fixture(scope="module")
def large():
    """Three million numbers and a target that two columns decide."""
    X = np.random.default_rng(0).random((N, M), dtype=np.float32)
    return X, (X[:, 0] + X[:, 1]).astype(float)


def peak_bytes(work):
    # What traces already has a peak of its own.
    assert not tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["file", "array"])
def test_memory_beside_the_data(kind, large, tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "WHOLE", 2**18)
    monkeypatch.setattr(_tables, "PORTION", 2**16)
    X, y = large
    table = in_file(tmp_path, "X", X) if kind == "file" else X
    model = PRSRegressor(
        DecisionTreeRegressor(), **flat(max_samples=MAX_SAMPLES, **{**SETTINGS, "max_iter": 3})
    )
    # What is loaded and compiled once is no matter of the data.
    model.fit(table, y).predict(table)
    # Targets, weights, and row numbers in a few orders; portions; predictions.
    rows = 10 * 8 * N
    portions = 8 * 8 * 2**16
    copies = 0 if kind == "file" else 1
    assert peak_bytes(lambda: model.fit(table, y)) < copies * X.nbytes + rows + portions
    assert rows + portions < 0.8 * X.nbytes
    # Members look at fewer columns each, a portion of rows at a time.
    assert peak_bytes(lambda: model.predict(table)) < rows + portions
    assert all(tree.tree_.n_node_samples[0] <= MAX_SAMPLES for tree in model.estimators_)


class LastState(Callback):
    """Keeps the state after the last epoch."""

    def on_epoch_end(self, state):
        self.state = state


def test_history_has_numbers_alone():
    X, y = problem(MODELS[0])
    last = LastState()
    clone(MODELS[0]).set_callbacks(last).fit(X, y)
    assert len(last.state.history) == SETTINGS["max_iter"]
    for record in last.state.history:
        assert record.shares == (1.0,)
        assert all(np.ndim(value) == 0 for value in record._replace(shares=0.0))

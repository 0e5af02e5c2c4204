"""Tables of many columns, of which an engine is shown those that some mask holds."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from randsub import PRSRegressor
from randsub._masks import as_sparse
from randsub.engines import (
    Engine,
    GenericEngine,
    KNNEngine,
    Learner,
    LinearAndBayesEngine,
    SVMEngine,
    TreeEngine,
)
from randsub.exceptions import BaseModelError
from randsub.parallel import Assignment, Data, Dispatcher
from randsub.parallel import assignment as assignment_module
from randsub.parallel.assignment import NARROW

N, M = 40, NARROW + 12
HELD = np.array([2, 3, 17, 40, 55, 61])

KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy": np.asarray,
    "single": lambda X: X.astype(np.float32),
    "pandas": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "polars": lambda X: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]),
    "sparse": sparse.csr_array,
}


@pytest.fixture(name="X")
def wide_table() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, M))


def assignment(X: np.ndarray, masks: np.ndarray) -> Assignment:
    return Assignment(
        y=X[:, 3] + X[:, 55],
        train_rows=np.arange(5, N),
        query_rows=np.array([4, 0]),
        val_rows=np.array([1, 3, 9]),
        masks=masks,
        seeds=np.arange(len(masks)) + 7,
    )


def some_masks(n_masks: int = 6) -> np.ndarray:
    """Masks that hold a few columns, the first of them none."""
    masks = np.zeros((n_masks, M), dtype=bool)
    masks[:, HELD] = np.random.default_rng(1).random((n_masks, len(HELD))) < 0.6
    masks[0] = False
    masks[1, HELD] = True
    return masks


class Watching(GenericEngine):
    """Notes the columns that it is shown."""

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner)
        self.shown: list[Any] = []

    def predict_many(self, X_train: Any, y_train: Any, masks: Any, X_query: Any, *args: Any) -> Any:
        self.shown.append((X_train, masks, X_query))
        return super().predict_many(X_train, y_train, masks, X_query, *args)

    def fit_many(self, X: Any, y: Any, masks: Any, *args: Any) -> Any:
        self.shown.append((X, masks))
        return super().fit_many(X, y, masks, *args)


@pytest.mark.parametrize("kind", KINDS)
def test_only_columns_that_are_held_are_shown(kind, X) -> None:
    table = KINDS[kind](X)
    engine = Watching(Learner(ExtraTreeRegressor()))
    dispatcher = Dispatcher(engine, Data(table, table, None, {}))
    work = assignment(X, some_masks())
    dispatcher.predict([work])
    dispatcher.fit([work])
    (shown, masks, query), (shown_to_fit, masks_of_fit) = engine.shown
    for seen, rows in [
        (shown, work.train_rows),
        (shown_to_fit, work.train_rows),
        (query, np.concatenate([work.query_rows, work.val_rows])),
    ]:
        assert type(seen) is type(table)
        seen = seen.toarray() if sparse.issparse(seen) else np.asarray(seen)
        np.testing.assert_allclose(seen, X[np.ix_(rows, HELD)], rtol=1e-6)
    for seen in (masks, masks_of_fit):
        np.testing.assert_array_equal(seen, work.masks[:, HELD])


@pytest.mark.parametrize(("n_columns", "shown"), [(0, 0), (1, 1)])
def test_a_narrow_table_is_shown_as_it_is(n_columns, shown, X) -> None:
    """At the limit as it is, beyond it not."""
    narrow = X[:, : NARROW + n_columns]
    engine = Watching(Learner(Ridge()))
    masks = np.zeros((1, narrow.shape[1]), dtype=bool)
    masks[0, :5] = True
    Dispatcher(engine, Data(narrow, narrow, None, {})).fit(
        [Assignment(X[:, 0], np.arange(N), np.arange(0), np.arange(0), masks, np.arange(1))]
    )
    assert engine.shown[0][0].shape[1] == (5 if shown else NARROW)


MODELS: list[tuple[type[Engine], Any]] = [
    (GenericEngine, ExtraTreeRegressor(max_depth=4)),
    (GenericEngine, Ridge()),
    (KNNEngine, KNeighborsRegressor(3)),
    (TreeEngine, DecisionTreeRegressor()),
    (SVMEngine, SVR()),
    (LinearAndBayesEngine, Ridge()),
    (LinearAndBayesEngine, LinearRegression()),
]


@pytest.mark.parametrize(
    ("kind", "engine", "base"),
    [
        pytest.param(kind, engine, base, id=f"{kind}-{engine.__name__}-{type(base).__name__}")
        for engine, base in MODELS
        for kind in KINDS
        if engine is GenericEngine or kind != "sparse"
    ],
)
def test_what_is_not_shown_makes_no_difference(kind, engine, base, X, monkeypatch) -> None:
    table = KINDS[kind](X)
    data = Data(table, table, None, {})
    work = [assignment(X, some_masks()), assignment(X, some_masks()[:1])]
    found, models = [], []
    for narrow in (NARROW, 10**9):
        monkeypatch.setattr(assignment_module, "NARROW", narrow)
        dispatcher = Dispatcher(engine(Learner(base)), data)
        found.append(dispatcher.predict(work))
        models.append(dispatcher.fit(work))
    for few, all_columns in zip(*found, strict=True):
        np.testing.assert_array_equal(few, all_columns)
    assert [len(part) for part in found[0]] == [6, 1]
    # The empty subset is a constant, all others are not.
    assert np.ptp(found[0][0][1]) > 0.0
    for mask, few, all_columns in zip(work[0].masks, models[0][0], models[1][0], strict=True):
        assert type(few) is type(all_columns)
        part = X[:, np.flatnonzero(mask)]
        if few.__class__.__module__ == "sklearn.dummy":
            continue
        if kind in ("pandas", "polars"):
            part = pd.DataFrame(part, columns=few.feature_names_in_)
            assert list(few.feature_names_in_) == [f"c{j}" for j in np.flatnonzero(mask)]
        np.testing.assert_array_equal(few.predict(part), all_columns.predict(part))


@pytest.mark.parametrize("kind", KINDS)
def test_where_no_mask_holds_anything_the_answer_is_the_mean(kind, X) -> None:
    table = KINDS[kind](X)
    work = assignment(X, np.zeros((2, M), dtype=bool))
    [found] = Dispatcher(GenericEngine(Learner(Ridge())), Data(table, table, None, {})).predict(
        [work]
    )
    np.testing.assert_allclose(found, np.full((2, 5, 1), work.y[work.train_rows].mean()))


# -- failures ------------------------------------------------------------------------------------


def workers(where: str) -> tuple[int, AbstractContextManager[Any]]:
    if where == "serial":
        return 1, parallel_config()
    return 2, parallel_config(backend={"threads": "threading", "processes": "loky"}[where])


@pytest.mark.parametrize("where", ["serial", "threads", "processes"])
@pytest.mark.parametrize(
    "engine", [GenericEngine, LinearAndBayesEngine], ids=["generic", "compiled"]
)
@pytest.mark.parametrize("what", ["predict", "fit"])
def test_a_failure_names_the_columns_of_the_whole_table(where, engine, what, X) -> None:
    X[7, 55] = np.nan  # a row to train on
    masks = np.zeros((6, M), dtype=bool)
    masks[:, [3, 17]] = True
    masks[4, [40, 55]] = True
    n_jobs, config = workers(where)
    dispatcher = Dispatcher(engine(Learner(Ridge())), Data(X, X, None, {}), n_jobs)
    work = assignment(np.nan_to_num(X), masks)
    with config, pytest.raises(BaseModelError, match="NaN") as caught:
        getattr(dispatcher, what)([work])
    error = caught.value
    assert error.features == (3, 17, 40, 55)
    assert all(type(j) is int for j in error.features)
    assert error.model == "Ridge()"
    # From workers of its own joblib brings the story as text.
    if where == "serial" or (where == "threads" and engine is LinearAndBayesEngine):
        assert isinstance(error.__cause__, ValueError)


@pytest.mark.parametrize("where", ["serial", "threads", "processes"])
def test_a_failure_to_answer_names_them_too(where, X) -> None:
    y, X_val = X[:, 3] + X[:, 55], X.copy()
    X_val[3, 61] = np.inf
    masks = np.zeros((4, M), dtype=bool)
    masks[:, 3] = True
    masks[2, 61] = True
    n_jobs, config = workers(where)
    dispatcher = Dispatcher(GenericEngine(Learner(Ridge())), Data(X, X_val, None, {}), n_jobs)
    work = Assignment(y, np.arange(30), np.arange(30, N), np.arange(9), masks, np.arange(4))
    with config, pytest.raises(BaseModelError, match="infinity") as caught:
        dispatcher.predict([work])
    assert caught.value.features == (3, 61)


class Picky(LinearRegression):
    """Does not learn from a column that is far from 0."""

    def fit(self, X: Any, y: Any) -> "Picky":
        if np.abs(np.asarray(X)).max() > 100.0:
            raise ValueError("too large")
        return super().fit(X, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("named", [False, True])
def test_users_see_names_and_numbers_of_their_own_table(n_jobs, named, X) -> None:
    X[:, 58] += 1000.0
    table: Any = pd.DataFrame(X, columns=[f"gene {j}" for j in range(M)]) if named else X
    alpha = np.full(M, 0.01)
    alpha[58] = 0.9
    model = PRSRegressor(
        Picky(), n_estimators=8, max_iter=2, alpha_init=alpha, standardize=False, n_jobs=n_jobs
    )
    with (
        parallel_config(backend="threading"),
        pytest.raises(BaseModelError, match="too large") as caught,
    ):
        model.set_params(random_state=0).fit(table, X[:, 0])
    assert 58 in caught.value.features
    if named:
        assert caught.value.names == tuple(f"gene {j}" for j in caught.value.features)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n_masks=st.integers(0, 6),
    n_columns=st.integers(1, 3 * NARROW),
    density=st.sampled_from([0.0, 0.03, 0.5, 1.0]),
    seed=st.integers(0, 1000),
)
def test_columns_that_are_shown(n_masks, n_columns, density, seed) -> None:
    """Ascending, and masks over them, also where sparse rows are in no order."""
    rng = np.random.default_rng(seed)
    masks = rng.random((n_masks, n_columns)) < density
    rows = as_sparse(masks)
    disordered = sparse.csr_array(
        (rows.data[::-1], rows.indices[::-1], (rows.nnz - rows.indptr)[::-1]), rows.shape
    )
    for given_rows, expected in ((rows, masks), (as_sparse(disordered), masks[::-1])):
        columns, dense = assignment_module.shown(given_rows)
        held = np.flatnonzero(masks.any(axis=0)) if n_columns > NARROW else np.arange(n_columns)
        np.testing.assert_array_equal(columns, held)
        assert dense.dtype == bool
        np.testing.assert_array_equal(dense, expected[:, held])

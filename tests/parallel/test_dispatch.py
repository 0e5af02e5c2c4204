"""Where the work runs changes the time, never the result."""

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from randsub.engines import Engine, GenericEngine, KNNEngine, Learner
from randsub.exceptions import BaseModelError, BaseModelTimeoutError
from randsub.parallel import (
    Assignment,
    Data,
    Dispatcher,
    Member,
    average_prediction,
    blas_threads,
    dispatch,
)
from randsub.parallel import piece as piece_module

N, N_VAL, M = 40, 9, 5


@pytest.fixture
def data() -> Data:
    rng = np.random.default_rng(0)
    return Data(
        X=rng.normal(size=(N, M)),
        X_val=rng.normal(size=(N_VAL, M)),
        sample_weight=rng.uniform(0.5, 2.0, N),
        fit_params={},
    )


@pytest.fixture
def work(data) -> list[Assignment]:
    """Two batches, one without masks, and one for another target."""
    rng = np.random.default_rng(1)
    y = data.X[:, 0] + rng.normal(size=N)
    rows = rng.permutation(N)
    return [
        Assignment(
            y=target,
            train_rows=np.sort(rows[cut:]),
            query_rows=np.sort(rows[:cut]),
            val_rows=val_rows,
            masks=rng.random((n_masks, M)) < 0.5,
            seeds=rng.integers(1000, size=n_masks),
        )
        for target, cut, val_rows, n_masks in [
            (y, 10, np.array([4, 1]), 7),
            (y, 12, np.array([], dtype=int), 0),
            (-(y**2), 5, np.arange(N_VAL), 4),
        ]
    ]


LEARNER = Learner(ExtraTreeRegressor(max_depth=3), passes_weight=True)


def plainly(data: Data, work: list[Assignment]) -> list[np.ndarray]:
    """What the engine says to each assignment, rows cut out by hand."""
    engine = GenericEngine(LEARNER)
    return [
        engine.predict_many(
            data.X[a.train_rows],
            a.y[a.train_rows],
            a.masks,
            np.concatenate([data.X[a.query_rows], data.X_val[a.val_rows]]),
            a.seeds,
            data.sample_weight[a.train_rows],
        )
        for a in work
    ]


def assert_all_equal(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


WORKERS = [
    pytest.param(None, None, id="default"),
    pytest.param("threading", 1, id="one"),
    pytest.param("threading", 2, id="threads"),
    pytest.param("loky", 2, id="processes"),
]


@pytest.mark.parametrize(("backend", "n_jobs"), WORKERS)
def test_workers_do_not_change_the_predictions(backend, n_jobs, data, work) -> None:
    expected = plainly(data, work)
    dispatcher = Dispatcher(GenericEngine(LEARNER), data, n_jobs)
    with parallel_config(backend=backend) if backend else parallel_config():
        # The second time tasks are cut by the time that a model took.
        for _ in range(2):
            assert_all_equal(dispatcher.predict(work), expected)
    assert [len(answer) for answer in expected] == [7, 0, 4]
    assert expected[1].shape == (0, 12, 1)
    assert expected[2].shape == (4, 5 + N_VAL, 1)


@pytest.mark.parametrize(("backend", "n_jobs"), WORKERS)
def test_workers_do_not_change_the_models(backend, n_jobs, data, work) -> None:
    expected = plainly(data, work)
    dispatcher = Dispatcher(GenericEngine(LEARNER), data, n_jobs)
    with parallel_config(backend=backend) if backend else parallel_config():
        models = dispatcher.fit(work)
    assert [len(part) for part in models] == [7, 0, 4]
    for a, part, answers in zip(work, models, expected, strict=True):
        X = np.concatenate([data.X[a.query_rows], data.X_val[a.val_rows]])
        for model, mask, answer in zip(part, a.masks, answers, strict=True):
            np.testing.assert_array_equal(model.predict(X[:, mask]), answer[:, 0])


def test_the_configuration_decides_over_the_number_of_workers(data, work) -> None:
    engine = CountingEngine(LEARNER)
    with parallel_config(backend="threading", n_jobs=2):
        found = Dispatcher(engine, data).predict(work)
    assert_all_equal(found, plainly(data, work))
    # Seven models for two workers: had there been one, it would have got all of them at once.
    assert max(engine.sizes) == 3


class CountingEngine(GenericEngine):
    """Notes the size of each task and what native threads it has."""

    prefers: ClassVar[Any] = "threads"

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner)
        self.sizes: list[int] = []
        self.pools: list[tuple[list[int], list[int]]] = []

    def predict_many(self, X_train, y_train, masks, *args: Any, **kwargs: Any) -> np.ndarray:
        self.sizes.append(len(masks))
        self.pools.append((pool_sizes("blas"), pool_sizes("openmp")))
        return super().predict_many(X_train, y_train, masks, *args, **kwargs)


@pytest.mark.parametrize(
    ("seconds", "worth", "sizes"),
    [
        (1e-12, 0.0, [1] * 11),
        # Whole assignments would do, but one of two threads would get more than the other.
        (1e12, 0.0, [3, 4, 4]),
        (1e12, 1e12, [4, 7]),
    ],
)
def test_the_size_of_a_task_does_not_change_the_result(
    seconds, worth, sizes, data, work, monkeypatch
) -> None:
    monkeypatch.setattr(dispatch, "SECONDS_PER_TASK", seconds)
    monkeypatch.setattr(dispatch, "SECONDS_WORTH_SHARING", worth)
    engine = CountingEngine(LEARNER)
    dispatcher = Dispatcher(engine, data, n_jobs=2)
    expected = plainly(data, work)
    assert_all_equal(dispatcher.predict(work), expected)
    # Nothing is known about the time yet: a share for each worker.
    assert sorted(engine.sizes) == [1, 1, 3, 3, 3]
    engine.sizes.clear()
    assert_all_equal(dispatcher.predict(work), expected)
    assert sorted(engine.sizes) == sizes


class DeviceEngine(CountingEngine):
    on_device: ClassVar[bool] = True

    def predict_many(self, X_train, y_train, masks, X_query, *args: Any) -> np.ndarray:
        return super().predict_many(X_train.table(), y_train, masks, X_query.table(), *args)


@pytest.mark.parametrize(
    ("kind", "sizes"), [(CountingEngine, [3, 4, 7, 7, 7, 7]), (DeviceEngine, [7, 7, 7, 7, 7])]
)
def test_only_as_much_is_cut_as_two_threads_need_to_get_the_same_share(
    kind, sizes, data, work, monkeypatch
) -> None:
    monkeypatch.setattr(dispatch, "SECONDS_PER_TASK", 1e12)
    monkeypatch.setattr(dispatch, "SECONDS_WORTH_SHARING", 0.0)
    # On a device the last bit may depend on what is trained together: nothing is cut by time.
    engine = kind(LEARNER)
    dispatcher = Dispatcher(engine, data, n_jobs=2)
    five = [work[0]] * 5
    first = dispatcher.predict(five)
    engine.sizes.clear()
    assert_all_equal(dispatcher.predict(five), first)
    assert sorted(engine.sizes) == sizes


def test_one_worker_gets_whole_assignments(data, work, monkeypatch) -> None:
    monkeypatch.setattr(dispatch, "SECONDS_PER_TASK", 1e-12)
    engine = CountingEngine(LEARNER)
    dispatcher = Dispatcher(engine, data, n_jobs=1)
    dispatcher.predict(work)
    dispatcher.predict(work)
    assert engine.sizes == [7, 4, 7, 4]


def test_nothing_to_do(data, work) -> None:
    dispatcher = Dispatcher(GenericEngine(LEARNER), data, n_jobs=2)
    assert dispatcher.predict([]) == []
    assert dispatcher.fit([]) == []
    [only] = dispatcher.predict([work[1]])
    assert only.shape == (0, 12, 1)
    assert dispatcher.fit([work[1]]) == [[]]
    # That taught it nothing about the time a model takes.
    assert_all_equal(dispatcher.predict(work), plainly(data, work))


def test_an_assignment_in_pieces(work) -> None:
    pieces = list(work[0].pieces(number=2, size=3))
    assert [len(piece.masks) for piece in pieces] == [3, 3, 1]
    np.testing.assert_array_equal(np.concatenate([p.masks for p in pieces]), work[0].masks)
    np.testing.assert_array_equal(np.concatenate([p.seeds for p in pieces]), work[0].seeds)
    assert {piece.number for piece in pieces} == {2}
    for piece in pieces:
        np.testing.assert_array_equal(piece.columns, np.arange(M))
    assert list(work[1].pieces(0, 3)) == []
    assert [a.n_queries for a in work] == [12, 12, 5 + N_VAL]


@pytest.mark.parametrize(("backend", "n_jobs"), WORKERS)
def test_a_failure_comes_back_from_any_worker(backend, n_jobs, work, data) -> None:
    X = data.X.copy()
    X[:, 3] = np.nan
    dispatcher = Dispatcher(GenericEngine(Learner(Ridge())), Data(X, data.X_val, None, {}), n_jobs)
    masks = np.zeros((4, M), dtype=bool)
    masks[:, 1] = True
    masks[2, 3] = True
    bad = Assignment(work[0].y, np.arange(30), np.arange(30, N), np.arange(3), masks, np.arange(4))
    with (
        parallel_config(backend=backend) if backend else parallel_config(),
        pytest.raises(BaseModelError, match="contains NaN") as caught,
    ):
        dispatcher.predict([bad])
    assert caught.value.features == (1, 3)
    assert caught.value.model == "Ridge()"
    located = caught.value.located(list("abcde"), 3)
    assert located.names == ("b", "d")


# -- the data ------------------------------------------------------------------------------------


class Spy(LinearRegression):
    seen: ClassVar[list[tuple[Any, dict[str, Any]]]] = []

    def fit(self, X: Any, y: Any, **params: Any) -> "Spy":
        self.seen.append((X, params))
        return self

    def predict(self, X: Any) -> np.ndarray:
        self.seen.append((X, {}))
        return np.zeros(X.shape[0])


@pytest.fixture
def spied() -> Iterator[list[tuple[Any, dict[str, Any]]]]:
    Spy.seen.clear()
    yield Spy.seen
    Spy.seen.clear()


def test_weights_and_metadata_are_cut_with_the_rows(spied) -> None:
    X = np.arange(12.0).reshape(6, 2)
    params = {"cohort": np.arange(6) * 10, "names": list("abcdef"), "flag": "yes"}
    data = Data(X, X, np.arange(6) + 0.5, params)
    rows = np.array([1, 2, 5])
    one = Assignment(
        np.arange(6), rows, np.array([0, 3]), rows[:0], np.ones((1, 2), dtype=bool), np.arange(1)
    )
    Dispatcher(GenericEngine(Learner(Spy(), passes_weight=True)), data).predict([one])
    (fitted_on, seen), (asked_about, _) = spied
    np.testing.assert_array_equal(fitted_on, X[rows])
    np.testing.assert_array_equal(asked_about, X[[0, 3]])
    np.testing.assert_array_equal(seen["sample_weight"], [1.5, 2.5, 5.5])
    np.testing.assert_array_equal(seen["cohort"], [10, 20, 50])
    assert list(seen["names"]) == ["b", "c", "f"]
    assert seen["flag"] == "yes"


def frames(library: str) -> tuple[Any, Any]:
    columns = {"a": [1, 2, 3, 4], "b": ["x", "y", "x", "y"], "c": [True, False, True, True]}
    above = {"a": [7, 8, 9], "b": ["y", "x", "x"], "c": [False, False, True]}
    if library == "pandas":
        dtypes = {"a": "int32", "b": "category", "c": "boolean"}
        return pd.DataFrame(columns).astype(dtypes), pd.DataFrame(above).astype(dtypes)
    schema = {"a": pl.Int32, "b": pl.Enum(["x", "y"]), "c": pl.Boolean}
    return pl.DataFrame(columns, schema=schema), pl.DataFrame(above, schema=schema)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_reach_the_base_model_with_names_and_dtypes(library, spied) -> None:
    X, X_val = frames(library)
    assignment = Assignment(
        y=np.zeros(4),
        train_rows=np.array([0, 1, 3]),
        query_rows=np.array([2]),
        val_rows=np.array([2, 0]),
        masks=np.array([[True, False, True], [False, True, False]]),
        seeds=np.arange(2),
    )
    Dispatcher(GenericEngine(Learner(Spy())), Data(X, X_val, None, {})).predict([assignment])
    tables = [table for table, _ in spied]
    for table, names, n_rows in zip(
        tables, [["a", "c"], ["a", "c"], ["b"], ["b"]], [3, 3, 3, 3], strict=True
    ):
        assert type(table) is type(X)
        assert list(table.columns) == names
        assert list(table.dtypes) == list(X[names].dtypes)
        assert len(table) == n_rows
    # Held-out rows, then validation rows in the order asked for.
    assert [list(table["a"]) for table in tables[:2]] == [[1, 2, 4], [3, 9, 7]]
    assert [list(table["b"]) for table in tables[2:]] == [["x", "y", "y"], ["x", "x", "y"]]


def test_a_sparse_matrix_stays_sparse(spied, data, work) -> None:
    X = sparse.csr_array(data.X)
    dispatcher = Dispatcher(GenericEngine(Learner(Spy())), Data(X, X, None, {}))
    whole = Assignment(
        work[0].y, np.arange(30), np.arange(30, 40), np.array([3, 1]), np.ones((1, M), bool), [0]
    )
    dispatcher.predict([whole])
    (fitted_on, _), (asked_about, _) = spied
    assert isinstance(fitted_on, sparse.csr_array)
    assert isinstance(asked_about, sparse.csr_array)
    np.testing.assert_array_equal(asked_about.toarray(), data.X[[*range(30, 40), 3, 1]])


# -- several base models ---------------------------------------------------------------------------


def engines() -> list[Engine]:
    """Two for processes, one of them the last, and one for threads."""
    return [
        GenericEngine(LEARNER),
        KNNEngine(Learner(KNeighborsRegressor(3))),
        GenericEngine(Learner(Ridge(), passes_weight=True)),
    ]


@pytest.fixture
def mixed_work(work) -> list[Assignment]:
    """Base models in no order; one of them has nothing to do in one place."""
    return [
        replace(work[n], base=base, seeds=work[n].seeds + base)
        for n, base in [(0, 2), (2, 0), (1, 1), (0, 1), (2, 1), (1, 0), (0, 0), (2, 2)]
    ]


def apart(data: Data, work: list[Assignment], wanted: str) -> list[Any]:
    """What one dispatcher for each engine says."""
    answers: list[Any] = [None] * len(work)
    for base, engine in enumerate(engines()):
        mine = [n for n, a in enumerate(work) if a.base == base]
        alone = getattr(Dispatcher(engine, data, 1), wanted)
        for n, answer in zip(mine, alone([replace(work[n], base=0) for n in mine]), strict=True):
            answers[n] = answer
    return answers


@pytest.mark.parametrize(("backend", "n_jobs"), WORKERS)
def test_several_engines_predict_as_if_each_were_alone(backend, n_jobs, data, mixed_work) -> None:
    expected = apart(data, mixed_work, "predict")
    assert {engine.prefers for engine in engines()} == {"processes", "threads"}
    with (
        parallel_config(backend=backend) if backend else parallel_config(),
        Dispatcher(engines(), data, n_jobs) as dispatcher,
    ):
        for _ in range(2):
            assert_all_equal(dispatcher.predict(mixed_work), expected)
        # Also where some have nothing to do at all.
        for base in range(3):
            mine = [n for n, a in enumerate(mixed_work) if a.base == base]
            found = dispatcher.predict([mixed_work[n] for n in mine])
            assert_all_equal(found, [expected[n] for n in mine])
        assert dispatcher.predict([]) == []
    # They do differ.
    assert not np.allclose(expected[0], expected[3])
    assert not np.allclose(expected[3], expected[6])


@pytest.mark.parametrize(("backend", "n_jobs"), WORKERS)
def test_several_engines_fit_as_if_each_were_alone(backend, n_jobs, data, mixed_work) -> None:
    expected = apart(data, mixed_work, "fit")
    with parallel_config(backend=backend) if backend else parallel_config():
        found = Dispatcher(engines(), data, n_jobs).fit(mixed_work)
    assert [len(part) for part in found] == [7, 4, 0, 7, 4, 0, 7, 4]
    for a, models, others in zip(mixed_work, found, expected, strict=True):
        for model, other, mask in zip(models, others, a.masks, strict=True):
            assert type(model) is type(other)
            np.testing.assert_array_equal(
                model.predict(data.X_val[:, mask]), other.predict(data.X_val[:, mask])
            )
    assert type(found[0][0]) is Ridge
    assert type(found[3][0]) is KNeighborsRegressor


def test_tasks_are_cut_by_the_time_of_their_own_base_model(data, work, monkeypatch) -> None:
    class Clock(threading.local):
        """The time of a thread, which passes when an engine says so."""

        now = 0.0

    class Timed(CountingEngine):
        def __init__(self, seconds: float) -> None:
            super().__init__(Learner(Ridge()))
            self.seconds = seconds

        def predict_many(self, X_train, y_train, masks, *args: Any, **kwargs: Any) -> np.ndarray:
            clock.now += self.seconds * len(masks)
            return super().predict_many(X_train, y_train, masks, *args, **kwargs)

    clock = Clock()
    monkeypatch.setattr(piece_module, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    fast, slow = Timed(0.4 * dispatch.SECONDS_PER_TASK), Timed(1.2 * dispatch.SECONDS_PER_TASK)
    dispatcher = Dispatcher([fast, slow], data, n_jobs=2)
    mixed = [replace(a, base=base) for a in (work[2], work[2]) for base in (0, 1)]
    for sizes in ([2] * 4, [2] * 4), ([2] * 4, [1] * 8):
        dispatcher.predict(mixed)
        assert (fast.sizes, slow.sizes) == sizes
        for engine in (fast, slow):
            engine.sizes.clear()


def one_column_is_broken(data: Data) -> Data:
    X = data.X.copy()
    X[:, 3] = np.nan
    return Data(X, data.X_val, None, {})


@pytest.mark.parametrize(("backend", "n_jobs"), WORKERS)
def test_the_error_names_the_base_model_that_fails(backend, n_jobs, work, data) -> None:
    bases = [Ridge(), Lasso(), LinearRegression()]
    mixed = [GenericEngine(Learner(base)) for base in bases]
    mixed[1].prefers = "threads"
    tame = np.zeros((4, M), dtype=bool)
    tame[:, 1] = True
    wild = tame.copy()
    wild[2, 3] = True
    rows = (np.arange(30), np.arange(30, N), np.arange(3))
    with (
        parallel_config(backend=backend) if backend else parallel_config(),
        Dispatcher(mixed, one_column_is_broken(data), n_jobs) as dispatcher,
    ):
        # Processes that have failed start anew, which takes long.
        for bad in (1, 2) if backend == "loky" else (0, 1, 2):
            calls = [
                Assignment(work[0].y, *rows, wild if base == bad else tame, np.arange(4), base)
                for base in (2, 0, 1)
            ]
            is_slow = backend == "loky" and bad == 2
            for ask in (dispatcher.predict,) if is_slow else (dispatcher.predict, dispatcher.fit):
                with pytest.raises(BaseModelError, match="contains NaN") as caught:
                    ask(calls)
                assert caught.value.model == repr(bases[bad])
                assert caught.value.features == (1, 3)


def test_each_base_model_gets_its_own_metadata(spied) -> None:
    X = np.arange(12.0).reshape(6, 2)
    params = [{"cohort": np.arange(6) * 10}, {}, {"names": list("abcdef"), "flag": "yes"}]
    dispatcher = Dispatcher(
        [GenericEngine(Learner(Spy())) for _ in params], Data(X, X, None, params)
    )
    rows = np.array([1, 2, 5])
    whole = Assignment(
        np.arange(6), rows, np.array([0, 3]), rows[:0], np.ones((1, 2), dtype=bool), np.arange(1)
    )
    dispatcher.fit([replace(whole, base=base) for base in (1, 0, 2)])
    # Those that go to the same workers go in the order of the base models.
    first, second, third = [seen for _, seen in spied]
    assert list(first) == ["cohort"]
    np.testing.assert_array_equal(first["cohort"], [10, 20, 50])
    assert second == {}
    assert list(third["names"]) == ["b", "c", "f"]
    assert third["flag"] == "yes"
    assert len(third) == 2


class Endless(LinearRegression):
    """Does not end before it is told to."""

    enough: ClassVar[threading.Event] = threading.Event()

    def fit(self, X: Any, y: Any) -> "Endless":
        self.enough.wait(timeout=30.0)
        return super().fit(X, y)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_time_limit_names_the_base_model_that_takes_too_long(n_jobs, place, data, work) -> None:
    Endless.enough.clear()
    others: list[Engine] = [
        GenericEngine(Learner(Ridge())),
        KNNEngine(Learner(KNeighborsRegressor(3))),
    ]
    mixed = [*others[:place], GenericEngine(Learner(Endless())), *others[place:]]
    dispatcher = Dispatcher(mixed, data, n_jobs, time_limit=0.5)
    masks = np.zeros((2, M), dtype=bool)
    masks[:, [1, 4]] = True
    calls = [
        Assignment(work[0].y, np.arange(30), np.arange(30, N), np.arange(3), masks, np.arange(2), b)
        for b in (1, 2, 0)
    ]
    try:
        with (
            parallel_config(backend="threading"),
            pytest.raises(BaseModelTimeoutError, match=r"not ended after 0\.5 s") as caught,
        ):
            dispatcher.predict(calls)
        assert caught.value.model == "Endless()"
        assert caught.value.features == (1, 4)
    finally:
        # What is left behind keeps libraries at one thread.
        Endless.enough.set()
        end = time.monotonic() + 20.0
        while blas_threads._LIMIT._users and time.monotonic() < end:
            time.sleep(0.01)
    assert blas_threads._LIMIT._users == 0


def test_whole_optimisations_are_given_away_if_no_base_model_needs_processes(data) -> None:
    compiled = [KNNEngine(Learner(KNeighborsRegressor(k))) for k in (2, 3)]
    assert Dispatcher(compiled, data, n_jobs=2).has_others()
    assert not Dispatcher(compiled, data, n_jobs=1).has_others()
    assert not Dispatcher(engines(), data, n_jobs=2).has_others()


# -- native threads ------------------------------------------------------------------------------


def pool_sizes(api: str) -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == api]


@contextmanager
def two_native_threads() -> Iterator[None]:
    """Two threads for BLAS, also on a machine with one processor."""
    with threadpool_limits(2, user_api="blas"):
        assert set(pool_sizes("blas")) == {2}
        yield
        assert set(pool_sizes("blas")) == {2}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_native_libraries_run_on_one_thread_inside_a_task(n_jobs, data, work) -> None:
    engine = CountingEngine(LEARNER)
    dispatcher = Dispatcher(engine, data, n_jobs)
    with two_native_threads():
        openmp = pool_sizes("openmp")
        dispatcher.predict(work)
        assert pool_sizes("openmp") == openmp
    assert len(engine.pools) >= 2
    for blas, inner_openmp in engine.pools:
        assert set(blas) == {1}
        assert set(inner_openmp) <= {1}


def test_the_limit_is_lifted_after_a_failure(data, work) -> None:
    class Failing(GenericEngine):
        def predict_many(self, *args: Any, **kwargs: Any) -> np.ndarray:
            assert set(pool_sizes("blas")) == {1}
            raise RuntimeError("no")

    with two_native_threads(), pytest.raises(RuntimeError, match="no"):
        Dispatcher(Failing(LEARNER), data).predict(work)


def test_the_limit_stays_while_another_thread_needs_it() -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with blas_threads.one_thread():
            entered.set()
            leave.wait(timeout=30.0)

    with two_native_threads():
        other = threading.Thread(target=hold)
        other.start()
        try:
            assert entered.wait(timeout=30.0)
            # The other one came first and goes first.
            with blas_threads.one_thread():
                assert set(pool_sizes("blas")) == {1}
                leave.set()
                other.join(timeout=30.0)
                assert set(pool_sizes("blas")) == {1}
            assert set(pool_sizes("blas")) == {2}
        finally:
            leave.set()
            other.join(timeout=30.0)


def test_the_limit_stays_when_we_go_first() -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with blas_threads.one_thread():
            entered.set()
            leave.wait(timeout=30.0)

    other = threading.Thread(target=hold)
    with two_native_threads():
        try:
            with blas_threads.one_thread():
                other.start()
                assert entered.wait(timeout=30.0)
            assert set(pool_sizes("blas")) == {1}
        finally:
            leave.set()
            other.join(timeout=30.0)
        assert set(pool_sizes("blas")) == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_at_the_wrong_moment_does_not_block_the_child() -> None:
    def limited() -> None:
        with blas_threads.one_thread():
            assert set(pool_sizes("blas")) == {1}

    child = multiprocessing.get_context("fork").Process(target=limited)
    # As if another thread were about to begin a task.
    with blas_threads._LIMIT._lock:
        child.start()
        child.join(timeout=60.0)
    assert child.exitcode == 0


def test_libraries_that_came_later_are_limited_too(monkeypatch) -> None:
    built = []
    controller = blas_threads.ThreadpoolController

    def build() -> Any:
        built.append(controller())
        return built[-1]

    monkeypatch.setattr(blas_threads, "ThreadpoolController", build)
    limit = blas_threads._ThreadLimit()
    for _ in range(3):
        with limit.hold(), limit.hold():
            pass
    # Looking for libraries takes time: once, until a new module may have brought one.
    assert len(built) == 1
    monkeypatch.setitem(sys.modules, "a_module_with_a_library", ModuleType("a"))
    with limit.hold(), limit.hold():
        pass
    assert len(built) == 2


# -- the average of an ensemble ------------------------------------------------------------------


@pytest.mark.parametrize("n_models", [1, 10, 23])
@pytest.mark.parametrize(
    "learner",
    [
        LEARNER,
        Learner(KNeighborsClassifier(3), np.array(["a", "b", "c"]), "soft"),
        Learner(DecisionTreeClassifier(max_depth=2), np.array(["a", "b", "c"]), "hard"),
    ],
    ids=["values", "probabilities", "votes"],
)
def test_the_average_is_the_plain_mean(learner, n_models, data) -> None:
    rng = np.random.default_rng(2)
    masks = rng.random((n_models, M)) < 0.5
    masks[0] = False
    y: Any = data.X[:, 0]
    if learner.classes is not None:
        y = learner.classes[rng.integers(3, size=N)]
    engine = GenericEngine(learner)
    seeds = np.arange(n_models)
    models = engine.fit_many(data.X, y, masks, seeds)
    features = [np.flatnonzero(mask) for mask in masks]
    members = [
        Member(engine, model, 0, columns, columns)
        for model, columns in zip(models, features, strict=True)
    ]
    found = average_prediction(members, [data.X_val], 1)
    expected = engine.predict_many(data.X, y, masks, data.X_val, seeds).mean(axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    # The order of the additions is the same for any number of workers.
    for backend in ("threading", "loky"):
        with parallel_config(backend=backend):
            again = average_prediction(members, [data.X_val], 2)
        np.testing.assert_array_equal(again, found)


def test_the_average_is_taken_on_one_native_thread(data) -> None:
    seen = []

    class Watching(LinearRegression):
        def predict(self, X: Any) -> np.ndarray:
            seen.append(pool_sizes("blas") + pool_sizes("openmp"))
            return super().predict(X)

    model = Watching().fit(data.X, data.X[:, 0])
    with two_native_threads():
        for n_jobs in (1, 2):
            member = Member(GenericEngine(Learner(model)), model, 0, np.arange(M), np.arange(M))
            average_prediction([member] * 12, [data.X], n_jobs)
    assert len(seen) == 24
    assert all(set(sizes) == {1} for sizes in seen)


def test_the_average_of_several_kinds_by_weight(data) -> None:
    rng = np.random.default_rng(3)
    bases = [ExtraTreeRegressor(max_depth=3), KNeighborsRegressor(3)]
    mixed: list[Engine] = [GenericEngine(Learner(bases[0])), KNNEngine(Learner(bases[1]))]
    masks = rng.random((23, M)) < 0.5
    masks[4] = False
    kinds, weights = rng.integers(2, size=23), rng.uniform(0.1, 2.0, 23)
    y, seeds = data.X[:, 0], np.arange(23)
    models = [
        mixed[kind].fit_many(data.X, y, masks[[n]], seeds[[n]])[0] for n, kind in enumerate(kinds)
    ]
    features = [np.flatnonzero(mask) for mask in masks]
    answers = [
        model.predict(data.X_val[:, columns])
        for model, columns in zip(models, features, strict=True)
    ]
    expected = np.average(answers, axis=0, weights=weights)[:, np.newaxis]
    members = [
        Member(mixed[kind], model, kind, columns, columns, weight)
        for kind, model, columns, weight in zip(kinds, models, features, weights, strict=True)
    ]
    tables = [data.X_val] * 2
    found = average_prediction(members, tables, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with parallel_config(backend="threading"):
        np.testing.assert_array_equal(average_prediction(members, tables, 2), found)
    alike = [member._replace(weight=1.0) for member in members]
    plain = average_prediction(alike, tables, 1)
    np.testing.assert_allclose(plain[:, 0], np.mean(answers, axis=0), rtol=1e-12)
    # Each base model has a table of its own.
    tables = [data.X_val, data.X_val[:, ::-1].copy()]
    turned = [
        member._replace(columns=M - 1 - member.columns) if member.base else member
        for member in members
    ]
    np.testing.assert_allclose(average_prediction(turned, tables, 1), found, rtol=1e-12)

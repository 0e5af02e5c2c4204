"""Work on threads of our own: when, in what order, and what the workers know."""

import threading
import time
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
from joblib import parallel_config
from sklearn import config_context, get_config
from sklearn.base import is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub import PRSRegressor
from randsub.engines import (
    Engine,
    GenericEngine,
    KNNEngine,
    Learner,
    LinearAndBayesEngine,
    SVMEngine,
    TreeEngine,
)
from randsub.exceptions import BaseModelError, BaseModelThreadsWarning
from randsub.parallel import (
    Assignment,
    Data,
    Dispatcher,
    Member,
    average_prediction,
    dispatch,
    worker_pool,
)
from randsub.parallel.blas_threads import warn_of_idle_threads
from randsub.parallel.threads import on_threads

N, M = 60, 6
WAIT = 30.0


# -- one pool of threads -------------------------------------------------------------------------


def test_answers_come_in_the_order_of_the_work() -> None:
    later = threading.Event()

    def first() -> tuple[str, float]:
        assert later.wait(WAIT)
        return "first", 1.0

    def second() -> tuple[str, float]:
        later.set()
        return "second", 2.0

    assert on_threads([first, second], 2) == [("first", 1.0), ("second", 2.0)]
    assert on_threads([partial(divmod, 7, k) for k in (2, 3, 5)], 2) == [(3, 1), (2, 1), (1, 2)]
    assert on_threads([], 2) == []


def test_work_is_done_by_as_many_threads_as_asked() -> None:
    seen = set()
    together = threading.Barrier(3)

    def meet() -> tuple[None, float]:
        # Passes only if three are here at once.
        together.wait(WAIT)
        seen.add(threading.get_ident())
        return None, 0.0

    on_threads([meet] * 3, 3)
    assert len(seen) == 3
    # One of them is the caller's own, so no core is kept for waiting.
    assert threading.get_ident() in seen


def test_the_first_failure_in_the_order_of_the_work_is_raised() -> None:
    failed = threading.Event()

    def slow() -> None:
        assert failed.wait(WAIT)
        raise KeyError("first")

    def fast() -> None:
        failed.set()
        raise ValueError("second")

    with pytest.raises(KeyError, match="first"):
        on_threads([slow, fast], 2)


def test_work_that_has_not_begun_is_given_up_after_a_failure() -> None:
    begun, ended = [], []
    another = threading.Event()

    def fail() -> None:
        # With the other worker in the middle of something.
        assert another.wait(WAIT)
        raise ValueError("no")

    def take_time(number: int) -> tuple[None, float]:
        begun.append(number)
        another.set()
        time.sleep(0.05)
        ended.append(number)
        return None, 0.0

    with pytest.raises(ValueError, match="no"):
        on_threads([fail, *(partial(take_time, k) for k in range(60))], 2)
    # What had begun has ended: nothing goes on behind the caller's back.
    assert sorted(ended) == sorted(begun)
    assert 1 <= len(begun) < 50


def test_the_configuration_of_scikit_learn_reaches_the_workers() -> None:
    def look() -> tuple[Any, float]:
        return get_config(), 0.0

    with config_context(assume_finite=True, working_memory=77):
        inside = get_config()
        assert [config for config, _ in on_threads([look] * 4, 2)] == [inside] * 4
    assert not any(config["assume_finite"] for config, _ in on_threads([look] * 4, 2))


# -- where a dispatcher works --------------------------------------------------------------------


class Watching(GenericEngine):
    """Notes in which thread it works, and with what configuration."""

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner)
        self.threads: list[int] = []
        self.configs: list[dict[str, Any]] = []

    def predict_many(self, X_train: Any, y_train: Any, masks: Any, *args: Any) -> np.ndarray:
        self.threads.append(threading.get_ident())
        self.configs.append(get_config())
        return super().predict_many(X_train, y_train, masks, *args)


class WatchingThreads(Watching):
    prefers: ClassVar[Any] = "threads"


@pytest.fixture
def data() -> Data:
    X = np.random.default_rng(0).normal(size=(N, M))
    return Data(X, X, None, {})


@pytest.fixture
def work(data) -> list[Assignment]:
    rng = np.random.default_rng(1)
    y = data.X[:, 0] + data.X[:, 1] * data.X[:, 2]
    return [
        Assignment(
            y=y,
            train_rows=np.arange(0, 45) + batch,
            query_rows=np.setdiff1d(np.arange(N), np.arange(0, 45) + batch),
            val_rows=np.arange(5),
            masks=rng.random((11, M)) < 0.5,
            seeds=rng.integers(1000, size=11),
        )
        for batch in (0, 4, 8)
    ]


@pytest.fixture
def ways(monkeypatch) -> list[str]:
    """Which of the two ways a dispatcher goes."""
    taken: list[str] = []
    threads, parallel = dispatch.on_threads, worker_pool.Parallel

    def own(*args: Any) -> Any:
        taken.append("own threads")
        return threads(*args)

    def joblibs(*args: Any, **kwargs: Any) -> Any:
        taken.append("joblib")
        return parallel(*args, **kwargs)

    monkeypatch.setattr(dispatch, "on_threads", own)
    monkeypatch.setattr(worker_pool, "Parallel", joblibs)
    return taken


@pytest.mark.parametrize(
    ("kind", "config", "n_jobs", "way"),
    [
        (WatchingThreads, {}, 2, ["own threads"]),
        (WatchingThreads, {"n_jobs": 2}, None, ["own threads"]),
        (WatchingThreads, {"backend": "threading"}, 2, ["own threads"]),
        (WatchingThreads, {"backend": "loky"}, 2, ["joblib"]),
        (WatchingThreads, {}, 1, []),
        (WatchingThreads, {}, None, []),
        (Watching, {}, 2, ["joblib"]),
        (Watching, {"backend": "threading"}, 2, ["joblib"]),
        (Watching, {}, 1, []),
    ],
)
def test_own_threads_only_where_joblib_would_use_threads(
    kind, config, n_jobs, way, data, work, ways
) -> None:
    engine = kind(Learner(Ridge()))
    expected = Dispatcher(GenericEngine(Learner(Ridge())), data, 1).predict(work)
    ways.clear()
    with parallel_config(**config):
        found = Dispatcher(engine, data, n_jobs).predict(work)
    assert ways == way
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_task_needs_no_thread(data, work, ways) -> None:
    engine = WatchingThreads(Learner(Ridge()))
    alone = replace(work[0], masks=work[0].masks[:1], seeds=work[0].seeds[:1])
    Dispatcher(engine, data, 2).predict([alone])
    assert ways == []
    assert engine.threads == [threading.get_ident()]


def test_the_configuration_reaches_the_engine(data, work, ways) -> None:
    engine = WatchingThreads(Learner(Ridge()))
    with config_context(working_memory=33):
        Dispatcher(engine, data, 2).predict(work)
    assert ways == ["own threads"]
    assert len(engine.configs) > 2
    assert {config["working_memory"] for config in engine.configs} == {33}


@pytest.mark.parametrize(("least", "shared"), [(0.0, True), (1e9, False)])
def test_small_work_stays_in_the_calling_thread(
    least, shared, data, work, ways, monkeypatch
) -> None:
    monkeypatch.setattr(dispatch, "SECONDS_WORTH_SHARING", least)
    monkeypatch.setattr(dispatch, "SECONDS_PER_TASK", 1e-9)
    engine = WatchingThreads(Learner(Ridge()))
    dispatcher = Dispatcher(engine, data, 2)
    first = dispatcher.predict(work)
    # As long as nothing is known about the time, work is shared.
    assert ways == ["own threads"]
    ways.clear()
    engine.threads.clear()
    second = dispatcher.predict(work)
    assert ways == (["own threads"] if shared else [])
    assert len(engine.threads) == 33
    assert shared or set(engine.threads) == {threading.get_ident()}
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_small_is_a_matter_of_all_models_together(data, work, ways, monkeypatch) -> None:
    engine = WatchingThreads(Learner(Ridge()))
    dispatcher = Dispatcher(engine, data, 2)
    dispatcher.predict(work)
    [per_model] = dispatcher._seconds_per_model
    assert per_model > 0.0
    ways.clear()
    # 33 models are more than the limit, 11 are less; so small a task is never a single one.
    monkeypatch.setattr(dispatch, "SECONDS_PER_TASK", 1e-9)
    for assignments, way in [(work, ["own threads"]), (work[:1], [])]:
        dispatcher._seconds_per_model = [1e-3]
        monkeypatch.setattr(dispatch, "SECONDS_WORTH_SHARING", 0.022)
        dispatcher.predict(assignments)
        assert ways == way
        ways.clear()


def test_a_failure_on_a_thread_of_ours_is_the_first_one(data, work, ways) -> None:
    X = data.X.copy()
    X[:, [2, 4]] = np.nan
    engine = WatchingThreads(Learner(Ridge()))
    masks = np.zeros((8, M), dtype=bool)
    masks[:, 0] = True
    masks[3, 2] = masks[6, 4] = True
    bad = [
        Assignment(a.y, a.train_rows, a.query_rows, a.val_rows, masks, np.arange(8)) for a in work
    ]
    for _ in range(5):
        with pytest.raises(BaseModelError, match="NaN") as caught:
            Dispatcher(engine, Data(X, X, None, {}), 2).predict(bad)
        assert caught.value.features == (0, 2)
    assert set(ways) == {"own threads"}


# -- any number of workers -----------------------------------------------------------------------

MODELS = [
    (KNNEngine, KNeighborsRegressor(3)),
    (KNNEngine, KNeighborsClassifier(3, weights="distance")),
    (TreeEngine, DecisionTreeRegressor()),
    (TreeEngine, DecisionTreeClassifier(max_depth=4)),
    (SVMEngine, SVR()),
    (SVMEngine, SVC(kernel="linear")),
    (LinearAndBayesEngine, Ridge()),
    (LinearAndBayesEngine, LinearRegression()),
    (LinearAndBayesEngine, GaussianNB()),
    (LinearAndBayesEngine, LinearDiscriminantAnalysis()),
    (GenericEngine, DecisionTreeRegressor(splitter="random")),
]


@pytest.mark.parametrize(("kind", "base"), MODELS, ids=[type(base).__name__ for _, base in MODELS])
def test_any_number_of_workers_gives_the_same_to_the_last_bit(
    kind: type[Engine], base, data, work
) -> None:
    learner = Learner(base)
    if is_classifier(base):
        soft = "soft" if hasattr(base, "predict_proba") else "hard"
        learner = Learner(base, np.array([0, 1, 2]), soft)
        labels = np.digitize(work[0].y, np.quantile(work[0].y, [0.3, 0.6]))
        work = [
            Assignment(labels, a.train_rows, a.query_rows, a.val_rows, a.masks, a.seeds)
            for a in work
        ]
    found, averages = [], []
    for n_jobs in (1, 2, 3):
        engine = kind(learner)
        dispatcher = Dispatcher(engine, data, n_jobs)
        with parallel_config(backend="threading"):
            # The second time tasks are of another size.
            found += [np.concatenate(dispatcher.predict(work)) for _ in range(2)]
            models = [model for part in dispatcher.fit(work) for model in part]
            seen = [np.flatnonzero(mask) for a in work for mask in a.masks]
            members = [Member(engine, m, 0, s, s) for m, s in zip(models, seen, strict=True)]
            averages.append(average_prediction(members, [data.X], n_jobs))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    for other in averages[1:]:
        np.testing.assert_array_equal(other, averages[0])
    assert np.ptp(found[0]) > 0.0


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_compiled_engine_gives_the_same_on_joblibs_workers(backend, data, work) -> None:
    learner = Learner(KNeighborsRegressor(3))
    expected = Dispatcher(KNNEngine(learner), data, 1).predict(work)
    with parallel_config(backend=backend, n_jobs=2):
        found = Dispatcher(KNNEngine(learner), data).predict(work)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_threads_of_a_base_model_that_have_no_effect_are_told(n_jobs):
    base = make_pipeline(StandardScaler(), KNeighborsRegressor(n_jobs=3))
    if n_jobs == 2:
        # Nothing is lost.
        warn_of_idle_threads(base, "PRSRegressor", n_jobs)
        return
    words = "kneighborsregressor__n_jobs=3 of Pipeline has no effect.*set n_jobs of PRSRegressor"
    with pytest.warns(BaseModelThreadsWarning, match=words):
        warn_of_idle_threads(base, "PRSRegressor", n_jobs)
    warn_of_idle_threads(base.set_params(kneighborsregressor__n_jobs=None), "PRSRegressor", n_jobs)


def test_a_fit_tells_it_once():
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = PRSRegressor(KNeighborsRegressor(n_jobs=2), n_estimators=3, max_iter=2, random_state=0)
    with pytest.warns(BaseModelThreadsWarning) as told:
        model.fit(X, X[:, 0])
    assert len(told) == 1
    assert model.estimator.n_jobs == 2

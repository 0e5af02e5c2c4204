"""Fits on a cluster of two worker processes: the same result, whatever happens to the workers."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clusters import (
    Clingy,
    Homebody,
    Moody,
    Sluggish,
    cluster_warnings,
    dask_cluster,
    dask_scheduler,
    kill_a_worker,
    needs_dask,
    needs_ray,
    ray_cluster,
    worker_pids,
)
from flat_parameters import flat, flat_network
from randsub import PRSRegressor
from randsub.callbacks import Checkpoint
from randsub.datasets import make_friedman, make_network
from randsub.engines import GenericEngine, Learner
from randsub.estimators import RandomSubspaceRegressor, RaSEClassifier
from randsub.exceptions import BaseModelError, BaseModelTimeoutError, WorkerLostError
from randsub.network import PRSNetwork, genie3
from randsub.parallel import Assignment, Data, Dispatcher

pytestmark = cluster_warnings

X, y, _ = make_friedman(n_samples=60, n_irrelevant=5, random_state=0)
SETTINGS: dict[str, Any] = {
    "n_estimators": 6,
    "n_batches": 2,
    "max_iter": 12,
    "learning_rate": 0.1,
    "ess_threshold": 0.9,
    "n_revivals": 1,
    "random_state": 0,
}
PIPELINE = make_pipeline(StandardScaler(), BayesianRidge())


def assert_same_fit(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found.alpha_, expected.alpha_)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    pytest.importorskip("distributed", reason="pip install randsub[dask]")
    with dask_cluster() as client:
        yield client


@pytest.fixture
def dask(client: Any) -> Iterator[Any]:
    client.wait_for_workers(2)
    with parallel_config(backend="dask", client=client):
        yield client


@pytest.mark.parametrize("base", [KNeighborsRegressor(3), PIPELINE], ids=["compiled", "generic"])
def test_a_fit_is_the_same_on_dask(base, dask) -> None:
    expected = PRSRegressor(base, **flat(**SETTINGS, n_jobs=1)).fit(X, y)
    assert expected.history_["refreshed"].sum() > 2
    assert_same_fit(PRSRegressor(base, **flat(**SETTINGS)).fit(X, y), expected)


@pytest.mark.parametrize("apart", [False, True])
def test_repeats_are_the_same_on_dask(apart, dask, monkeypatch) -> None:
    """Their base models are trained there, or they are trained there as a whole."""
    seconds = 0.0 if apart else np.inf
    monkeypatch.setattr("randsub.solver.apart.SECONDS_WORTH_SPREADING", seconds)
    really, spread = Dispatcher.spread, []
    monkeypatch.setattr(
        Dispatcher, "spread", lambda self, *args: (spread.append(self), really(self, *args))
    )
    expected = PRSRegressor(Ridge(), **flat(**SETTINGS, n_repeats=3, n_jobs=1)).fit(X, y)
    found = PRSRegressor(Ridge(), **flat(**SETTINGS, n_repeats=3)).fit(X, y)
    np.testing.assert_array_equal(found.alphas_, expected.alphas_)
    assert_same_fit(found, expected)
    assert len(spread) == apart


def test_baselines_are_the_same_on_dask(dask) -> None:
    labels = (y > np.median(y)).astype(int)
    settings = {"n_estimators": 4, "random_state": 0}
    for model, target in [
        (RandomSubspaceRegressor(PIPELINE, **settings), y),
        (RaSEClassifier(KNeighborsClassifier(3), n_candidates=5, **settings), labels),
    ]:
        far = model.fit(X, target).predict(X)
        np.testing.assert_array_equal(model.set_params(n_jobs=1).fit(X, target).predict(X), far)


def test_networks_are_the_same_on_dask(dask) -> None:
    truth = make_network(40, n_regulators=4, n_targets=3, n_modules=1, random_state=0)
    settings = {"n_estimators": 4, "n_batches": 2, "max_iter": 5, "random_state": 0}
    model = PRSNetwork(PIPELINE, **flat_network(**settings))
    far = model.fit(truth.expression, truth.regulators).link_weights_
    near = model.set_params(n_jobs=1).fit(truth.expression, truth.regulators).link_weights_
    np.testing.assert_array_equal(far, near)
    far = genie3(truth.expression, truth.regulators, n_estimators=5, random_state=0).alpha
    with parallel_config(backend="threading", n_jobs=1):
        near = genie3(truth.expression, truth.regulators, n_estimators=5, random_state=0).alpha
    np.testing.assert_array_equal(far, near)


@contextmanager
def bytes_sent(client: Any) -> Iterator[list[int]]:
    """Bytes that client and scheduler, both of this process, and the workers have sent."""
    from distributed.comm.tcp import TCP

    original, sent = TCP.write, [0]

    async def counting(self: Any, *args: Any, **kwargs: Any) -> Any:
        n_bytes = await original(self, *args, **kwargs)
        sent[0] += n_bytes
        return n_bytes

    def between_workers() -> int:
        return sum(
            client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values()
        )

    before = between_workers()
    TCP.write = counting
    try:
        yield sent
    finally:
        TCP.write = original
        sent[0] += between_workers() - before


def test_what_is_sent_does_not_grow_with_the_number_of_tasks(dask, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    large = rng.normal(size=(5000, 30))
    work = [
        Assignment(
            large[:, 0],
            np.arange(3000),
            np.arange(3000, 3010),
            np.arange(0),
            rng.random((40, 30)) < 0.1,
            np.arange(40),
        )
    ]
    sent = {}
    with Dispatcher(GenericEngine(Learner(Ridge())), Data(large, large, None, {})) as trained:
        with bytes_sent(dask) as first:
            trained.predict(work)
        # By way of the scheduler to one worker, and from there to the other; not with each task.
        assert 2.0 * large.nbytes < first[0] < 3.8 * large.nbytes
        for n_tasks in (8, 40):
            monkeypatch.setattr(
                trained, "_models_per_task", lambda *args, n=n_tasks: 40 // n, raising=True
            )
            # A worker that had not been asked before gets the data now.
            trained.predict(work)
            with bytes_sent(dask) as sent[n_tasks]:
                trained.predict(work)
    # Rows have 48 kB and are sent twice on the way, in at most 8 bundles. The data has 1.2 MB.
    assert abs(sent[40][0] - sent[8][0]) < 0.2 * sent[8][0]
    assert sent[40][0] < 8 * 130e3


@pytest.mark.filterwarnings("ignore::randsub.exceptions.WorkerLostWarning")
# What is sent again takes its time, as if base models were slow.
@pytest.mark.filterwarnings("ignore::randsub.exceptions.LongFitWarning")
def test_workers_that_are_killed_do_not_change_the_result(dask) -> None:
    settings = {**SETTINGS, "max_iter": 40}
    expected = PRSRegressor(Sluggish(), **flat(**settings, n_jobs=1)).fit(X, y)
    before, over = set(worker_pids(dask)), threading.Event()

    def kill_twice() -> None:
        for _ in range(2):
            if not over.wait(0.7):
                kill_a_worker(dask)

    killer = threading.Thread(target=kill_twice)
    killer.start()
    try:
        found = PRSRegressor(Sluggish(), **flat(**settings)).fit(X, y)
        still_fitting = killer.is_alive()
    finally:
        over.set()
        killer.join()
    dask.wait_for_workers(2)
    assert not still_fitting
    assert set(worker_pids(dask)) != before
    assert_same_fit(found, expected)


@pytest.mark.parametrize("mood", ["raises", "NaN", "hangs"])
def test_models_that_fail_are_named(mood, dask) -> None:
    shifted = X.copy()
    shifted[:, 4] = 7.0 + shifted[:, 4]
    kind = BaseModelTimeoutError if mood == "hangs" else BaseModelError
    reason = {"raises": "not with that one", "NaN": "NaN or infinite", "hangs": "after 3 s"}[mood]
    limit = {"task_timeout": 3.0} if mood == "hangs" else {}
    model = PRSRegressor(Moody(mood), **flat(standardize=False, **SETTINGS, **limit))
    with pytest.raises(kind, match=reason) as caught:
        model.fit(shifted, y)
    assert 4 in caught.value.features
    assert caught.value.epoch == 0


def test_models_that_cannot_be_sent_back_are_named(dask) -> None:
    masks = np.eye(4, X.shape[1], dtype=bool)
    work = [Assignment(y, np.arange(60), np.arange(0), np.arange(0), masks, np.arange(4))]
    data = Data(X, X, None, {})
    [models] = Dispatcher(GenericEngine(Learner(Homebody(os.getpid()))), data).fit(work)
    assert [model.n_features_in_ for model in models] == [1, 1, 1, 1]
    # At once: Dask would wait for ever for what it cannot send.
    with pytest.raises(BaseModelError, match=r"sent back .*cannot pickle") as caught:
        Dispatcher(GenericEngine(Learner(Clingy())), data).fit(work)
    assert caught.value.features in [(0,), (1,), (2,), (3,)]


@needs_dask
def test_a_cluster_of_one_worker_does_the_work_itself() -> None:
    masks = np.eye(4, X.shape[1], dtype=bool)
    work = [Assignment(y, np.arange(60), np.arange(9), np.arange(0), masks, np.arange(4))]
    data = Data(X, X, None, {})
    [expected] = Dispatcher(GenericEngine(Learner(Homebody())), data, n_jobs=1).predict(work)
    with dask_cluster(n_workers=1) as client, parallel_config(backend="dask", client=client):
        # What may be the end of a worker must not be the end of this process.
        away = Dispatcher(GenericEngine(Learner(Homebody(os.getpid()))), data)
        np.testing.assert_array_equal(away.predict(work)[0], expected)
        # Work of a task that the only worker is busy with.
        model = PRSRegressor(Sluggish(), **flat(**{**SETTINGS, "max_iter": 2}))
        search = GridSearchCV(model, {"solver__n_batches": [2, 3]}, cv=2, error_score="raise").fit(
            X, y
        )
    assert np.isfinite(search.best_score_)


@needs_dask
def test_a_lost_scheduler_is_a_clear_error_and_the_fit_goes_on_elsewhere(tmp_path) -> None:
    import dask
    from distributed import Client

    path = tmp_path / "run.ckpt"
    expected = PRSRegressor(Sluggish(), **flat(**SETTINGS, n_jobs=1)).fit(X, y)
    model = PRSRegressor(Sluggish(), **flat(**SETTINGS)).set_callbacks(Checkpoint(path, every=1))

    with (
        # How long Dask looks for a scheduler that is gone; 30 seconds by default.
        dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
        dask_scheduler() as (process, address),
        Client(address) as client,
    ):

        def kill_when_begun() -> None:
            deadline = time.monotonic() + 60.0
            while not path.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            process.kill()
            killed.append(time.monotonic())

        killed: list[float] = []
        killer = threading.Thread(target=kill_when_begun)
        killer.start()
        with (
            parallel_config(backend="dask", client=client),
            pytest.raises(WorkerLostError, match=r"cannot be reached .* resume_from"),
        ):
            model.fit(X, y)
        killer.join()
        assert time.monotonic() - killed[0] < 60.0
    resumed = PRSRegressor(Sluggish(), **flat(**SETTINGS, n_jobs=1)).fit(X, y, resume_from=path)
    assert resumed.n_iter_ == expected.n_iter_
    assert_same_fit(resumed, expected)


@needs_ray
@pytest.mark.parametrize("base", [KNeighborsRegressor(3), PIPELINE], ids=["compiled", "generic"])
def test_a_fit_is_the_same_on_ray(base) -> None:
    settings = {**SETTINGS, "max_iter": 6}
    expected = PRSRegressor(base, **flat(**settings, n_jobs=1)).fit(X, y)
    with ray_cluster(), parallel_config(backend="ray", n_jobs=-1):
        found = PRSRegressor(base, **flat(**settings)).fit(X, y)
        assert_same_fit(found, expected)

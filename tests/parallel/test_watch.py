"""Whoever watches a dispatch is told of every model, may end it, and does not change results."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from randsub.engines import GenericEngine, KNNEngine, Learner
from randsub.parallel import Assignment, Data, Dispatcher, StopRequest

RNG = np.random.default_rng(0)
DATA = Data(
    X=RNG.normal(size=(40, 5)), X_val=RNG.normal(size=(9, 5)), sample_weight=None, fit_params={}
)
WORK = [
    Assignment(
        y=DATA.X[:, 0] + k,
        train_rows=np.arange(10, 40),
        query_rows=np.arange(10),
        val_rows=np.arange(9),
        masks=RNG.random((n_masks, 5)) < 0.5,
        seeds=RNG.integers(1000, size=n_masks),
        base=base,
    )
    for k, (n_masks, base) in enumerate([(30, 0), (0, 0), (17, 1), (5, 0)])
]
N_ALL = 52
ENGINES = {
    "generic": [GenericEngine(Learner(Ridge())), GenericEngine(Learner(Ridge(5.0)))],
    "compiled": [
        KNNEngine(Learner(KNeighborsRegressor())),
        KNNEngine(Learner(KNeighborsRegressor(3))),
    ],
    "both": [GenericEngine(Learner(Ridge())), KNNEngine(Learner(KNeighborsRegressor()))],
}
WAYS = [
    ("generic", 1, None),
    ("compiled", 1, None),
    ("both", 1, None),
    ("compiled", 3, None),
    ("generic", 3, "threading"),
    ("both", 2, "loky"),
]


@pytest.mark.parametrize(("engines", "n_jobs", "backend"), WAYS)
def test_every_model_is_told_of_and_the_work_can_be_ended(engines, n_jobs, backend):
    plain = Dispatcher(ENGINES[engines], DATA, n_jobs=1).predict(WORK)
    told = []

    def stop_in_the_middle(n_done, n_all):
        if n_done > 4:
            raise StopRequest("enough", n_done, n_all, 1.0)

    with parallel_config(backend=backend) if backend else parallel_config():
        dispatcher = Dispatcher(ENGINES[engines], DATA, n_jobs=n_jobs)
        with dispatcher:
            answers = dispatcher.predict(WORK, lambda *numbers: told.append(numbers))
            assert [n_done for n_done, _ in told] == sorted({n_done for n_done, _ in told})
            assert told[-1] == (N_ALL, N_ALL)
            assert {n_all for _, n_all in told} == {N_ALL}
            # The first models are told of one by one.
            assert told[0] == (1, N_ALL)
            with pytest.raises(StopRequest) as caught:
                dispatcher.predict(WORK, stop_in_the_middle)
            assert 4 < caught.value.n_done <= N_ALL
            # The workers are there for what comes next.
            again = dispatcher.predict(WORK)
    for a, b, c in zip(plain, answers, again, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def test_slow_models_are_told_of_one_by_one():
    """Once it is known that they are slow, there is one model in each task."""
    dispatcher = Dispatcher(ENGINES["generic"], DATA, n_jobs=1)
    dispatcher.predict(WORK, lambda *numbers: None)
    dispatcher._seconds_per_model = [10.0, 0.0001]
    told = []
    dispatcher.predict(WORK, lambda n_done, n_all: told.append(n_done))
    assert told[:30] == list(range(1, 31))
    assert told[-1] == N_ALL
    assert len(told) == 30 + 5 + 1


def test_a_trial_takes_time():
    dispatcher = Dispatcher(ENGINES["generic"], DATA, n_jobs=1)
    assert dispatcher.trial(WORK[0], ENGINES["compiled"][0]) > 0.0
    assert dispatcher.engines == ENGINES["generic"]

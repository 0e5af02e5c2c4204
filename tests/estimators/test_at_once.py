"""Fits that run at the same time in threads of one process do not notice each other."""

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.solver import Solver

X, y, _ = make_friedman(n_samples=80, n_irrelevant=5, random_state=0)
PIPELINE = make_pipeline(StandardScaler(), BayesianRidge())


def models(n_jobs: int, *bases: Any) -> list[PRSRegressor]:
    return [
        PRSRegressor(
            base,
            n_estimators=8,
            solver=Solver(n_batches=3, learning_rate=0.02),
            max_iter=20,
            n_jobs=n_jobs,
            random_state=seed,
        )
        for seed, base in enumerate(bases)
    ]


@pytest.mark.parametrize(
    ("backend", "n_jobs", "bases"),
    [
        ("threading", 1, [KNeighborsRegressor(3), PIPELINE]),
        ("threading", 2, [KNeighborsRegressor(3), DecisionTreeRegressor(), Ridge(), PIPELINE]),
        ("loky", 2, [PIPELINE, PIPELINE]),
    ],
    ids=["one worker each", "threads", "processes"],
)
def test_two_fits_at_once_are_as_one_after_the_other(backend, n_jobs, bases) -> None:
    expected = [model.fit(X, y) for model in models(1, *bases)]
    together = threading.Barrier(len(bases))

    def fit(model: PRSRegressor) -> PRSRegressor:
        # Which backend is used is a matter of the thread.
        with parallel_config(backend=backend):
            together.wait(60.0)
            return clone(model).fit(X, y)

    with ThreadPoolExecutor(len(bases)) as pool:
        found = list(pool.map(fit, models(n_jobs, *bases)))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one.alpha_, other.alpha_)
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        assert one.history_.equals(other.history_)
    assert len({model.alpha_.tobytes() for model in found}) == len(bases)


FORKED = """
    import os
    from joblib.externals.loky import get_reusable_executor
    from sklearn.linear_model import Lasso
    from randsub import PRSRegressor
    from randsub.datasets import make_friedman
    from randsub.solver import Solver

    X, y, _ = make_friedman(n_samples=60, n_irrelevant=5, random_state=0)
    solver = Solver(n_batches=2)
    model = PRSRegressor(
        Lasso(0.01), n_estimators=8, solver=solver, max_iter=5, n_jobs=2, random_state=0
    )

    def bits():
        return model.fit(X, y).alpha_.tobytes()

    before = bits()
    child = os.fork()
    if child == 0:
        # Twice: the processes of its own are kept as well.
        same = bits() == before and bits() == before
        # Left alone they would wait for work for minutes.
        get_reusable_executor().shutdown(kill_workers=True)
        os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    # The parent's processes are still its own.
    assert bits() == before
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_engages_processes_of_its_own() -> None:
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORKED)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert answer.returncode == 0, answer.stderr

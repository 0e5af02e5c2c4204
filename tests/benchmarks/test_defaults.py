"""benchmarks/defaults/study.py: averages of theta."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from randsub import PRSClassifier
from randsub.datasets import make_hypercube
from randsub.solver import Solver, loop


@pytest.fixture
def study(script, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks" / "defaults")
    return script("study")


def test_fits_that_end_with_an_average(study):
    X, y, _ = make_hypercube(200, n_irrelevant=15, random_state=0)
    model = PRSClassifier(KNeighborsClassifier(), n_estimators=20, max_iter=60, random_state=0)
    model.set_params(solver=Solver(learning_rate=0.005, n_revivals=0))

    def alpha(memory):
        with study.averaging(memory):
            return model.fit(X, y).alpha_

    train = loop.train
    plain, short, long = alpha(None), alpha(0.0), alpha(0.95)
    np.testing.assert_array_equal(short, plain)
    # It goes less far from the start.
    assert 0.0 < np.ptp(long) < np.ptp(plain)
    assert loop.train is train

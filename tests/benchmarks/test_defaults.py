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


def test_a_fit_has_the_validation_samples_or_sets_its_own_aside(study, monkeypatch):
    given = []

    def fit(self, X, y, **more):
        given.append((len(X), self.n_repeats, sorted(more)))
        raise InterruptedError

    monkeypatch.setattr(study.PRSRegressor, "fit", fit)
    choice, splits = "one rule, trees on bootstrap samples", "one rule, own validation samples"
    for setting in (choice, splits, "one rule, five repeats"):
        with pytest.raises(InterruptedError):
            study.run_cell(setting, "tree", "friedman", 0)
    assert given == [(300, 1, ["X_val", "y_val"]), (400, 1, []), (400, 5, [])]
    # Nothing else is different.
    assert study.SETTINGS[splits] == study.SETTINGS[choice] | {"splits": True}

"""Figures that are closed, and models that are quickly fitted."""

import matplotlib as mpl
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.solver import Solver


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def friedman():
    X, y, _ = make_friedman(n_samples=60, n_irrelevant=7, random_state=0)
    return X, y


@pytest.fixture(scope="session")
def model(friedman):
    """A fit with renewed models and one revival."""
    quick = PRSRegressor(
        KNeighborsRegressor(),
        n_estimators=10,
        max_iter=20,
        solver=Solver(n_batches=2, learning_rate=0.05, ess_threshold=0.7, n_revivals=1),
        random_state=0,
    )
    return quick.fit(*friedman)

"""One small fit that several pictures look at."""

from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.solver import Solver


def small_fit():
    """A model of 25 features, five of which matter, and their positions."""
    X, y, relevant = make_friedman(n_samples=250, n_irrelevant=20, correlation=0.0, random_state=0)
    model = PRSRegressor(
        KNeighborsRegressor(),
        max_iter=400,
        solver=Solver(learning_rate=3e-3, n_revivals=1),
        random_state=0,
    )
    return model.fit(X, y), relevant

"""The simulated problems as the paper states them: formulas, separability, clusters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from sklearn.mixture import GaussianMixture

from randsub.datasets import make_checkerboard, make_friedman, make_hypercube, make_linear


class Problem(NamedTuple):
    make: Callable[..., Any]
    n_relevant: int
    is_classification: bool


PROBLEMS = {
    "checkerboard": Problem(make_checkerboard, 4, False),
    "friedman": Problem(make_friedman, 5, False),
    "hypercube": Problem(make_hypercube, 5, True),
    "linear": Problem(make_linear, 10, True),
}


def checkerboard_formula(x):
    return 2 * x[:, 0] * x[:, 1] + 2 * x[:, 2] * x[:, 3]


def friedman_formula(x):
    waves = 10 * np.sin(np.pi * x[:, 0] * x[:, 1])
    return waves + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


def lag_correlation(X, lag):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return float(np.mean(Z[:, lag:] * Z[:, :-lag]))


def is_separable(X, y):
    """Whether some hyperplane has each class on its own side: a linear program, so no tolerance."""
    signed = np.where(y == 1, 1.0, -1.0)[:, None] * np.column_stack([X, np.ones(len(y))])
    answer = linprog(
        np.zeros(signed.shape[1]), A_ub=-signed, b_ub=-np.ones(len(y)), bounds=(None, None)
    )
    return answer.status == 0


def fit_clusters(x, y, n_init=5):
    """Sizes, centres and covariances of the two Gaussian clusters of each class."""
    found = [
        GaussianMixture(2, n_init=n_init, max_iter=500, random_state=0).fit(x[y == label])
        for label in (0, 1)
    ]
    return (
        np.concatenate([mixture.weights_ for mixture in found]),
        np.concatenate([mixture.means_ for mixture in found]),
        np.concatenate([mixture.covariances_ for mixture in found]),
    )

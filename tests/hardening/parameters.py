"""Base models and parameters, tame and hostile, for each class that is tried.

A value that is a function of the number of columns is called with it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from flat_parameters import KNOBS
from hardening.cases import pick
from hardening.inputs import kind
from randsub.distributions import Bernoulli
from randsub.engines import GenericEngine
from randsub.losses import CrossEntropy, Huber, PoissonDeviance, SquaredError
from randsub.optim import (
    OPTIMIZERS,
    FisherAdam,
    LogitAdam,
    ProjectedAdam,
    ProjectedGradientDescent,
)
from randsub.penalties import ExpectedSize, FusedLasso
from randsub.solver import Solver, Window

CLASSIFIERS: Mapping[str, Mapping[str, Callable[[], Any]]] = {
    "tame": {
        "tree": DecisionTreeClassifier,
        "stump": lambda: DecisionTreeClassifier(max_depth=1, max_features=1),
        "neighbours": lambda: KNeighborsClassifier(1),
        "three neighbours": lambda: KNeighborsClassifier(2, weights="distance"),
        "svm": SVC,
        "linear svm": lambda: SVC(kernel="linear", C=0.1),
        "bayes": GaussianNB,
        "discriminants": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5),
        "pipeline": lambda: make_pipeline(SimpleImputer(keep_empty_features=True), GaussianNB()),
        "ridge": lambda: RidgeClassifier(solver="cholesky"),
        "constant": lambda: DummyClassifier(strategy="stratified"),
        "chosen": lambda: "auto",
    },
    "hostile": {
        "too many neighbours": lambda: KNeighborsClassifier(50),
        "collinear discriminants": lambda: LinearDiscriminantAnalysis(solver="lsqr"),
        "discriminants by svd": LinearDiscriminantAnalysis,
        "centroids": NearestCentroid,
        "svm of a high bound": lambda: SVC(C=1e4),
        "svm of a narrow kernel": lambda: SVC(gamma=1e300),
        "svm with probabilities": lambda: SVC(max_iter=1),
        "half a neighbour": lambda: KNeighborsClassifier(0.5),
        "tree of no depth": lambda: DecisionTreeClassifier(max_depth=0),
        "regressor": DecisionTreeRegressor,
        "clusters": KMeans,
        "several": lambda: [("tree", DecisionTreeClassifier()), ("knn", KNeighborsClassifier(1))],
        "several that fail": lambda: [("svm", SVC()), ("knn", KNeighborsClassifier(50))],
        "no names": lambda: [DecisionTreeClassifier(), SVC()],
        "a class": lambda: DecisionTreeClassifier,
        "a word": lambda: "tree",
        "nothing": lambda: None,
    },
}

REGRESSORS: Mapping[str, Mapping[str, Callable[[], Any]]] = {
    "tame": {
        "tree": DecisionTreeRegressor,
        "stump": lambda: DecisionTreeRegressor(max_depth=1, max_features=1),
        "neighbours": lambda: KNeighborsRegressor(1),
        "three neighbours": lambda: KNeighborsRegressor(2, weights="distance"),
        "svm": SVR,
        "linear svm": lambda: SVR(kernel="linear", C=0.1),
        "ridge": Ridge,
        "least squares": LinearRegression,
        "pipeline": lambda: make_pipeline(SimpleImputer(keep_empty_features=True), Ridge()),
        "ridge by another way": lambda: Ridge(solver="svd"),
        "constant": lambda: DummyRegressor(strategy="median"),
        "chosen": lambda: "auto",
    },
    "hostile": {
        "too many neighbours": lambda: KNeighborsRegressor(50),
        "no ridge": lambda: Ridge(alpha=0.0),
        "high ridge": lambda: Ridge(alpha=1e300),
        "svm of a high bound": lambda: SVR(C=1e4),
        "svm of a narrow kernel": lambda: SVR(gamma=1e300),
        "negative ridge": lambda: Ridge(alpha=-1.0),
        "tree of no depth": lambda: DecisionTreeRegressor(max_depth=0),
        "tree of counts": lambda: DecisionTreeRegressor(criterion="poisson"),
        "classifier": DecisionTreeClassifier,
        "clusters": KMeans,
        "several": lambda: [("svm", SVR()), ("tree", DecisionTreeRegressor()), ("knn", "drop")],
        "several that fail": lambda: [("ridge", Ridge()), ("knn", KNeighborsRegressor(50))],
        "no names": lambda: [DecisionTreeRegressor(), SVR()],
        "a class": lambda: DecisionTreeRegressor,
        "a word": lambda: "tree",
        "nothing": lambda: None,
    },
}


class Choice(NamedTuple):
    """Values of a parameter that a fit may have, and others that it may or may not take."""

    tame: list[Any]
    hostile: list[Any]


NO_NUMBERS = ["3", math.nan, math.inf, None, [1]]

COMMON: Mapping[str, Choice] = {
    "n_estimators": Choice([2, 3, 4], [1, 0, -1, 2.5, True, *NO_NUMBERS]),
    "validation_fraction": Choice([None, 0.2, 0.5], [1e-300, 0.999, 0.0, 1.0, -1, "half"]),
    "standardize": Choice([True, False], [1, "yes", None]),
    "engine": Choice(["auto", "generic"], ["tree", "knn", "gpu", GenericEngine, int, 3]),
    "device": Choice([None, "cpu"], ["cuda:99", "gpu", 0, True]),
    "n_jobs": Choice([None, 1], [0, 1.5, "all"]),
    "random_state": Choice([0, 1], [np.random.RandomState(0), -1, 2**40, 0.5, "seed"]),
    "verbose": Choice([0], [-1, "loud", 0.5]),
}
VOTING: Mapping[str, Choice] = {"voting": Choice(["hard"], ["soft", "auto", None, 1])}

PRS: Mapping[str, Choice] = {
    **COMMON,
    "alpha_init": Choice(
        ["auto", 0.5, 0.9, 1, lambda m: np.linspace(0.1, 1.0, m)],
        [
            *(1e-300, 5e-324, 0.0, -0.1, 1.1, math.nan, math.inf, "all", None, []),
            *(lambda m: [0.5] * (m + 1), lambda m: ["a"] * m, lambda m: [None] * m),
            *(lambda m: np.zeros(m), lambda m: np.ones(m), lambda m: np.full(m, np.nan)),
            *(lambda m: [[0.5] * m], lambda m: {0: 0.5}, lambda m: [0.5 + 0.0j] * m),
        ],
    ),
    "objective": Choice(["ensemble", "members"], ["models", None]),
    "penalty": Choice(
        [None, ExpectedSize(0.01), ExpectedSize(0.0)],
        [
            *(ExpectedSize(1e300), ExpectedSize(-1.0), ExpectedSize(math.nan), ExpectedSize("x")),
            *(ExpectedSize(None), FusedLasso(0.1, [(0, 1)]), FusedLasso(0.1, [(0, 99)])),
            *(FusedLasso(0.1, []), FusedLasso(1e300, [(0, 0)]), 0.1, "size"),
            ExpectedSize(0.1) + ExpectedSize(-0.1),
        ],
    ),
    "feature_groups": Choice(
        [None, lambda m: [0] * m, lambda m: list(range(m)), lambda m: [[0]]],
        [
            *("prefix", "suffix", [], [[]], [[99]], [["a_0"]], {"g": [0, 0]}, {"g": "a_*"}, {}),
            *(lambda m: [0] * (m + 1), lambda m: [None] * m, lambda m: [math.nan] * m),
            *(lambda m: [[0]] * m, lambda m: [True] * m, lambda m: [[0.5]], lambda m: {0: 0}),
            *(lambda m: [{}] * m, lambda m: np.zeros((m, 1)), lambda m: [[0], 1]),
        ],
    ),
    "categorical_features": Choice(
        ["auto", None, "from_dtype"],
        [
            *([], [0], [99], [-1], ["a_0"], ["kind"], [0.5], [[0]], [None], [True], "all", 0),
            lambda m: np.ones(m, dtype=bool),
            lambda m: np.arange(m),
        ],
    ),
    "max_iter": Choice([1, 2, 3], [0, -1, 1.5, True, "3", math.nan, math.inf, [1]]),
    "learning_rate": Choice([1e-3, 0.5], [1e-320, 1e300, 1, 0.0, -1, *NO_NUMBERS]),
    "n_batches": Choice([2, 3, 50], [1, 0, 10**30, 2.5, *NO_NUMBERS]),
    "max_samples": Choice([None, 2, 3, 0.5, 1.0], [1e-300, 10**30, 1, 0, 1.5, math.nan, "all"]),
    "ess_threshold": Choice([0.0, 0.5, 1.0], [-0.1, 1.1, 1, *NO_NUMBERS]),
    "refresh": Choice(
        ["fresh", "window", "coupled", Window(1), Window(2), Window(10)],
        ["stale", None, Window, *(Window(n) for n in (0, 10**30, 1.5, True, *NO_NUMBERS))],
    ),
    "n_revivals": Choice([0, 1, 2], [50, -1, 1.5, *NO_NUMBERS]),
    "revival_level": Choice(["auto", 0.02, 0.5], [1e-320, 0.0, 1.0, 1, *NO_NUMBERS]),
    "baseline": Choice(["optimal", "weighted", "paper", "none"], ["mean", 0, None]),
    "self_normalize": Choice([True, False], ["yes", None]),
    "n_repeats": Choice(["auto", 1, 2], [7, 0, -1, 1.5, True, *NO_NUMBERS]),
    "n_iter_no_change": Choice([None, 1, 2], [0, 1.5, "1"]),
    "tol": Choice([1e-4, 0.0], [1e300, 1, -1, *NO_NUMBERS]),
    # Instead of all of the above that are its parameters.
    "solver": Choice(
        [None, Solver.quick(), Solver(n_batches=2, max_iter=2, n_revivals=1)],
        [Solver, "quick", 5e-4, Window(2), *(Solver(max_iter=n) for n in (0, 1.5, *NO_NUMBERS))],
    ),
    "distribution": Choice(
        ["auto", Bernoulli],
        [lambda m: Bernoulli(m + 1), lambda m: Bernoulli(max(m, 1), 0.49), "normal", None],
    ),
    "optimizer": Choice(
        ["auto", *OPTIMIZERS],
        [
            *(FisherAdam(1e300), FisherAdam(0.1, noise=1e300), FisherAdam(0.1, noise=0.0)),
            *(FisherAdam(0.1, noise=-1.0), FisherAdam(0.1, noise="x"), FisherAdam(math.nan)),
            *(ProjectedAdam(-1.0), ProjectedAdam(math.nan), ProjectedAdam(0.1, beta1=1.0)),
            *(ProjectedAdam(1e300), LogitAdam(1e300), ProjectedGradientDescent(1e300)),
            *(ProjectedAdam("fast"), ProjectedAdam(0.1, eps=0.0), "newton", None, 0.1),
        ],
    ),
}

PRS_CLASSIFIER: Mapping[str, Choice] = {
    **PRS,
    "voting": Choice(["auto", "hard"], ["soft", "both", None, 1]),
    "calibrate": Choice([True, False], ["yes", 2, None]),
    "loss": Choice(
        ["auto", "cross_entropy", "squared_error"],
        ["huber", "poisson", CrossEntropy(1e-300), CrossEntropy(2.0), CrossEntropy("x"), "l1", 0],
    ),
}
PRS_REGRESSOR: Mapping[str, Choice] = {
    **PRS,
    "loss": Choice(
        ["auto", "squared_error", "huber", "poisson"],
        [
            *("cross_entropy", Huber(1e-300), Huber(1e300), Huber(-1.0), Huber("x"), "l1", None),
            *(PoissonDeviance(1e-300), PoissonDeviance(0.0), SquaredError, SquaredError()),
        ],
    ),
}
RANDOM_SUBSPACE: Mapping[str, Choice] = {
    **COMMON,
    "max_features": Choice(
        ["validation", "sqrt", 1, 0.5, 1.0],
        [2, 99, 0, -1, 1e-300, 1.5, True, math.nan, "all", None],
    ),
}
RASE: Mapping[str, Choice] = {
    **COMMON,
    "n_candidates": Choice([1, 2, 4], [0, -1, 1.5, *NO_NUMBERS]),
    "max_iter": Choice([1, 2], [0, -1, 1.5, *NO_NUMBERS]),
    "max_size": Choice(["auto", 1], [2, 99, 0, 1.5, None, "all"]),
    "threshold": Choice([0.1, 1.0], [1e-320, 1e300, 0.0, -1, *NO_NUMBERS]),
    "alpha_init": PRS["alpha_init"]._replace(tame=[0.05, 0.5, lambda m: np.linspace(0.1, 1.0, m)]),
    "cv": Choice(
        [2, 3, None],
        [
            *(1, 0, 99, 2.5, True, KFold(2), KFold(99), "folds", [], [([0], [1])], [([0, 1],)]),
            *([([0, 1, 2, 3], [4])], [([0], [99])], [([0.5], [1])], [([0, 1], [])], [0]),
        ],
    ),
}
RASE_CLASSIFIER = {**RASE, **VOTING, "tune_cutoff": Choice([False, True], ["yes", None])}

NETWORK: Mapping[str, Choice] = {
    **{
        name: choice
        for name, choice in PRS.items()
        if name
        not in {
            *("standardize", "penalty", "feature_groups", "categorical_features", "distribution"),
            "n_iter_no_change",
        }
    },
    "n_repeats": Choice([1, 2], [0, 1.5, "auto", *NO_NUMBERS]),
    "shadows": Choice([False, True], ["yes", None]),
    "mixing": Choice(["shares", "apart"], ["both", None]),
    "alpha_init": Choice(["auto", 0.5, 0.9], [1e-300, 0.0, 1.0, -1, [0.5], *NO_NUMBERS]),
    "lam": Choice([0.0, 0.01, "path"], [1e300, 5e-324, -1, math.nan, math.inf, "auto", None]),
    "lams": Choice([(0.0, 0.01), [0.01]], [[], [-1.0], [math.nan], ["x"], [[0.1]], 0.1, None]),
    "lam_choice": Choice(["one_se", "lowest"], ["best", None]),
    "ranking": Choice(["mean", "alpha"], ["max", None]),
    "block_size": Choice([1, 2, 100], [0, 1.5, *NO_NUMBERS]),
}

# So that a fit takes milliseconds; the other parameters have their defaults.
SMALL: Mapping[str, Mapping[str, Any]] = {
    "PRS": {"n_estimators": 3, "max_iter": 2, "n_batches": 2, "n_revivals": 0, "alpha_init": 0.6},
    "RandomSubspace": {"n_estimators": 3},
    "RaSE": {"n_estimators": 2, "n_candidates": 2, "max_iter": 2, "cv": 2},
    "PRSNetwork": {
        **{"n_estimators": 3, "max_iter": 2, "n_batches": 2, "n_revivals": 0, "alpha_init": 0.6},
        "lams": (0.0, 0.01),
    },
}


def parameters(
    draw: Any, choices: Mapping[str, Choice], small: str, hostile: set[str], n_columns: int
) -> dict[str, Any]:
    """A few parameters, with values of which at most one is hostile."""
    given = {**SMALL[small], "random_state": 0}
    names = draw(st.lists(st.sampled_from(list(choices)), max_size=4, unique=True))
    for name in names:
        given[name] = draw(st.sampled_from(choices[name].tame))
    if "parameters" in hostile:
        name = draw(st.sampled_from(list(choices)))
        given[name] = draw(st.sampled_from(choices[name].hostile))
    if "solver" in given:
        given = {name: value for name, value in given.items() if name not in KNOBS}
    return {
        name: value(n_columns) if _is_made(value) and n_columns else value
        for name, value in given.items()
    }


def _is_made(value: Any) -> bool:
    """Whether a value depends on the number of columns."""
    return value is Bernoulli or getattr(value, "__name__", "") == "<lambda>"


def base_model(draw: Any, of: Mapping[str, Any], hostile: set[str]) -> tuple[str, Any]:
    """A base model with its name."""
    name, make = pick(draw, of[kind("base", hostile)])
    return name, make()

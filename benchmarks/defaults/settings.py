"""Settings that the study compares: the paper's, candidates, and variations of one of them.

Each is a change of the paper's setting. All relevant parameters are given explicitly, so that a
change of the defaults does not change the study.
"""

from typing import Any

from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub.datasets import make_checkerboard, make_friedman, make_hypercube, make_linear

PROBLEMS = {
    "checkerboard": make_checkerboard,
    "friedman": make_friedman,
    "hypercube": make_hypercube,
    "linear": make_linear,
}
BASES = {
    "knn": (KNeighborsRegressor(), KNeighborsClassifier()),
    "tree": (DecisionTreeRegressor(), DecisionTreeClassifier()),
    "svm": (SVR(), SVC()),
}
N_TRAIN, N_VAL, N_TEST = 300, 100, 1000

PAPER: dict[str, Any] = {
    "n_estimators": 100,
    "n_repeats": 1,
    "max_iter": 3000,
    "learning_rate": 1e-3,
    "n_batches": 10,
    "ess_threshold": 0.9,
    "refresh": "fresh",
    "n_revivals": 0,
    "revival_level": 0.02,
    "n_iter_no_change": None,
    "self_normalize": False,
    "baseline": "weighted",
    "voting": "hard",
    "optimizer": "adam",
    "bootstrap": False,
}

# Common to the candidates: weights that add up to 1, five batches (so that each model is asked
# about a fifth of the rows instead of a tenth), refreshes at an ESS of 0.7, fewer epochs.
SHORT = {"self_normalize": True, "n_batches": 5, "ess_threshold": 0.7, "max_iter": 800}
FRESH = {**SHORT, "n_revivals": 1}
WINDOW = {**FRESH, "refresh": "window"}
LOGIT = {**SHORT, "refresh": "window", "optimizer": "logit_adam", "learning_rate": 0.02}
# Base models without probabilities vote.
SOFT = {"voting": "soft"}
# Steps in the metric of the distribution, which are the same from ten features to a hundred
# thousand.
ONE_RULE = {
    "self_normalize": True,
    "n_batches": 5,
    "ess_threshold": 0.35,
    "n_revivals": 2,
    "revival_level": "auto",
    "n_iter_no_change": 150,
    "max_iter": 900,
    "learning_rate": 1.2e-3,
    "optimizer": "fisher_adam",
}

CANDIDATES: dict[str, dict[str, Any]] = {
    "fresh, hard": FRESH,
    "fresh, hard, ESS 0.5": {**FRESH, "ess_threshold": 0.5},
    "fresh, hard, ESS 0.5, 1600 epochs, 2 revivals": {
        **FRESH,
        "ess_threshold": 0.5,
        "max_iter": 1600,
        "n_revivals": 2,
    },
    "fresh, hard, ESS 0.5, 2400 epochs at 5e-4, 2 revivals": {
        **FRESH,
        "ess_threshold": 0.5,
        "learning_rate": 5e-4,
        "max_iter": 2400,
        "n_revivals": 2,
    },
    "fresh, hard, ESS 0.4": {**FRESH, "ess_threshold": 0.4},
    "window, hard": WINDOW,
    "window, soft": {**WINDOW, **SOFT},
    "logit, hard": LOGIT,
    "logit, soft": {**LOGIT, **SOFT},
    "one rule for all widths": ONE_RULE,
    "one rule, trees on bootstrap samples": {**ONE_RULE, "bootstrap": "auto"},
    # As users have it: the fit sets its validation samples aside, and the members see all 400.
    "one rule, own validation samples": {**ONE_RULE, "bootstrap": "auto", "splits": True},
    "one rule, five repeats": {**ONE_RULE, "bootstrap": "auto", "n_repeats": 5, "splits": True},
}
CENTER = CANDIDATES["fresh, hard, ESS 0.5, 2400 epochs at 5e-4, 2 revivals"]

# One factor at a time, around the candidate that was chosen first.
AROUND: dict[str, dict[str, Any]] = {
    "10 batches": {**CENTER, "n_batches": 10},
    "3 batches": {**CENTER, "n_batches": 3},
    "200 masks": {**CENTER, "n_estimators": 200},
    "50 masks": {**CENTER, "n_estimators": 50},
    "rate 2e-3, 600 epochs": {**CENTER, "learning_rate": 2e-3, "max_iter": 600},
    "ESS 0.7": {**CENTER, "ess_threshold": 0.7},
    "no revival": {**CENTER, "n_revivals": 0},
    "1 revival": {**CENTER, "n_revivals": 1},
    "revivals to 0.05": {**CENTER, "revival_level": 0.05},
    "window of 10": {**CENTER, "refresh": "window"},
    "coupled refresh": {**CENTER, "refresh": "coupled"},
    "optimal baseline": {**CENTER, "baseline": "optimal"},
    "patience 200": {**CENTER, "n_iter_no_change": 200},
    "averaged theta": {**CENTER, "averaged": 0.98},
    "soft votes": {**CENTER, **SOFT},
    "weights over T": {**CENTER, "self_normalize": False},
}

STAGES: dict[str, dict[str, dict[str, Any]]] = {
    "candidates": {"paper": {}, **CANDIDATES},
    "around the former choice": AROUND,
}
SETTINGS = {
    name: {**PAPER, **change} for stage in STAGES.values() for name, change in stage.items()
}

# One name, one setting: results are kept by name.
assert len(SETTINGS) == sum(map(len, STAGES.values()))

# What became the defaults of PRSClassifier and PRSRegressor.
CHOSEN = {**PAPER, **CANDIDATES["one rule, trees on bootstrap samples"]}

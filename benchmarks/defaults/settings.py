"""The settings that the study compares, in the stages in which it screened them.

Each is what is changed in the paper's setting. A later stage starts from what did best before.
"""

from typing import Any

PAPER: dict[str, Any] = {
    "n_estimators": 100,
    "max_iter": 3000,
    "learning_rate": 1e-3,
    "n_batches": 10,
    "ess_threshold": 0.9,
    "refresh": "fresh",
    "n_revivals": 0,
    "n_iter_no_change": None,
    "self_normalize": False,
    "voting": "hard",
    "optimizer": "adam",
}

SOFT = {"self_normalize": True, "voting": "auto"}
WINDOW = {**SOFT, "refresh": "window", "n_generations": 10}
REVIVED = {**WINDOW, "ess_threshold": 0.7, "max_iter": 1500, "n_revivals": 2, "revival_level": 0.02}

STAGES: dict[str, dict[str, dict[str, Any]]] = {
    "weights and votes": {
        "paper": {},
        "self-normalised": {"self_normalize": True},
        "soft votes": SOFT,
    },
    "refresh": {
        "fresh, ESS 0.7": {**SOFT, "ess_threshold": 0.7},
        "fresh, ESS 0.5": {**SOFT, "ess_threshold": 0.5},
        "window of 10": WINDOW,
        "window of 10, ESS 0.7": {**WINDOW, "ess_threshold": 0.7},
        "window of 5, ESS 0.7": {**WINDOW, "n_generations": 5, "ess_threshold": 0.7},
        "coupled": {**SOFT, "refresh": "coupled"},
    },
    "revival": {
        "window, 2 revivals, 1500 epochs": REVIVED,
        "window, 1 revival": {**REVIVED, "n_revivals": 1},
        "window, 3 revivals": {**REVIVED, "n_revivals": 3},
        "window, 4 revivals": {**REVIVED, "n_revivals": 4},
        "window, 2 revivals to 0.01": {**REVIVED, "revival_level": 0.01},
        "window, 2 revivals to 0.05": {**REVIVED, "revival_level": 0.05},
        "window, 2 revivals, ESS 0.5": {**REVIVED, "ess_threshold": 0.5},
        "window, 2 revivals, ESS 0.9": {**REVIVED, "ess_threshold": 0.9},
        "fresh, 2 revivals": {**REVIVED, "refresh": "fresh"},
    },
    "rate": {
        "window, 2 revivals, rate 2e-3, 750 epochs": {
            **REVIVED,
            "learning_rate": 2e-3,
            "max_iter": 750,
        },
        "window, 2 revivals, rate 5e-3, 300 epochs": {
            **REVIVED,
            "learning_rate": 5e-3,
            "max_iter": 300,
        },
        "window, 2 revivals, rate 2e-3, 600 epochs, ESS 0.5": {
            **REVIVED,
            "learning_rate": 2e-3,
            "max_iter": 600,
            "ess_threshold": 0.5,
        },
        "window, 2 revivals, rate 5e-3, 300 epochs, ESS 0.5": {
            **REVIVED,
            "learning_rate": 5e-3,
            "max_iter": 300,
            "ess_threshold": 0.5,
        },
        "fresh, 2 revivals, rate 5e-3, 300 epochs, ESS 0.5": {
            **REVIVED,
            "refresh": "fresh",
            "learning_rate": 5e-3,
            "max_iter": 300,
            "ess_threshold": 0.5,
        },
    },
    "the rest": {
        "window, 2 revivals, patience 100": {**REVIVED, "n_iter_no_change": 100},
        "window, 2 revivals, averaged": {**REVIVED, "averaged": 0.98},
        "window, 2 revivals, 50 masks": {**REVIVED, "n_estimators": 50},
        "window, 2 revivals, 200 masks, 750 epochs, rate 2e-3": {
            **REVIVED,
            "n_estimators": 200,
            "learning_rate": 2e-3,
            "max_iter": 750,
        },
        "logit 0.02, window": {
            **WINDOW,
            "optimizer": "logit_adam",
            "learning_rate": 0.02,
            "ess_threshold": 0.7,
            "max_iter": 1500,
        },
        "logit 0.05, window": {
            **WINDOW,
            "optimizer": "logit_adam",
            "learning_rate": 0.05,
            "ess_threshold": 0.7,
            "max_iter": 600,
        },
    },
}

SETTINGS = {
    name: {**PAPER, **change} for stage in STAGES.values() for name, change in stage.items()
}

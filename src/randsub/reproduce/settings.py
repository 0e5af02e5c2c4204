"""The settings of PRS: the paper's, and the constructor's."""

from collections.abc import Mapping
from typing import Any, Final

# All of them: another default of the constructor must not change what "paper" means.
PAPER: Final[Mapping[str, Any]] = {
    "n_estimators": 100,
    "alpha_init": 0.05,
    "distribution": "auto",
    "feature_groups": None,
    "loss": "auto",
    "objective": "ensemble",
    "penalty": None,
    "standardize": True,
    "engine": "auto",
    "max_samples": None,
    # Not used where there are validation samples, one generation, no revival, no early stop.
    "validation_fraction": 0.2,
    "n_generations": 10,
    "revival_level": 0.02,
    "tol": 1e-4,
    "max_iter": 3000,
    "learning_rate": 1e-3,
    "n_batches": 10,
    "ess_threshold": 0.9,
    "refresh": "fresh",
    "n_revivals": 0,
    "n_iter_no_change": None,
    "self_normalize": False,
    "baseline": "weighted",
    "voting": "hard",
    "optimizer": "adam",
}
SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {"paper": PAPER, "defaults": {}}
# What the paper's settings mean for a network beside those of the same name: links are ranked by
# alpha itself. Its coefficients were each trained from the start, ours follow a path.
_PAPER_NETWORK: Final[Mapping[str, Any]] = {"link_weight": "alpha", "lam_choice": "lowest"}

# Where and how it runs, and how frames are read (all data here are arrays of numbers): without
# influence on the result.
_OF_THE_RUN = (
    "estimator",
    "n_jobs",
    "task_timeout",
    "random_state",
    "verbose",
    "categorical_features",
)


def prs_parameters(changes: Mapping[str, Any], epochs: int | None = None) -> dict[str, Any]:
    """Every parameter of PRS under a setting.

    In full, so that a cell computed with other defaults is not taken for one of today's.

    Parameters
    ----------
    changes : mapping
        What the setting changes in the constructor's defaults.
    epochs : int, default=None
        Number of epochs in place of the setting's.

    Returns
    -------
    params : dict
        Keyword arguments for :class:`randsub.PRSClassifier`; regressors have no ``voting``.
    """
    from randsub import PRSClassifier

    return _in_full(PRSClassifier(), changes, epochs)


def network_parameters(setting: str, epochs: int | None = None) -> dict[str, Any]:
    """Every parameter of PRS for networks under a setting, with a path of penalties.

    Parameters
    ----------
    setting : {"paper", "defaults"}
    epochs : int, default=None
        Number of epochs in place of the setting's.

    Returns
    -------
    params : dict
        Keyword arguments for :class:`randsub.network.PRSNetwork`.
    """
    from randsub.network import PRSNetwork

    model = PRSNetwork()
    known = model.get_params(deep=False)
    changes = {name: value for name, value in SETTINGS[setting].items() if name in known}
    if setting == "paper":
        changes |= _PAPER_NETWORK
    return {**_in_full(model, changes, epochs), "lams": list(model.lams)}


def _in_full(model: Any, changes: Mapping[str, Any], epochs: int | None) -> dict[str, Any]:
    params = {**model.get_params(deep=False), **changes}
    if epochs is not None:
        params["max_iter"] = epochs
    return {name: value for name, value in params.items() if name not in _OF_THE_RUN}

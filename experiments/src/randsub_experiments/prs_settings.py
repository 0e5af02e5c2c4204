"""Settings of PRS: those of the paper, and the defaults of the estimators."""

from collections.abc import Mapping
from typing import Any, Final

from randsub import PRSClassifier, PRSRegressor
from randsub.estimators.portfolio import Task, everything
from randsub.network import PRSNetwork

# In full: a new default of the estimator must not change what "paper" means.
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
    "bootstrap": False,
    "n_repeats": 1,
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
    "calibrate": False,
    "optimizer": "adam",
}
SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {"paper": PAPER, "defaults": {}}
# What "paper" means for the further parameters of a network: links are ranked by alpha itself. In
# the paper every coefficient was trained from the start, ours follow a path.
_PAPER_NETWORK: Final[Mapping[str, Any]] = {"ranking": "alpha", "lam_choice": "lowest"}

# These do not influence the result: where and how a fit runs, and how frames are read (all data
# here are arrays of numbers). The solver's parameters stand beside the others.
_WITHOUT_INFLUENCE = (
    "estimator",
    "solver",
    "device",
    "n_jobs",
    "task_timeout",
    "random_state",
    "verbose",
    "categorical_features",
)

# Such as the way in which members vote.
CLASSIFIERS_ONLY: Final = tuple(
    sorted({*PRSClassifier().get_params(deep=False)} - {*PRSRegressor().get_params(deep=False)})
)


def prs_parameters(changes: Mapping[str, Any], epochs: int | None = None) -> dict[str, Any]:
    """Every parameter of PRS under a setting.

    In full, so that a cell computed with other defaults is not mistaken for one of today's.

    Parameters
    ----------
    changes : mapping
        Parameters that the setting changes; the others keep their defaults.
    epochs : int, default=None
        Number of epochs in place of the setting's.

    Returns
    -------
    params : dict
        For :func:`with_solver`; regressors do not have those of ``CLASSIFIERS_ONLY``.
    """
    return _in_full(PRSClassifier(), changes, epochs)


def portfolio_parameters() -> dict[str, Any]:
    """The base models that ``PRS*("auto")`` chooses among, in words.

    With them, a cell computed with another portfolio is not mistaken for one of today's.

    Returns
    -------
    params : dict
        "portfolio": for each task the base models by name.
    """
    tasks: tuple[Task, ...] = ("regression", "classification")
    words = {task: {name: repr(base) for name, base in everything(task)} for task in tasks}
    return {"portfolio": words}


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
        For :func:`with_solver`.
    """
    model = PRSNetwork()
    known = _in_full(model, {}, None)
    changes = {name: value for name, value in SETTINGS[setting].items() if name in known}
    if setting == "paper":
        changes |= _PAPER_NETWORK
    params = {**_in_full(model, changes, epochs), "lams": list(model.lams)}
    # No plateau ends the training of a network.
    del params["tol"]
    return params


def with_solver(params: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of a PRS estimator.

    Parameters
    ----------
    params : mapping
        Those of the estimator and of its solver in one list, as cells keep them.
    """
    from randsub.solver import Solver, Window

    rest = dict(params)
    n_generations = rest.pop("n_generations")
    numbers = {name: rest.pop(name) for name in Solver().get_params(deep=False) if name in rest}
    if numbers["refresh"] == "window":
        numbers["refresh"] = Window(n_generations)
    return {**rest, "solver": Solver(**numbers)}


def _in_full(model: Any, changes: Mapping[str, Any], epochs: int | None) -> dict[str, Any]:
    solver = model._solver().get_params(deep=False)
    params = {**model.get_params(deep=False), **solver, "n_generations": 10, **changes}
    if epochs is not None:
        params["max_iter"] = epochs
    return {name: value for name, value in params.items() if name not in _WITHOUT_INFLUENCE}

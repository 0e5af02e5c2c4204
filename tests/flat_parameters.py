"""Parameters of a model written in one list, those of its solver beside the others."""

from typing import Any

from sklearn.base import clone

from randsub.solver import Solver, Window

KNOBS = frozenset(Solver().get_params(deep=False)) - {"max_iter"}


def flat(**params: Any) -> dict[str, Any]:
    """What PRSClassifier and PRSRegressor take, from such a list."""
    return _moved(Solver(), params)


def flat_network(**params: Any) -> dict[str, Any]:
    """What PRSNetwork takes, from such a list."""
    return _moved(Solver.for_networks(), params)


def nested(**params: Any) -> dict[str, Any]:
    """What ``set_params`` takes, from such a list."""
    return {f"solver__{name}" if name in KNOBS else name: v for name, v in params.items()}


def _moved(default: Solver, params: dict[str, Any]) -> dict[str, Any]:
    knobs = {name: params.pop(name) for name in [*params] if name in KNOBS}
    n_generations = params.pop("n_generations", None)
    if n_generations is not None and knobs.get("refresh") == "window":
        knobs["refresh"] = Window(n_generations)
    if knobs:
        params["solver"] = clone(params.get("solver") or default).set_params(**knobs)
    return params

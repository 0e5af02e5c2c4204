"""The parameters of a model, and of its solver, that options set."""

import argparse
from typing import Any

from randsub.solver import Solver, Window


def set_parameters(model: Any, args: argparse.Namespace, default: Solver) -> Any:
    """Set ``--solver``, ``--param``, ``--epochs`` and ``--max-samples`` on a model.

    Parameters
    ----------
    model : PRSClassifier, PRSRegressor or PRSNetwork
    args : argparse.Namespace
        Names in ``param`` are parameters of the model or of its solver.
    default : Solver
        The solver of this model, unless ``--solver`` names another.
    """
    params = dict(args.param)
    solver = default if args.solver is None else getattr(Solver, args.solver)()
    if "n_generations" in params:
        if params.get("refresh", solver.refresh) != "window":
            raise ValueError(
                "--param n_generations belongs to refresh=window; write --param refresh=window too."
            )
        params["refresh"] = Window(params.pop("n_generations"))
    if "solver" in params:
        raise ValueError(
            "--param solver: choose one with --solver, and set its parameters by their names, such "
            "as --param learning_rate=1e-3."
        )
    if params.get("baseline", "") is None:
        # Read as Python's None, as --param n_jobs=none is.
        params["baseline"] = "none"
    of_model, of_solver = model.get_params(deep=False), solver.get_params(deep=False)
    for name in params:
        if name not in of_model and name not in of_solver:
            raise ValueError(
                f"--param {name}: {type(model).__name__} has no such parameter; it has "
                f"{', '.join(sorted(set(of_model) - {'solver'}))}, and its solver has "
                f"{', '.join(sorted([*of_solver, 'n_generations']))}."
            )
    model.set_params(**{name: value for name, value in params.items() if name in of_model})
    solver.set_params(**{name: value for name, value in params.items() if name not in of_model})
    if args.epochs is not None:
        model.set_params(max_iter=args.epochs)
    if args.max_samples is not None:
        model.set_params(max_samples=args.max_samples)
    return model.set_params(solver=solver)

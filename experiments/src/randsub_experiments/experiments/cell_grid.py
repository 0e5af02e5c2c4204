"""The cells of one dataset: every requested method with every base model and setting."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from randsub_experiments.cells import Cell
from randsub_experiments.experiments.base import Options
from randsub_experiments.prs_settings import SETTINGS, portfolio_parameters, prs_parameters

N_ESTIMATORS: Final = 100
WITHOUT_BASE: Final = ("auto", "rf", "gbdt", "hgb", "stack", "l1")


def method_cells(
    experiment: str,
    problem: str,
    replicate: int,
    options: Options,
    conditions: Mapping[str, Any],
    *,
    data: str | None = None,
    more: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Iterator[Cell]:
    """Cells for each method, base model and setting of the options.

    ``data`` is a fingerprint of the dataset, unless it is generated; ``more`` has further
    parameters of methods, by their names.
    """
    for method in options.methods:
        bases = ("",) if method in WITHOUT_BASE else options.bases
        settings = {"prs": options.settings, "auto": ("defaults",)}.get(method, ("",))
        for base in bases:
            for setting in settings:
                params = {**_parameters(method, setting, options), **more.get(method, {})}
                if data is not None:
                    params["data"] = data
                yield Cell(
                    experiment, problem, replicate, method, base, setting, conditions, params
                )


def _parameters(method: str, setting: str, options: Options) -> dict[str, Any]:
    if method in ("single", "tuned", "l1"):
        return {}
    if method == "stack":
        return portfolio_parameters()
    if method == "prs":
        return prs_parameters(SETTINGS[setting], options.epochs)
    if method == "auto":
        return {**prs_parameters(SETTINGS[setting], options.epochs), **portfolio_parameters()}
    if method == "hgb":
        return {"max_iter": N_ESTIMATORS}
    if method == "rase":
        return rase_parameters(options)
    return {"n_estimators": N_ESTIMATORS}


def rase_parameters(options: Options) -> dict[str, Any]:
    """Parameters of RaSE under the options."""
    return {
        "n_estimators": N_ESTIMATORS,
        "n_candidates": options.rase_candidates,
        "max_iter": options.rase_iterations,
    }

"""Fit one model many times, with different seeds and on different rows, for its importances."""

from collections.abc import Sequence
from contextlib import closing, nullcontext
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import has_fit_parameter

from randsub._progress import Bar
from randsub._sklearn import get_feature_importances
from randsub._tables import take_rows
from randsub._typing import FloatArray, IntArray
from randsub.estimators.fit_data import Samples
from randsub.parallel import WorkerPool, on_one_worker
from randsub.solver.state import was_interrupted

SEED = "random_state"


class Replicate(NamedTuple):
    """Rows of X and seed of one fit."""

    rows: IntArray
    seed: int


class RepeatedFits(NamedTuple):
    """Importances of all fits.

    Parameters
    ----------
    importances : ndarray of shape (n_runs, n_columns)
    groups : int ndarray of shape (n_columns,)
        Feature group of each column; columns of a group share one importance.
    """

    importances: FloatArray
    groups: IntArray


def fit_repeatedly(
    estimator: Any,
    samples: Samples,
    replicates: Sequence[Replicate],
    *,
    importance_getter: Any = "auto",
    n_jobs: int | None = None,
    description: str = "",
) -> RepeatedFits:
    """Fit a clone per replicate and collect the importances.

    Replicates are the only level of parallelism: if several run at the same time, each has one
    worker. A progress bar is shown if there is a ``description`` for it.
    """
    pool = WorkerPool(n_jobs, "processes")
    alone = pool.size() == 1
    calls = [
        delayed(importances_of_fit)(estimator, samples, replicate, importance_getter, alone)
        for replicate in replicates
    ]
    with closing(Bar(description, len(calls), "run", shown=bool(description))) as bar:
        found = pool.run_all(calls, lambda answer: bar.advance())
    return RepeatedFits(np.array([importances for importances, _ in found]), found[0][1])


def importances_of_fit(
    estimator: Any, samples: Samples, replicate: Replicate, getter: Any, alone: bool
) -> tuple[FloatArray, IntArray]:
    """Importances of one fit, (n_columns,), and the feature group of each column."""
    X, y, sample_weight, _ = samples
    rows, n_columns = replicate.rows, X.shape[1]
    model = seeded(without_repeats(clone(estimator)), replicate.seed)
    own = model.get_params(deep=False)
    if "n_jobs" in own and not alone:
        model.set_params(n_jobs=1)
    if own.get("verbose"):
        # One progress bar over all fits instead of one per fit.
        model.set_params(verbose=False)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight[rows]}
    with nullcontext() if alone else on_one_worker():
        model.fit(take_rows(X, rows), y[rows], **weights)
    if was_interrupted(getattr(model, "stop_reason_", None)):
        # An interrupted model keeps its best alpha so far, which is not comparable with the others.
        raise KeyboardInterrupt
    importances = np.asarray(
        get_feature_importances(model, getter, transform_func="norm"), dtype=float
    )
    if importances.shape != (n_columns,):
        raise ValueError(
            f"{type(model).__name__} gives importances of shape {importances.shape}, but X has "
            f"{n_columns} columns: importance_getter must return one importance per column."
        )
    if not np.isfinite(importances).all():
        raise ValueError(f"{type(model).__name__} gives importances that are not finite numbers.")
    return importances, getattr(model, "feature_groups_", np.arange(n_columns))


def without_repeats(model: Any) -> Any:
    """The model with one repeat per fit where it has ``n_repeats="auto"``.

    Each fit has its own seed, and so its own validation split: the fits are the repeats.
    """
    automatic = [
        name
        for name, value in model.get_params().items()
        if name.split("__")[-1] == "n_repeats" and isinstance(value, str) and value == "auto"
    ]
    return model.set_params(**dict.fromkeys(automatic, 1))


def seeded(model: Any, seed: int) -> Any:
    """The model with new values for ``random_state``.

    Only the outermost estimators that have the parameter are set; they seed their own parts.
    """
    rng = np.random.RandomState(seed)
    names = [name for name in model.get_params() if name == SEED or name.endswith(f"__{SEED}")]
    owners: list[str] = []
    seeds: dict[str, int] = {}
    for name in sorted(names, key=lambda name: (name.count("__"), name)):
        owner = name.removesuffix(SEED)
        if not any(owner.startswith(outer) for outer in owners):
            owners.append(owner)
            seeds[name] = int(rng.randint(np.iinfo(np.int32).max))
    return model.set_params(**seeds)


def draw_seeds(n_runs: int, rng: np.random.RandomState) -> list[int]:
    """One seed per run, all drawn before the work is split."""
    return rng.randint(np.iinfo(np.int32).max, size=n_runs).tolist()


def check_weights_are_taken(estimator: Any, sample_weight: Any) -> None:
    """Raise if the estimator would ignore the weights."""
    if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but fit of {type(estimator).__name__} takes none."
        )

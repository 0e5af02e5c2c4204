"""One model, trained many times: with other seeds, on other rows; its importances are kept."""

from collections.abc import Sequence
from contextlib import closing, nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.feature_selection._base import _get_feature_importances
from sklearn.utils import check_array
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import has_fit_parameter

from randsub._tables import frame_kind, take_rows
from randsub._typing import FloatArray, IntArray, Table
from randsub.engines import Crew, ask_all, on_one_worker
from randsub.training.callbacks import Bar

SEED = "random_state"


class Run(NamedTuple):
    """What differs from run to run: the rows of X, in order, and the seed."""

    rows: IntArray
    seed: int


class Repetition(NamedTuple):
    """What the runs gave.

    Parameters
    ----------
    importances : ndarray of shape (n_runs, n_columns)
    groups : int ndarray of shape (n_columns,)
        Columns with the same number share one importance: those that the model draws together.
    """

    importances: FloatArray
    groups: IntArray


def repeat(
    estimator: Any,
    X: Table,
    y: Any,
    sample_weight: FloatArray | None,
    runs: Sequence[Run],
    *,
    importance_getter: Any = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
    description: str = "runs",
) -> Repetition:
    """Train a clone in each run, and gather the importances.

    The runs are the only level of parallelism: where several go at a time, each has one worker.
    """
    crew = Crew(n_jobs, "processes")
    alone = crew.size() == 1
    calls = [
        delayed(_importances)(estimator, X, y, sample_weight, run, importance_getter, alone)
        for run in runs
    ]
    bar = Bar(description, len(runs), "run", shown=bool(verbose))
    with closing(bar):
        found = ask_all(crew, calls, bar.advance)
    return Repetition(np.array([importances for importances, _ in found]), found[0][1])


def _importances(
    estimator: Any,
    X: Table,
    y: Any,
    sample_weight: FloatArray | None,
    run: Run,
    getter: Any,
    alone: bool,
) -> tuple[FloatArray, IntArray]:
    """Importances of one run, (n_columns,), and the group of each column."""
    model = seeded(clone(estimator), run.seed)
    own = model.get_params(deep=False)
    if "n_jobs" in own and not alone:
        model.set_params(n_jobs=1)
    if own.get("verbose"):
        # One bar over the runs, rather than one for each.
        model.set_params(verbose=False)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight[run.rows]}
    with nullcontext() if alone else on_one_worker():
        model.fit(take_rows(X, run.rows), y[run.rows], **weights)
    if getattr(model, "stop_reason_", None) == "interrupted":
        # A model keeps the best so far; a run that ended early is not comparable with the others.
        raise KeyboardInterrupt
    importances = np.asarray(
        _get_feature_importances(model, getter, transform_func="norm"), dtype=float
    )
    n_columns = X.shape[1]
    if importances.shape != (n_columns,):
        raise ValueError(
            f"{type(model).__name__} gives importances of shape {importances.shape}, but X has "
            f"{n_columns} columns: importance_getter must give one importance for each column."
        )
    if not np.isfinite(importances).all():
        raise ValueError(f"{type(model).__name__} gives importances that are not finite numbers.")
    return importances, getattr(model, "feature_groups_", np.arange(n_columns))


def seeded(model: Any, seed: int) -> Any:
    """The model with its seed replaced.

    Parts of an estimator that has a seed of its own get theirs from it, and are left alone.
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
    """A seed for each run, all drawn before the work is split."""
    return [int(seed) for seed in rng.randint(np.iinfo(np.int32).max, size=n_runs)]


def as_table(X: Table) -> Table:
    """X with rows that can be taken; what is in it is the model's business."""
    if frame_kind(X) is not None:
        return X
    if issparse(X):
        return X.tocsr()
    return check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=0)


def check_weights_are_taken(estimator: Any, sample_weight: Any) -> None:
    """Weights that nobody would look at are an error."""
    if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but fit of {type(estimator).__name__} takes none."
        )

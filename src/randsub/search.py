"""The penalty that predicts best on validation data, among several."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state

from randsub._typing import FloatArray, Table
from randsub.ensemble.base import BasePRS
from randsub.ensemble.parts import revival_level
from randsub.penalties import ExpectedSize, FusedLasso, Penalty

COEFFICIENTS = (0.0, 1e-4, 1e-3, 1e-2)


@dataclass(frozen=True, eq=False)
class PenaltySearch:
    """What :func:`search_penalty` found.

    Attributes
    ----------
    best_model : PRSClassifier or PRSRegressor
        The fitted model with the best penalty.
    best_index : int
        Its row in the table.
    table : pandas.DataFrame
        One row for each penalty, in the order in which they were given: the coefficients by kind of
        penalty; ``validation_loss``, without the penalty; ``validation_score``, where validation
        data was given; ``expected_size``; ``n_models_trained``; ``started_from``, the row from
        whose alpha the training started (-1: from ``alpha_init``); ``seconds``; ``best``.
    models : list
        The fitted models, one for each row.
    """

    best_model: Any
    best_index: int
    table: pd.DataFrame
    models: list[Any]


def image_penalties(
    height: int,
    width: int,
    *,
    sparsity: Sequence[float] = COEFFICIENTS,
    smoothness: Sequence[float] = COEFFICIENTS,
) -> list[Penalty]:
    """Every combination of a sparsity and a smoothness of alpha on an image.

    Parameters
    ----------
    height, width : int
        Of the image.
    sparsity : sequence of float, default=(0, 1e-4, 1e-3, 1e-2)
        Coefficients of :class:`~randsub.penalties.ExpectedSize`.
    smoothness : sequence of float, default=(0, 1e-4, 1e-3, 1e-2)
        Coefficients of :class:`~randsub.penalties.FusedLasso` between neighbouring pixels.

    Returns
    -------
    penalties : list of Penalty
        For :func:`search_penalty`.
    """
    return [
        ExpectedSize(small) + FusedLasso.grid(smooth, height, width)
        for small, smooth in product(sparsity, smoothness)
    ]


def search_penalty(
    model: BasePRS,
    penalties: Iterable[Penalty | None],
    X: Table,
    y: Any,
    sample_weight: Any = None,
    *,
    X_val: Table | None = None,
    y_val: Any = None,
    sample_weight_val: Any = None,
    scoring: Any = None,
    warm_start: bool = False,
    warm_iter: float = 0.25,
) -> PenaltySearch:
    """Fit a model with each penalty, and keep the one that predicts best on validation data.

    All fits draw the same numbers: they set aside the same validation samples, begin with the same
    batches and, but for a warm start, with the same members.

    Parameters
    ----------
    model : PRSClassifier or PRSRegressor
        Its ``penalty`` is replaced; it is not fitted itself. Its ``n_jobs`` is that of each fit.
    penalties : iterable of Penalty or None
        For example ``image_penalties(28, 28)``, or
        ``[ExpectedSize(lam) for lam in (1e-4, 1e-3, 1e-2, 1e-1)]``.
    X, y, sample_weight
        Training data, as for ``fit``.
    X_val, y_val, sample_weight_val : default=None
        Validation data; by default the model sets aside a part of X.
    scoring : str, callable or None, default=None
        What is best: a score of the final ensemble on X_val, y_val, as scikit-learn names them;
        ties go to the smaller loss. None is the loss on validation, without the penalty, which
        needs no X_val.
    warm_start : bool, default=False
        Whether a fit starts from the alpha that the nearest penalty before it has found, where
        alpha below ``revival_level`` is raised to it, and runs for a part of the epochs only.
    warm_iter : float, default=0.25
        That part.

    Returns
    -------
    result : PenaltySearch

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.penalties import ExpectedSize
    >>> from randsub.search import search_penalty
    >>> X, y, _ = make_friedman(n_samples=100, n_irrelevant=5, random_state=0)
    >>> model = PRSRegressor(KNeighborsRegressor(), max_iter=20, random_state=0)
    >>> search = search_penalty(model, [ExpectedSize(0.001), ExpectedSize(10.0)], X, y)
    >>> search.best_index
    0
    """
    if isinstance(penalties, Penalty):
        raise TypeError(f"penalties must be a list of them, got the single {penalties!r}.")
    penalties = list(penalties)
    _check(model, penalties, X_val, scoring, warm_iter)
    scorer = None if X_val is None else check_scoring(model, scoring=scoring)
    # One seed for all, whatever the model's random_state is.
    seed = _seed(model)
    places = _places(penalties)
    models: list[Any] = []
    rows: list[dict[str, Any]] = []
    for place, penalty in enumerate(penalties):
        start = _nearest(places, place) if warm_start and place else -1
        candidate = clone(model).set_params(penalty=penalty, random_state=seed)
        if start >= 0:
            candidate.set_params(
                alpha_init=_raised(models[start], model),
                max_iter=max(1, round(warm_iter * model.max_iter)),
            )
        begin = time.perf_counter()
        candidate.fit(
            X, y, sample_weight, X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val
        )
        row = {**(penalty.coefficients() if penalty is not None else {})}
        row["validation_loss"] = candidate.validation_loss_
        if scorer is not None:
            row["validation_score"] = _score(scorer, candidate, X_val, y_val, sample_weight_val)
        row["expected_size"] = candidate.expected_size_
        row["n_models_trained"] = candidate.n_models_trained_
        row["started_from"] = start
        row["seconds"] = time.perf_counter() - begin
        models.append(candidate)
        rows.append(row)
    return _result(models, rows, by_score=scoring is not None)


def _check(
    model: Any, penalties: Sequence[Any], X_val: Any, scoring: Any, warm_iter: float
) -> None:
    if not isinstance(model, BasePRS):
        raise TypeError(
            f"model must be a PRSClassifier or a PRSRegressor, got {type(model).__name__}."
        )
    if not penalties:
        raise ValueError("penalties is empty: give at least one Penalty, or None for no penalty.")
    for penalty in penalties:
        if penalty is not None and not isinstance(penalty, Penalty):
            raise TypeError(f"penalties must hold Penalty objects or None, got {penalty!r}.")
    if scoring is not None and X_val is None:
        raise ValueError(
            f"scoring={scoring!r} needs X_val and y_val: the final ensemble is trained on all "
            "other samples. Give validation data, or scoring=None for the loss on samples that "
            "the model sets aside."
        )
    if not 0.0 < warm_iter <= 1.0:
        raise ValueError(f"warm_iter must be in (0, 1], got {warm_iter!r}.")


def _seed(model: BasePRS) -> int:
    """The model's seed, or one drawn from its random_state."""
    if isinstance(model.random_state, int | np.integer):
        return int(model.random_state)
    return int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))


def _places(penalties: Sequence[Penalty | None]) -> FloatArray:
    """Rank of each coefficient among those of its kind: neighbours on a grid differ by one."""
    table = pd.DataFrame([{} if p is None else p.coefficients() for p in penalties])
    if table.shape[1] == 0:
        # Nothing to compare them by: the one before is the nearest.
        return np.arange(len(penalties), dtype=float)[:, np.newaxis]
    return table.fillna(0.0).rank(method="dense").to_numpy(dtype=float)


def _nearest(places: FloatArray, place: int) -> int:
    """Which of the penalties before this one is nearest; the last of several."""
    distances = np.abs(places[:place] - places[place]).sum(axis=1)
    return place - 1 - int(np.argmin(distances[::-1]))


def _raised(fitted: Any, model: BasePRS) -> FloatArray:
    """Alpha to start from: features at 0 would be barred for good."""
    alpha = getattr(fitted, "group_alpha_", fitted.alpha_)
    barred = np.zeros(len(alpha), dtype=bool)
    if np.ndim(model.alpha_init) == 1:
        barred = np.asarray(model.alpha_init) == 0.0
    level = revival_level(model.revival_level, len(alpha))
    return np.where(barred, 0.0, np.maximum(alpha, level))


def _score(scorer: Any, model: Any, X: Table, y: Any, sample_weight: Any) -> float:
    if sample_weight is None:
        return float(scorer(model, X, y))
    return float(scorer(model, X, y, sample_weight=sample_weight))


def _result(models: list[Any], rows: list[dict[str, Any]], *, by_score: bool) -> PenaltySearch:
    table = pd.DataFrame(rows)
    # Kinds of penalty first; a kind that a penalty lacks weighs nothing in it.
    measured = ["validation_loss", "validation_score", "expected_size", "n_models_trained"]
    measured = [name for name in [*measured, "started_from", "seconds"] if name in table]
    kinds = [name for name in table if name not in measured]
    table = table[[*kinds, *measured]].fillna(dict.fromkeys(kinds, 0.0))
    keys = [(-table["validation_score"])] if by_score else []
    keys.append(table["validation_loss"])
    best = int(np.lexsort([key.to_numpy() for key in reversed(keys)])[0])
    table["best"] = np.arange(len(table)) == best
    return PenaltySearch(models[best], best, table, models)

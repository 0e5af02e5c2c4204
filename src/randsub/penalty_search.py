"""Choose among several penalties on validation data."""

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

from randsub._tables import n_rows
from randsub._typing import FloatArray, Table
from randsub.estimators.fit_data import count_repeats
from randsub.estimators.prs import BasePRS
from randsub.penalties import ExpectedSize, FusedLasso, Penalty

COEFFICIENTS = (0.0, 1e-4, 1e-3, 1e-2)


@dataclass(frozen=True, eq=False)
class PenaltySearch:
    """Result of :func:`search_penalty`.

    Attributes
    ----------
    best_model : PRSClassifier or PRSRegressor
        The fitted model with the best penalty. If ``n_repeats="auto"`` means several repeats, it
        is fitted once more with these; otherwise it is one of ``models``.
    best_index : int
        Row of the best penalty in the table.
    table : pandas.DataFrame
        One row per penalty, in the given order. Columns: the coefficient of each kind of penalty;
        ``validation_loss``, without the penalty; ``validation_score``, if validation data was
        given; ``expected_size``; ``n_models_trained``; ``started_from``, the row whose alpha the
        fit started from (-1 means ``alpha_init``); ``seconds``; ``best``.
    models : list
        The fitted models, one per row, each with a single repeat unless ``n_repeats`` is a number.
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
    """All combinations of a sparsity and a smoothness penalty for alpha on an image.

    Parameters
    ----------
    height, width : int
        Size of the image.
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
    """Fit a model with each penalty and keep the one that predicts best on validation data.

    All fits use the same random numbers: the same validation samples, the same first batches and,
    without a warm start, the same first masks.

    Parameters
    ----------
    model : PRSClassifier or PRSRegressor
        Its ``penalty`` is replaced. It is cloned and not fitted itself. Its ``n_jobs`` applies to
        each fit. With ``n_repeats="auto"`` penalties are compared on one validation split, and only
        the best model is repeated; with a number, all fits have that number of repeats.
    penalties : iterable of Penalty or None
        For example ``image_penalties(28, 28)``, or
        ``[ExpectedSize(lam) for lam in (1e-4, 1e-3, 1e-2, 1e-1)]``.
    X, y, sample_weight
        Training data, as in ``fit``.
    X_val, y_val, sample_weight_val : default=None
        Validation data. By default the model sets aside a part of X.
    scoring : str, callable or None, default=None
        Score of the final ensemble on X_val, y_val that decides, as in scikit-learn; ties are
        broken by the loss. None means the validation loss without the penalty, which needs no
        X_val.
    warm_start : bool, default=False
        Whether each fit starts from the alpha found for the nearest earlier penalty, with values
        below the solver's ``revival_level`` raised to it, and runs for fewer epochs.
    warm_iter : float, default=0.25
        Fraction of ``max_iter`` that a warm-started fit runs for.

    Returns
    -------
    result : PenaltySearch

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.penalties import ExpectedSize
    >>> from randsub.penalty_search import search_penalty
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
    scorer_params = {} if sample_weight_val is None else {"sample_weight": sample_weight_val}
    validation = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
    # One seed for all fits, whatever the model's random_state is.
    seed = _seed(model)
    coefficients = pd.DataFrame([{} if p is None else p.coefficients() for p in penalties])
    coefficients = coefficients.fillna(0.0)
    places = _places(coefficients)
    models: list[Any] = []
    rows: list[dict[str, Any]] = []
    for place, penalty in enumerate(penalties):
        start = _nearest(places, place) if warm_start and place else -1
        candidate = clone(model).set_params(penalty=penalty, random_state=seed)
        if model.n_repeats == "auto":
            candidate.set_params(n_repeats=1)
        if start >= 0:
            candidate.set_params(
                alpha_init=_raised(models[start], model),
                max_iter=max(1, round(warm_iter * (model.max_iter or model._solver().max_iter))),
            )
        begin = time.perf_counter()
        candidate.fit(X, y, sample_weight, **validation)
        models.append(candidate)
        row = {"validation_loss": candidate.validation_loss_}
        if scorer is not None:
            row["validation_score"] = float(scorer(candidate, X_val, y_val, **scorer_params))
        row["expected_size"] = candidate.expected_size_
        row["n_models_trained"] = candidate.n_models_trained_
        row["started_from"] = start
        rows.append({**row, "seconds": time.perf_counter() - begin})
    table = pd.concat([coefficients, pd.DataFrame(rows)], axis=1)
    # The highest score, if there is one, then the lowest loss.
    score = -table["validation_score"] if scoring is not None else np.zeros(len(table))
    best = int(np.lexsort([table["validation_loss"], score])[0])
    table["best"] = np.arange(len(table)) == best
    best_model = models[best]
    n_repeats = _n_repeats(model, best_model, X, sample_weight, X_val)
    if n_repeats != best_model.n_repeats_:
        best_model = clone(model).set_params(penalty=penalties[best], random_state=seed)
        best_model.fit(X, y, sample_weight, **validation)
    return PenaltySearch(best_model, best, table, models)


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
            "other samples. Give validation data, or use scoring=None for the loss on samples that "
            "the model sets aside."
        )
    if not 0.0 < warm_iter <= 1.0:
        raise ValueError(f"warm_iter must be in (0, 1], got {warm_iter!r}.")


def _n_repeats(model: BasePRS, fitted: Any, X: Table, sample_weight: Any, X_val: Any) -> int:
    """Number of repeats that the model has on this data; ``fitted`` is a copy of it."""
    weight = np.ones(n_rows(X)) if sample_weight is None else np.asarray(sample_weight)
    return count_repeats(
        model.n_repeats,
        n_samples=int(np.count_nonzero(weight)),
        n_parameters=fitted._distribution.n_parameters,
        splits=X_val is None and model._splits_validation(),
    )


def _seed(model: BasePRS) -> int:
    """The model's seed, or one drawn from its random_state."""
    if isinstance(model.random_state, int | np.integer):
        return int(model.random_state)
    return int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))


def _places(coefficients: pd.DataFrame) -> FloatArray:
    """Rank of each coefficient within its column: neighbours on a grid differ by one."""
    if coefficients.shape[1] == 0:
        # No coefficients to compare: the previous penalty is the nearest.
        return np.arange(len(coefficients), dtype=float)[:, np.newaxis]
    return coefficients.rank(method="dense").to_numpy(dtype=float)


def _nearest(places: FloatArray, place: int) -> int:
    """Index of the nearest earlier penalty; the last one if several are equally near."""
    distances = np.abs(places[:place] - places[place]).sum(axis=1)
    return place - 1 - int(np.argmin(distances[::-1]))


def _raised(fitted: Any, model: BasePRS) -> FloatArray:
    """Alpha to start from; 0 is absorbing, so only features with ``alpha_init`` 0 keep it."""
    alpha = getattr(fitted, "group_alpha_", fitted.alpha_)
    barred = np.ndim(model.alpha_init) == 1 and np.asarray(model.alpha_init) == 0.0
    level = model._solver().level_of_revival(len(alpha))
    return np.where(barred, 0.0, np.maximum(alpha, level))

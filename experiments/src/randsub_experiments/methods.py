"""How each method is trained, tuned and measured.

Hyper-parameters are chosen by the score on the validation samples, as in the paper's appendix; the
first of several equals is taken. All are then trained on the training samples alone, as in the
paper, or all on both (``Problem.refit``). Here are randsub's own methods; the others are in
:mod:`randsub_experiments.peers`.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from randsub import PRSClassifier, PRSRegressor
from randsub._typing import FloatArray
from randsub.estimators import (
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
    RaSEClassifier,
    RaSERegressor,
)
from randsub.penalties import ExpectedSize
from randsub.penalty_search import search_penalty
from randsub.solver import Solver
from randsub_experiments import peers
from randsub_experiments.calibration import probability_measures
from randsub_experiments.cells import Cell, Row
from randsub_experiments.problem import BASES, Fitted, Problem, Task
from randsub_experiments.prs_settings import CLASSIFIERS_ONLY, with_solver

AUTO = "auto"
_PRS: dict[Task, type[Any]] = {"regression": PRSRegressor, "classification": PRSClassifier}
_SUBSPACE: dict[Task, type[Any]] = {
    "regression": RandomSubspaceRegressor,
    "classification": RandomSubspaceClassifier,
}
_RASE: dict[Task, type[Any]] = {"regression": RaSERegressor, "classification": RaSEClassifier}
_SCORING: dict[Task, str] = {"regression": "r2", "classification": "accuracy"}


def measure(cell: Cell, problem: Problem) -> Row:
    """Train the method of the cell, test it, and time both.

    Parameters
    ----------
    cell : Cell
    problem : Problem

    Returns
    -------
    row : dict
        ``score`` on the test samples (R2 or accuracy), ``aupr`` of the ranking where the truth is
        known, ``size`` (features of a member on average), base ``models`` trained,
        ``epochs`` or iterations, the ``tuned`` hyper-parameter, ``log_loss`` and ``calibration``
        error of the probabilities of test samples (None without any), and ``seconds``.
    """
    return measure_fitted(cell, problem)[1]


def measure_fitted(cell: Cell, problem: Problem) -> tuple[Fitted, Row]:
    """The trained method itself, and the row of :func:`measure`."""
    if cell.method in _TINY:
        compile_engines(cell.method, cell.base, problem.task)
    begin = time.perf_counter()
    fitted = _METHODS[cell.method](cell, problem)
    score = float(fitted.model.score(problem.X_test, problem.y_test))
    seconds = time.perf_counter() - begin
    row: Row = {
        "score": score,
        "aupr": _ranking_quality(fitted.ranking, problem),
        "size": fitted.size,
        "models": fitted.models,
        "epochs": fitted.epochs,
        "tuned": fitted.tuned,
        **probability_measures(fitted.model, problem.X_test, problem.y_test),
        "seconds": seconds,
    }
    return fitted, row


# Both ways of normalising weights are compiled, so PRS is fitted with both.
_TINY_PRS = [
    {"max_iter": 2, "solver": Solver(self_normalize=one, n_batches=2)} for one in (True, False)
]
_TINY: dict[str, list[dict[str, Any]]] = {
    "prs": _TINY_PRS,
    AUTO: _TINY_PRS,
    "rs": [{}],
    "rase": [{"max_iter": 1, "n_candidates": 2, "cv": 2}],
}


@cache
def compile_engines(method: str, base: str, task: Task) -> None:
    """Tiny fits, once per process, so that no cell's time includes compilation."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 2
    kinds = {"prs": _PRS, AUTO: _PRS, "rs": _SUBSPACE, "rase": _RASE}[method]
    for params in _TINY[method]:
        estimator = _estimator(base, task)
        kinds[task](estimator, n_estimators=4, random_state=0, **params).fit(X, y)


def _estimator(base: str, task: Task) -> Any:
    """The base model of this name; without a name randsub chooses several."""
    return BASES[base][task]() if base else AUTO


def _ranking_quality(ranking: FloatArray | None, problem: Problem) -> float | None:
    if ranking is None or problem.relevant is None:
        return None
    truth = np.isin(np.arange(problem.n_features), problem.relevant)
    return float(average_precision_score(truth, ranking))


# -- the methods -----------------------------------------------------------------------------------


def _prs(cell: Cell, problem: Problem) -> Fitted:
    params = with_solver(cell.arguments)
    penalties = params.pop("penalties", [])
    # It is part of what the cell is; PRS looks it up itself.
    params.pop("portfolio", None)
    if problem.task == "regression":
        params = {name: value for name, value in params.items() if name not in CLASSIFIERS_ONLY}

    base = _estimator(cell.base, problem.task)
    model = _PRS[problem.task](base, random_state=cell.seed, **params)
    tuned = None
    if penalties:
        # From strong to weak: of several with the same score and loss, the sparsest is taken.
        falling = sorted(penalties, reverse=True)
        candidates = [ExpectedSize(lam) if lam else None for lam in falling]
        scoring = None if problem.refit else _SCORING[problem.task]
        search = search_penalty(model, candidates, **problem.parts, scoring=scoring)
        tuned, model = falling[search.best_index], search.best_model
        # Repeats may be for the chosen one alone, which is then fitted once more.
        n_models = sum({id(one): one.n_models_trained_ for one in [*search.models, model]}.values())
    else:
        model.set_params(penalty=problem.penalty).fit(**problem.parts)
        n_models = model.n_models_trained_
    return Fitted(
        model, n_models, float(model.expected_size_), model.n_iter_, tuned, ranking=model.alpha_
    )


def _subspace(cell: Cell, problem: Problem) -> Fitted:
    model = _baseline(_SUBSPACE, cell, problem, max_features="validation")
    size = float(model.expected_size_)
    return Fitted(model, int(model.n_models_trained_), size, tuned=size)


def _rase(cell: Cell, problem: Problem) -> Fitted:
    model = _baseline(_RASE, cell, problem)
    return Fitted(
        model,
        int(model.n_models_trained_),
        float(model.expected_size_),
        epochs=cell.params["max_iter"],
        ranking=model.alpha_,
    )


def _baseline(kinds: dict[Task, type[Any]], cell: Cell, problem: Problem, **more: Any) -> Any:
    base = BASES[cell.base][problem.task]()
    model = kinds[problem.task](base, random_state=cell.seed, **cell.arguments, **more)
    return model.fit(**problem.parts)


_METHODS: dict[str, Callable[[Cell, Problem], Fitted]] = {
    "single": peers.single,
    "tuned": peers.tuned,
    "rs": _subspace,
    "rase": _rase,
    "prs": _prs,
    AUTO: _prs,
    "rf": peers.forest,
    "gbdt": peers.boosting,
    "hgb": peers.histogram_boosting,
    "stack": peers.stack,
    "l1": peers.l1,
}

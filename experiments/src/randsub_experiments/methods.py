"""How each method is trained, tuned and measured.

Hyper-parameters are chosen by the score on the validation samples, as in the paper's appendix; the
first of several equals is taken. All are then trained on the training samples alone, as in the
paper, or all on both (``Problem.refit``). Features of
single models and of linear ones are standardised, as those of randsub's ensembles are; forests and
boosting, which do not depend on the scale, get them as they are.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub import PRSClassifier, PRSRegressor
from randsub._typing import FloatArray, IntArray
from randsub.estimators import (
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
    RaSEClassifier,
    RaSERegressor,
)
from randsub.estimators.random_subspace import candidate_sizes
from randsub.penalties import ExpectedSize, Penalty
from randsub.penalty_search import search_penalty
from randsub.solver import Solver
from randsub_experiments.cells import Cell, Row
from randsub_experiments.prs_settings import with_solver

Task = Literal["regression", "classification"]

BASES: dict[str, dict[Task, type[Any]]] = {
    "tree": {"regression": DecisionTreeRegressor, "classification": DecisionTreeClassifier},
    "knn": {"regression": KNeighborsRegressor, "classification": KNeighborsClassifier},
    "svm": {"regression": SVR, "classification": SVC},
}
_PRS: dict[Task, type[Any]] = {"regression": PRSRegressor, "classification": PRSClassifier}
_SUBSPACE: dict[Task, type[Any]] = {
    "regression": RandomSubspaceRegressor,
    "classification": RandomSubspaceClassifier,
}
_RASE: dict[Task, type[Any]] = {"regression": RaSERegressor, "classification": RaSEClassifier}
_FOREST: dict[Task, type[Any]] = {
    "regression": RandomForestRegressor,
    "classification": RandomForestClassifier,
}
_BOOSTING: dict[Task, type[Any]] = {
    "regression": GradientBoostingRegressor,
    "classification": GradientBoostingClassifier,
}
_DEPTHS = range(1, 11)
_SCORING: dict[Task, str] = {"regression": "r2", "classification": "accuracy"}
# Values of C for L1-penalised logistic regression.
_STRENGTHS = tuple(np.logspace(-2, 2, 13).tolist())


@dataclass(frozen=True, eq=False)
class Problem:
    """Data of one cell.

    Parameters
    ----------
    task : {"regression", "classification"}
        Kind of target.
    X_train, X_val, X_test : ndarray of shape (n_samples, n_features)
        Features of the three parts.
    y_train, y_val, y_test : ndarray of shape (n_samples,)
        Their targets.
    relevant : int ndarray, default=None
        Columns that determine y, where they are known.
    penalty : Penalty, default=None
        Penalty of PRS, unless the parameters of the cell name some.
    refit : bool, default=False
        Whether models are trained on training and validation samples in the end. Ensembles of
        randsub then get both as one and set validation samples aside themselves.
    """

    task: Task
    X_train: FloatArray
    y_train: Any
    X_val: FloatArray
    y_val: Any
    X_test: FloatArray
    y_test: Any
    relevant: IntArray | None = None
    penalty: Penalty | None = None
    refit: bool = False

    @property
    def both(self) -> tuple[FloatArray, Any]:
        """Features and targets of training and validation samples."""
        return (
            np.concatenate([self.X_train, self.X_val]),
            np.concatenate([self.y_train, self.y_val]),
        )

    @property
    def final(self) -> tuple[FloatArray, Any]:
        """Features and targets of the samples that the final model is trained on."""
        return self.both if self.refit else (self.X_train, self.y_train)

    @property
    def parts(self) -> dict[str, Any]:
        """Arguments of ``fit`` of an ensemble of randsub."""
        X, y = self.final
        held_out = {} if self.refit else {"X_val": self.X_val, "y_val": self.y_val}
        return {"X": X, "y": y, **held_out}

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X_train.shape[1])


@dataclass(frozen=True)
class Fitted:
    """A trained method, and what is measured of it."""

    model: Any
    models: int
    size: float | None = None
    epochs: int | None = None
    tuned: float | None = None
    ranking: FloatArray | None = None


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
        ``epochs`` or iterations, the ``tuned`` hyper-parameter, and ``seconds``.
    """
    return measure_fitted(cell, problem)[1]


def measure_fitted(cell: Cell, problem: Problem) -> tuple[Fitted, Row]:
    """The trained method itself, and the row of :func:`measure`."""
    if cell.base and cell.method != "single":
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
        "seconds": seconds,
    }
    return fitted, row


# Both ways of normalising weights are compiled, so PRS is fitted with both.
_TINY: dict[str, list[dict[str, Any]]] = {
    "prs": [{"max_iter": 2, "solver": Solver(self_normalize=one)} for one in (True, False)],
    "rs": [{}],
    "rase": [{"max_iter": 1, "n_candidates": 2, "cv": 2}],
}


@cache
def compile_engines(method: str, base: str, task: Task) -> None:
    """Tiny fits, once per process, so that no cell's time includes compilation."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 2
    kinds = {"prs": _PRS, "rs": _SUBSPACE, "rase": _RASE}[method]
    for params in _TINY[method]:
        kinds[task](BASES[base][task](), n_estimators=4, random_state=0, **params).fit(X, y)


def _ranking_quality(ranking: FloatArray | None, problem: Problem) -> float | None:
    if ranking is None or problem.relevant is None:
        return None
    truth = np.isin(np.arange(problem.n_features), problem.relevant)
    return float(average_precision_score(truth, ranking))


# -- the methods -----------------------------------------------------------------------------------


def _best(candidates: Iterable[tuple[float, Any]], problem: Problem) -> tuple[float, Any]:
    """Value of the candidate with the best validation score, and its final model."""
    best: tuple[float, float, Any] | None = None
    for value, model in candidates:
        score = model.score(problem.X_val, problem.y_val)
        if best is None or score > best[0]:
            best = (score, value, model)
    if best is None:
        raise ValueError("There are no candidates to choose from.")
    value, model = best[1:]
    return value, clone(model).fit(*problem.final) if problem.refit else model


def _single(cell: Cell, problem: Problem) -> Fitted:
    base = _seeded(BASES[cell.base][problem.task](), cell.seed)
    model = make_pipeline(StandardScaler(), base).fit(*problem.final)
    return Fitted(model, models=1, size=float(problem.n_features))


def _seeded(model: Any, seed: int) -> Any:
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def _forest(cell: Cell, problem: Problem) -> Fitted:
    sizes = candidate_sizes(problem.n_features)
    forests = (
        _FOREST[problem.task](max_features=size, random_state=cell.seed, **cell.arguments).fit(
            problem.X_train, problem.y_train
        )
        for size in sizes
    )
    size, model = _best(zip(sizes, forests, strict=True), problem)
    n_models = cell.params["n_estimators"] * (len(sizes) + problem.refit)
    return Fitted(model, n_models, tuned=size, ranking=model.feature_importances_)


def _boosting(cell: Cell, problem: Problem) -> Fitted:
    machines = (
        _BOOSTING[problem.task](max_depth=depth, random_state=cell.seed, **cell.arguments).fit(
            problem.X_train, problem.y_train
        )
        for depth in _DEPTHS
    )
    depth, model = _best(zip(_DEPTHS, machines, strict=True), problem)
    # One tree per step, or one per class and step where there are more than two classes.
    n_models = model.estimators_.size * (len(_DEPTHS) + problem.refit)
    return Fitted(model, n_models, tuned=depth, ranking=model.feature_importances_)


def _l1(cell: Cell, problem: Problem) -> Fitted:
    """L1-penalised logistic regression of each class against the others.

    C is chosen by cross-validation over training and validation samples, since a few validation
    samples cannot tell its values apart.
    """
    linear = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", max_iter=1000, random_state=cell.seed
    )
    model = make_pipeline(StandardScaler(), OneVsRestClassifier(linear))
    folds = StratifiedKFold(5, shuffle=True, random_state=cell.seed)
    name = "onevsrestclassifier__estimator__C"
    search = GridSearchCV(model, {name: _STRENGTHS}, cv=folds, refit=False)
    best = search.fit(*problem.both).best_params_[name]
    model.set_params(**{name: best}).fit(*problem.final)
    coefficients = np.concatenate([one.coef_ for one in model[-1].estimators_])
    ranking = np.abs(coefficients).max(axis=0)
    n_models = len(coefficients) * (len(_STRENGTHS) * folds.get_n_splits() + 1)
    return Fitted(model, n_models, float((ranking > 0).sum()), tuned=best, ranking=ranking)


def _prs(cell: Cell, problem: Problem) -> Fitted:
    params = with_solver(cell.arguments)
    penalties = params.pop("penalties", [])
    if problem.task == "regression":
        del params["voting"]

    base = BASES[cell.base][problem.task]()
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
    "single": _single,
    "rs": _subspace,
    "rase": _rase,
    "prs": _prs,
    "rf": _forest,
    "gbdt": _boosting,
    "l1": _l1,
}

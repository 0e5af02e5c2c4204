"""The methods that randsub's ensembles are compared with, all of them scikit-learn's.

Hyper-parameters are chosen by the score on the validation samples, the first of several equals.
Features are standardised for all but forests and boosting, which do not depend on their scale;
targets for support vector regression, whose parameters are in their units.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from randsub.estimators.portfolio import Facts, portfolio
from randsub.estimators.random_subspace import candidate_sizes
from randsub_experiments.cells import Cell
from randsub_experiments.problem import BASES, Fitted, Problem, Task, best_on_validation, seeded

_FOREST: Final[dict[Task, type[Any]]] = {
    "regression": RandomForestRegressor,
    "classification": RandomForestClassifier,
}
_BOOSTING: Final[dict[Task, type[Any]]] = {
    "regression": GradientBoostingRegressor,
    "classification": GradientBoostingClassifier,
}
_HISTOGRAM_BOOSTING: Final[dict[Task, type[Any]]] = {
    "regression": HistGradientBoostingRegressor,
    "classification": HistGradientBoostingClassifier,
}
_DEPTHS: Final = range(1, 11)
# Values of C for L1-penalised logistic regression.
STRENGTHS: Final = tuple(np.logspace(-2, 2, 13).tolist())
N_FOLDS: Final = 5
# Grids in the order of scikit-learn's ParameterGrid: names by the alphabet, the last one fastest.
HISTOGRAM_GRID: Final[Mapping[str, list[Any]]] = {
    "learning_rate": [0.05, 0.1, 0.2],
    "max_depth": [None, 3, 6],
    "max_leaf_nodes": [8, 31],
}
# Values of gamma are factors of scikit-learn's gamma="scale".
BASE_GRIDS: Final[Mapping[str, Mapping[str, list[Any]]]] = {
    "tree": {"max_depth": [2, 4, 6, 8, None], "min_samples_leaf": [1, 5, 10]},
    "knn": {"n_neighbors": [1, 3, 5, 10, 20, 40], "weights": ["uniform", "distance"]},
    "svm": {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [1.0, 0.1]},
}


def single(cell: Cell, problem: Problem) -> Fitted:
    """One base model with its default parameters."""
    base = seeded(BASES[cell.base][problem.task](), cell.seed)
    model = make_pipeline(StandardScaler(), base).fit(*problem.final)
    return Fitted(model, models=1, size=float(problem.n_features))


def tuned(cell: Cell, problem: Problem) -> Fitted:
    """One base model with parameters of ``BASE_GRIDS`` that are best on validation."""
    candidates = _base_candidates(cell, problem)
    models = (model.fit(problem.X_train, problem.y_train) for model in candidates)
    place, model = best_on_validation(enumerate(models), problem)
    n_models = len(candidates) + problem.refit
    return Fitted(model, n_models, float(problem.n_features), tuned=place)


def _base_candidates(cell: Cell, problem: Problem) -> list[Any]:
    """The base model of the cell with each entry of its grid, unfitted."""
    # As scikit-learn defines gamma="scale", for features as the model sees them.
    variance = StandardScaler().fit_transform(problem.X_train).var() or 1.0
    scale = 1.0 / (problem.n_features * variance)
    candidates = []
    for params in ParameterGrid(dict(BASE_GRIDS[cell.base])):
        if params.get("n_neighbors", 1) > len(problem.X_train):
            continue
        if "gamma" in params:
            params["gamma"] *= scale
        base = seeded(BASES[cell.base][problem.task](**params), cell.seed)
        model = make_pipeline(StandardScaler(), base)
        if cell.base == "svm" and problem.task == "regression":
            model = _on_standardised_targets(model)
        candidates.append(model)
    return candidates


def _on_standardised_targets(model: Any) -> Any:
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def stack(cell: Cell, problem: Problem) -> Fitted:
    """The base models of ``PRS*("auto")`` on all features, combined by stacking.

    Their predictions for held-out folds of the training samples are the features of a linear model:
    ridge regression, or logistic regression. Validation samples are not used.
    """
    bases = [(name, seeded(base, cell.seed)) for name, base in portfolio_of(problem)]
    if problem.task == "regression":
        stacking = StackingRegressor(bases, RidgeCV(), cv=N_FOLDS)
        model = _on_standardised_targets(make_pipeline(StandardScaler(), stacking))
    else:
        stacking = StackingClassifier(bases, LogisticRegression(max_iter=1000), cv=N_FOLDS)
        model = make_pipeline(StandardScaler(), stacking)
    model.fit(*problem.final)
    return Fitted(model, len(bases) * (N_FOLDS + 1) + 1, float(problem.n_features))


def portfolio_of(problem: Problem) -> list[tuple[str, Any]]:
    """Names and base models, unfitted, that ``PRS*("auto")`` takes for these data."""
    X, y = problem.final
    n_classes = len(np.unique(y)) if problem.task == "classification" else None
    return portfolio(problem.task, Facts(len(X), len(X), n_classes))


def forest(cell: Cell, problem: Problem) -> Fitted:
    """A random forest; the number of features per split is tuned."""
    sizes = candidate_sizes(problem.n_features)
    forests = (
        _FOREST[problem.task](max_features=size, random_state=cell.seed, **cell.arguments).fit(
            problem.X_train, problem.y_train
        )
        for size in sizes
    )
    size, model = best_on_validation(zip(sizes, forests, strict=True), problem)
    n_models = cell.params["n_estimators"] * (len(sizes) + problem.refit)
    return Fitted(model, n_models, tuned=size, ranking=model.feature_importances_)


def boosting(cell: Cell, problem: Problem) -> Fitted:
    """Gradient boosting; the depth of the trees is tuned."""
    machines = (
        _BOOSTING[problem.task](max_depth=depth, random_state=cell.seed, **cell.arguments).fit(
            problem.X_train, problem.y_train
        )
        for depth in _DEPTHS
    )
    depth, model = best_on_validation(zip(_DEPTHS, machines, strict=True), problem)
    # One tree per step, or one per class and step where there are more than two classes.
    n_models = model.estimators_.size * (len(_DEPTHS) + problem.refit)
    return Fitted(model, n_models, tuned=depth, ranking=model.feature_importances_)


def histogram_boosting(cell: Cell, problem: Problem) -> Fitted:
    """Histogram boosting; depth, rate and leaves are tuned together, over ``HISTOGRAM_GRID``."""
    grid = ParameterGrid(dict(HISTOGRAM_GRID))
    kind = _HISTOGRAM_BOOSTING[problem.task]

    def machines() -> Iterator[Any]:
        for params in grid:
            machine = kind(early_stopping=False, random_state=cell.seed, **params, **cell.arguments)
            yield machine.fit(problem.X_train, problem.y_train)

    place, model = best_on_validation(enumerate(machines()), problem)
    n_models = model.n_iter_ * model.n_trees_per_iteration_ * (len(grid) + problem.refit)
    return Fitted(model, n_models, tuned=place)


def l1(cell: Cell, problem: Problem) -> Fitted:
    """L1-penalised logistic regression of each class against the others.

    C is chosen by cross-validation over training and validation samples, since a few validation
    samples cannot tell its values apart.
    """
    linear = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", max_iter=1000, random_state=cell.seed
    )
    model = make_pipeline(StandardScaler(), OneVsRestClassifier(linear))
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=cell.seed)
    name = "onevsrestclassifier__estimator__C"
    search = GridSearchCV(model, {name: STRENGTHS}, cv=folds, refit=False)
    best = search.fit(*problem.both).best_params_[name]
    model.set_params(**{name: best}).fit(*problem.final)
    coefficients = np.concatenate([one.coef_ for one in model[-1].estimators_])
    ranking = np.abs(coefficients).max(axis=0)
    n_models = len(coefficients) * (len(STRENGTHS) * folds.get_n_splits() + 1)
    return Fitted(model, n_models, float((ranking > 0).sum()), tuned=best, ranking=ranking)

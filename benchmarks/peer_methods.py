"""The methods of benchmarks/peers.py: ours, and what people would use instead.

Each is given the same training samples, and chooses its own parameters from them, on one thread.
Forests and boosting choose among the values that the experiments give them, by the score on the
fifth of the training samples that ``Problem`` calls validation, and are then trained on all. PRS
sets validation samples aside itself.

A package that is not installed is imported by no other method; :meth:`Method.obstacle` says that
it is missing.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, LabelEncoder, StandardScaler
from width import l1 as lasso

from randsub.estimators.fit_data import count_repeats
from randsub.estimators.random_subspace import candidate_sizes
from randsub.selection import ShadowSelector
from randsub_experiments.cells import FIRST_SEED, Cell
from randsub_experiments.methods import measure_fitted
from randsub_experiments.peers import HISTOGRAM_GRID
from randsub_experiments.problem import Fitted, Problem, best_on_validation
from randsub_experiments.prs_settings import prs_parameters
from selection import ensemble_of

KINDS = ("simulated", "wide", "regression", "classification", "genomic")
# Where the truth is known, and where there are many features.
KNOWN, MANY = ("simulated", "wide"), ("simulated", "wide", "genomic")
# Of forests, and of boosting.
N_TREES, N_ROUNDS = 300, 100
FDR = 0.2
# PRS repeats its optimisation 20 times by default for ten times as many features as samples.
MOST_REPEATS = 5
# With all of thousands of features at every split, boosting takes minutes.
MANY_FEATURES = 1_000
RASE = {"n_estimators": 100, "n_candidates": 200, "max_iter": 2, "cv": 5}
Row = dict[str, Any]


@dataclass(frozen=True)
class Selected(Fitted):
    """A trained method that selects features: ``support`` is a boolean array (n_features,)."""

    support: Any = None


@dataclass(frozen=True)
class Method:
    """A method of the benchmark.

    Parameters
    ----------
    label : str
        Its name in tables.
    measure : callable
        From a seed and a problem to the trained method, and its score and seconds.
    package : str, default=""
        What has to be installed beside randsub.
    kinds : tuple of str
        Kinds of data that it is run on.
    is_ours : bool, default=False
    """

    label: str
    measure: Callable[[int, Problem], tuple[Fitted, Row]]
    package: str = ""
    kinds: tuple[str, ...] = KINDS
    is_ours: bool = False

    @property
    def obstacle(self) -> str | None:
        """Why it cannot be run here, or None."""
        if not self.package or find_spec(self.package):
            return None
        return f"{self.package} is not installed: pip install --group peers"


def timed(fit: Callable[[int, Problem], Fitted]) -> Callable[[int, Problem], tuple[Fitted, Row]]:
    """Train, test, and time both, as the experiments do."""

    def measure(seed: int, problem: Problem) -> tuple[Fitted, Row]:
        begin = time.perf_counter()
        fitted = fit(seed, problem)
        score = float(fitted.model.score(problem.X_test, problem.y_test))
        return fitted, {"score": score, "seconds": time.perf_counter() - begin}

    return measure


# -- methods of the experiments --------------------------------------------------------------------


def experiment(
    method: str, base: str = "", **params: Any
) -> Callable[[int, Problem], tuple[Fitted, Row]]:
    """A method of the experiments, with these parameters."""

    def measure(seed: int, problem: Problem) -> tuple[Fitted, Row]:
        cell = Cell("peers", "", seed - FIRST_SEED, method, base, params=params)
        return measure_fitted(cell, problem)

    return measure


def prs(base: str, most_repeats: int, seed: int, problem: Problem) -> tuple[Fitted, Row]:
    """PRS with its defaults, but no more repeats than this."""
    sizes = {"n_samples": len(problem.final[1]), "n_parameters": problem.n_features}
    repeats = min(most_repeats, count_repeats("auto", **sizes, splits=True))
    params = prs_parameters({"n_repeats": repeats})
    return experiment("prs" if base else "auto", base, **params)(seed, problem)


def boosting(seed: int, problem: Problem) -> tuple[Fitted, Row]:
    """Gradient boosting; the square root of the features per split where there are thousands."""
    more = {"max_features": "sqrt"} if problem.n_features > MANY_FEATURES else {}
    return experiment("gbdt", n_estimators=N_ROUNDS, **more)(seed, problem)


def l1(seed: int, problem: Problem) -> tuple[Fitted, Row]:
    """Lasso, or L1-penalised logistic regression of each class; five folds choose the penalty."""
    if problem.task == "classification":
        fitted, row = experiment("l1")(seed, problem)
        return Selected(**vars(fitted), support=fitted.ranking > 0), row

    def fit(seed: int, problem: Problem) -> Fitted:
        model, ranking = lasso(*problem.final, seed, 1)
        return Selected(model, 1, ranking=ranking, support=ranking > 0)

    return timed(fit)(seed, problem)


# -- other peers -----------------------------------------------------------------------------------


def of_task(problem: Problem, regressor: Any, classifier: Any) -> Any:
    return regressor if problem.task == "regression" else classifier


def tuned(problem: Problem, make: Callable[..., Any], grid: Iterable[Mapping[str, Any]]) -> Fitted:
    """The parameters with the best validation score, then trained on all training samples."""
    models = (make(**params).fit(problem.X_train, problem.y_train) for params in grid)
    _, model = best_on_validation(enumerate(models), problem)
    return Fitted(model, 1, ranking=model.feature_importances_)


def extra_trees(seed: int, problem: Problem) -> Fitted:
    kind = of_task(problem, ExtraTreesRegressor, ExtraTreesClassifier)
    grid = [{"max_features": size} for size in candidate_sizes(problem.n_features)]
    return tuned(problem, partial(kind, N_TREES, random_state=seed), grid)


def lightgbm(seed: int, problem: Problem) -> Fitted:
    """LightGBM over the grid of histogram boosting; features are ranked by gain."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = of_task(problem, LGBMRegressor, LGBMClassifier)
    make = partial(
        kind,
        n_estimators=N_ROUNDS,
        importance_type="gain",
        random_state=seed,
        n_jobs=1,
        verbose=-1,
    )
    grid = [
        {
            "learning_rate": one["learning_rate"],
            "max_depth": one["max_depth"] or -1,
            "num_leaves": one["max_leaf_nodes"],
        }
        for one in ParameterGrid(dict(HISTOGRAM_GRID))
    ]
    return tuned(problem, make, grid)


def lassonet(seed: int, problem: Problem) -> Fitted:
    """LassoNet with its defaults; the penalty with the lowest loss on a tenth of the samples."""
    from lassonet import LassoNetClassifier, LassoNetRegressor

    X, y = problem.final
    scale = StandardScaler().fit(X)
    seeds = {"random_state": seed, "torch_seed": seed, "verbose": 0}
    if problem.task == "regression":
        net = LassoNetRegressor(**seeds)
        target = ((y - y.mean()) / y.std()).astype(np.float32)
    else:
        net = LassoNetClassifier(**seeds)
        labels = LabelEncoder().fit(y)
        target = labels.transform(y)

    path = net.path(scale.transform(X).astype(np.float32), target, return_state_dicts=True)
    best = min(path, key=lambda step: step.val_loss)
    net.load(best.state_dict)

    def score(X: Any, y_true: Any) -> float:
        predicted = net.predict(scale.transform(X).astype(np.float32)).ravel()
        if problem.task == "regression":
            return r2_score(y_true, predicted * y.std() + y.mean())
        return accuracy_score(y_true, labels.inverse_transform(predicted))

    ranking = net.feature_importances_.numpy()
    support = best.selected.numpy()
    return Selected(SimpleNamespace(score=score), len(path), ranking=ranking, support=support)


# -- selectors: a forest predicts from what they select --------------------------------------------


def forest_of(seed: int, problem: Problem, support: Any, ranking: Any) -> Selected:
    """A random forest on the selected features; the mean or the largest class without any."""
    kind = of_task(problem, RandomForestRegressor, RandomForestClassifier)
    select = FunctionTransformer(lambda X: X[:, support])
    model = make_pipeline(select, kind(N_TREES, random_state=seed))
    if not support.any():
        model = of_task(problem, DummyRegressor, DummyClassifier)()
    return Selected(model.fit(*problem.final), 1, ranking=ranking, support=support)


def boruta(seed: int, problem: Problem) -> Fitted:
    """Boruta with the forests that its authors recommend: shallow, sqrt(M) features per split."""
    from boruta import BorutaPy

    kind = of_task(problem, RandomForestRegressor, RandomForestClassifier)
    forest = kind(max_depth=5, max_features="sqrt")
    found = BorutaPy(forest, n_estimators="auto", random_state=seed).fit(*problem.final)
    return forest_of(seed, problem, found.support_, 1.0 / found.ranking_)


def knockoffs(seed: int, problem: Problem) -> Fitted:
    """Gaussian model-X knockoffs with lasso coefficients, knockpy's defaults."""
    from knockpy.knockoff_filter import KnockoffFilter

    np.random.seed(seed)  # noqa: NPY002, knockpy has no other seed
    X, y = problem.final
    method = KnockoffFilter(ksampler="gaussian", fstat="lasso")
    support = method.forward(StandardScaler().fit_transform(X), y, fdr=FDR).astype(bool)
    return forest_of(seed, problem, support, method.W)


def shadow(seed: int, problem: Problem) -> Fitted:
    """Our selector with the settings of benchmarks/selection.py: kNN, 3 runs of 300 epochs."""
    model = ensemble_of(of_task(problem, "friedman", "hypercube"), epochs=300)
    selector = ShadowSelector(model, fdr=FDR, n_runs=3, random_state=seed).fit(*problem.final)
    return forest_of(seed, problem, selector.get_support(), selector.importances_)


METHODS = {
    "prs_knn": Method("PRS, kNN", partial(prs, "knn", MOST_REPEATS), is_ours=True),
    "prs_tree": Method("PRS, tree", partial(prs, "tree", MOST_REPEATS), is_ours=True),
    "prs_svm": Method("PRS, SVM", partial(prs, "svm", MOST_REPEATS), is_ours=True),
    "prs_auto": Method('PRS, "auto"', partial(prs, "", 1), is_ours=True),
    "shadow": Method("`ShadowSelector`", timed(shadow), kinds=MANY, is_ours=True),
    "rf": Method("random forest", experiment("rf", n_estimators=N_TREES)),
    "extra_trees": Method("ExtraTrees", timed(extra_trees)),
    "gbdt": Method("gradient boosting", boosting),
    "hgb": Method(
        "histogram boosting",
        experiment("hgb", max_iter=N_ROUNDS),
        kinds=("simulated", "regression", "classification"),
    ),
    "lightgbm": Method("LightGBM", timed(lightgbm), "lightgbm"),
    "l1": Method("L1", l1),
    "rase": Method("RaSE, kNN", experiment("rase", "knn", **RASE)),
    "boruta": Method("Boruta", timed(boruta), "boruta", MANY),
    "knockoffs": Method("knockoffs", timed(knockoffs), "knockpy", KNOWN),
    "lassonet": Method("LassoNet", timed(lassonet), "lassonet"),
}

"""What is loaded is what was saved, bit for bit."""

import re
import zipfile
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import (
    BallTree,
    KDTree,
    KernelDensity,
    KNeighborsClassifier,
    KNeighborsRegressor,
)
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from flat_parameters import flat
from randsub import (
    PRSClassifier,
    PRSRegressor,
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
    RaSEClassifier,
    RaSERegressor,
)
from randsub.datasets import make_friedman, make_hypercube, make_network
from randsub.distributions import Bernoulli, GroupedBernoulli
from randsub.engines import GenericEngine, TreeEngine
from randsub.io import load, save
from randsub.io.object_graph import ObjectGraph
from randsub.losses import CrossEntropy, Huber, PoissonDeviance
from randsub.network import PRSNetwork, genie3
from randsub.optim import FisherAdam, LogitAdam, ProximalAdam
from randsub.penalties import ExpectedSize, FusedLasso
from randsub.penalty_search import search_penalty
from randsub.solver import Solver

pytest.importorskip("skops")

QUICK: dict[str, Any] = {"n_estimators": 5, "max_iter": 3, "n_revivals": 0, "random_state": 0}
SMALL: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
X, LABELS, _ = make_hypercube(n_samples=50, n_irrelevant=3, random_state=0)
X_REG, Y_REG, _ = make_friedman(n_samples=50, n_irrelevant=2, random_state=0)
WORDS = np.array(["no", "yes", "maybe"], dtype=object)
CHAIN = np.eye(X.shape[1], k=1)
GRAPH = sparse.csr_matrix(CHAIN + CHAIN.T)


def frame(kind: str = "pandas", *, gaps: bool = False) -> Any:
    table = pd.DataFrame(X[:, :4], columns=["a", "b", "c_1", "c_2"])
    if gaps:
        table.loc[::7, "b"] = np.nan
    table["colour"] = np.where(LABELS > 0, "red", "blue")
    table.loc[3, "colour"] = None
    table["level"] = pd.Categorical(["low", "high"] * 25, categories=["low", "high"], ordered=True)
    if kind == "polars":
        pl = pytest.importorskip("polars")
        plain = table.astype(object).where(table.notna(), None)
        return pl.DataFrame({name: plain[name].tolist() for name in plain})
    return table


def saved_and_loaded(model: Any, tmp_path: Path, **options: Any) -> Any:
    path = tmp_path / "model.skops"
    save(model, path)
    return load(path, **options)


def assert_equal(one: Any, other: Any) -> None:
    """The same values of the same types, to the last bit, through frames, lists and objects."""
    assert type(one) is type(other)
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    elif isinstance(one, pd.Series):
        pd.testing.assert_series_equal(one, other, check_exact=True)
    elif isinstance(one, np.ndarray) and not one.dtype.hasobject:
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if one.dtype.names is None:
            assert one.tobytes() == other.tobytes()
        else:
            # What lies between fields is nobody's.
            for name in one.dtype.names:
                assert_equal(one[name].copy(), other[name].copy())
    elif isinstance(one, np.ndarray | list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_equal(a, b)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_equal(one[key], other[key])
    elif sparse.issparse(one):
        assert (one != other).nnz == 0
    elif isinstance(one, np.random.RandomState):
        assert_equal(one.get_state(), other.get_state())
    elif hasattr(one, "__getstate__") and not isinstance(one, type | FunctionType):
        state = one.__getstate__()
        if state is None and one is not other and type(one).__eq__ is object.__eq__:
            # Cython's objects, such as the loss of boosting, are compared by what makes them.
            assert_equal(one.__reduce__(), other.__reduce__())
        elif state is None:
            assert one == other or one != one
        elif isinstance(one, KDTree | BallTree):
            # All but counters of work done, and the distance, which has no comparison.
            for a, b in zip(one.get_arrays(), other.get_arrays(), strict=True):
                assert_equal(np.asarray(a), np.asarray(b))
            assert_equal(one.query(one.data, 2), other.query(one.data, 2))
        else:
            assert_equal(state, other.__getstate__())
    else:
        assert one == other


def without_addresses(text: str) -> str:
    return re.sub(" at 0x[0-9A-F]+", "", text)


CLASSIFIERS = {
    "tree": PRSClassifier(**flat(**QUICK)),
    "soft votes": PRSClassifier(**flat(voting="soft", **QUICK)),
    "neighbours": PRSClassifier(KNeighborsClassifier(3), **flat(**QUICK)),
    "ball tree": PRSClassifier(
        KNeighborsClassifier(algorithm="ball_tree", p=1), **flat(engine="generic", **QUICK)
    ),
    "machine": PRSClassifier(SVC(), **flat(**QUICK)),
    "machine, soft": PRSClassifier(
        SVC(kernel="linear", class_weight={0: 1, 1: 2}), **flat(**QUICK)
    ),
    "moments": PRSClassifier(GaussianNB(), **flat(**QUICK)),
    "several": PRSClassifier(
        [("knn", KNeighborsClassifier()), ("svm", SVC()), ("bayes", "drop")], **flat(**QUICK)
    ),
    "generic": PRSClassifier(LogisticRegression(), **flat(**QUICK)),
    "forest inside": PRSClassifier(RandomForestClassifier(3, max_depth=2), **flat(**QUICK)),
    "pipeline inside": PRSClassifier(make_pipeline(StandardScaler(), SVC()), **flat(**QUICK)),
    "groups": PRSClassifier(**flat(feature_groups={"g": [0, 1], "h": [2, 3]}, **QUICK)),
    "parts": PRSClassifier(
        **flat(
            penalty=ExpectedSize(0.01) + FusedLasso(0.01, GRAPH),
            solver=Solver(optimizer=ProximalAdam(0.01)),
            loss=CrossEntropy(),
            distribution=Bernoulli(X.shape[1]),
            engine=TreeEngine,
            **QUICK,
        )
    ),
    "engine by type": PRSClassifier(
        **flat(
            engine=GenericEngine,
            solver=Solver(optimizer=LogitAdam(0.1)),
            distribution=GroupedBernoulli(np.arange(X.shape[1]) // 2),
            **QUICK,
        )
    ),
    "random state": PRSClassifier(**flat(**{**QUICK, "random_state": np.random.RandomState(3)})),
    "odd keys": PRSClassifier(SVC(class_weight={np.int64(0): 1.0, 1: 2.0}), **flat(**QUICK)),
    "initial array": PRSClassifier(**flat(alpha_init=pd.Series(np.full(X.shape[1], 0.4)), **QUICK)),
    "random subspace": RandomSubspaceClassifier(**SMALL),
    "rase": RaSEClassifier(KNeighborsClassifier(), n_candidates=3, **SMALL),
    "pipeline": make_pipeline(StandardScaler(), PRSClassifier(**flat(**QUICK))),
    "search": GridSearchCV(
        PRSClassifier(**flat(penalty=ExpectedSize(0.1), **QUICK)),
        {"penalty__lam": [0.1, 0.2], "estimator": [None, GaussianNB()]},
        cv=StratifiedKFold(2),
        scoring="neg_log_loss",
    ),
    "search of many scores": GridSearchCV(
        PRSClassifier(**flat(**QUICK)),
        {"solver__n_batches": [2, 3]},
        cv=2,
        scoring=["accuracy", "roc_auc"],
        refit="accuracy",
    ),
}
REGRESSORS = {
    "tree": PRSRegressor(**flat(**QUICK)),
    "repeats": PRSRegressor(Ridge(), **flat(n_repeats=3, **QUICK)),
    "optimiser": PRSRegressor(
        Ridge(), **flat(solver=Solver(optimizer=FisherAdam(0.01, noise=0.5)), **QUICK)
    ),
    "neighbours": PRSRegressor(
        KNeighborsRegressor(weights="distance"), **flat(loss="huber", **QUICK)
    ),
    "machine": PRSRegressor(SVR(), **flat(loss=Huber(1.0), **QUICK)),
    "moments": PRSRegressor(Ridge(), **flat(loss=PoissonDeviance(), **QUICK)),
    "network of neurons": PRSRegressor(
        MLPRegressor(
            hidden_layer_sizes=(3,), early_stopping=True, max_iter=200, tol=1.0, n_iter_no_change=1
        ),
        **flat(**QUICK),
    ),
    "process": PRSRegressor(
        GaussianProcessRegressor(RBF() + WhiteKernel(), optimizer=None), **flat(**QUICK)
    ),
    "not fitted to all rows": PRSRegressor(
        **flat(max_samples=0.5, validation_fraction=None, **QUICK)
    ),
    "several": PRSRegressor(
        [("svm", SVR()), ("tree", DecisionTreeRegressor())], **flat(n_repeats=2, **QUICK)
    ),
    "random subspace": RandomSubspaceRegressor(KNeighborsRegressor(), **SMALL),
    "rase": RaSERegressor(DecisionTreeRegressor(max_depth=2), n_candidates=3, **SMALL),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, tmp_path):
    model = CLASSIFIERS[name].fit(X, LABELS)
    loaded = saved_and_loaded(model, tmp_path)
    assert_equal(model.predict_proba(X), loaded.predict_proba(X))
    assert without_addresses(repr(loaded)) == without_addresses(repr(model))
    assert_equal(vars(model), vars(loaded))


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name, tmp_path):
    model = REGRESSORS[name].fit(X_REG, Y_REG)
    loaded = saved_and_loaded(model, tmp_path)
    assert_equal(model.predict(X_REG), loaded.predict(X_REG))
    assert without_addresses(repr(loaded)) == without_addresses(repr(model))
    assert_equal(vars(model), vars(loaded))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("base", [None, KNeighborsClassifier()])
def test_frames_with_categories_and_words_for_classes(kind, base, tmp_path):
    table, words = frame(kind), WORDS[np.arange(50) % 3]
    model = PRSClassifier(base, **flat(feature_groups="prefix", **QUICK)).fit(table, words)
    loaded = saved_and_loaded(model, tmp_path)
    assert_equal(model.predict(table), loaded.predict(table))
    assert_equal(vars(model), vars(loaded))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_base_models_that_were_chosen_for_categories_and_missing_values(kind, tmp_path):
    table, words = frame(kind, gaps=True), WORDS[LABELS]
    model = PRSClassifier("auto", **flat(n_batches=2, n_repeats=1, **QUICK)).fit(table, words)
    assert {"boosting", "svm", "knn", "tree"} == set(model.estimators_bases_)
    loaded = saved_and_loaded(model, tmp_path)
    assert_equal(model.predict_proba(table), loaded.predict_proba(table))
    assert_equal(model.predict(table), loaded.predict(table))
    assert_equal(vars(model), vars(loaded))
    assert_equal(vars(loaded.fit(table, words)), vars(model.fit(table, words)))


def test_sparse_training_rows(tmp_path):
    thin = sparse.csr_array(np.where(X > 0, X, 0.0))
    model = PRSClassifier(KNeighborsClassifier(), **flat(engine="generic", **QUICK))
    model.fit(thin, LABELS)
    loaded = saved_and_loaded(model, tmp_path)
    assert_equal(model.predict_proba(thin), loaded.predict_proba(thin))


def test_a_pipeline_that_knows_its_columns(tmp_path):
    columns = make_column_transformer(
        (OneHotEncoder(), ["colour"]), (StandardScaler(), ["a", "b"]), remainder="drop"
    )
    table = frame().fillna({"colour": "none"})
    model = make_pipeline(columns, PRSClassifier(**flat(**QUICK))).fit(table, LABELS)
    loaded = saved_and_loaded(model, tmp_path)
    assert_equal(model.predict_proba(table), loaded.predict_proba(table))


def test_networks(tmp_path):
    truth = make_network(
        30, n_regulators=3, n_targets=3, n_modules=1, regulators_per_gene=2, random_state=0
    )
    model = PRSNetwork(
        lam="path",
        lams=(0.01, 0.02),
        n_estimators=5,
        max_iter=3,
        solver=Solver(n_batches=2),
        random_state=0,
    ).fit(truth.expression, truth.regulators)
    loaded = saved_and_loaded(model, tmp_path)
    assert_equal(vars(model), vars(loaded))
    assert_equal(model.links(), loaded.links())
    inferred = genie3(truth.expression, truth.regulators, n_estimators=3)
    again = saved_and_loaded(inferred, tmp_path)
    assert_equal(inferred.links(), again.links())
    assert repr(again) == repr(inferred)


def test_a_search_of_penalties(tmp_path):
    model = PRSClassifier(KNeighborsClassifier(), **flat(**QUICK))
    found = search_penalty(model, [None, ExpectedSize(0.1)], X, LABELS)
    loaded = saved_and_loaded(found, tmp_path)
    assert_equal(found.table, loaded.table)
    assert loaded.best_model is loaded.models[loaded.best_index]
    assert_equal(found.best_model.predict(X), loaded.best_model.predict(X))


def test_a_model_that_is_not_fitted(tmp_path):
    model = PRSRegressor(Ridge(alpha=3), **flat(penalty=ExpectedSize(0.2), **QUICK))
    loaded = saved_and_loaded(model, tmp_path)
    assert repr(loaded) == repr(model)
    assert loaded.fit(X_REG, Y_REG).n_features_in_ == X_REG.shape[1]


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    model = PRSClassifier(**flat(**QUICK)).fit(X, LABELS)
    loaded = saved_and_loaded(model, tmp_path)
    assert_equal(vars(loaded.fit(X[::-1], LABELS[::-1])), vars(model.fit(X[::-1], LABELS[::-1])))


def test_saving_leaves_the_model_as_it_was(tmp_path):
    model = CLASSIFIERS["search"].fit(X, LABELS)
    before = {id(part): part for part in ObjectGraph(model, lambda obj: None).parts}
    history = model.best_estimator_.history_
    save(model, tmp_path / "model.skops")
    assert model.best_estimator_.history_ is history
    assert type(before[id(history)]) is pd.DataFrame


def test_the_points_of_a_tree_of_neighbours_are_written_once(tmp_path):
    model = KNeighborsRegressor(algorithm="kd_tree", metric="l2").fit(X_REG, Y_REG)
    loaded = saved_and_loaded(model, tmp_path)
    assert_equal(model._tree, loaded._tree)
    assert loaded._tree.get_arrays()[0] is loaded._fit_X
    with zipfile.ZipFile(tmp_path / "model.skops") as file:
        arrays = [entry for entry in file.infolist() if entry.filename.endswith(".npy")]
    assert sum(entry.file_size >= X_REG.nbytes for entry in arrays) == 1


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
def test_a_density_with_weights(algorithm, tmp_path):
    model = KernelDensity(algorithm=algorithm, metric="manhattan", leaf_size=7)
    model.fit(X_REG, sample_weight=np.arange(1.0, 51.0))
    loaded = saved_and_loaded(model, tmp_path)
    assert_equal(model.tree_, loaded.tree_)
    assert_equal(model.score_samples(X_REG), loaded.score_samples(X_REG))


def test_maps_of_files_become_arrays(tmp_path):
    model = PRSClassifier(KNeighborsClassifier(algorithm="brute"), **flat(**QUICK)).fit(X, LABELS)
    member = model.estimators_[0]
    mapped = np.memmap(tmp_path / "rows", dtype=float, mode="w+", shape=member._fit_X.shape)
    mapped[:] = member._fit_X
    member._fit_X = mapped
    loaded = saved_and_loaded(model, tmp_path)
    assert type(loaded.estimators_[0]._fit_X) is np.ndarray
    assert_equal(model.predict_proba(X), loaded.predict_proba(X))


def test_joblib_keeps_everything_too(tmp_path):
    from randsub.exceptions import UnsafeLoadWarning

    model = PRSClassifier(KNeighborsClassifier(), **flat(**QUICK)).fit(X, LABELS)
    save(model, tmp_path / "model.joblib", format="joblib")
    with pytest.warns(UnsafeLoadWarning, match="runs whatever code"):
        loaded = load(tmp_path / "model.joblib", format="joblib")
    assert_equal(model.predict_proba(X), loaded.predict_proba(X))
    assert_equal(model.history_, loaded.history_)

"""What every engine owes its callers, whatever it computes and how.

An engine joins by lines in CASES: base models that it says it is usable for. The truth is a plain
scikit-learn loop: clone, fit on the columns of the mask, predict.
"""

import pickle
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from randsub.engines import (
    BoostingEngine,
    Engine,
    GenericEngine,
    KNNEngine,
    Learner,
    LinearAndBayesEngine,
    SVMEngine,
    TorchEngine,
    TreeEngine,
)
from randsub.engines.bootstrap import bootstrap_rows

N_TRAIN, N_QUERY, N_FEATURES = 60, 17, 6


class Case(NamedTuple):
    """An engine with a base model for it.

    ``rtol`` is how far it may be from scikit-learn; ``takes_weight`` and ``takes_missing`` say
    whether the base model has sample weights, and whether values may be missing.
    """

    engine: type[Engine]
    estimator: BaseEstimator
    votings: tuple[str, ...] = ()
    takes_weight: bool = True
    rtol: float = 1e-12
    takes_missing: bool = False


CASES = [
    Case(GenericEngine, KNeighborsRegressor(5), takes_weight=False),
    Case(KNNEngine, KNeighborsRegressor(5), takes_weight=False),
    Case(KNNEngine, KNeighborsRegressor(3, weights="distance"), takes_weight=False),
    Case(KNNEngine, KNeighborsRegressor(20), takes_weight=False),
    Case(KNNEngine, KNeighborsClassifier(5), ("soft", "hard"), takes_weight=False),
    Case(
        KNNEngine,
        KNeighborsClassifier(9, weights="distance", metric="euclidean"),
        ("soft", "hard"),
        takes_weight=False,
    ),
    # Limits that leave no tied splits; class counts always do, see test_tree.py.
    Case(TreeEngine, DecisionTreeRegressor(max_depth=2, min_samples_leaf=9), takes_missing=True),
    Case(LinearAndBayesEngine, Ridge(), rtol=1e-11),
    Case(LinearAndBayesEngine, Ridge(0.01, fit_intercept=False, solver="svd"), rtol=1e-11),
    Case(LinearAndBayesEngine, LinearRegression(), rtol=1e-11),
    Case(LinearAndBayesEngine, GaussianNB(), ("soft", "hard"), rtol=1e-11),
    Case(
        LinearAndBayesEngine,
        LinearDiscriminantAnalysis(),
        ("soft", "hard"),
        takes_weight=False,
        rtol=1e-11,
    ),
    # Two rows differ in every column, so that splits of two are tied: leaves must be larger.
    Case(
        BoostingEngine,
        GradientBoostingRegressor(n_estimators=20, max_depth=2, min_samples_leaf=9),
        rtol=1e-10,
    ),
    # Votes alone: the first split between four classes is tied; see tests/engines/boosting.
    Case(
        BoostingEngine,
        GradientBoostingClassifier(n_estimators=12, max_depth=1, min_samples_leaf=4),
        ("hard",),
        rtol=1e-10,
    ),
    # Two solutions, each within the solver's tolerance (see test_kernel.py).
    Case(SVMEngine, SVR(tol=1e-5), rtol=1e-4),
    Case(SVMEngine, SVR(kernel="linear", C=0.5, epsilon=0.2, tol=1e-5), rtol=1e-3),
    Case(SVMEngine, SVC(tol=1e-5), ("hard",)),
    Case(SVMEngine, SVC(kernel="linear", C=0.5, tol=1e-5), ("hard",)),
    Case(GenericEngine, Ridge()),
    Case(GenericEngine, DecisionTreeRegressor(max_depth=4), takes_missing=True),
    Case(GenericEngine, KNeighborsClassifier(5), ("soft", "hard"), takes_weight=False),
    Case(GenericEngine, GaussianNB(), ("soft", "hard")),
    Case(GenericEngine, DecisionTreeClassifier(max_depth=4), ("soft", "hard"), takes_missing=True),
    Case(GenericEngine, SVC(), ("hard",)),
    Case(
        GenericEngine,
        make_pipeline(StandardScaler(), LogisticRegression(tol=0.1)),
        ("soft",),
        False,
    ),
]
# On the CPU or, on a machine that has one, on a GPU. Distances are exact, systems are solved in
# double precision, and networks draw what scikit-learn draws, but add up in another order.
CASES += [
    Case(TorchEngine, KNeighborsRegressor(5), takes_weight=False),
    Case(TorchEngine, KNeighborsRegressor(3, weights="distance"), takes_weight=False),
    Case(TorchEngine, KNeighborsRegressor(20), takes_weight=False),
    Case(TorchEngine, KNeighborsClassifier(5), ("soft", "hard"), takes_weight=False),
    Case(
        TorchEngine,
        KNeighborsClassifier(9, weights="distance", metric="euclidean"),
        ("soft", "hard"),
        takes_weight=False,
    ),
    Case(TorchEngine, Ridge(), rtol=1e-11),
    Case(TorchEngine, Ridge(0.01, fit_intercept=False, solver="svd"), rtol=1e-11),
    Case(TorchEngine, LinearRegression(), rtol=1e-11),
    Case(TorchEngine, GaussianNB(), ("soft", "hard"), rtol=1e-11),
    Case(
        TorchEngine, LinearDiscriminantAnalysis(), ("soft", "hard"), takes_weight=False, rtol=1e-11
    ),
    Case(TorchEngine, MLPRegressor(hidden_layer_sizes=8, tol=0.01, n_iter_no_change=3), rtol=1e-7),
    Case(
        TorchEngine,
        MLPClassifier(
            (7, 5),
            activation="tanh",
            solver="sgd",
            learning_rate_init=0.05,
            tol=0.01,
            batch_size=23,
            n_iter_no_change=2,
        ),
        ("soft", "hard"),
        rtol=1e-7,
    ),
]
# Whose distances, splits or decisions are tied on repeated values.
TIED = (
    *(SVC, KNeighborsClassifier, KNeighborsRegressor, DecisionTreeRegressor),
    *(GradientBoostingClassifier, GradientBoostingRegressor),
)
LABELS = {
    "two classes": np.array([3, 8]),
    "four classes": np.array([-1, 0, 2, 5]),
    "strings": np.array(["ash", "birch", "cedar"]),
    "objects": np.array(["ash", "birch", "cedar"], dtype=object),
}


def name(case: Case) -> str:
    return f"{case.engine.__name__}-{type(case.estimator).__name__}"


class Task(NamedTuple):
    """Data, an engine for it, and what it is asked."""

    case: Case
    engine: Engine
    X: np.ndarray
    y: np.ndarray
    X_query: np.ndarray
    masks: np.ndarray
    seeds: np.ndarray

    @property
    def learner(self) -> Learner:
        return self.engine.learner

    def predict(self, **changes: Any) -> np.ndarray:
        whole = {
            "X_train": self.X,
            "y_train": self.y,
            "masks": self.masks,
            "X_query": self.X_query,
            "seeds": self.seeds,
        }
        return self.engine.predict_many(**{**whole, **changes})


def make_task(case: Case, kind: str | None, voting: str, *, passes_weight: bool = False) -> Task:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N_TRAIN + N_QUERY, N_FEATURES))
    height = X[:, 0] + 0.7 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X))
    classes = None if kind is None else LABELS[kind]
    y = height
    if classes is not None:
        cuts = np.quantile(height, np.linspace(0, 1, len(classes) + 1)[1:-1])
        y = classes[np.searchsorted(cuts, height)]
    # All sizes, the same mask twice, no columns and all of them.
    masks = np.array(
        [
            [1, 0, 0, 0, 0, 0],
            [0, 1, 1, 0, 0, 1],
            [0, 0, 0, 0, 0, 0],
            [1, 1, 1, 1, 1, 1],
            [0, 1, 1, 0, 0, 1],
            [1, 0, 1, 0, 1, 0],
        ],
        dtype=bool,
    )
    seeds = np.array([11, 12, 13, 14, 12, 16])
    learner = Learner(case.estimator, classes, voting, passes_weight)
    return Task(case, case.engine(learner), X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], masks, seeds)


REGRESSORS = [case for case in CASES if not case.votings]
CLASSIFIERS = [case for case in CASES if case.votings]
NO_TORCH = pytest.mark.skipif(
    find_spec("torch") is None, reason="PyTorch is not installed; make test-torch installs it."
)


def task_param(case: Case, kind: str | None, voting: str, label: str) -> Any:
    """A task as a parameter of a test, skipped if its engine is not installed."""
    return pytest.param(
        case, kind, voting, id=label, marks=NO_TORCH if case.engine is TorchEngine else ()
    )


TASKS = [task_param(case, None, "hard", name(case)) for case in REGRESSORS] + [
    task_param(case, kind, voting, f"{name(case)}-{voting}-{kind}")
    for case in CLASSIFIERS
    for voting in case.votings
    for kind in LABELS
]
SOME_TASKS = [task_param(case, None, "hard", name(case)) for case in REGRESSORS] + [
    task_param(case, "four classes", voting, f"{name(case)}-{voting}")
    for case in CLASSIFIERS
    for voting in case.votings
]
every_task = pytest.mark.parametrize(("case", "kind", "voting"), TASKS)
every_engine = pytest.mark.parametrize(("case", "kind", "voting"), SOME_TASKS)
every_classifier = pytest.mark.parametrize(
    ("case", "voting"),
    [
        pytest.param(case, voting, id=f"{name(case)}-{voting}", marks=param.marks)
        for param in SOME_TASKS
        for case, _, voting in [param.values]
        if case.votings
    ],
)


def answer(learner: Learner, model: Any, X: np.ndarray) -> np.ndarray:
    """Prediction (n, C) of a fitted model that knows all classes."""
    if learner.classes is None:
        return model.predict(X)[:, np.newaxis]
    if learner.voting == "soft":
        return model.predict_proba(X)
    return (model.predict(X)[:, np.newaxis] == learner.classes).astype(float)


def plain_loop(task: Task, weight: np.ndarray | None = None) -> np.ndarray:
    """The truth, for masks that hold something."""
    predictions = []
    for mask, seed in zip(task.masks, task.seeds, strict=True):
        model = clone(task.case.estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=first_draw(seed))
        drawn = task.learner.bootstrap
        rows = bootstrap_rows(seed, len(task.y)) if drawn else np.arange(len(task.y))
        params = {} if weight is None else {"sample_weight": weight[rows]}
        model.fit(task.X[np.ix_(rows, mask)], task.y[rows], **params)
        predictions.append(answer(task.learner, model, task.X_query[:, np.flatnonzero(mask)]))
    return np.array(predictions)


def first_draw(seed: int) -> int:
    return int(np.random.RandomState(seed).randint(np.iinfo(np.int32).max))


def holding(task: Task) -> Task:
    """The same without the empty mask."""
    held = task.masks.any(axis=1)
    return task._replace(masks=task.masks[held], seeds=task.seeds[held])


@every_task
def test_predictions_are_those_of_a_plain_loop(case, kind, voting) -> None:
    task = holding(make_task(case, kind, voting))
    found = task.predict()
    assert found.shape == (len(task.masks), N_QUERY, task.learner.n_outputs)
    np.testing.assert_allclose(found, plain_loop(task), rtol=case.rtol, atol=case.rtol)
    # The subsets matter, or the test says nothing.
    assert (found[0] != found[1]).any()


@every_task
def test_votes_and_probabilities_add_up_to_one(case, kind, voting) -> None:
    found = make_task(case, kind, voting).predict()
    if kind is None:
        assert np.isfinite(found).all()
        return
    np.testing.assert_allclose(found.sum(axis=2), 1.0, rtol=1e-6)
    assert found.min() >= 0.0
    if voting == "hard":
        assert np.isin(found, [0.0, 1.0]).all()


@every_engine
def test_the_engine_is_usable_for_its_cases(case, kind, voting) -> None:
    task = make_task(case, kind, voting)
    assert case.engine.is_usable_for(case.estimator, task.X, task.y, None) is True
    assert case.engine.prefers in ("threads", "processes")


@every_engine
def test_an_answer_depends_on_its_mask_and_seed_alone(case, kind, voting) -> None:
    task = make_task(case, kind, voting)
    whole = task.predict()
    order = np.random.default_rng(1).permutation(len(task.masks))
    permuted = task.predict(masks=task.masks[order], seeds=task.seeds[order])
    # On a device the order of additions may depend on what is computed together. The dispatcher
    # always asks for the same masks together.
    rtol = case.rtol if case.engine.on_device else 0.0
    np.testing.assert_allclose(permuted, whole[order], rtol=rtol, atol=rtol)
    single = [
        task.predict(masks=task.masks[[t]], seeds=task.seeds[[t]])[0] for t in range(len(whole))
    ]
    np.testing.assert_allclose(single, whole, rtol=rtol, atol=rtol)
    # Masks 1 and 4 are the same, with the same seed.
    np.testing.assert_allclose(whole[1], whole[4], rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(task.predict(), whole)


@every_engine
def test_an_answer_for_a_row_depends_on_the_row_alone(case, kind, voting) -> None:
    task = make_task(case, kind, voting)
    whole = task.predict()
    part = task.predict(X_query=task.X_query[5:9])
    np.testing.assert_allclose(part, whole[:, 5:9], rtol=1e-10, atol=1e-12)


@every_engine
def test_no_masks_no_models(case, kind, voting) -> None:
    task = make_task(case, kind, voting)
    found = task.predict(masks=task.masks[:0], seeds=task.seeds[:0])
    assert found.shape == (0, N_QUERY, task.learner.n_outputs)
    assert task.engine.fit_many(task.X, task.y, task.masks[:0], task.seeds[:0]) == []


@every_task
def test_fitted_models_are_estimators_that_predict_the_same(case, kind, voting) -> None:
    task = make_task(case, kind, voting)
    found = task.predict()
    models = task.engine.fit_many(task.X, task.y, task.masks, task.seeds)
    for model, mask, expected in zip(models, task.masks, found, strict=True):
        check_is_fitted(model)
        if mask.any():
            assert type(model) is type(case.estimator)
        columns = task.X_query[:, np.flatnonzero(mask)]
        np.testing.assert_allclose(
            answer(task.learner, model, columns), expected, rtol=case.rtol, atol=case.rtol
        )


@every_engine
def test_the_empty_subset_is_a_constant(case, kind, voting) -> None:
    task = make_task(case, kind, voting)
    found = task.predict(masks=task.masks[2:3], seeds=task.seeds[2:3])[0]
    assert (found == found[0]).all()
    if kind is None:
        np.testing.assert_allclose(found[0], [task.y.mean()], rtol=1e-12)
        return
    shares = (task.y[:, np.newaxis] == task.learner.classes).mean(axis=0)
    if voting == "soft":
        np.testing.assert_allclose(found[0], shares, rtol=1e-12)
    else:
        np.testing.assert_array_equal(found[0], np.eye(4)[np.argmax(shares)])


@every_engine
def test_the_constant_is_weighted(case, kind, voting) -> None:
    # Also where the base model itself has no use for weights.
    task = make_task(case, kind, voting)
    weight = np.random.default_rng(2).uniform(0.1, 1.0, N_TRAIN)
    if kind is not None:
        weight[task.y == 5] *= 10.0
    found = task.predict(masks=task.masks[2:3], seeds=task.seeds[2:3], sample_weight=weight)[0]
    if kind is None:
        np.testing.assert_allclose(found[0], np.average(task.y, weights=weight), rtol=1e-12)
        return
    shares = np.average(task.y[:, np.newaxis] == task.learner.classes, axis=0, weights=weight)
    expected = shares if voting == "soft" else np.eye(4)[np.argmax(shares)]
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    assert np.argmax(found[0]) == 3


@every_classifier
def test_a_single_class_gives_a_constant(case, voting) -> None:
    task = make_task(case, "four classes", voting)
    y = np.full(N_TRAIN, 2)
    expected = np.broadcast_to([0.0, 0.0, 1.0, 0.0], (len(task.masks), N_QUERY, 4))
    np.testing.assert_array_equal(task.predict(y_train=y), expected)
    weight = np.linspace(0.1, 1.0, N_TRAIN)
    np.testing.assert_array_equal(task.predict(y_train=y, sample_weight=weight), expected)
    for model, mask in zip(
        task.engine.fit_many(task.X, y, task.masks, task.seeds), task.masks, strict=True
    ):
        check_is_fitted(model)
        assert (model.predict(task.X_query[:, np.flatnonzero(mask)]) == 2).all()


@every_classifier
def test_a_class_that_is_not_there_has_no_probability(case, voting) -> None:
    task = make_task(case, "four classes", voting)
    known = task.y != 0
    found = task.predict(X_train=task.X[known], y_train=task.y[known])
    assert found.shape[2] == 4
    assert (found[:, :, 1] == 0.0).all()
    np.testing.assert_allclose(found.sum(axis=2), 1.0, rtol=1e-6)
    # The others are where an engine that has never heard of the class would put them.
    three = case.engine(Learner(case.estimator, np.array([-1, 2, 5]), voting))
    fewer = task._replace(engine=three, X=task.X[known], y=task.y[known])
    np.testing.assert_array_equal(found[:, :, [0, 2, 3]], fewer.predict())


@pytest.mark.parametrize(
    ("case", "kind", "voting"),
    [param for param in SOME_TASKS if param.values[0].takes_weight],
)
def test_weights_reach_the_base_model_when_asked(case, kind, voting) -> None:
    weight = np.random.default_rng(2).uniform(0.0, 3.0, N_TRAIN) ** 4
    weight[::11] = 0.0
    asked = holding(make_task(case, kind, voting, passes_weight=True))
    found = asked.predict(sample_weight=weight)
    np.testing.assert_allclose(found, plain_loop(asked, weight), rtol=case.rtol, atol=case.rtol)
    models = asked.engine.fit_many(asked.X, asked.y, asked.masks, asked.seeds, weight)
    columns = asked.X_query[:, np.flatnonzero(asked.masks[1])]
    np.testing.assert_allclose(
        answer(asked.learner, models[1], columns), found[1], rtol=case.rtol, atol=case.rtol
    )

    plain = plain_loop(asked)
    assert (plain != found).any()
    np.testing.assert_allclose(asked.predict(), plain, rtol=case.rtol, atol=case.rtol)
    # Not asked: the base model is trained without.
    silent = holding(make_task(case, kind, voting))
    np.testing.assert_allclose(
        silent.predict(sample_weight=weight), plain, rtol=case.rtol, atol=case.rtol
    )


DRAWN_OR_MISSING = [
    pytest.param(*task.values, is_weighted, missing, id=f"{task.id}-{is_weighted}-{missing}")
    for task in SOME_TASKS
    for is_weighted in (False, True)
    for missing in (False, True)
    if task.values[0].engine.can_bootstrap
    # Fewer different rows leave more splits tied.
    and not task.values[0].votings
    and (task.values[0].takes_weight or not is_weighted)
    and (task.values[0].takes_missing or not missing)
]


def with_gaps(task: Task) -> Task:
    """The same with missing values in three columns, one of which has them in queries alone."""
    X, X_query = task.X.copy(), task.X_query.copy()
    X[::5, 1], X[2::7, 4] = np.nan, np.nan
    X_query[::3, 1], X_query[::4, 2] = np.nan, np.nan
    return task._replace(X=X, X_query=X_query)


@pytest.mark.parametrize(
    ("case", "kind", "voting"),
    [task for task in SOME_TASKS if task.values[0].takes_missing],
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_missing_values_are_for_the_base_model(case, kind, voting, is_weighted) -> None:
    task = with_gaps(holding(make_task(case, kind, voting, passes_weight=is_weighted)))
    weight = np.random.default_rng(2).uniform(0.2, 3.0, N_TRAIN) if is_weighted else None
    assert case.engine.obstacle(case.estimator, task.X, task.y, weight) is None
    found = task.predict(sample_weight=weight)
    np.testing.assert_allclose(found, plain_loop(task, weight), rtol=case.rtol, atol=case.rtol)
    # Masks with and without missing values do not depend on each other, nor do rows.
    single = [
        task.predict(masks=task.masks[[t]], seeds=task.seeds[[t]], sample_weight=weight)[0]
        for t in range(len(found))
    ]
    np.testing.assert_array_equal(single, found)
    part = task.predict(X_query=task.X_query[5:9], sample_weight=weight)
    np.testing.assert_allclose(part, found[:, 5:9], rtol=1e-10, atol=1e-12)
    models = task.engine.fit_many(task.X, task.y, task.masks, task.seeds, weight)
    for model, mask, expected in zip(models, task.masks, found, strict=True):
        columns = task.X_query[:, np.flatnonzero(mask)]
        np.testing.assert_allclose(
            answer(task.learner, model, columns), expected, rtol=case.rtol, atol=case.rtol
        )
        ours = task.engine.predict_fitted(model, columns)
        assert (ours is None) == (case.engine is GenericEngine)
        if ours is not None:
            np.testing.assert_allclose(ours, expected, rtol=case.rtol, atol=case.rtol)


@pytest.mark.parametrize(("case", "kind", "voting", "is_weighted", "missing"), DRAWN_OR_MISSING)
def test_bootstrap_samples_have_weights_and_missing_values(
    case, kind, voting, is_weighted, missing
) -> None:
    task = holding(make_task(case, kind, voting))
    learner = Learner(case.estimator, passes_weight=is_weighted, bootstrap=True)
    task = task._replace(engine=case.engine(learner))
    task = with_gaps(task) if missing else task
    weight = np.random.default_rng(2).uniform(0.2, 3.0, N_TRAIN) if is_weighted else None
    found = task.predict(sample_weight=weight)
    np.testing.assert_allclose(found, plain_loop(task, weight), rtol=case.rtol, atol=case.rtol)


@every_engine
def test_nothing_that_was_handed_in_changes(case, kind, voting) -> None:
    task = make_task(case, kind, voting)
    handed = (task.X, task.y, task.X_query, task.masks, task.seeds)
    before = [array.copy() for array in handed]
    task.predict()
    task.engine.fit_many(task.X, task.y, task.masks, task.seeds)
    for array, copy in zip(handed, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert not [key for key in vars(case.estimator) if key.endswith("_")]


@every_engine
def test_an_engine_travels(case, kind, voting) -> None:
    task = make_task(case, kind, voting)
    arrived = task._replace(engine=pickle.loads(pickle.dumps(task.engine)))
    np.testing.assert_array_equal(arrived.predict(), task.predict())


@every_task
def test_an_engine_that_answers_for_a_model_answers_like_it(case, kind, voting) -> None:
    task = make_task(case, kind, voting)
    models = task.engine.fit_many(task.X, task.y, task.masks, task.seeds)
    n_answers = 0
    for model, mask in zip(models, task.masks, strict=True):
        part = task.X_query[:, np.flatnonzero(mask)]
        found = task.engine.predict_fitted(model, part) if mask.any() else None
        if found is None:
            continue
        n_answers += 1
        assert found.shape == (N_QUERY, task.learner.n_outputs)
        np.testing.assert_allclose(
            found, answer(task.learner, model, part), rtol=case.rtol, atol=case.rtol
        )
    # The generic engine knows no better way than the model's own; the others all do.
    assert n_answers == (0 if case.engine is GenericEngine else mask_count(task))


def mask_count(task: Task) -> int:
    """Number of masks that hold something."""
    return int(task.masks.any(axis=1).sum())


@every_engine
def test_nobody_answers_for_a_stranger(case, kind, voting) -> None:
    task = make_task(case, kind, voting)
    assert (
        task.engine.predict_fitted(DummyRegressor().fit(task.X, np.zeros(N_TRAIN)), task.X_query)
        is None
    )


@every_engine
@pytest.mark.parametrize("oddity", ["constant column", "few rows", "repeated values"])
def test_odd_data_gives_what_a_plain_loop_gives(case, kind, voting, oddity) -> None:
    task = holding(make_task(case, kind, voting))
    X, y, X_query = task.X.copy(), task.y, task.X_query.copy()
    if oddity == "constant column":
        X[:, 3] = X_query[:, 3] = 7.0
    elif oddity == "few rows":
        X, y = X[:24], y[:24]
    elif case.engine is not GenericEngine and isinstance(case.estimator, TIED):
        pytest.skip("Distances, splits or decisions are tied; see the engine's own tests.")
    else:
        X, X_query = X.round(), X_query.round()
    odd = task._replace(X=X, y=y, X_query=X_query)
    found = odd.predict(X_train=X, y_train=y, X_query=X_query)
    np.testing.assert_allclose(found, plain_loop(odd), rtol=10 * case.rtol, atol=10 * case.rtol)

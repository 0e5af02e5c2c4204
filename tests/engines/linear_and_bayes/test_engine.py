"""Models made of shared moments: where they apply, where they step aside, and at the edges."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.covariance import EmpiricalCovariance
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import ElasticNet, LinearRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from engine_choice import choose_engine, reason_to_step_aside
from randsub.datasets import make_friedman
from randsub.engines import GenericEngine, Learner, LinearAndBayesEngine
from randsub.engines.linear_and_bayes import family, kernels
from randsub.estimators import PRSRegressor
from randsub.exceptions import BaseModelError

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 6)), np.arange(40) % 2

# For every parameter of the constructors: values that are reproduced, and values that are not.
PARAMETERS: dict[type, dict[str, tuple[list[Any], list[Any]]]] = {
    Ridge: {
        "alpha": ([1e-3, 10, np.float32(0.5)], [0.0, -1.0, [1.0], np.array([2.0]), None]),
        "fit_intercept": ([True, False], ["yes"]),
        "copy_X": ([True, False], ["yes"]),
        "max_iter": ([None, 3], [0]),
        "tol": ([0.0, 0.5], [-1.0]),
        "solver": (
            ["auto", "cholesky", "svd"],
            ["lsqr", "sparse_cg", "sag", "saga", "lbfgs", "guess"],
        ),
        "positive": ([False], [True]),
        "random_state": ([None, 3], ["seed"]),
    },
    LinearRegression: {
        "fit_intercept": ([True, False], ["yes"]),
        "copy_X": ([True, False], ["yes"]),
        "tol": ([0.0, 1e-3, 0.9], [-1.0]),
        "n_jobs": ([None, 2], ["all"]),
        "positive": ([False], [True]),
    },
    GaussianNB: {
        "priors": ([None, [0.2, 0.8], np.array([1.0, 0.0])], ["uniform"]),
        "var_smoothing": ([1e-9, 0.1, 0.0], [-1.0]),
    },
    LinearDiscriminantAnalysis: {
        "solver": (["svd"], ["lsqr", "eigen", "guess"]),
        "shrinkage": ([None], ["auto", 0.5, 0.0]),
        "priors": ([None, [0.2, 0.8]], ["uniform"]),
        "n_components": ([None], [1]),
        "store_covariance": ([False, True], ["yes"]),
        "tol": ([1e-4, 0.0, 0.1], [-1.0]),
        "covariance_estimator": ([None], [EmpiricalCovariance()]),
    },
}


def settings_of(place: int) -> list[Any]:
    return [
        kind(**{name: value})
        for kind, parameters in PARAMETERS.items()
        for name, values in parameters.items()
        for value in values[place]
    ]


class Own(Ridge):
    """A subclass may do anything."""


OTHERS = [Own(), ElasticNet(), RidgeClassifier(), BernoulliNB(), QuadraticDiscriminantAnalysis()]
MODELS = [
    Ridge(),
    Ridge(0.1, fit_intercept=False),
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    GaussianNB(),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(tol=0.0),
]
REGRESSORS = [model for model in MODELS if not is_classifier(model)]
CLASSIFIERS = [model for model in MODELS if is_classifier(model)]


class Answers(NamedTuple):
    """What both engines say, and which masks the compiled one has left to the other."""

    ours: np.ndarray
    theirs: np.ndarray
    left: np.ndarray


def answers(estimator, X, y, masks, X_query, voting="soft", weight=None) -> Answers:
    classes = np.unique(y) if is_classifier(estimator) else None
    learner = Learner(estimator, classes, voting, weight is not None)
    engine, generic = LinearAndBayesEngine(learner), GenericEngine(learner)
    seeds = np.arange(len(masks))
    spied = engine._generic.predict_many
    asked = []
    engine._generic.predict_many = lambda *a: asked.extend(map(tuple, a[2])) or spied(*a)
    ours = engine.predict_many(X, y, masks, X_query, seeds, weight)
    theirs = generic.predict_many(X, y, masks, X_query, seeds, weight)
    left = np.array([tuple(mask) in asked and mask.any() for mask in masks], dtype=bool)
    return Answers(ours, theirs, left)


def targets(estimator, X, n_classes=2, seed=1):
    """Something that depends on the columns, and on more."""
    rng = np.random.default_rng(seed)
    height = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-300) @ np.linspace(1.0, -0.5, X.shape[1])
    height = height + rng.normal(size=len(X))
    if not is_classifier(estimator):
        return height
    return np.argsort(np.argsort(height)) * n_classes // len(X)


def test_every_parameter_of_the_constructors_is_spoken_for():
    for kind, parameters in PARAMETERS.items():
        assert set(kind().get_params()) == set(parameters)


@pytest.mark.parametrize("estimator", settings_of(0), ids=repr)
def test_auto_takes_it(estimator):
    for table in (X, pd.DataFrame(X), pl.DataFrame(X), (9 * X).astype(np.int8)):
        assert choose_engine("auto", estimator, table, Y, None) is LinearAndBayesEngine
    assert choose_engine("auto", estimator, X, Y, np.ones(40)) is LinearAndBayesEngine
    assert choose_engine("generic", estimator, X, Y, None) is GenericEngine
    masks = np.random.default_rng(1).random((6, 6)) < 0.6
    y = targets(estimator, X)
    with np.errstate(divide="ignore"):  # scikit-learn takes the logarithm of a prior of zero
        found = answers(estimator, X, y, masks, X[:9])
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", [*settings_of(1), *OTHERS], ids=repr)
def test_auto_falls_back(estimator):
    reason_to_step_aside(estimator, X, Y)
    with pytest.raises(ValueError, match="engine='linear_and_bayes' cannot train"):
        choose_engine("linear_and_bayes", estimator, X, Y, None)


@pytest.mark.parametrize(
    "table",
    [
        csr_array(X),
        pd.DataFrame(X).assign(text="a"),
        X > 0,
        # scikit-learn would compute in single precision, for all masks or for some.
        X.astype(np.float32),
        X.astype(np.float16),
        pd.DataFrame(X).assign(single=np.float32(1.0)),
        pl.DataFrame(X).with_columns(pl.lit(1.0, dtype=pl.Float32).alias("single")),
    ],
    ids=lambda table: type(table).__module__,
)
@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_auto_falls_back_for_other_tables(estimator, table):
    reason_to_step_aside(estimator, table, Y)


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("values", ["continuous", "whole numbers"])
@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_subsets_of_all_sizes(estimator, values, n_classes, voting):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 12))
    if values == "whole numbers":
        X = np.round(2.0 * X)
    y = targets(estimator, X[:120], n_classes)
    masks = np.zeros((8, 12), dtype=bool)
    for mask, size in zip(masks, [0, 1, 1, 5, 5, 5, 11, 12], strict=True):
        mask[rng.permutation(12)[:size]] = True
    found = answers(estimator, X[:120], y, masks, X[120:], voting)
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-9, atol=1e-9)
    assert not found.left.any()


@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_more_columns_than_rows_are_left_to_scikit_learn(estimator):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 60))
    masks = np.zeros((3, 60), dtype=bool)
    masks[0, :4] = masks[1, :40] = masks[2] = True
    found = answers(estimator, X, targets(estimator, X), masks, rng.normal(size=(7, 60)))
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-9, atol=1e-9)
    expected = [False, False, False] if isinstance(estimator, GaussianNB) else [False, True, True]
    assert found.left.tolist() == expected


def test_large_systems_are_left_to_scikit_learn():
    rng = np.random.default_rng(3)
    n_columns = family.MOST_COLUMNS + 1
    X = rng.normal(size=(300, n_columns))
    masks = np.ones((2, n_columns), dtype=bool)
    masks[0, 0] = False
    found = answers(Ridge(), X, X[:, 0] + X[:, 1] ** 2, masks, X[:5])
    assert found.left.tolist() == [False, True]
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("defect", ["constant", "twice", "sum", "nearly twice"])
@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_columns_that_carry_nothing_new(estimator, defect):
    """Exactly the masks for which scikit-learn has a rule of its own are left to it."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 5))
    y = targets(estimator, X[:60], 3)
    X[:, 4] = {
        "constant": np.full(90, 7.25),
        "twice": X[:, 0],
        "sum": X[:, 0] + 2.0 * X[:, 1] - X[:, 2],
        "nearly twice": X[:, 0] + 1e-9 * X[:, 3],
    }[defect]
    masks = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 1], [0, 1, 0, 1, 1]], dtype=bool)
    found = answers(estimator, X[:60], y, masks, X[60:])
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-7, atol=1e-7)
    solves = isinstance(estimator, LinearRegression | LinearDiscriminantAnalysis)
    # Without an intercept a constant column is as good as any.
    harmless = defect == "constant" and not getattr(estimator, "fit_intercept", True)
    singular = solves and not harmless
    assert found.left.tolist() == [False, singular, singular and defect == "constant"]


@pytest.mark.parametrize(
    "estimator", [m for m in MODELS if m.get_params().get("fit_intercept", True)], ids=repr
)
def test_digits_survive_large_means_and_small_spreads(estimator):
    """The same numbers about zero, where scikit-learn loses no digits, are the truth."""
    rng = np.random.default_rng(5)
    moved = 1e6 + 1e-3 * rng.normal(size=(100, 5))
    X = moved - 1e6  # exact
    y = targets(estimator, X[:70], 3)
    masks = np.array([[1, 0, 0, 0, 0], [0, 1, 1, 0, 1], [1, 1, 1, 1, 1]], dtype=bool)
    truth = answers(estimator, X[:70], y, masks, X[70:]).theirs
    found = answers(estimator, moved[:70], y, masks, moved[70:])
    np.testing.assert_allclose(found.ours, truth, rtol=1e-8, atol=1e-8)


def test_targets_with_a_large_mean():
    y = 1e7 + 1e-2 * X[:, 0]
    found = answers(LinearRegression(), X, y, np.ones((1, 6), dtype=bool), X)
    np.testing.assert_allclose(found.ours[0, :, 0], y, rtol=1e-15, atol=1e-8)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=repr)
@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_tiny_batches_in_regression(estimator, n_rows):
    masks = np.array([[1, 0, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0]], dtype=bool)
    found = answers(estimator, X[:n_rows], X[:n_rows, 5], masks, X[n_rows:])
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
@pytest.mark.parametrize("n_rows", [2, 3])
def test_tiny_batches_in_classification(estimator, n_rows):
    masks = np.array([[1, 0, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0]], dtype=bool)
    rows = (X[:n_rows], np.arange(n_rows) % 2, masks, X[n_rows:])
    if n_rows == 2 and isinstance(estimator, LinearDiscriminantAnalysis):
        with pytest.raises(BaseModelError, match="more than the number of classes"):
            answers(estimator, *rows)
        return
    found = answers(estimator, *rows)
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("estimator", [*REGRESSORS, GaussianNB()], ids=repr)
def test_rows_without_weight_do_not_matter(estimator):
    rng = np.random.default_rng(6)
    weight = rng.uniform(0.5, 3.0, 40)
    weight[::3] = 0.0
    y = targets(estimator, X, 3)
    masks = rng.random((5, 6)) < 0.5
    found = answers(estimator, X, y, masks, X, weight=weight)
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-9, atol=1e-9)
    assert not found.left.any()
    strange, strange_y = X.copy(), y.copy()
    strange_y[::3] = strange_y[1::3][0]
    if not is_classifier(estimator):
        # The smoothing of naive Bayes looks at all rows.
        strange[::3] = 1e9
    moved = answers(estimator, strange, strange_y, masks, X, weight=weight)
    np.testing.assert_allclose(moved.ours, found.ours, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("share", [0.0, 1e-10])
def test_a_class_without_weight(share, voting):
    y = np.arange(40) % 3
    weight = np.where(y == 1, share, 1.0)
    masks = np.array([[1, 1, 0, 0, 0, 1]], dtype=bool)
    # The query in the middle is where scikit-learn puts a class that it knows nothing of.
    query = np.concatenate([X[:4] + 5.0, np.zeros((1, 6))])
    with np.errstate(divide="ignore"):
        theirs = answers(GaussianNB(), X + 5.0, y, masks, query, voting, weight).theirs
    found = LinearAndBayesEngine(Learner(GaussianNB(), np.arange(3), voting, True)).predict_many(
        X + 5.0, y, masks, query, np.zeros(1, dtype=int), weight
    )
    np.testing.assert_allclose(found, theirs, rtol=1e-9, atol=1e-12)
    assert (found[0, :, 1] > 0.5).tolist() == [False] * 4 + [share > 0.0]


def test_no_weight_at_all_is_refused_in_the_words_of_scikit_learn():
    masks = np.ones((1, 6), dtype=bool)
    for estimator in (Ridge(), LinearRegression()):
        with pytest.raises(BaseModelError, match=r"non-zero|ZeroDivisionError"):
            answers(estimator, X, X[:, 0], masks, X, weight=np.zeros(40))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_the_bits_do_not_depend_on_the_other_masks(estimator, shared, monkeypatch):
    """Whether products are shared by all masks or computed for each of them."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(83, 15)) * 10.0 ** rng.integers(-3, 4, 15)
    y = targets(estimator, X[:70], 3)
    masks = rng.random((60, 15)) < 0.5
    masks[:, 0] |= ~masks.any(axis=1)
    classes = np.unique(y) if is_classifier(estimator) else None
    engine = LinearAndBayesEngine(Learner(estimator, classes, "soft"))
    if not shared:
        monkeypatch.setattr(family, "MOST_ENTRIES", 0)
    whole = engine.predict_many(X[:70], y, masks, X[70:], np.arange(60))
    monkeypatch.undo()
    # Two masks that together hold many columns: never worth a shared table.
    for pair in ([0, 1], [2, 3], [4, 5]):
        part = engine.predict_many(X[:70], y, masks[pair], X[70:], np.arange(2))
        np.testing.assert_array_equal(part, whole[pair])


def limits(most_columns, most_entries):
    return kernels.Limits(most_columns, most_entries, np.inf, np.inf)


def test_products_are_shared_where_that_is_less_work():
    lines = np.random.default_rng(0).normal(size=(9, 16))
    few, many = np.array([0, 3, 6]), np.arange(0, 63, 6)
    assert len(kernels._shared_table(lines, 8, few, limits(10, 10**6))) == 0
    table = kernels._shared_table(lines, 8, many, limits(10, 10**6))
    assert table.shape == (8, 8)
    above = np.triu_indices(8, 1)
    np.testing.assert_allclose(table[above], (lines @ lines.T)[:8, :8][above], rtol=1e-12)
    # Not for masks that will be left to others, and not without bounds.
    assert len(kernels._shared_table(lines, 8, many, limits(5, 10**6))) == 0
    assert len(kernels._shared_table(lines, 8, many, limits(10, 63))) == 0


def test_memory_follows_the_masks_not_the_columns():
    """Products of all pairs of the columns in use would be a hundred times what masks need."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 20_000))
    masks = rng.random((400, 20_000)) < 5e-4
    used = masks.any(axis=0).sum()
    begin = np.concatenate([[0], np.cumsum(masks.sum(axis=1))])
    lines = np.zeros((used, 32))
    table = kernels._shared_table(lines, int(used), begin, limits(30, family.MOST_ENTRIES))
    assert used > 3_000
    assert table.size == 0
    found = answers(Ridge(), X, X[:, 0] + X[:, 1], masks[:40], X[:5])
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-9])
def test_least_squares_drops_what_scikit_learn_drops(scale):
    """Singular values far below the largest count as nothing, by the scale of the columns."""
    moved = X * [1.0, 1.0, 1.0, 1.0, 1.0, scale]
    masks = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 1, 0]], dtype=bool)
    found = answers(LinearRegression(), moved, X.sum(axis=1), masks, moved)
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-9, atol=1e-9)
    assert found.left.tolist() == [scale < 1e-6, False]


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(1e-9)], ids=repr)
def test_systems_that_cost_digits_are_left_to_scikit_learn(estimator):
    """Not singular for anybody, but normal equations square the condition."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(80, 4))
    y = targets(estimator, X)
    X[:, 2] = X[:, 0] + 1e-2 * X[:, 2]
    X[:, 3] = X[:, 0] + 1e-4 * X[:, 3]
    masks = np.array([[1, 1, 1, 0], [1, 1, 0, 1], [0, 1, 0, 1]], dtype=bool)
    found = answers(estimator, X, y, masks, X)
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-10, atol=1e-10)
    assert found.left.tolist() == [False, True, False]


@pytest.mark.parametrize("bend", [1e-5, 0.05])
def test_discriminants_drop_directions_that_scikit_learn_drops(bend):
    """Centres of three classes on a line, nearly or not: the svd solver looks at the second."""
    rng = np.random.default_rng(9)
    y = np.arange(300) % 3
    noise = rng.normal(size=(300, 2))
    # Uncorrelated to the last digit, so that the centres alone decide.
    for c in range(3):
        noise[y == c] -= noise[y == c].mean(axis=0)
    X = noise + np.array([[-3.0, 0.0], [0.0, bend], [3.0, 0.0]])[y]
    masks = np.ones((1, 2), dtype=bool)
    found = answers(LinearDiscriminantAnalysis(), X, y, masks, 100.0 * X)
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-8, atol=1e-10)
    assert found.left.tolist() == [bend < 1e-3]
    generous = answers(LinearDiscriminantAnalysis(tol=1e-7), X, y, masks, 100.0 * X)
    np.testing.assert_allclose(generous.ours, generous.theirs, rtol=1e-8, atol=1e-10)
    assert not generous.left.any()


@pytest.mark.parametrize("n_columns", [1, 2, 3, 6])
def test_discriminants_of_many_classes_on_few_columns(n_columns):
    rng = np.random.default_rng(10)
    y = np.arange(200) % 5
    X = rng.normal(size=(200, n_columns)) + 2.0 * rng.normal(size=(5, n_columns))[y]
    model = LinearDiscriminantAnalysis(priors=[0.1, 0.3, 0.2, 0.2, 0.2])
    found = answers(model, X, y, np.ones((1, n_columns), dtype=bool), X)
    np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-9, atol=1e-9)
    assert not found.left.any()


@pytest.mark.parametrize("kind", [GaussianNB, LinearDiscriminantAnalysis])
def test_priors_that_do_not_fit_are_refused_or_rescaled_by_scikit_learn(kind):
    masks = np.ones((1, 6), dtype=bool)
    for priors in ([0.5, 0.5], [1.5, -0.25, -0.25], ["a", "b", "c"]):
        with pytest.raises(BaseModelError):
            answers(kind(priors=priors), X, np.arange(40) % 3, masks, X)
    if kind is GaussianNB:
        with pytest.raises(BaseModelError, match="sum of the priors"):
            answers(kind(priors=[1.0, 1.0]), X, Y, masks, X)
    else:
        with pytest.warns(UserWarning, match="Renormalizing"):
            found = answers(kind(priors=[1.0, 3.0]), X, Y, masks, X)
        np.testing.assert_array_equal(found.ours, found.theirs)


@pytest.mark.parametrize("where", ["training", "query"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_what_is_no_number_is_refused_in_the_words_of_scikit_learn(estimator, voting, value, where):
    holed = X.copy()
    holed[3, 1] = value
    train, query = (holed, X) if where == "training" else (X, holed)
    y = targets(estimator, X)
    masks = np.array([[1, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0]], dtype=bool)
    with pytest.raises(BaseModelError, match=r"NaN|infinity") as caught:
        answers(estimator, train, y, masks, query, voting)
    assert "[1, 2]" in str(caught.value)
    fine = answers(estimator, train, y, masks[:1], query, voting)
    assert not fine.left.any()


def test_numbers_that_overflow_are_left_to_scikit_learn():
    huge = X * [1e200, 1.0, 1.0, 1.0, 1.0, 1.0]
    learner = Learner(LinearRegression())
    found = LinearAndBayesEngine(learner).predict_many(
        huge, X[:, 1], np.ones((1, 6), dtype=bool), X, np.zeros(1, dtype=int)
    )
    assert np.isfinite(found).all()


def test_members_of_equal_rows_answer_for_themselves():
    """Variances of 0 have no logarithm: numpy would say so for each member."""
    equal = np.ones((40, 6))
    engine = LinearAndBayesEngine(Learner(GaussianNB(), np.unique(Y)))
    model = GaussianNB().fit(equal, Y)
    assert (model.var_ == 0.0).all()
    assert engine.predict_fitted(model, equal) is None
    assert engine.predict_fitted(GaussianNB().fit(X, Y), X) is not None


def test_classes_taken_for_numbers_and_numbers_for_classes():
    masks = np.eye(6, dtype=bool)[:2]
    learner = Learner(GaussianNB())
    found = [
        engine(learner).predict_many(X, Y, masks, X, np.arange(2))
        for engine in (LinearAndBayesEngine, GenericEngine)
    ]
    np.testing.assert_array_equal(*found)
    assert set(np.unique(found[0])) == {0.0, 1.0}
    with pytest.raises(BaseModelError, match="none of the classes"):
        LinearAndBayesEngine(Learner(Ridge(), np.arange(2))).predict_many(
            X, Y, masks, X, np.arange(2)
        )


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    model=st.sampled_from(range(len(MODELS))),
    seed=st.integers(0, 10**6),
    n=st.integers(4, 90),
    q=st.integers(1, 40),
    m=st.integers(1, 14),
    n_classes=st.integers(2, 4),
    voting=st.sampled_from(["soft", "hard"]),
    spread=st.integers(0, 3),
    offset=st.sampled_from([0.0, 1e3]),
    whole=st.booleans(),
    weighted=st.booleans(),
)
def test_any_shape_and_scale_gives_what_scikit_learn_gives(
    model, seed, n, q, m, n_classes, voting, spread, offset, whole, weighted
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + q, m))
    X = (np.round(2.0 * X) if whole else X) * 10.0 ** rng.integers(-spread, spread + 1, m) + offset
    estimator = MODELS[model]
    if is_classifier(estimator):
        y = rng.permutation(np.arange(n) % min(n_classes, n - 1))
    else:
        y = rng.normal(size=n) + offset
    takes_weight = not isinstance(estimator, LinearDiscriminantAnalysis)
    weight = rng.uniform(0.1, 2.0, n) if weighted and takes_weight else None
    masks = rng.random((6, m)) < 0.5
    found = answers(estimator, X[:n], y, masks, X[n:], voting, weight)
    if is_classifier(estimator) and voting == "hard":
        # Votes may differ only where two classes are as good as equal.
        soft = answers(estimator, X[:n], y, masks, X[n:], "soft", weight).theirs
        first, second = np.sort(soft, axis=2)[:, :, :-3:-1].transpose(2, 0, 1)
        differs = (found.ours != found.theirs).any(axis=2)
        assert (first - second)[differs].max(initial=0.0) < 1e-6
    else:
        size = np.abs(found.theirs).max(initial=1.0)
        np.testing.assert_allclose(found.ours, found.theirs, rtol=1e-6, atol=1e-8 * size)


def test_kernels_are_compiled_for_one_kind_of_arguments():
    """Several would share the index of their cache, in which processes can mix them up."""
    frozen = X[:, 0].copy()
    frozen.flags.writeable = False
    masks = np.random.default_rng(0).random((5, 6)) < 0.6
    tables = (X, np.asfortranarray(X), (9 * X).astype(np.int8), pd.DataFrame(X), X[::-1, ::-1])
    for table in tables:
        for model in MODELS:
            takes_weight = not isinstance(model, LinearDiscriminantAnalysis)
            for y in (Y, (frozen > 0).astype(np.int32)) if is_classifier(model) else (frozen, Y):
                for weight in (None, np.ones(40, dtype=int), frozen**2):
                    answers(model, table, y, masks, table, weight=weight if takes_weight else None)
    for name, kernel in vars(kernels).items():
        if hasattr(kernel, "signatures"):
            # Those that others call are not compiled again once the others are cached.
            least = 0 if name.startswith("_") else 1
            assert least <= len(kernel.signatures) <= 1, kernel


def test_the_estimator_itself_is_not_fitted():
    for model in MODELS:
        answers(model, X, targets(model, X), np.eye(6, dtype=bool), X)
        assert vars(model) == vars(clone(model))


def test_a_whole_run_finds_what_the_generic_engine_finds():
    X, y, _ = make_friedman(n_samples=80, n_irrelevant=5, random_state=0)
    found = {}
    for engine in ("auto", "linear_and_bayes", "generic"):
        model = PRSRegressor(Ridge(), n_estimators=20, max_iter=5, engine=engine, random_state=0)
        found[engine] = model.fit(X, y).alpha_
    np.testing.assert_array_equal(found["auto"], found["linear_and_bayes"])
    np.testing.assert_allclose(found["linear_and_bayes"], found["generic"], rtol=1e-6, atol=1e-9)

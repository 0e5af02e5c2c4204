"""Errors and scores against scikit-learn's own."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC

from engine_choice import choose_engine
from randsub.engines import Learner
from randsub.estimators import cross_validation
from randsub.estimators.cross_validation import (
    cross_validated_average,
    cross_validation_errors,
    validation_score,
)
from randsub.estimators.fit_data import FitData, Split
from randsub.estimators.subsets import draw_subsets
from randsub.estimators.validation import Samples
from randsub.parallel import Data, Dispatcher
from randsub.solver.rounds import deal_batches


def make_fit_data(base, n=48, m=6, classes=None, weighted=False, voting="hard", n_jobs=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    codes, labels, encoded = None, None, y[:, np.newaxis]
    if classes:
        codes = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
        labels = np.array([f"class {c}" for c in range(classes)])
        y, encoded = labels[codes], np.eye(classes)[codes]
    weight = rng.integers(1, 4, size=n).astype(float) if weighted else None
    # Weights go to base models that take them.
    learner = Learner(base, labels, voting, passes_weight=weighted and hasattr(base, "C"))
    wanted = "generic" if base is GENERIC else "auto"
    engine = choose_engine(wanted, base, X, y, weight)(learner)
    samples = Samples(X, y, weight, np.arange(n))
    return FitData(
        samples=samples,
        encoded=encoded,
        strata=codes,
        splits=[Split(np.arange(n - 15), np.arange(n - 15, n))],
        rngs=[rng],
        loss_weight=samples.loss_weight(),
        judges=samples,
        val_encoded=encoded,
        val_strata=codes,
        val_loss_weight=samples.loss_weight(),
        standardizer=None,
        dispatcher=Dispatcher(engine, Data(X, X, weight, {}), n_jobs),
        feature_names=[],
    )


def some_subsets(m=6, n=9):
    rng = np.random.default_rng(1)
    return draw_subsets(np.linspace(0.1, 1.0, m), rng.integers(1, m + 1, size=n), rng)


# No compiled engine has this metric.
GENERIC = KNeighborsClassifier(3, metric="manhattan")
CASES = [
    (KNeighborsClassifier(3), 2),
    (KNeighborsClassifier(3), 4),
    (SVC(), 3),
    (GENERIC, 3),
    (KNeighborsRegressor(3), None),
    (Ridge(), None),
]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(("base", "classes"), CASES, ids=[f"{b}-{c}" for b, c in CASES])
def test_cross_validation_errors(base, classes, weighted):
    data = make_fit_data(base, classes=classes, weighted=weighted)
    rows = data.train_rows
    folds = deal_batches(rows, 5, data.strata, None, np.random.default_rng(2))
    fold_of = np.empty(len(rows), dtype=int)
    for k, fold in enumerate(folds):
        fold_of[fold.query_rows] = k
    subsets, told = some_subsets(), []
    which = np.arange(len(subsets))[::-1]
    errors = cross_validation_errors(
        data, subsets, which, folds, np.random.default_rng(3), told.append
    )
    assert sum(told) == len(which)

    X, y, weight, _ = data.samples
    weight = np.ones(len(y)) if weight is None else weight
    params = (
        {"sample_weight": weight[rows]} if data.dispatcher.engines[0].learner.passes_weight else {}
    )
    for error, mask in zip(errors, subsets.masks(which, 6), strict=True):
        predicted = cross_val_predict(
            clone(base), X[rows][:, mask], y[rows], cv=PredefinedSplit(fold_of), params=params
        )
        wrong = predicted != y[rows] if classes else (predicted - y[rows]) ** 2
        assert error == pytest.approx(np.average(wrong, weights=weight[rows]), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("base", [KNeighborsClassifier(3), GENERIC], ids=str)
def test_blocks_and_workers_do_not_change_errors(base, monkeypatch):
    subsets = some_subsets(n=25)

    def errors(**changes):
        data = make_fit_data(base, classes=3, **changes)
        folds = deal_batches(data.train_rows, 4, data.strata, None, np.random.default_rng(2))
        which = np.arange(len(subsets))
        return cross_validation_errors(
            data, subsets, which, folds, np.random.default_rng(3), lambda n: None
        )

    whole = errors()
    np.testing.assert_array_equal(errors(n_jobs=2), whole)
    monkeypatch.setattr(cross_validation, "BYTES_PER_BLOCK", 7 * 33 * 3 * 8)
    np.testing.assert_array_equal(errors(), whole)


def test_memory_of_a_block_is_bounded(monkeypatch):
    data = make_fit_data(KNeighborsClassifier(3), classes=3)
    folds = deal_batches(data.train_rows, 4, data.strata, None, np.random.default_rng(2))
    largest, ask = [], cross_validation._ask_folds

    def watched(*args):
        answers = ask(*args)
        largest.append(sum(answer.nbytes for answer in answers))
        return answers

    monkeypatch.setattr(cross_validation, "_ask_folds", watched)
    monkeypatch.setattr(cross_validation, "BYTES_PER_BLOCK", 10_000)
    subsets = some_subsets(n=60)
    cross_validation_errors(
        data, subsets, np.arange(60), folds, np.random.default_rng(3), lambda n: None
    )
    assert len(largest) > 1
    assert max(largest) <= 10_000


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    ("base", "classes"),
    [(KNeighborsClassifier(3), 3), (KNeighborsRegressor(3), None), (Ridge(), None)],
    ids=str,
)
def test_validation_score(base, classes, weighted, monkeypatch):
    data = make_fit_data(base, classes=classes, weighted=weighted)
    masks = some_subsets().masks(np.arange(9), 6)
    score = validation_score(data, masks, np.random.default_rng(0))
    X, y, weight, _ = data.samples
    train, val = data.train_rows, data.val_rows
    members = [clone(base).fit(X[train][:, mask], y[train]) for mask in masks]
    answers = [model.predict(X[val][:, m]) for model, m in zip(members, masks, strict=True)]
    weight = None if weight is None else weight[val]
    if classes:
        labels = np.unique(y)
        votes = sum((answer[:, np.newaxis] == labels).astype(float) for answer in answers)
        expected = accuracy_score(y[val], labels[votes.argmax(axis=1)], sample_weight=weight)
    else:
        expected = r2_score(y[val], np.mean(answers, axis=0), sample_weight=weight)
    assert score == pytest.approx(expected)
    monkeypatch.setattr(cross_validation, "BYTES_PER_BLOCK", 1)
    assert validation_score(data, masks, np.random.default_rng(0)) == pytest.approx(score)


def test_a_constant_validation_target_still_tells_better_from_worse():
    data = make_fit_data(Ridge())
    data.encoded[data.val_rows] = 0.1
    ones = np.ones(15)
    near, far = (np.full((15, 1), 0.1 + gap) for gap in (0.5, 2.0))
    exact = cross_validation._score(data, np.full((15, 1), 0.1), ones)
    assert exact == 1.0
    assert (
        exact > cross_validation._score(data, near, ones) > cross_validation._score(data, far, ones)
    )


def test_cross_validated_average():
    data = make_fit_data(KNeighborsClassifier(3), classes=3)
    folds = deal_batches(np.arange(48), 6, data.strata, None, np.random.default_rng(2))
    masks = some_subsets().masks(np.arange(9), 6)
    average = cross_validated_average(data, masks, folds, np.random.default_rng(0))
    np.testing.assert_allclose(average.sum(axis=1), 1.0)
    fold_of = np.empty(48, dtype=int)
    for k, fold in enumerate(folds):
        fold_of[fold.query_rows] = k
    X, y, *_ = data.samples
    votes = np.mean(
        [
            cross_val_predict(KNeighborsClassifier(3), X[:, mask], y, cv=PredefinedSplit(fold_of))[
                :, np.newaxis
            ]
            == np.unique(y)
            for mask in masks
        ],
        axis=0,
    )
    np.testing.assert_allclose(average, votes)

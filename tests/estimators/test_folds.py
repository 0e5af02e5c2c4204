"""Folds of every kind that scikit-learn takes."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from randsub import RaSEClassifier, RaSERegressor
from randsub.datasets import make_friedman, make_hypercube
from randsub.estimators.folds import Folds

QUICK = {"n_estimators": 5, "n_candidates": 4, "max_iter": 2, "random_state": 0}


def data_of(y):
    y = np.asarray(y)
    return SimpleNamespace(
        samples=SimpleNamespace(X=np.zeros((len(y), 1)), y=y, rows=np.arange(len(y))),
        strata=y if y.dtype.kind == "i" else None,
    )


def dealt(cv, y, rows):
    return Folds(cv).deal(data_of(y), np.asarray(rows), np.random.default_rng(0))


@pytest.mark.parametrize(("cv", "n_folds"), [(3, 3), (None, 5), (100, 8)])
def test_a_number_of_folds_holds_each_row_out_once(cv, n_folds):
    rows = np.arange(2, 10)
    folds = dealt(cv, np.zeros(12), rows)
    assert len(folds) == n_folds
    assert sorted(np.concatenate([fold.query_rows for fold in folds])) == rows.tolist()
    for fold in folds:
        assert sorted([*fold.train_rows, *fold.query_rows]) == rows.tolist()


def test_a_splitter_sees_the_rows_alone():
    y, rows = np.arange(20) % 2, np.arange(5, 17)
    splitter = StratifiedKFold(3)
    expected = splitter.split(np.zeros((12, 1)), y[rows])
    for fold, (train, held_out) in zip(dealt(splitter, y, rows), expected, strict=True):
        np.testing.assert_array_equal(fold.train_rows, rows[train])
        np.testing.assert_array_equal(fold.query_rows, rows[held_out])


@given(
    n=st.integers(4, 30),
    n_folds=st.integers(2, 4),
    as_mask=st.booleans(),
    seed=st.integers(0, 99),
)
def test_given_splits_are_taken_as_far_as_rows_go(n, n_folds, as_mask, seed):
    kept = np.sort(np.random.default_rng(seed).permutation(n)[: max(n_folds * 2, n // 2)])
    place = np.empty(n, dtype=int)
    place[kept] = np.arange(len(kept)) % n_folds
    place[np.setdiff1d(np.arange(n), kept)] = 0
    splits = [(place != k, place == k) for k in range(n_folds)]
    if not as_mask:
        splits = [tuple(map(np.flatnonzero, split)) for split in splits]
    if len(kept) < n_folds:
        return
    for k, fold in enumerate(dealt(iter(splits), np.zeros(n), kept)):
        np.testing.assert_array_equal(fold.query_rows, kept[place[kept] == k])
        np.testing.assert_array_equal(fold.train_rows, kept[place[kept] != k])


@pytest.mark.parametrize(
    ("cv", "told"),
    [
        ([], "empty iterable; give at least one pair"),
        ([([0], [1], [2])], "pairs of arrays"),
        ([3], "pairs of arrays, .* got 3"),
        ([([0, 1], [12])], "names the row 12, but X has 12 rows"),
        ([([0, -1], [2])], "names the row -1"),
        ([([0.5], [2])], "arrays of row indices or masks; got an array of shape .* type float64"),
        ([([0, 1], [11])], "leaves 2 samples for training and holds out 0"),
    ],
)
def test_splits_that_cannot_be_used(cv, told):
    with pytest.raises(ValueError, match=told):
        dealt(cv, np.zeros(12), np.arange(10))


def test_a_splitter_and_its_splits_give_the_same_fit():
    X, y, _ = make_friedman(60, 4, random_state=0)
    splitter = KFold(3)
    one, other = (
        RaSERegressor(Ridge(), cv=cv, validation_fraction=None, **QUICK).fit(X, y)
        for cv in (splitter, list(splitter.split(X)))
    )
    np.testing.assert_array_equal(one.alpha_, other.alpha_)
    np.testing.assert_array_equal(one.history_, other.history_)
    # Three models for each subset that was judged, and the members.
    assert one.n_models_trained_ == 3 * one.history_["n_distinct"].sum() + 5


def test_the_cutoff_is_chosen_on_rows_that_were_held_out():
    """A row that several folds hold out counts once, one that none does not at all."""
    X, y, _ = make_hypercube(80, 4, random_state=0)
    cv = ShuffleSplit(4, test_size=0.3, random_state=0)
    model = RaSEClassifier(LogisticRegression(), cv=cv, tune_cutoff=True, **QUICK).fit(X, y)
    assert 0.0 < model.cutoff_ < 1.0
    once = next(cv.split(X))
    # One iteration, since another number of folds takes other seeds for the next.
    params = {**QUICK, "max_iter": 1, "tune_cutoff": True, "validation_fraction": None}
    plain, twice = (
        RaSEClassifier(LogisticRegression(), cv=splits, **params).fit(X, y)
        for splits in ([once], [once, once])
    )
    np.testing.assert_array_equal(twice.alpha_, plain.alpha_)
    assert twice.cutoff_ == plain.cutoff_


def test_a_split_of_validation_samples_alone_is_refused():
    X, y, _ = make_friedman(30, 2, random_state=0)
    alone = [(np.arange(29), [29]), ([29], np.arange(29))]
    model = RaSERegressor(Ridge(), validation_fraction=0.9, cv=alone, **QUICK)
    with pytest.raises(ValueError, match=r"Split \d of cv leaves \d+ samples for training"):
        model.fit(X, y)

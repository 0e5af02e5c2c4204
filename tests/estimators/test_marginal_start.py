"""alpha_init="marginal": what single columns explain, and the start that it gives."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.base import clone
from sklearn.feature_selection import f_classif, r_regression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor, _tables
from randsub.callbacks import Checkpoint
from randsub.distributions import Bernoulli
from randsub.estimators import marginal_start
from randsub.estimators.marginal_start import explained_alone, ranked_alpha
from randsub.solver import Callback

RNG = np.random.default_rng(0)
N, M = 60, 11
X = RNG.normal(size=(N, M)) * 10.0 + 3.0
Y = np.column_stack([X[:, 2] + 20.0 * RNG.normal(size=N), X[:, 5] ** 2])
CODES = np.digitize(X[:, 4] + 8.0 * RNG.normal(size=N), [-3.0, 5.0])
INDICATORS = np.eye(3)[CODES]
ROWS = np.arange(5, N)
ONES = np.ones(N)


def explained(table=X, targets=Y[:, :1], weight=ONES, groups=None, rows=ROWS, **more):
    parameters = np.arange(M) if groups is None else groups
    more = {"are_classes": False, **more}
    size = parameters.max() + 1
    return explained_alone(table, targets, [rows], weight, parameters, size, **more)[0]


def of_classes(table=X, weight=ONES, rows=ROWS):
    return explained(table, INDICATORS, weight, rows=rows, are_classes=True)


def test_numbers_are_explained_by_the_squared_correlation():
    first, second = (r_regression(X[ROWS], Y[ROWS, k]) ** 2 for k in (0, 1))
    np.testing.assert_allclose(explained(), first, rtol=1e-9)
    np.testing.assert_allclose(explained(targets=Y), first + second, rtol=1e-9)


def test_classes_are_explained_by_the_variance_between_them():
    F = f_classif(X[ROWS], CODES[ROWS])[0]
    ratio = F * 2 / (len(ROWS) - 3)
    np.testing.assert_allclose(of_classes(), ratio / (1.0 + ratio), rtol=1e-9)


def test_a_weight_is_a_number_of_copies():
    copies = RNG.integers(0, 4, N)
    copies[:5] = 0
    repeated = np.repeat(np.arange(N), copies)
    for find in (explained, of_classes):
        weighted = find(weight=copies.astype(float), rows=np.flatnonzero(copies))
        np.testing.assert_allclose(weighted, find(rows=repeated), rtol=1e-9)


@pytest.mark.parametrize("whole", [True, False])
def test_tables_of_any_kind(whole, monkeypatch):
    if not whole:
        monkeypatch.setattr(_tables, "PORTION", 2 * len(ROWS))
    expected = explained()
    for table in (pd.DataFrame(X), np.asfortranarray(X), csr_matrix(X), X.astype(np.float32)):
        np.testing.assert_allclose(explained(table), expected, rtol=1e-4)
    mixed = pd.DataFrame(X, columns=list("abcdefghijk"))
    mixed["d"], mixed["e"] = "text", Y[:, 0] > 0.0
    alone = r_regression(mixed[["e"]].to_numpy(float)[ROWS], Y[ROWS, 0])[0] ** 2
    expected = np.where(np.arange(M) == 3, 0.0, expected)
    expected[4] = alone
    for table in (mixed, pl.from_pandas(mixed)):
        np.testing.assert_allclose(explained(table), expected)


def test_some_of_many_rows(monkeypatch):
    monkeypatch.setattr(marginal_start, "MOST_ROWS", 20)
    found = explained()
    np.testing.assert_array_equal(explained(), found)
    assert 0.0 < np.abs(found - r_regression(X[ROWS], Y[ROWS, 0]) ** 2).max() < 0.5
    # Every second row is of the same class.
    table, targets = X.copy(), np.eye(2)[np.arange(N) % 2]
    table[::2, 1] += 60.0
    assert explained(table, targets, rows=np.arange(N), are_classes=True).argmax() == 1
    few = ROWS[:20]
    np.testing.assert_allclose(explained(rows=few), r_regression(X[few], Y[few, 0]) ** 2)


SPLITS = [ROWS, np.arange(40), np.arange(0, N, 2)]


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, csr_matrix])
@pytest.mark.parametrize("holes", [False, True])
def test_splits_at_once_are_splits_one_after_the_other(kind, holes):
    table = X.copy()
    table[:, 3] = 2.0
    table[::3, 6] = 0.0
    if holes:
        table[7:30, 2], table[50:, 4], table[:, 8] = np.nan, np.nan, np.nan
    table = kind(table)
    weight = RNG.random(N)
    size = (np.arange(M), M)
    for targets, are_classes in ((Y, False), (INDICATORS, True)):
        found = explained_alone(table, targets, SPLITS, weight, *size, are_classes=are_classes)
        for rows, of_split in zip(SPLITS, found, strict=True):
            alone = explained(table, targets, weight, rows=rows, are_classes=are_classes)
            np.testing.assert_allclose(of_split, alone, rtol=1e-8, atol=1e-12)
            assert of_split[3] == 0.0


def test_a_table_is_read_once_and_a_sparse_one_stays_sparse(monkeypatch):
    read = []
    plain = marginal_start.take_cells

    def counted(table, rows, columns):
        cells = plain(table, rows, columns)
        read.extend(columns)
        return cells

    def dense(*args, **options):
        raise AssertionError("made dense")

    monkeypatch.setattr(marginal_start, "take_cells", counted)
    monkeypatch.setattr(csc_matrix, "toarray", dense)
    monkeypatch.setattr(csr_matrix, "toarray", dense)
    monkeypatch.setattr(_tables, "PORTION", 3 * N)
    for table in (X, csr_matrix(X)):
        read.clear()
        explained_alone(table, Y, SPLITS, ONES, np.arange(M), M, are_classes=False)
        assert read == [*range(M)]


def test_large_numbers_keep_their_digits():
    moved = X + 1e7
    for weight in (ONES, RNG.random(N)):
        np.testing.assert_allclose(explained(moved, weight=weight), explained(weight=weight), 1e-4)


def test_missing_and_constant_columns():
    table, filled = X.copy(), X.copy()
    table[10:40, 2], table[:, 7] = np.nan, 1.5
    table[:, 8] = np.nan
    filled[10:40, 2] = np.delete(X[ROWS, 2], np.arange(5, 35)).mean()
    found = explained(table)
    assert found[7] == found[8] == 0.0
    np.testing.assert_allclose(found[2], explained(filled)[2], rtol=1e-9)


def test_a_group_is_as_good_as_its_best_column():
    groups = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3])
    alone = explained()
    best = [alone[groups == group].max() for group in range(4)]
    np.testing.assert_allclose(explained(groups=groups), best)


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40),
    st.floats(1e-6, 1.0, exclude_max=True),
)
def test_more_that_is_explained_is_a_higher_alpha(found, level):
    found = np.array(found)
    alpha = ranked_alpha(np.full(len(found), level), found)
    order = np.argsort(found)
    assert (np.diff(alpha[order])[np.diff(found[order]) > 0] >= 0.0).all()
    assert len(np.unique(alpha[found == found[0]])) == 1
    assert ((alpha > 0.7 * level) & (alpha <= max(0.5, level))).all()
    # The same expected size, unless the highest are cut off.
    assert alpha.sum() <= level * len(found) * (1.0 + 1e-9)
    if alpha.max() < 0.5:
        np.testing.assert_allclose(alpha.sum(), level * len(found))


class Start(Callback):
    """Keeps the first alpha of each repeat."""

    def on_start(self, settings, state):
        self.alpha = state.theta.copy()


def started(model, *data, **more):
    start = Start()
    model.set_params(alpha_init="marginal").set_callbacks(start).fit(*data, **more)
    return start.alpha


QUICK = {"n_estimators": 12, "max_iter": 4, "n_batches": 2, "n_revivals": 0, "random_state": 0}


def test_only_training_rows_count():
    X_val, y_val = X[:20], CODES[:20]
    model = PRSClassifier(KNeighborsClassifier(), **flat(**QUICK))
    found = started(model, X[20:], CODES[20:], X_val=X_val, y_val=y_val)
    expected = of_classes(rows=np.arange(20, N))
    level = 5.0 / 12.0
    np.testing.assert_allclose(found[0], ranked_alpha(np.full(M, level), expected))
    # Repeats set other rows aside.
    several = started(model.set_params(n_repeats=3), X, CODES)
    assert len(np.unique(several, axis=0)) == 3


class Idle(Bernoulli):
    """Has a parameter that no column belongs to."""

    def __init__(self, n_columns, floor=0.0):
        super().__init__(n_columns, floor)
        self.n_parameters = n_columns + 1

    def expand(self, masks):
        return masks[:, :-1]


def test_a_parameter_without_columns_explains_nothing():
    model = PRSRegressor(KNeighborsRegressor(), distribution=Idle(M), **flat(**QUICK))
    alpha = started(model, X, Y[:, 0])[0]
    assert alpha.shape == (M + 1,)
    assert alpha[-1] == alpha.min()


def test_groups_and_categories_start_as_one():
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame["kind"] = pd.Categorical.from_codes(CODES, ["p", "q", "r"])
    y = 30.0 * (CODES == 1) + X[:, 2]
    model = PRSRegressor(KNeighborsRegressor(), **flat(**QUICK))
    alpha = started(model, frame, y)[0]
    assert alpha.argmax() == 4
    grouped = started(model.set_params(feature_groups=[["a", "b"], ["c", "d"]]), frame, y)[0]
    assert grouped.shape == (3,)
    assert grouped.argmax() == 2
    assert grouped[1] > grouped[0]


def test_several_base_models_and_outputs_start_alike():
    bases = [("knn", KNeighborsClassifier()), ("bayes", GaussianNB())]
    model = PRSClassifier(bases, n_repeats=2, **flat(**QUICK))
    alpha = started(model, X, CODES)
    assert alpha.shape == (4, M)
    np.testing.assert_array_equal(alpha[0], alpha[1])
    assert (alpha[0] != alpha[2]).any()
    both = PRSRegressor(KNeighborsRegressor(), **flat(**QUICK))
    assert started(both, X, Y).shape == (1, M)


def test_resumed_and_repeated_bit_for_bit(tmp_path):
    path = tmp_path / "fit.ckpt"
    model = PRSRegressor(KNeighborsRegressor(), alpha_init="marginal", **flat(**QUICK))
    model.set_params(n_repeats=2).set_callbacks(Checkpoint(path, every=2)).fit(X, Y[:, 0])
    alpha = model.alpha_
    np.testing.assert_array_equal(model.fit(X, Y[:, 0], resume_from=path).alpha_, alpha)
    parallel = clone(model).set_params(n_jobs=2).fit(X, Y[:, 0])
    np.testing.assert_array_equal(parallel.alpha_, alpha)


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="'marginal'"):
        PRSRegressor(KNeighborsRegressor(), alpha_init="margins").fit(X, Y[:, 0])

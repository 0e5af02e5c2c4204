"""Training rows are recognised when they are given as new ones."""

import io
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import coo_array, csr_array
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor, RandomSubspaceRegressor
from randsub.estimators import training_rows
from randsub.estimators.training_rows import KnownRows, TrainingRows, remembered, row_digests

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 4)), RNG.normal(size=60)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_part_reordered_and_mixed_with_new_rows_is_found(data):
    numbers = st.integers(-(10**6), 10**6).map(lambda n: n / 16.0)
    cells = arrays(np.float64, (12, 3), elements=numbers, unique=True)
    table, y = data.draw(cells), data.draw(arrays(np.float64, 12, elements=numbers))
    trained = data.draw(st.lists(st.integers(0, 11), min_size=1, unique=True))
    asked = data.draw(st.lists(st.integers(0, 11), min_size=1))
    found = TrainingRows.of(table[trained], y[trained]).among(table[asked], y[asked])
    assert found.is_known.tolist() == [row in trained for row in asked]
    assert found.new.tolist() == [n for n, row in enumerate(asked) if row not in trained]


def test_a_row_with_another_target_is_another_row():
    rows = TrainingRows.of(X, Y)
    assert not rows.among(X, Y + 1.0).is_known.any()
    assert not rows.among(X[:, ::-1], Y).is_known.any()


FRAME = pd.DataFrame(
    {
        "a": [1.5, np.nan, -0.0, 4.0],
        "b": ["x", None, "z", "x"],
        "c": pd.Categorical(["u", "v", "u", "v"]),
        "d": [1, 2, 3, 4],
        "e": [True, False, True, True],
    }
)
LABELS = np.array(["no", "yes", "no", "no"])


def equals(frame):
    """The same rows in other types."""
    text = io.StringIO(frame.to_csv(index=False, float_format="%.9g"))
    yield "float32", frame.astype({"a": "float32"})
    yield "zero", frame.assign(a=[1.5, np.nan, 0.0, 4.0])
    yield "csv", pd.read_csv(text)
    yield "names", frame.set_axis(list("vwxyz"), axis=1)
    yield "nullable", frame.astype({"d": "Int64", "a": "Float64"})
    yield "polars", pl.from_pandas(frame.astype({"c": str}))


@pytest.mark.parametrize(("name", "other"), [*equals(FRAME)])
def test_types_do_not_matter(name, other):
    np.testing.assert_array_equal(row_digests(other, LABELS), row_digests(FRAME, list(LABELS)))


def test_arrays_and_frames_of_numbers_are_the_same():
    expected = row_digests(X, Y)
    np.testing.assert_array_equal(row_digests(pd.DataFrame(X), pd.Series(Y)), expected)
    np.testing.assert_array_equal(row_digests(np.asfortranarray(X), Y.astype("f4")), expected)
    text = np.array([["a", 1], ["b", 2]], dtype=object)
    np.testing.assert_array_equal(row_digests(text, [1, 2]), row_digests(text.copy(), [1.0, 2.0]))


def test_sparse_rows():
    dense = np.where(np.abs(X) > 1.0, X, 0.0)
    stored = csr_array(dense)
    stored.data[0] = 0.0
    plain = dense.copy()
    plain[plain == dense[dense != 0.0][0]] = 0.0
    rows = TrainingRows.of(stored, Y)
    assert rows.among(coo_array(plain).tocsr()[::-1], Y[::-1]).is_known.all()
    assert not rows.among(csr_array(dense * 2.0), Y).is_known[np.abs(dense).sum(axis=1) > 0].any()


def test_large_tables_are_read_in_portions(monkeypatch):
    expected = row_digests(X, Y)
    monkeypatch.setattr("randsub._tables.PORTION", 8)
    np.testing.assert_array_equal(row_digests(X, Y), expected)


def test_in_data_of_few_values_equal_rows_are_no_surprise():
    drawn = RNG.integers(0, 2, size=(600, 3)).astype(float)
    y = drawn.sum(axis=1)
    rows = TrainingRows.of(drawn[:300], y[:300])
    assert rows.repeated == 1.0
    assert not rows.among(drawn[300:], y[300:]).is_known.any()
    # But the very table is, in any order.
    assert rows.among(drawn[:300][::-1], y[:300][::-1]).is_known.all()


def test_a_few_repeated_rows_do_not_hide_training_rows():
    table, y = np.vstack([X, X[:6]]), np.concatenate([Y, Y[:6]])
    rows = TrainingRows.of(table, y)
    assert 0.0 < rows.repeated < 0.2
    new, new_y = RNG.normal(size=(20, 4)), RNG.normal(size=20)
    found = rows.among(np.vstack([X[:30], new]), np.concatenate([Y[:30], new_y]))
    assert found.is_known.tolist() == [True] * 30 + [False] * 20


def test_of_very_many_rows_some_are_remembered(monkeypatch):
    monkeypatch.setattr(training_rows, "MOST", 15)
    rows = TrainingRows.of(X, Y)
    assert len(rows.digests) == 15
    found = rows.among(X[:40], Y[:40])
    assert 0 < found.n_checked < 40
    assert found.is_known.sum() == found.n_checked
    # What was not looked up cannot be called new.
    assert not len(found.new)
    assert "can be looked up" in str(found)
    others = rows.among(X + 1.0, Y)
    assert others.n_checked < 60
    assert len(others.new) == 60


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ([True], "the only row is a training row"),
        ([True, True], "all 2 are training rows"),
        ([True, False, False], "1 of 3 rows is a training row"),
        ([True, True, False], "2 of 3 rows are training rows"),
    ],
)
def test_words(known, said):
    assert str(KnownRows(np.array(known), len(known))) == said


def test_a_fitted_model_remembers_its_rows():
    weight = np.ones(60)
    weight[50:] = 0.0
    model = PRSRegressor(KNeighborsRegressor(), n_estimators=5, max_iter=2, random_state=0)
    model.fit(X, Y, weight, X_val=X[:5] + 1.0, y_val=Y[:5])
    rows = remembered(pickle.loads(pickle.dumps(model)))
    assert rows.among(X, Y).is_known.tolist() == [True] * 50 + [False] * 10
    assert rows.among(X[:5] + 1.0, Y[:5]).is_known.all()
    other = RandomSubspaceRegressor(KNeighborsRegressor(), n_estimators=5, max_features=2)
    assert remembered(other.fit(X, Y)).among(X, Y).is_known.all()
    assert remembered(KNeighborsRegressor()) is None

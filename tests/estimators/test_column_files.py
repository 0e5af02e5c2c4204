"""Large, column-major files: the result of an array, from the columns that are needed."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Lasso, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from flat_parameters import flat
from randsub import (
    PRSClassifier,
    PRSRegressor,
    RandomSubspaceRegressor,
    RaSERegressor,
    _tables,
    io,
)
from randsub._tables import ScaledArray, is_column_file, take_cells, value_range
from randsub.estimators.standardize import ColumnFile, Standardizer
from randsub.solver import Callback, Solver

SETTINGS = {"n_estimators": 10, "max_iter": 6, "n_batches": 2, "random_state": 0}
SMALL = {"n_estimators": 5, "random_state": 0}
MODELS = [
    PRSRegressor(KNeighborsRegressor(), **flat(**SETTINGS)),
    PRSRegressor(DecisionTreeRegressor(max_depth=4), **flat(max_samples=40, **SETTINGS)),
    PRSRegressor(Ridge(), **flat(standardize=False, **SETTINGS)),
    PRSRegressor(Ridge(), **flat(**SETTINGS)),
    PRSRegressor(Lasso(0.01), **flat(n_jobs=2, **SETTINGS)),
    PRSRegressor(Lasso(0.01), **flat(standardize=False, **SETTINGS)),
    PRSClassifier(KNeighborsClassifier(), **flat(n_jobs=2, voting="soft", **SETTINGS)),
    PRSClassifier(SVC(), **flat(**SETTINGS)),
    PRSClassifier(SVC(), **flat(standardize=False, **SETTINGS)),
    PRSClassifier(DecisionTreeClassifier(), **flat(categorical_features=[0], **SETTINGS)),
    RandomSubspaceRegressor(KNeighborsRegressor(), max_features=3, **SMALL),
    RaSERegressor(KNeighborsRegressor(), n_candidates=5, **SMALL),
]
N, M = 120, 60
# Linear models in single precision are for scikit-learn.
pytestmark = pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")


@pytest.fixture(autouse=True)
def small_portions(monkeypatch):
    monkeypatch.setattr(_tables, "WHOLE", 500)
    monkeypatch.setattr(_tables, "PORTION", 100)


def genotypes(dtype="int8", n=N):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (n, M))
    X[:, 7] = 2
    if np.dtype(dtype).kind == "f":
        X = X + rng.normal(scale=0.1, size=X.shape)
    return X.astype(dtype), X[:, 3] + X[:, 4] + rng.normal(scale=0.3, size=n)


def column_file(folder, values, name="X"):
    np.save(folder / f"{name}.npy", np.asfortranarray(values))
    mapped = np.load(folder / f"{name}.npy", mmap_mode="r")
    assert is_column_file(mapped)
    return mapped


def fitted(model, X, y, **fit_params):
    y = y > np.median(y) if isinstance(model, PRSClassifier) else y
    return clone(model).fit(X, y, **fit_params)


def assert_same(ours, theirs, X_ours, X_theirs):
    assert type(ours._engines[0]) is type(theirs._engines[0])
    for one, two in zip(ours.estimators_features_, theirs.estimators_features_, strict=True):
        np.testing.assert_array_equal(one, two)
    if hasattr(ours, "alpha_"):
        np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_array_equal(ours.predict(X_ours), theirs.predict(X_theirs))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.estimator}")
def test_the_result_is_that_of_an_array(model, dtype, tmp_path):
    X, y = genotypes(dtype)
    if getattr(model, "categorical_features", None) == [0]:
        X[:, 0] = X[:, 0] > 1
    mapped = column_file(tmp_path, X)
    assert_same(fitted(model, mapped, y), fitted(model, X, y), mapped, X)


@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_weights_and_validation_data(dtype, tmp_path):
    X, y = genotypes(dtype)
    weight = np.linspace(0.0, 1.0, 80)
    mapped = column_file(tmp_path, X)
    held = {"sample_weight": weight, "X_val": X[80:], "y_val": y[80:]}
    of_file = {**held, "X_val": mapped[80:]}
    # A view of some rows has contiguous columns, too.
    assert is_column_file(mapped[:80])
    for model in (MODELS[0], MODELS[3]):
        expected = fitted(model, X[:80], y[:80], **held)
        for judges in (of_file, held):
            ours = fitted(model, mapped[:80], y[:80], **judges)
            assert_same(ours, expected, mapped, X)


@pytest.mark.parametrize("X_val", ["array", "list", "file"])
def test_validation_data_do_not_make_a_fit_read_all_columns(X_val, tmp_path, monkeypatch):
    X, y = genotypes()
    learned, learn = [], ColumnFile._learn
    monkeypatch.setattr(
        ColumnFile, "_learn", lambda self, new: learned.extend(new) or learn(self, new)
    )
    mapped = column_file(tmp_path, X)
    held = {"array": X[80:], "list": X[80:].tolist(), "file": mapped[80:]}[X_val]
    options = {"n_estimators": 2, "max_iter": 1, "alpha_init": 0.02, "random_state": 0}
    model = PRSRegressor(KNeighborsRegressor(), solver=Solver(n_batches=2), **options)
    fitted(model, mapped[:80], y[:80], X_val=held, y_val=y[80:])
    assert 0 < len(set(learned)) < M / 3


def test_which_files_are_read_by_column(tmp_path, monkeypatch):
    X, _ = genotypes()
    mapped = column_file(tmp_path, X)
    np.save(tmp_path / "rows.npy", X)
    assert not is_column_file(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert not is_column_file(np.asfortranarray(X))
    assert not is_column_file(mapped[:, :1])
    assert not is_column_file(mapped[:, :4])
    assert not is_column_file(mapped[:, 0])
    assert is_column_file(np.asarray(mapped)[::-2])
    monkeypatch.setattr(_tables, "WHOLE", X.size)
    assert not is_column_file(mapped)


# Each column fills a page. Pages of columns that the fit in memory did not draw may not be read:
# the process would end with a segmentation fault.
PROTECTED = """
import ctypes, mmap, sys
import numpy as np
from sklearn.linear_model import Lasso
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from randsub import PRSClassifier
from randsub.parallel import assignment
from randsub.solver import Solver

n, m, path, base = mmap.PAGESIZE, 5000, sys.argv[1], sys.argv[2]
drawn = np.zeros(m, dtype=bool)
part = assignment.Data.part

def noted(self, rows, columns, base):
    drawn[columns] = True
    return part(self, rows, columns, base)

assignment.Data.part = noted
base = {"knn": KNeighborsClassifier(), "tree": DecisionTreeClassifier(max_depth=3)}[base]
model = PRSClassifier(
    base, n_estimators=5, max_iter=2, max_samples=100, random_state=0, n_jobs=2,
    alpha_init=20 / m, standardize=sys.argv[3] == "scaled", solver=Solver(n_batches=2),
)
X = np.random.default_rng(0).integers(0, 3, (m, n), dtype=np.int8).T
y = X[:, 0] > 1
alpha = model.fit(X, y).alpha_
expected = model.predict(X)
assert 0 < drawn.sum() < m / 2
mapped = np.memmap(path, np.int8, "w+", shape=(n, m), order="F")
mapped[:] = X
libc, address = ctypes.CDLL(None, use_errno=True), mapped.ctypes.data
for column in np.flatnonzero(~drawn):
    assert libc.mprotect(ctypes.c_void_p(address + n * int(column)), n, 0) == 0
assert (model.fit(mapped, y).alpha_ == alpha).all()
assert (model.predict(mapped) == expected).all()
print("done", flush=True)
mapped[0, np.flatnonzero(~drawn)[0]]
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="protects pages of memory")
@pytest.mark.parametrize("base, scaled", [("knn", "scaled"), ("knn", "not"), ("tree", "scaled")])
def test_only_columns_that_are_drawn_are_read(base, scaled, tmp_path):
    command = [sys.executable, "-c", PROTECTED, str(tmp_path / "X"), base, scaled]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
    # The protection works: the last line ended it.
    assert done.returncode < 0


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(0, M - 1), max_size=20), min_size=1, max_size=5), st.data())
def test_columns_have_the_same_scale_in_any_order(tmp_path_factory, asked, data):
    dtype = data.draw(st.sampled_from(["int8", "float32", "float64"]))
    is_weighted, has_gaps = data.draw(st.booleans()), data.draw(st.booleans())
    X, _ = genotypes(dtype)
    if has_gaps and dtype != "int8":
        X[::3, ::2] = np.nan
        X[:, 5] = np.nan
    rows = np.arange(N)[::2]
    weight = np.linspace(0.1, 1.0, N) if is_weighted else None
    mapped = column_file(tmp_path_factory.mktemp("file"), X)
    lazy = Standardizer().fit(mapped, weight, rows)
    eager = Standardizer().fit(X, weight, rows)
    whole = eager.transform(X)
    for columns in map(np.array, asked):
        columns = columns.astype(int)
        cells = take_cells(lazy.applied_to(mapped), np.arange(N), columns)
        np.testing.assert_array_equal(cells, whole[:, columns])
        np.testing.assert_array_equal(lazy.transform(mapped[:, columns], columns), cells)
    columns = np.unique(np.concatenate(asked)).astype(int)
    kept = lazy.kept(columns)._scaler
    for name in ("mean_", "var_", "scale_"):
        ours, theirs = getattr(kept, name), getattr(eager._scaler, name)
        np.testing.assert_array_equal(ours[columns], theirs[columns])
        assert np.isnan(np.delete(ours, columns)).all()
    np.testing.assert_array_equal(lazy.transform(mapped), whole)


def test_threads_find_the_same_scale(tmp_path):
    X, _ = genotypes(n=500)
    mapped = column_file(tmp_path, X)
    lazy = Standardizer().fit(mapped, None)
    expected = Standardizer().fit(X, None).transform(X)
    drawn = [np.random.default_rng(k).permutation(M)[:20] for k in range(40)]
    table = lazy.applied_to(mapped)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda columns: table.take(np.arange(500), columns), drawn))
    for columns, cells in zip(drawn, found, strict=True):
        np.testing.assert_array_equal(cells, expected[:, columns])


def test_a_saved_model_knows_the_columns_of_its_members(tmp_path):
    X, y = genotypes()
    mapped = column_file(tmp_path, X)
    model = fitted(MODELS[10], mapped, y)
    assert len(np.unique(np.concatenate(model.estimators_features_))) < M
    assert model.standardizer_.file is None
    io.save(model, tmp_path / "model.skops")
    again = [io.load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(model))]
    for loaded in again:
        for table in (X, mapped):
            np.testing.assert_array_equal(loaded.predict(table), model.predict(X))
    # As before, what the members see is scaled.
    for columns in model.estimators_features_:
        expected = Standardizer().fit(X, None).transform(X)[:, columns]
        np.testing.assert_array_equal(model.standardizer_.transform(X)[:, columns], expected)


class LastModel(Callback):
    """Keeps the model after the last epoch."""

    def for_run(self, run):
        self.run = run
        return self

    def on_epoch_end(self, state):
        self.model = self.run.fitted_estimator(state)


def test_models_during_the_fit_know_their_columns(tmp_path):
    X, y = genotypes()
    last = LastModel()
    model = clone(MODELS[3]).set_callbacks(last).fit(column_file(tmp_path, X), y)
    assert last.model.standardizer_.file is None
    np.testing.assert_array_equal(last.model.predict(X), model.predict(X))


def test_integers_have_bounds_without_being_read(tmp_path):
    X, _ = genotypes()
    mapped = column_file(tmp_path, X)
    assert value_range(mapped) == (-128.0, 127.0)
    for weight in (None, np.linspace(1e-6, 1.0, N)):
        scaler = Standardizer().fit(mapped, weight)
        lowest, highest = value_range(scaler.applied_to(mapped))
        assert not scaler.file._is_known.any()
        scaled = scaler.transform(X)
        assert lowest < scaled.min() < scaled.max() < highest < 1e8


def test_floats_are_checked_before_the_fit(tmp_path, monkeypatch):
    X, y = genotypes("float32")
    for number, (strange, message) in enumerate(
        [(np.nan, "NaN"), (np.inf, "infinity"), (3e38, "holds 3e")]
    ):
        X[5, 50] = strange
        mapped = column_file(tmp_path, X, f"X{number}")
        with monkeypatch.context() as patch:
            patch.setattr(Standardizer, "fit", None)
            with pytest.raises(ValueError, match=message):
                fitted(MODELS[0], mapped, y)


def test_new_floats_are_checked_where_a_member_sees_them(tmp_path):
    X, y = genotypes("float64")
    model = fitted(MODELS[10], X, y)
    seen = np.unique(np.concatenate(model.estimators_features_))
    unseen = np.setdiff1d(np.arange(M), seen)
    strange = X.copy()
    strange[5, unseen] = np.nan
    mapped = column_file(tmp_path, strange)
    np.testing.assert_array_equal(model.predict(mapped), model.predict(X))
    with pytest.raises(ValueError, match="X has 59 features"):
        model.predict(mapped[:, 1:])
    for number, (value, message) in enumerate([(np.nan, "NaN"), (1e200, "holds 1e")]):
        strange[7, seen[-1]] = value
        with pytest.raises(ValueError, match=message):
            model.predict(column_file(tmp_path, strange, f"X{number}"))


def test_ranges_of_floats_are_read(tmp_path):
    X, _ = genotypes("float64")
    mapped = column_file(tmp_path, X)
    table = Standardizer().fit(mapped, None).applied_to(mapped)
    assert isinstance(table, ScaledArray)
    scaled = Standardizer().fit(X, None).transform(X)
    assert value_range(table) == (scaled.min(), scaled.max())
    X[3, 3] = np.nan
    mapped = column_file(tmp_path, X, "gap")
    assert np.isnan(value_range(Standardizer().fit(mapped, None).applied_to(mapped))).all()

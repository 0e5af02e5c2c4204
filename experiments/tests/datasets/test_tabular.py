"""Tabular data sets: from files and from OpenML to the same form, and samples of them."""

import inspect
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import fetch_openml
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import Bunch
from sklearn.utils._param_validation import InvalidParameterError

import loader_files
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError
from randsub_experiments.datasets import (
    TABULAR_BENCHMARK,
    TabularDataset,
    fetch_tabular,
    list_tabular,
    load_tabular,
    sample_tabular,
)


def as_frame(arrays):
    """The same data as a person would write them down: names of levels instead of codes."""
    names = arrays["feature_names"].tolist()
    frame = pd.DataFrame(arrays["X"].astype(float), columns=names)
    frame["colour"] = np.array(["red", "green", "blue"])[arrays["X"][:, 1].astype(int)]
    frame["kind"] = np.array(["old", "new"])[arrays["X"][:, 3].astype(int)]
    frame["price"] = arrays["y"]
    return frame


def labelled(dataset, column):
    """The names of the levels of a column, row by row."""
    j = dataset.feature_names.index(column)
    return np.array(dataset.levels[column])[dataset.X[:, j].astype(int)]


@pytest.fixture
def arrays():
    return loader_files.tabular()


@pytest.fixture
def home(tmp_path, arrays):
    loader_files.save(tmp_path / "tabular_reg" / "houses.npz", arrays)
    loader_files.save(tmp_path / "tabular_reg" / "pol.npz", arrays)
    labels = {**arrays, "y": np.arange(40) % 2}
    loader_files.save(tmp_path / "tabular_clf" / "pol.npz", labels)
    as_frame(arrays).to_csv(tmp_path / "tabular_reg" / "plain.csv", index=False)
    return tmp_path


# Files


def test_an_archive_gives_its_arrays(home, arrays):
    dataset = load_tabular("houses", home)
    np.testing.assert_array_equal(dataset.X, arrays["X"])
    np.testing.assert_array_equal(dataset.y, arrays["y"])
    assert dataset.task == "regression"
    assert dataset.feature_names == ("size", "colour", "weight", "kind")
    assert dataset.target_name == "price"
    assert dataset.is_categorical.tolist() == [False, True, False, True]
    assert dataset.levels == {"colour": ("red", "green", "blue"), "kind": ("old", "new")}
    assert repr(dataset) == "TabularDataset('houses', regression, shape=(40, 4), n_categorical=2)"


def test_an_archive_may_hold_features_and_output_only(home):
    X, y = np.arange(12.0).reshape(4, 3), np.array(["a", "b", "a", "b"])
    loader_files.save(home / "tabular_clf" / "bare.npz", {"X": X, "y": y})
    dataset = load_tabular("bare", home)
    assert dataset.feature_names == ("x0", "x1", "x2")
    assert not dataset.is_categorical.any()
    assert dataset.y.tolist() == ["a", "b", "a", "b"]


def test_a_plain_table_gives_the_same_as_an_archive(home):
    plain, archive = load_tabular("plain", home), load_tabular("houses", home)
    assert plain.feature_names == archive.feature_names
    assert plain.task == archive.task
    assert plain.target_name == archive.target_name
    np.testing.assert_array_equal(plain.is_categorical, archive.is_categorical)
    np.testing.assert_allclose(plain.y, archive.y)
    numbers = ~archive.is_categorical
    np.testing.assert_allclose(plain.X[:, numbers], archive.X[:, numbers])
    for column in archive.levels:
        assert labelled(plain, column).tolist() == labelled(archive, column).tolist()


def test_a_name_in_both_tasks_needs_its_task(home):
    with pytest.raises(ValueError, match=r"several data sets.*task="):
        load_tabular("pol", home)
    for task in ("regression", "classification"):
        assert load_tabular("pol", home, task=task).task == task
    with pytest.raises(DatasetNotFoundError, match="no classification of the name 'houses'"):
        load_tabular("houses", home, task="classification")


@pytest.mark.parametrize(
    ("y", "task"),
    [(np.arange(40.0), "regression"), (np.arange(40) % 2, "classification")],
)
def test_a_file_in_no_folder_of_a_task_goes_by_its_output(y, task, tmp_path, arrays):
    loader_files.save(tmp_path / "alone.npz", {**arrays, "y": y})
    assert load_tabular("alone", tmp_path).task == task
    assert load_tabular("alone", tmp_path, task="regression").y.dtype == np.float64


def test_the_list_is_what_loads(home, arrays, monkeypatch):
    loader_files.save(home / "unknown.npz", arrays)
    (home / "tabular_reg" / "README.md").write_text("words")
    found = list_tabular(home)
    assert found == [
        ("pol", "classification"),
        ("houses", "regression"),
        ("plain", "regression"),
        ("pol", "regression"),
    ]
    for name, task in found:
        assert load_tabular(name, home, task=task).task == task
    assert list_tabular(home / "tabular_clf") == [("pol", "classification")]
    monkeypatch.chdir(home / "tabular_clf")
    assert list_tabular(".") == [("pol", "classification")]
    assert load_tabular("pol", ".").task == "classification"


@pytest.mark.parametrize(
    "levels", ['{"colour": ["red"], "kind": ["old", "new"]}', '{"colour": []}', "[1, 2]", "{", "3"]
)
def test_levels_that_do_not_fit_the_codes_are_refused(levels, home, arrays):
    damaged = {**arrays, "category_levels_json": np.array(levels)}
    loader_files.save(home / "tabular_reg" / "houses.npz", damaged)
    with pytest.raises(DatasetFormatError, match="levels"):
        load_tabular("houses", home)


@pytest.mark.parametrize("code", [0.5, -1.0, np.nan])
def test_codes_that_are_no_levels_are_refused(code, home, arrays):
    arrays["X"][7, 1] = code
    loader_files.save(home / "tabular_reg" / "houses.npz", arrays)
    with pytest.raises(DatasetFormatError, match="colour has 3 levels, and codes that are none"):
        load_tabular("houses", home)


def test_missing_numbers_are_kept(home, arrays):
    arrays["X"][7, 0] = np.nan
    loader_files.save(home / "tabular_reg" / "houses.npz", arrays)
    assert np.flatnonzero(np.isnan(load_tabular("houses", home).X[:, 0])).tolist() == [7]
    as_frame(arrays).to_csv(home / "tabular_reg" / "plain.csv", index=False)
    assert np.flatnonzero(np.isnan(load_tabular("plain", home).X[:, 0])).tolist() == [7]


def test_columns_of_one_name_are_refused(home, arrays):
    arrays["feature_names"] = np.array(["size", "colour", "size", "kind"])
    loader_files.save(home / "tabular_reg" / "houses.npz", arrays)
    with pytest.raises(DatasetFormatError, match="the same name"):
        load_tabular("houses", home)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "cannot be read as a table"),
        ("a,b\n", "no rows"),
        ("a\n1\n2\n", "one column"),
        ("a,b\n1,2\n1,2,3,4\n", "cannot be read as a table"),
        ("a,b\n1,2\n1,\n", "not finite numbers"),
        ("a,b\n1,x\n1,y\n", "a regression needs numbers"),
        ("a,b\nx,1\n,2\n", "column a has missing values"),
    ],
)
def test_foreign_tables_are_refused(content, words, home):
    (home / "tabular_reg" / "plain.csv").write_text(content)
    with pytest.raises(DatasetFormatError, match=words):
        load_tabular("plain", home)


def test_missing_labels_are_refused(home):
    (home / "tabular_clf" / "plain2.csv").write_text("a,b\n1,x\n2,\n")
    with pytest.raises(DatasetFormatError, match="output has missing values"):
        load_tabular("plain2", home)


def test_a_bad_task_is_named(home):
    with pytest.raises(InvalidParameterError, match="'task' parameter of load_tabular"):
        load_tabular("houses", home, task="ranking")


# OpenML


def test_the_benchmark_is_the_one_of_the_paper():
    by_suite = {
        suite: sum(e.suite == suite for e in TABULAR_BENCHMARK) for suite in (297, 298, 299, 304)
    }
    assert by_suite == {297: 20, 298: 15, 299: 13, 304: 7}
    assert len(TABULAR_BENCHMARK) == 55
    assert len({entry.data_id for entry in TABULAR_BENCHMARK}) == 55
    assert len({(entry.name, entry.task) for entry in TABULAR_BENCHMARK}) == 55
    for entry in TABULAR_BENCHMARK:
        assert entry.task == ("regression" if entry.suite in (297, 299) else "classification")
        assert entry.name == entry.openml_name + ("__cat" if entry.suite in (299, 304) else "")


class FakeOpenML:
    """Stands in for scikit-learn's fetcher, and keeps what it was asked for."""

    def __init__(self, frame, target, name):
        self.answer = Bunch(data=frame, target=target, details={"name": name})
        self.asked = None

    def __call__(self, **arguments):
        inspect.signature(fetch_openml).bind(**arguments)
        self.asked = arguments
        return self.answer


@pytest.fixture
def openml(monkeypatch, arrays):
    frame = as_frame(arrays).astype({"colour": "category", "kind": "category"})
    frame["colour"] = frame["colour"].cat.add_categories("never")
    fake = FakeOpenML(frame.drop(columns="price"), frame["price"], "Bike_Sharing_Demand")
    monkeypatch.setattr("randsub_experiments.datasets.openml.fetch_openml", fake)
    return fake


def test_a_data_set_of_the_benchmark_has_the_form_of_a_file(openml, home, tmp_path):
    fetched = fetch_tabular("Bike_Sharing_Demand__cat", data_home=tmp_path, cache=False)
    archive = load_tabular("houses", home)
    assert openml.asked["data_id"] == 44063
    assert openml.asked["data_home"] == str(tmp_path)
    assert openml.asked["cache"] is False
    assert openml.asked["as_frame"] is True
    assert (fetched.name, fetched.task) == ("Bike_Sharing_Demand__cat", "regression")
    assert fetched.target_name == "price"
    np.testing.assert_array_equal(fetched.is_categorical, archive.is_categorical)
    np.testing.assert_array_equal(fetched.y, archive.y)
    assert set(fetched.levels["colour"]) == {"red", "green", "blue"}
    for column in archive.levels:
        assert labelled(fetched, column).tolist() == labelled(archive, column).tolist()


def test_any_data_set_by_its_number(openml):
    openml.answer.target = pd.Series(["yes", "no"] * 20, name="answer", dtype="category")
    dataset = fetch_tabular(61)
    assert openml.asked["data_id"] == 61
    assert (dataset.name, dataset.task) == ("Bike_Sharing_Demand", "classification")
    assert dataset.y.tolist() == ["yes", "no"] * 20


def test_other_data_under_the_number_are_refused(openml):
    openml.answer.details["name"] = "iris"
    with pytest.raises(DatasetFormatError, match=r"44063.*calls it 'iris'"):
        fetch_tabular("Bike_Sharing_Demand__cat")


def test_data_without_an_output_are_refused(openml):
    openml.answer.target = None
    with pytest.raises(DatasetFormatError, match="names no output"):
        fetch_tabular(61)


def test_no_network_says_what_else_can_be_done(monkeypatch):
    def fail(**arguments):
        raise URLError("no route to host")

    monkeypatch.setattr("randsub_experiments.datasets.openml.fetch_openml", fail)
    with pytest.raises(DatasetNotFoundError, match=r"44136.*no route to host.*load_tabular"):
        fetch_tabular("wine_quality")


def test_names_of_the_benchmark_are_checked_before_any_download(openml):
    with pytest.raises(ValueError, match=r"a regression and a classification.*task="):
        fetch_tabular("pol")
    with pytest.raises(ValueError, match=r"'polle' is not a data set.*wine_quality"):
        fetch_tabular("polle")
    with pytest.raises(ValueError, match="'wine' is not a regression of the benchmark"):
        fetch_tabular("wine", task="regression")
    for bad in (0, 1.5, None):
        with pytest.raises(InvalidParameterError, match="'name' parameter of fetch_tabular"):
            fetch_tabular(bad)
    assert openml.asked is None
    openml.answer.details["name"] = "pol"
    fetch_tabular("pol", task="regression")
    assert openml.asked["data_id"] == 44133


# Samples


def dataset_of(n, seed=0):
    arrays = loader_files.tabular(seed, n)
    return TabularDataset(
        X=arrays["X"],
        y=np.arange(n, dtype=float),  # each row can be told
        name="made",
        task="regression",
        feature_names=("size", "colour", "weight", "kind"),
        is_categorical=arrays["is_categorical"],
        levels={"colour": ("red", "green", "blue"), "kind": ("old", "new")},
        target_name="price",
    )


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(30, 200),
    sizes=st.tuples(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60)),
    seed=st.integers(0, 2**32 - 1),
)
def test_samples_are_rows_drawn_without_replacement(n, sizes, seed):
    dataset = dataset_of(n)
    total = sum(sizes)
    expected = sizes if n >= total else tuple(size * n // total for size in sizes)
    if 0 in expected:
        with pytest.raises(ValueError, match=f"has {n} samples, too few"):
            sample_tabular(dataset, seed, *sizes)
        return
    sample = sample_tabular(dataset, seed, *sizes)
    rows = np.concatenate([sample.rows_train, sample.rows_val, sample.rows_test])
    assert len(set(rows)) == len(rows) == sum(expected)
    encoder = OneHotEncoder(categories=[range(3), range(2)], sparse_output=False)
    for part, size in zip(("train", "val", "test"), expected, strict=True):
        X, y, mine = (getattr(sample, f"{what}_{part}") for what in ("X", "y", "rows"))
        assert len(X) == len(y) == size
        np.testing.assert_array_equal(y, dataset.y[mine])
        original = dataset.X[mine]
        one_hot = encoder.fit_transform(original[:, [1, 3]])
        oracle = np.hstack([original[:, [0]], one_hot[:, :3], original[:, [2]], one_hot[:, 3:]])
        np.testing.assert_array_equal(X, oracle)


def test_features_know_their_names_and_columns():
    sample = sample_tabular(dataset_of(30), 0, 10, 10, 10)
    assert sample.feature_names == (
        "size",
        "colour=red",
        "colour=green",
        "colour=blue",
        "weight",
        "kind=old",
        "kind=new",
    )
    assert sample.columns.tolist() == [0, 1, 1, 1, 2, 3, 3]
    assert repr(sample) == "TabularSample(n_train=10, n_val=10, n_test=10, n_features=7)"


def test_by_default_a_thousand_each_or_thirds():
    large, small = sample_tabular(dataset_of(3000), 0), sample_tabular(dataset_of(2999), 0)
    assert [len(large.y_train), len(large.y_val), len(large.y_test)] == [1000] * 3
    assert [len(small.y_train), len(small.y_val), len(small.y_test)] == [999] * 3


def test_every_row_is_drawn_equally_often():
    dataset = dataset_of(12)
    rng = np.random.RandomState(0)
    counts = sum(
        np.bincount(sample_tabular(dataset, rng, 3, 3, 3).rows_train, minlength=12)
        for _ in range(800)
    )
    np.testing.assert_allclose(counts, 200, atol=5 * np.sqrt(800 * 0.25 * 0.75))


def test_samples_follow_the_seed():
    dataset = dataset_of(60)
    first, again, other = (sample_tabular(dataset, seed, 20, 20, 20) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X_train, again.X_train)
    np.testing.assert_array_equal(first.rows_test, again.rows_test)
    assert not np.array_equal(first.rows_train, other.rows_train)


@pytest.mark.parametrize(
    ("name", "value"),
    [("dataset", np.eye(3)), ("n_train", 0), ("n_val", 1.5), ("n_test", -1), ("random_state", "a")],
)
def test_bad_parameters_of_a_sample_are_named(name, value):
    arguments = {"dataset": dataset_of(30), name: value}
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of sample_tabular"):
        sample_tabular(**arguments)


def test_the_real_files_load_and_are_sampled(shared_data):
    found = list_tabular(shared_data)
    if not found:
        pytest.skip(f"no tabular data sets in {shared_data}")
    for name, task in found:
        dataset = load_tabular(name, shared_data, task=task)
        sample = sample_tabular(dataset, 0)
        assert len(sample.y_train) == min(1000, len(dataset.y) // 3)
        extra = sum(len(levels) - 1 for levels in dataset.levels.values())
        assert sample.X_train.shape[1] == dataset.X.shape[1] + extra
        assert dataset.y.dtype.kind == ("f" if task == "regression" else "i")

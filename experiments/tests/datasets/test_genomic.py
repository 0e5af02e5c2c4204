"""Biological data sets: classes that are large enough, both file formats, and the folds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat
from sklearn.utils._param_validation import InvalidParameterError

import loader_files
from randsub.exceptions import DatasetFormatError
from randsub_experiments.datasets import GenomicDataset, genomic_folds, list_genomic, load_genomic


def dataset_of(sizes):
    arrays = loader_files.genomic(dict(enumerate(sizes)))
    return GenomicDataset(arrays["X"].astype(np.float32), arrays["y"], "made", {})


@pytest.fixture
def home(tmp_path):
    files = {"lung": {1: 30, 2: 29, 3: 31}, "colon": {-1: 40, 1: 22}, "one": {1: 50}}
    for name, sizes in files.items():
        loader_files.save(tmp_path / "genomic" / f"{name}.npz", loader_files.genomic(sizes))
    return tmp_path


def test_small_classes_are_left_out_and_named(home):
    arrays = loader_files.genomic({1: 30, 2: 29, 3: 31})
    dataset = load_genomic("lung", home)
    kept = arrays["y"] != 2
    np.testing.assert_array_equal(dataset.X, arrays["X"][kept])
    np.testing.assert_array_equal(dataset.y, arrays["y"][kept])
    assert dataset.X.dtype == np.float32
    assert dataset.left_out == {2: 29}
    assert repr(dataset) == "GenomicDataset('lung', shape=(61, 7), classes={1: 30, 3: 31})"


def test_with_a_class_size_of_one_everything_is_kept(home):
    arrays = loader_files.genomic({1: 30, 2: 29, 3: 31})
    dataset = load_genomic("lung", home, min_class_size=1)
    np.testing.assert_array_equal(dataset.X, arrays["X"])
    assert dataset.left_out == {}


def test_one_class_left_is_an_error_that_shows_the_sizes(home):
    with pytest.raises(ValueError, match=r"min_class_size=30 samples.*\{-1: 40, 1: 22\}"):
        load_genomic("colon", home)
    assert len(load_genomic("colon", home, min_class_size=22).y) == 62


def test_the_list_is_what_loads_with_the_same_class_size(home):
    (home / "genomic" / "notes.npz").write_text("nothing of the kind")
    assert list_genomic(home) == ["lung"]
    assert list_genomic(home, min_class_size=1) == ["colon", "lung"]


def test_only_files_of_a_folder_of_that_name_are_listed(home, monkeypatch):
    """Any table with classes looks like one of these."""
    loader_files.save(home / "other.npz", loader_files.genomic({1: 40, 2: 40}))
    loader_files.save(home / "tabular_clf" / "pol.npz", loader_files.genomic({1: 40, 2: 40}))
    assert list_genomic(home) == list_genomic(home / "genomic") == ["lung"]
    assert list_genomic(home / "tabular_clf") == []
    monkeypatch.chdir(home / "genomic")
    assert list_genomic(".") == ["lung"]


@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_matlab_files_give_the_same(dtype, home):
    arrays = loader_files.genomic({1: 30, 2: 31})
    values = np.abs(arrays["X"]).astype(dtype)
    path = home / "genomic" / "GLI-85.mat"
    savemat(path, {"X": values, "Y": arrays["y"][:, None]})
    # The collection writes - and _ as it likes.
    for name in ("GLI-85", "GLI_85"):
        dataset = load_genomic(name, home)
        np.testing.assert_array_equal(dataset.X, values)
        np.testing.assert_array_equal(dataset.y, arrays["y"])
        assert dataset.X.dtype.kind == "f"
    assert "GLI-85" in list_genomic(home)


def test_damaged_matlab_files_raise_ours(home):
    path = home / "genomic" / "GLI.mat"
    arrays = loader_files.genomic({1: 30, 2: 31})
    savemat(path, {"X": arrays["X"], "Y": arrays["y"][:, None]})
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:100], b"", b"something else" * 50):
        path.write_bytes(damaged)
        with pytest.raises(DatasetFormatError, match=r"GLI\.mat"):
            load_genomic("GLI", home)
    savemat(path, {"X": arrays["X"]})
    with pytest.raises(DatasetFormatError, match="no array Y"):
        load_genomic("GLI", home)
    savemat(path, {"X": arrays["X"][:-1], "Y": arrays["y"][:, None]})
    with pytest.raises(DatasetFormatError, match="X has 60 rows, and y 61 labels"):
        load_genomic("GLI", home)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(10, 25), min_size=2, max_size=4),
    n_splits=st.integers(2, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_folds_are_disjoint_complete_and_stratified(sizes, n_splits, seed):
    dataset = dataset_of(sizes)
    folds = genomic_folds(dataset, seed, n_splits=n_splits)
    n = len(dataset.y)
    assert len(folds) == n_splits
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(n))
    for fold in folds:
        assert sorted(np.concatenate(fold)) == list(range(n))
        rest = n - len(fold.test)
        assert len(fold.val) == int(np.ceil(0.2 * rest))
        for label, size in enumerate(sizes):
            in_test, in_val = (np.sum(dataset.y[rows] == label) for rows in (fold.test, fold.val))
            assert size // n_splits <= in_test <= -(-size // n_splits)
            assert abs(in_val - 0.2 * (size - in_test)) <= 1


def test_folds_follow_the_seed():
    dataset = dataset_of([40, 30])
    first, again, other = (genomic_folds(dataset, seed) for seed in (0, 0, 1))
    for fold, same in zip(first, again, strict=True):
        for rows, as_before in zip(fold, same, strict=True):
            np.testing.assert_array_equal(rows, as_before)
    assert not np.array_equal(first[0].test, other[0].test)
    # The files are ordered by class; the folds are not blocks of rows.
    assert np.ptp(first[0].test) > len(first[0].test)


def test_more_folds_than_samples_of_a_class_are_refused():
    with pytest.raises(ValueError, match="a class with 4 samples, too few for n_splits=5"):
        genomic_folds(dataset_of([4, 20]), 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("dataset", np.eye(3)), ("n_splits", 1), ("validation_fraction", 1.0), ("random_state", "a")],
)
def test_bad_parameters_of_folds_are_named(name, value):
    arguments = {"dataset": dataset_of([10, 10]), name: value}
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of genomic_folds"):
        genomic_folds(**arguments)


def test_bad_parameters_of_the_loader_are_named(home):
    with pytest.raises(InvalidParameterError, match="'min_class_size' parameter of load_genomic"):
        load_genomic("lung", home, min_class_size=0)
    with pytest.raises(InvalidParameterError, match="'min_class_size' parameter of list_genomic"):
        list_genomic(home, min_class_size=0)


def test_the_real_files_have_the_sizes_of_the_paper(shared_data):
    expected = {"Prostate_GE": (102, 5966), "arcene": (200, 10000)}
    if not expected.keys() <= set(list_genomic(shared_data)):
        pytest.skip(f"the scikit-feature files are not in {shared_data}")
    for name, shape in expected.items():
        assert load_genomic(name, shared_data).X.shape == shape

"""The authors' simulated files: our names for their arrays, and their list."""

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError

import loader_files
from randsub.exceptions import DatasetFormatError
from randsub_experiments.datasets import list_simulated, load_simulated


@pytest.fixture
def home(tmp_path):
    for seed, name in enumerate(["linear_1", "friedman_10", "friedman_9", "friedman_x", "other_1"]):
        loader_files.save(tmp_path / "simulated" / f"{name}.npz", loader_files.simulated(seed))
    return tmp_path


def test_arrays_are_those_of_the_file(home):
    dataset = load_simulated("friedman", 10, home)
    arrays = loader_files.simulated(1)
    for ours, theirs in (("train", "LS"), ("val", "VS"), ("test", "TS")):
        np.testing.assert_array_equal(getattr(dataset, f"X_{ours}"), arrays[f"X{theirs}"])
        np.testing.assert_array_equal(getattr(dataset, f"y_{ours}"), arrays[f"y{theirs}"])
    assert dataset.relevant.tolist() == [1, 3]
    assert (dataset.problem, dataset.number) == ("friedman", 10)
    assert repr(dataset) == "SimulatedDataset(n_train=6, n_val=4, n_test=3, n_features=5)"


def test_the_list_is_what_can_be_loaded_by_number(home):
    assert list_simulated(home) == [("friedman", 9), ("friedman", 10), ("linear", 1)]
    for problem, number in list_simulated(home):
        load_simulated(problem, number, home)


@pytest.mark.parametrize("relevant", [[0, 5], [-1], [], [[1]], [0.5]])
def test_relevant_columns_must_be_columns(relevant, home):
    arrays = {**loader_files.simulated(), "idx_relevant": np.array(relevant)}
    loader_files.save(home / "simulated" / "linear_1.npz", arrays)
    with pytest.raises(DatasetFormatError, match="idx_relevant"):
        load_simulated("linear", 1, home)


def test_outputs_must_be_numbers(home):
    arrays = {**loader_files.simulated(), "yVS": np.array(["a"] * 4)}
    loader_files.save(home / "simulated" / "linear_1.npz", arrays)
    with pytest.raises(DatasetFormatError, match="yVS should be numbers"):
        load_simulated("linear", 1, home)


@pytest.mark.parametrize(("name", "value"), [("problem", "circle"), ("number", 0)])
def test_bad_parameters_are_named(name, value, home):
    arguments = {"problem": "linear", "number": 1, name: value}
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of load_simulated"):
        load_simulated(**arguments, data_home=home)


def test_the_authors_own_files_load(shared_data):
    found = list_simulated(shared_data)
    if not found:
        pytest.skip(f"the authors' simulated files are not in {shared_data}")
    for problem, number in found:
        dataset = load_simulated(problem, number, shared_data)
        parts = (dataset.y_train, dataset.y_val, dataset.y_test)
        assert tuple(map(len, parts)) == (300, 100, 100)
        assert dataset.X_train.shape[1] == 300 + len(dataset.relevant)

"""What every loader promises about files that are missing, damaged, or of another kind."""

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.utils._param_validation import InvalidParameterError

import loader_files
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError
from randsub_experiments.datasets import (
    list_genomic,
    list_simulated,
    list_tabular,
    load_dream4,
    load_genomic,
    load_mnist,
    load_simulated,
    load_tabular,
)


class Case(NamedTuple):
    file: str  # under data_home
    arrays: loader_files.Arrays
    load: Callable[[Any], Any]
    source: str  # a word of the sentence that says where the data can be had


CASES = {
    "simulated": Case(
        "simulated/friedman_2.npz",
        loader_files.simulated(),
        lambda home: load_simulated("friedman", 2, home),
        "make_friedman",
    ),
    "tabular": Case(
        "tabular_reg/houses.npz",
        loader_files.tabular(),
        lambda home: load_tabular("houses", home),
        "fetch_tabular",
    ),
    "genomic": Case(
        "genomic/lung.npz",
        loader_files.genomic({1: 30, 2: 31}),
        lambda home: load_genomic("lung", home),
        "scikit-feature",
    ),
    "mnist": Case(
        "mnist/mnist.npz",
        loader_files.digits(),
        lambda home: load_mnist(home, random_state=0),
        "train-images-idx3-ubyte",
    ),
    "dream4": Case(
        "dream4/dream4_multifactorial_size100_net3.npz",
        loader_files.dream4(100),
        lambda home: load_dream4(3, home),
        "Synapse",
    ),
    "dream4 of ten genes": Case(
        "dream4/dream4_size10_net3.npz",
        loader_files.dream4(10),
        lambda home: load_dream4(3, home, size=10),
        "Synapse",
    ),
}


def content(dataset):
    """Everything a loader returned, as bytes that can be compared."""
    return pickle.dumps(vars(dataset))


every_loader = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())

# Arrays that a file may lack.
OPTIONAL = {
    "feature_names",
    "target_name",
    "X_VS",
    "knockouts",
    "knockdowns",
    "wildtype",
    "timeseries",
    "ts_time",
}


@every_loader
@pytest.mark.parametrize("kind", [str, Path])
def test_the_folder_of_folders_and_the_folder_itself_are_read(case, kind, tmp_path):
    path = loader_files.save(tmp_path / case.file, case.arrays)
    assert content(case.load(kind(tmp_path))) == content(case.load(kind(path.parent)))


@every_loader
def test_a_missing_file_is_named_with_its_place_and_source(case, tmp_path):
    with pytest.raises(DatasetNotFoundError) as caught:
        case.load(tmp_path)
    assert isinstance(caught.value, FileNotFoundError)
    name = Path(case.file)
    for words in (name.name, str(tmp_path / name.parent), case.source):
        assert words in str(caught.value)


@every_loader
def test_a_missing_folder_is_named_with_the_source(case, tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"nowhere' is not a folder") as caught:
        case.load(tmp_path / "nowhere")
    assert case.source in str(caught.value)


@every_loader
@pytest.mark.parametrize("home", [None, 3, ["data"]])
def test_a_folder_that_is_no_name_is_refused(case, home):
    with pytest.raises(InvalidParameterError, match="data_home"):
        case.load(home)


@pytest.mark.parametrize("listed", [list_simulated, list_tabular, list_genomic])
def test_lists_of_an_empty_folder_are_empty_and_of_none_an_error(listed, tmp_path):
    assert listed(tmp_path) == []
    with pytest.raises(DatasetNotFoundError, match="is not a folder"):
        listed(tmp_path / "nowhere")
    with pytest.raises(InvalidParameterError, match="data_home"):
        listed(None)


@every_loader
def test_every_array_that_is_missing_is_named(case, tmp_path):
    for name in case.arrays.keys() - OPTIONAL:
        rest = {other: array for other, array in case.arrays.items() if other != name}
        if name == "is_categorical":  # without it the codes are numbers
            continue
        path = loader_files.save(tmp_path / case.file, rest)
        with pytest.raises(DatasetFormatError) as caught:
            case.load(tmp_path)
        assert str(path) in str(caught.value)
        assert name in str(caught.value)


@every_loader
def test_every_array_of_a_wrong_shape_is_refused(case, tmp_path):
    for name in case.arrays.keys() - {"target_name", "category_levels_json", "idx_relevant"}:
        for wrong in (case.arrays[name][:-1], case.arrays[name][None], np.array(3)):
            # A row less of the samples of an array that stands alone is no mistake.
            if wrong.ndim == 2 and name in {"X_LS", "X_VS", "multifactorial", *OPTIONAL}:
                continue
            loader_files.save(tmp_path / case.file, {**case.arrays, name: wrong})
            with pytest.raises(DatasetFormatError):
                case.load(tmp_path)


@every_loader
def test_a_table_with_a_column_less_than_its_companions_is_refused(case, tmp_path):
    tables = [name for name, array in case.arrays.items() if array.ndim == 2]
    if case.file.startswith("genomic"):
        return  # its only table has no companion
    for name in tables:
        loader_files.save(tmp_path / case.file, {**case.arrays, name: case.arrays[name][:, 1:]})
        with pytest.raises(DatasetFormatError):
            case.load(tmp_path)


@every_loader
def test_numbers_that_are_not_finite_are_refused(case, tmp_path):
    for name, array in case.arrays.items():
        # Features of a table may be missing: many models take them.
        if array.dtype.kind != "f" or (name == "X" and case.file.startswith("tabular")):
            continue
        damaged = array.copy()
        damaged.flat[-1] = np.nan
        loader_files.save(tmp_path / case.file, {**case.arrays, name: damaged})
        with pytest.raises(DatasetFormatError, match="finite"):
            case.load(tmp_path)


@every_loader
def test_nothing_is_ever_unpickled(case, tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    for name in case.arrays:
        trap = np.array([Trap()], dtype=object)
        loader_files.save(tmp_path / case.file, {**case.arrays, name: trap})
        if name not in OPTIONAL | {"is_categorical", "category_levels_json"}:
            with pytest.raises(DatasetFormatError):
                case.load(tmp_path)
    (tmp_path / case.file).write_bytes(pickle.dumps({"X": 3}))
    with pytest.raises(DatasetFormatError):
        case.load(tmp_path)


@every_loader
def test_a_single_array_is_not_an_archive(case, tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.eye(3))
    path = tmp_path / case.file
    path.parent.mkdir()
    path.write_bytes(buffer.getvalue())
    with pytest.raises(DatasetFormatError, match="single array"):
        case.load(tmp_path)


@every_loader
def test_arrays_that_begin_elsewhere_are_noticed(case, tmp_path):
    """The length of a header, changed: numpy itself would read the numbers shifted."""
    path = loader_files.save(tmp_path / case.file, case.arrays)
    if path.suffix != ".npz":
        pytest.skip("not an archive of arrays")
    whole = bytearray(path.read_bytes())
    place = whole.index(b"\x93NUMPY") + 8
    whole[place] ^= 2
    path.write_bytes(bytes(whole))
    with pytest.raises(DatasetFormatError, match=r"damaged|cannot be read"):
        case.load(tmp_path)


@every_loader
def test_entries_that_are_no_arrays_are_noticed(case, tmp_path):
    """Of an entry that does not begin as an array, numpy returns the bytes."""
    path = loader_files.save(tmp_path / case.file, case.arrays)
    if path.suffix != ".npz":
        pytest.skip("not an archive of arrays")
    with zipfile.ZipFile(path, "w") as archive:
        for name in case.arrays:
            archive.writestr(f"{name}.npy", b"no array")
    with pytest.raises(DatasetFormatError, match="in it is not an array"):
        case.load(tmp_path)


@every_loader
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_damaged_bytes_load_the_same_or_raise_ours(case, tmp_path, data):
    """A cut, or a byte changed: checksums of the archive let nothing wrong through."""
    path = loader_files.save(tmp_path / case.file, case.arrays)
    whole = path.read_bytes()
    before = content(case.load(tmp_path))
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        path.write_bytes(whole[:place])
    else:
        changed = bytearray(whole)
        changed[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(bytes(changed))
    try:
        after = content(case.load(tmp_path))
    except DatasetFormatError:
        return
    assert after == before


def test_names_stay_inside_the_folder(tmp_path):
    loader_files.save(tmp_path / "outside.npz", loader_files.tabular())
    (tmp_path / "home").mkdir()
    with pytest.raises(ValueError, match="name of a file in a folder"):
        load_tabular("../outside", tmp_path / "home")

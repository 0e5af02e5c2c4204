"""Arrays of .npz files: read as they were written, or refused with the reason."""

import io
import pickle
import zipfile

import numpy as np
import pytest

import tiny_files
from randsub.datasets.npz import read_arrays
from randsub.exceptions import DatasetFormatError


@pytest.fixture
def path(tmp_path):
    return tiny_files.save(tmp_path / "t.npz", tiny_files.tabular())


def refused(path, reason):
    with pytest.raises(DatasetFormatError, match=reason) as caught:
        read_arrays(path, ["X", "y"])
    assert str(path) in str(caught.value)


def test_required_arrays_and_those_optional_ones_that_are_there(path):
    arrays = read_arrays(path, ["X", "y"], ["target_name", "row_names"])
    assert list(arrays) == ["X", "y", "target_name"]
    np.testing.assert_array_equal(arrays["X"], tiny_files.tabular()["X"], strict=True)


def test_a_missing_array_is_named(path):
    with pytest.raises(DatasetFormatError, match="it has no array Z, only X, y, "):
        read_arrays(path, ["X", "Z"])


def test_a_single_array_is_not_an_archive(path):
    buffer = io.BytesIO()
    np.save(buffer, np.eye(3))
    path.write_bytes(buffer.getvalue())
    refused(path, "single array")


def test_nothing_is_unpickled(path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    np.savez(path, X=np.array([Trap()], dtype=object), y=np.zeros(1))
    refused(path, "cannot be read")
    path.write_bytes(pickle.dumps({"X": 3}))
    refused(path, "cannot be read")


def test_a_header_that_was_changed_is_noticed(path):
    """numpy itself would read the numbers shifted."""
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"\x93NUMPY") + 8] ^= 2
    path.write_bytes(bytes(whole))
    refused(path, r"damaged|cannot be read")


def test_entries_that_are_not_arrays_are_noticed(path):
    """numpy returns the bytes of an entry that does not begin as an array."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("X", "y"):
            archive.writestr(f"{name}.npy", b"no array")
    refused(path, "X, y in it is not an array")

"""A file is what was written, or it is refused."""

import hashlib
import json
import os
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from randsub.checkpoint.archive import MAGIC, VERSION, read_archive, write_archive
from randsub.exceptions import CheckpointError
from tiny_world import assert_same

DTYPES = st.sampled_from(["bool", "i1", "<i4", "<i8", "u1", "<f4", "<f8"])
ARRAYS = DTYPES.flatmap(lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, min_side=0)))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | ARRAYS
TREES = st.recursive(
    LEAVES, lambda t: st.lists(t, max_size=3) | st.dictionaries(st.text(), t, max_size=3)
)
TREE = {
    "numbers": [1, 2**100, -0.5, float("inf"), True, None, "text"],
    "arrays": [np.arange(6.0).reshape(2, 3), np.array([True, False]), np.empty((0, 4), np.int32)],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "whole"
    write_archive(path, TREE)
    return path.read_bytes()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("archive") / "file"


@given(tree=TREES)
@settings(max_examples=60, deadline=None)
def test_what_is_read_is_what_was_written(path, tree):
    write_archive(path, tree)
    assert_same(read_archive(path), tree)


def test_arrays_come_back_ready_for_use(path):
    write_archive(path, {"strided": np.arange(12.0).reshape(3, 4).T, "number": np.float64(0.1)})
    read = read_archive(path)
    np.testing.assert_array_equal(read["strided"], np.arange(12.0).reshape(3, 4).T)
    assert read["strided"].flags.writeable
    assert read["strided"].flags.aligned
    assert read["number"] == 0.1


@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_a_file_that_is_cut_off_is_refused(path, whole, data):
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(CheckpointError):
        read_archive(path)


@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_a_file_with_a_wrong_bit_is_refused(path, whole, data):
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(damaged)
    with pytest.raises(CheckpointError):
        read_archive(path)


def test_a_file_that_is_too_long_is_refused(path, whole):
    path.write_bytes(whole + b"\0")
    with pytest.raises(CheckpointError, match="checksum"):
        read_archive(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a checkpoint of randsub"),
        (b"PK\x03\x04 something else", "not a checkpoint of randsub"),
        (MAGIC + struct.pack("<I", VERSION + 1) + bytes(100), f"version {VERSION + 1}"),
        (MAGIC + bytes(3), "cut off after 19 bytes"),
    ],
    ids=["empty", "foreign", "newer", "stub"],
)
def test_refusals_say_why(path, content, message):
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        read_archive(path)


def forged(tree: object, arrays: bytes = b"", length: int | None = None) -> bytes:
    """A file with a right checksum and any content."""
    text = json.dumps(tree).encode()
    header = MAGIC + struct.pack("<IQ", VERSION, len(text) if length is None else length)
    content = header + text + arrays
    return content + hashlib.blake2b(content, digest_size=32).digest()


def array(dtype: object, *shape: object) -> dict[str, object]:
    return {"__array__": [dtype, shape]}


def test_the_forgeries_are_what_they_should_be(path):
    path.write_bytes(forged([array("<f8", 1)], bytes(8)))
    assert_same(read_archive(path), [np.zeros(1)])


FORGERIES = {
    "objects": forged(array("O", 1), bytes(8)),
    "texts": forged(array("<U2", 1), bytes(8)),
    "negative": forged(array("<f8", -1), bytes(8)),
    "huge": forged(array("<f8", 10**18), bytes(8)),
    "twice": forged([array("<f8", 1), array("<f8", 1)], bytes(8)),
    "type": forged(array("nonsense"), bytes(8)),
    "shape": forged(array("<f8", "x"), bytes(8)),
    "number": forged({"__array__": 3}, bytes(8)),
    "name": forged({"__array__": "x"}, bytes(8)),
    "cut": forged("text", length=3),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_made_up_content_is_refused(path, name):
    path.write_bytes(FORGERIES[name])
    with pytest.raises(CheckpointError, match="content is invalid"):
        read_archive(path)


@pytest.mark.parametrize(
    "value",
    [{1: 2}, {"__array__": 0}, np.array([None]), object(), {1, 2}],
    ids=["number as key", "reserved key", "array of objects", "object", "set"],
)
def test_other_values_are_not_written(path, value):
    with pytest.raises(TypeError):
        write_archive(path, value)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_former_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    write_archive(path, 1)

    def fail(*args: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(f"os.{step}", fail)
    with pytest.raises(OSError, match="no space"):
        write_archive(path, 2)
    assert os.listdir(tmp_path) == ["file"]
    assert read_archive(path) == 1

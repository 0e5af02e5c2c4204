"""A tree of plain values and arrays in one file that is either complete or refused.

Nothing in such a file can name a type or run code when it is read: there are numbers, strings,
lists, mappings, and arrays of numbers. Layout, all integers little-endian::

    16 bytes   MAGIC
     4 bytes   version of the format
     8 bytes   length of the tree
    tree       JSON, with ``{"__array__": [dtype, shape]}`` in the place of each array
    arrays     one after the other, in the order of the tree
    32 bytes   BLAKE2b digest of everything before it
"""

import hashlib
import json
import math
import struct
from pathlib import Path
from typing import Any, Final

import numpy as np

from randsub._files import write_atomically
from randsub.exceptions import CheckpointError

MAGIC: Final = b"randsub archive\n"
VERSION: Final = 5
_HEADER: Final = struct.Struct("<16sIQ")
_DIGEST_SIZE: Final = 32
_ARRAY: Final = "__array__"
# Booleans, integers and floating-point numbers.
_KINDS: Final = "biuf"


def write_archive(path: Path, tree: Any) -> None:
    """Write a tree; a crash at any moment leaves the former file in place.

    Parameters
    ----------
    path : Path
    tree : nested dict, list and tuple
        Of None, bool, int, float, str and arrays of numbers. Tuples are read back as lists.
    """
    arrays: list[np.ndarray[Any, Any]] = []
    text = json.dumps(_encoded(tree, arrays)).encode()
    parts: list[bytes | memoryview] = [
        _HEADER.pack(MAGIC, VERSION, len(text)),
        text,
        *(array.reshape(-1).view(np.uint8).data for array in arrays if array.size),
    ]
    digest = hashlib.blake2b(digest_size=_DIGEST_SIZE)
    for part in parts:
        digest.update(part)
    write_atomically(path, *parts, digest.digest())


def read_archive(path: Path) -> Any:
    """The tree in a file; raises a CheckpointError unless the file is exactly what was written.

    Parameters
    ----------
    path : Path

    Returns
    -------
    tree : nested dict and list
        Arrays are new and can be written to.
    """
    content = path.read_bytes()
    if not content.startswith(MAGIC):
        raise CheckpointError(path, "it is not a checkpoint of randsub")
    if len(content) < _HEADER.size + _DIGEST_SIZE:
        raise CheckpointError(path, f"it is cut off after {len(content)} bytes")
    _, version, length = _HEADER.unpack_from(content)
    if version != VERSION:
        raise CheckpointError(
            path, f"it has format version {version}, and this version of randsub reads {VERSION}"
        )
    # Parts of it without copies.
    data = memoryview(content)[:-_DIGEST_SIZE]
    if hashlib.blake2b(data, digest_size=_DIGEST_SIZE).digest() != content[len(data) :]:
        raise CheckpointError(path, "it is damaged or cut off: its checksum is wrong")
    text, arrays = data[_HEADER.size :][:length], data[_HEADER.size :][length:]
    try:
        return _decoded(bytes(text), arrays)
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError) as error:
        raise CheckpointError(path, f"its content is invalid: {error}") from error


def _decoded(text: bytes, arrays: memoryview) -> Any:
    """The tree; its arrays are taken in turn."""
    start = 0

    def restored(entry: dict[str, Any]) -> Any:
        nonlocal start
        if _ARRAY not in entry:
            return entry
        dtype, shape = np.dtype(str(entry[_ARRAY][0])), [int(n) for n in entry[_ARRAY][1]]
        stop = start + math.prod(shape) * dtype.itemsize
        if dtype.kind not in _KINDS or min(shape, default=0) < 0 or stop > len(arrays):
            raise ValueError(f"an array of shape {shape} and type {dtype}")
        # A copy: aligned as any other array, and free to be written to.
        array = np.frombuffer(arrays[start:stop], dtype).reshape(shape).copy()
        start = stop
        return array

    return json.loads(text, object_hook=restored)


def _encoded(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """The same tree without arrays, which are appended to the list."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _KINDS:
            raise TypeError(f"Arrays of {value.dtype} are not written.")
        # C order, whatever the layout was; ``ascontiguousarray`` would add a dimension to a number.
        arrays.append(np.asarray(value, order="C"))
        return {_ARRAY: [value.dtype.str, list(value.shape)]}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_encoded(item, arrays) for item in value]
    if isinstance(value, dict):
        if not all(isinstance(key, str) and key != _ARRAY for key in value):
            raise TypeError(f"Keys must be strings other than {_ARRAY!r}, got {list(value)}.")
        return {key: _encoded(item, arrays) for key, item in value.items()}
    return value

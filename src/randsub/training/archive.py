"""A tree of plain values and arrays in one file that is either whole or refused.

Nothing in such a file can name a type or run code when it is read: there are numbers, texts, lists,
mappings, and arrays of numbers. Layout, all integers little-endian::

    16 bytes   who we are
     4 bytes   version of the format
    32 bytes   BLAKE2b digest of everything else in the file
     8 bytes   length of the header
    header     JSON: the tree, with a number in the place of each array, and the arrays' dtypes and
               shapes
    arrays     one after the other

A file is written beside its final place, flushed to the disk, and moved there in one step: whoever
looks, whenever, sees the former file or the new one.
"""

import hashlib
import json
import os
import struct
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from randsub.exceptions import CheckpointError

MAGIC: Final = b"randsub archive\n"
VERSION: Final = 1
_DIGEST_SIZE: Final = 32
_ARRAY: Final = "__array__"
# Booleans, integers and floating-point numbers.
_KINDS: Final = "biuf"
# Seconds after which a file that nobody goes on writing was left behind by a process that died.
_ABANDONED: Final = 60.0


def write_archive(path: Path, tree: Any) -> None:
    """Write a tree; a crash at any moment leaves what was there before.

    Parameters
    ----------
    path : Path
    tree : nested dict, list and tuple
        Of None, bool, int, float, str and arrays of numbers. Tuples come back as lists.
    """
    arrays: list[np.ndarray[Any, Any]] = []
    content = {
        "tree": _encoded(tree, arrays),
        "arrays": [{"dtype": a.dtype.str, "shape": list(a.shape)} for a in arrays],
    }
    header = json.dumps(content).encode()
    parts: list[bytes | memoryview] = [MAGIC + struct.pack("<I", VERSION)]
    parts += [struct.pack("<Q", len(header)), header]
    parts += [a.reshape(-1).view(np.uint8).data for a in arrays if a.size]
    digest = hashlib.blake2b(digest_size=_DIGEST_SIZE)
    for part in parts:
        digest.update(part)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with open(descriptor, "wb") as file:
            file.write(parts[0])
            file.write(digest.digest())
            for part in parts[1:]:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _flush_folder(path.parent)


def read_archive(path: Path) -> Any:
    """The tree in a file; raises a CheckpointError where the file is not exactly what was written.

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
    # Parts of it without copies.
    data, start = memoryview(content), len(MAGIC) + 4
    if len(data) < start + _DIGEST_SIZE + 8:
        raise CheckpointError(path, f"it is cut off after {len(data)} bytes")
    (version,) = struct.unpack("<I", data[len(MAGIC) : start])
    if version != VERSION:
        raise CheckpointError(
            path, f"it has version {version} of the format, and this randsub reads {VERSION}"
        )
    body = start + _DIGEST_SIZE
    digest = hashlib.blake2b(data[:start], digest_size=_DIGEST_SIZE)
    digest.update(data[body:])
    if digest.digest() != data[start:body]:
        raise CheckpointError(path, "it is damaged or cut off: its checksum is wrong")
    try:
        return _read_body(data[body:])
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError) as error:
        raise CheckpointError(path, f"its content makes no sense: {error}") from error


def _read_body(body: memoryview) -> Any:
    (length,) = struct.unpack("<Q", body[:8])
    place = 8 + length
    content = json.loads(bytes(body[8:place]))
    arrays = []
    for entry in content["arrays"]:
        dtype, shape = np.dtype(str(entry["dtype"])), [int(n) for n in entry["shape"]]
        if dtype.kind not in _KINDS or min(shape, default=0) < 0:
            raise ValueError(f"an array of shape {shape} and type {dtype}")
        count = int(np.prod(shape, dtype=object))
        stop = place + count * dtype.itemsize
        if stop > len(body):
            raise ValueError("an array that is longer than the file")
        # A copy: aligned as any other array, and free to be written to.
        arrays.append(np.frombuffer(body[place:stop], dtype).reshape(shape).copy())
        place = stop
    return _decoded(content["tree"], arrays)


def remove_leftovers(path: Path) -> None:
    """Remove what processes that died while they wrote this file have left beside it."""
    for leftover in path.parent.glob(f".{_escaped(path.name)}.*.tmp"):
        with suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _ABANDONED:
                leftover.unlink()


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _encoded(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        # Subclasses, such as those of numpy and enumerations, as the plain value.
        kinds = (bool, int, float, str)
        return next((kind(value) for kind in kinds if isinstance(value, kind)), None)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _KINDS:
            raise TypeError(f"Arrays of {value.dtype} are not written.")
        # ``ascontiguousarray`` would give an array without dimensions one.
        arrays.append(np.asarray(value, order="C"))
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, np.generic):
        return _encoded(value.item(), arrays)
    if isinstance(value, list | tuple):
        return [_encoded(item, arrays) for item in value]
    if isinstance(value, dict):
        if not all(isinstance(key, str) and key != _ARRAY for key in value):
            raise TypeError(f"Keys must be texts other than {_ARRAY!r}, got {list(value)}.")
        return {key: _encoded(item, arrays) for key, item in value.items()}
    raise TypeError(f"A {type(value).__name__} is not written.")


def _decoded(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, list):
        return [_decoded(item, arrays) for item in value]
    if isinstance(value, dict):
        if _ARRAY in value:
            return arrays[value[_ARRAY]]
        return {key: _decoded(item, arrays) for key, item in value.items()}
    return value


def _flush_folder(folder: Path) -> None:
    """Have the disk remember the move itself, where the system lets a folder be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

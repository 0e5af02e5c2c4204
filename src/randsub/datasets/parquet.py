"""Parquet files that need not fit into memory.

A fit reads a few thousand rows at a time, from anywhere in the table. Parquet stores compressed
columns and cannot give single rows. So the columns are unpacked once, a portion of rows at a time,
into a plain array on disk, which is then memory-mapped.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsub._files import draft_of, write_atomically
from randsub._sklearn import StrOptions
from randsub.datasets.parameters import FOLDER, Folder, validated
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError

# Increased whenever caches of an earlier version must not be used any more.
FORMAT: Final = 2
# Names of the arrays in a cache.
_ARRAY: Final = re.compile(r"[Xy]-[0-9a-f]{16}\.npy")
# Numbers that are unpacked at a time.
PORTION: Final = 2**22


class MappedTable(NamedTuple):
    """A table in a memory-mapped file.

    Attributes
    ----------
    X : memmap of shape (n_samples, n_features)
        Read-only; pages are loaded when they are accessed.
    y : ndarray of shape (n_samples,) or None
        The target, in memory; None without a target.
    feature_names : tuple of str
        Names of the columns of X.
    """

    X: "np.memmap[Any, Any]"
    y: NDArray[Any] | None
    feature_names: tuple[str, ...]


@validated(
    {
        "source": FOLDER,
        "target": [str, None],
        "cache": FOLDER,
        "columns": ["array-like", None],
        "dtype": [StrOptions({"float32", "float64"})],
    }
)
def open_parquet(
    source: Folder,
    target: str | None = None,
    *,
    cache: Folder,
    columns: Sequence[str] | None = None,
    dtype: Literal["float32", "float64"] = "float32",
) -> MappedTable:
    """Open a parquet file, or a folder of them, as a memory-mapped array.

    The first call unpacks the files into the folder ``cache``, which takes 4 bytes of disk per
    number (8 with float64) and the memory of one portion of rows. Later calls open the cache, if
    the files have not changed and the same columns are requested. Otherwise the table is unpacked
    again and the previous one is deleted, so tables that are used at the same time need a cache
    folder each.

    Parameters
    ----------
    source : path-like
        A parquet file, or a folder. Files with the suffix ``.parquet`` in it and in its subfolders
        are read in the order of their paths; names that begin with ``_`` or ``.`` are ignored.
    target : str, default=None
        The column that becomes y: numbers, truth values or text.
    cache : path-like
        Folder for the unpacked table, created if it does not exist. It can be deleted at any time.
    columns : array-like of str, default=None
        The columns that become X, in this order; by default all but the target. They must hold
        numbers or truth values; missing values become NaN.
    dtype : {"float32", "float64"}, default="float32"
        Type of X. float32 has 7 significant digits.

    Returns
    -------
    table : MappedTable
        ``X``, ``y`` and ``feature_names``.

    Raises
    ------
    ImportError
        If pyarrow is not installed: ``pip install 'randsub[parquet]'``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from randsub.datasets import open_parquet
    >>> with TemporaryDirectory() as folder:
    ...     frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "y": ["no", "yes"]})
    ...     frame.to_parquet(f"{folder}/part-0.parquet")
    ...     table = open_parquet(folder, "y", cache=f"{folder}/cache")
    ...     table.X.tolist(), table.y.tolist(), table.feature_names
    ([[1.0, 3.0], [2.0, 4.0]], ['no', 'yes'], ('a', 'b'))
    """
    _require_pyarrow()
    files, home = _files(Path(source).expanduser())
    asked = None if columns is None else _checked_names(columns, target)
    folder = Path(cache).expanduser()
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"cache={str(cache)!r} is a file; name a folder, or a new name.")
    request = {
        "format": FORMAT,
        "files": [_fingerprint(path, home) for path in files],
        "asked": asked,
        "target": target,
        "dtype": dtype,
    }
    former = _cached(folder)
    table = _known_table(folder, former, request)
    if table is None:
        names = _columns_of(files, home, asked, target)
        arrays = _unpack(files, folder, names, target, np.dtype(dtype), _mark(request))
        table = _open_table(folder, arrays, names, target)
        content = {**request, "columns": names, "arrays": arrays}
        write_atomically(folder / "table.json", json.dumps(content).encode())
        # Whatever the cache lists, nothing but arrays is deleted.
        listed = former.get("arrays")
        for name in listed if isinstance(listed, list) else []:
            if isinstance(name, str) and _ARRAY.fullmatch(name) and name not in arrays:
                with suppress(OSError):
                    (folder / name).unlink()
    return table


def _require_pyarrow() -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "open_parquet needs pyarrow: install it with pip install 'randsub[parquet]'."
        ) from error


def _files(source: Path) -> tuple[list[Path], Path]:
    """The parquet files, and the folder that their paths are relative to."""
    if source.is_file():
        return [source], source.parent
    if not source.is_dir():
        raise DatasetNotFoundError(f"source={str(source)!r} is neither a file nor a folder.")
    files = [
        path
        for path in sorted(source.rglob("*.parquet"))
        if path.is_file()
        and not any(part.startswith(("_", ".")) for part in path.relative_to(source).parts)
    ]
    if not files:
        raise DatasetNotFoundError(f"The folder {source} holds no files that end in .parquet.")
    return files, source


def _checked_names(columns: Sequence[str], target: str | None) -> list[str]:
    names = list(columns)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"columns must be names of columns, at least one, got {columns!r}.")
    if len(set(names)) < len(names) or target in names:
        raise ValueError(
            f"columns must name each column once, and not the target {target!r}, got {names!r}."
        )
    return names


def _fingerprint(path: Path, home: Path) -> list[Any]:
    status = path.stat()
    return [path.relative_to(home).as_posix(), status.st_size, status.st_mtime_ns]


def _mark(request: dict[str, Any]) -> str:
    """Part of the names of the arrays, different for other columns and for changed files.

    So processes that unpack different tables into one folder cannot mix them up, and a process
    that opens an array by its name, as joblib's workers do, finds the right one, or none.
    """
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()[:16]


def _cached(folder: Path) -> dict[str, Any]:
    """Description of the table in the cache; empty without a readable one."""
    try:
        content = json.loads((folder / "table.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _known_table(
    folder: Path, content: dict[str, Any], request: dict[str, Any]
) -> MappedTable | None:
    """The cached table, if it is the requested one and complete."""
    if any(content.get(key) != value for key, value in request.items()):
        return None
    try:
        return _open_table(folder, content["arrays"], content["columns"], request["target"])
    # NumPy raises various errors for a truncated or foreign file.
    except (OSError, ValueError, TypeError, LookupError, EOFError):
        return None


def _open_table(
    folder: Path, arrays: Sequence[str], names: Sequence[str], target: str | None
) -> MappedTable:
    X = np.load(folder / arrays[0], mmap_mode="r")
    y = None
    if target is not None:
        with (folder / arrays[1]).open("rb") as file:
            y = np.load(file, allow_pickle=False)
    if X.shape != (len(X if y is None else y), len(names)):
        raise ValueError(f"{folder} holds arrays that do not belong together.")
    return MappedTable(X, y, tuple(names))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A parquet file; pyarrow's errors about a damaged file are raised with its name."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise DatasetFormatError(path, f"it cannot be read as parquet ({error})") from error


def _columns_of(
    files: Sequence[Path], home: Path, asked: list[str] | None, target: str | None
) -> list[str]:
    """Names of the columns of X, which every file must have, with numeric types."""
    folders = {part for path in files for part in path.relative_to(home).parts[:-1] if "=" in part}
    if asked is None and folders:
        raise ValueError(
            f"The folder is partitioned: values of columns are names of subfolders, such as "
            f"{min(folders)!r}; these are not read. Name the columns that you want."
        )
    names = asked
    for path in files:
        with _opened(path) as file:
            schema = file.schema_arrow
        if asked is None:
            found = [name for name in _data_columns(schema) if name != target]
            names = found if names is None else names
            if more := [name for name in found if name not in names]:
                raise ValueError(
                    f"{path} has columns that {files[0]} does not have: {more[:10]}. Name the "
                    "columns that you want."
                )
        assert names is not None
        _check_schema(path, schema, names, target)
    if not names:
        raise ValueError(f"{files[0]} has no columns beside the target {target!r}.")
    return names


def _data_columns(schema: Any) -> list[str]:
    """All columns but those in which pandas stored the index of a frame."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def _check_schema(path: Path, schema: Any, names: Sequence[str], target: str | None) -> None:
    """Raise unless a file has each column once, and numbers or truth values in those of X."""
    from pyarrow import types

    for name in names if target is None else [*names, target]:
        if schema.names.count(name) != 1:
            raise ValueError(
                f"{path} has {schema.names.count(name)} columns named {name!r}, and should have "
                f"one; its columns are {schema.names[:10]}."
            )
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    kinds = {name: schema.field(name).type for name in names}
    strange = {n: str(kind) for n, kind in kinds.items() if not any(test(kind) for test in tests)}
    if strange:
        raise ValueError(
            f"{path} has columns that are not numbers: {dict(list(strange.items())[:5])}. List the "
            "others in columns, or encode these first."
        )


def _unpack(
    files: Sequence[Path],
    folder: Path,
    names: Sequence[str],
    target: str | None,
    dtype: np.dtype[Any],
    mark: str,
) -> list[str]:
    """Write the arrays of X and y, and return the names of the files."""
    n_rows = 0
    for path in files:
        with _opened(path) as file:
            n_rows += file.metadata.num_rows
    if not n_rows:
        raise ValueError(f"{files[0].parent} has no rows.")
    arrays = [f"{letter}-{mark}.npy" for letter in ("X" if target is None else "Xy")]
    with draft_of(folder / arrays[0]) as draft:
        X = np.lib.format.open_memmap(draft, "w+", dtype, (n_rows, len(names)))
        y = _copy(files, X, names, target)
        X.flush()
        del X
    if y is not None:
        with draft_of(folder / arrays[1]) as draft, draft.open("wb") as file:
            np.save(file, y, allow_pickle=False)
    return arrays


def _copy(
    files: Sequence[Path], X: NDArray[Any], names: Sequence[str], target: str | None
) -> NDArray[Any] | None:
    """Copy the columns into X, a portion of rows at a time, and return the target."""
    targets, start = [], 0
    for path, batch in _batches(files, [*names] if target is None else [*names, target]):
        _fill(path, X[start : start + batch.num_rows], batch, names)
        start += batch.num_rows
        if target is not None:
            targets.append(_target(path, batch.column(target)))
    if start != len(X):
        raise ValueError(f"{files[0].parent} was changed while it was read.")
    if len({part.dtype.kind == "U" for part in targets}) > 1:
        raise ValueError(
            "The target holds text in some of the files and numbers in others; write them again "
            "with one type."
        )
    return np.concatenate(targets) if targets else None


def _batches(files: Sequence[Path], columns: list[str]) -> Iterator[tuple[Path, Any]]:
    for path in files:
        with _opened(path) as file:
            for batch in file.iter_batches(max(1, PORTION // len(columns)), columns=columns):
                yield path, batch


def _fill(path: Path, X: NDArray[Any], batch: Any, names: Sequence[str]) -> None:
    """Copy the columns of a batch into its rows of X."""
    import pyarrow as pa

    for j, name in enumerate(names):
        numbers = batch.column(name).cast(pa.float64(), safe=False)
        values = numbers.to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore"):
            X[:, j] = values
        if X.dtype != values.dtype and (np.isinf(X[:, j]) & np.isfinite(values)).any():
            raise ValueError(
                f"The column {name!r} of {path} has the value {values[np.isinf(X[:, j])][0]:g}, "
                f"which is too large for {X.dtype}; use dtype='float64'."
            )


def _target(path: Path, column: Any) -> NDArray[Any]:
    import pyarrow as pa

    if column.null_count:
        raise ValueError(
            f"The target has {column.null_count} missing value(s) in {path}; remove these rows."
        )
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), dtype=str)
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"The target holds {column.type} in {path}, but should hold numbers or text."
        )
    return values

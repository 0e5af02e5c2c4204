"""Parquet folders that need not fit into memory.

Fitting takes a few thousand rows at a time, drawn from anywhere in the table. Parquet cannot give
these: it is packed, column by column. So the columns are unpacked once, a portion of rows at a
time, into a plain array on disk, and that is mapped into memory.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from randsub._files import write_atomically
from randsub.datasets.parameters import FOLDER, Folder, validated
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError

# Raised whenever files of an earlier version must not be used any more.
FORMAT: Final = 2
# Names of its files that hold arrays.
_ARRAY: Final = re.compile(r"[Xy]-[0-9a-f]{16}\.npy")
# Numbers that are unpacked at a time.
PORTION: Final = 2**22


class MappedTable(NamedTuple):
    """A table in a memory-mapped file.

    Attributes
    ----------
    X : memmap of shape (n_samples, n_features)
        Read-only; pages come into memory when they are looked at.
    y : ndarray of shape (n_samples,) or None
        The target, in memory; None where none was asked for.
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

    The first call unpacks the files into the folder ``cache``, which takes 4 bytes of disk for each
    number (8 with float64) and the memory of one portion of rows. Later calls open what is there,
    as long as the files have not changed and the same columns are asked for; else it is written
    again, and the former table is deleted: give each table that you use at the same time a folder
    of its own.

    Parameters
    ----------
    source : path-like
        A parquet file, or a folder. Files in it and in its subfolders that end in ``.parquet`` are
        read in the order of their paths; those that begin with ``_`` or ``.`` are not.
    target : str, default=None
        The column that becomes y: numbers, truth values or text.
    cache : path-like
        A folder for the unpacked table; it is made where there is none. Delete it whenever you
        like.
    columns : array-like of str, default=None
        The columns that become X, in this order; by default all but the target. They must hold
        numbers or truth values; missing ones become NaN.
    dtype : {"float32", "float64"}, default="float32"
        Type of X. float32 has 7 digits.

    Returns
    -------
    table : MappedTable
        ``X``, ``y`` and ``feature_names``.

    Raises
    ------
    ImportError
        Without pyarrow: ``pip install 'randsub[parquet]'``.

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
    table = _known_table(folder, request)
    if table is None:
        names = _columns_of(files, home, asked, target)
        former = _arrays_of(folder)
        arrays = _unpack(files, folder, names, target, np.dtype(dtype), _mark(request))
        table = _open_table(folder, arrays, names, target)
        content = {**request, "columns": names, "arrays": arrays}
        write_atomically(folder / "table.json", json.dumps(content).encode())
        for name in set(former) - set(arrays):
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
    """The parquet files, and the folder that their paths are told from."""
    if source.is_file():
        return [source], source.parent
    if not source.is_dir():
        raise DatasetNotFoundError(f"source={str(source)!r} is neither a file nor a folder.")
    files = [
        path
        for path in sorted(source.rglob("*.parquet"))
        if path.is_file() and not _is_hidden(path.relative_to(source))
    ]
    if not files:
        raise DatasetNotFoundError(f"The folder {source} holds no files that end in .parquet.")
    return files, source


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts)


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
    facts = path.stat()
    return [path.relative_to(home).as_posix(), facts.st_size, facts.st_mtime_ns]


def _mark(request: dict[str, Any]) -> str:
    """What the arrays of a table have in their names.

    Those of other columns or of changed files have other names. So processes that unpack different
    tables into one folder at once cannot mix them up, and one that opens a file by its name, as
    joblib's workers do, finds the array that is meant, or none.
    """
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()[:16]


def _known_table(folder: Path, request: dict[str, Any]) -> MappedTable | None:
    """What the folder holds, if it is what is asked for and whole."""
    try:
        content = json.loads((folder / "table.json").read_bytes())
        if any(content[key] != value for key, value in request.items()):
            return None
        return _open_table(folder, content["arrays"], content["columns"], request["target"])
    # A cut or foreign file may make numpy stumble in several ways.
    except (OSError, ValueError, TypeError, LookupError, EOFError):
        return None


def _arrays_of(folder: Path) -> list[str]:
    """Files of the table that the folder holds, as far as it says."""
    try:
        names = json.loads((folder / "table.json").read_bytes())["arrays"]
        # Whatever it says, nothing else is deleted.
        return [n for n in names if _ARRAY.fullmatch(n)]
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return []


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
    """A parquet file; what pyarrow says of a damaged one is told with its name."""
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
    """Names of the columns of X, which every file must have, with types that are numbers."""
    folders = {part for path in files for part in path.relative_to(home).parts[:-1]}
    if asked is None and any("=" in name for name in folders):
        raise ValueError(
            f"The folder is partitioned by columns whose values are names of subfolders, such as "
            f"{min(name for name in folders if '=' in name)!r}; these are not read. Name the "
            "columns that you want."
        )
    names = asked
    for path in files:
        with _opened(path) as file:
            schema = file.schema_arrow
            if names is None:
                names = [name for name in _data_columns(schema) if name != target]
            elif asked is None:
                more = [name for name in _data_columns(schema) if name not in {*names, target}]
                if more:
                    raise ValueError(
                        f"{path} has columns that {files[0]} does not have: {more[:10]}. Name the "
                        "columns that you want."
                    )
            for name in names if target is None else [*names, target]:
                if schema.names.count(name) != 1:
                    raise ValueError(
                        f"{path} has {schema.names.count(name)} columns named {name!r}, and should "
                        f"have one; its columns are {schema.names[:10]}."
                    )
            strange = [name for name in names if not _is_number(schema.field(name).type)]
            if strange:
                shown = {name: str(schema.field(name).type) for name in strange[:5]}
                raise ValueError(
                    f"{path} has columns that hold no numbers: {shown}. List those that do in "
                    "columns, or encode the others first."
                )
    if not names:
        raise ValueError(f"{files[0]} has no columns beside the target {target!r}.")
    return names


def _data_columns(schema: Any) -> list[str]:
    """All columns but those in which pandas has put the index of a frame."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def _is_number(kind: Any) -> bool:
    """Whether a type of arrow's stands for numbers or truth values."""
    from pyarrow import types

    tests: tuple[Callable[[Any], bool], ...] = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_decimal,
    )
    return any(test(kind) for test in tests)


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
    folder.mkdir(parents=True, exist_ok=True)
    arrays = [f"{letter}-{mark}.npy" for letter in ("X" if target is None else "Xy")]
    # Others, threads of this process among them, may write the same at the same time.
    drafts = [folder / f".{name}.{uuid4().hex}.part" for name in arrays]
    try:
        X = np.lib.format.open_memmap(drafts[0], "w+", dtype, (n_rows, len(names)))
        targets, start = [], 0
        for path, batch in _batches(files, names, target):
            _fill(path, X[start : start + batch.num_rows], batch, names)
            start += batch.num_rows
            if target is not None:
                targets.append(_target(path, batch.column(target)))
        if start != n_rows:
            raise ValueError(f"{files[0].parent} was changed while it was read.")
        X.flush()
        del X
        if target is not None:
            with drafts[1].open("wb") as file:
                np.save(file, _joined(targets), allow_pickle=False)
        for name, draft in zip(arrays, drafts, strict=True):
            os.replace(draft, folder / name)
    finally:
        for draft in drafts:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
    return arrays


def _joined(targets: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The target of all files; numbers would become text beside text."""
    if len({part.dtype.kind == "U" for part in targets}) > 1:
        raise ValueError(
            "The target holds text in some of the files and numbers in others; write them anew "
            "with one type."
        )
    return np.concatenate(targets)


def _batches(
    files: Sequence[Path], names: Sequence[str], target: str | None
) -> Iterator[tuple[Path, Any]]:
    wanted = list(names) if target is None else [*names, target]
    for path in files:
        with _opened(path) as file:
            for batch in file.iter_batches(max(1, PORTION // len(wanted)), columns=wanted):
                yield path, batch


def _fill(path: Path, X: NDArray[Any], batch: Any, names: Sequence[str]) -> None:
    """Put the columns of a batch into the rows of X that they belong to."""
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
            f"The target has {column.null_count} missing value(s) in {path}; leave these rows out."
        )
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), dtype=str)
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"The target holds {column.type} in {path}, and should hold numbers or text."
        )
    return values

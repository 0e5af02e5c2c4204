"""Read a table from a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pandas as pd

from randsub.cli.tables.delimited_text import check_unique, read_delimited
from randsub.cli.tables.file_formats import FileFormat, TableError, checked_format
from randsub.cli.tables.layout import Layout
from randsub.cli.tables.npz_table import read_npz

_AS_NAMED: Final = Layout()


def read_table(
    path: Path, layout: Layout = _AS_NAMED, say: Callable[[str], None] = lambda _: None
) -> pd.DataFrame:
    """Read a table from a csv, tsv, parquet, feather or npz file.

    Parameters
    ----------
    path : Path
    layout : Layout
        Options of the user.
    say : callable
        Is told in a sentence what was guessed.

    Returns
    -------
    frame : DataFrame
        At least one row and one column; names of columns are distinct strings. The index holds the
        names of the rows, if they have any.
    """
    form = checked_format(path)
    if form.kind in ("csv", "tsv"):
        frame = read_delimited(path, form, layout, say)
    elif form.kind == "npz":
        frame = read_npz(path)
    else:
        frame = _read_columnar(path, form)
    if layout.transpose and form.kind not in ("csv", "tsv"):
        frame = _transposed(path, frame)
    if 0 in frame.shape:
        raise TableError(path, f"it has {frame.shape[0]} rows and {frame.shape[1]} columns")
    return frame


def _transposed(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Rows as columns, named by the index or else by the first column."""
    if isinstance(frame.index, pd.RangeIndex):
        frame = frame.set_index(frame.columns[0])
    names = [str(name) for name in frame.index]
    check_unique(path, names)
    frame = frame.T.infer_objects()
    frame.columns = pd.Index(names)
    return frame


def import_pyarrow(path: Path) -> Any:
    """The module pyarrow, with its readers of parquet and feather files."""
    try:
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            f"{path.suffix} files need pyarrow: pip install randsub[parquet], or use .csv, .tsv or "
            ".npz."
        ) from error
    return pyarrow


def _read_columnar(path: Path, form: FileFormat) -> pd.DataFrame:
    reader = getattr(import_pyarrow(path), form.kind)
    try:
        table = reader.read_table(str(path))
        # Checked before pandas, which cannot hold every table with duplicate names.
        check_unique(path, table.column_names)
        frame: pd.DataFrame = table.to_pandas()
    except TableError:
        raise
    # A truncated or damaged file makes pyarrow fail in many ways, also in its notes for pandas.
    except Exception as error:
        raise TableError(path, f"it cannot be read as {form.kind} ({error})") from error
    frame.columns = pd.Index([str(name) for name in frame.columns])
    return frame

"""From a file to a frame."""

from pathlib import Path
from typing import Any

import pandas as pd

from randsub.cli.tables.archive import TARGET, read_archive
from randsub.cli.tables.delimited import check_unique, read_delimited
from randsub.cli.tables.kinds import Format, TableError, checked_format

__all__ = ["TARGET", "read_table"]


def read_table(path: Path, separator: str | None = None) -> pd.DataFrame:
    """A table from a csv, tsv, parquet, feather or npz file.

    Parameters
    ----------
    path : Path
    separator : str, default=None
        What is between the columns of text; by default what the name of the file says.

    Returns
    -------
    frame : DataFrame
        At least one row, and columns with different names that are strings. Its index holds the
        names of the rows where there are some.
    """
    form = checked_format(path)
    if form.kind in ("csv", "tsv"):
        frame = read_delimited(path, form, separator)
    elif form.kind == "npz":
        frame = read_archive(path)
    else:
        frame = _read_columnar(path, form)
    if not frame.shape[0] or not frame.shape[1]:
        raise TableError(path, f"it has {frame.shape[0]} rows and {frame.shape[1]} columns")
    return frame


def needs_pyarrow(path: Path) -> ImportError:
    """What to say where pyarrow is not installed."""
    return ImportError(
        f"{path.suffix} files need pyarrow: pip install randsub[parquet], or use .csv, .tsv or "
        ".npz."
    )


def _read_columnar(path: Path, form: Format) -> pd.DataFrame:
    try:
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError as error:
        raise needs_pyarrow(path) from error
    readers: dict[str, Any] = {
        "parquet": pyarrow.parquet.read_table,
        "feather": pyarrow.feather.read_table,
    }
    try:
        table = readers[form.kind](str(path))
        # Asked before pandas, which cannot hold every table with a name twice.
        check_unique(path, table.column_names)
        frame: pd.DataFrame = table.to_pandas()
    except TableError:
        raise
    # A cut or damaged file may make pyarrow stumble in many ways, also in what it notes for pandas.
    except Exception as error:
        raise TableError(path, f"it cannot be read as {form.kind} ({error})") from error
    frame.columns = pd.Index([str(name) for name in frame.columns])
    return frame

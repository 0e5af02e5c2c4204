"""Tables of text: a header, and one line per row.

pandas fills short rows with missing values, takes long ones for row names, and renames duplicate
columns. Here all of these are errors, so rows and names are checked before pandas reads them.
"""

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from randsub._files import EXACT
from randsub.cli.tables.file_formats import FileFormat, TableError, listed


def read_delimited(path: Path, form: FileFormat, separator: str | None = None) -> pd.DataFrame:
    """A table of text.

    Parameters
    ----------
    path : Path
    form : FileFormat
    separator : str, default=None
        Character between columns; by default a tab in .tsv files and a comma in others.

    Returns
    -------
    frame : DataFrame
        A first column without a name, as pandas and R write it, becomes the index.
    """
    if separator is None:
        separator = "\t" if form.kind == "tsv" else ","
    elif len(separator) != 1 or separator in '"\r\n':
        raise ValueError(f"--separator must be a single character, got {separator!r}.")
    text = _decoded(path, form)
    try:
        names = _checked_names(path, text, separator)
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            # In one piece, so that the type of a column is that of all its values.
            low_memory=False,
            index_col=False if names[0] else 0,
            skipinitialspace=True,
            **EXACT,
        )
        frame.columns = pd.Index(names if names[0] else names[1:])
        frame.index.name = None
    except TableError:
        raise
    except (csv.Error, ValueError, OverflowError) as error:
        raise TableError(path, f"it cannot be read as a table ({error})") from error
    return frame


def _decoded(path: Path, form: FileFormat) -> str:
    try:
        data = path.read_bytes()
        if form.is_zipped:
            data = gzip.decompress(data)
        # Spreadsheets write a byte order mark.
        return data.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(path, f"it cannot be read ({error})") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            path, f"line {line} is not text in UTF-8; save the file as UTF-8 and try again"
        ) from error


def _checked_names(path: Path, text: str, separator: str) -> list[str]:
    """Names of the columns, if every row has one value for each of them."""
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    names = [name.strip() for name in next((row for row in reader if row), ())]
    if not names:
        raise TableError(path, "it is empty")
    _check_separator(path, names, separator)
    n_rows = 0
    for row in reader:
        n_rows += bool(row)
        if row and len(row) != len(names):
            raise TableError(
                path,
                f"line {reader.line_num} has {len(row)} value(s), but the header has {len(names)} "
                "column(s); every row needs one value per column",
            )
    if not n_rows:
        raise TableError(path, "it has a header and no rows")
    _check_names(path, names)
    return names


def _check_separator(path: Path, names: Sequence[str], separator: str) -> None:
    likely = [mark for mark in ",;\t|" if mark in names[0]]
    if len(names) == 1 and likely:
        shown = ["tab" if mark == "\t" else repr(mark) for mark in (likely[0], separator)]
        flag = "$'\\t'" if likely[0] == "\t" else repr(likely[0])
        raise TableError(
            path,
            f"its columns seem to be separated by {shown[0]} and not by {shown[1]}; use "
            f"--separator {flag}",
        )


def _check_names(path: Path, names: Sequence[str]) -> None:
    if "" in names[1:]:
        column = names.index("", 1) + 1
        raise TableError(path, f"column {column} has no name in the header; name every column")
    check_unique(path, names)
    try:
        [float(name) for name in names if name]
    except ValueError:
        return
    raise TableError(
        path,
        f"its first line holds numbers ({', '.join(names[:5])}) instead of column names; add a "
        "line with names",
    )


def check_unique(path: Path, names: Sequence[str]) -> None:
    """Raise if two columns have the same name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(
            path, f"it has several columns named {listed(repeated)}; rename or remove them"
        )

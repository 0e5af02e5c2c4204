"""Tables of text: a header, and one line per row.

pandas fills short rows with missing values, takes long ones for row names, and renames duplicate
columns. Here all of these are errors, so rows and names are checked before pandas reads them.
"""

import codecs
import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from randsub._files import EXACT
from randsub.cli.tables.file_formats import FileFormat, TableError, listed
from randsub.cli.tables.layout import Layout
from randsub.cli.tables.near_numbers import has_decimal_commas, has_fractions, with_points

# What to add to an error, if samples may be in columns.
TRANSPOSED: Final = "; transposed? If samples are in columns and features in rows, use --transpose"


def read_delimited(
    path: Path, form: FileFormat, layout: Layout, say: Callable[[str], None]
) -> pd.DataFrame:
    """A table of text.

    Parameters
    ----------
    path : Path
    form : FileFormat
    layout : Layout
        Columns are separated by a tab in .tsv files and a comma in others, by default.
    say : callable
        Is told in a sentence what was guessed.

    Returns
    -------
    frame : DataFrame
        A first column without a name, as pandas and R write it, becomes the index.
    """
    separator = layout.separator
    if separator is None:
        separator = "\t" if form.kind == "tsv" else ","
    elif len(separator) != 1 or separator in '"\r\n':
        raise ValueError(f"--separator must be a single character, got {separator!r}.")
    text = _decoded(path, form)
    try:
        if layout.transpose:
            text = _transposed(path, text, separator)
        names = _checked_names(path, text, separator)
        frame = _parsed(text, names, separator, layout.decimal or ".")
        guess = None if layout.decimal else has_decimal_commas(frame)
        if guess is not None:
            name, value = guess
            say(
                f"{path}: read with decimal commas, as in {value!r} in column {name!r}; override "
                "with --decimal ."
            )
            frame = _parsed(text, names, separator, ",")
        if not names[0] and isinstance(frame.index, pd.RangeIndex):
            say(f"{path}: the first column, without a name, numbers the rows and is not a feature.")
        return with_points(frame) if guess or layout.decimal == "," else frame
    except TableError:
        raise
    except (csv.Error, ValueError, OverflowError) as error:
        raise TableError(path, f"it cannot be read as a table ({error})") from error


def _parsed(text: str, names: Sequence[str], separator: str, decimal: str) -> pd.DataFrame:
    frame = pd.read_csv(
        io.StringIO(text),
        sep=separator,
        decimal=decimal,
        # In one piece, so that the type of a column is that of all its values.
        low_memory=False,
        index_col=False if names[0] else 0,
        skipinitialspace=True,
        **EXACT,
    )
    frame.columns = pd.Index(names if names[0] else names[1:])
    frame.index.name = None
    return frame


def _decoded(path: Path, form: FileFormat) -> str:
    try:
        data = path.read_bytes()
        if form.is_zipped:
            data = gzip.decompress(data)
        # Spreadsheets write a byte order mark.
        marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        return data.decode("utf-16" if data.startswith(marks) else "utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(path, f"it cannot be read ({error})") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            path,
            f"line {line} is not text in {error.encoding.upper()}; save the file as UTF-8 and try "
            "again",
        ) from error


def _checked_names(path: Path, text: str, separator: str) -> list[str]:
    """Names of the columns, if every row has one value for each of them."""
    reader = _rows(path, text, separator)
    names = [name.strip() for name in next(reader, (0, ()))[1]]
    if not names:
        raise TableError(path, "it is empty")
    _check_separator(path, names, separator)
    n_rows = 0
    for line, row in reader:
        n_rows += 1
        if len(row) != len(names):
            extra = ""
            if separator == "," and len(row) > len(names):
                extra = "; if these are decimal commas, separate the columns by another character"
            raise TableError(
                path,
                f"line {line} has {len(row)} value(s), but the header has {len(names)} column(s); "
                f"every row needs one value per column{extra}",
            )
    if not n_rows:
        raise TableError(path, "it has a header and no rows")
    _check_names(path, names)
    return names


def _rows(path: Path, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The values of each row that is not empty, with the number of its last line."""
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        if "field limit" not in str(error):
            raise
        raise TableError(
            path,
            f"line {reader.line_num} has a value of more than {csv.field_size_limit():,} "
            "characters; close its quotation marks, or remove it",
        ) from error


def _transposed(path: Path, text: str, separator: str) -> str:
    """The same table with rows as columns; the first column becomes the header."""
    rows = [row for _, row in _rows(path, text, separator)]
    if len({len(row) for row in rows}) > 1:
        # Not a table; the error is that of a table which is not transposed.
        return text
    if rows and has_fractions(rows[0][1:]):
        raise TableError(
            path,
            f"its first line holds values ({', '.join(rows[0][:5])}) instead of names of samples; "
            "with --transpose, it needs a line with names",
        )
    rows = [list(column) for column in zip(*rows, strict=True)]
    if rows:
        # What was the header is the names of the rows.
        rows[0][0] = ""
    transposed = io.StringIO()
    csv.writer(transposed, delimiter=separator, lineterminator="\n").writerows(rows)
    return transposed.getvalue()


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
        f"line with names{'' if names[0] else TRANSPOSED}",
    )


def check_unique(path: Path, names: Sequence[str]) -> None:
    """Raise if two columns have the same name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(
            path, f"it has several columns named {listed(repeated)}; rename or remove them"
        )

"""Text with a header and one row a line.

pandas fills short rows with missing values, takes long ones for names of rows, and renames columns
that are there twice. Here all of that is an error, so rows and names are looked at first.
"""

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from randsub._files import EXACT
from randsub.cli.tables.kinds import EXACT_FLOATS, Format, TableError

SHOWN = 5
# From so many columns on, pandas takes minutes.
WIDE = 2000


def read_delimited(path: Path, form: Format, separator: str | None = None) -> pd.DataFrame:
    """A table of text.

    Parameters
    ----------
    path : Path
    form : Format
        Comma or tab, and whether the file is compressed.
    separator : str, default=None
        What is between columns, if not what the name of the file says.

    Returns
    -------
    frame : DataFrame
        A first column without a name holds the names of the rows, as pandas and R write them, and
        becomes the index.
    """
    if separator is None:
        separator = "\t" if form.kind == "tsv" else ","
    elif len(separator) != 1 or separator in '"\r\n':
        raise ValueError(f"--separator must be a single character, got {separator!r}.")
    text = _text(path, form)
    try:
        return _table(path, text, separator)
    except csv.Error as error:
        raise TableError(path, f"it cannot be read as a table ({error})") from error


def _table(path: Path, text: str, separator: str) -> pd.DataFrame:
    """The frame, if every row and every name is as it should be."""
    rows = _counted(text, separator)
    number, header = next(rows, (0, 0))
    if not number:
        raise TableError(path, "it is empty")
    names = next(csv.reader(io.StringIO(text), delimiter=separator))
    while not names:
        # Empty lines before the header.
        text = text.split("\n", 1)[1]
        names = next(csv.reader(io.StringIO(text), delimiter=separator))
    _check_separator(path, names, separator)
    _check_rows(path, rows, header)
    _check_names(path, names)
    if header > WIDE and not any(mark in text for mark in '"_'):
        frame = _read_wide(path, text, separator, names)
    else:
        frame = _parsed(path, text, separator, has_names=names[0].strip() == "")
    frame.columns = pd.Index([name.strip() for name in names if name.strip() != ""])
    frame.index.name = None
    return frame


def _parsed(path: Path, text: str, separator: str, *, has_names: bool) -> pd.DataFrame:
    try:
        return pd.read_csv(
            io.StringIO(text),
            sep=separator,
            # In one piece, so that a column's type is decided from all of it; and to the last bit.
            low_memory=False,
            **EXACT,
            index_col=0 if has_names else False,
            skipinitialspace=True,
        )
    except (ValueError, OverflowError) as error:
        raise TableError(path, f"it cannot be read as a table ({error})") from error


def _read_wide(path: Path, text: str, separator: str, names: Sequence[str]) -> pd.DataFrame:
    """A table of very many columns, most of them of plain numbers.

    pandas makes an object of each column; here those of numbers are one array from the start, and
    only the others (text, gaps) are left to pandas.
    """
    rows = [line.split(separator) for line in text.replace("\r\n", "\n").split("\n")[1:] if line]
    values = np.empty((len(rows), len(names)))
    others = []
    for j, column in enumerate(zip(*rows, strict=True)):
        try:
            values[:, j] = [float(entry) for entry in column]
            if np.abs(values[:, j]).max() > EXACT_FLOATS:
                # Perhaps labels: as whole numbers they are told apart.
                others.append(j)
        except ValueError:
            others.append(j)
    if names[0].strip() == "" and 0 not in others:
        # Names of rows, even where they are numbers.
        others.insert(0, 0)
    plain = np.setdiff1d(np.arange(len(names)), others)
    frame = pd.DataFrame(values[:, plain], columns=plain)
    if not others:
        return frame
    lines = [separator.join(map(str, others))]
    lines += [separator.join(row[j] for j in others) for row in rows]
    rest = _parsed(path, "\n".join(lines) + "\n", separator, has_names=False)
    rest.columns = pd.Index(others)
    if names[0].strip() == "":
        frame.index = rest.index = pd.Index(rest[0].astype(str))
        rest = rest.drop(columns=0)
    joined = pd.concat([frame, rest], axis=1)
    return joined[sorted(joined.columns)]


def _text(path: Path, form: Format) -> str:
    try:
        data = path.read_bytes()
        if form.is_zipped:
            data = gzip.decompress(data)
        # With or without the mark that spreadsheets put in front.
        return data.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(path, f"it cannot be read ({error})") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            path, f"line {line} is not text in UTF-8; save it as UTF-8 and try again"
        ) from error


def _counted(text: str, separator: str) -> Iterator[tuple[int, int]]:
    """Number of the line and number of fields of each row that is not empty."""
    if '"' in text:
        reader = csv.reader(io.StringIO(text), delimiter=separator)
        for row in reader:
            if row:
                yield reader.line_num, len(row)
        return
    # Without quotes, counting is enough, and many times faster.
    for number, line in enumerate(io.StringIO(text), start=1):
        if line.strip("\r\n"):
            yield number, line.count(separator) + 1


def _check_separator(path: Path, names: Sequence[str], separator: str) -> None:
    if len(names) > 1:
        return
    likely = [mark for mark in (",", ";", "\t", "|") if mark != separator and mark in names[0]]
    if likely:
        shown = "tab" if likely[0] == "\t" else repr(likely[0])
        wanted = "tab" if separator == "\t" else repr(separator)
        flag = "$'\\t'" if likely[0] == "\t" else repr(likely[0])
        raise TableError(
            path,
            f"its columns seem to be separated by {shown} and not by {wanted}; say so with "
            f"--separator {flag}",
        )


def _check_rows(path: Path, rows: Iterator[tuple[int, int]], n_columns: int) -> None:
    n_rows = 0
    for line, n_fields in rows:
        n_rows += 1
        if n_fields != n_columns:
            raise TableError(
                path,
                f"line {line} has {n_fields} value(s), but the header names {n_columns} column(s); "
                "give every row one value for each column",
            )
    if not n_rows:
        raise TableError(path, "it has a header and no rows")


def _check_names(path: Path, given: Sequence[str]) -> None:
    names = [name.strip() for name in given]
    nameless = [j + 1 for j, name in enumerate(names) if not name and j > 0]
    if nameless:
        raise TableError(path, f"column {nameless[0]} has no name in the header; name every column")
    check_unique(path, names)
    if all(_is_number(name) for name in names if name):
        raise TableError(
            path,
            f"its first line holds numbers ({', '.join(names[:SHOWN])}) where the names of the "
            "columns should be; put a line with names in front",
        )


def check_unique(path: Path, names: Sequence[str]) -> None:
    """Raise where two columns have one name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        more = f" and {len(twice) - SHOWN} more" if len(twice) > SHOWN else ""
        listed = ", ".join(map(repr, twice[:SHOWN]))
        raise TableError(
            path, f"it has several columns of the name {listed}{more}; rename or remove them"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""The format of a table file: what its name says, and whether its first bytes agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from randsub.exceptions import as_sentence

Kind = Literal["csv", "tsv", "parquet", "feather", "npz"]
SUFFIXES: Final[Mapping[str, Kind]] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".feather": "feather",
    ".npz": "npz",
}
# The first bytes of other files.
_SIGNATURES: Final[Mapping[bytes, str]] = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather (version 1)",
    b"PK\x03\x04": "a zip archive (npz, xlsx)",
    b"\x93NUMPY": "a single numpy array (npy)",
    b"\x1f\x8b": "a gzip archive",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF document",
    # Text in UTF-16, which the reader of text knows.
    b"\xff\xfe": "text",
    b"\xfe\xff": "text",
}
_SPREADSHEETS: Final = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_EXPECTED: Final[Mapping[Kind, str]] = {
    "parquet": "parquet",
    "feather": "feather",
    "npz": "a zip archive (npz, xlsx)",
}


class TableError(ValueError):
    """A file cannot be used as a table.

    Parameters
    ----------
    path : Path or str
        The file.
    reason : str
        What is wrong with it and what to do, without a full stop.
    """

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(str(path), reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return as_sentence(f"{self.path}: {self.reason}")


@dataclass(frozen=True)
class FileFormat:
    """Kind of a file and, for text, whether it is compressed."""

    kind: Kind
    is_zipped: bool = False


def format_of(path: Path) -> FileFormat:
    """The format that the name of a file says."""
    is_zipped = path.suffix.lower() == ".gz"
    if path.suffix.lower() in _SPREADSHEETS:
        raise TableError(
            path,
            "a spreadsheet is not a table file; open it in its program, save the sheet as csv (in "
            "UTF-8), and use that file",
        )
    kind = SUFFIXES.get(Path(path.stem if is_zipped else path).suffix.lower())
    if kind is None or (is_zipped and kind not in ("csv", "tsv")):
        raise TableError(
            path,
            f"its name does not tell its format; it should end in {', '.join(SUFFIXES)}, .csv.gz "
            "or .tsv.gz",
        )
    return FileFormat(kind, is_zipped)


def checked_format(path: Path) -> FileFormat:
    """The format of a file that exists, is not empty, and is what its name says."""
    form = format_of(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        raise TableError(path, "it is empty")
    expected = "a gzip archive" if form.is_zipped else _EXPECTED.get(form.kind, "text")
    otherwise = "something other than text" if b"\x00" in head else "text"
    found = next((name for start, name in _SIGNATURES.items() if head.startswith(start)), otherwise)
    if found != expected:
        raise TableError(
            path,
            f"it is named as {form.kind}{' (gzip)' if form.is_zipped else ''}, but its content is "
            f"{found}; {_remedy(found)}",
        )
    return form


def _remedy(found: str) -> str:
    if "xlsx" in found:
        return "rename it or, if it is a spreadsheet, save its sheet as csv"
    return "rename or convert it"


def listed(names: Sequence[Any], n: int = 5) -> str:
    """The first names, and the number of others."""
    shown = ", ".join(map(repr, names[:n]))
    return shown if len(names) <= n else f"{shown}, ... ({len(names) - n} more)"

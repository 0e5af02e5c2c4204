"""What kind of table a file holds: by its name, and whether its first bytes agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Kind = Literal["csv", "tsv", "parquet", "feather", "npz"]
KINDS: Final[Mapping[str, Kind]] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".feather": "feather",
    ".npz": "npz",
}
# Whole numbers up to here are told apart as floats.
EXACT_FLOATS: Final = 2**53
# How files of other kinds begin, in words that users know them by.
_SIGNATURES: Final[Mapping[bytes, str]] = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather (version 1)",
    b"PK\x03\x04": "zip archive (npz, xlsx)",
    b"\x93NUMPY": "single numpy array (npy)",
    b"\x1f\x8b": "gzip archive",
    b"\x89HDF": "HDF5 file",
    b"%PDF": "PDF document",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
_EXPECTED: Final[Mapping[Kind, str]] = {
    "parquet": "parquet",
    "feather": "feather",
    "npz": "zip archive (npz, xlsx)",
}


class TableError(ValueError):
    """A file cannot be used as the table that it should be.

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
        return f"{self.path}: {self.reason}."


@dataclass(frozen=True)
class Format:
    """Kind of a file and, for text, whether it is compressed."""

    kind: Kind
    is_zipped: bool = False


def format_of(path: Path) -> Format:
    """The kind that a file's name says."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    is_zipped = suffixes[-1:] == [".gz"]
    last = suffixes[-2:-1] if is_zipped else suffixes[-1:]
    kind = KINDS.get(last[0]) if last else None
    if kind is None or (is_zipped and kind not in ("csv", "tsv")):
        raise TableError(
            path,
            f"its name does not say what it holds; it should end in {', '.join(KINDS)}, .csv.gz "
            "or .tsv.gz",
        )
    return Format(kind, is_zipped)


def checked_format(path: Path) -> Format:
    """The kind of a file that is there, not empty, and what its name says."""
    form = format_of(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, and should be a file.")
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        raise TableError(path, "it is empty")
    found = next((name for start, name in _SIGNATURES.items() if head.startswith(start)), "text")
    expected = "gzip archive" if form.is_zipped else _EXPECTED.get(form.kind, "text")
    if found == "text" and b"\x00" in head:
        found = "something other than text"
    if found != expected:
        raise TableError(
            path,
            f"it is named as {form.kind}{' (gzip)' if form.is_zipped else ''}, but its content is "
            f"{_with_article(found)}; rename it to what it is, or convert it",
        )
    return form


def _with_article(name: str) -> str:
    return name if name.startswith(("text", "something", "parquet", "feather")) else f"a {name}"

"""Files in a folder that the user names: where they are looked for, and how they are checked.

Every loader goes through here, so that the error for a missing file says what was looked for,
where, and where the data can be downloaded, and the error for a damaged file what is wrong with it.
Nothing is ever unpickled.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from randsub.datasets.parameters import Folder
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError


@dataclass(frozen=True)
class Source:
    """Where the files of one kind lie and come from.

    Attributes
    ----------
    what : str
        The data in words, for messages.
    folders : tuple of str
        Subfolders of `data_home` in which the files may lie; `data_home` itself may hold them too.
    origin : str
        Where the data can be downloaded, as a sentence.
    """

    what: str
    folders: tuple[str, ...]
    origin: str

    def _home(self, data_home: Folder) -> Path:
        home = Path(data_home).expanduser()
        if not home.is_dir():
            raise DatasetNotFoundError(
                f"data_home={str(data_home)!r} is not a folder; it should hold {self.what}. "
                f"{self.origin}"
            )
        return home

    def _places(self, data_home: Folder) -> list[Path]:
        home = self._home(data_home)
        return [*(home / folder for folder in self.folders), home]

    def find(self, data_home: Folder, names: Iterable[str]) -> list[Path]:
        """All files of the given names, in order of preference.

        Raises
        ------
        DatasetNotFoundError
            Where there is none.
        """
        wanted = list(names)
        for name in wanted:
            if Path(name).name != name:
                raise ValueError(f"{name!r} is not the name of a file in a folder: leave out '/'.")
        places = self._places(data_home)
        found = [place / name for place in places for name in wanted if (place / name).is_file()]
        if not found:
            folders = " and ".join(str(place) for place in places)
            raise DatasetNotFoundError(
                f"Found no {' or '.join(wanted)} in {folders}, where {self.what} should be. "
                f"{self.origin}"
            )
        return found

    def list(
        self, data_home: Folder, suffixes: Sequence[str], *, anywhere: bool = True
    ) -> list[Path]:
        """All files with one of the given suffixes, by folder and name; may be empty.

        Without `anywhere`, only those in a folder of the right name, which `data_home` may be: what
        lies elsewhere may be data of another kind in the same format.
        """
        return [
            path
            for place in self._places(data_home)
            # "." has no name of its own.
            if place.is_dir() and (anywhere or place.absolute().name in self.folders)
            for path in sorted(place.iterdir())
            if path.suffix in suffixes and path.is_file()
        ]


def read_frame(path: Path, separator: str = ",", *, header: bool = True) -> pd.DataFrame:
    """A plain table; its first line names the columns unless it has no header."""
    try:
        # In one piece, so that the type of a column is decided from all of it.
        frame = pd.read_csv(path, sep=separator, header=0 if header else None, low_memory=False)
    except (ValueError, OSError) as error:
        raise DatasetFormatError(path, f"it cannot be read as a table ({error})") from error
    if frame.empty:
        raise DatasetFormatError(path, "it has no rows")
    return frame


def check_table(path: Path, name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array itself where it is a matrix of numbers with at least one row and column."""
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "biuf":
        raise DatasetFormatError(
            path,
            f"{name} should be a matrix of numbers, and is of shape {array.shape} and type "
            f"{array.dtype}",
        )
    return array


def check_column(path: Path | str, name: str, array: NDArray[Any], length: int) -> NDArray[Any]:
    """The array itself where it has one finite entry for each of `length` things."""
    if array.shape != (length,):
        raise DatasetFormatError(
            path, f"{name} should have {length} entries, and is of shape {array.shape}"
        )
    return check_finite(path, name, array)


def check_finite(path: Path | str, name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array itself where all its entries are finite."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise DatasetFormatError(path, f"{name} has entries that are not finite numbers")
    return array


def as_float(array: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Numbers of any type as floats: as they are, or in the smallest type that holds them all.

    float32 is exact for integers of up to 16 bits, which is how pixels and counts are stored.
    """
    return array.astype(np.result_type(array.dtype, np.float32), copy=False)

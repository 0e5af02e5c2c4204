"""Named arrays in .npz files, read without unpickling anything."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsub.exceptions import DatasetFormatError


def read_arrays(
    path: Path, required: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, NDArray[Any]]:
    """Read named arrays of an .npz file.

    Parameters
    ----------
    path : Path
    required, optional : sequence of str
        Names of the arrays. Optional ones that the file lacks are not in the result.

    Returns
    -------
    arrays : dict of str to ndarray

    Raises
    ------
    DatasetFormatError
        If the file is not an intact .npz file or lacks a required array.
    """
    try:
        # Opened here, since numpy leaves a file open that it cannot read.
        with path.open("rb") as file:
            return _pick_arrays(path, np.load(file, allow_pickle=False), required, optional)
    except DatasetFormatError:
        raise
    # A cut or foreign file may make numpy, zipfile and zlib stumble in many ways.
    except Exception as error:
        raise DatasetFormatError(path, f"it cannot be read as .npz ({error})") from error


def _pick_arrays(
    path: Path, archive: Any, required: Sequence[str], optional: Sequence[str]
) -> dict[str, NDArray[Any]]:
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise DatasetFormatError(path, "it holds a single array and not named ones")
    with archive:
        # numpy stops reading where the array should end, before a checksum is compared: with a byte
        # changed in what says where it begins, it would return numbers that are shifted.
        damaged = archive.zip.testzip() if archive.zip is not None else None
        if damaged is not None:
            raise DatasetFormatError(path, f"{damaged} in it is damaged: its checksum is wrong")
        missing = [name for name in required if name not in archive.files]
        if missing:
            raise DatasetFormatError(
                path, f"it has no array {', '.join(missing)}, only {', '.join(archive.files)}"
            )
        wanted = [*required, *(name for name in optional if name in archive.files)]
        arrays = {name: archive[name] for name in wanted}
        # What does not begin as an array numpy hands over as it is.
        foreign = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
        if foreign:
            raise DatasetFormatError(path, f"{', '.join(foreign)} in it is not an array")
        return arrays

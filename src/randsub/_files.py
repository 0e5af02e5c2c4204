"""Files that are there as a whole or not at all, and read as they were written."""

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

# For ``read_csv``: numbers are read as they were written; from version 3 on pandas does nothing
# else.
EXACT: dict[str, Any] = (
    {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
)


def write_atomically(path: Path, *parts: bytes | memoryview) -> None:
    """Write a file so that it is there as a whole or, whatever happens, as it was before.

    Parameters
    ----------
    path : Path
        Folders on the way to it are made.
    *parts : bytes-like
        What the file will hold, one after the other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Nobody else has this name: neither another process nor another thread of this one.
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        with draft.open("wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    """Where it can be done, bring the new name to the disk as well."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

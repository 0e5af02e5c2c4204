"""Files and folders that are written as a whole or not at all."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd

# For ``read_csv``: numbers are read exactly as they were written. pandas 3 always does so.
EXACT: dict[str, Any] = (
    {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
)

# Seconds after which a draft that is no longer written to was left behind by a dead process.
ABANDONED = 60.0


def check_writable(path: Path) -> None:
    """Raise if a file cannot be written to this path; to be called before any work is done."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; pass the name of a file in it.")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"{path} exists and is not writable; choose another file.")
    check_parent(path)


def check_parent(path: Path) -> None:
    """Raise if nothing can be written beside this path."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder {path.parent} does not exist; create it first.")
    probe = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        # Permissions are not enough: the disk may be read-only, or full.
        probe.touch()
    except OSError as error:
        raise type(error)(
            f"Nothing can be written to {target.parent} ({error.strerror}); choose another folder."
        ) from error
    finally:
        _remove(probe)


def write_atomically(path: Path, *parts: bytes | memoryview) -> None:
    """Write a file completely or, whatever goes wrong, leave it as it was.

    Parameters
    ----------
    path : Path
        The file. Missing parent folders are created.
    *parts : bytes-like
        Content of the file, in order.
    """
    with draft_of(path) as draft, draft.open("wb") as file:
        file.writelines(parts)


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Give a path to write to; what was written there then replaces ``path`` in one step.

    If the block raises, or the disk is full, ``path`` is left as it was and the draft is removed.

    Parameters
    ----------
    path : Path
        A file or folder, which need not exist; missing parent folders are created. A symbolic link
        is followed, not replaced. An existing file keeps its permissions.

    Yields
    ------
    draft : Path
        A unique name beside ``path``, safe against other processes and threads. The caller creates
        a file or a folder of files there.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        yield draft
        for file in draft.iterdir() if draft.is_dir() else [draft]:
            _flush(file)
        _replace(draft, target)
    finally:
        _remove(draft)
    with suppress(OSError):
        _flush(target.parent)


def remove_leftovers(path: Path) -> None:
    """Remove the drafts of processes that died while they wrote this file."""
    target = Path(os.path.realpath(path))
    for draft in target.parent.glob(f".{escape(target.name)}.*.part"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > ABANDONED:
                draft.unlink()


def _replace(draft: Path, target: Path) -> None:
    if draft.is_dir() and target.exists():
        # A folder that is not empty cannot be replaced in one step.
        former = draft.with_suffix(".former.part")
        target.rename(former)
        try:
            draft.rename(target)
        except BaseException:
            former.rename(target)
            raise
        _remove(former)
        return
    if target.exists():
        shutil.copymode(target, draft)
    os.replace(draft, target)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Write a file, or the names in a folder, through to the disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

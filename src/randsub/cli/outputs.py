"""What a command leaves behind: whole files and folders, or nothing.

Everything is written under another name beside its place and then moved there. Whether that will be
possible is asked before any work is done.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def check_file(path: Path) -> None:
    """Raise where a file could not be written to this place."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it.")
    if _is_special(path):
        return
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"{path} is there and may not be written to; name another file.")
    _check_parent(path)


def check_folder(path: Path, *, replace: bool) -> None:
    """Raise where a folder could not be written to this place.

    Parameters
    ----------
    path : Path
    replace : bool
        Whether what is in a folder of this name may go.
    """
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is there and is no folder; name another place.")
    if path.is_dir() and any(path.iterdir()) and not replace:
        raise FileExistsError(
            f"The folder {path} is there and not empty; name another one, or replace it with "
            "--force."
        )
    _check_parent(path)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a draft to write to, which takes the file's place when all went well."""
    if _is_special(path):
        # A device or a pipe is written to; moving something to its place would replace it.
        with plain_errors(path):
            yield path
        return
    # Through a link, to the file that it stands for.
    place = path.resolve()
    draft = _draft(place)
    try:
        with plain_errors(path):
            yield draft
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            if place.exists():
                shutil.copymode(place, draft)
            draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)


def _draft(place: Path, ending: str = "part") -> Path:
    return place.with_name(f".{place.name}.{os.getpid()}.{ending}")


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _check_parent(path: Path) -> None:
    place = path.resolve()
    if not place.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to.")
    probe = _draft(place, "probe")
    try:
        # Rights alone do not tell: a disk may be read-only, or full to the last name.
        probe.touch()
    except OSError as error:
        reason = error.strerror or str(error)
        raise type(error)(
            f"Nothing can be written to {place.parent} ({reason}); name another place."
        ) from error
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Name the file that the user asked for in errors of the disk, and not a draft of it."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        reason = error.strerror or str(error)
        raise OSError(
            f"{path} could not be written ({reason}); nothing of it is left. Make room, or name "
            "another place."
        ) from error

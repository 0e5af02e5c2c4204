"""Output files of a command: checked before any work is done, then written as a whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from randsub._files import check_writable, draft_of


def check_file(path: Path, *, replace: bool, instead: str = "choose another name") -> None:
    """Raise if a file cannot be written to this path, which may be a device or a pipe.

    Parameters
    ----------
    path : Path
    replace : bool
        Whether an existing file may be replaced, as ``--force`` says.
    instead : str
        What to do otherwise.
    """
    if not _is_special(path):
        check_writable(path)
        if path.exists() and not replace:
            raise already_there(path, instead)


def already_there(path: Path, instead: str = "choose another name") -> FileExistsError:
    """The error of all commands for an output that would be overwritten."""
    return FileExistsError(f"{path} exists already; use --force to replace it, or {instead}.")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A draft to write to, which replaces the file if nothing goes wrong."""
    with named_in_errors(path):
        if _is_special(path):
            # A device or a pipe is written to; a draft would replace it.
            yield path
        else:
            with draft_of(path) as draft:
                yield draft


@contextmanager
def named_in_errors(path: Path) -> Iterator[None]:
    """Name this path, not that of a draft, in errors of the disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(
            f"{path} could not be written ({error.strerror}); nothing was left behind. Free some "
            "space, or name another path."
        ) from error


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()

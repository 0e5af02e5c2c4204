"""Functions compiled by Numba, kept on disk.

Numba numbers the files in which it keeps the variants of a function. Two processes that compile
different variants of one function at the same time can choose the same number, and one of them is
handed the other's code ever after. Here a file is named by what is in it, so that cannot happen;
and what is in it is told apart by the sources of a whole folder, not of one file.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import Any

import numba as nb
from numba.core import event
from numba.core.caching import IndexDataCacheFile


class _NamedByContent(IndexDataCacheFile):
    """A cache in which a variant's file has the name of its signature, constants and source."""

    def save(self, key: Any, data: Any) -> None:
        """Write the variant first, then the index that mentions it."""
        what = repr((key, self._source_stamp, self._version))
        digest = hashlib.sha256(what.encode()).hexdigest()[:16]
        name = self._index_name.removesuffix(".nbi") + f".{digest}.nbc"
        self._save_data(name, data)
        variants = self._load_index()
        if not variants:
            self._remove_outdated(keep=name)
        variants[key] = name
        self._save_index(variants)

    def _remove_outdated(self, keep: str) -> None:
        """Remove what was compiled from earlier sources of the same function.

        Names are ``module.function-line.python.``; the line may have changed. Files that are
        younger than the sources may be what another process is writing.
        """
        _, stamps = self._source_stamp
        changed = max(age for _, age, _ in stamps)
        stem, python = self._index_name.removesuffix(".nbi").rsplit("-", 1)
        python = python.split(".", 1)[1]
        for path in Path(self._cache_path).glob(f"{escape(stem)}-*.{escape(python)}.*"):
            ours = re.fullmatch(r"\d+\..*\.nb[ci]", path.name[len(stem) + 1 :])
            with suppress(OSError):
                if ours and path.name != keep and path.stat().st_mtime < changed:
                    path.unlink()


@lru_cache
def _stamps(folder: Path) -> tuple[tuple[str, float, int], ...]:
    """Age and size of the source files of a folder.

    Numba only looks at the file of the function itself, and would go on with what it had compiled
    of functions from other files that have changed since.
    """
    stamps = [(path.name, path.stat()) for path in sorted(folder.glob("*.py"))]
    return tuple((name, stat.st_mtime, stat.st_size) for name, stat in stamps)


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: compile for speed, without the interpreter lock, once a machine.

    Parameters
    ----------
    **options
        Further options of :func:`numba.njit`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        options.update(nogil=True, error_model="numpy")
        try:
            made = nb.njit(cache=True, **options)(function)
        except RuntimeError:
            # No folder that Numba could write to: compiled anew in each process.
            return nb.njit(**options)(function)
        numbered = getattr(made._cache, "_cache_file", None)
        if isinstance(numbered, IndexDataCacheFile):
            numbered.__class__ = _NamedByContent
            stamps = _stamps(Path(function.__code__.co_filename).parent)
            numbered._source_stamp = (numbered._source_stamp, stamps)
        return made

    return decorate


class _Told(event.Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def on_start(self, event: Any) -> None:
        self._tell()

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def when_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` whenever, inside the block, something must be compiled that is not on disk."""
    with event.install_listener("numba:compile", _Told(tell)):
        yield

"""Functions compiled by Numba, kept on disk.

Numba numbers the files in which it keeps the variants of a function. Two processes that compile
different variants of one function at the same time can choose the same number, and one of them is
handed the other's code ever after. Here a file is named by what is in it, so that cannot happen;
and what is in it is told apart by the sources of a whole folder, not of one file.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
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
        variants[key] = name
        self._save_index(variants)


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
        made = nb.njit(nogil=True, cache=True, error_model="numpy", **options)(function)
        numbered = getattr(made._cache, "_cache_file", None)
        # Where Numba may not cache (no folder that it can write to) there is nothing to name.
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

"""Functions compiled by Numba, cached on disk until a source file of their folder changes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba as nb

from randsub._numba import event, name_cache_by_content


@lru_cache
def _stamps(folder: Path) -> tuple[tuple[str, float, int], ...]:
    """Age and size of the source files of a folder and of its parent packages except the top one.

    Numba only checks the file of the function itself, and would reuse its cache after a change of
    functions in other files that the function calls: kernels in ``engines/tree`` call those in
    ``engines/simd.py``.
    """
    stamps = [(path.name, path.stat()) for path in sorted(folder.glob("*.py"))]
    mine = tuple((name, stat.st_mtime, stat.st_size) for name, stat in stamps)
    is_nested = all((one / "__init__.py").exists() for one in (folder, *folder.parents[:2]))
    return mine + _stamps(folder.parent) if is_nested else mine


def _sources(function: Callable[..., Any]) -> tuple[tuple[str, float, int], ...]:
    """Stamps of the folder of a function, and of compiled functions that its module imports.

    Kernels in ``engines/boosting`` call those in ``engines/tree``.
    """
    called = (getattr(value, "py_func", None) for value in function.__globals__.values())
    functions = [function, *(one for one in called if one is not None)]
    folders = dict.fromkeys(Path(one.__code__.co_filename).parent for one in functions)
    return tuple(stamp for folder in folders for stamp in _stamps(folder))


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that compiles a function with Numba, without the GIL, once per machine.

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
            # Numba has no writable cache folder: compiled again in each process.
            return nb.njit(**options)(function)
        name_cache_by_content(made, _sources(function))
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
    """Call ``tell`` whenever a function is compiled, not read from disk, inside the block."""
    with event.install_listener("numba:compile", _Told(tell)):
        yield

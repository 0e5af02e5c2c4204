"""The private names of Numba that we use, all of them in this file.

Tried with Numba 0.60 to 0.68. ``tests/test_private_names.py`` looks for each of them, and says
which one the installed release lacks.

* ``numba.core.event``: to be told when something is compiled.
* ``numba.core.cgutils``: to emit vector instructions in :mod:`randsub.engines.simd`.
* ``numba.core.caching.IndexDataCacheFile`` and the ``_cache`` of a compiled function: Numba numbers
  the files in which it keeps the variants of a function. Two processes that compile different
  variants at the same time can choose the same number, and one of them is handed the other's code
  ever after. Here a file is named by what is in it, so that this cannot happen.
"""

import hashlib
import re
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any

from numba.core import cgutils, event
from numba.core.caching import IndexDataCacheFile

__all__ = ["cgutils", "event", "name_cache_by_content"]


class _NamedByContent(IndexDataCacheFile):
    """A cache in which a variant's file has the name of its signature, constants and source."""

    def _load_index(self) -> Any:
        """The variants on disk; none if they are of types that an earlier release had."""
        try:
            return super()._load_index()
        except (AttributeError, ImportError):
            return {}

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


def name_cache_by_content(function: Any, stamps: tuple[tuple[str, float, int], ...]) -> None:
    """Make a compiled function name its cached variants by their content.

    Parameters
    ----------
    function : numba dispatcher
    stamps : tuple of (name, age, size)
        Source files on which the compiled code depends, beside the function's own.
    """
    cache = getattr(function._cache, "_cache_file", None)
    if isinstance(cache, IndexDataCacheFile):
        cache.__class__ = _NamedByContent
        cache._source_stamp = (cache._source_stamp, stamps)

"""What a checkpoint remembers of the fit that it belongs to, and what has changed since.

Parameters are kept as text, so that a message can say what they were; data as shapes and digests.
"""

import hashlib
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from randsub._tables import frame_kind

# Parameters that change how fast or how loud a fit is, and not what it finds.
INDIFFERENT: Final = frozenset({"n_jobs", "task_timeout", "verbose"})
# Longest text of a parameter that is kept as it is.
_LONGEST: Final = 200
_ROWS_AT_A_TIME: Final = 65_536
_LIBRARIES: Final = ("numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """Versions of the libraries that a result may depend on in its last bits."""
    return {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}}


def describe_parameters(model: Any) -> dict[str, str]:
    """Every parameter that has a say in the result, as text."""
    described = {}
    for name, value in _parameters(model).items():
        try:
            described[name] = _short(describe(value))
        except RecursionError:
            # It holds itself somewhere.
            described[name] = _short(_printed(value))
    return described


def _parameters(model: Any) -> dict[str, Any]:
    params = model.get_params(deep=False)
    return {name: value for name, value in params.items() if name not in INDIFFERENT}


def describe(value: Any) -> str:
    """A text that is the same for values that mean the same, in any process."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        # Where it stands now is not where it stood; the seed that was drawn from it is kept.
        return type(value).__name__
    if isinstance(value, np.generic):
        return describe(value.item())
    if isinstance(value, np.ndarray | pd.Series | pd.DataFrame) or issparse(value):
        return f"{type(value).__name__} {describe_data(value)}"
    if isinstance(value, Mapping):
        return _listed("{", (f"{describe(k)}: {describe(v)}" for k, v in value.items()), "}")
    if isinstance(value, list | tuple):
        return _listed("[", map(describe, value), "]")
    if isinstance(value, set | frozenset):
        return _listed("{", sorted(map(describe, value)), "}")
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "get_params"):
        return _object(value, _parameters(value))
    if hasattr(value, "__code__"):
        return f"{value.__module__}.{value.__qualname__} {_digest([value.__code__.co_code])}"
    if getattr(value, "__dict__", None):
        # What it prints may not be all that it is.
        return _object(value, vars(value))
    return _printed(value)


def _printed(value: Any) -> str:
    """What it prints; where it lies in memory says nothing."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def describe_data(table: Any) -> dict[str, str]:
    """Shape, types and a digest of the values of an array, a sparse matrix, a frame or a column."""
    if frame_kind(table) is not None:
        names = [str(name) for name in table.columns]
        kinds = [str(table[name].dtype) for name in table.columns]
        parts: Iterable[Any] = (_column(table[name]) for name in table.columns)
        types = ", ".join(sorted(set(kinds)))
        digest = _digest([repr((names, kinds)).encode(), *parts])
        return {"shape": str(table.shape), "dtype": types, "values": digest}
    if issparse(table):
        rows = table.tocsr()
        digest = _digest([rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)])
        return {"shape": str(table.shape), "dtype": f"sparse {table.dtype}", "values": digest}
    values = np.asarray(table)
    digest = _digest(_column(part) for part in _portions(values))
    return {"shape": str(values.shape), "dtype": str(values.dtype), "values": digest}


def changed_parameters(
    then: Mapping[str, str], now: Mapping[str, str], flexible: Sequence[str] = ()
) -> list[str]:
    """A clause for each parameter that is another one and must not be."""
    names = [*now, *(name for name in then if name not in now)]
    return [
        f"{name} was {then.get(name, 'no parameter')} and is {now.get(name, 'no parameter')}"
        for name in names
        if name not in flexible and then.get(name) != now.get(name)
    ]


def changed_data(
    then: Mapping[str, Mapping[str, str] | None], now: Mapping[str, Mapping[str, str] | None]
) -> list[str]:
    """A clause for each table that is another one."""
    clauses = []
    for name in [*now, *(name for name in then if name not in now)]:
        old, new = then.get(name), now.get(name)
        if old == new:
            continue
        if old is None or new is None:
            was, is_ = ("not given", "given") if old is None else ("given", "not")
            clauses.append(f"{name} was {was} and is {is_} now")
            continue
        what = next(key for key in ("shape", "dtype", "values") if old.get(key) != new.get(key))
        if what == "values":
            clauses.append(f"{name} holds other values")
        else:
            clauses.append(f"{name} had the {what} {old.get(what)} and has {new.get(what)}")
    return clauses


def _short(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]}... ({_digest([text.encode()])})"


def _object(value: Any, attributes: Mapping[str, Any]) -> str:
    entries = (f"{name}={describe(entry)}" for name, entry in attributes.items())
    return _listed(f"{type(value).__qualname__}(", entries, ")")


def _listed(begin: str, entries: Iterable[str], end: str) -> str:
    return begin + ", ".join(entries) + end


def _portions(values: np.ndarray[Any, Any]) -> Sequence[np.ndarray[Any, Any]]:
    """Rows in portions: what has strides, or is on disk, is never copied as a whole."""
    if values.ndim == 0:
        return [values.reshape(1)]
    starts = range(0, max(len(values), 1), _ROWS_AT_A_TIME)
    return [values[start : start + _ROWS_AT_A_TIME] for start in starts]


def _column(values: Any) -> np.ndarray[Any, Any]:
    """Numbers as they are; anything else by a number for the text of each entry."""
    values = np.asarray(values)
    if values.dtype.kind in "biufcmM":
        return np.ascontiguousarray(values)
    texts = np.array([f"{type(v).__name__} {v}" for v in values.ravel().tolist()], dtype=object)
    return np.asarray(pd.util.hash_array(texts, categorize=len(texts) > 0))


def _digest(parts: Iterable[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            part = part.reshape(-1).view(np.uint8) if part.size else b""
        digest.update(part)
    return digest.hexdigest()

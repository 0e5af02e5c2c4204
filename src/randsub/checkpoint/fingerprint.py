"""What a checkpoint records of the fit it belongs to, and what has changed since.

Parameters and data are kept as text, so that a message can show them: parameters as they print,
data as dtype, shape and digest.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from randsub._hashing import data_digest
from randsub._tables import frame_kind
from randsub.solver import Window

# Parameters that change how fast or how verbose a fit is, and not its result.
INDIFFERENT: Final = frozenset({"device", "n_jobs", "task_timeout", "verbose"})
# Longer texts of a parameter are shortened to their beginning and a digest.
_LONGEST: Final = 200


def describe_parameters(model: Any) -> dict[str, str]:
    """Every parameter that affects the result, those of the solver included, as text."""
    params = _parameters(model)
    if "solver" in params:
        # No solver means the same as the default one, and its epochs the same as the model's.
        solver = model._solver()
        numbers = _parameters(solver)
        params["solver"] = type(solver)
        if numbers["refresh"] == "window":
            numbers["refresh"] = Window()
        epochs = numbers.pop("max_iter")
        params["max_iter"] = epochs if params["max_iter"] is None else params["max_iter"]
        params |= {f"solver__{name}": value for name, value in numbers.items()}
    described = {}
    for name, value in params.items():
        try:
            text = describe(value)
        except RecursionError:
            # It contains itself.
            text = _printed(value)
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST // 2]}... ({_digest(text.encode())})"
        described[name] = text
    return described


def _parameters(model: Any) -> dict[str, Any]:
    params = model.get_params(deep=False)
    return {name: value for name, value in params.items() if name not in INDIFFERENT}


def describe(value: Any) -> str:
    """Text that is the same for values that mean the same, in any process."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        # Its state has moved on since; the seed that was drawn from it is kept.
        return type(value).__name__
    if isinstance(value, np.generic):
        return describe(value.item())
    if isinstance(value, np.ndarray | pd.Series | pd.DataFrame) or issparse(value):
        return f"{type(value).__name__} of {describe_data(value)}"
    if isinstance(value, Mapping):
        return _listed("{", (f"{describe(k)}: {describe(v)}" for k, v in value.items()), "}")
    if isinstance(value, list | tuple):
        return _listed("[", map(describe, value), "]")
    if isinstance(value, set | frozenset):
        return _listed("{", sorted(map(describe, value)), "}")
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "__code__"):
        return f"{value.__module__}.{value.__qualname__} {_digest(_function(value).encode())}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, CodeType):
        # Two functions that differ in a number have the same code, and other constants.
        return describe([value.co_code.hex(), value.co_names, value.co_consts])
    # What an object prints may not be all that it is.
    is_estimator = hasattr(value, "get_params")
    attributes = _parameters(value) if is_estimator else getattr(value, "__dict__", {})
    if attributes or is_estimator:
        entries = (f"{name}={describe(entry)}" for name, entry in attributes.items())
        return _listed(f"{type(value).__qualname__}(", entries, ")")
    return _printed(value)


def _function(function: Any) -> str:
    """Code of a function, and the values that it was made with."""
    values = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            # It has no value yet.
            continue
    defaults = getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)
    return describe([function.__code__, *defaults, values])


def _listed(begin: str, entries: Iterable[str], end: str) -> str:
    return begin + ", ".join(entries) + end


def _printed(value: Any) -> str:
    """Representation of a value without its address in memory."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def describe_data(table: Any) -> str:
    """Dtype, shape and digest of an array, a sparse matrix, a frame or a column."""
    digest = data_digest(table)
    if frame_kind(table) is not None:
        dtypes = [str(dtype) for dtype in table.dtypes]
        digest = _digest(f"{dtypes} {digest}".encode())
        dtype = ", ".join(sorted(set(dtypes)))
    elif issparse(table):
        dtype = f"sparse {table.dtype}"
    else:
        table = np.asarray(table)
        dtype = str(table.dtype)
    return f"{dtype} of shape {table.shape} with digest {digest}"


def changes(
    then: Mapping[str, str | None], now: Mapping[str, str | None], flexible: Sequence[str] = ()
) -> list[str]:
    """A clause for each parameter or table that differs, unless it is flexible."""
    return [
        f"{name} was {then.get(name) or 'not given'} and is {now.get(name) or 'not given'}"
        for name in dict.fromkeys([*now, *then])
        if name not in flexible and then.get(name) != now.get(name)
    ]

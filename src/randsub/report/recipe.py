"""How to make the model again: code, and the versions that it needs."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sklearn import config_context

from randsub import __version__
from randsub.ensemble.subspace import SubspaceEnsemble

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "joblib")


def versions() -> dict[str, str]:
    """Versions of randsub, Python and what they stand on, as they are now."""
    found = {"randsub": __version__, "Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def constructor(model: Any) -> str:
    """The model as code: its class with the parameters that are not the defaults."""
    with config_context(print_changed_only=True):
        # The printer of scikit-learn cuts long texts in the middle unless told otherwise.
        return model.__repr__(N_CHAR_MAX=10**6)


def code(model: SubspaceEnsemble) -> str:
    """Python that fits the model again."""
    call = constructor(model)
    indented = call.replace("\n", "\n" + " " * len("model = "))
    lines = sorted(set(_imports(model, call)))
    return "\n".join([*lines, "", f"model = {indented}", "model.fit(X, y)"])


def _imports(model: SubspaceEnsemble, call: str) -> Iterator[str]:
    for part in _parts(model, seen=set()):
        name = type(part).__name__
        if f"{name}(" in call:
            yield f"from {_public_module(type(part))} import {name}"


def _parts(thing: Any, seen: set[int]) -> Iterator[Any]:
    """A model and everything it is made of that has a class worth importing."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, dict):
        inner: Any = thing.values()
    elif isinstance(thing, list | tuple | set):
        inner = thing
    elif _is_plain(thing):
        return
    else:
        yield thing
        inner = (
            thing.get_params(deep=False) if hasattr(thing, "get_params") else vars(thing)
        ).values()
    for part in inner:
        yield from _parts(part, seen)


def _is_plain(thing: Any) -> bool:
    return type(thing).__module__.split(".")[0] in ("builtins", "numpy") or not hasattr(
        thing, "__dict__"
    )


def _public_module(kind: type) -> str:
    """Where a class is imported from: private modules are left to those who own them."""
    if issubclass(kind, SubspaceEnsemble):
        return "randsub"
    path = kind.__module__.split(".")
    if path[0] == "randsub":
        return ".".join(path[:2])
    public = [part for part in path if not part.startswith("_") or part == "__main__"]
    return ".".join(public)

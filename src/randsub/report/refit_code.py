"""The model as Python code, and the versions it needs."""

from collections.abc import Iterator
from typing import Any

from sklearn import config_context

from randsub._version import versions_of
from randsub.estimators.base import SubspaceEnsemble


def versions() -> dict[str, str]:
    """Installed versions of randsub, Python and the packages they are built on."""
    return versions_of("numpy", "scipy", "scikit-learn", "numba", "pandas", "joblib")


def constructor(model: Any) -> str:
    """The model as code: its class with the parameters that are not the defaults."""
    with config_context(print_changed_only=True):
        # The default would cut long texts in the middle.
        return model.__repr__(N_CHAR_MAX=10**6)


def code(model: SubspaceEnsemble) -> str:
    """Python code that fits the model again."""
    call = constructor(model)
    kinds = {type(part) for part in _parts(model, seen=set())}
    imports = {
        f"from {_public_module(kind)} import {kind.__name__}"
        for kind in kinds
        if f"{kind.__name__}(" in call
    }
    indented = call.replace("\n", "\n" + " " * len("model = "))
    return "\n".join([*sorted(imports), "", f"model = {indented}", "model.fit(X, y)"])


def _parts(thing: Any, seen: set[int]) -> Iterator[Any]:
    """A model and all objects among its parameters whose class has to be imported."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    inner: Any = ()
    if isinstance(thing, dict):
        inner = thing.values()
    elif isinstance(thing, list | tuple | set):
        inner = thing
    elif type(thing).__module__.split(".")[0] not in ("builtins", "numpy"):
        yield thing
        has_params = hasattr(thing, "get_params")
        inner = (
            thing.get_params(deep=False) if has_params else getattr(thing, "__dict__", {})
        ).values()
    for part in inner:
        yield from _parts(part, seen)


def _public_module(kind: type) -> str:
    """The public module that a class is imported from."""
    if issubclass(kind, SubspaceEnsemble):
        return "randsub"
    path = kind.__module__.split(".")
    if path[0] == "randsub":
        return ".".join(path[:2])
    return ".".join(part for part in path if not part.startswith("_") or part == "__main__")

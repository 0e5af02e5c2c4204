"""Which versions made a model, and whether that matters here."""

import importlib.metadata
import platform
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import randsub
from randsub.exceptions import VersionMismatchWarning

# The name of a distribution, where it is not that of its module.
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
ALWAYS = ("sklearn", "numpy", "scipy", "pandas")
# Their fitted models may mean something else with any other version; others keep their word
# within a series.
STRICT = ("randsub", "scikit-learn")


def versions_of(parts: Iterable[Any], *further: str) -> dict[str, str]:
    """Versions of Python, of the libraries that we are built on, and of those behind the parts.

    Parameters
    ----------
    parts : iterable of objects
        What a model is made of.
    *further : str
        Modules beside these.

    Returns
    -------
    versions : dict
        By name of the distribution.
    """
    found = {type(part).__module__.partition(".")[0] for part in parts}
    names = [DISTRIBUTIONS.get(module, module) for module in (*ALWAYS, *further, *sorted(found))]
    versions = {name: _version(name) for name in ("python", "randsub", *names)}
    return {name: version for name, version in versions.items() if version is not None}


def _version(name: str) -> str | None:
    """Version of a distribution that is here, if it is."""
    if name == "python":
        return platform.python_version()
    if name == "randsub":
        return randsub.__version__
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def warn_of_differences(path: Any, saved: Mapping[str, str]) -> None:
    """Warn where a model was made by versions that may not agree with those that are here."""
    here = {name: _version(name) for name in saved}
    differing = [
        f"{name} {version} (here {here[name] or 'not installed'})"
        for name, version in saved.items()
        if _relevant(name, version) != _relevant(name, here[name])
    ]
    if differing:
        warnings.warn(
            f"{path} was saved with {', '.join(differing)}. The model may predict something else "
            "here, or fail later: check it on data whose answers you know, install those versions, "
            "or fit it again.",
            VersionMismatchWarning,
            stacklevel=3,
        )


def _relevant(name: str, version: str | None) -> Any:
    if version is None or name in STRICT:
        return version
    return version.split(".")[:2]

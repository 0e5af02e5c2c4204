"""Model files.

A file is a zip archive. The entry ``randsub.json`` says which format and which versions made it,
and can be read without loading anything else. Beside it is either what skops writes, or a pickle
written by joblib.
"""

import io
import json
import os
import pickle
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import joblib
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.neighbors import BallTree, KDTree

from randsub._files import check_writable, write_atomically
from randsub._version import version_of, versions_of
from randsub.exceptions import (
    ModelFormatError,
    UnsafeLoadWarning,
    UnsavableModelError,
    UntrustedTypesError,
    VersionMismatchWarning,
)
from randsub.io.integrity import check_model
from randsub.io.object_graph import ObjectGraph
from randsub.io.safe_forms import safe_form
from randsub.io.trusted_types import check_trusted, trusted_by_default

Format = Literal["skops", "joblib"]

# Version of the layout; raised when older versions of randsub could not read a file.
FORMAT_VERSION = 1
NOTE = "randsub.json"
SCHEMA = "schema.json"
PICKLE = "model.joblib"
FORMATS = ("skops", "joblib")
# Versions that are always recorded, beside those of the packages that the model's types are from.
LIBRARIES = ("scikit-learn", "numpy", "scipy", "pandas")
# Fitted models may mean something else in any other version of these; other libraries are
# compatible within a minor version.
STRICT = ("randsub", "scikit-learn")


def save(model: Any, path: str | os.PathLike[str], *, format: Format = "skops") -> None:
    """Write a model to a file.

    The file is written completely or, if anything goes wrong, left as it was.

    Parameters
    ----------
    model : estimator, InferredNetwork or PenaltySearch
        Any object of randsub, fitted or not; also a pipeline, a search or another scikit-learn
        estimator that contains it. Callbacks are not saved: they belong to a fit.
    path : path-like
        The file, usually with the suffix ``.skops`` or ``.joblib``. Its folder must exist.
    format : {"skops", "joblib"}, default="skops"
        Format of the file. A skops file can be loaded without running anything it holds. "joblib"
        is a pickle, for models that skops cannot write: loading it runs whatever is in it.

    Raises
    ------
    UnsavableModelError
        If the model holds something that cannot be written in this format, such as a function
        defined inside another function.

    See Also
    --------
    load : Read the model back.
    ModelFolder : A model together with a description of its data, its history and importances.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.io import load, save
    >>> X, y, _ = make_friedman(n_samples=60, n_irrelevant=2, random_state=0)
    >>> model = PRSRegressor(n_estimators=10, max_iter=5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.skops")
    ...     again = load(Path(folder) / "model.skops")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    check_writable(Path(path))
    write_atomically(Path(path), dumped(model, format)[0])


def load(
    path: str | os.PathLike[str],
    *,
    trusted: Iterable[str | type] = (),
    format: Format = "skops",
) -> Any:
    """Read a model that :func:`save` wrote.

    Nothing in the file is run, and only the types of randsub, scikit-learn, NumPy, SciPy and pandas
    that models consist of are created, unless ``trusted`` names others.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : list of str or type, default=()
        Further types and functions that the file may use, such as a user-defined base model:
        ``"module.Class"`` or the class itself. Name only what is harmless with any attributes,
        unless you trust the author of the file.
    format : {"skops", "joblib"}, default="skops"
        A joblib file can run arbitrary code when it is loaded, so it is only loaded on request, and
        with a warning.

    Returns
    -------
    model : object
        Predictions, alpha, history and parameters are those of the saved model, bit for bit.

    Warns
    -----
    VersionMismatchWarning
        If the file was written with other library versions.
    UnsafeLoadWarning
        If a joblib file is loaded.

    Raises
    ------
    UntrustedTypesError
        If the file holds types that are not trusted; the error lists them.
    ModelFormatError
        If the file is damaged, holds something else, or was written by a newer randsub.
    FileNotFoundError
        If there is no such file.
    """
    check_format(format)
    names = check_trusted(trusted)
    source = Path(path)
    if source.is_dir():
        remedy = "Read a model folder with ModelFolder.read, or pass a file."
        raise ModelFormatError(path, "it is a folder", remedy)
    # Read once: what is checked is what is loaded.
    content = source.read_bytes()
    note = read_note(source, content)
    if note["holds"] != format:
        caution = ", if you trust its author: loading it can run any code"
        raise ModelFormatError(
            source,
            f"it is a {note['holds']} file",
            f"Load it with format={note['holds']!r}{'' if format == 'joblib' else caution}.",
        )
    _warn_of_versions(source, note["versions"])
    if format == "joblib":
        warnings.warn(
            f"{source} is a joblib file: loading it runs whatever code it holds. Load only files "
            "from people you trust; format='skops' saves files that cannot do harm.",
            UnsafeLoadWarning,
            stacklevel=2,
        )
    try:
        with warnings.catch_warnings():
            # One warning about versions is enough; each member would repeat it.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            if format == "joblib":
                return _from_joblib(content)
            return _from_skops(source, content, names)
    except (UntrustedTypesError, MemoryError):
        raise
    # Damaged or forged content can cause any error.
    except Exception as error:
        raise ModelFormatError(
            source,
            f"its content is damaged, or not for these versions ({type(error).__name__}: {error})",
        ) from error


def check_format(format: Any) -> None:
    """Raise if there is no such format."""
    if format not in FORMATS:
        raise ValueError(f"format must be one of {list(FORMATS)}, got {format!r}.")


# -- the note ------------------------------------------------------------------------------------


def read_note(path: Path, content: bytes) -> dict[str, Any]:
    """What a model file says about itself; nothing else of it is loaded.

    Parameters
    ----------
    path : Path
        The file, for errors.
    content : bytes
        Content of the file.

    Returns
    -------
    note : dict
        ``format_version``, ``holds`` ("skops" or "joblib"), ``type`` of the model, and ``versions``
        of the libraries that made it.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            names = file.namelist()
            note = json.loads(file.read(NOTE)) if NOTE in names else None
    # A damaged archive can cause any error.
    except Exception as error:
        raise ModelFormatError(path, _not_an_archive(content, error)) from error
    if note is None:
        by_skops = "it was written by skops without randsub; skops.io.load reads such files"
        raise ModelFormatError(
            path, by_skops if SCHEMA in names else "it is an archive of something else"
        )
    _check_note(path, note)
    return note


def _not_an_archive(start: bytes, error: Exception) -> str:
    if not start:
        return "the file is empty"
    # A pickle begins with its protocol, a compressed one with the mark of the compressor.
    if start.startswith((b"\x80", b"\x1f\x8b", b"\x78\x9c", b"\x78\x5e", b"BZ")):
        return (
            "it looks like a pickle that was written without randsub; joblib.load reads such "
            "files, and runs whatever is in them"
        )
    if not start.startswith(b"PK"):
        return "it is not a model file"
    return f"the file is damaged or incomplete ({type(error).__name__}: {error})"


def _check_note(path: Path, note: Any) -> None:
    check_version(path, note, FORMAT_VERSION)
    versions = note.get("versions")
    is_complete = isinstance(versions, dict) and all(isinstance(v, str) for v in versions.values())
    if note.get("holds") not in FORMATS or not is_complete:
        raise ModelFormatError(path, f"its {NOTE} is incomplete")


def check_version(path: Path, description: Any, latest: int) -> None:
    """Raise unless a description has a format that this version of randsub reads."""
    version = description.get("format_version") if isinstance(description, dict) else None
    if type(version) is not int:
        raise ModelFormatError(path, "it does not say which format it has")
    if version > latest:
        versions = description.get("versions")
        made_by = versions.get("randsub") if isinstance(versions, dict) else "a newer version"
        raise ModelFormatError(
            path,
            f"it has format {version}, and this version of randsub reads up to {latest}",
            f"It was saved by randsub {made_by}: install that version, or a later one.",
        )


def _warn_of_versions(path: Path, saved: Mapping[str, str]) -> None:
    """Warn if a model was made by versions that may not agree with the installed ones."""
    differing = []
    for name, version in saved.items():
        here = version_of(name)
        digits = None if name in STRICT else 2
        if here is None or version.split(".")[:digits] != here.split(".")[:digits]:
            differing.append(f"{name} {version} (here {here or 'not installed'})")
    if differing:
        warnings.warn(
            f"{path} was saved with {', '.join(differing)}. The model may predict something else "
            "here, or fail later: check it on data with known results, install those versions, or "
            "fit it again.",
            VersionMismatchWarning,
            stacklevel=3,
        )


# -- the two formats -----------------------------------------------------------------------------


def dumped(model: Any, format: Format) -> tuple[bytes, dict[str, str]]:
    """The content of a model file, and the versions of the libraries that the model needs."""
    check_format(format)
    kind, archive, entries = type(model), io.BytesIO(), dict[str, Any]()
    is_model = hasattr(model, "get_params") or kind.__module__.startswith("randsub.")
    if isinstance(model, type) or not is_model:
        raise TypeError(f"model must be an estimator or a result of randsub, got {model!r}.")
    try:
        graph = ObjectGraph(model, _replacements(safe=format == "skops"))
        if format == "skops":
            archive.write(_to_skops(graph.copy()))
        else:
            joblib.dump(graph.copy(), pickled := io.BytesIO())
            entries[PICKLE] = pickled.getvalue()
    # Which of these it is depends on who meets the culprit first.
    except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise UnsavableModelError(kind.__name__, reason) from error
    packages = {type(part).__module__.partition(".")[0] for part in graph.parts} - {"sklearn"}
    versions = versions_of(*LIBRARIES, format, *sorted(packages))
    note = {
        "format_version": FORMAT_VERSION,
        "holds": format,
        "type": f"{kind.__module__}.{kind.__qualname__}",
        "versions": versions,
    }
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as file:
        for name, content in {**entries, NOTE: json.dumps(note, indent=1)}.items():
            file.writestr(name, content)
    return archive.getvalue(), versions


def _replacements(*, safe: bool) -> Callable[[Any], Any]:
    """What is written in place of each object of a model.

    Callbacks are left out: they belong to a fit. The rest is only replaced where the file must be
    safe to load.
    """
    callbacks, holders = set[int](), dict[int, Any]()

    def replacement(obj: Any) -> Any:
        if id(obj) in callbacks:
            return []
        # An estimator is met before what it holds.
        for name, value in getattr(obj, "__dict__", {}).items():
            if name == "_skl_callbacks":
                callbacks.add(id(value))
            elif isinstance(value, KDTree | BallTree):
                holders[id(value)] = obj
        return safe_form(obj, holders.get(id(obj))) if safe else None

    return replacement


def _to_skops(model: Any) -> bytes:
    # Imported here: it loads all of scikit-learn.
    from skops.io import dumps

    return dumps(model, compression=zipfile.ZIP_DEFLATED)


def _from_skops(path: Path, content: bytes, trusted: list[str]) -> Any:
    from skops.io import get_untrusted_types, loads
    from skops.io.exceptions import UntrustedTypesFoundException

    known = [*trusted_by_default(), *trusted]
    try:
        model = loads(content, trusted=known)
    except UntrustedTypesFoundException:
        untrusted = set(get_untrusted_types(data=content)) - set(known)
        raise UntrustedTypesError(path, tuple(sorted(untrusted))) from None
    check_model(model)
    return model


def _from_joblib(content: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return joblib.load(io.BytesIO(file.read(PICKLE)))

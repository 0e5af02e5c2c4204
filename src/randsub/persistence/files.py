"""Model files.

A file is a zip archive. In it, ``randsub.json`` says which format and which versions made it, and
can be read without loading anything else. Beside it lies either what skops writes, or a pickle of
joblib.
"""

import io
import json
import os
import pickle
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import joblib
from sklearn.exceptions import InconsistentVersionWarning

from randsub._files import write_atomically
from randsub.exceptions import (
    ModelFormatError,
    UnsafeLoadWarning,
    UnsavableModelError,
    UntrustedTypesError,
)
from randsub.persistence.exchange import exchange, parts_of, without_callbacks
from randsub.persistence.soundness import check_attributes, check_model
from randsub.persistence.standins import original, stand_in
from randsub.persistence.trust import check_trusted, trusted_by_default
from randsub.persistence.versions import versions_of, warn_of_differences

Format = Literal["skops", "joblib"]

# What the file looks like; one more when older versions of randsub could not read it.
FORMAT_VERSION = 1
NOTE = "randsub.json"
SCHEMA = "schema.json"
PICKLE = "model.joblib"
FORMATS = ("skops", "joblib")


def save(model: Any, path: str | os.PathLike[str], *, format: Format = "skops") -> None:
    """Write a model to a file.

    The file is there as a whole or, if anything goes wrong, as it was before.

    Parameters
    ----------
    model : estimator, InferredNetwork or PenaltySearch
        Anything of randsub's, fitted or not; also a pipeline, a search or another estimator of
        scikit-learn's that holds it.
        Callbacks stay behind: they belong to a fit.
    path : path-like
        The file, by custom with the ending ``.skops`` or ``.joblib``. Its folder must exist.
    format : {"skops", "joblib"}, default="skops"
        What is written. A skops file can be loaded without running anything it holds; it needs
        ``pip install skops``. "joblib" is a pickle, for models that hold what skops
        cannot write: whoever loads it runs whatever is in it.

    Raises
    ------
    UnsavableModelError
        Where the model holds something that cannot be written in this format, such as a function
        defined in another function.

    See Also
    --------
    load : Read it back.
    ModelFolder : A model together with what it was fitted on, its history and its importances.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.persistence import load, save
    >>> X, y, _ = make_friedman(n_samples=60, n_irrelevant=2, random_state=0)
    >>> model = PRSRegressor(n_estimators=10, max_iter=5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.skops")
    ...     again = load(Path(folder) / "model.skops")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    check_format(format)
    target = _checked_target(path)
    check_model_kind(model)
    write_atomically(target, dumped(model, format))


def dumped(model: Any, format: Format) -> bytes:
    """The content of a model file."""
    if format == "skops":
        return _with_note(_to_skops(model), model, format)
    return _with_note(_to_joblib(model), model, format)


def load(
    path: str | os.PathLike[str],
    *,
    trusted: Iterable[str | type] = (),
    format: Format = "skops",
) -> Any:
    """Read a model that :func:`save` wrote.

    Nothing that the file holds is run, and nothing but the types of randsub, scikit-learn, NumPy,
    SciPy and pandas that models are made of is created, unless ``trusted`` names it.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : list of str or type, default=()
        Further types and functions that the file may use, such as a base model of your own:
        ``"module.Class"`` or the class itself. Name only what you know to be harmless with any
        attributes, or in a file from someone you trust.
    format : {"skops", "joblib"}, default="skops"
        A joblib file can run anything when it is loaded, so it is only loaded when asked for, and
        with a warning.

    Returns
    -------
    model : object
        Predictions, alpha, history and parameters are those of the model that was saved, bit for
        bit.

    Warns
    -----
    VersionMismatchWarning
        Where other versions made the file.
    UnsafeLoadWarning
        Where a joblib file is loaded.

    Raises
    ------
    UntrustedTypesError
        Where the file holds types that are not trusted; it lists them.
    ModelFormatError
        Where the file is damaged, holds something else, or was written by a newer randsub.
    FileNotFoundError
        Where there is no such file.
    """
    check_format(format)
    names = check_trusted(trusted)
    source = _checked_source(path)
    # Read once: what is checked is what is loaded, and an error from here on is the content's.
    content = source.read_bytes()
    note = read_note(source, content)
    if note["holds"] != format:
        raise _in_another_format(source, note["holds"])
    warn_of_differences(source, note["versions"])
    if format == "joblib":
        return _from_joblib(source, content)
    return _from_skops(source, content, names)


# -- checks --------------------------------------------------------------------------------------


def check_format(format: Any) -> None:
    """Raise where there is no such format."""
    if format not in FORMATS:
        raise ValueError(f"format must be one of {list(FORMATS)}, got {format!r}.")


def _checked_target(path: str | os.PathLike[str]) -> Path:
    # A link is followed, not replaced.
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder; name a file, as {Path(path) / 'model.skops'}, or write a model "
            "folder with ModelFolder.write."
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder {target.parent} does not exist; make it first.")
    return target


def check_model_kind(model: Any) -> None:
    """Raise where it is no model."""
    is_ours = type(model).__module__.partition(".")[0] == "randsub"
    if isinstance(model, type) or not (is_ours or hasattr(model, "get_params")):
        shown = f"the class {model.__name__}" if isinstance(model, type) else repr(type(model))
        raise TypeError(f"model must be an estimator or a result of randsub's, got {shown}.")


def _checked_source(path: str | os.PathLike[str]) -> Path:
    source = Path(path)
    if source.is_dir():
        raise ModelFormatError(
            path, "it is a folder", "Read a model folder with ModelFolder.read, or name a file."
        )
    if not source.exists():
        raise FileNotFoundError(f"There is no model file {path}.")
    if source.stat().st_size == 0:
        raise ModelFormatError(path, "the file is empty")
    return source


def _in_another_format(path: Path, holds: str) -> ModelFormatError:
    if holds == "joblib":
        return ModelFormatError(
            path,
            "it is a joblib file, which can run any code when it is loaded",
            "If you know where it comes from, load it with format='joblib'.",
        )
    return ModelFormatError(path, f"it is a {holds} file", f"Load it with format={holds!r}.")


# -- the note ------------------------------------------------------------------------------------


def _with_note(archive: io.BytesIO, model: Any, format: Format) -> bytes:
    note = {
        "format_version": FORMAT_VERSION,
        "holds": format,
        "type": f"{type(model).__module__}.{type(model).__qualname__}",
        "versions": versions_of(parts_of(model), "skops" if format == "skops" else "joblib"),
    }
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr(NOTE, json.dumps(note, indent=1))
    return archive.getvalue()


def read_note(path: Path, content: bytes) -> dict[str, Any]:
    """What a model file says about itself: nothing else of it is loaded.

    Parameters
    ----------
    path : Path
        The file, for errors.
    content : bytes
        What is in it.

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
    # What a damaged archive can bring about is not to be foreseen.
    except Exception as error:
        raise ModelFormatError(path, _not_an_archive(content, error)) from error
    if note is None:
        raise ModelFormatError(path, _what_archive(names))
    _check_note(path, note)
    return note


def _not_an_archive(start: bytes, error: Exception) -> str:
    # A pickle begins with its protocol, a compressed one with the mark of the compressor.
    if start[:1] == b"\x80" or start[:2] in (b"\x1f\x8b", b"\x78\x9c", b"\x78\x5e", b"BZ"):
        return (
            "it looks like a pickle that was written without randsub; joblib.load reads such "
            "files, and runs whatever is in them"
        )
    if start[:2] != b"PK":
        return "it is not a model file"
    return f"the file is damaged or incomplete ({type(error).__name__}: {error})"


def _what_archive(names: list[str]) -> str:
    if SCHEMA in names:
        return "it was written by skops without randsub; skops.io.load reads such files"
    return "it is an archive of something else"


def _check_note(path: Path, note: Any) -> None:
    version = note.get("format_version") if isinstance(note, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise ModelFormatError(path, "it does not say which format it has")
    if version > FORMAT_VERSION:
        newer = note.get("versions")
        made_by = newer.get("randsub", "a newer one") if isinstance(newer, dict) else "a newer one"
        raise ModelFormatError(
            path,
            f"it has format {version}, and this version of randsub reads up to {FORMAT_VERSION}",
            f"It was saved by randsub {made_by}: install that version, or a later one.",
        )
    versions = note.get("versions")
    if (
        note.get("holds") not in FORMATS
        or not isinstance(versions, dict)
        or not all(isinstance(value, str) for value in versions.values())
    ):
        raise ModelFormatError(path, "what it says about itself is incomplete")


# -- skops ---------------------------------------------------------------------------------------


def _skops() -> ModuleType:
    try:
        import skops.io
    except ImportError:
        raise ImportError(
            "Model files need skops: install it with pip install skops, or save and "
            "load with format='joblib', which is less safe."
        ) from None
    return skops.io


def _to_skops(model: Any) -> io.BytesIO:
    skops = _skops()
    try:
        stored = exchange(model, without_callbacks(stand_in))
        return io.BytesIO(skops.dumps(stored, compression=zipfile.ZIP_DEFLATED))
    except (
        # Which of these it is depends on who meets the culprit first.
        pickle.PicklingError,
        AttributeError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise UnsavableModelError(
            type(model).__name__,
            f"{str(error).rstrip('.') or type(error).__name__}",
            "Define functions and classes that it uses in a module, where loading can find them; "
            "or save it with format='joblib', if it can be pickled.",
        ) from error


def _from_skops(path: Path, content: bytes, trusted: list[str]) -> Any:
    skops = _skops()
    from skops.io.exceptions import UntrustedTypesFoundException

    known = [*trusted_by_default(), *trusted]
    try:
        with warnings.catch_warnings():
            # Each member would say what one warning has said for all.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            try:
                loaded = skops.loads(content, trusted=known)
            except UntrustedTypesFoundException:
                untrusted = set(skops.get_untrusted_types(data=content)) - set(known)
                raise UntrustedTypesError(path, sorted(untrusted)) from None
            return _restored(loaded)
    except (UntrustedTypesError, MemoryError):
        raise
    # What damaged or ill-meant content can bring about is not to be foreseen.
    except Exception as error:
        reason = (
            f"its content is damaged, or not for these versions ({type(error).__name__}: {error})"
        )
        raise ModelFormatError(path, reason) from error


def _restored(loaded: Any) -> Any:
    """The model, with what stands in for other objects exchanged back, if it all fits together."""

    def swap(obj: Any) -> Any:
        check_attributes(obj)
        return original(obj)

    model = exchange(loaded, swap)
    check_model(model)
    return model


# -- joblib --------------------------------------------------------------------------------------


def _to_joblib(model: Any) -> io.BytesIO:
    content, archive = io.BytesIO(), io.BytesIO()
    try:
        joblib.dump(exchange(model, without_callbacks(lambda obj: None)), content)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        raise UnsavableModelError(
            type(model).__name__,
            str(error).rstrip("."),
            "Define functions and classes that it uses in a module, where loading can find them.",
        ) from error
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(PICKLE, content.getvalue())
    return archive


def _from_joblib(path: Path, content: bytes) -> Any:
    warnings.warn(
        f"{path} is a joblib file: loading it runs whatever code it holds. Load only files from "
        "people you trust; format='skops' saves files that cannot do harm.",
        UnsafeLoadWarning,
        stacklevel=3,
    )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            pickled = io.BytesIO(file.read(PICKLE))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            return joblib.load(pickled)
    except MemoryError:
        raise
    except Exception as error:
        reason = (
            f"its content is damaged, or not for these versions ({type(error).__name__}: {error})"
        )
        raise ModelFormatError(path, reason) from error

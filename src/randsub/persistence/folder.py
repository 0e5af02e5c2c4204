"""A model together with what one wants to know about it later: a folder of files.

``model.skops`` (or ``model.joblib``) is the model; ``model.json`` says what it is, which versions
made it when, from what data and by which command; ``history.csv`` and ``importances.csv`` are for
reading and plotting without the model. Everything but the model can be read without loading it.
"""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pandas as pd

from randsub._files import EXACT
from randsub.exceptions import ModelFormatError
from randsub.persistence.exchange import parts_of
from randsub.persistence.facts import (
    DataFacts,
    check_json,
    history,
    importances,
    model_facts,
    relative_name,
)
from randsub.persistence.files import (
    FORMATS,
    Format,
    check_format,
    check_model_kind,
    dumped,
    load,
)
from randsub.persistence.trust import check_trusted
from randsub.persistence.versions import versions_of

FOLDER_VERSION = 1
FACTS = "model.json"
HISTORY = "history.csv"
IMPORTANCES = "importances.csv"
MARK = "randsub_model_folder"
RESERVED = (FACTS, HISTORY, IMPORTANCES, *(f"model.{format}" for format in FORMATS))

REMEDY = "Name a folder that randsub wrote, or fit the model again."


class ModelFolder:
    """A model folder on disk; made by :meth:`ModelFolder.write` and :meth:`ModelFolder.read`.

    Attributes
    ----------
    path : Path
        The folder.
    facts : dict
        The content of ``model.json``: ``made`` (when), ``format``, ``model`` (type, task,
        parameters, seed), ``versions``, ``data``, ``command``, ``scores``, ``extra``, ``files``.
    """

    def __init__(
        self, path: Path, facts: dict[str, Any], trusted: Sequence[str], format: Format
    ) -> None:
        self.path = path
        self.facts = facts
        self._trusted = tuple(trusted)
        self._format = format

    def __repr__(self) -> str:
        return f"ModelFolder({str(self.path)!r})"

    # -- writing ---------------------------------------------------------------------------------

    @classmethod
    def write(
        cls,
        folder: str | os.PathLike[str],
        model: Any,
        *,
        data: DataFacts | None = None,
        scores: Mapping[str, float] | None = None,
        command: Sequence[str] | None = None,
        extra: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes | str] | None = None,
        format: Format = "skops",
        overwrite: bool = False,
    ) -> Self:
        """Write a model folder, as a whole or not at all.

        Parameters
        ----------
        folder : path-like
            Where; a folder that is not there yet, or is empty. The one around it must exist.
        model : estimator
            As for :func:`randsub.persistence.save`.
        data : DataFacts, default=None
            What it was fitted on: ``DataFacts.of(X, y, target="y", source="d.csv")``.
        scores : mapping, default=None
            Numbers by name, such as ``{"validation": 0.9}``.
        command : sequence of str, default=None
            The command line that made it.
        extra : mapping, default=None
            Anything else that json can hold.
        files : mapping, default=None
            Further files by name, as bytes or text.
        format : {"skops", "joblib"}, default="skops"
            As for :func:`randsub.persistence.save`.
        overwrite : bool, default=False
            Whether a model folder that is there may be replaced. What is not a model folder, or
            has files in it that did not come with the model, never is.

        Returns
        -------
        folder : ModelFolder
        """
        check_format(format)
        check_model_kind(model)
        target = Path(os.path.realpath(folder))
        further = {relative_name(name): content for name, content in (files or {}).items()}
        _check_files(further)
        facts: dict[str, Any] = {
            MARK: FOLDER_VERSION,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "format": format,
            "data": None if data is None else data.to_json(),
            "scores": check_json("scores", dict(scores or {})),
            "command": check_json("command", None if command is None else list(command)),
            "extra": check_json("extra", dict(extra or {})),
        }
        _check_target(target, overwrite=overwrite)
        contents = _contents(model, data, format) | _as_bytes(further)
        facts["model"] = model_facts(model)
        facts["versions"] = versions_of(parts_of(model), format)
        told = history(model)
        facts["history_levels"] = 1 if told is None else told.index.nlevels
        facts["files"] = {
            name: hashlib.sha256(content).hexdigest() for name, content in contents.items()
        }
        contents[FACTS] = json.dumps(facts, indent=1, allow_nan=False).encode() + b"\n"
        with _draft(target) as draft:
            for name, content in contents.items():
                _write_through(draft / name, content)
            _put_in_place(draft, target, overwrite=overwrite)
        written = cls(target, facts, (), format)
        written.__dict__["model"] = model
        return written

    # -- reading ---------------------------------------------------------------------------------

    @classmethod
    def read(
        cls,
        folder: str | os.PathLike[str],
        *,
        trusted: Iterable[str | type] = (),
        format: Format = "skops",
    ) -> Self:
        """Read a model folder; the model itself is loaded when it is first asked for.

        Parameters
        ----------
        folder : path-like
        trusted : list of str or type, default=()
            As for :func:`randsub.persistence.load`.
        format : {"skops", "joblib"}, default="skops"
            "joblib" allows a model file that can run any code when it is loaded.

        Returns
        -------
        folder : ModelFolder

        Raises
        ------
        ModelFormatError
            Where the folder holds no model, or not a whole one.
        FileNotFoundError
            Where there is no such folder.
        """
        check_format(format)
        names = check_trusted(trusted)
        path = Path(folder)
        if not path.exists():
            raise FileNotFoundError(f"There is no model folder {folder}.")
        if not path.is_dir():
            raise ModelFormatError(
                folder, "it is a file", "Load it with load, or name a model folder."
            )
        facts = _read_facts(path)
        for name in facts["files"]:
            if not (path / name).is_file():
                raise ModelFormatError(folder, f"its file {name} is missing", REMEDY)
        return cls(path, facts, names, format)

    @cached_property
    def model(self) -> Any:
        """The model, loaded when first asked for, by the rules of ``load``."""
        path = self.file(f"model.{self.facts['format']}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.facts["files"][path.name]:
            raise ModelFormatError(path, "it is not the file that was written here", REMEDY)
        return load(path, trusted=self._trusted, format=self._format)

    @property
    def history(self) -> pd.DataFrame | None:
        """One row an epoch, as in the model's ``history_``; None for a model that has none."""
        return self._table(HISTORY, index_col=list(range(self.facts["history_levels"])))

    @property
    def importances(self) -> pd.DataFrame | None:
        """Columns ``feature`` and ``importance``, the largest first; None without importances."""
        return self._table(IMPORTANCES, dtype={"feature": str})

    @property
    def data(self) -> DataFacts | None:
        """What the model was fitted on, where that was told."""
        told = self.facts["data"]
        try:
            return None if told is None else DataFacts.from_json(told)
        except (KeyError, TypeError) as error:
            raise ModelFormatError(
                self.path / FACTS, "what it says of the data is incomplete", REMEDY
            ) from error

    def file(self, name: str) -> Path:
        """Where a file of the folder is.

        Raises
        ------
        FileNotFoundError
            Where the folder was written without it.
        """
        if name not in self.facts["files"]:
            raise FileNotFoundError(
                f"The model folder {self.path} has no file {name!r}; it has "
                f"{sorted(self.facts['files'])}."
            )
        return self.path / name

    def _table(self, name: str, **options: Any) -> pd.DataFrame | None:
        if name not in self.facts["files"]:
            return None
        path = self.file(name)
        try:
            return pd.read_csv(path, keep_default_na=False, na_values=[""], **EXACT, **options)
        except (ValueError, UnicodeDecodeError) as error:
            raise ModelFormatError(path, f"it is no table ({error})", REMEDY) from error


def _contents(model: Any, data: DataFacts | None, format: Format) -> dict[str, bytes]:
    contents = {f"model.{format}": dumped(model, format)}
    table = history(model)
    if table is not None:
        contents[HISTORY] = table.to_csv().encode()
    table = importances(model, () if data is None else data.columns)
    if table is not None:
        contents[IMPORTANCES] = table.to_csv(index=False).encode()
    return contents


def _as_bytes(files: Mapping[str, bytes | str]) -> dict[str, bytes]:
    return {name: c.encode() if isinstance(c, str) else bytes(c) for name, c in files.items()}


def _check_files(files: Mapping[str, Any]) -> None:
    for name, content in files.items():
        if name in RESERVED:
            raise ValueError(f"The name {name!r} is taken by the model folder itself.")
        if not isinstance(content, bytes | str):
            raise TypeError(f"files must hold bytes or text, got {type(content)} for {name!r}.")


def _read_facts(folder: Path) -> dict[str, Any]:
    path = folder / FACTS
    if not path.is_file():
        raise ModelFormatError(folder, f"there is no {FACTS} in it", REMEDY)
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(path, f"it is not json ({error})", REMEDY) from error
    version = facts.get(MARK) if isinstance(facts, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise ModelFormatError(folder, f"its {FACTS} is not one of a model folder", REMEDY)
    if version > FOLDER_VERSION:
        raise ModelFormatError(
            folder,
            f"it has format {version}, and this version of randsub reads up to {FOLDER_VERSION}",
            "Install the version of randsub that wrote it, or a later one.",
        )
    files, told = facts.get("files"), ("data", "extra", "scores", "model", "versions", "command")
    if (
        not isinstance(files, dict)
        or not all(name in facts for name in told)
        or f"model.{facts.get('format')}" not in files
        or not all(_is_plain(name) for name in files)
        or facts.get("history_levels") not in range(1, 10)
    ):
        raise ModelFormatError(folder, f"its {FACTS} is incomplete", REMEDY)
    return facts


def _is_plain(name: Any) -> bool:
    try:
        relative_name(name)
    except ValueError:
        return False
    return True


# -- the place -----------------------------------------------------------------------------------


def _check_target(target: Path, *, overwrite: bool) -> None:
    """Raise where the folder may not be written."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder {target.parent} does not exist; make it first.")
    if not target.exists():
        return
    if not target.is_dir():
        raise FileExistsError(f"{target} is a file; name a folder that is not there yet.")
    present = {entry.name for entry in target.iterdir()}
    if not present:
        return
    try:
        facts = _read_facts(target)
    except ModelFormatError:
        raise FileExistsError(
            f"{target} is there and is not a model folder; name another one, or empty it."
        ) from None
    if not overwrite:
        raise FileExistsError(
            f"{target} is there and holds a model; name another folder, or say that it may be "
            "replaced with overwrite=True."
        )
    strange = sorted(present - {FACTS, *facts["files"]})
    if strange:
        raise FileExistsError(
            f"{target} holds files that did not come with the model, {strange[:5]}; move them away "
            "before it is replaced."
        )


@contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """A folder beside the target that is gone in the end, whatever happens."""
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.part")
    try:
        draft.mkdir()
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write_through(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _put_in_place(draft: Path, target: Path, *, overwrite: bool) -> None:
    # Again, since saving may have taken long enough for others to come.
    _check_target(target, overwrite=overwrite)
    if not target.exists():
        draft.rename(target)
        return
    with _draft(target) as former:
        former.rmdir()
        target.rename(former)
        try:
            draft.rename(target)
        except BaseException:
            former.rename(target)
            raise

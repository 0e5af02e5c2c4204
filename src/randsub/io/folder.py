"""A model together with a description of it: a folder of files.

``model.skops`` (or ``model.joblib``) is the model; ``model.json`` says what it is, which versions
made it when, from what data and by which command; ``history.csv`` and ``importances.csv`` can be
read and plotted without the model. Everything but the model can be read without loading it.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pandas as pd

from randsub._files import EXACT, check_parent, draft_of
from randsub.exceptions import ModelFormatError
from randsub.io.files import FORMATS, Format, check_format, check_version, dumped, load
from randsub.io.metadata import (
    DataFacts,
    check_json,
    history,
    importances,
    model_facts,
    model_scores,
)
from randsub.io.trusted_types import check_trusted

FOLDER_VERSION = 1
FACTS = "model.json"
HISTORY = "history.csv"
IMPORTANCES = "importances.csv"
RESERVED = (FACTS, HISTORY, IMPORTANCES, *(f"model.{format}" for format in FORMATS))
# What every description holds beside its files.
ENTRIES = ("data", "extra", "scores", "model", "versions", "command")


@dataclass(eq=False, repr=False)
class ModelFolder:
    """A model folder on disk; see :meth:`ModelFolder.write` and :meth:`ModelFolder.read`.

    Attributes
    ----------
    path : Path
        The folder.
    facts : dict
        The content of ``model.json``: ``made`` (when), ``format``, ``model`` (type, task,
        parameters, seed), ``versions``, ``data``, ``command``, ``scores``, ``extra``, ``files``.
    """

    path: Path
    facts: dict[str, Any]
    _trusted: Sequence[str] = ()
    _format: Format = "skops"

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
        """Write a model folder, completely or not at all.

        Parameters
        ----------
        folder : path-like
            A folder that does not exist yet, or is empty. Its parent folder must exist.
        model : estimator
            As for :func:`randsub.io.save`.
        data : DataFacts, default=None
            The data it was fitted on: ``DataFacts.of(X, y, target="y", source="d.csv")``.
        scores : mapping, default=None
            Numbers by name, such as ``{"test_r2": 0.9}``, beside the validation score of the
            model's fit: ``validation_r2`` or ``validation_accuracy``, and of several repeats its
            standard deviation, ``validation_r2_std``.
        command : sequence of str, default=None
            The command line that made it.
        extra : mapping, default=None
            Anything else that JSON can hold.
        files : mapping, default=None
            Further files by name, as bytes or text.
        format : {"skops", "joblib"}, default="skops"
            As for :func:`randsub.io.save`.
        overwrite : bool, default=False
            Whether an existing model folder may be replaced. A folder that is not a model folder,
            or holds files that did not come with the model, is never replaced.

        Returns
        -------
        folder : ModelFolder
        """
        target = Path(os.path.realpath(folder))
        further = {name: _checked_file(name, content) for name, content in (files or {}).items()}
        measured = {**model_scores(model), **(scores or {})}
        facts: dict[str, Any] = {
            "format_version": FOLDER_VERSION,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "format": format,
            "data": None if data is None else asdict(data),
            "scores": check_json("scores", measured),
            "command": check_json("command", None if command is None else list(command)),
            "extra": check_json("extra", dict(extra or {})),
        }
        check_path(target, overwrite=overwrite)
        content, facts["versions"] = dumped(model, format)
        contents = {f"model.{format}": content, **_tables(model, data), **further}
        table = history(model)
        facts["history_levels"] = 1 if table is None else table.index.nlevels
        facts["model"] = model_facts(model)
        facts["files"] = {name: _digest(content) for name, content in contents.items()}
        contents[FACTS] = json.dumps(facts, indent=1, allow_nan=False).encode() + b"\n"
        with draft_of(target) as draft:
            draft.mkdir()
            for name, content in contents.items():
                (draft / name).write_bytes(content)
            # Again, since saving may have taken long enough for others to write there.
            check_path(target, overwrite=overwrite)
        written = cls(target, facts)
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
        """Read a model folder; the model itself is loaded on first access.

        Parameters
        ----------
        folder : path-like
        trusted : list of str or type, default=()
            As for :func:`randsub.io.load`.
        format : {"skops", "joblib"}, default="skops"
            "joblib" permits a model file that can run any code when it is loaded.

        Returns
        -------
        folder : ModelFolder

        Raises
        ------
        ModelFormatError
            If the folder does not hold a complete model.
        FileNotFoundError
            If there is no such folder.
        """
        check_format(format)
        names = check_trusted(trusted)
        path = Path(folder)
        if not path.exists():
            raise FileNotFoundError(f"There is no model folder {folder}.")
        if not path.is_dir():
            raise ModelFormatError(path, "it is a file", "Use load, or pass a model folder.")
        facts = _read_facts(path)
        for name in facts["files"]:
            if not (path / name).is_file():
                raise ModelFormatError(folder, f"its file {name} is missing")
        return cls(path, facts, names, format)

    @cached_property
    def model(self) -> Any:
        """The model, loaded on first access as by ``load``."""
        path = self.file(f"model.{self.facts['format']}")
        if _digest(path.read_bytes()) != self.facts["files"][path.name]:
            raise ModelFormatError(path, "it is not the file that was written here")
        return load(path, trusted=self._trusted, format=self._format)

    @property
    def history(self) -> pd.DataFrame | None:
        """One row per epoch, as in the model's ``history_``; None for a model without one."""
        return self._table(HISTORY, index_col=list(range(self.facts["history_levels"])))

    @property
    def importances(self) -> pd.DataFrame | None:
        """Columns ``feature`` and ``importance``, in decreasing order; None without importances.

        A model with several repeats also has ``std``, the standard deviation over these.
        """
        return self._table(IMPORTANCES, dtype={"feature": str})

    @property
    def data(self) -> DataFacts | None:
        """Description of the data that the model was fitted on, if it was given."""
        told = self.facts["data"]
        try:
            return None if told is None else DataFacts(**told)
        except TypeError as error:
            reason = "its description of the data is incomplete"
            raise ModelFormatError(self.path / FACTS, reason) from error

    def file(self, name: str) -> Path:
        """Path of a file of the folder.

        Raises
        ------
        FileNotFoundError
            If the folder was written without it.
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
            raise ModelFormatError(path, f"it is not a table ({error})") from error


def _tables(model: Any, data: DataFacts | None) -> dict[str, bytes]:
    """The history and the importances as csv files, if the model has them."""
    tables = {
        HISTORY: history(model),
        IMPORTANCES: importances(model, () if data is None else data.columns),
    }
    return {
        name: table.to_csv(index=name == HISTORY).encode()
        for name, table in tables.items()
        if table is not None
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_plain(name: Any) -> bool:
    """Whether it is the name of a file, without a folder."""
    is_plain = isinstance(name, str) and name == Path(name).name and "\\" not in name
    return is_plain and name not in ("", ".", "..")


def _checked_file(name: Any, content: Any) -> bytes:
    if not _is_plain(name):
        raise ValueError(f"A file in a model folder needs a plain name, got {name!r}.")
    if name in RESERVED:
        raise ValueError(f"The name {name!r} is taken by the model folder itself.")
    if not isinstance(content, bytes | str):
        raise TypeError(f"files must hold bytes or text, got {type(content)} for {name!r}.")
    return content.encode() if isinstance(content, str) else content


def _read_facts(folder: Path) -> dict[str, Any]:
    path = folder / FACTS
    if not path.is_file():
        raise ModelFormatError(folder, f"there is no {FACTS} in it")
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(path, f"it is not json ({error})") from error
    check_version(folder, facts, FOLDER_VERSION)
    files = facts.get("files")
    if (
        not isinstance(files, dict)
        or not all(name in facts for name in ENTRIES)
        or f"model.{facts.get('format')}" not in files
        or not all(map(_is_plain, files))
        or facts.get("history_levels") not in range(1, 10)
    ):
        raise ModelFormatError(folder, f"its {FACTS} is incomplete")
    return facts


def check_path(target: Path, *, overwrite: bool) -> None:
    """Raise if a model folder may not be written to this path."""
    check_parent(target)
    if not target.exists():
        return
    if not target.is_dir():
        raise FileExistsError(f"{target} is a file; pass a folder that does not exist yet.")
    present = {entry.name for entry in target.iterdir()}
    try:
        known = {FACTS, *_read_facts(target)["files"]}
    except ModelFormatError:
        known = set()
    foreign = sorted(present - known)
    if not known and present:
        reason = "is not a model folder; pass another one, or empty it"
    elif present and not overwrite:
        reason = (
            "holds a model; pass another folder, or replace it with overwrite=True (on the command "
            "line: --force)"
        )
    elif foreign:
        reason = f"holds files that did not come with the model, {foreign[:5]}; move them away"
    else:
        return
    raise FileExistsError(f"{target} exists and {reason}.")

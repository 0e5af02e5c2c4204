"""Model folders as verbs see them."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import is_classifier

from randsub.cli.outputs import check_folder, plain_errors
from randsub.cli.tables.columns import as_numbers, with_categories
from randsub.cli.tables.kinds import TableError
from randsub.persistence import DataFacts, ModelFolder


@dataclass(frozen=True)
class OpenModel:
    """A model from its folder.

    Parameters
    ----------
    path : Path
        The folder.
    model : estimator
        The fitted ensemble.
    data : DataFacts or None
        What it was trained on.
    extra : mapping
        What `fit` has written down beside that: ``categorical``, ``weight``, ...
    command : str or None
        The command line that made it.
    made : str
        When that was.
    """

    path: Path
    model: Any
    data: DataFacts | None
    extra: Mapping[str, Any]
    command: str | None
    made: str

    @property
    def task(self) -> str:
        """Regression or classification."""
        return "classification" if is_classifier(self.model) else "regression"

    @property
    def target(self) -> str | None:
        """Name of the column that it predicts, where that is known."""
        return None if self.data is None else self.data.target

    def features(self, path: Path, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns that the model needs, as it was trained on them.

        Parameters
        ----------
        path : Path
            The file of the table, for messages.
        frame : DataFrame
        """
        names = feature_names(self.model)
        known = set(frame.columns)
        lacking = [name for name in names if name not in known]
        if lacking:
            shown = ", ".join(map(repr, lacking[:5])) + (", ..." if len(lacking) > 5 else "")
            raise TableError(
                path,
                f"it lacks {len(lacking)} of the {len(names)} columns that {self.path} was trained "
                f"on: {shown}",
            )
        X = frame[names]
        texts = [name for name in self.extra.get("categorical", ()) if name in set(names)]
        return with_categories(as_numbers(path, X.drop(columns=texts)), X, texts)


def open_model(path: Path, *, allow_joblib: bool = False, trusted: Sequence[str] = ()) -> OpenModel:
    """The model in a folder.

    Parameters
    ----------
    path : Path
    allow_joblib : bool, default=False
        Whether a model file may be loaded that can run any code.
    trusted : sequence of str, default=()
        Types beside our own and scikit-learn's that may be in the file.
    """
    folder = _read(path, allow_joblib=allow_joblib, trusted=trusted)
    model = folder.model
    if not hasattr(model, "feature_importances_"):
        raise ValueError(f"{path} holds a {type(model).__name__}, which has no importances.")
    facts = folder.facts
    command = None if facts["command"] is None else shlex.join(facts["command"])
    return OpenModel(path, model, folder.data, facts["extra"], command, str(facts.get("made")))


def _read(path: Path, *, allow_joblib: bool, trusted: Sequence[str] = ()) -> ModelFolder:
    return ModelFolder.read(path, trusted=trusted, format="joblib" if allow_joblib else "skops")


def describe(path: Path) -> dict[str, Any]:
    """What a folder says about its model, without loading it."""
    folder = _read(path, allow_joblib=False)
    facts = dict(folder.facts)
    command = facts["command"]
    described = {
        "folder": str(path),
        "made": facts.get("made"),
        "command": None if command is None else shlex.join(command),
        "model": facts["model"],
        "data": facts["data"],
        "extra": facts["extra"],
        "scores": facts["scores"],
    }
    history = folder.history
    if history is not None and len(history):
        last = history.iloc[-1].to_dict()
        described["training"] = {"epochs": len(history), **{str(k): v for k, v in last.items()}}
    ranking = folder.importances
    if ranking is not None:
        top = ranking.head(10)
        described["importances"] = dict(zip(top["feature"], top["importance"], strict=True))
    return {**described, "versions": facts["versions"], "files": sorted(facts["files"])}


def check_place(path: Path, *, replace: bool, format: str) -> None:
    """Raise where a model could not be written to a folder."""
    check_folder(path, replace=replace)
    if format == "skops" and find_spec("skops") is None:
        raise ImportError(
            "A model folder needs skops: pip install skops. Without it, --format joblib "
            "writes a file that can run any code when it is loaded."
        )
    if not path.is_dir() or not any(path.iterdir()):
        return
    try:
        known = {"model.json", *_read(path, allow_joblib=False).facts["files"]}
    except ValueError as error:
        raise FileExistsError(
            f"The folder {path} is there and holds no model; name another one."
        ) from error
    foreign = sorted({entry.name for entry in path.iterdir()} - known)
    if foreign:
        raise FileExistsError(
            f"The folder {path} holds {foreign[0]!r}, which did not come with its model; move it "
            "away before the model is replaced."
        )


def write_model(
    path: Path,
    model: Any,
    data: DataFacts,
    *,
    command: Sequence[str],
    extra: Mapping[str, Any],
    replace: bool,
    format: Any,
) -> None:
    """Write a model folder, whole or not at all."""
    with plain_errors(path):
        ModelFolder.write(
            path, model, data=data, command=command, extra=extra, format=format, overwrite=replace
        )


def feature_names(model: Any) -> list[str]:
    """Names of the features, or x0, x1, ... where the model was trained without."""
    named = getattr(model, "feature_names_in_", None)
    if named is None:
        return [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in named]


def importances(model: Any) -> pd.DataFrame:
    """The features, best first: ``rank``, ``feature``, ``importance`` and, if any, ``group``."""
    frame = pd.DataFrame(
        {"feature": feature_names(model), "importance": model.feature_importances_}
    )
    if hasattr(model, "feature_groups_"):
        frame["group"] = model.feature_groups_
    # Stable: equal ones stay in the order of the table.
    frame = frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)
    frame.insert(0, "rank", range(1, len(frame) + 1))
    return frame


def with_parameters(model: Any, given: Mapping[str, Any]) -> Any:
    """The model with the parameters that a user wrote as NAME=VALUE."""
    known = model.get_params(deep=False)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(
            f"--param {unknown[0]}: {type(model).__name__} has no such parameter; it has "
            f"{', '.join(sorted(known))}."
        )
    return model.set_params(**given)

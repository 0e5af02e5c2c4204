"""A model folder as commands use it."""

import argparse
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from randsub.cli.console import Console
from randsub.cli.output_files import already_there
from randsub.cli.tables import Layout, TableError, read_table
from randsub.cli.tables.column_checks import (
    Task,
    as_numbers,
    check_numbers,
    check_weights,
    find_column,
    names_a_row,
    same_labels,
    with_categories,
)
from randsub.cli.tables.file_formats import listed
from randsub.estimators.training_rows import KnownRows, remembered
from randsub.io import ModelFolder
from randsub.io.folder import check_path
from randsub.io.metadata import importances


class FittedModel:
    """The model of the options MODEL, ``--trust`` and ``--allow-joblib``.

    Attributes
    ----------
    folder : ModelFolder
    model : estimator
    task : {"regression", "classification"}
    target : str or None
        Name of the column that the model predicts.
    source : Path or None
        The training table.
    extra : dict
        What ``randsub fit`` noted: ``categorical``, ``weight``, ...
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self.path = args.model
        self.folder = ModelFolder.read(
            args.model, trusted=args.trust, format="joblib" if args.allow_joblib else "skops"
        )
        self.model = self.folder.model
        if not hasattr(self.model, "feature_importances_"):
            raise ValueError(
                f"{self.path} holds a {type(self.model).__name__}, which has no importances."
            )
        self.task: Task = "classification" if is_classifier(self.model) else "regression"
        data = self.folder.data
        self.target = None if data is None else data.target
        self.source = None if data is None or data.source is None else Path(data.source)
        self.extra: dict[str, Any] = self.folder.facts["extra"]
        self.layout = Layout.of(args, self.extra.get("layout"))

    def read(self, path: Path, console: Console) -> pd.DataFrame:
        """A table, laid out as the options say or else as the training table was."""
        return read_table(path, self.layout, console.say)

    def features(self, path: Path, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns that the model was trained on, in its order and with its types."""
        names = feature_names(self.model)
        known = set(frame.columns)
        lacking = [name for name in names if name not in known]
        if lacking:
            transposed = names_a_row(frame, lacking[0])
            raise TableError(
                path,
                f"it lacks {len(lacking)} of the {len(names)} columns that {self.path} was trained "
                f"on: {listed(lacking)}{transposed and f'; {transposed}'}",
            )
        X = frame[names]
        texts = [name for name in self.extra.get("categorical", ()) if name in set(names)]
        return with_categories(as_numbers(path, X.drop(columns=texts)), X, texts)

    def labels(self, path: Path, y: pd.Series) -> Any:
        """Values of the target, as the model was trained on them."""
        if self.task == "regression":
            return check_numbers(path, y)
        return same_labels(path, y, self.model.classes_)

    def samples(self, path: Path, frame: pd.DataFrame) -> tuple[pd.DataFrame, Any, Any]:
        """Features, target, and weights or None."""
        X = self.features(path, frame)
        y = frame[find_column(path, frame, self.target or "y", "the model")]
        weight = self.extra.get("weight")
        if weight is not None:
            weight = check_weights(path, frame[find_column(path, frame, weight, "the model")])
        return X, self.labels(path, y), weight

    def known_rows(self, X: pd.DataFrame, y: Any) -> KnownRows:
        """Which of these rows the model was trained on."""
        trained = remembered(self.model)
        if trained is None:
            return KnownRows(np.zeros(len(y), dtype=bool), len(y))
        return trained.among(X, y)


def feature_names(model: Any) -> list[str]:
    """Names of the features, or x0, x1, ... for a model that was trained without names."""
    named = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if named is None else [*map(str, named)]


def ranked(model: Any) -> pd.DataFrame:
    """Columns ``rank``, ``feature``, ``importance``, and those that the model has besides.

    See :func:`randsub.io.metadata.importances`.
    """
    frame = importances(model)
    assert frame is not None
    frame.insert(0, "rank", range(1, len(frame) + 1))
    return frame


def command_line(folder: ModelFolder) -> str | None:
    """The command that wrote a folder."""
    words = folder.facts["command"]
    return None if words is None else shlex.join(words)


def check_model_folder(path: Path, *, replace: bool, format: str) -> None:
    """Raise if a model folder cannot be written to this path.

    Parameters
    ----------
    path : Path
    replace : bool
        Whether an existing model folder may be replaced; no other folder ever is.
    format : {"skops", "joblib"}
    """
    check_path(path, overwrite=True)
    if not replace and path.is_dir() and any(path.iterdir()):
        raise already_there(path)
    if format == "skops" and find_spec("skops") is None:
        raise ImportError(
            "A model folder needs skops: pip install skops. Without it, use --format joblib, which "
            "writes a file that can run arbitrary code when it is loaded."
        )

"""The training and validation samples of ``randsub fit``, checked before anything is trained."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from randsub.cli.tables import TableError, read_table
from randsub.cli.tables.column_checks import (
    Task,
    as_numbers,
    check_features,
    check_numbers,
    check_target,
    check_weights,
    find_column,
    guess_task,
    same_labels,
    with_categories,
)


@dataclass(frozen=True)
class TrainingTable:
    """Rows to train or validate on.

    Parameters
    ----------
    X : DataFrame of shape (n, M)
    y : Series or ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
    """

    X: pd.DataFrame
    y: Any
    weight: Any

    @property
    def categorical(self) -> list[str]:
        """Columns of text, once the features are checked."""
        return [str(name) for name, dtype in self.X.dtypes.items() if dtype.kind != "f"]


def read_training(args: argparse.Namespace) -> tuple[TrainingTable, Task, str]:
    """The training samples as they are in the file, the task, and why it is that task."""
    samples = _split(args, args.data, args.drop)
    if samples.y.isna().all():
        raise TableError(args.data, f"the target {args.target!r} has no value in any row")
    if args.task is not None:
        return samples, args.task, "as --task says"
    return samples, *guess_task(samples.y)


def check_training(
    args: argparse.Namespace, samples: TrainingTable, task: Task, *, takes_missing: bool
) -> TrainingTable:
    """The training samples as numbers and categories, if a model can be trained on them."""
    y = check_target(args.data, samples.y, task)
    if len(y) < 3:
        raise TableError(args.data, f"it has {len(y)} row(s), but at least 3 are needed")
    X = check_features(
        args.data, samples.X, args.categorical, base=None if takes_missing else args.base
    )
    return TrainingTable(X, y, samples.weight)


def read_validation(
    args: argparse.Namespace, training: TrainingTable, task: Task
) -> TrainingTable | None:
    """The samples of ``--validation``, with the columns of the training table."""
    if args.validation is None:
        return None
    path = args.validation
    samples = _split(args, path, ())
    names = list(training.X.columns)
    known = set(samples.X.columns)
    lacking = [name for name in names if name not in known]
    if lacking:
        raise TableError(path, f"it lacks the column {lacking[0]!r} of the training table")
    X, texts = samples.X[names], training.categorical
    if task == "regression":
        y = check_numbers(path, samples.y)
    else:
        y = same_labels(path, samples.y, training.y)
        new = np.setdiff1d(y, training.y)
        if len(new):
            raise TableError(
                path, f"its target has the class {new[0].item()!r}, which the training table lacks"
            )
    numbers = as_numbers(path, X.drop(columns=texts))
    return TrainingTable(with_categories(numbers, X, texts), y, samples.weight)


def _split(args: argparse.Namespace, path: Path, drop: Any) -> TrainingTable:
    """The columns of a table by what they are for."""
    frame = read_table(path, args.separator)
    _refuse_several(frame, args.target)
    target = find_column(path, frame, args.target, "--target")
    others = [find_column(path, frame, name, "--drop") for name in drop]
    weight = None
    if args.weight is not None:
        others.append(find_column(path, frame, args.weight, "--weight"))
        weight = check_weights(path, frame[args.weight])
    if target in others:
        raise ValueError(f"The column {target!r} cannot be the target and something else.")
    X = frame.drop(columns=[target, *others])
    if not X.shape[1]:
        raise TableError(path, f"it has no column besides the target {target!r}")
    return TrainingTable(X, frame[target], weight)


def _refuse_several(frame: pd.DataFrame, target: str) -> None:
    """Raise a ValueError if the target is a list of columns."""
    names = [name.strip() for name in target.split(",")]
    if len(names) > 1 and target not in frame.columns and all(n in frame.columns for n in names):
        raise ValueError(
            f"--target is one column, got {len(names)}: {', '.join(map(repr, names))}. Run randsub "
            "fit once for each of them; in Python, PRSRegressor and PRSClassifier learn one alpha "
            "for several columns of y."
        )

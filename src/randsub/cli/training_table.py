"""The training and validation samples of ``randsub fit``, checked before anything is trained."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from randsub._typing import IntArray
from randsub.cli.console import Console
from randsub.cli.tables import Layout, TableError, read_table
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
from randsub.cli.tables.identifiers import find_row_labels
from randsub.estimators.fit_data import split_validation

TEST_STREAM = 0x7E57


@dataclass(frozen=True)
class TrainingTable:
    """Rows to train or validate on.

    Parameters
    ----------
    X : DataFrame of shape (n, M)
    y : Series or ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
    left_out : dict, default={}
        Why columns that number or name the rows are not features, by name.
    """

    X: pd.DataFrame
    y: Any
    weight: Any
    left_out: Mapping[str, str] = field(default_factory=dict)

    def take(self, rows: IntArray) -> "TrainingTable":
        """Some of the rows."""
        y = self.y.iloc[rows] if isinstance(self.y, pd.Series) else self.y[rows]
        weight = None if self.weight is None else self.weight[rows]
        X = self.X.iloc[rows].reset_index(drop=True)
        return replace(self, X=X, y=np.asarray(y), weight=weight)

    @property
    def categorical(self) -> list[str]:
        """Columns of text, once the features are checked."""
        return [str(name) for name, dtype in self.X.dtypes.items() if dtype.kind != "f"]


def read_training(args: argparse.Namespace, console: Console) -> tuple[TrainingTable, Task, str]:
    """The training samples as they are in the file, the task, and why it is that task."""
    samples = _without_row_labels(args, _split(args, args.data, args.drop, console), console)
    if samples.y.isna().all():
        raise TableError(args.data, f"the target {args.target!r} has no value in any row")
    if args.task is not None:
        return samples, args.task, "as --task says"
    return samples, *guess_task(args.data, samples.y)


def _without_row_labels(
    args: argparse.Namespace, samples: TrainingTable, console: Console
) -> TrainingTable:
    """The same without columns that are not features, which the user is told."""
    X = samples.X
    for name in args.keep:
        find_column(args.data, X, name, "--keep")
    labels = find_row_labels(X, {*args.keep, *args.categorical})
    console.say_all(labels.told(args.data))
    X = X.drop(columns=list(labels.left_out))
    if not X.shape[1]:
        raise TableError(
            args.data,
            f"all columns besides the target {args.target!r} number or name the rows; use --keep "
            "if they are features",
        )
    return replace(samples, X=X, left_out=labels.left_out)


def check_training(
    args: argparse.Namespace, samples: TrainingTable, task: Task, refusing: Sequence[str]
) -> TrainingTable:
    """The training samples as numbers and categories, if a model can be trained on them.

    `refusing` are the base models that cannot be trained on missing values.
    """
    y = check_target(args.data, samples.y, task)
    if len(y) < 3:
        raise TableError(args.data, f"it has {len(y)} row(s), but at least 3 are needed")
    X = check_features(args.data, samples.X, args.categorical, refusing)
    return replace(samples, X=X, y=y)


def read_held_out(
    args: argparse.Namespace,
    path: Path | None,
    training: TrainingTable,
    task: Task,
    console: Console,
) -> TrainingTable | None:
    """The samples of ``--validation`` or ``--test``, with the columns of the training table."""
    if path is None:
        return None
    samples = _split(args, path, (), console)
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


def split_test(
    samples: TrainingTable, task: Task, fraction: float, seed: int
) -> tuple[TrainingTable, TrainingTable]:
    """Training rows, and a random part of the rows for the test; with classes, of each class."""
    y = np.asarray(samples.y)
    strata = np.unique(y, return_inverse=True)[1] if task == "classification" else None
    # The same rows at every call, and others than those of a validation split with this seed.
    rng = np.random.default_rng([TEST_STREAM, seed])
    kept, aside = split_validation(np.arange(len(y)), fraction, strata, rng)
    return samples.take(kept), samples.take(aside)


def _split(args: argparse.Namespace, path: Path, drop: Any, console: Console) -> TrainingTable:
    """The columns of a table by what they are for."""
    frame = read_table(path, Layout.of(args), console.say)
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

"""Samples to learn from, out of a file: everything checked before anything is trained."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from randsub.cli.tables import TableError, read_table
from randsub.cli.tables.columns import (
    FeatureRules,
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
class Columns:
    """What the columns of a file are for.

    Parameters
    ----------
    target : str
    weight : str or None
        The column of sample weights.
    drop : tuple of str
        Columns that do not count.
    """

    target: str
    weight: str | None
    drop: tuple[str, ...]

    @classmethod
    def asked(cls, args: argparse.Namespace) -> "Columns":
        """As the command line has it."""
        return cls(args.target, args.weight, tuple(args.drop))

    def split(self, path: Path, frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series, Any]:
        """Features, target, and weights or None."""
        target = find_column(path, frame, self.target, "--target")
        others = [find_column(path, frame, name, "--drop") for name in self.drop]
        weight = None
        if self.weight is not None:
            others.append(find_column(path, frame, self.weight, "--weight"))
            weight = check_weights(path, frame[self.weight])
        if target in others:
            raise ValueError(f"The column {target!r} cannot be the target and something else.")
        X = frame.drop(columns=[target, *others])
        if not X.shape[1]:
            raise TableError(path, f"it has no column beside the target {target!r}")
        return X, frame[target], weight


@dataclass(frozen=True)
class Read:
    """A file whose columns are known, but not yet what is learned from it.

    Parameters
    ----------
    path : Path
    X : DataFrame of shape (n, M)
    y : Series of shape (n,)
    weight : ndarray of shape (n,) or None
    task : {"regression", "classification"}
    reason : str
        Why it is that task, in words.
    """

    path: Path
    X: pd.DataFrame
    y: pd.Series
    weight: Any
    task: Task
    reason: str


@dataclass(frozen=True)
class Samples:
    """What is learned from.

    Parameters
    ----------
    X : DataFrame of shape (n, M)
        Columns of floats, and of text for categories.
    y : ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
    """

    X: pd.DataFrame
    y: Any
    weight: Any

    @property
    def categorical(self) -> list[str]:
        """Columns of text."""
        return [str(name) for name, dtype in self.X.dtypes.items() if dtype.kind != "f"]


def read_training(args: argparse.Namespace) -> Read:
    """The training file, and what kind of problem it is."""
    frame = read_table(args.data, args.separator)
    X, y, weight = Columns.asked(args).split(args.data, frame)
    if y.isna().all():
        raise TableError(args.data, f"the target {args.target!r} has no value in any row")
    task, reason = guess_task(y)
    if args.task is not None:
        task, reason = args.task, "as --task says"
    return Read(args.data, X, y, weight, task, reason)


def check_training(read: Read, rules: FeatureRules) -> Samples:
    """The training samples, if they can be learned from."""
    y = check_target(read.path, read.y, read.task)
    if len(y) < 3:
        raise TableError(read.path, f"it has {len(y)} row(s), and at least 3 are needed")
    return Samples(check_features(read.path, read.X, rules), y, read.weight)


def read_validation(args: argparse.Namespace, training: Samples, task: Task) -> Samples | None:
    """The validation file's samples of the training file's columns, if there is one."""
    if args.validation is None:
        return None
    path = args.validation
    frame = read_table(path, args.separator)
    names = list(training.X.columns)
    known = set(frame.columns)
    lacking = [name for name in names if name not in known]
    if lacking:
        raise TableError(path, f"it lacks the column {lacking[0]!r} of the training data")
    columns = Columns(args.target, args.weight, ())
    _, y, weight = columns.split(path, frame)
    X = frame[names]
    texts = training.categorical
    numbers = as_numbers(path, X.drop(columns=texts))
    if task == "regression":
        values = check_numbers(path, y)
    else:
        values = same_labels(path, y, training.y)
        new = np.setdiff1d(values, training.y)
        if len(new):
            raise TableError(
                path, f"its target has the class {new[0].item()!r}, which the training data lacks"
            )
    return Samples(with_categories(numbers, X, texts), values, weight)

"""The datasets of the experiments on simulated problems, and how a cell of them is run."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

import numpy as np

from randsub import datasets
from randsub_experiments.cells import Cell, Row
from randsub_experiments.experiments.base import CHOICES, Experiment, Options
from randsub_experiments.methods import measure
from randsub_experiments.problem import Problem, Task

PROBLEMS: Final = ("checkerboard", "friedman", "hypercube", "linear")
N_TRAIN: Final = 300
N_VAL: Final = 100
# The paper's number, to which its tables belong.
N_IRRELEVANT: Final = 300


class SimulatedExperiment(Experiment):
    """An experiment on the simulated problems."""

    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {**CHOICES, "problems": PROBLEMS}

    def run(self, cell: Cell, data: Path | None) -> Row:
        """Draw the dataset, train, test."""
        return measure(cell, draw_problem(cell))


def draw_problem(cell: Cell) -> Problem:
    """Training, validation and test samples of one dataset, drawn in this order from one seed.

    All are drawn at once, so another number of test samples gives other training samples too.
    """
    parts = [cell.conditions[part] for part in ("n_train", "n_val", "n_test")]
    make = getattr(datasets, f"make_{cell.problem}")
    X, y, relevant = make(sum(parts), cell.conditions["n_irrelevant"], random_state=cell.seed)
    train, val, test = np.split(np.arange(len(X)), np.cumsum(parts)[:-1])
    task: Task = "regression" if y.dtype.kind == "f" else "classification"
    return Problem(task, X[train], y[train], X[val], y[val], X[test], y[test], relevant)


def sizes(options: Options, n_irrelevant: int, n_train: int = N_TRAIN) -> dict[str, int]:
    """Sizes of one dataset, as conditions of a cell."""
    return {
        "n_irrelevant": n_irrelevant,
        "n_train": n_train,
        "n_val": N_VAL,
        "n_test": options.test_samples,
    }

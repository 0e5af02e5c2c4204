"""What an experiment is: it lists its cells, runs one, and makes tables and figures of results."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import pandas as pd
from matplotlib.figure import Figure

from randsub_experiments.cells import BASE_LABELS, Cell, Row
from randsub_experiments.prs_settings import SETTINGS
from randsub_experiments.result_table import Table

# Flags and choices that most experiments share.
COMMON_FLAGS: Final = ("problems", "bases", "methods", "settings", "replicates", "epochs")
RASE_FLAGS: Final = ("rase_candidates", "rase_iterations")
METHODS: Final = ("single", "rs", "rase", "prs", "rf", "gbdt")
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "bases": tuple(BASE_LABELS),
    "methods": METHODS,
    "settings": tuple(SETTINGS),
}


@dataclass(frozen=True)
class Options:
    """How much of an experiment is run.

    An experiment uses those that its ``flags`` name.

    Parameters
    ----------
    problems, bases, methods, settings, ablations : tuple of str
        What is run; empty problems are all that there are in the data folder.
    replicates : int
        Number of datasets or resamplings.
    epochs : int or None
        Number of epochs of PRS in place of the setting's.
    irrelevant, samples : tuple of int
        Numbers of irrelevant features and of training samples.
    test_samples : int
        Number of test samples.
    noise : float
        Standard deviation of the noise on images whose ink is 1.
    salt_and_pepper : float
        Probability with which a pixel of an image is ink or background by chance.
    coefficients : tuple of float
        Coefficients of each kind of penalty among which one is chosen.
    trees : int
        Number of trees of each forest of GENIE3.
    rase_candidates, rase_iterations : int
        Number of subsets among which RaSE chooses each of its members, and of its iterations.
    data : Path or None
        Folder of the data sets.
    fetch : bool
        Whether to download the data sets; ``data`` is then where downloads are kept.
    """

    problems: tuple[str, ...] = ()
    bases: tuple[str, ...] = ("tree", "knn", "svm")
    methods: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    ablations: tuple[str, ...] = ()
    replicates: int = 10
    epochs: int | None = None
    irrelevant: tuple[int, ...] = (300,)
    samples: tuple[int, ...] = (300,)
    test_samples: int = 1000
    noise: float = 0.65
    salt_and_pepper: float = 0.0
    coefficients: tuple[float, ...] = (0.0, 1e-4, 1e-3, 1e-2)
    trees: int = 1000
    rase_candidates: int = 500
    rase_iterations: int = 10
    data: Path | None = None
    fetch: bool = False


class Experiment(ABC):
    """One experiment of the paper.

    ``flags`` are the options it uses, ``choices`` the values of those with a fixed list, ``full``
    the options that repeat the paper and ``quick`` those that take minutes.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    flags: ClassVar[tuple[str, ...]]
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = CHOICES
    full: ClassVar[Options]
    quick: ClassVar[Options]

    @abstractmethod
    def cells(self, options: Options) -> list[Cell]:
        """All cells, in the order in which they are run."""

    @abstractmethod
    def run(self, cell: Cell, data: Path | None) -> Row:
        """The numbers of one cell; ``data`` is the folder of the data sets, if any are read."""

    @abstractmethod
    def tables(self, results: pd.DataFrame) -> list[Table]:
        """Tables of the results, beside the paper's numbers."""

    @abstractmethod
    def figures(self, results: pd.DataFrame) -> dict[str, Figure]:
        """Figures of the results, by name."""

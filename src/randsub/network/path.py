"""The path of coefficients: what all trainings found for each of them, and which one is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from randsub._typing import FloatArray, IntArray
from randsub.network.link_rules import mean_score
from randsub.network.solving import Judged, Solution


@dataclass(frozen=True)
class PathPoint(Judged):
    """Solutions with one coefficient.

    Parameters
    ----------
    repeats : sequence of sequences of Solution
        By repeat, and by base model if these are trained apart.
    rows : sequence of int ndarrays
        Samples on which the errors of each repeat are.
    """

    repeats: Sequence[Sequence[Solution]]
    rows: Sequence[IntArray]

    @property
    def solutions(self) -> list[Solution]:
        """All solutions."""
        return [solution for repeat in self.repeats for solution in repeat]

    @property
    def lam(self) -> float:
        """The coefficient."""
        return self.repeats[0][0].lam

    @cached_property
    def errors(self) -> FloatArray:  # type: ignore[override]
        """Error of each validation sample, the mean over all repeats that have left it out."""
        samples, places = np.unique(np.concatenate(self.rows), return_inverse=True)
        errors = np.concatenate([mean_score([s.errors for s in repeat]) for repeat in self.repeats])
        total = np.bincount(places, errors, len(samples))
        return np.asarray(total / np.bincount(places))

    @cached_property
    def alpha(self) -> FloatArray:
        """Best alpha of each target, (P, M), the mean of all solutions."""
        return mean_score([solution.alpha for solution in self.solutions])

    @property
    def n_models(self) -> int:
        """Base models trained."""
        return sum(solution.n_models for solution in self.solutions)

    @property
    def seconds(self) -> float:
        """Duration."""
        return sum(solution.seconds for solution in self.solutions)


def path_table(points: Sequence[PathPoint], n_regulators: int | None = None) -> pd.DataFrame:
    """One row per coefficient, with the columns of ``PRSNetwork.path_``.

    ``n_regulators`` is their number, if there are shadows behind them.
    """
    return pd.DataFrame(
        {
            "lam": [p.lam for p in points],
            "validation_error": [p.error for p in points],
            "standard_error": [p.standard_error for p in points],
            "mean_size": [float(p.alpha[:, :n_regulators].sum(axis=1).mean()) for p in points],
            "seconds": [p.seconds for p in points],
            "n_models": [p.n_models for p in points],
        }
    )


def choose(path: pd.DataFrame, rule: str) -> int:
    """Choose the row of a path with the lowest error, or the sparsest one within one SE of it.

    Parameters
    ----------
    path : DataFrame
        With ``lam``, ``validation_error`` and ``standard_error``.
    rule : {"lowest", "one_se"}
        With "one_se" it is the row with the largest coefficient whose error is within one standard
        error of the lowest.

    Returns
    -------
    row : int
        Position in the path; the first among equals.
    """
    error = path["validation_error"].to_numpy(dtype=float)
    best = int(np.argmin(error))
    if rule == "lowest":
        return best
    limit = error[best] + float(path["standard_error"].iloc[best])
    return int(np.argmax(np.where(error <= limit, path["lam"].to_numpy(dtype=float), -np.inf)))

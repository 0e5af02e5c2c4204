"""The data of one cell, what is kept of a trained method, and the base models by name."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub._typing import FloatArray, IntArray
from randsub.penalties import Penalty

Task = Literal["regression", "classification"]

BASES: Final[dict[str, dict[Task, type[Any]]]] = {
    "tree": {"regression": DecisionTreeRegressor, "classification": DecisionTreeClassifier},
    "knn": {"regression": KNeighborsRegressor, "classification": KNeighborsClassifier},
    "svm": {"regression": SVR, "classification": SVC},
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Data of one cell.

    Parameters
    ----------
    task : {"regression", "classification"}
        Kind of target.
    X_train, X_val, X_test : ndarray of shape (n_samples, n_features)
        Features of the three parts.
    y_train, y_val, y_test : ndarray of shape (n_samples,)
        Their targets.
    relevant : int ndarray, default=None
        Columns that determine y, where they are known.
    penalty : Penalty, default=None
        Penalty of PRS, unless the parameters of the cell name some.
    refit : bool, default=False
        Whether models are trained on training and validation samples in the end. Ensembles of
        randsub then get both as one and set validation samples aside themselves.
    """

    task: Task
    X_train: FloatArray
    y_train: Any
    X_val: FloatArray
    y_val: Any
    X_test: FloatArray
    y_test: Any
    relevant: IntArray | None = None
    penalty: Penalty | None = None
    refit: bool = False

    @property
    def both(self) -> tuple[FloatArray, Any]:
        """Features and targets of training and validation samples."""
        return (
            np.concatenate([self.X_train, self.X_val]),
            np.concatenate([self.y_train, self.y_val]),
        )

    @property
    def final(self) -> tuple[FloatArray, Any]:
        """Features and targets of the samples that the final model is trained on."""
        return self.both if self.refit else (self.X_train, self.y_train)

    @property
    def parts(self) -> dict[str, Any]:
        """Arguments of ``fit`` of an ensemble of randsub."""
        X, y = self.final
        held_out = {} if self.refit else {"X_val": self.X_val, "y_val": self.y_val}
        return {"X": X, "y": y, **held_out}

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X_train.shape[1])


@dataclass(frozen=True)
class Fitted:
    """A trained method, and what is measured of it.

    Parameters
    ----------
    model : estimator
    models : int
        Number of models that were trained.
    size : float, default=None
        Number of features of a member on average.
    epochs : int, default=None
    tuned : float, default=None
        The hyper-parameter that was chosen; of several at once, the place of the chosen values in
        the grid, from 0.
    ranking : ndarray of shape (n_features,), default=None
        Importances.
    """

    model: Any
    models: int
    size: float | None = None
    epochs: int | None = None
    tuned: float | None = None
    ranking: FloatArray | None = None


def best_on_validation(
    candidates: Iterable[tuple[float, Any]], problem: Problem
) -> tuple[float, Any]:
    """Value of the candidate with the best validation score, and its final model.

    Parameters
    ----------
    candidates : iterable of (float, estimator)
        Values, and models trained on the training samples; the first of several equals is taken.
    problem : Problem

    Returns
    -------
    value : float
    model : estimator
        Trained on the samples of ``problem.final``.
    """
    best: tuple[float, float, Any] | None = None
    for value, model in candidates:
        score = model.score(problem.X_val, problem.y_val)
        if best is None or score > best[0]:
            best = (score, value, model)
    if best is None:
        raise ValueError("There are no candidates to choose from.")
    value, model = best[1:]
    return value, clone(model).fit(*problem.final) if problem.refit else model


def seeded(model: Any, seed: int) -> Any:
    """The model with this random state, if it has one."""
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model

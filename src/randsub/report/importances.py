"""What the model says of each feature, as columns of one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from randsub._typing import FloatArray, IntArray
from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.report.markup import visible

# Digits that travel with the page: more than anyone reads, fewer than a float has.
DIGITS = 6


@dataclass(frozen=True, eq=False)
class Column:
    """One column of the table.

    Parameters
    ----------
    key : str
    label : str
        Its head.
    kind : {"name", "probability", "number", "count"}
        How it is sorted and drawn.
    values : sequence
        One for each feature, in the order of the table.
    explanation : str
        What the number means.
    """

    key: str
    label: str
    kind: Literal["name", "probability", "number", "count"]
    values: Sequence[Any]
    explanation: str


@dataclass(frozen=True, eq=False)
class Importances:
    """Features from the most important to the least.

    Parameters
    ----------
    names : list of str
        In the order of the columns of X.
    alpha : ndarray of shape (n_features,)
        Importance of each, in the same order.
    held : int ndarray of shape (n_features,)
        Members of the final ensemble that see it.
    order : int ndarray of shape (n_features,)
        Columns of X by falling alpha; among equal ones, as they stand in X.
    columns : list of Column
        What is shown, in this order.
    """

    names: list[str]
    alpha: FloatArray
    held: IntArray
    order: IntArray
    columns: list[Column]

    def top(self, n: int) -> list[str]:
        """Names of the most important features."""
        return [self.names[j] for j in self.order[:n]]


def feature_names(model: SubspaceEnsemble) -> list[str]:
    """Names of the columns of X as the page shows them: x0, x1, ... where they have none."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(model.n_features_in_)]
    return [visible(str(name)) for name in names]


def members_holding(model: SubspaceEnsemble) -> IntArray:
    """Number of members that see each feature, shape (n_features,)."""
    held = np.concatenate([np.asarray(f, dtype=np.intp) for f in model.estimators_features_])
    return np.bincount(held, minlength=model.n_features_in_)


def rank_features(model: SubspaceEnsemble, stability: pd.DataFrame | None) -> Importances | None:
    """The table of features; None for an ensemble that has learned nothing about them.

    Parameters
    ----------
    model : fitted ensemble
    stability : DataFrame or None
        One row for each feature, in the order of the columns of X, with the columns ``mean``,
        ``lower``, ``upper`` and ``frequency``.
    """
    alpha = getattr(model, "alpha_", None)
    if alpha is None:
        return None
    names, held = feature_names(model), members_holding(model)
    order = np.argsort(-alpha, kind="stable")
    ranks = np.arange(1, len(alpha) + 1)
    columns = [
        Column("rank", "Rank", "count", ranks.tolist(), "Place by alpha."),
        Column("name", "Feature", "name", [names[j] for j in order], "Column of the data."),
        Column(
            "alpha",
            "Alpha",
            "probability",
            _short(alpha[order]),
            "Probability with which a member sees the feature: its importance.",
        ),
        Column(
            "held",
            "Members",
            "count",
            held[order].tolist(),
            f"How many of the {len(model.estimators_)} members of the ensemble see the feature.",
        ),
    ]
    groups = getattr(model, "feature_groups_", None)
    if groups is not None:
        columns.append(
            Column(
                "group",
                "Group",
                "count",
                np.asarray(groups)[order].tolist(),
                "Columns with the same number are drawn together and share one alpha.",
            )
        )
    if stability is not None:
        columns += _stability_columns(stability.iloc[order])
    return Importances(names, alpha, held, order, columns)


def _stability_columns(ordered: pd.DataFrame) -> list[Column]:
    explained = {
        "frequency": ("Selected", "Share of the reruns that select the feature.", "probability"),
        "mean": ("Mean alpha", "Alpha, averaged over the reruns.", "number"),
        "lower": ("Low", "Lower end of the interval of alpha over the reruns.", "number"),
        "upper": ("High", "Upper end of the interval of alpha over the reruns.", "number"),
    }
    return [
        Column(key, label, kind, _short(ordered[key].to_numpy(dtype=float)), explanation)  # type: ignore[arg-type]
        for key, (label, explanation, kind) in explained.items()
    ]


def _short(values: FloatArray) -> list[float | None]:
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]

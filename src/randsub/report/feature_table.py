"""The table of features: what the model, and repeats or reruns of it, say of each."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pandas as pd

from randsub.estimators.assembly import has_repeats
from randsub.estimators.base import SubspaceEnsemble
from randsub.inspection.feature_names import column_names
from randsub.report.markup import visible
from randsub.report.text_format import rounded
from randsub.selection import Stability

# Significant digits of the numbers that travel with the page.
DIGITS = 6


class Column(NamedTuple):
    """Meaning of a column of the table.

    Parameters
    ----------
    label : str
        Its head.
    kind : {"name", "probability", "number", "count"}
        How it is sorted and drawn.
    explanation : str
    """

    label: str
    kind: Literal["name", "probability", "number", "count"]
    explanation: str


COLUMNS: Final[Mapping[str, Column]] = {
    "rank": Column("Rank", "count", "Rank by alpha."),
    "name": Column("Feature", "name", "Column of the data."),
    "alpha": Column("Alpha", "probability", "Probability that a member sees it: the importance."),
    "std": Column("Spread", "number", "Standard deviation of alpha over the repeats of the fit."),
    "held": Column("Members", "count", "Number of members of the ensemble that see the feature."),
    "group": Column("Group", "count", "Columns with the same number share one alpha."),
    "frequency": Column("Selected", "probability", "Share of the runs that select the feature."),
    "mean": Column("Mean alpha", "number", "Mean of alpha over the runs."),
    "lower": Column("Low", "number", "Lower end of the interval of alpha over the runs."),
    "upper": Column("High", "number", "Upper end of the interval of alpha over the runs."),
}


def feature_names(model: SubspaceEnsemble) -> list[str]:
    """Names of the columns of X as the page shows them."""
    return [visible(name) for name in column_names(model, model.n_features_in_)]


def rank_features(
    model: SubspaceEnsemble, stability: Stability | None = None
) -> pd.DataFrame | None:
    """Features by decreasing alpha; equal ones as in X. None for a model without importances.

    Parameters
    ----------
    model : fitted ensemble
    stability : Stability or None, default=None
        Runs whose ``mean``, ``lower``, ``upper`` and ``frequency`` are shown.

    Returns
    -------
    table : DataFrame or None
        Some of the columns of :data:`COLUMNS`, in their order.
    """
    alpha = getattr(model, "alpha_", None)
    if alpha is None:
        return None
    held = np.concatenate([np.asarray(f, dtype=np.intp) for f in model.estimators_features_])
    columns = {
        "name": feature_names(model),
        "alpha": alpha,
        "held": np.bincount(held, minlength=model.n_features_in_),
        "group": getattr(model, "feature_groups_", None),
    }
    if has_repeats(model):
        columns["std"] = model.alpha_std_
    if stability is not None:
        columns |= {key: getattr(stability, key) for key in ("frequency", "lower", "upper")}
        if stability.runs != "repeats":
            # The mean over repeats is alpha itself.
            columns["mean"] = stability.mean
    present = {key: np.asarray(columns[key]) for key in COLUMNS if columns.get(key) is not None}
    table = pd.DataFrame(present).iloc[np.argsort(-alpha, kind="stable")]
    table.insert(0, "rank", np.arange(1, len(table) + 1))
    return table


def table_data(table: pd.DataFrame) -> dict[str, Any]:
    """The whole table for the script of the page, column by column."""
    columns = {str(key): table[key] for key in table}
    return {
        "columns": [{"key": key, **COLUMNS[key]._asdict()} for key in columns],
        "values": [
            rounded(values, DIGITS) if values.dtype.kind == "f" else values.tolist()
            for values in columns.values()
        ],
    }


def check_stability(model: SubspaceEnsemble, stability: Any) -> None:
    """Raise unless reruns are about the features of the model; None passes."""
    if stability is None:
        return
    if not isinstance(stability, Stability):
        raise TypeError(
            "stability must be a result of randsub.selection.stability, got "
            f"{type(stability).__name__}."
        )
    ours, table = feature_names(model), stability.table()
    if len(table) != len(ours):
        raise ValueError(
            f"stability is about {len(table)} features, but the model has seen {len(ours)}; use "
            "the result for the same data."
        )
    theirs = [visible(str(name)) for name in table["feature"]]
    if hasattr(model, "feature_names_in_") and ours != theirs:
        strange = next(name for name, other in zip(ours, theirs, strict=True) if name != other)
        raise ValueError(
            f"stability is about other features than the model, which has {strange!r} in a place "
            "where the reruns have another feature; use the result for the same columns."
        )

"""What is worth knowing about a model and its data, as values that JSON can hold."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from randsub._hashing import data_digest
from randsub._tables import frame_kind
from randsub._typing import Table
from randsub.estimators.assembly import has_repeats
from randsub.exceptions import as_sentence
from randsub.losses import METRICS

# Longer arrays are described, not listed.
LISTED = 1000


@dataclass(frozen=True)
class DataFacts:
    """Description of the data that a model was fitted on.

    Parameters
    ----------
    n_samples, n_features : int
    columns : list of str
        Names of the columns of X; empty if they have no names.
    target : str or None
        Name of the target.
    source : str or None
        Path or name of the data.
    fingerprint : str
        Digest that changes when the data does; the same for equal data from any file.
    """

    n_samples: int
    n_features: int
    columns: list[str]
    target: str | None
    source: str | None
    fingerprint: str

    @classmethod
    def of(
        cls,
        X: Table,
        y: Any = None,
        *,
        target: str | None = None,
        source: str | PathLike[str] | None = None,
    ) -> Self:
        """Describe the data.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        target : str, default=None
            Name of the target; by default the name of y, if it has one.
        source : path-like, default=None
            Path or name of the data.
        """
        if target is None and isinstance(getattr(y, "name", None), str):
            target = y.name
        table: Any = X if frame_kind(X) is not None or sparse.issparse(X) else np.asarray(X)
        return cls(
            n_samples=int(table.shape[0]),
            n_features=int(table.shape[1]),
            columns=[str(name) for name in table.columns] if frame_kind(table) else [],
            target=target,
            source=None if source is None else str(source),
            fingerprint=data_digest(table) if y is None else data_digest(table, np.asarray(y)),
        )


def inner_model(model: Any) -> Any:
    """The last step of a pipeline, or the best model of a search."""
    if isinstance(model, Pipeline):
        return inner_model(model.steps[-1][1])
    if hasattr(model, "best_estimator_"):
        return inner_model(model.best_estimator_)
    return model


def model_facts(model: Any) -> dict[str, Any]:
    """Type, task, parameters and seed of a model.

    Returns
    -------
    facts : dict
        ``type``, ``task`` ("classification", "regression" or None), ``parameters`` by name, and
        ``seed``, the ``random_state`` of the inner model if it is a number; of a model with several
        base models also their ``shares`` by name.
    """
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    inner = inner_model(model)
    seed = getattr(inner, "random_state", None)
    shares = {"shares": inner.shares_} if hasattr(inner, "shares_") else {}
    tasks = {"classification": is_classifier(model), "regression": is_regressor(model)}
    return {
        "type": f"{type(model).__module__}.{type(model).__qualname__}",
        "task": next((task for task, applies in tasks.items() if applies), None),
        "parameters": {name: jsonable(value) for name, value in sorted(parameters.items())},
        "seed": int(seed) if isinstance(seed, int | np.integer) else None,
        **shares,
    }


def model_scores(model: Any) -> dict[str, float]:
    """The validation score of a model's fit by name, and its spread over repeats, if it has one."""
    inner = inner_model(model)
    values = getattr(inner, "validation_scores_", None)
    if values is None or not np.isfinite(inner.validation_score_):
        return {}
    name = f"validation_{METRICS[inner._task].lower()}"
    scores = {name: float(inner.validation_score_)}
    if has_repeats(inner):
        scores[f"{name}_std"] = float(np.nanstd(values))
    return scores


def jsonable(value: Any) -> Any:
    """A value as JSON can hold it; what it cannot hold is described in words."""
    try:
        return json.loads(json.dumps(value, default=_plain, allow_nan=False))
    except (TypeError, ValueError):
        return _words(value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.size > LISTED:
        return f"array of shape {value.shape} and type {value.dtype}"
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else _words(value)


def _words(value: Any) -> str:
    return " ".join(repr(value).split())


def check_json(name: str, value: Any) -> Any:
    """A user's value as it is read back from JSON; raises a TypeError if JSON cannot hold it."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(
            as_sentence(f"{name} must hold values that JSON can hold: {error}")
        ) from None


def importances(model: Any, columns: Sequence[str] = ()) -> pd.DataFrame | None:
    """Importance of each feature, in decreasing order; None for a model without importances.

    Parameters
    ----------
    model : estimator
    columns : sequence of str, default=()
        Names of the columns of X, for a model that was fitted without names.

    Returns
    -------
    importances : pandas.DataFrame
        Columns ``feature`` and ``importance``, largest first; for a model with several repeats also
        ``std``, the standard deviation over these, for one with several base models ``alpha_knn``
        and so on, the alpha of each, and with feature groups ``group``.
    """
    inner = inner_model(model)
    values = getattr(inner, "feature_importances_", None)
    if values is None:
        return None
    names = [str(name) for name in getattr(inner, "feature_names_in_", ())]
    if not names and len(columns) == len(values) and inner is model:
        names = list(columns)
    names = names or [f"x{j}" for j in range(len(values))]
    table = pd.DataFrame({"feature": names, "importance": values})
    if has_repeats(inner):
        table["std"] = inner.alpha_std_
    if hasattr(inner, "shares_"):
        for name, alphas in inner.alphas_.items():
            table[f"alpha_{name}"] = alphas.mean(axis=0)
    if hasattr(inner, "feature_groups_"):
        table["group"] = inner.feature_groups_
    # A stable sort keeps ties in the order of the table.
    return table.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


def history(model: Any) -> pd.DataFrame | None:
    """The history of a model's training; None for a model without one."""
    found = getattr(inner_model(model), "history_", None)
    return found if isinstance(found, pd.DataFrame) else None

"""What is worth knowing of a model and its data, in words and numbers that json can hold."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from randsub._tables import frame_kind
from randsub._typing import Table

# Longer arrays are described, not listed.
LISTED = 1000


@dataclass(frozen=True)
class DataFacts:
    """What a model was fitted on.

    Parameters
    ----------
    n_samples, n_features : int
    columns : list of str
        Names of the columns of X; empty where they have none.
    target : str or None
        Name of the target.
    source : str or None
        Where the data came from, as a path or a name.
    fingerprint : str
        Changes when the data does; the same for equal data, in whatever file it was.
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
        """Look at the data.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        target : str, default=None
            Name of the target; that of y by default, where it has one.
        source : path-like, default=None
        """
        if target is None and isinstance(getattr(y, "name", None), str):
            target = y.name
        table: Any = X if frame_kind(X) is not None or sparse.issparse(X) else np.asarray(X)
        columns = [str(name) for name in table.columns] if frame_kind(table) else []
        return cls(
            n_samples=int(table.shape[0]),
            n_features=int(table.shape[1]),
            columns=columns,
            target=target,
            source=None if source is None else str(source),
            fingerprint=fingerprint(table, y),
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """What :func:`dataclasses.asdict` made of it."""
        return cls(**{field.name: content[field.name] for field in fields(cls)})

    def to_json(self) -> dict[str, Any]:
        """As a dictionary."""
        return asdict(self)


def fingerprint(X: Table, y: Any = None) -> str:
    """A short hexadecimal number that changes when the data does.

    Numbers count by their value, not by their type, and names of columns count; so a frame and
    the file that it was written to agree, as long as all its digits are in the file.

    Parameters
    ----------
    X : {array, sparse matrix, data frame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default=None

    Returns
    -------
    fingerprint : str
    """
    digest = hashlib.sha256()
    for name, values in _lines(X):
        _add(digest, name, values)
    if y is not None:
        _add(digest, "target", np.asarray(y))
    return digest.hexdigest()[:32]


def _lines(X: Table) -> list[tuple[str, Any]]:
    """Columns with their names, or the arrays that a sparse matrix is made of."""
    if sparse.issparse(X):
        rows = sparse.csr_array(X)
        rows.sum_duplicates()
        return [
            ("shape", np.array(X.shape)),
            ("at", rows.indptr),
            ("in", rows.indices),
            ("", rows.data),
        ]
    if frame_kind(X) == "polars":
        return [(name, X[name].to_numpy()) for name in X.columns]
    if frame_kind(X) == "pandas":
        return [(str(name), X.iloc[:, j]) for j, name in enumerate(X.columns)]
    return [(str(j), column) for j, column in enumerate(np.asarray(X).T)]


def _add(digest: Any, name: str, values: Any) -> None:
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        kind, content = "number", np.ascontiguousarray(array, dtype="<f8").tobytes()
    else:
        kind = "text"
        content = "\0".join("" if pd.isna(v) else str(v) for v in array.ravel().tolist()).encode()
    digest.update(f"{len(name)}:{name}:{kind}:{array.size}:{len(content)}:".encode())
    digest.update(content)


def inner_model(model: Any) -> Any:
    """The model that learned: the last step of a pipeline, the best one of a search."""
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
        ``seed``, the inner model's ``random_state`` where it is a number.
    """
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    seed = getattr(inner_model(model), "random_state", None)
    task = "classification" if is_classifier(model) else None
    if task is None and is_regressor(model):
        task = "regression"
    return {
        "type": f"{type(model).__module__}.{type(model).__qualname__}",
        "task": task,
        "parameters": {name: jsonable(value) for name, value in sorted(parameters.items())},
        "seed": int(seed) if isinstance(seed, int | np.integer) else None,
    }


def jsonable(value: Any) -> Any:
    """A value as json can hold it; what it cannot is told in words."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else repr(value)
    if isinstance(value, np.ndarray):
        if value.size > LISTED:
            return f"array of shape {value.shape} and type {value.dtype}"
        return jsonable(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    return " ".join(repr(value).split())


def check_json(name: str, value: Any) -> Any:
    """A value that the user gives, if json can hold it as it is.

    Raises
    ------
    TypeError
    """
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold what json can: {error}.") from None
    return json.loads(text)


def importances(model: Any, columns: Sequence[str] = ()) -> pd.DataFrame | None:
    """Importance of each feature, the largest first; None for a model that has none.

    Parameters
    ----------
    model : estimator
    columns : sequence of str, default=()
        Names of the columns of X, for a model that has not kept them.

    Returns
    -------
    importances : pandas.DataFrame
        Columns ``feature`` and ``importance``.
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
    return table.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


def history(model: Any) -> pd.DataFrame | None:
    """The history of a model's training; None for a model that has none."""
    found = getattr(inner_model(model), "history_", None)
    return found if isinstance(found, pd.DataFrame) else None


def relative_name(name: Any) -> str:
    """The name of a file in a folder, if it is just that.

    Raises
    ------
    ValueError
    """
    if not isinstance(name, str) or not name or name != Path(name).name or "\\" in name:
        raise ValueError(f"a file in a model folder has a plain name, got {name!r}.")
    return name

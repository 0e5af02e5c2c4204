"""Base models by the names that a user writes."""

import difflib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

Task = Literal["regression", "classification"]

BASES: Final[Mapping[str, Mapping[Task, str]]] = {
    "tree": {
        "regression": "sklearn.tree:DecisionTreeRegressor",
        "classification": "sklearn.tree:DecisionTreeClassifier",
    },
    "knn": {
        "regression": "sklearn.neighbors:KNeighborsRegressor",
        "classification": "sklearn.neighbors:KNeighborsClassifier",
    },
    "svm": {"regression": "sklearn.svm:SVR", "classification": "sklearn.svm:SVC"},
    "ridge": {
        "regression": "sklearn.linear_model:Ridge",
        "classification": "sklearn.linear_model:RidgeClassifier",
    },
    "linear": {
        "regression": "sklearn.linear_model:LinearRegression",
        "classification": "sklearn.linear_model:LogisticRegression",
    },
    "nb": {"classification": "sklearn.naive_bayes:GaussianNB"},
    "lda": {"classification": "sklearn.discriminant_analysis:LinearDiscriminantAnalysis"},
}


def make_base(name: str, params: Sequence[tuple[str, Any]], task: Task) -> Any:
    """A base model.

    Parameters
    ----------
    name : str
        One of `BASES`, or ``module:Class``.
    params : sequence of (str, value)
        Its parameters.
    task : {"regression", "classification"}

    Returns
    -------
    estimator : estimator
    """
    if ":" in name:
        cls = _imported(name)
    elif name not in BASES:
        near = difflib.get_close_matches(name, BASES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"There is no base model {name!r}; use {', '.join(BASES)}, or module:Class.{hint}"
        )
    elif task not in BASES[name]:
        others = [other for other, known in BASES.items() if task in known]
        raise ValueError(
            f"The base model {name} knows no {task}; use {', '.join(others)}, or module:Class."
        )
    else:
        cls = _imported(BASES[name][task])
    try:
        base = cls(**dict(params))
    except TypeError as error:
        raise ValueError(f"--base-param does not fit --base {name}: {error}.") from error
    if not (hasattr(base, "fit") and hasattr(base, "predict")):
        raise ValueError(
            f"--base {name} makes a {type(base).__name__}, which cannot fit and predict."
        )
    return base


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    # As python -m does: a class of one's own lies in the folder one works in.
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise ValueError(
            f"--base {path}: the module {module!r} cannot be imported ({error})."
        ) from error
    except AttributeError as error:
        raise ValueError(f"--base {path}: the module {module!r} has no {name!r}.") from error
    if not callable(found):
        raise ValueError(f"--base {path} is a {type(found).__name__}, and should be a class.")
    return found

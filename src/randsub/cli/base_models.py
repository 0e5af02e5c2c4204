"""Base models by the names that are used on the command line."""

import difflib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from randsub.exceptions import as_sentence

Task = Literal["regression", "classification"]

# What leaves the choice to the library. Its own name for it is where importing takes long.
AUTO: Final = "auto"
# Module, regressor and classifier.
BASE_MODELS: Final[Mapping[str, tuple[str, str | None, str]]] = {
    "tree": ("sklearn.tree", "DecisionTreeRegressor", "DecisionTreeClassifier"),
    "boosting": (
        "sklearn.ensemble",
        "GradientBoostingRegressor",
        "GradientBoostingClassifier",
    ),
    "knn": ("sklearn.neighbors", "KNeighborsRegressor", "KNeighborsClassifier"),
    "svm": ("sklearn.svm", "SVR", "SVC"),
    "ridge": ("sklearn.linear_model", "Ridge", "RidgeClassifier"),
    "linear": ("sklearn.linear_model", "LinearRegression", "LogisticRegression"),
    "nb": ("sklearn.naive_bayes", None, "GaussianNB"),
    "lda": ("sklearn.discriminant_analysis", None, "LinearDiscriminantAnalysis"),
}


def make_base_models(names: str, params: Sequence[tuple[str, Any]], task: Task) -> Any:
    """A base model, a list of (name, base model) if there are several, or "auto".

    Parameters
    ----------
    names : str
        Names of base models, separated by commas, see :func:`make_base_model`; or "auto".
    params : sequence of (str, value)
        If there are several, parameters begin with the name of one: ``knn__n_neighbors``.
    task : {"regression", "classification"}
    """
    if AUTO in (alone := [name.strip() for name in names.split(",")]):
        if len(alone) > 1:
            raise ValueError(
                f"--base {names}: auto stands alone; name the base models, or write it only."
            )
        if params:
            raise ValueError(
                f"--base-param {params[0][0]}: --base auto chooses the parameters of its base "
                "models; name the base models to set them."
            )
        return AUTO
    if "," not in names:
        return make_base_model(names, params, task)
    # That of a class is its own, without its module.
    kinds = [(kind.rpartition(":")[2], kind) for kind in map(str.strip, names.split(","))]
    own: dict[str, list[tuple[str, Any]]] = {name: [] for name, _ in kinds}
    if len(own) < len(kinds):
        raise ValueError(f"--base {names} has a name more than once; name each base model once.")
    for param, value in params:
        name, _, inner = param.partition("__")
        if name not in own or not inner:
            raise ValueError(
                f"--base-param {param}: write which of {', '.join(own)} it belongs to, such as "
                f"{kinds[0][0]}__{inner or param}."
            )
        own[name].append((inner, value))
    return [(name, make_base_model(kind, own[name], task)) for name, kind in kinds]


def refusing_missing(names: str, base: Any) -> list[str]:
    """Names of those base models that cannot be trained on missing values.

    Parameters
    ----------
    names : str
        As for :func:`make_base_models`.
    base : object
        What it returned for them.
    """
    from randsub.estimators.validation import takes_missing

    if isinstance(base, str):
        return []
    models = base if isinstance(base, list) else [(names, base)]
    return [name for name, model in models if not takes_missing(model)]


def make_base_model(name: str, params: Sequence[tuple[str, Any]], task: Task) -> Any:
    """The base model of ``--base`` and ``--base-param``.

    Parameters
    ----------
    name : str
        One of `BASE_MODELS`, or ``module:Class``.
    params : sequence of (str, value)
    task : {"regression", "classification"}
    """
    if ":" in name:
        module, _, cls = name.partition(":")
    elif name in BASE_MODELS:
        module, regressor, classifier = BASE_MODELS[name]
        cls = (regressor or "") if task == "regression" else classifier
    else:
        known = [*BASE_MODELS, "auto"]
        near = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"There is no base model {name!r}; use {', '.join(known)}, or module:Class.{hint}"
        )
    if not cls:
        others = [other for other, (_, regressor, _) in BASE_MODELS.items() if regressor]
        raise ValueError(
            f"The base model {name} is for classification only; use {', '.join(others)}, or "
            "module:Class."
        )
    try:
        model = _imported(module, cls)(**dict(params))
    except TypeError as error:
        raise ValueError(
            as_sentence(f"--base-param does not fit --base {name}: {error}")
        ) from error
    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise ValueError(
            f"--base {name} gives a {type(model).__name__}, which has no fit and predict."
        )
    return model


def _imported(module: str, cls: str) -> Any:
    # As with python -m, classes of modules in the working directory are found.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), cls)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            as_sentence(f"--base {module}:{cls} cannot be imported: {error}")
        ) from error
    if not callable(found):
        raise ValueError(f"--base {module}:{cls} is a {type(found).__name__}, not a class.")
    return found

"""What a model is compared with: a forest, a random subspace, its base model, a constant."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.preprocessing import OrdinalEncoder

from randsub._tables import frame_kind, numeric_columns, take_columns, to_array
from randsub._typing import Table
from randsub.baselines import RandomSubspaceClassifier, RandomSubspaceRegressor
from randsub.baselines.random_subspace import BaseRandomSubspace
from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.report.rows import Rows

N_TREES = 500


@dataclass(frozen=True, eq=False)
class Answer:
    """What a contender predicts for the test rows.

    Parameters
    ----------
    key : str
        What the page's other parts call it.
    name : str
        What people call it.
    prediction : ndarray of shape (n_test,)
    seconds : float or None
        Time it took to train and to ask, where it was trained.
    """

    key: str
    name: str
    prediction: Any
    seconds: float | None


@dataclass(frozen=True, eq=False)
class Split:
    """What contenders are trained on, and what they are asked about.

    ``X`` and ``X_test`` hold the model's own indicators of categories where it has made some; then
    ``is_encoded``, and numbers are scaled already.
    """

    X: Table
    y: Any
    weight: Any
    X_test: Table
    is_encoded: bool


def rivals(
    model: SubspaceEnsemble, train: Rows, test: Rows, seeds: Mapping[str, int], n_jobs: int | None
) -> tuple[list[Answer], list[str]]:
    """Train everything that a model is compared with.

    Parameters
    ----------
    model : fitted ensemble
        Trained on ``train``.
    train, test : Rows
    seeds : mapping
        Of "forest" and "subspace".
    n_jobs : int or None

    Returns
    -------
    answers : list of Answer
    left_out : list of str
        Sentences on those that could not be trained on this data.
    """
    split = _as_members_see(model, train, test)
    one = {"n_estimators": 1, "max_features": 1.0}
    makers: dict[str, tuple[str, Callable[[], Any]]] = {
        "forest": (
            f"Random forest, {N_TREES} trees",
            lambda: _forest(model, split, seeds["forest"], n_jobs),
        ),
        "subspace": (
            "Plain random subspace",
            lambda: _subspace(model, split, seeds["subspace"], n_jobs, {}),
        ),
        "single": (
            "Base model alone, on all features",
            lambda: _subspace(model, split, seeds["subspace"], n_jobs, one),
        ),
    }
    if isinstance(model, BaseRandomSubspace):
        del makers["subspace"]
    answers, left_out = [], []
    for key, (name, make) in makers.items():
        try:
            answers.append(timed(key, name, make))
        except Exception as error:
            # Whatever a contender cannot do with this data, the report is about another model.
            left_out.append(f"{name}: left out, since it failed ({_first_line(error)}).")
    return [*answers, _constant(model, train, test)], left_out


def timed(key: str, name: str, make: Callable[[], Any]) -> Answer:
    """An answer, with the time it took."""
    begin = time.perf_counter()
    prediction = make()
    return Answer(key, name, prediction, time.perf_counter() - begin)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": .")


def _as_members_see(model: SubspaceEnsemble, train: Rows, test: Rows) -> Split:
    encoder, scaler = model.category_encoder_, model.standardizer_
    if encoder is None:
        return Split(train.X, train.y, train.weight, test.X, is_encoded=False)
    X, X_test = (
        encoder.transform(T, T if scaler is None else scaler.transform(T))
        for T in (train.X, test.X)
    )
    return Split(X, train.y, train.weight, X_test, is_encoded=True)


def _forest(model: SubspaceEnsemble, split: Split, seed: int, n_jobs: int | None) -> Any:
    kind = RandomForestRegressor if model._task == "regression" else RandomForestClassifier
    forest = kind(N_TREES, random_state=seed, n_jobs=n_jobs)
    if model._task == "regression":
        # A third of the features at each split, as Breiman has it: on wide data all of them, which
        # is scikit-learn's default, would take far longer and be no better.
        forest.set_params(max_features=1 / 3)
    X, X_test = _as_numbers(split.X, split.X_test)
    return forest.fit(X, split.y, split.weight).predict(X_test)


def _as_numbers(X: Table, X_test: Table) -> tuple[Table, Table]:
    """Frames as arrays in which categories are numbered: trees need no more."""
    if frame_kind(X) is None:
        return X, X_test
    numeric = numeric_columns(X)
    numbers, others = np.flatnonzero(numeric), np.flatnonzero(~numeric)
    parts = [[to_array(T, numbers)] if len(numbers) else [] for T in (X, X_test)]
    if len(others):
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        parts[0].append(encoder.fit_transform(_as_text(take_columns(X, others))))
        parts[1].append(encoder.transform(_as_text(take_columns(X_test, others))))
    return np.hstack(parts[0]), np.hstack(parts[1])


def _as_text(frame: Table) -> Any:
    # Categories of one column may be of types that have no order among each other.
    columns = [[str(value) for value in frame[name]] for name in frame.columns]
    return np.array(columns, dtype=object).T


def _subspace(
    model: SubspaceEnsemble,
    split: Split,
    seed: int,
    n_jobs: int | None,
    further: Mapping[str, Any],
) -> Any:
    """Members on features chosen by chance; how many, is chosen on a validation part."""
    kind: Any = RandomSubspaceRegressor
    given = model.get_params(deep=False)
    options = {name: given[name] for name in ("n_estimators", "engine", "standardize")}
    if model._task == "classification":
        kind = RandomSubspaceClassifier
        options["voting"] = given["voting"]
    if split.is_encoded:
        options["standardize"] = False
    ensemble = kind(model.estimator_, n_jobs=n_jobs, random_state=seed, **{**options, **further})
    return ensemble.fit(split.X, split.y, split.weight).predict(split.X_test)


def _constant(model: SubspaceEnsemble, train: Rows, test: Rows) -> Answer:
    if model._task == "regression":
        prediction = np.full(test.n, np.average(train.y, weights=train.weight))
        return Answer("constant", "Mean of the training rows", prediction, None)
    labels, codes = np.unique(train.y, return_inverse=True)
    most = labels[np.argmax(np.bincount(codes, train.weight))]
    return Answer("constant", "Most frequent class", np.repeat(most, test.n), None)

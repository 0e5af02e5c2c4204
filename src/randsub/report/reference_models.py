"""Models to compare with: a random forest, a random subspace, the base model, a constant.

If there are several base models, each has a random subspace. None is alone on all features: that
is one of the sizes among which a random subspace chooses.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.preprocessing import OrdinalEncoder

from randsub._tables import frame_kind, numeric_columns, take_columns, to_array
from randsub._typing import Table
from randsub.estimators import RandomSubspaceClassifier, RandomSubspaceRegressor
from randsub.estimators.base import SubspaceEnsemble
from randsub.estimators.named_bases import bases_of
from randsub.estimators.random_subspace import BaseRandomSubspace
from randsub.report.labelled_rows import Rows

N_TREES = 500


@dataclass(frozen=True, eq=False)
class Answer:
    """Predictions of one model for the test rows.

    Parameters
    ----------
    key : str
        Identifies the model.
    name : str
        Name of the model on the page.
    prediction : ndarray of shape (n_test,)
    seconds : float or None
        Time for training and prediction, if it was trained for the comparison.
    """

    key: str
    name: str
    prediction: Any
    seconds: float | None


def reference_answers(
    model: SubspaceEnsemble, train: Rows, test: Rows, seeds: Mapping[str, int], n_jobs: int | None
) -> tuple[list[Answer], list[str]]:
    """Train all reference models, and predict the test rows.

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
        Sentences about the models that could not be trained on this data.
    """
    regression = model._task == "regression"
    if train.weight is not None and getattr(model, "_chooses_bases", False):
        # As the base models of "auto" see them.
        train = replace(train, weight=train.weight / np.mean(train.weight[train.weight > 0.0]))
    encoded = _encoded(model, train), _encoded(model, test)
    forest = _forest(regression, seeds["forest"], n_jobs)
    models = [("forest", f"Random forest, {N_TREES} trees", forest, encoded)]
    for place, (base_name, base) in enumerate(bases_of(model.estimator_).items()):
        serves = model.column_encoder_ is not None and model.column_encoder_.serves(place)
        seen = encoded if serves else (train, test)
        # Numbers that are encoded are scaled already.
        standardize = model.standardize and not serves
        subspace = _subspace(model, base, standardize, seeds["subspace"], n_jobs)
        if base_name:
            models.append(("subspace", f"Plain random subspace of {base_name}", subspace, seen))
            continue
        if not isinstance(model, BaseRandomSubspace):
            models.append(("subspace", "Plain random subspace", subspace, seen))
        single = clone(subspace).set_params(n_estimators=1, max_features=1.0)
        models.append(("single", "Base model alone, on all features", single, seen))
    answers, left_out = [], []
    for key, name, reference, rows in models:
        try:
            rows = _as_numbers(*rows) if key == "forest" else rows
            answers.append(train_and_ask(key, name, reference, *rows))
        except Exception as error:
            # A reference model that fails on this data must not prevent the report.
            reason = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0].rstrip(": .")
            left_out.append(f"{name}: left out, since it failed ({reason}).")
    dummy = DummyRegressor() if regression else DummyClassifier(strategy="most_frequent")
    name = "Mean of the training rows" if regression else "Most frequent class"
    constant = train_and_ask("constant", name, dummy, train, test)
    return [*answers, replace(constant, seconds=None)], left_out


def train_and_ask(key: str, name: str, model: Any, train: Rows, test: Rows) -> Answer:
    """Predictions of a model for some rows after training on others, with the time it took."""
    begin = time.perf_counter()
    prediction = model.fit(train.X, train.y, train.weight).predict(test.X)
    return Answer(key, name, prediction, time.perf_counter() - begin)


def _encoded(model: SubspaceEnsemble, rows: Rows) -> Rows:
    """Rows with categories encoded and numbers scaled, if the model encodes categories."""
    encoder, scaler = model.column_encoder_, model.standardizer_
    if encoder is None:
        return rows
    scaled = rows.X if scaler is None else scaler.transform(rows.X)
    return replace(rows, X=encoder.transform(rows.X, scaled))


def _forest(regression: bool, seed: int, n_jobs: int | None) -> Any:
    if regression:
        # A third of the features per split, as Breiman suggests: on wide data all of them, the
        # default of scikit-learn, would take far longer and not be better.
        return RandomForestRegressor(N_TREES, max_features=1 / 3, random_state=seed, n_jobs=n_jobs)
    return RandomForestClassifier(N_TREES, random_state=seed, n_jobs=n_jobs)


def _as_numbers(train: Rows, test: Rows) -> tuple[Rows, Rows]:
    """Frames as arrays with numbered categories, which is enough for trees."""
    if frame_kind(train.X) is None:
        return train, test
    numeric = numeric_columns(train.X)
    numbers, others = np.flatnonzero(numeric), np.flatnonzero(~numeric)
    parts = [[to_array(rows.X, numbers)] if len(numbers) else [] for rows in (train, test)]
    if len(others):
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        parts[0].append(encoder.fit_transform(_as_text(take_columns(train.X, others))))
        parts[1].append(encoder.transform(_as_text(take_columns(test.X, others))))
    return replace(train, X=np.hstack(parts[0])), replace(test, X=np.hstack(parts[1]))


def _as_text(frame: Table) -> Any:
    # Categories of one column may have types without an order among each other.
    columns = [[str(value) for value in frame[name]] for name in frame.columns]
    return np.array(columns, dtype=object).T


def _subspace(
    model: SubspaceEnsemble, base: Any, standardize: bool, seed: int, n_jobs: int | None
) -> Any:
    """Members on random feature subsets, whose size is chosen on a validation part."""
    given = model.get_params(deep=False)
    options = {name: given[name] for name in ("n_estimators", "engine")}
    kind: Any = RandomSubspaceRegressor
    if model._task == "classification":
        n_bases = len(bases_of(model.estimator_))
        kind, options["voting"] = RandomSubspaceClassifier, model._voting_of(base, n_bases)
    return kind(base, standardize=standardize, n_jobs=n_jobs, random_state=seed, **options)

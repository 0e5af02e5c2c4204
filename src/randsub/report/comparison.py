"""How good the model is on rows it has not met, beside simpler ones on the same split.

All contenders are trained on the same rows and asked about the same other rows. Intervals come
from resampling the rows that are asked about: they say how far chance in the choice of these rows
reaches, and nothing about chance in training.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import (
    accuracy_score,
    r2_score,
    root_mean_squared_error,
)

from randsub._typing import FloatArray
from randsub.ensemble.inputs import split_validation
from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.report.contenders import Answer, rivals, timed
from randsub.report.resampling import interval, resampled_scores
from randsub.report.rows import Rows


@dataclass(frozen=True)
class Contender:
    """One model of the comparison, and how it did.

    Parameters
    ----------
    key : {"model", "forest", "subspace", "single", "constant"}
    name : str
        What it is, for people.
    score : float
        R2 or accuracy.
    interval : tuple of two floats
        Where 95 % of the scores on resampled rows lie.
    other_score : float
        Root mean squared error or balanced accuracy.
    lead : tuple of three floats or None
        By how much the model's score is higher on the same rows, and the interval of that; None
        for the model itself.
    seconds : float or None
        Time to train it, where it was trained for this comparison.
    """

    key: str
    name: str
    score: float
    interval: tuple[float, float]
    other_score: float
    lead: tuple[float, float, float] | None
    seconds: float | None


@dataclass(frozen=True)
class Comparison:
    """Scores on rows that no contender was trained on.

    Parameters
    ----------
    metric, other_metric : str
        What ``score`` and ``other_score`` of a contender are.
    contenders : tuple of Contender
        The model first.
    n_train : int or None
        Rows that the contenders were trained on; None where only the model itself is scored.
    n_test : int
        Rows that they were asked about.
    is_refit : bool
        Whether the first contender is a copy of the model that was trained on fewer rows, since
        there were no rows that the model itself had not met.
    left_out : tuple of str
        Why a contender is missing, in sentences.
    """

    metric: str
    other_metric: str
    contenders: tuple[Contender, ...]
    n_train: int | None
    n_test: int
    is_refit: bool
    left_out: tuple[str, ...] = ()

    @property
    def model(self) -> Contender:
        """The model that the report is about."""
        return self.contenders[0]

    def find(self, key: str) -> Contender | None:
        """A contender, if it took part."""
        return next((c for c in self.contenders if c.key == key), None)


def compare(
    model: SubspaceEnsemble,
    train: Rows | None,
    test: Rows | None,
    *,
    test_fraction: float,
    seed: int,
    n_jobs: int | None,
) -> Comparison | None:
    """Train the contenders and score them, as far as there is data for that.

    Parameters
    ----------
    model : fitted ensemble
    train : Rows or None
        What the model was trained on.
    test : Rows or None
        Rows it has not met. Without these, a part of ``train`` is set aside, and a copy of the
        model is trained on the rest.
    test_fraction : float
        How large this part is.
    seed : int
        Decides over the split, the contenders and the resampling.
    n_jobs : int or None

    Returns
    -------
    comparison : Comparison or None
        None without any data.
    """
    # Each has draws of its own, so that none depends on which of the others take part.
    words = np.random.SeedSequence(seed).generate_state(4) % 2**31
    seeds = dict(zip(("split", "forest", "subspace", "resampling"), words.tolist(), strict=True))
    if test is not None:
        answers = [Answer("model", "This model", model.predict(test.X), None)]
        left_out = ["The training rows were not given, so nothing could be trained to compare."]
        if train is not None:
            others, left_out = rivals(model, train, test, seeds, n_jobs)
            answers += others
        return _scored(model, answers, train, test, seeds["resampling"], left_out)
    if train is None:
        return None
    train, test = _split(model, train, test_fraction, seeds["split"])
    copy = clone(model)
    if n_jobs is not None:
        copy.set_params(n_jobs=n_jobs)
    answer = timed(
        "model",
        "This model, trained again",
        lambda: copy.fit(train.X, train.y, train.weight).predict(test.X),
    )
    others, left_out = rivals(copy, train, test, seeds, n_jobs)
    return _scored(
        model, [answer, *others], train, test, seeds["resampling"], left_out, is_refit=True
    )


def _split(model: SubspaceEnsemble, rows: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    strata = None
    if model._task == "classification":
        strata = np.unique(rows.y, return_inverse=True)[1]
    counted = np.arange(rows.n) if rows.weight is None else np.flatnonzero(rows.weight > 0.0)
    kept, aside = split_validation(counted, fraction, strata, np.random.default_rng(seed))
    return rows.take(kept), rows.take(aside)


def _scored(
    model: SubspaceEnsemble,
    answers: list[Answer],
    train: Rows | None,
    test: Rows,
    seed: int,
    left_out: list[str],
    *,
    is_refit: bool = False,
) -> Comparison:
    is_regression = model._task == "regression"
    score = r2_score if is_regression else accuracy_score
    other = root_mean_squared_error if is_regression else _balanced_accuracy
    predictions = [answer.prediction for answer in answers]
    drawn = resampled_scores(test.y, predictions, test.weight, seed, is_regression)
    exact = [_or_nan(score, test, p) for p in predictions]
    contenders = [
        Contender(
            key=answer.key,
            name=answer.name,
            score=exact[place],
            interval=interval(drawn[:, place]),
            other_score=_or_nan(other, test, answer.prediction),
            lead=(exact[0] - exact[place], *interval(drawn[:, 0] - drawn[:, place]))
            if place
            else None,
            seconds=answer.seconds,
        )
        for place, answer in enumerate(answers)
    ]
    return Comparison(
        metric="R²" if is_regression else "Accuracy",
        other_metric="RMSE" if is_regression else "Balanced accuracy",
        contenders=tuple(contenders),
        n_train=None if train is None else train.n,
        n_test=test.n,
        is_refit=is_refit,
        left_out=tuple(left_out),
    )


def _or_nan(score: Callable[..., float], test: Rows, prediction: Any) -> float:
    if score is r2_score and test.n < 2:
        return float("nan")
    return float(score(test.y, prediction, sample_weight=test.weight))


def _balanced_accuracy(y: Any, prediction: Any, sample_weight: FloatArray | None) -> float:
    """Mean share of each class of y that is found.

    scikit-learn's function warns where a class is predicted that is not in y, which on a handful of
    test rows is nothing to warn of.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    found = [
        np.average((y == prediction)[y == label], weights=weight[y == label])
        for label in np.unique(y[weight > 0.0])
    ]
    return float(np.mean(found))

"""Scores of the model on new rows, beside those of reference models on the same rows.

All models are trained on the same rows and predict the same other rows. Intervals come from
resampling the predicted rows: they measure chance in the choice of these rows, not in training.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score, recall_score, root_mean_squared_error

from randsub.estimators.base import SubspaceEnsemble
from randsub.estimators.fit_data import split_validation
from randsub.report.bootstrap import interval, resampled_scores
from randsub.report.labelled_rows import Rows
from randsub.report.reference_models import Answer, reference_answers, train_and_ask


@dataclass(frozen=True)
class Contender:
    """Scores of one model of the comparison.

    Parameters
    ----------
    key : {"model", "forest", "subspace", "single", "constant"}
    name : str
        Name of the model on the page.
    score : float
        R2 or accuracy.
    interval : tuple of two floats
        Central 95 % of the scores on resampled rows.
    other_score : float
        Root mean squared error or balanced accuracy.
    lead : tuple of three floats or None
        Score of the reported model minus this one, and its interval on the same resampled rows;
        None for the reported model itself.
    seconds : float or None
        Training time, if it was trained for this comparison.
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
        Names of ``score`` and ``other_score`` of the contenders.
    contenders : tuple of Contender
        The reported model first.
    n_train : int or None
        Number of training rows; None if only the reported model is scored.
    n_test : int
        Number of test rows.
    is_refit : bool
        Whether the first contender is a copy of the reported model, trained on fewer rows because
        no test rows were given.
    left_out : tuple of str
        Sentences about missing contenders.
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
        """The reported model."""
        return self.contenders[0]

    def find(self, key: str) -> Contender | None:
        """A contender, if it took part; of several of a kind, the best."""
        found = [c for c in self.contenders if c.key == key]
        return max(found, key=lambda contender: contender.score, default=None)


def compare(
    model: SubspaceEnsemble,
    train: Rows | None,
    test: Rows | None,
    test_fraction: float,
    seed: int,
    n_jobs: int | None,
) -> Comparison | None:
    """Train the reference models and score all, as far as there is data for that.

    Parameters
    ----------
    model : fitted ensemble
    train : Rows or None
        The rows that the model was trained on.
    test : Rows or None
        New rows. Without these, a part of ``train`` is set aside, and a copy of the model is
        trained on the rest.
    test_fraction : float
        Size of this part.
    seed : int
        Seed of the split, the reference models and the resampling.
    n_jobs : int or None

    Returns
    -------
    comparison : Comparison or None
        None without any data.
    """
    # One seed each, so that no result depends on which models take part.
    words = np.random.SeedSequence(seed).generate_state(4) % 2**31
    seeds = dict(zip(("split", "forest", "subspace", "resampling"), words.tolist(), strict=True))
    if train is None and test is None:
        return None
    is_refit = test is None
    left_out = ["The training rows were not given, so no reference model could be trained."]
    if test is None:
        assert train is not None
        train, test = _split(model, train, test_fraction, seeds["split"])
        model = clone(model)
        if n_jobs is not None:
            model.set_params(n_jobs=n_jobs)
        answers = [train_and_ask("model", "This model, trained again", model, train, test)]
    else:
        answers = [Answer("model", "This model", model.predict(test.X), None)]
    if train is not None:
        others, left_out = reference_answers(model, train, test, seeds, n_jobs)
        answers += others
    is_regression = model._task == "regression"
    return Comparison(
        metric="R²" if is_regression else "Accuracy",
        other_metric="RMSE" if is_regression else "Balanced accuracy",
        contenders=tuple(_scored(answers, test, seeds["resampling"], is_regression)),
        n_train=None if train is None else train.n,
        n_test=test.n,
        is_refit=is_refit,
        left_out=tuple(left_out),
    )


def _split(model: SubspaceEnsemble, rows: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    strata = None
    if model._task == "classification":
        strata = np.unique(rows.y, return_inverse=True)[1]
    counted = np.arange(rows.n) if rows.weight is None else np.flatnonzero(rows.weight > 0.0)
    kept, aside = split_validation(counted, fraction, strata, np.random.default_rng(seed))
    return rows.take(kept), rows.take(aside)


def _scored(answers: list[Answer], test: Rows, seed: int, is_regression: bool) -> list[Contender]:
    predictions = [answer.prediction for answer in answers]
    drawn = resampled_scores(test.y, predictions, test.weight, seed, is_regression)
    scores = [_scores(test, prediction, is_regression) for prediction in predictions]
    best = scores[0][0]
    return [
        Contender(
            key=answer.key,
            name=answer.name,
            score=score,
            interval=interval(drawn[:, place]),
            other_score=other,
            lead=(best - score, *interval(drawn[:, 0] - drawn[:, place])) if place else None,
            seconds=answer.seconds,
        )
        for place, (answer, (score, other)) in enumerate(zip(answers, scores, strict=True))
    ]


def _scores(test: Rows, prediction: Any, is_regression: bool) -> tuple[float, float]:
    """R2 and RMSE, or accuracy and balanced accuracy."""
    y, weight = test.y, test.weight
    if is_regression:
        r2 = r2_score(y, prediction, sample_weight=weight) if test.n > 1 else np.nan
        return float(r2), float(root_mean_squared_error(y, prediction, sample_weight=weight))
    # Mean recall: balanced_accuracy_score warns of predicted classes that are not in y.
    labels = np.unique(y if weight is None else y[weight > 0.0])
    return float(accuracy_score(y, prediction, sample_weight=weight)), float(
        recall_score(y, prediction, labels=labels, average="macro", sample_weight=weight)
    )

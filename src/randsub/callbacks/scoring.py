"""Scores on further data while a model is trained."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from sklearn.metrics import check_scoring

from randsub._numbers import check_number
from randsub._typing import Table
from randsub.training.callbacks import Callback
from randsub.training.run import Run
from randsub.training.state import TrainingState


class ScoringMonitor(Callback):
    """Scores, on data of your own, of the model that ``fit`` would return if it stopped now.

    Every so many epochs, and at the end, the final ensemble is trained as if training had ended
    there, from the best alpha so far, and scored. That is honest and costs ``n_estimators`` base
    models a time, as long as something has changed since the last one; it does not change the fit.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Data that is neither trained on nor chosen by.
    y : array-like of shape (n_samples,)
        Its targets.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights in the score.
    scoring : str, callable, list, tuple, dict or None, default=None
        One score or several, as scikit-learn names them; None is the model's own ``score``.
    every : int, default=100
        Epochs between two scores.

    Attributes
    ----------
    scores_ : pandas.DataFrame
        One row a time: ``run``, which counts the fits that were watched; ``estimator``, the name
        of the model; ``epoch``; and a column for each score, called ``score`` where there is one
        without a name. A fit in another process keeps its rows there.

    Notes
    -----
    scikit-learn's own :class:`sklearn.callback.ScoringMonitor` works as well: it scores on the
    training data, after each epoch.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.callbacks import ScoringMonitor
    >>> from randsub.datasets import make_friedman
    >>> X, y, _ = make_friedman(n_samples=150, n_irrelevant=5, random_state=0)
    >>> monitor = ScoringMonitor(X[100:], y[100:], scoring=["r2"], every=20)
    >>> model = PRSRegressor(n_estimators=20, max_iter=50, random_state=0)
    >>> model = model.set_callbacks(monitor).fit(X[:100], y[:100])
    >>> monitor.scores_["epoch"].tolist()
    [20, 40, 50]
    >>> bool(monitor.scores_["r2"].iloc[-1] == model.score(X[100:], y[100:]))
    True
    """

    def __init__(
        self,
        X: Table,
        y: Any,
        *,
        sample_weight: Any = None,
        scoring: Any = None,
        every: int = 100,
    ) -> None:
        self.X = X
        self.y = y
        self.sample_weight = sample_weight
        self.scoring = scoring
        self.every = every
        self._n_runs = 0
        self._rows: list[dict[str, Any]] = []

    @property
    def scores_(self) -> pd.DataFrame:
        """The scores so far."""
        return pd.DataFrame(self._rows, columns=None if self._rows else ["run", "epoch"])

    def for_run(self, run: Run) -> "_Judge":
        """One that scores this fit alone; what it finds is kept here."""
        check_number(self, "every", 1)
        if not run.can_predict:
            raise TypeError(
                f"ScoringMonitor needs a model that predicts, which "
                f"{type(run.estimator).__name__} does not."
            )
        scorer = check_scoring(run.estimator, scoring=self.scoring)
        self._n_runs += 1
        return _Judge(self, run, scorer, self._n_runs)

    def _keep(self, row: dict[str, Any]) -> None:
        self._rows.append(row)


class _Judge(Callback):
    def __init__(self, monitor: ScoringMonitor, run: Run, scorer: Any, number: int) -> None:
        self._monitor, self._run, self._scorer, self._number = monitor, run, scorer, number
        self._judged = 0

    def on_epoch_end(self, state: TrainingState) -> None:
        """Score, if it is time to."""
        if state.epoch % self._monitor.every == 0:
            self._judge(state)

    def on_end(self, state: TrainingState) -> None:
        """Score what is returned, unless nothing will be."""
        if state.stopped is not None and state.epoch != self._judged:
            self._judge(state)

    def _judge(self, state: TrainingState) -> None:
        self._judged = state.epoch
        monitor = self._monitor
        weight = {} if monitor.sample_weight is None else {"sample_weight": monitor.sample_weight}
        model = self._run.fitted_estimator(state)
        score = self._scorer(model, monitor.X, monitor.y, **weight)
        scores = score if isinstance(score, Mapping) else {"score": score}
        monitor._keep(
            {
                "run": self._number,
                "estimator": type(model).__name__,
                "epoch": state.epoch,
                **scores,
            }
        )

"""Scores on separate data during training."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from sklearn.metrics import check_scoring

from randsub._numbers import check_number
from randsub._typing import Table
from randsub.solver.callback import Callback
from randsub.solver.run import Run
from randsub.solver.state import TrainingState


class ScoringMonitor(Callback):
    """Score the model that ``fit`` would return, on separate data, during training.

    After every ``every`` epochs, and at the end, the final ensemble is trained with the best alpha
    so far, as if training had ended, and scored. This trains ``n_estimators`` base models per
    score, unless nothing has changed since the last one. It does not change the fit.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Data that is used neither for training nor for validation.
    y : array-like of shape (n_samples,)
        Its targets.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights in the score.
    scoring : str, callable, list, tuple, dict or None, default=None
        One score or several, as in scikit-learn; None is the ``score`` method of the model.
    every : int, default=100
        Number of epochs between two scores.

    Attributes
    ----------
    scores_ : pandas.DataFrame
        One row per evaluation: ``run``, the number of the fit; ``estimator``, the name of the
        model; ``epoch``; and one column per score, called ``score`` if it has no name. Scores of a
        fit in another process stay in that process.

    Notes
    -----
    :class:`sklearn.callback.ScoringMonitor` of scikit-learn works as well: it scores on the
    training data after each epoch.

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
        """Return a callback for this fit; its scores are stored in this object."""
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
        """Score after every ``every`` epochs."""
        if state.epoch % self._monitor.every == 0:
            self._judge(state)

    def on_end(self, state: TrainingState) -> None:
        """Score the final model, unless the fit failed."""
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

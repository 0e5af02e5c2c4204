"""How much importances and selections depend on the samples at hand and on the seed."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import _check_sample_weight

from randsub._tables import frame_kind, n_rows
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.ensemble.inputs import split_validation
from randsub.selection.agreement import Agreement, agreement
from randsub.selection.repetition import (
    Run,
    as_table,
    check_weights_are_taken,
    draw_seeds,
    repeat,
)

CONSTRAINTS = {
    "n_runs": [Interval(Integral, 2, None, closed="left")],
    "fraction": [Interval(Real, 0, 1, closed="right")],
    "threshold": [Interval(Real, None, None, closed="neither")],
    "level": [Interval(Real, 0, 1, closed="neither")],
}


@dataclass(frozen=True, eq=False)
class Stability:
    """What :func:`stability` found.

    Attributes
    ----------
    importances : ndarray of shape (n_runs, n_features)
        Importance of each feature in each run.
    selected : bool ndarray of shape (n_runs, n_features)
        Whether it reached the threshold.
    threshold : float
    level : float
        Share of the runs that lies within ``lower`` and ``upper``.
    feature_names : list of str
    groups : int ndarray of shape (n_features,)
        Columns with the same number are drawn together, and so share their importance.
    agreement : Agreement
        ``value``, ``lower`` and ``upper`` of a measure of the stability of the selection as a
        whole: 1 if all runs select the same features (or groups), 0 on average if they select as
        many at random (Nogueira, Sechidis and Brown, 2018). NaN if all select nothing, or
        everything. The interval takes runs as many and independent; with few of them, on
        subsamples of the same data, it is too narrow.
    """

    importances: FloatArray
    selected: BoolArray
    threshold: float
    level: float
    feature_names: list[str]
    groups: IntArray
    agreement: Agreement

    @property
    def mean(self) -> FloatArray:
        """Mean importance of each feature over the runs, shape (n_features,)."""
        return self.importances.mean(axis=0)

    @property
    def lower(self) -> FloatArray:
        """Lower percentile of the importance over the runs, shape (n_features,)."""
        return np.quantile(self.importances, 0.5 - self.level / 2.0, axis=0)

    @property
    def upper(self) -> FloatArray:
        """Upper percentile of the importance over the runs, shape (n_features,)."""
        return np.quantile(self.importances, 0.5 + self.level / 2.0, axis=0)

    @property
    def frequency(self) -> FloatArray:
        """Share of the runs that select each feature, shape (n_features,)."""
        return self.selected.mean(axis=0)

    @property
    def intervals(self) -> FloatArray:
        """``lower`` and ``upper`` as rows, shape (2, n_features), as pictures take them."""
        return np.stack([self.lower, self.upper])

    def table(self) -> pd.DataFrame:
        """One row for each column of X, in their order.

        Returns
        -------
        table : pandas.DataFrame
            ``feature``, ``mean``, ``lower``, ``upper`` and ``frequency``; with feature groups also
            ``group``.
        """
        columns: dict[str, Any] = {
            "feature": self.feature_names,
            "mean": self.mean,
            "lower": self.lower,
            "upper": self.upper,
            "frequency": self.frequency,
        }
        if len(np.unique(self.groups)) < len(self.groups):
            columns["group"] = self.groups
        return pd.DataFrame(columns)


def stability(
    model: Any,
    X: Table,
    y: Any,
    n_runs: int = 20,
    *,
    fraction: float = 0.5,
    threshold: float = 0.5,
    level: float = 0.9,
    sample_weight: Any = None,
    importance_getter: Any = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Stability:
    """Train a model on many subsamples, each with its own seed, and see what stays the same.

    Parameters
    ----------
    model : estimator
        PRSClassifier, PRSRegressor, or any estimator with ``feature_importances_`` or ``coef_``.
        It is cloned and not fitted itself.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Training data, as for the model's ``fit``.
    y : array-like of shape (n_samples,)
        Targets.
    n_runs : int, default=20
        How often, at least twice.
    fraction : float, default=0.5
        Share of the samples in each subsample, which is drawn without replacement; of each class
        in classification. 1 takes all of them, so that only the seed differs.
    threshold : float, default=0.5
        Importance from which on a feature counts as selected in a run. For alpha, 0.5 means that
        at least every other member is expected to see it.
    level : float, default=0.9
        Share of the runs that the interval of an importance spans.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for ``fit``. Samples of weight 0 are left out.
    importance_getter : "auto", str or callable, default="auto"
        Where importances are found, as in :class:`sklearn.feature_selection.SelectFromModel`.
    n_jobs : int, default=None
        Runs that go at the same time. The result is the same for any number and any joblib
        backend. With None or 1, the model's own ``n_jobs`` counts instead.
    random_state : int, RandomState instance or None, default=None
        Fixes subsamples and seeds.
    verbose : int, default=0
        1 shows a progress bar over the runs.

    Returns
    -------
    result : Stability

    Notes
    -----
    Intervals are percentiles over the runs. They show how far importances move when the model sees
    ``fraction`` of the samples, which is more than they would move with all of them; they are not
    confidence intervals. A high frequency is a sign of a relevant feature, but bounds no error
    rate here; :class:`ShadowSelector` does.

    References
    ----------
    N. Meinshausen and P. Buehlmann, "Stability selection", Journal of the Royal Statistical Society
    B, 2010.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.selection import stability
    >>> X, y, relevant = make_friedman(200, 10, correlation=0.0, random_state=0)
    >>> model = PRSRegressor(KNeighborsRegressor(), max_iter=100, learning_rate=5e-3)
    >>> result = stability(model, X, y, n_runs=4, random_state=0)
    >>> sorted(result.mean.argsort()[-5:].tolist()) == relevant.tolist()
    True
    >>> list(result.table().columns)
    ['feature', 'mean', 'lower', 'upper', 'frequency']
    """
    given = {"n_runs": n_runs, "fraction": fraction, "threshold": threshold, "level": level}
    validate_parameter_constraints(CONSTRAINTS, given, caller_name="stability")
    X, y, weight, rows = _checked_data(model, X, y, sample_weight)
    rng = check_random_state(random_state)
    strata = np.unique(y, return_inverse=True)[1] if is_classifier(model) else None
    runs = [
        Run(_subsample(rows, fraction, strata, np.random.default_rng(seed)), seed)
        for seed in draw_seeds(n_runs, rng)
    ]
    found = repeat(
        model,
        X,
        y,
        weight,
        runs,
        importance_getter=importance_getter,
        n_jobs=n_jobs,
        verbose=verbose,
        description="stability",
    )
    selected = found.importances >= threshold
    # A group is one choice, however many columns it has.
    first_columns = np.unique(found.groups, return_index=True)[1]
    return Stability(
        found.importances,
        selected,
        float(threshold),
        float(level),
        _feature_names(X),
        found.groups,
        agreement(selected[:, first_columns], level),
    )


def _checked_data(
    model: Any, X: Table, y: Any, sample_weight: Any
) -> tuple[Table, Any, FloatArray | None, IntArray]:
    """X and y that can be subsampled, weights, and the rows that count."""
    X, y = as_table(X), column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    rows = np.arange(n_rows(X))
    check_weights_are_taken(model, sample_weight)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, X if frame_kind(X) is None else y, dtype=float, ensure_non_negative=True
        )
        rows = np.flatnonzero(sample_weight > 0.0)
    return X, y, sample_weight, rows


def _subsample(
    rows: IntArray, fraction: float, strata: IntArray | None, rng: np.random.Generator
) -> IntArray:
    """Some of the rows; each class gives its share and keeps at least one."""
    if fraction == 1.0:
        return rows
    if len(rows) < 4:
        raise ValueError(
            f"Only {len(rows)} sample(s) with a positive weight are too few for subsamples; "
            "use fraction=1 to vary the seed alone."
        )
    return split_validation(rows, 1.0 - fraction, strata, rng)[0]


def _feature_names(X: Table) -> list[str]:
    if frame_kind(X) is not None:
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(X.shape[1])]

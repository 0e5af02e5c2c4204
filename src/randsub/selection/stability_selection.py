"""How much importances and selections vary with the samples and the seed."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from randsub._sklearn import Interval, validate_parameter_constraints
from randsub._tables import frame_kind
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.estimators.assembly import has_repeats
from randsub.estimators.fit_data import split_validation
from randsub.estimators.validation import check_samples
from randsub.selection.repeated_fits import (
    Replicate,
    check_weights_are_taken,
    draw_seeds,
    fit_repeatedly,
)
from randsub.selection.stability_index import StabilityIndex, stability_index

CONSTRAINTS = {
    "n_runs": [Interval(Integral, 2, None, closed="left")],
    "fraction": [Interval(Real, 0, 1, closed="right")],
    "threshold": [Interval(Real, None, None, closed="neither")],
    "level": [Interval(Real, 0, 1, closed="neither")],
}


@dataclass(frozen=True, eq=False)
class Stability:
    """How much importances and selections vary: the result of :func:`stability`.

    :meth:`from_repeats` makes one from a fitted model, without further fits.

    Attributes
    ----------
    importances : ndarray of shape (n_runs, n_features)
        Importance of each feature in each run.
    selected : bool ndarray of shape (n_runs, n_features)
        Whether the importance reached the threshold.
    threshold : float
        Importance from which a feature counts as selected.
    level : float
        Share of the runs between ``lower`` and ``upper``.
    feature_names : list of str
    groups : int ndarray of shape (n_features,)
        Feature group of each column; columns of a group share one importance.
    agreement : StabilityIndex
        ``value``, ``lower`` and ``upper`` of the stability index of Nogueira, Sechidis and Brown
        (2018): 1 if all runs select the same features (or groups), 0 on average if they select
        the same number at random, NaN if every run selects nothing, or everything. The interval
        is asymptotic and assumes independent runs; with few runs on subsamples of the same data
        it is too narrow.
    runs : {"subsamples", "repeats"}
        Whether the runs are fits on subsamples or the repeats of one fit.
    """

    importances: FloatArray
    selected: BoolArray
    threshold: float
    level: float
    feature_names: list[str]
    groups: IntArray
    agreement: StabilityIndex
    runs: Literal["subsamples", "repeats"] = "subsamples"

    @classmethod
    def from_repeats(cls, model: Any, *, threshold: float = 0.5, level: float = 0.9) -> Self:
        """The same from the repeats of a fitted model; nothing is fitted.

        Repeats differ in their validation samples and random draws, but share most of their
        training samples. Their importances therefore vary less than those on subsamples.

        Parameters
        ----------
        model : fitted PRSClassifier or PRSRegressor
            With at least two repeats; see its parameter ``n_repeats``.
        threshold : float, default=0.5
            Alpha from which a feature counts as selected in a repeat.
        level : float, default=0.9
            Share of the repeats between the ends of an interval.

        Returns
        -------
        result : Stability

        Examples
        --------
        >>> from randsub import PRSRegressor
        >>> from randsub.datasets import make_friedman
        >>> from randsub.selection import Stability
        >>> X, y, _ = make_friedman(n_samples=100, n_irrelevant=5, random_state=0)
        >>> model = PRSRegressor(n_repeats=5, max_iter=20, random_state=0).fit(X, y)
        >>> Stability.from_repeats(model).importances.shape
        (5, 10)
        """
        given = {"threshold": threshold, "level": level}
        constraints = {name: CONSTRAINTS[name] for name in given}
        validate_parameter_constraints(constraints, given, caller_name="from_repeats")
        check_is_fitted(model)
        if not hasattr(model, "n_repeats_"):
            raise ValueError(
                f"{type(model).__name__} has no repeats: pass a fitted PRSClassifier or "
                "PRSRegressor, such as the last step of a pipeline, or use "
                "randsub.selection.stability."
            )
        if not has_repeats(model):
            raise ValueError(
                f"{type(model).__name__} was fitted with a single repeat, which shows no "
                "variation: fit PRSClassifier or PRSRegressor with n_repeats=5, or use "
                "randsub.selection.stability."
            )
        n_features = model.n_features_in_
        names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(n_features)])
        groups = getattr(model, "feature_groups_", np.arange(n_features))
        return cls._of(model.repeat_alphas_, groups, names, threshold, level, "repeats")

    @classmethod
    def _of(
        cls,
        importances: FloatArray,
        groups: IntArray,
        names: Any,
        threshold: float,
        level: float,
        runs: Literal["subsamples", "repeats"],
    ) -> Self:
        selected = importances >= threshold
        # A group counts once, whatever its number of columns.
        first_columns = np.unique(groups, return_index=True)[1]
        return cls(
            importances=importances,
            selected=selected,
            threshold=float(threshold),
            level=float(level),
            feature_names=[str(name) for name in names],
            groups=groups,
            agreement=stability_index(selected[:, first_columns], level),
            runs=runs,
        )

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
        """``lower`` and ``upper`` as rows, shape (2, n_features), as the displays take them."""
        return np.stack([self.lower, self.upper])

    def table(self) -> pd.DataFrame:
        """One row per column of X, in the order of the columns.

        Returns
        -------
        table : pandas.DataFrame
            ``feature``, ``mean``, ``lower``, ``upper`` and ``frequency``; with feature groups also
            ``group``.
        """
        names = ("mean", "lower", "upper", "frequency")
        columns = {"feature": self.feature_names, **{name: getattr(self, name) for name in names}}
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
    """Fit a model on many subsamples with different seeds, and measure how its importances vary.

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
        Number of fits, at least 2.
    fraction : float, default=0.5
        Fraction of the samples in each subsample, drawn without replacement and stratified by
        class. With 1, all samples are used and only the seed differs.
    threshold : float, default=0.5
        Importance from which a feature counts as selected in a run. For alpha, 0.5 means that at
        least half of the members are expected to see it.
    level : float, default=0.9
        Share of the runs between the ends of an interval.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for ``fit``. Samples with weight 0 are removed.
    importance_getter : "auto", str or callable, default="auto"
        How to get the importances, as in :class:`sklearn.feature_selection.SelectFromModel`.
    n_jobs : int, default=None
        Number of runs in parallel. The result does not depend on it, nor on the joblib backend.
        With None or 1, the model's own ``n_jobs`` is used instead.
    random_state : int, RandomState instance or None, default=None
        Seed of the subsamples and of the runs.
    verbose : int, default=0
        If positive, show a progress bar over the runs.

    Returns
    -------
    result : Stability

    Notes
    -----
    Intervals are percentiles over the runs, not confidence intervals. They show how much
    importances vary when the model is fitted on ``fraction`` of the samples, which is more than
    they would with all samples. A model with ``n_repeats="auto"`` optimises alpha once per run:
    the runs are the repeats. A high frequency indicates a relevant feature but bounds no error
    rate; use :class:`ShadowSelector` for that.

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
    >>> from randsub.solver import Solver
    >>> X, y, relevant = make_friedman(300, 15, correlation=0.0, random_state=0)
    >>> model = PRSRegressor(KNeighborsRegressor(), solver=Solver.quick())
    >>> result = stability(model, X, y, n_runs=5, random_state=0)
    >>> sorted(result.mean.argsort()[-5:].tolist()) == relevant.tolist()
    True
    >>> list(result.table().columns)
    ['feature', 'mean', 'lower', 'upper', 'frequency']
    """
    given = {"n_runs": n_runs, "fraction": fraction, "threshold": threshold, "level": level}
    validate_parameter_constraints(CONSTRAINTS, given, caller_name="stability")
    if issparse(X):
        X = X.tocsr()
    elif frame_kind(X) is None:
        # Values are left for the model to check.
        X = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
    check_weights_are_taken(model, sample_weight)
    samples = check_samples(model, X, y, sample_weight, y_numeric=False)
    rng = check_random_state(random_state)
    has_classes = is_classifier(model) and samples.y.ndim == 1
    strata = np.unique(samples.y, return_inverse=True)[1] if has_classes else None
    replicates = [
        Replicate(_subsample(samples.rows, fraction, strata, np.random.default_rng(seed)), seed)
        for seed in draw_seeds(n_runs, rng)
    ]
    found = fit_repeatedly(
        model,
        samples,
        replicates,
        importance_getter=importance_getter,
        n_jobs=n_jobs,
        description="stability" if verbose else "",
    )
    names = [f"x{j}" for j in range(X.shape[1])] if frame_kind(X) is None else X.columns
    return Stability._of(found.importances, found.groups, names, threshold, level, "subsamples")


def _subsample(
    rows: IntArray, fraction: float, strata: IntArray | None, rng: np.random.Generator
) -> IntArray:
    """A subsample of the rows, stratified by class, with at least one row of each."""
    if fraction == 1.0:
        return rows
    if len(rows) < 4:
        raise ValueError(
            f"{len(rows)} sample(s) with a positive weight are too few for subsamples; use "
            "fraction=1 to vary the seed alone."
        )
    return split_validation(rows, 1.0 - fraction, strata, rng)[0]

"""Feature selection with a bound on the share of false ones, by competition with shadows."""

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from randsub._tables import n_rows, take_rows
from randsub._typing import BoolArray, FloatArray, Table
from randsub.ensemble.inputs import check_samples, check_table
from randsub.selection.discoveries import (
    enough_shadows,
    pooled_p_values,
    q_values,
    smallest_selection,
)
from randsub.selection.repetition import Run, check_weights_are_taken, draw_seeds, repeat
from randsub.selection.shadows import column_groups, enlarged, with_shadows


class ShadowSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Keep the features that are more important than permuted copies of the columns.

    The estimator is trained on X together with *shadows*: copies of the columns with their rows in
    another order, which have no bond with y. An irrelevant feature is then just one more shadow,
    and how important shadows become tells how important irrelevant features become by chance.

    1. ``n_shadows`` shuffled copies of X are put beside it. They stay the same for all runs.
    2. The estimator is trained ``n_runs`` times with different seeds; the importance of a column is
       its mean over the runs.
    3. The p-value of a feature is its rank among all shadows: ``(1 + number of shadows at least as
       important) / (1 + number of shadows)``.
    4. Benjamini and Hochberg's procedure selects features at the level ``fdr``.

    Parameters
    ----------
    estimator : estimator
        :class:`randsub.PRSClassifier`, :class:`randsub.PRSRegressor`, or any estimator with
        ``feature_importances_`` or ``coef_`` that treats all columns alike. It is cloned and not
        fitted itself. Feature groups of PRS have shadows as groups, and are selected as groups.
    fdr : float, default=0.1
        Bound on the false discovery rate: the mean share of irrelevant features among those
        selected.
    n_shadows : int or "auto", default="auto"
        Copies of each column; a fit has ``1 + n_shadows`` times the columns. Few copies cannot
        tell a small p-value: if G features (or groups) all beat every shadow, it takes
        ``G / (fdr (1 + n_shadows G))``, about ``1 / (fdr n_shadows)``, of them to be selected. With
        "auto" that is 2: 5 copies for ``fdr=0.1``, 10 for 0.05.
    n_runs : int, default=5
        Number of seeds. More runs make importances less noisy, and weak features easier to tell.
    importance_getter : "auto", str or callable, default="auto"
        Where importances are found, as in :class:`sklearn.feature_selection.SelectFromModel`.
    n_jobs : int, default=None
        Runs that go at the same time. The result is the same for any number and any joblib
        backend. With None or 1, the estimator's own ``n_jobs`` counts instead.
    random_state : int, RandomState instance or None, default=None
        Fixes the shadows and the seeds of the runs.
    verbose : int, default=0
        1 shows a progress bar over the runs.

    Attributes
    ----------
    support_ : bool ndarray of shape (n_features,)
        Whether each feature is selected.
    importances_ : ndarray of shape (n_features,)
        Mean importance of each feature.
    shadow_importances_ : ndarray of shape (n_shadows, n_features)
        Mean importance of each shadow.
    p_values_ : ndarray of shape (n_features,)
        Share of the shadows that are as important, with the feature itself counted among them.
    q_values_ : ndarray of shape (n_features,)
        Least ``fdr`` at which each feature is selected.
    threshold_ : float
        Least importance of a selected feature; infinite if there is none.
    n_shadows_ : int
        Copies of each column.
    smallest_selection_ : int
        Fewest features (or groups) that can be selected with so many shadows.
    feature_groups_ : int ndarray of shape (n_features,)
        Group of each column; a column alone is a group of its own.
    run_importances_ : ndarray of shape (n_runs, (1 + n_shadows) n_features)
        Importances of each run: the columns of X, then copy after copy.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only where X has names that are all strings.

    See Also
    --------
    stability : How much importances depend on samples and seed.

    Notes
    -----
    *When the bound holds.* The false discovery rate is at most ``fdr`` times the share of
    irrelevant features if the irrelevant features and the shadows are exchangeable, given the
    relevant ones and y: noise columns that are independent of y and of the relevant columns, alike
    in distribution, with rows in no particular order. With V(t) and S(t) the numbers of irrelevant
    features and of shadows that are at least t, V / (1 + S) is then a supermartingale as t grows,
    as in the proof for knockoffs. Where noise columns are of different kinds, the bound holds for
    them on average over kinds and not within each.

    *When it does not.* A shadow has lost its correlation with the real columns. An irrelevant
    feature that is correlated with a relevant one predicts y, if only in its place, and its alpha
    is higher than that of any shadow. Such features are selected, and counted as false they can be
    most of the selection (on the Checkerboard problem, where neighbours have correlation 0.9).
    What the selector tests is whether a column and y are independent, not whether the
    column adds something to the others. Put columns that carry the same signal into one of
    ``feature_groups``, or read the selection as "this one or a relative of it".

    Shadows keep the correlations among themselves: all columns of a copy share one order of rows.
    They are drawn once, not anew in each run, because a column that is correlated with y by
    chance is so in every run; so it must be with the shadows it is compared with. Counting in how
    many runs a feature beats fresh shadows, as if runs were independent, would find such a column
    significant.

    Weak features lose against hundreds of shadows; a selector with error control returns fewer
    features than a ranking shows.

    References
    ----------
    M. B. Kursa and W. R. Rudnicki, "Feature selection with the Boruta package", Journal of
    Statistical Software, 2010.

    R. F. Barber and E. J. Candes, "Controlling the false discovery rate via knockoffs", The Annals
    of Statistics, 2015.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.selection import ShadowSelector
    >>> X, y, relevant = make_friedman(200, 10, correlation=0.0, random_state=0)
    >>> model = PRSRegressor(KNeighborsRegressor(), max_iter=100, learning_rate=5e-3)
    >>> selector = ShadowSelector(model, n_runs=2, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True).tolist() == relevant.tolist()
    True
    >>> selector.transform(X).shape
    (200, 5)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"])],
        "fdr": [Interval(Real, 0, 1, closed="neither")],
        "n_shadows": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_runs": [Interval(Integral, 1, None, closed="left")],
        "importance_getter": [str, callable],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        fdr: float = 0.1,
        n_shadows: int | Literal["auto"] = "auto",
        n_runs: int = 5,
        importance_getter: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.fdr = fdr
        self.n_shadows = n_shadows
        self.n_runs = n_runs
        self.importance_getter = importance_getter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Table, y: Any, sample_weight: Any = None) -> Self:
        """Train the estimator on X and its shadows, and select features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data, as for the estimator's ``fit``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the estimator's ``fit``. Samples of weight 0 are left out.

        Returns
        -------
        self : object
            The fitted selector.
        """
        tags = get_tags(self).input_tags
        X = check_table(
            self, X, reset=True, accept_sparse=tags.sparse, allow_nan=tags.allow_nan, min_samples=2
        )
        samples = check_samples(self, X, y, sample_weight, y_numeric=False)
        check_weights_are_taken(self.estimator, sample_weight)
        X, y, weight = take_rows(X, samples.rows), samples.y[samples.rows], samples.sample_weight
        weight = None if weight is None else weight[samples.rows]
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        groups = column_groups(self.estimator, X.shape[1], names)
        n_groups = int(groups.max()) + 1
        n_shadows = self._choose_n_shadows(n_groups)
        estimator = enlarged(self.estimator, X, groups, names, n_shadows)

        rng = check_random_state(self.random_state)
        table = with_shadows(X, n_shadows, rng)
        everything = np.arange(n_rows(X))
        found = repeat(
            estimator,
            table,
            y,
            weight,
            [Run(everything, seed) for seed in draw_seeds(self.n_runs, rng)],
            importance_getter=self.importance_getter,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            description="shadows",
        )
        self.n_shadows_ = n_shadows
        self.smallest_selection_ = smallest_selection(n_groups, n_shadows, self.fdr)
        self.feature_groups_ = groups
        self.run_importances_ = found.importances
        self._select()
        return self

    def _choose_n_shadows(self, n_groups: int) -> int:
        if self.n_shadows == "auto":
            return enough_shadows(n_groups, self.fdr)
        needed = smallest_selection(n_groups, self.n_shadows, self.fdr)
        if needed > n_groups:
            raise ValueError(
                f"With n_shadows={self.n_shadows} and fdr={self.fdr}, at least {needed} features "
                f"would have to be selected at once, but X has {n_groups} columns or groups of "
                f"columns: use n_shadows={enough_shadows(n_groups, self.fdr)} or more, or a larger "
                "fdr."
            )
        return self.n_shadows

    def _select(self) -> None:
        """From the importances of the runs to p-values, in groups, and back to columns."""
        n_features = len(self.feature_groups_)
        means = self.run_importances_.mean(axis=0).reshape(1 + self.n_shadows_, n_features)
        self.importances_, self.shadow_importances_ = means[0], means[1:]
        by_group = _group_maxima(means, self.feature_groups_)
        p_values = pooled_p_values(by_group[0], by_group[1:].ravel())
        q = q_values(p_values)
        self.p_values_: FloatArray = p_values[self.feature_groups_]
        self.q_values_: FloatArray = q[self.feature_groups_]
        self.support_: BoolArray = self.q_values_ <= self.fdr
        chosen = by_group[0, q <= self.fdr]
        self.threshold_ = float(chosen.min()) if len(chosen) else np.inf

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self, "support_")
        return self.support_

    def table(self) -> pd.DataFrame:
        """What speaks for each feature, in the order of the columns of X.

        Returns
        -------
        table : pandas.DataFrame
            ``feature``, ``importance``, ``p_value``, ``q_value``, ``selected``.
        """
        check_is_fitted(self, "support_")
        default = [f"x{j}" for j in range(self.n_features_in_)]
        return pd.DataFrame(
            {
                "feature": getattr(self, "feature_names_in_", default),
                "importance": self.importances_,
                "p_value": self.p_values_,
                "q_value": self.q_values_,
                "selected": self.support_,
            }
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.target_tags.required = True
        return tags


def _group_maxima(values: FloatArray, groups: Any) -> FloatArray:
    """Largest value in each group of columns, shape (rows, n_groups)."""
    largest = np.full((len(values), int(groups.max()) + 1), -np.inf)
    for row, entries in zip(largest, values, strict=True):
        np.maximum.at(row, groups, entries)
    return largest

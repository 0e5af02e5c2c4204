"""Feature selection with a bound on the false discovery rate, by comparison with shadows."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from randsub._significance import pooled_p_values, q_values
from randsub._sklearn import HasMethods, Interval, StrOptions, fit_context
from randsub._typing import BoolArray, FloatArray, Table
from randsub.estimators.fit_data import Samples
from randsub.selection.base import Selector
from randsub.selection.conditional_shadows import conditional_orders, numeric_values
from randsub.selection.fdr import enough_shadows, smallest_selection
from randsub.selection.repeated_fits import Replicate, draw_seeds, fit_repeatedly
from randsub.selection.shadows import column_groups, enlarged, shared_orders, with_shadows


@dataclass(eq=False, repr=False)
class ShadowSelector(Selector):
    """Select the features that are more important than permuted copies of the columns.

    The estimator is fitted on X together with *shadows*: copies of the columns with permuted rows,
    which add nothing about y. The importances of the shadows show how important an irrelevant
    feature becomes by chance.

    1. ``n_shadows`` permuted copies of X are appended to it. They are the same in all runs.
    2. The estimator is fitted ``n_runs`` times with different seeds; the importance of a column is
       its mean over the runs.
    3. The p-value of a feature is its rank among all shadows: ``(1 + number of shadows at least as
       important) / (1 + number of shadows)``.
    4. The Benjamini-Hochberg procedure selects features at level ``fdr``.

    Parameters
    ----------
    estimator : estimator
        :class:`randsub.PRSClassifier`, :class:`randsub.PRSRegressor`, or any estimator with
        ``feature_importances_`` or ``coef_`` that treats all columns alike. It is cloned and not
        fitted itself. Feature groups of PRS are copied and selected as groups. With
        ``n_repeats="auto"``, alpha is optimised once per run: the runs are the repeats.
    fdr : float, default=0.1
        Bound on the false discovery rate: the expected share of irrelevant features, in the sense
        of ``null``, among the selected ones.
    null : {"marginal", "conditional"}, default="marginal"
        Which features are irrelevant, and so which copies stand for them:

        - "marginal": features that are independent of y. The rows of all columns of a copy are
          permuted together, so that shadows are independent of y and of the real columns.
        - "conditional": features that add nothing about y to the other columns, even if they are
          correlated with relevant ones. Shadows are as correlated with the other columns as the
          columns are (Gaussian knockoffs). X must be a dense table of numbers, without categories
          and missing values.
    n_shadows : int or "auto", default="auto"
        Number of copies of each column; a fit has ``1 + n_shadows`` times the columns. The
        smallest possible p-value is limited by the number of copies: with G features (or groups),
        no fewer than ``G / (fdr (1 + n_shadows G))``, about ``1 / (fdr n_shadows)``, can be
        selected. "auto" makes this number 2: 5 copies for ``fdr=0.1``, 10 for ``fdr=0.05``.
    n_runs : int, default=5
        Number of fits with different seeds. More runs reduce the noise of the importances and so
        help to detect weak features.
    importance_getter : "auto", str or callable, default="auto"
        How to get the importances, as in :class:`sklearn.feature_selection.SelectFromModel`.
    n_jobs : int, default=None
        Number of runs in parallel. The result does not depend on it, nor on the joblib backend.
        With None or 1, the estimator's own ``n_jobs`` is used instead.
    random_state : int, RandomState instance or None, default=None
        Seed of the copies and of the runs.
    verbose : int, default=0
        If positive, show a progress bar over the runs.

    Attributes
    ----------
    support_ : bool ndarray of shape (n_features,)
        Whether each feature is selected.
    importances_ : ndarray of shape (n_features,)
        Mean importance of each feature.
    shadow_importances_ : ndarray of shape (n_shadows, n_features)
        Mean importance of each shadow.
    p_values_ : ndarray of shape (n_features,)
        Share of the shadows that are at least as important, counting the feature itself as one.
    q_values_ : ndarray of shape (n_features,)
        Smallest ``fdr`` at which each feature is selected.
    threshold_ : float
        Smallest importance of a selected feature; infinite if none is selected.
    n_shadows_ : int
        Number of copies of each column.
    smallest_selection_ : int
        Smallest number of features (or groups) that can be selected with ``n_shadows_`` copies.
    feature_groups_ : int ndarray of shape (n_features,)
        Group of each column; without ``feature_groups``, one group per column.
    run_importances_ : ndarray of shape (n_runs, (1 + n_shadows) n_features)
        Importances in each run: the columns of X, followed by the copies one after another.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names; only defined if X has feature names that are all strings.

    See Also
    --------
    MinimalSelector : A minimal set from which a model predicts as well as from all features.
    stability : How much importances vary with the samples and the seed.

    Notes
    -----
    *The marginal null.* The false discovery rate is at most ``fdr`` times the share of irrelevant
    features if irrelevant features and shadows are exchangeable, given the relevant features and y:
    noise columns are independent of y and of the relevant columns, identically distributed, and
    rows are exchangeable. With V(t) and S(t) the numbers of irrelevant features and of shadows with
    importance at least t, V / (1 + S) is then a supermartingale in t, as in the proof for
    knockoffs. If noise columns follow different distributions, the bound holds on average over
    these, not within each.

    An irrelevant feature that is correlated with a relevant one predicts y, and its importance
    exceeds that of any marginal shadow. Such features are selected; counted as false, they can be
    most of the selection (for example in the Checkerboard problem, where neighbours have
    correlation 0.9). Read a selected feature as "this feature or one that is correlated with it",
    put columns with the same signal into one of ``feature_groups``, or use the other null.

    *The conditional null.* If the columns are jointly Gaussian with the correlations that are
    estimated from X, a feature that adds nothing can change places with its copies without a change
    of any distribution. The expected number of such features with importance at least t is then
    1 / ``n_shadows`` of that of their copies, for every t, and copies of relevant features, which
    are counted too, make the p-values larger. The bound is as good as the model of X: columns far
    from normal enter by their ranks, correlations are estimated by shrinkage, a sparse graph of
    partial correlations or a few factors, whichever predicts held-out rows best, and dependence of
    other kinds is not copied. Of columns that determine each other, none adds anything to the
    others, and none may be selected: put them into one of ``feature_groups``.

    *Both.* Shadows are drawn once and not per run: a column that is correlated with y by chance is
    so in every run, and so must be the shadows that it is compared with. Counting the runs in which
    a feature beats fresh shadows, as if runs were independent, would declare such a column
    significant.

    Weak features may not exceed hundreds of shadows: a selection with error control is smaller
    than a ranking suggests.

    References
    ----------
    M. B. Kursa and W. R. Rudnicki, "Feature selection with the Boruta package", Journal of
    Statistical Software, 2010.

    R. F. Barber and E. J. Candes, "Controlling the false discovery rate via knockoffs", The Annals
    of Statistics, 2015.

    E. Candes, Y. Fan, L. Janson and J. Lv, "Panning for gold: model-X knockoffs for high
    dimensional controlled variable selection", Journal of the Royal Statistical Society B, 2018.

    J. R. Gimenez and J. Zou, "Improving the stability of the knockoff procedure: multiple
    simultaneous knockoffs and entropy maximization", AISTATS, 2019.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.selection import ShadowSelector
    >>> from randsub.solver import Solver
    >>> X, y, relevant = make_friedman(300, 15, correlation=0.0, random_state=5)
    >>> model = PRSRegressor(KNeighborsRegressor(), solver=Solver.quick())
    >>> selector = ShadowSelector(model, n_runs=3, random_state=0).fit(X, y)
    >>> bool(selector.get_support()[relevant].all())
    True
    >>> selector.transform(X).shape == (300, selector.get_support().sum())
    True
    """

    estimator: Any
    _: KW_ONLY
    fdr: float = 0.1
    null: Literal["marginal", "conditional"] = "marginal"
    n_shadows: int | Literal["auto"] = "auto"
    n_runs: int = 5
    importance_getter: Any = "auto"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"])],
        "fdr": [Interval(Real, 0, 1, closed="neither")],
        "null": [StrOptions({"marginal", "conditional"})],
        "n_shadows": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_runs": [Interval(Integral, 1, None, closed="left")],
        "importance_getter": [str, callable],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Table, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator on X and its shadows, and select features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data, as for the estimator's ``fit``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the estimator's ``fit``. Samples with weight 0 are removed.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y, weight, _ = self._checked(X, y, sample_weight)
        names = self._names()
        groups = column_groups(self.estimator, X.shape[1], names)
        n_groups = int(groups.max()) + 1
        n_shadows = self._choose_n_shadows(n_groups)
        estimator = enlarged(self.estimator, X, groups, names, n_shadows)

        rng = check_random_state(self.random_state)
        if self.null == "conditional":
            values = numeric_values(X, self.estimator, names)
            orders = conditional_orders(values, groups, n_shadows, rng)
        else:
            orders = shared_orders(len(y), n_shadows, rng)
        samples = Samples(with_shadows(X, orders), y, weight, np.arange(len(y)))
        found = fit_repeatedly(
            estimator,
            samples,
            [Replicate(samples.rows, seed) for seed in draw_seeds(self.n_runs, rng)],
            importance_getter=self.importance_getter,
            n_jobs=self.n_jobs,
            description="shadows" if self.verbose else "",
        )
        self.n_shadows_ = n_shadows
        self.smallest_selection_ = smallest_selection(n_groups, n_shadows, self.fdr)
        self.feature_groups_ = groups
        self.run_importances_ = found.importances
        self._select()
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.null == "conditional":
            # An error of our own names the remedy.
            tags.input_tags.sparse = tags.input_tags.allow_nan = False
        return tags

    def _choose_n_shadows(self, n_groups: int) -> int:
        if self.n_shadows == "auto":
            return enough_shadows(n_groups, self.fdr)
        needed = smallest_selection(n_groups, self.n_shadows, self.fdr)
        if needed > n_groups:
            raise ValueError(
                f"With n_shadows={self.n_shadows} and fdr={self.fdr}, no fewer than {needed} "
                f"features can be selected, but X has {n_groups} columns or groups of columns: use "
                f"n_shadows={enough_shadows(n_groups, self.fdr)} or more, or a larger fdr."
            )
        return self.n_shadows

    def _select(self) -> None:
        """From the importances of the runs to p-values per group, and back to columns."""
        n_features = len(self.feature_groups_)
        means = self.run_importances_.mean(axis=0).reshape(1 + self.n_shadows_, n_features)
        self.importances_, self.shadow_importances_ = means[0], means[1:]
        by_group = np.full((int(self.feature_groups_.max()) + 1, len(means)), -np.inf)
        np.maximum.at(by_group, self.feature_groups_, means.T)
        p_values = pooled_p_values(by_group[:, 0], by_group[:, 1:].ravel())
        q = q_values(p_values)
        self.p_values_: FloatArray = p_values[self.feature_groups_]
        self.q_values_: FloatArray = q[self.feature_groups_]
        self.support_: BoolArray = self.q_values_ <= self.fdr
        chosen = by_group[q <= self.fdr, 0]
        self.threshold_ = float(chosen.min()) if len(chosen) else np.inf

    def table(self) -> pd.DataFrame:
        """Importance, p-value and q-value of each feature, in the order of the columns of X.

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

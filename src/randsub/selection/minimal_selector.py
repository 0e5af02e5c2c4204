"""Selection of a small set of features from which a model predicts as well as from all."""

from contextlib import closing
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from randsub._progress import Bar
from randsub._sklearn import HasMethods, Interval, StrOptions, fit_context
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.estimators.fit_data import Samples
from randsub.parallel import WorkerPool
from randsub.selection.base import Selector
from randsub.selection.nested_sets import (
    INNER_FOLDS,
    ROUNDING,
    Judge,
    Split,
    nested_chain,
    random_splits,
    sizes_of_sets,
    standard_error,
)
from randsub.selection.plain_predictor import plain_predictor
from randsub.selection.repeated_fits import check_weights_are_taken, draw_seeds
from randsub.selection.shadows import column_groups


@dataclass(eq=False, repr=False)
class MinimalSelector(Selector):
    """Select a minimal set of features from which a model predicts as well as from all.

    1. In each fold, the estimator is fitted on the training rows. Features are ordered by its
       importances, but those without which the others predict as well come last: of two copies of
       a column, one.
    2. The predictor is trained on the first 1, 2, 3, ... features, and on all, and scored on the
       rows that the fold holds out.
    3. The smallest number of features is chosen whose mean score over the folds is within ``tol``
       of the best.
    4. That many features are selected, in the order that step 1 gives on all rows.

    Parameters
    ----------
    estimator : estimator
        Its importances rank the features: :class:`randsub.PRSClassifier`,
        :class:`randsub.PRSRegressor`, or any estimator with ``feature_importances_`` or ``coef_``.
        It is cloned and not fitted itself. Feature groups of PRS are selected as groups. With
        ``n_repeats="auto"``, alpha is optimised once per fold.
    predictor : estimator, default=None
        The model that is to predict as well. By default the base model of PRS, trained on scaled
        columns as PRS does (decision trees bagged, several base models averaged); for other
        estimators, the estimator itself. It is trained about ``(n_sizes + 5 n_candidates)`` times
        per fold.
    tol : "se" or float, default="se"
        Loss of score that is accepted: one standard error of the best mean score over the folds,
        or a number in units of the score.
    cv : int, splitter or iterable of pairs of arrays, default=5
        Folds, as in scikit-learn. For a number, rows are shuffled, classes are stratified, and
        groups of rows stay together.
    scoring : str or callable, default=None
        As in scikit-learn; None is the ``score`` method of the predictor.
    n_candidates : int, default=20
        Number of most important features (or groups) that are tested for redundancy; with 0, the
        order is that of the importances.
    importance_getter : "auto", str or callable, default="auto"
        How to get the importances, as in :class:`sklearn.feature_selection.SelectFromModel`.
    n_jobs : int, default=None
        Number of folds in parallel. The result does not depend on it, nor on the joblib backend.
        With None or 1, the estimator's own ``n_jobs`` is used instead.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the models.
    verbose : int, default=0
        If positive, show a progress bar over the folds.

    Attributes
    ----------
    support_ : bool ndarray of shape (n_features,)
        Whether each feature is selected.
    n_features_ : int
        Number of selected features (or groups).
    order_ : int ndarray of shape (n_features,)
        The features (or groups) in the order of step 1, on all rows.
    importances_ : ndarray of shape (n_features,)
        Importance of each column in the fit on all rows.
    sizes_ : int ndarray of shape (n_sizes,)
        Numbers of features (or groups) that were tried; the last one is all of them.
    cv_scores_ : ndarray of shape (n_folds, n_sizes)
        Score of the predictor on the held-out rows of each fold, for each size.
    score_ : float
        Mean over the folds of the score at the size that the *other* folds choose: neither order
        nor size is chosen on the rows that are scored.
    full_score_ : float
        Mean score with all features.
    predictor_ : estimator
        The predictor, not fitted.
    feature_groups_ : int ndarray of shape (n_features,)
        Group of each column; without ``feature_groups``, one group per column.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names; only defined if X has feature names that are all strings.

    See Also
    --------
    ShadowSelector : All relevant features, with a bound on the false discovery rate.

    Notes
    -----
    *What it promises.* A predictor of this kind, trained on the selected features, scores on new
    rows about as well as on all features: ``score_`` against ``full_score_``. It does not promise
    that the other features are irrelevant. Where several sets predict equally well, one of them is
    selected, and other samples or another seed may give another one; use :class:`ShadowSelector`
    to learn which features carry information about y.

    *How small.* The set is the smallest one in one order of the features, not the smallest of all
    sets. With few samples the standard error is large, and features with small effects are left
    out; a smaller ``tol`` keeps them.

    *Cost.* The estimator is fitted once per fold and once on all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.selection import MinimalSelector
    >>> from randsub.solver import Solver
    >>> X, y, relevant = make_friedman(300, 10, correlation=0.0, random_state=0)
    >>> X = np.hstack([X, X[:, relevant]])
    >>> model = PRSRegressor(KNeighborsRegressor(), solver=Solver.quick())
    >>> selector = MinimalSelector(model, random_state=0).fit(X, y)
    >>> selector.n_features_ < 10
    True
    >>> bool(selector.score_ > selector.full_score_ - 0.05)
    True
    """

    estimator: Any
    _: KW_ONLY
    predictor: Any = None
    tol: float | Literal["se"] = "se"
    cv: Any = 5
    scoring: Any = None
    n_candidates: int = 20
    importance_getter: Any = "auto"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"])],
        "predictor": [HasMethods(["fit", "predict"]), None],
        "tol": [StrOptions({"se"}), Interval(Real, 0, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), "array-like"],
        "scoring": [str, callable, None],
        "n_candidates": [Interval(Integral, 0, None, closed="left")],
        "importance_getter": [str, callable],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _models(self) -> list[Any]:
        return [self.estimator] if self.predictor is None else [self.estimator, self.predictor]

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Table, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Order the features, score sets of them, and select the smallest that is good enough.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data, as for the estimator's ``fit``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for ``fit`` of estimator and predictor, and for the scores. Samples with weight
            0 are removed.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that are not split between folds, such as measurements of one patient.

        Returns
        -------
        self : object
            The fitted selector.
        """
        samples = self._checked(X, y, sample_weight)
        predictor = plain_predictor(self.estimator, samples.X, samples.y)
        if self.predictor is not None:
            predictor = self.predictor
            check_weights_are_taken(predictor, sample_weight)
        scorer = check_scoring(predictor, self.scoring)
        if groups is not None:
            groups = check_array(groups, ensure_2d=False, dtype=None, input_name="groups")
            check_consistent_length(X, groups)
            groups = groups[samples.rows]
        features = column_groups(self.estimator, samples.X.shape[1], self._names())
        seeds = draw_seeds(2, check_random_state(self.random_state))
        splits = self._splits(samples, groups, seeds[0])
        sizes = sizes_of_sets(int(features.max()) + 1)

        judge = Judge(predictor, scorer, samples._replace(rows=np.arange(0)), features, seeds[1])
        everything = Split(np.arange(len(samples.y)), np.arange(0))
        pool = WorkerPool(self.n_jobs, "processes")
        chain_of = partial(
            nested_chain,
            self.estimator,
            sizes=sizes,
            n_candidates=self.n_candidates,
            importance_getter=self.importance_getter,
            alone=pool.size() == 1,
        )
        inner = partial(
            random_splits,
            INNER_FOLDS if self.n_candidates else 0,
            y=samples.y,
            strata=is_classifier(self.estimator),
            groups=groups,
            seed=seeds[0],
        )
        calls = [
            delayed(chain_of)(judge, split, inner=inner(rows=split.train))
            for split in [*splits, everything]
        ]
        bar = Bar("minimal set", len(calls), "fold", shown=bool(self.verbose))
        with closing(bar):
            *folds, final = pool.run_all(calls, lambda answer: bar.advance())

        self.predictor_, self.feature_groups_ = predictor, features
        self.sizes_: IntArray = np.array(sizes)
        self.cv_scores_: FloatArray = np.array([fold.scores for fold in folds])
        self.order_: IntArray = np.array(final.order)
        self.importances_: FloatArray = final.importances
        self._select()
        return self

    def _splits(self, samples: Samples, groups: Any, seed: int) -> list[Split]:
        """Training rows and held-out rows of each fold."""
        rows, classifies = np.arange(len(samples.y)), is_classifier(self.estimator)
        if isinstance(self.cv, Integral):
            splits = random_splits(int(self.cv), rows, samples.y, classifies, groups, seed)
        elif hasattr(self.cv, "split"):
            parts = self.cv.split(samples.X, samples.y, groups)
            splits = [Split(rows[train], rows[test]) for train, test in parts]
        else:
            # Rows of X as the user gave it, of which some may have been removed.
            places = np.full(int(samples.rows.max()) + 1, -1)
            places[samples.rows] = rows
            splits = [
                Split(*(found[found >= 0] for found in (places[part] for part in pair)))
                for pair in self.cv
            ]
        if len(splits) < 2:
            raise ValueError(
                f"cv={self.cv!r} gives {len(splits)} fold(s) of {len(rows)} samples, and two are "
                "the least: every class needs two samples or more, and so do groups of rows."
            )
        return splits

    def _select(self) -> None:
        """From the scores of the folds to a size, and from the size to columns."""
        scores = self.cv_scores_
        chosen = smallest_as_good(scores, self.tol)
        honest = [
            of_fold[smallest_as_good(np.delete(scores, fold, axis=0), self.tol)]
            for fold, of_fold in enumerate(scores)
        ]
        self.n_features_ = int(self.sizes_[chosen])
        self.score_ = float(np.mean(honest))
        self.full_score_ = float(scores[:, -1].mean())
        selected = self.order_[: self.n_features_]
        self.support_: BoolArray = np.isin(self.feature_groups_, selected)

    def table(self) -> pd.DataFrame:
        """Mean score over the folds by number of features.

        Returns
        -------
        table : pandas.DataFrame
            ``n_features``, ``score``, ``standard_error``, ``selected``.
        """
        check_is_fitted(self, "support_")
        return pd.DataFrame(
            {
                "n_features": self.sizes_,
                "score": self.cv_scores_.mean(axis=0),
                "standard_error": [standard_error(column) for column in self.cv_scores_.T],
                "selected": self.sizes_ == self.n_features_,
            }
        )


def smallest_as_good(scores: FloatArray, tol: float | Literal["se"]) -> int:
    """Index of the smallest size whose mean score is within the tolerance of the best.

    Parameters
    ----------
    scores : ndarray of shape (n_folds, n_sizes)
        Sizes in ascending order.
    tol : "se" or float
        "se" is the standard error of the best mean score.
    """
    means = scores.mean(axis=0)
    best = int(means.argmax())
    allowed = standard_error(scores[:, best]) if tol == "se" else tol
    return int(np.flatnonzero(means >= means[best] - allowed - ROUNDING)[0])

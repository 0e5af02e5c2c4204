"""RaSE: each member sees the best of many random subsets, by cross-validation."""

from contextlib import closing
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from randsub._compile import when_compiling
from randsub._progress import Bar
from randsub._sklearn import Interval, StrOptions
from randsub._typing import BoolArray, FloatArray, Table
from randsub.checkpoint import Logbook
from randsub.estimators.assembly import probabilities
from randsub.estimators.base import ClassificationEnsemble, RegressionEnsemble, SubspaceEnsemble
from randsub.estimators.candidate_search import CandidateSearch
from randsub.estimators.constraints import COMMON, VOTING
from randsub.estimators.cross_validation import cross_validated_average
from randsub.estimators.cutoff import best_cutoff
from randsub.estimators.fit_data import FitData
from randsub.estimators.folds import Folds
from randsub.estimators.run import Draw, train_members
from randsub.exceptions import BaseModelError
from randsub.parallel import one_thread


@dataclass(eq=False, repr=False, kw_only=True)
class BaseRaSE(SubspaceEnsemble):
    """Common part of :class:`RaSEClassifier` and :class:`RaSERegressor`."""

    n_candidates: int = 500
    max_iter: int = 10
    max_size: int | Literal["auto"] = "auto"
    threshold: float = 0.1
    alpha_init: Any = 0.05
    cv: Any = 10

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON,
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, None, closed="neither")],
        "alpha_init": [Interval(Real, 0, 1, closed="right"), "array-like"],
        "cv": ["cv_object"],
    }

    @property
    def feature_importances_(self) -> FloatArray:
        """Importance of each feature, ``alpha_``."""
        check_is_fitted(self, "alpha_")
        return self.alpha_

    def _learn(self, data: FitData, logbook: Logbook) -> None:
        rng = data.rngs[0]
        alpha = probabilities(self.alpha_init, self.n_features_in_)
        folds = Folds(self.cv)
        n_candidates = self.max_iter * self.n_estimators * self.n_candidates
        bar = Bar(type(self).__name__, n_candidates, "subset", shown=bool(self.verbose))
        search = CandidateSearch(
            data=data,
            folds=folds,
            n_members=self.n_estimators,
            n_candidates=self.n_candidates,
            max_iter=self.max_iter,
            max_size=self._largest_size(len(data.train_rows)),
            threshold=self.threshold,
            rng=rng,
            bar=bar,
        )
        # Sums must not depend on the number of threads.
        with closing(bar), one_thread(), when_compiling(bar.say_compiling):
            result = search.run(alpha)
        self.alpha_ = result.masks.mean(axis=0)
        self.expected_size_ = float(result.masks.sum(axis=1).mean())
        self.n_iter_ = len(result.history)
        self.best_iter_ = result.best_iter
        self.history_ = pd.DataFrame(
            result.history, index=pd.RangeIndex(1, self.n_iter_ + 1, name="iteration")
        )
        self.n_models_trained_ = result.n_models_trained + self.n_estimators
        self._tune(data, result.masks, folds, rng)
        self.estimators_, self.estimators_features_ = train_members(data, [Draw(result.masks, rng)])

    def _largest_size(self, n_train: int) -> int:
        n_features, max_size = self.n_features_in_, self.max_size
        if isinstance(max_size, str):
            return min(n_features, int(np.sqrt(n_train)))
        if max_size > n_features:
            raise ValueError(
                f"max_size={max_size} is more than the {n_features} feature(s) of X; give a "
                "smaller number, or 'auto'."
            )
        return int(max_size)

    def _tune(
        self, data: FitData, masks: BoolArray, folds: Folds, rng: np.random.Generator
    ) -> None:
        """Choose what depends on the final subsets (T, M); nothing in regression."""


class RaSERegressor(RegressionEnsemble, BaseRaSE):
    """Random subspace ensemble (RaSE) for regression, with subsets chosen by cross-validation.

    For each member, ``n_candidates`` feature subsets are drawn, and the one with the lowest
    cross-validation error of the base model is kept. The share of members that use a feature is
    its ``alpha_``; the candidates of the next iteration are drawn in proportion to it.

    Parameters
    ----------
    estimator : estimator, default=None
        The base model, any scikit-learn regressor. None means a decision tree.
    n_estimators : int, default=100
        Number of members, T.
    n_candidates : int, default=500
        Number of candidate subsets per member and iteration, B. A subset that is drawn several
        times in an iteration is evaluated once.
    max_iter : int, default=10
        Number of iterations.
    max_size : int or "auto", default="auto"
        Largest subset size, D; sizes are drawn uniformly from 1 to D. "auto" is
        ``min(n_features, floor(sqrt(n_train)))``.
    threshold : float, default=0.1
        C0: features with alpha at most ``threshold / log(n_features)`` are drawn with weight
        ``threshold / n_features`` instead of alpha.
    alpha_init : float or array-like of shape (n_features,), default=0.05
        Alpha from which the first iteration draws.
    cv : int, splitter, iterable or None, default=10
        Cross-validation folds that evaluate the candidates.

        - int: number of folds, drawn anew in each iteration, at most one per training sample;
          None means 5;
        - splitter of scikit-learn: it is given the training samples;
        - iterable of pairs (train, held out) of row indices of X, or masks. Validation samples
          are removed from them.
    validation_fraction : float, default=0.2
        Fraction of the samples set aside to choose the best iteration; the final ensemble is
        trained on all samples. Ignored if validation data is passed to ``fit``. None chooses the
        iteration with the lowest cross-validation error.
    standardize : bool, default=True
        Whether to scale dense numeric columns to mean 0 and standard deviation 1 on the training
        samples. Sparse data is scaled without centring; non-numeric columns of a frame are left
        unchanged.
    engine : {"auto", "knn", "tree", "svm", "linear_and_bayes", "boosting", "torch", \
            "generic"} or subclass of Engine, default="auto"
        Backend that trains the base models; "auto" is the fastest one that reproduces the base
        model exactly.
    device : str or None, default=None
        Device of the engine "torch"; see :class:`randsub.PRSClassifier`.
    n_jobs : int, default=None
        Number of workers. The result does not depend on it, nor on the joblib backend.
    task_timeout : float or None, default=None
        Time limit in seconds for training one base model, after which the fit ends with an error
        that names its features. With a limit, base models are sent to the workers one by one;
        those of compiled engines in groups.
    random_state : int, RandomState instance or None, default=None
        Seed. The same integer gives the same result, bit for bit.
    verbose : int, default=0
        If positive, show a progress bar.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_features,)
        Share of members that use each feature.
    feature_importances_ : ndarray of shape (n_features,)
        Same as ``alpha_``.
    expected_size_ : float
        Mean number of features per member.
    estimator_ : estimator
        The unfitted base model.
    engine_ : str
        Engine that trained the members: one of those of the parameter ``engine``.
    estimators_ : list of estimators
        The fitted members. With ``standardize``, they expect the output of
        ``standardizer_.transform``.
    estimators_features_ : list of int ndarrays
        Columns used by each member.
    standardizer_ : Standardizer or None
        Scales X for the members; None without ``standardize``.
    history_ : pandas.DataFrame
        One row per iteration: mean cross-validation error of the best subsets, validation R2 of
        their ensemble, their mean size, number of distinct subsets evaluated, and number of base
        models trained so far.
    n_iter_ : int
        Number of iterations run.
    best_iter_ : int
        Iteration whose subsets were kept.
    n_models_trained_ : int
        Number of base models trained, including the final ensemble.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names; only defined if X has feature names that are all strings.

    See Also
    --------
    RaSEClassifier : The same method for classification.
    PRSRegressor : Learns alpha by gradient descent on the loss of the ensemble.

    References
    ----------
    Y. Tian and Y. Feng, "RaSE: Random subspace ensemble classification", Journal of Machine
    Learning Research, 2021.

    Examples
    --------
    >>> from randsub import RaSERegressor
    >>> from randsub.datasets import make_friedman
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y, relevant = make_friedman(n_samples=300, n_irrelevant=15, random_state=0)
    >>> model = RaSERegressor(KNeighborsRegressor(), n_candidates=50, max_iter=3, random_state=0)
    >>> bool(model.fit(X[:200], y[:200]).alpha_[relevant].mean() > 2 * model.alpha_.mean())
    True
    >>> bool(model.score(X[200:], y[200:]) > 0.7)
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class RaSEClassifier(ClassificationEnsemble, BaseRaSE):
    """Random subspace ensemble (RaSE) for classification, with subsets chosen by cross-validation.

    For each member, ``n_candidates`` feature subsets are drawn, and the one with the lowest
    cross-validation error of the base model is kept. The share of members that use a feature is
    its ``alpha_``; the candidates of the next iteration are drawn in proportion to it.

    Parameters
    ----------
    estimator : estimator, default=None
        The base model, any scikit-learn classifier. None means a decision tree.
    n_estimators : int, default=100
        Number of members, T.
    n_candidates : int, default=500
        Number of candidate subsets per member and iteration, B. A subset that is drawn several
        times in an iteration is evaluated once.
    max_iter : int, default=10
        Number of iterations.
    max_size : int or "auto", default="auto"
        Largest subset size, D; sizes are drawn uniformly from 1 to D. "auto" is
        ``min(n_features, floor(sqrt(n_train)))``.
    threshold : float, default=0.1
        C0: features with alpha at most ``threshold / log(n_features)`` are drawn with weight
        ``threshold / n_features`` instead of alpha.
    alpha_init : float or array-like of shape (n_features,), default=0.05
        Alpha from which the first iteration draws.
    cv : int, splitter, iterable or None, default=10
        Cross-validation folds that evaluate the candidates.

        - int: number of stratified folds, drawn anew in each iteration, at most one per training
          sample; None means 5;
        - splitter of scikit-learn: it is given the training samples;
        - iterable of pairs (train, held out) of row indices of X, or masks. Validation samples
          are removed from them.
    voting : {"hard", "soft"}, default="hard"
        Whether members give one vote or their probabilities.
    tune_cutoff : bool, default=False
        Binary classification only: choose the share of votes above which the second class is
        predicted, by the number of cross-validated errors on the training samples. Otherwise the
        cut-off is one half.
    validation_fraction : float, default=0.2
        Fraction of the samples set aside to choose the best iteration; the final ensemble is
        trained on all samples. Ignored if validation data is passed to ``fit``. None chooses the
        iteration with the lowest cross-validation error.
    standardize : bool, default=True
        Whether to scale dense numeric columns to mean 0 and standard deviation 1 on the training
        samples. Sparse data is scaled without centring; non-numeric columns of a frame are left
        unchanged.
    engine : {"auto", "knn", "tree", "svm", "linear_and_bayes", "boosting", "torch", \
            "generic"} or subclass of Engine, default="auto"
        Backend that trains the base models; "auto" is the fastest one that reproduces the base
        model exactly.
    device : str or None, default=None
        Device of the engine "torch"; see :class:`randsub.PRSClassifier`.
    n_jobs : int, default=None
        Number of workers. The result does not depend on it, nor on the joblib backend.
    task_timeout : float or None, default=None
        Time limit in seconds for training one base model, after which the fit ends with an error
        that names its features. With a limit, base models are sent to the workers one by one;
        those of compiled engines in groups.
    random_state : int, RandomState instance or None, default=None
        Seed. The same integer gives the same result, bit for bit.
    verbose : int, default=0
        If positive, show a progress bar.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_features,)
        Share of members that use each feature.
    feature_importances_ : ndarray of shape (n_features,)
        Same as ``alpha_``.
    expected_size_ : float
        Mean number of features per member.
    cutoff_ : float or None
        Share of the votes above which the second class is predicted; None without ``tune_cutoff``.
    estimator_ : estimator
        The unfitted base model.
    engine_ : str
        Engine that trained the members: one of those of the parameter ``engine``.
    estimators_ : list of estimators
        The fitted members. With ``standardize``, they expect the output of
        ``standardizer_.transform``.
    estimators_features_ : list of int ndarrays
        Columns used by each member.
    standardizer_ : Standardizer or None
        Scales X for the members; None without ``standardize``.
    history_ : pandas.DataFrame
        One row per iteration: mean cross-validation error of the best subsets, validation
        accuracy of their ensemble, their mean size, number of distinct subsets evaluated, and
        number of base models trained so far.
    n_iter_ : int
        Number of iterations run.
    best_iter_ : int
        Iteration whose subsets were kept.
    n_models_trained_ : int
        Number of base models trained, including the final ensemble.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names; only defined if X has feature names that are all strings.

    See Also
    --------
    RaSERegressor : The same method for regression.
    PRSClassifier : Learns alpha by gradient descent on the loss of the ensemble.

    References
    ----------
    Y. Tian and Y. Feng, "RaSE: Random subspace ensemble classification", Journal of Machine
    Learning Research, 2021.

    Examples
    --------
    >>> from randsub import RaSEClassifier
    >>> from randsub.datasets import make_hypercube
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y, relevant = make_hypercube(n_samples=300, n_irrelevant=15, random_state=2)
    >>> model = RaSEClassifier(KNeighborsClassifier(), n_candidates=50, max_iter=3, random_state=0)
    >>> bool(model.fit(X[:200], y[:200]).alpha_[relevant].mean() > 2 * model.alpha_.mean())
    True
    >>> bool(model.score(X[200:], y[200:]) > 0.8)
    True
    """

    tune_cutoff: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRaSE._parameter_constraints,
        **VOTING,
        "tune_cutoff": ["boolean"],
    }

    def _learn(self, data: FitData, logbook: Logbook) -> None:
        if self.tune_cutoff and len(self.classes_) != 2:
            raise ValueError(
                f"tune_cutoff=True needs two classes, but y has {len(self.classes_)}: "
                f"{self.classes_.tolist()}. Use tune_cutoff=False."
            )
        self.cutoff_: float | None = None
        super()._learn(data, logbook)

    def _tune(
        self, data: FitData, masks: BoolArray, folds: Folds, rng: np.random.Generator
    ) -> None:
        if not self.tune_cutoff:
            return
        strata = data.strata
        assert strata is not None
        dealt = folds.deal(data, data.samples.rows, rng)
        rows = np.unique(np.concatenate([fold.query_rows for fold in dealt]))
        try:
            with one_thread():
                votes = cross_validated_average(data, masks, dealt, rng)[rows, 1]
        except BaseModelError as error:
            stage = "in choosing the cut-off"
            raise error.located(data.feature_names, None, stage) from error.__cause__
        weight = data.loss_weight[rows]
        self.cutoff_ = best_cutoff(votes, strata[rows] == 1, weight)
        self.n_models_trained_ += len(masks) * len(dealt)

    def predict(self, X: Table) -> Any:
        """The class with the highest average probability or the most votes.

        With ``tune_cutoff``, the second class if its share exceeds ``cutoff_``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimators_")
        if self.cutoff_ is None:
            return super().predict(X)
        return self.classes_[(self.predict_proba(X)[:, 1] > self.cutoff_).astype(int)]

"""RaSE: random subspaces, each the best of many by cross-validation."""

from contextlib import closing
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from randsub._compile import when_compiling
from randsub._typing import BoolArray, Table
from randsub.baselines.cutoff import best_cutoff
from randsub.baselines.folds import Folds, choose_folds
from randsub.baselines.judging import cross_validated_average
from randsub.baselines.search import Found, SearchSettings, search
from randsub.engines import Engine, one_thread
from randsub.ensemble import parts
from randsub.ensemble.constraints import COMMON, VOTING
from randsub.ensemble.kinds import ClassificationEnsemble, RegressionEnsemble
from randsub.ensemble.material import Material
from randsub.ensemble.members import train_members
from randsub.ensemble.subspace import AlphaEnsemble
from randsub.exceptions import BaseModelError
from randsub.training.callbacks import Bar


class BaseRaSE(AlphaEnsemble):
    """Common part of :class:`RaSEClassifier` and :class:`RaSERegressor`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON,
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, None, closed="neither")],
        "alpha_init": [Interval(Real, 0, 1, closed="right"), "array-like"],
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        n_candidates: int = 500,
        max_iter: int = 10,
        max_size: int | Literal["auto"] = "auto",
        threshold: float = 0.1,
        alpha_init: Any = 0.05,
        cv: Any = 10,
        validation_fraction: float | None = 0.2,
        standardize: bool = True,
        engine: str | type[Engine] = "auto",
        n_jobs: int | None = None,
        task_timeout: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_candidates = n_candidates
        self.max_iter = max_iter
        self.max_size = max_size
        self.threshold = threshold
        self.alpha_init = alpha_init
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.standardize = standardize
        self.engine = engine
        self.n_jobs = n_jobs
        self.task_timeout = task_timeout
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, material: Material, rng: np.random.Generator) -> None:
        alpha = parts.probabilities(self.alpha_init, self.n_features_in_)
        folds = choose_folds(self.cv)
        settings = self._settings(len(material.train_rows), folds)
        n_candidates = settings.max_iter * settings.n_members * settings.n_candidates
        bar = Bar(type(self).__name__, n_candidates, "subset", shown=bool(self.verbose))
        # Sums must not depend on a number of threads.
        with closing(bar), one_thread(), when_compiling(bar.say_compiling):
            found = search(material, settings, alpha, rng, bar)
        self._record(found)
        self._tune(material, found.masks, folds, rng)
        self.estimators_, self.estimators_features_ = train_members(material, found.masks, rng)

    def _settings(self, n_train: int, folds: Folds) -> SearchSettings:
        n_features, max_size = self.n_features_in_, self.max_size
        if isinstance(max_size, str):
            max_size = min(n_features, int(np.sqrt(n_train)))
        elif max_size > n_features:
            raise ValueError(
                f"max_size={max_size} is more than the {n_features} feature(s) of X; give a "
                "smaller number, or 'auto'."
            )
        return SearchSettings(
            n_members=self.n_estimators,
            n_candidates=self.n_candidates,
            max_iter=self.max_iter,
            max_size=int(max_size),
            threshold=self.threshold,
            folds=folds,
        )

    def _record(self, found: Found) -> None:
        self.alpha_ = found.masks.mean(axis=0)
        self.expected_size_ = float(found.masks.sum(axis=1).mean())
        self.n_iter_ = len(found.history)
        self.best_iter_ = found.best_iter
        self.history_ = pd.DataFrame(
            found.history, index=pd.RangeIndex(1, self.n_iter_ + 1, name="iteration")
        )
        self.n_models_trained_ = found.history[-1].n_models_trained + self.n_estimators

    def _tune(
        self, material: Material, masks: BoolArray, folds: Folds, rng: np.random.Generator
    ) -> None:
        """Choose what remains to be chosen once the members' subsets (T, M) are known."""


class RaSERegressor(RegressionEnsemble, BaseRaSE):
    """Ensemble for regression whose members each see the best of many random feature subsets.

    For each member, ``n_candidates`` subsets are drawn, and the one on which the base model has
    the lowest cross-validation error is kept. The share of the members that hold a feature is its
    ``alpha_``, by which the candidates of the next iteration are drawn.

    Parameters
    ----------
    estimator : estimator, default=None
        The base model, any scikit-learn regressor; a decision tree by default.
    n_estimators : int, default=100
        Number of members, T.
    n_candidates : int, default=500
        Subsets among which the best is chosen, for each member in each iteration, B. A subset that
        is drawn several times in an iteration is judged once.
    max_iter : int, default=10
        Number of iterations.
    max_size : int or "auto", default="auto"
        Largest size of a subset, D: sizes are uniform between 1 and D. "auto" is the smaller one of
        the number of features and the square root of the number of training samples, rounded down.
    threshold : float, default=0.1
        C0: a feature whose alpha is not above ``threshold / log(n_features)`` is drawn with the
        weight ``threshold / n_features`` instead of alpha.
    alpha_init : float or array-like of shape (n_features,), default=0.05
        Alpha of the first iteration.
    cv : int, splitter, iterable or None, default=10
        Folds by which candidates are judged. A number of them, dealt anew in each iteration;
        with fewer training samples than folds, each fold is one sample. A splitter of scikit-learn,
        which sees the training samples. Or pairs of arrays of rows of X, for training and held out,
        of which those set aside for validation are left out. None is 5, as in scikit-learn.
    validation_fraction : float, default=0.2
        Share of the samples that is set aside to choose the best iteration; the final ensemble is
        trained on all of them. Ignored when ``fit`` is given validation data. None chooses the
        iteration with the lowest cross-validation error.
    standardize : bool, default=True
        Scale dense numeric columns to mean 0 and deviation 1, by the training samples. Sparse
        data is scaled without centring; non-numeric columns of a frame are left alone.
    engine : {"auto", "neighbors", "tree", "moments", "kernel", "generic"} or subclass of \
            Engine, default="auto"
        How many models are trained at once; "auto" takes the fastest engine that reproduces the
        base model exactly.
    n_jobs : int, default=None
        Number of workers. The result is the same for any number and any joblib backend.
    task_timeout : float or None, default=None
        Seconds that training one base model may take before the fit ends with an error that names
        its features. The clock runs from the moment a worker should begin. With a limit, base
        models go to workers one by one; those of compiled engines by the task.
    random_state : int, RandomState instance or None, default=None
        Fix it to get the same result, bit for bit, at every call.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_features,)
        Share of the members that see each feature.
    feature_importances_ : ndarray of shape (n_features,)
        The same.
    expected_size_ : float
        Number of features that a member sees on average.
    estimator_ : estimator
        The base model, unfitted.
    estimators_ : list of estimators
        The fitted members. With ``standardize``, they expect columns as
        ``standardizer_.transform`` gives them.
    estimators_features_ : list of int ndarrays
        Columns that each member sees.
    standardizer_ : Standardizer or None
        Scales X as the members expect it; None without ``standardize``.
    history_ : pandas.DataFrame
        One row an iteration: mean cross-validation error and mean size of the best subsets, R2 of
        their ensemble on validation, different subsets judged, and base models trained so far.
    n_iter_ : int
        Iterations run.
    best_iter_ : int
        Iteration whose subsets are kept.
    n_models_trained_ : int
        Base models trained in all, the final ensemble included.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only where X has names that are all strings.

    See Also
    --------
    RaSEClassifier : The same for classification.
    PRSRegressor : Learns alpha from the loss of the whole ensemble.

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


class RaSEClassifier(ClassificationEnsemble, BaseRaSE):
    """Ensemble for classification whose members each see the best of many random feature subsets.

    For each member, ``n_candidates`` subsets are drawn, and the one on which the base model has
    the lowest cross-validation error is kept. The share of the members that hold a feature is its
    ``alpha_``, by which the candidates of the next iteration are drawn.

    Parameters
    ----------
    estimator : estimator, default=None
        The base model, any scikit-learn classifier; a decision tree by default.
    n_estimators : int, default=100
        Number of members, T.
    n_candidates : int, default=500
        Subsets among which the best is chosen, for each member in each iteration, B. A subset that
        is drawn several times in an iteration is judged once.
    max_iter : int, default=10
        Number of iterations.
    max_size : int or "auto", default="auto"
        Largest size of a subset, D: sizes are uniform between 1 and D. "auto" is the smaller one of
        the number of features and the square root of the number of training samples, rounded down.
    threshold : float, default=0.1
        C0: a feature whose alpha is not above ``threshold / log(n_features)`` is drawn with the
        weight ``threshold / n_features`` instead of alpha.
    alpha_init : float or array-like of shape (n_features,), default=0.05
        Alpha of the first iteration.
    cv : int, splitter, iterable or None, default=10
        Folds by which candidates are judged. A number of them, dealt anew in each iteration, each
        with its share of every class; with fewer training samples than folds, each fold is one
        sample. A splitter of scikit-learn, which sees the training samples. Or pairs of arrays of
        rows of X, for training and held out, of which those set aside for validation are left out.
        None is 5, as in scikit-learn.
    voting : {"auto", "soft", "hard"}, default="hard"
        Whether members give one vote or probabilities; "auto" is "soft" where the base model has
        ``predict_proba``, else "hard".
    tune_cutoff : bool, default=False
        With two classes, whether ``predict`` asks for more than half of the votes, or for the share
        with the fewest errors on the training samples, voted on by members that were not trained
        on them.
    validation_fraction : float, default=0.2
        Share of the samples that is set aside to choose the best iteration; the final ensemble is
        trained on all of them. Ignored when ``fit`` is given validation data. None chooses the
        iteration with the lowest cross-validation error.
    standardize : bool, default=True
        Scale dense numeric columns to mean 0 and deviation 1, by the training samples. Sparse
        data is scaled without centring; non-numeric columns of a frame are left alone.
    engine : {"auto", "neighbors", "tree", "moments", "kernel", "generic"} or subclass of \
            Engine, default="auto"
        How many models are trained at once; "auto" takes the fastest engine that reproduces the
        base model exactly.
    n_jobs : int, default=None
        Number of workers. The result is the same for any number and any joblib backend.
    task_timeout : float or None, default=None
        Seconds that training one base model may take before the fit ends with an error that names
        its features. The clock runs from the moment a worker should begin. With a limit, base
        models go to workers one by one; those of compiled engines by the task.
    random_state : int, RandomState instance or None, default=None
        Fix it to get the same result, bit for bit, at every call.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_features,)
        Share of the members that see each feature.
    feature_importances_ : ndarray of shape (n_features,)
        The same.
    expected_size_ : float
        Number of features that a member sees on average.
    cutoff_ : float or None
        Share of the votes above which the second class is predicted; None without ``tune_cutoff``.
    estimator_ : estimator
        The base model, unfitted.
    estimators_ : list of estimators
        The fitted members. With ``standardize``, they expect columns as
        ``standardizer_.transform`` gives them.
    estimators_features_ : list of int ndarrays
        Columns that each member sees.
    standardizer_ : Standardizer or None
        Scales X as the members expect it; None without ``standardize``.
    history_ : pandas.DataFrame
        One row an iteration: mean cross-validation error and mean size of the best subsets,
        accuracy of their ensemble on validation, different subsets judged, and base models trained
        so far.
    n_iter_ : int
        Iterations run.
    best_iter_ : int
        Iteration whose subsets are kept.
    n_models_trained_ : int
        Base models trained in all, the final ensemble included.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only where X has names that are all strings.

    See Also
    --------
    RaSERegressor : The same for regression.
    PRSClassifier : Learns alpha from the loss of the whole ensemble.

    References
    ----------
    Y. Tian and Y. Feng, "RaSE: Random subspace ensemble classification", Journal of Machine
    Learning Research, 2021.

    Examples
    --------
    >>> from randsub import RaSEClassifier
    >>> from randsub.datasets import make_hypercube
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y, relevant = make_hypercube(n_samples=300, n_irrelevant=15, random_state=1)
    >>> model = RaSEClassifier(KNeighborsClassifier(), n_candidates=50, max_iter=3, random_state=0)
    >>> bool(model.fit(X[:200], y[:200]).alpha_[relevant].mean() > 2 * model.alpha_.mean())
    True
    >>> bool(model.score(X[200:], y[200:]) > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRaSE._parameter_constraints,
        **VOTING,
        "tune_cutoff": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        n_candidates: int = 500,
        max_iter: int = 10,
        max_size: int | Literal["auto"] = "auto",
        threshold: float = 0.1,
        alpha_init: Any = 0.05,
        cv: Any = 10,
        voting: Literal["auto", "soft", "hard"] = "hard",
        tune_cutoff: bool = False,
        validation_fraction: float | None = 0.2,
        standardize: bool = True,
        engine: str | type[Engine] = "auto",
        n_jobs: int | None = None,
        task_timeout: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,
            n_candidates=n_candidates,
            max_iter=max_iter,
            max_size=max_size,
            threshold=threshold,
            alpha_init=alpha_init,
            cv=cv,
            validation_fraction=validation_fraction,
            standardize=standardize,
            engine=engine,
            n_jobs=n_jobs,
            task_timeout=task_timeout,
            random_state=random_state,
            verbose=verbose,
        )
        self.voting = voting
        self.tune_cutoff = tune_cutoff

    def _learn(self, material: Material, rng: np.random.Generator) -> None:
        if self.tune_cutoff and len(self.classes_) != 2:
            raise ValueError(
                f"tune_cutoff=True needs two classes, but y has {len(self.classes_)}: "
                f"{self.classes_.tolist()}. Use tune_cutoff=False."
            )
        self.cutoff_: float | None = None
        super()._learn(material, rng)

    def _tune(
        self, material: Material, masks: BoolArray, folds: Folds, rng: np.random.Generator
    ) -> None:
        if not self.tune_cutoff:
            return
        strata = material.strata
        assert strata is not None
        dealt = folds.deal(material, material.samples.rows, rng)
        rows = np.unique(np.concatenate([fold.query_rows for fold in dealt]))
        try:
            with one_thread():
                votes = cross_validated_average(material, masks, dealt, rng)[rows, 1]
        except BaseModelError as error:
            stage = "in choosing the cut-off"
            raise error.located(material.feature_names, None, stage) from error.__cause__
        weight = material.samples.loss_weight()[rows]
        self.cutoff_ = best_cutoff(votes, strata[rows] == 1, weight)
        self.n_models_trained_ += len(masks) * len(dealt)

    def predict(self, X: Table) -> Any:
        """The class with the highest average probability or the most votes.

        With ``tune_cutoff``, the second class where its share exceeds ``cutoff_``.

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
